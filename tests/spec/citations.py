"""Finds which rules and cases a text cites.

A citation is a kind and its ids: `rule R14`, `rules Q6a, R14`, `rules H4-H11`, `cases G1, G2`. Ids of the rules proper
may stand alone, as in `(R14)`; the letters of the others mean a rule here and a case there, so they need the word.
"""

from __future__ import annotations

import ast
import enum
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import attrs

ID = r"[A-Z]\d{1,2}[a-z]?(?:\.\d)?"
_LIST = re.compile(rf"\b(rule|case)s? ({ID}(?:(?:, and |, | and | or |-){ID})*)", re.IGNORECASE)
_RANGE = re.compile(r"([A-Z])(\d+)-([A-Z])(\d+)")
_ALONE = re.compile(rf"\b{ID}\b")


@enum.unique
class Kind(enum.Enum):
    """What the word before an id says that it is."""

    RULE = "rule"
    CASE = "case"
    ALONE = ""
    """There is no word before it."""


@attrs.frozen
class Citation:
    """One id that a text cites."""

    kind: Kind
    id: str
    """Without the number of a paragraph: `R21` for R21.4."""


def citations(text: str) -> Iterator[Citation]:
    """Yield every id that a text cites, as often as it does."""
    text = " ".join(text.split())
    for word, ids in _LIST.findall(text):
        for rule in _RANGE.sub(_written_out, ids).replace(" ", ",").split(","):
            if _ALONE.fullmatch(rule):
                yield Citation(Kind(word.lower()), rule.partition(".")[0])
    for rule in _ALONE.findall(_LIST.sub("", text)):
        yield Citation(Kind.ALONE, rule.partition(".")[0])


def _written_out(found: re.Match[str]) -> str:
    letter, first, _, last = found.groups()
    return ",".join(f"{letter}{number}" for number in range(int(first), int(last) + 1))


def prose_of(path: Path) -> list[str]:
    """Return what people read in a file: comments and literals of Python, and whatever else as a whole."""
    source = path.read_text("utf-8")
    if path.suffix != ".py":
        return [source]
    found = []
    comment = ""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        match token.type:
            case tokenize.COMMENT:
                comment += token.string.lstrip("#")
            case tokenize.NL:
                pass  # a comment goes on in the next line
            case tokenize.STRING if token.string[0] in "\"'":
                found.append(str(ast.literal_eval(token.string)))
            case _:
                found.append(comment)
                comment = ""
    return found
