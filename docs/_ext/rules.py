"""The rules that docstrings cite, and the tests that carry each of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from docs._ext import rest
from tests.sources import TESTS
from tests.spec.rule_ids import RULES
from tests.spec.rule_marks import Mark, marks_below


def rules(letters: str) -> list[str]:
    """Return the rules whose ids begin with a letter (or letters), and the files with the tests that carry them."""
    carriers: dict[str, set[str]] = {}
    for mark in marks_below(TESTS):
        if isinstance(mark, Mark):
            for rule in mark.ids:
                carriers.setdefault(rule, set()).add(mark.where.partition(":")[0])
    rows = [[rule, gist, files(carriers.get(rule, ()))] for rule, gist in RULES.items() if begins(rule, letters)]
    return rest.table(["Rule", "In short", "Tests"], rows)


def begins(rule: str, letters: str) -> bool:
    """Say whether a rule is of the group that these letters name."""
    return re.fullmatch(rf"{letters}\d+[a-z]?", rule) is not None


def files(names: Iterable[str]) -> str:
    """Return the names of files, one in each line of a cell."""
    return "\n".join(f"| ``{name.removeprefix('tests/')}``" for name in sorted(names)) or "none so far"
