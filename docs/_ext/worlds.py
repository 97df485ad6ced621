"""The worlds in which the project checks itself, and what has to be met in them, as text."""

from __future__ import annotations

from docs._ext.rest import heading, table
from mcpstreams_sansio.testing import DEEP, HAPPENINGS, LARGE, QUICK, Configuration


def worlds() -> list[str]:
    """Return all lists, and what has to be met in the quick worlds together."""
    lines = []
    for title, configurations in (("Quick", QUICK), ("Large", LARGE), ("Deep", DEEP)):
        rows = [(f"``{each.name}``", f"``{each.setting}``{limit(each)}") for each in configurations]
        lines += [*heading(title), *table(["World", "What it is"], rows)]
    lines += [*heading("What has to happen in the quick worlds"), ""]
    return [*lines, *(f"* ``{each}``" for each in HAPPENINGS), ""]


def limit(configuration: Configuration) -> str:
    """Return a line that says where a search is left incomplete, if it is."""
    most = configuration.max_states
    return "" if most is None else f"\n\nincomplete: no more than {most:,} states"
