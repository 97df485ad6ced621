"""Finds which test carries which rule, by reading the tests and not by running them.

So the answer is the same whichever tests are run. The price: a mark has to stand where a reader sees it, on a test
function, a test class or one parameter set, with the ids written out, and the test must be able to fail.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import attrs

from tests.sources import TESTS, parse, python_files, shown

SKIPPED_IN_MOST_PLACES = TESTS / "interop"
"""These tests need peers that are rarely installed, so that a rule may not rest on them alone."""


@attrs.frozen
class Mark:
    """One `@pytest.mark.rule(...)`."""

    where: str
    ids: tuple[str, ...]


@attrs.frozen
class Misplaced:
    """A mark that no test carries, or whose ids are not written out."""

    where: str


def is_rule(node: ast.AST) -> bool:
    return ast.unparse(node) == "pytest.mark.rule" if isinstance(node, ast.Attribute) else False


def never_fails(decorators: list[ast.expr]) -> bool:
    """Say whether a test is skipped everywhere, or expected to fail."""
    marks = {ast.unparse(decorator).partition("(")[0] for decorator in decorators}
    return not marks.isdisjoint({"pytest.mark.skip", "pytest.mark.xfail"})


def carriers(body: list[ast.stmt], tables: dict[str, ast.expr]) -> Iterator[ast.expr]:
    """Yield the expressions that pytest reads as marks of the tests in a body."""
    for node in body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) if name.startswith("test_"):
                if not never_fails(node.decorator_list):
                    yield from node.decorator_list
                    yield from parameter_marks(node.decorator_list, tables)
            case ast.ClassDef(name=name, body=inner) if name.startswith("Test"):
                if not never_fails(node.decorator_list):
                    yield from node.decorator_list
                    yield from carriers(inner, tables)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Call() as mark)):
                if name.startswith("Test"):  # the TestCase of a state machine, marked where it gets its name
                    yield mark


def parameter_marks(decorators: list[ast.expr], tables: dict[str, ast.expr]) -> Iterator[ast.expr]:
    """Yield the marks of parameter sets, written out in `@pytest.mark.parametrize` or in a table that it names."""
    for decorator in decorators:
        if not ast.unparse(decorator).startswith("pytest.mark.parametrize("):
            continue
        named = [tables[node.id] for node in ast.walk(decorator) if isinstance(node, ast.Name) and node.id in tables]
        for node in (node for source in (decorator, *named) for node in ast.walk(source)):
            if isinstance(node, ast.keyword) and node.arg == "marks":
                yield from node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else [node.value]


def tables_in(tree: ast.Module) -> dict[str, ast.expr]:
    """Return what a file assigns at its top level, by name."""
    tables = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                tables[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                tables[name] = value
    return tables


def marks_in(tree: ast.Module, name: str) -> Iterator[Mark | Misplaced]:
    """Yield every mark in a file."""
    carried = {id(expression) for expression in carriers(tree.body, tables_in(tree))}
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=function, args=args, keywords=[]) if is_rule(function) and id(node) in carried:
                ids = [arg.value for arg in args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
                where = f"{name}:{node.lineno}"
                yield Mark(where, tuple(ids)) if ids and len(ids) == len(args) else Misplaced(where)
            case ast.Call(func=function) if is_rule(function):
                yield Misplaced(f"{name}:{node.lineno}")
            case ast.Attribute() if is_rule(node) and id(node) not in called:
                yield Misplaced(f"{name}:{node.lineno}")


def marks_below(folder: Path) -> list[Mark | Misplaced]:
    """Return the marks of all tests below a folder that can run wherever the project can."""
    tests = [path for path in python_files(folder) if SKIPPED_IN_MOST_PLACES not in path.parents]
    return [mark for path in tests for mark in marks_in(parse(path), shown(path))]
