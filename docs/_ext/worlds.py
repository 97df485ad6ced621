"""The worlds in which the project checks itself, and what has to be met in them, as text."""

from __future__ import annotations

from docs._ext.rest import definitions, heading, table
from mcpstreams_sansio.testing import CLIENT_CELLS_BEYOND, DEEP, HAPPENINGS, SERVER_CELLS_BEYOND, USUAL


def worlds() -> list[str]:
    """Return both lists, and what has to be met in the usual worlds together."""
    lines = []
    for title, configurations in (("Usual", USUAL), ("Deep", DEEP)):
        rows = [(f"``{each.name}``", f"``{each.setting}``") for each in configurations]
        lines += [*heading(title), *table(["World", "What it is"], rows)]
    lines += [*heading("What has to happen in the usual worlds"), ""]
    lines += [*(f"* ``{each}``" for each in HAPPENINGS), ""]
    lines += [*heading("What happens to a stream beyond them"), ""]
    lines += [*(f"* ``{each}``" for each in sorted(SERVER_CELLS_BEYOND)), ""]
    return [*lines, *heading("What happens to a call beyond them"), *definitions(sorted(CLIENT_CELLS_BEYOND.items()))]
