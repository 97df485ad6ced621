"""What the core exports is there, documented, and closed where it says so."""

from __future__ import annotations

import ast
import importlib
import itertools
import tomllib
import types
from enum import Enum

import attrs
import pytest

import mcpstreams_sansio
from mcpstreams_sansio import ClientEffect, ClientInput, LogRecord, ServerEffect, ServerInput
from mcpstreams_sansio.version import VERSION
from tests.closed_unions import members
from tests.sources import CORE, ROOT, module_name, parse, python_files

EXPORTS = list(mcpstreams_sansio.__all__)


def order(name: str) -> tuple[int, str]:
    """Return where a name belongs: constants, then types, then functions, each by the alphabet."""
    kind = 0 if name.isupper() else 1 if name[0].isupper() else 2
    return kind, name


def documented_assignments() -> set[str]:
    """Return the names of the core's top-level assignments that have a string literal under them."""
    names = set()
    for path in python_files(CORE):
        body = parse(path).body
        for node, below in itertools.pairwise(body):
            match node, below:
                case (
                    ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str())),
                ):
                    names.add(name)
    return names


def closed_unions() -> dict[str, set[type]]:
    """Return the core's union aliases, each with those of its members that are classes of the core."""
    unions = {}
    for module in map(module_name, python_files(CORE)):
        for alias, value in vars(importlib.import_module(module)).items():
            if isinstance(value, types.UnionType):
                ours = {member for member in members(value) if member.__module__.startswith("mcpstreams_sansio.")}
                unions[f"{module}.{alias}"] = ours
    return unions


def test_the_exports_are_sorted_and_named_once() -> None:
    assert sorted(set(EXPORTS), key=order) == EXPORTS


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_there_and_documented(name: str) -> None:
    value = getattr(mcpstreams_sansio, name)
    if isinstance(value, type | types.FunctionType):
        assert value.__module__.startswith("mcpstreams_sansio.")
        assert vars(value).get("__doc__") if isinstance(value, type) else value.__doc__
    else:  # an alias or a constant: it has no docstring, so a string literal stands under it
        assert name in documented_assignments()


@pytest.mark.parametrize("union", [ServerInput, ServerEffect, ClientInput, ClientEffect, LogRecord])
def test_all_that_a_machine_is_told_or_wants_is_exported(union: object) -> None:
    assert {member.__name__ for member in members(union)} <= set(EXPORTS)


def test_the_version_is_that_of_the_distribution() -> None:
    assert tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"] == VERSION


VALUES = {"inputs", "effects", "records", "connections", "machine", "dispatch", "jsonrpc", "gate"}
"""The modules whose unions are of values: what a machine is told, wants done, records, or sends."""


def test_no_member_of_a_union_can_have_a_subclass() -> None:
    classes = set[type]().union(*closed_unions().values())
    assert classes, "no union of the core has a class of the core in it"
    # An enumeration with members cannot be subclassed either.
    assert {cls.__name__ for cls in classes if not (getattr(cls, "__final__", False) or issubclass(cls, Enum))} == set()


def test_every_value_of_a_union_is_frozen() -> None:
    unions = {name: classes for name, classes in closed_unions().items() if name.split(".")[-2] in VALUES}
    assert {name.split(".")[-2] for name in unions} == VALUES
    classes = set[type]().union(*unions.values())
    assert {cls.__name__ for cls in classes if not (attrs.has(cls) and attrs.inspect(cls).is_frozen)} == set()
