"""Writes reStructuredText: what the directives of this folder turn into pages, and what the tests read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(titles: Sequence[str], rows: Iterable[Sequence[str]], look: str = "") -> list[str]:
    """Return a table with a row of titles.

    Args:
        titles: One for each column.
        rows: One cell for each column; a cell may have several lines, and whatever markup it likes.
        look: Name of a style for the whole table.
    """
    lines = [".. list-table::", "   :header-rows: 1", *([f"   :class: {look}"] if look else []), ""]
    for row in (titles, *rows):
        for place, cell in enumerate(row):
            first, *others = cell.split("\n")
            lines.append(f"   {'*' if place == 0 else ' '} - {first}".rstrip())
            lines += [f"       {line}".rstrip() for line in others]
    return [*lines, ""]


def styled(text: str, look: str) -> str:
    """Return a cell, or the first thing in one, that has a style of its own."""
    return f".. rst-class:: {look}\n\n{text}"


def definitions(entries: Iterable[tuple[str, str]]) -> list[str]:
    """Return a list of names and what they mean."""
    return [line for name, meaning in entries for line in (f"``{name}``", f"   {meaning}", "")]


def heading(text: str) -> list[str]:
    """Return a heading that is no section: directives stand anywhere."""
    return [f".. rubric:: {text}", ""]
