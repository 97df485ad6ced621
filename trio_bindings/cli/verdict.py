"""What searches have come to: a table, what never happened, what is broken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

import attrs

from mcpstreams_sansio.client.table import CALL_TABLE
from mcpstreams_sansio.server.table import STREAM_TABLE
from mcpstreams_sansio.testing import HAPPENINGS, RecordedTable
from trio_bindings.cli.search_display import per_second
from trio_bindings.cli.searches import Ending, Found

_HEADINGS: Final = ("world", "states", "transitions", "depth", "seconds", "states/s", "")


_SERVER_CELLS: Final = frozenset(
    f"{state.name}/{signal.name}" for state, signal in RecordedTable(STREAM_TABLE).unseen()
)
"""All that can be met, as long as nothing was."""
_CLIENT_CELLS: Final = frozenset(f"{state.name}/{signal.name}" for state, signal in RecordedTable(CALL_TABLE).unseen())


@final
@attrs.frozen
class Verdict:
    """All searches together."""

    found: Sequence[Found]
    asked: int
    """How many worlds were to be searched."""
    whole: bool
    """They are the list that this project checks itself with, so that everything has to be met in them."""
    ending: Ending
    seconds: float
    """How long it took in all."""

    @property
    def missing(self) -> Sequence[str]:
        """What should have happened and did not."""
        met = frozenset[str]().union(*(each.goals for each in self.found))
        return [happening for happening in HAPPENINGS if happening not in met]

    @property
    def server_cells(self) -> Sequence[str]:
        """Cells of the table of a stream that no world came to, and should have."""
        met = frozenset[str]().union(*(each.server_cells for each in self.found))
        return sorted(_SERVER_CELLS - met)

    @property
    def client_cells(self) -> Sequence[str]:
        """The same for the table of a call."""
        met = frozenset[str]().union(*(each.client_cells for each in self.found))
        return sorted(_CLIENT_CELLS - met)

    @property
    def broken(self) -> Sequence[Found]:
        """The searches that found something."""
        return [each for each in self.found if each.failure is not None]

    @property
    def ended(self) -> bool:
        """Every search came to its end, or as far as its world says, so that what was not met will not be."""
        as_far = (each.complete or each.configuration.max_states is not None for each in self.found)
        return len(self.found) == self.asked and all(as_far)

    @property
    def lost(self) -> int:
        """How many searches have left nothing behind although there was time for them."""
        return self.asked - len(self.found) if self.ending is Ending.ALL_DONE else 0

    @property
    def ok(self) -> bool:
        """Nothing is broken, nobody interrupted it, and all that has to be met was met, as far as can be said."""
        unmet = self.whole and self.ended and bool(self.missing or self.server_cells or self.client_cells)
        return not (self.broken or self.ending is Ending.INTERRUPTED or self.lost or unmet)

    def as_text(self) -> str:
        """Return it for a reader."""
        total = ("all", *_figures(self.found, self.seconds), "")
        lines = _aligned([_HEADINGS, *(_row(each) for each in self.found), total])
        if self.ending is not Ending.ALL_DONE:
            why = "stopped early" if self.ending is Ending.INTERRUPTED else "the time is over"
            lines.append(f"{why}; {self.asked - len(self.found)} of {self.asked} worlds were not begun")
        if self.lost:
            lines.append(f"{self.lost} of {self.asked} searches are lost: a process died, perhaps for want of memory")
        if self.whole:
            lines += self._unmet()
        for each in self.broken:
            if each.failure is not None:
                lines += ["", f"{each.configuration.name} is broken: {each.failure.broken}", each.failure.transcript]
        return "\n".join([*lines, self._conclusion()])

    def _conclusion(self) -> str:
        if not self.ok:
            return "NOT OK"
        unfinished = self.asked - sum(each.complete for each in self.found)
        if not self.ended:
            return f"ok so far: {unfinished} of {self.asked} searches are incomplete"
        return f"ok: {unfinished} of {self.asked} searches went as far as their own limit" if unfinished else "ok"

    def _unmet(self) -> list[str]:
        """Say what was not met: by name once that is certain, before that only how much it is."""
        everything = {
            "never happened": self.missing,
            "cells of a stream never reached": self.server_cells,
            "cells of a call never reached": self.client_cells,
        }
        if self.ended:
            return [f"{what}: {_listed(names)}" for what, names in everything.items()]
        return [f"{what} so far: {len(names)}" for what, names in everything.items()]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _figures(found: Sequence[Found], seconds: float) -> tuple[str, ...]:
    states = sum(each.statistics.states for each in found)
    transitions = sum(each.statistics.transitions for each in found)
    depth = max((each.statistics.depth for each in found), default=0)
    return f"{states:,}", f"{transitions:,}", f"{depth}", f"{seconds:.1f}", f"{per_second(states, seconds):,}"


def _row(found: Found) -> tuple[str, ...]:
    end = "BROKEN" if found.failure else "complete" if found.complete else "incomplete"
    return found.configuration.name, *_figures([found], found.seconds), end


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    lines = []
    for name, *figures, end in rows:
        cells = [name.ljust(widths[0]), *(text.rjust(wide) for text, wide in zip(figures, widths[1:], strict=False))]
        lines.append("  ".join([*cells, end]).rstrip())
    return lines
