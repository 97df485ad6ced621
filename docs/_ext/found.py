"""What the documentation takes out of the code: objects by their names, and the texts that stand under their parts."""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import itertools
import pkgutil
import textwrap
from collections.abc import Iterator, Mapping
from typing import TypeAlias

import attrs

from mcpstreams_sansio.tables import Forbidden, Transition

AnyTable: TypeAlias = Mapping[tuple[enum.IntEnum, enum.IntEnum], Transition[enum.IntEnum] | Forbidden]
"""A state table of either side."""


def find(name: str) -> object:
    """Return what a full dotted name means.

    Raises:
        LookupError: It means nothing; the text names it.
    """
    module, _, last = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), last)
    except (ImportError, ValueError, AttributeError) as error:
        raise LookupError(f"there is no {name}") from error


def find_table(name: str) -> AnyTable:
    """Return the state table of this full name.

    Raises:
        LookupError: There is none.
    """
    match find(name):
        case Mapping() as table if all(isinstance(cell, Transition | Forbidden) for cell in table.values()):
            return table
        case _:
            raise LookupError(f"{name} is no state table")


def find_enumeration(name: str) -> type[enum.Enum]:
    """Return the enumeration of this full name.

    Raises:
        LookupError: There is none.
    """
    found = find(name)
    if not (isinstance(found, type) and issubclass(found, enum.Enum)):
        raise LookupError(f"{name} is no enumeration")
    return found


def find_config(name: str) -> type[attrs.AttrsInstance]:
    """Return the class of fields of this full name.

    Raises:
        LookupError: There is none.
    """
    found = find(name)
    if not (isinstance(found, type) and attrs.has(found)):
        raise LookupError(f"{name} is no class of fields")
    return found


@attrs.frozen
class Number:
    """A number that a module gives a name."""

    module: str
    name: str
    value: float
    text: str
    """What stands under it; empty where nothing does."""


LEFT_OUT = {"testing", "cli"}
"""Tools beside the packages proper: their numbers limit nothing that a server or a client does."""


def numbers_of(package: str) -> Iterator[Number]:
    """Yield every positive number that a module of a package gives a public name in capitals.

    Codes of errors are negative, and no limits.

    Raises:
        LookupError: There is no such package.
    """
    try:
        root = importlib.import_module(package)
    except ImportError as error:
        raise LookupError(f"there is no {package}") from error
    for found in pkgutil.walk_packages(root.__path__, f"{package}."):
        if LEFT_OUT.isdisjoint(found.name.split(".")):
            yield from _numbers_in(found.name)


def _numbers_in(name: str) -> Iterator[Number]:
    module = importlib.import_module(name)
    definitions = ast.parse(inspect.getsource(module)).body
    meaning = texts_in(definitions)
    for constant in itertools.chain.from_iterable(map(assigned, definitions)):
        value = getattr(module, constant)
        if constant.isupper() and constant[0] != "_" and isinstance(value, int | float) and value > 0:
            yield Number(name, constant, value, meaning.get(constant, ""))


def texts(cls: type) -> dict[str, str]:
    """Return the string literal under each field of a class, or under each member of an enumeration, as one line."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(definition, ast.ClassDef)
    return texts_in(definition.body)


def texts_in(body: list[ast.stmt]) -> dict[str, str]:
    """Return the string literal under each name that is given a value, as one line."""
    found = {}
    for node, below in itertools.pairwise(body):
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
            found.update(dict.fromkeys(assigned(node), " ".join(below.value.value.split())))
    return found


def assigned(node: ast.stmt) -> list[str]:
    """Return the names that a statement gives a value."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def member_texts(members: type[enum.Enum]) -> dict[str, str]:
    """Return the text under each member of an enumeration; empty where there is none."""
    found = texts(members)
    return {member.name: found.get(member.name, "") for member in members}


def first_line(documented: object) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(documented) or "").partition("\n")[0]
