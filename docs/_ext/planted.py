"""The deliberate faults of the machines, and the searches that find them."""

from __future__ import annotations

from collections.abc import Iterator

from docs._ext import rest
from tests.model.planted.fault import Fault
from tests.model.planted.faults import FAULTS

TITLES = ("Fault", "What is wrong", "Breaks", "Broken property", "In the world", "Steps")


def planted_faults() -> list[str]:
    """Return every fault, a table for each room: what is wrong, and how each search that finds it does so."""
    lines = []
    for title, faults in FAULTS.items():
        rows = [row for fault in faults for row in rows_of(fault)]
        lines += [*rest.heading(title), *rest.table(TITLES, rows, "planted-faults")]
    return lines


def rows_of(fault: Fault) -> Iterator[list[str]]:
    """Yield a row for each search that finds a fault; only the first says which one it is."""
    which = [fault.name.replace("_", " "), fault.text, fault.cites]
    for found in fault.found:
        yield [*which, found.broken, f"``{found.setting}``", str(found.steps)]
        which = ["", "", ""]
