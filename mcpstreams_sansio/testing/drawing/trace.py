"""What becomes of each wire, row by row: who holds it open, what is on its way, what never arrives."""

from __future__ import annotations

from typing import final

import attrs

from mcpstreams_sansio.testing.drawing.diagram import Flight, Span, Tube
from mcpstreams_sansio.testing.wires import Down, End, Wire


@final
@attrs.define
class _Periods:
    """When something was so."""

    spans: list[Span] = attrs.field(factory=list)
    since: int | None = None

    def set(self, holds: bool, row: int) -> None:
        """Note whether it is so from a row on."""
        if holds and self.since is None:
            self.since = row
        elif not holds and self.since is not None:
            self.spans.append(Span(self.since, row))
            self.since = None

    def end_by(self, row: int) -> None:
        """Correct the end of the last one, which may lie no further than this row."""
        if self.spans:
            self.spans[-1] = Span(self.spans[-1].begin, min(self.spans[-1].end, row))

    def until(self, row: int) -> tuple[Span, ...]:
        """Return all of them, the last one up to a row at most."""
        return (*self.spans, *([] if self.since is None else [Span(self.since, row)]))


@final
@attrs.define
class Trace:
    """One wire, from the row in which it appears."""

    name: str
    begin: int
    end: int | None = None
    up: list[int] = attrs.field(factory=list)
    """In which row each message was sent that is on its way to the server."""
    down: list[int] = attrs.field(factory=list)
    flights: list[Flight] = attrs.field(factory=list)
    breaks: list[int] = attrs.field(factory=list)
    streams: set[str] = attrs.field(factory=set)
    """Those that the server delivers here."""
    lost: int | None = None
    """Since which row it is half-open."""
    _delivers: _Periods = attrs.field(factory=_Periods)

    def send(self, up: bool, row: int) -> None:
        """Something is sent."""
        (self.up if up else self.down).append(row)

    def arrive(self, up: bool, row: int) -> None:
        """The oldest thing that was sent arrives."""
        waiting = self.up if up else self.down
        self.flights.append(Flight(up, waiting.pop(0), row))

    def lose(self, up: bool, kept: int, row: int) -> None:
        """Only so many of the things that are on their way still are."""
        waiting = self.up if up else self.down
        for sent in waiting[: max(0, len(waiting) - kept)]:
            into_nothing = self.lost is not None and self.lost < sent
            self.flights.append(Flight(up, sent, sent if into_nothing else max(sent, row), lost=True))
            del waiting[0]

    def attach(self, stream_id: str, row: int) -> None:
        """The server delivers a stream here from now on."""
        self.streams.add(stream_id)
        self._delivers.set(True, row)

    def detach(self, stream_id: str, row: int) -> None:
        """It delivers it here no longer."""
        self.streams.discard(stream_id)
        self._delivers.set(bool(self.streams), row)

    def follow(self, wire: Wire | None, row: int, last: int) -> None:
        """Note how the wire is after an action.

        Args:
            wire: It; None once nothing can happen on it any more.
            row: Where what has changed shows.
            last: The last row of the action.
        """
        self._delivers.end_by(last)
        self.lose(True, 0 if wire is None else len(wire.up), row)
        self.lose(False, 0 if wire is None else len(wire.down), row)
        if wire is not None and self.lost is None and End.GONE in {wire.client, wire.server}:
            self.lost = row
        if wire is None and self.end is None:
            self.end = row
            self._delivers.set(False, row)

    def unseen(self, wire: Wire) -> tuple[Down, ...]:
        """Return what is on its way to the client and was never seen to be sent."""
        return wire.down[len(self.down) :]

    def tube(self, last: int) -> Tube:
        """Return the wire as it lived, up to the last row of all."""
        end = last if self.end is None else self.end
        under_way = [Flight(up, sent, end) for up, rows in ((True, self.up), (False, self.down)) for sent in rows]
        return Tube(
            self.name,
            Span(self.begin, end),
            self.lost,
            self._delivers.until(end),
            (*self.flights, *under_way),
            tuple(self.breaks),
        )
