"""The core is pure: it loads nothing that could do I/O, and its API has neither coroutines nor generators.

The contracts of import-linter say the same about what the core imports by name; here a fresh interpreter shows what
really gets loaded, and everything outside a short list is refused, not only what somebody thought of forbidding.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import attrs
import cattrs
import pytest

from tests.sources import CORE, ROOT, module_name, parse, python_files, shown

ALLOWED = {
    # the language and its types
    "__future__",
    "abc",
    "collections",
    "collections.abc",
    "copy",
    "enum",
    "functools",
    "itertools",
    "operator",
    "types",
    "typing",
    # text, bytes and numbers
    "base64",
    "binascii",
    "codecs",
    "html",  # escapes text in drawings
    "ipaddress",  # recognises a loopback Host
    "json",
    "math",
    "re",
    "string",
    "struct",
    "textwrap",
    "urllib.parse",  # splits a request target; its siblings open URLs
    # data structures and digests
    "bisect",
    "hashlib",
    "heapq",
    "hmac",
    # the two dependencies
    "attrs",
    "cattrs",
}

FORBIDDEN = {
    "_socket",
    "_sqlite3",
    "_ssl",
    "anyio",
    "asyncio",
    "http",
    "logging",
    "multiprocessing",
    "random",
    "secrets",
    "select",
    "selectors",
    "socket",
    "sqlite3",
    "ssl",
    "subprocess",
    "trio",
    "urllib.request",
}

COROUTINES_AND_GENERATORS = {
    "AsyncContextManager",
    "AsyncGenerator",
    "AsyncIterable",
    "AsyncIterator",
    "Awaitable",
    "Coroutine",
    "Future",
    "Generator",
}

PRINT_LOADED = """
import sys
sys.path[:0] = sys.argv[2:]
for name in sys.argv[1].split(","):
    __import__(name)
loaded = sorted(sys.modules)
import json
print(json.dumps(loaded))
"""


def loaded_by(*modules: str) -> set[str]:
    """Return what a fresh interpreter has loaded after importing the modules.

    It runs without `site`: a path file of an installed tool could load anything, and so hide that the core does.
    """
    folders = [str(Path(inspect.getfile(package)).parent.parent) for package in (attrs, cattrs)]
    command = [sys.executable, "-I", "-S", "-W", "error", "-c", PRINT_LOADED, ",".join(modules), str(ROOT), *folders]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    output = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    return set(json.loads(output.stdout))


def packages_to_import() -> list[str]:
    names = ["mcpstreams_sansio"]
    if (CORE / "testing").is_dir():
        names.append("mcpstreams_sansio.testing")
    return names


def test_importing_the_core_loads_nothing_that_can_do_io() -> None:
    bare = loaded_by("attrs", "cattrs")
    ours = loaded_by("attrs", "cattrs", *packages_to_import())
    assert "mcpstreams_sansio.ids" in ours
    assert not (ours - bare) & FORBIDDEN


@pytest.mark.parametrize("module", ["asyncio", "logging", "socket", "urllib.request"])
def test_the_fresh_interpreter_would_show_a_leak(module: str) -> None:
    bare = loaded_by("attrs", "cattrs")
    assert module not in bare, "bare attrs and cattrs load it already: a leak could not be seen"
    assert module in (loaded_by("attrs", "cattrs", module) - bare) & FORBIDDEN


def imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield every module that a file imports, at the top or in a function, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=None | "urllib" as module, names=names):
                prefix = f"{module}." if module else "."
                yield from ((node.lineno, f"{prefix}{alias.name}") for alias in names)
            case ast.ImportFrom(module=str(module), level=level):
                yield node.lineno, "." * level + module


def is_allowed(module: str) -> bool:
    package = module.partition(".")[0]  # empty where the import is relative
    return module in ALLOWED or package in {"", "attrs", "cattrs", "mcpstreams_sansio"}


def outside_the_list(tree: ast.Module) -> list[tuple[int, str]]:
    return [(line, module) for line, module in imports(tree) if not is_allowed(module)]


def test_the_core_imports_nothing_outside_a_written_list() -> None:
    found = {shown(path): outside for path in python_files(CORE) if (outside := outside_the_list(parse(path)))}
    assert found == {}


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "import json, socket",
        "import os.path",
        "from os import path",
        "from urllib import request",
        "from urllib.request import urlopen",
        "import trio_bindings",
        "def later():\n    import random",
        "if False:\n    from logging import getLogger",
    ],
)
def test_an_import_outside_the_list_is_seen(source: str) -> None:
    assert len(outside_the_list(ast.parse(source))) == 1


def test_the_modules_on_the_list_load_nothing_forbidden() -> None:
    assert not (loaded_by(*sorted(ALLOWED)) - loaded_by("attrs", "cattrs")) & FORBIDDEN


def test_the_core_imports_nothing_by_a_computed_name() -> None:
    found = [
        f"{shown(path)}:{node.lineno}"
        for path in python_files(CORE)
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Name) and node.id in {"__import__", "eval", "exec", "open", "input", "print"}
    ]
    assert found == []


def asynchronous(tree: ast.Module) -> list[int]:
    """Return the lines with coroutines in them, or with the types of coroutines and generators."""
    lines = []
    for node in ast.walk(tree):
        match node:
            case ast.AsyncFunctionDef() | ast.AsyncFor() | ast.AsyncWith() | ast.Await():
                lines.append(node.lineno)
            case ast.comprehension(is_async=1, target=target):
                lines.append(target.lineno)
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                if name in COROUTINES_AND_GENERATORS:
                    lines.append(node.lineno)
    return lines


def public_generators(body: list[ast.stmt], owner: str = "") -> Iterator[str]:
    """Yield the functions that a user can call and that work only while somebody iterates."""
    for node in body:
        match node:
            case ast.ClassDef(name=name, body=inner) if not name.startswith("_"):
                yield from public_generators(inner, f"{owner}{name}.")
            case ast.FunctionDef(name=name) if not name.startswith("_") or name.endswith("__"):
                if any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in own_nodes(node)):
                    yield f"{owner}{name}"


def own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """Yield the nodes of a function, less those of the functions inside it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(node))


@pytest.mark.parametrize("path", python_files(CORE), ids=module_name)
def test_the_api_of_the_core_has_no_coroutines_and_no_generators(path: Path) -> None:
    tree = parse(path)
    assert asynchronous(tree) == []
    assert list(public_generators(tree.body)) == []


@pytest.mark.parametrize(
    "source",
    [
        "async def f(): ...",
        "from collections.abc import Awaitable",
        "def f(g: typing.Coroutine[None, None, None]): ...",
        "def f(): return [x async for x in y]",
    ],
)
def test_a_coroutine_is_seen(source: str) -> None:
    assert len(asynchronous(ast.parse(source))) == 1


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def events():\n    yield 1", ["events"]),
        ("class Machine:\n    def __iter__(self):\n        yield from ()", ["Machine.__iter__"]),
        ("class Machine:\n    def handle(self):\n        if self:\n            x = yield", ["Machine.handle"]),
        ("def _inside():\n    yield 1", []),
        ("def total():\n    def inside():\n        yield 1\n    return sum(inside())", []),
    ],
)
def test_a_public_generator_is_seen(source: str, found: list[str]) -> None:
    assert list(public_generators(ast.parse(source).body)) == found
