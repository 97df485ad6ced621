"""The deliberate faults of the machines, and the searches that find them."""

from __future__ import annotations

from collections.abc import Iterator

from docs._ext import rest
from tests.model.planted.fault import Fault
from tests.model.planted.faults import FAULTS
from tests.model.planted.on_the_wire import FAULTS as BELOW

TITLES = ("Fault", "What is wrong", "Breaks", "Broken property", "In the world", "Steps")
TITLES_BELOW = TITLES[:4]


def planted_faults() -> list[str]:
    """Return every fault, a table for each room: what is wrong, and how each search that finds it does so.

    Those below the messages are found by cutting one conversation everywhere, so nothing counts their steps.
    """
    lines = []
    for title, faults in FAULTS.items():
        rows = [row for fault in faults for row in rows_of(fault)]
        lines += [*rest.heading(title), *rest.table(TITLES, rows, "planted-faults")]
    below = [[each.name.replace("_", " "), each.text, each.cites, " or ".join(sorted(each.broken))] for each in BELOW]
    return [*lines, *rest.heading("Below the messages"), *rest.table(TITLES_BELOW, below, "planted-faults")]


def rows_of(fault: Fault) -> Iterator[list[str]]:
    """Yield a row for each search that finds a fault; only the first says which one it is."""
    which = [fault.name.replace("_", " "), fault.text, fault.cites]
    for found in fault.found:
        yield [*which, found.broken, f"``{found.setting}``", str(found.steps)]
        which = ["", "", ""]
