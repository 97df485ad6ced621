"""The rules and cases that docstrings cite, and the tests of each."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping

from docs._ext import rest
from tests.sources import TESTS, parse, python_files, shown
from tests.spec.case_ids import CASES, GROUPS
from tests.spec.rule_ids import RULES
from tests.spec.rule_marks import Mark, marks_below
from tests.spec.surrounding_ids import SURROUNDINGS

NAMED_AFTER_RULES = TESTS / "spec"
"""What looks like a case in the name of a test there is a rule."""


def rules(letters: str) -> list[str]:
    """Return the rules whose ids begin with a letter (or letters), and the files with the tests that carry them."""
    return table("Rule", {rule: gist for rule, gist in RULES.items() if begins(rule, letters)}, marked())


def surroundings(letter: str) -> list[str]:
    """Return the same for what no test has to carry: decisions, open questions, what the revisions of MCP say."""
    gists = {rule: gist for rule, gist in SURROUNDINGS.items() if begins(rule, letter)}
    return table("Rule", gists, marked())


def cases() -> list[str]:
    """Return the cases, a table for each group."""
    files_of = named()
    lines = []
    for letter, title in GROUPS.items():
        gists = {case: gist for case, gist in CASES.items() if begins(case, letter)}
        lines += [*rest.heading(f"{letter}: {title}"), *table("Case", gists, files_of)]
    return lines


def table(title: str, gists: Mapping[str, str], files_of: Mapping[str, set[str]]) -> list[str]:
    """Return a table of ids, what they mean, and the files with their tests."""
    rows = [[name, gist, files(files_of.get(name, ()))] for name, gist in gists.items()]
    return rest.table([title, "In short", "Tests"], rows)


def begins(rule: str, letters: str) -> bool:
    """Say whether a rule is of the group that these letters name."""
    return re.fullmatch(rf"{letters}\d+[a-z]?", rule) is not None


def marked() -> dict[str, set[str]]:
    """Return the files with the tests that carry each rule by a mark."""
    found: dict[str, set[str]] = {}
    for mark in marks_below(TESTS):
        if isinstance(mark, Mark):
            for rule in mark.ids:
                found.setdefault(rule, set()).add(mark.where.partition(":")[0])
    return found


def named() -> dict[str, set[str]]:
    """Return the files with the tests that have a case in their names: `test_g6_...`."""
    found: dict[str, set[str]] = {}
    for path in (path for path in python_files(TESTS) if NAMED_AFTER_RULES not in path.parents):
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                name = re.match(r"test_([a-z]\d+)_", node.name)
                if name is not None:
                    found.setdefault(name[1].upper(), set()).add(shown(path))
    return found


def files(names: Iterable[str]) -> str:
    """Return the names of files, one in each line of a cell."""
    return "\n".join(f"| ``{name.removeprefix('tests/')}``" for name in sorted(names)) or "none of its own"
