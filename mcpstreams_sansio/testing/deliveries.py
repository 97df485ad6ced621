"""How far each stream is with its client, as it shows outside of its server (rules R5, R8, Q6).

Who delivers it, which entries were written there, and what its client has said that it has: from that follows what may
be written next, and what a poll has to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, final

import attrs

from mcpstreams_sansio.framing.event_ids import parse_event_id
from mcpstreams_sansio.ids import StreamId
from mcpstreams_sansio.server.inputs import CursorReceived, ResumeReceived, Scope, StreamsInput
from mcpstreams_sansio.server.records import LogRecord, StreamClosed, StreamConfirmed, StreamOpened
from mcpstreams_sansio.testing.frames import Frame
from mcpstreams_sansio.testing.properties import Violation
from mcpstreams_sansio.testing.work import CREATE
from mcpstreams_sansio.wire.jsonrpc import Notification, Request


@final
@attrs.frozen
class Delivery:
    """One stream that is not over."""

    confirmed: int = 0
    """The last entry of which its client has said that it has it."""
    home: Scope | None = None
    """Where it was attached last: there its client is known without a token (rule R6)."""
    wire: str | None = None
    """Which wire delivers it; None while none does."""
    position: int | None = 0
    """The last entry that was written there, or that its client had before; None if nobody can tell: several streams
    share a wire, and nothing says which of them an entry belongs to."""

    def attach(self, wire: str, home: Scope | None, after: int | None, last: int) -> Self:
        """Be delivered by a wire from now on.

        Args:
            wire: Which one.
            home: Its session, or its connection.
            after: What its client says that it has; None if it says nothing (rule R8).
            last: The last entry but `end`, which a cursor never confirms: it is told again to whoever asks (rule Q9a).
        """
        position = self.confirmed if after is None else min(after, last)
        return type(self)(max(self.confirmed, 0 if after is None else position), home, wire, position)

    def detach(self) -> Self:
        """Be delivered by nothing."""
        return type(self)(self.confirmed, self.home)


@final
@attrs.define
class Deliveries:
    """All streams that are not over."""

    streams: dict[StreamId, Delivery] = attrs.field(factory=dict)
    leaving: dict[StreamId, Delivery] = attrs.field(factory=dict)
    """How those were delivered that the input in hand has detached, or ended: what was written still comes out."""

    def attach(self, stream_id: StreamId, wire: str, home: Scope | None, event: StreamsInput, last: int) -> None:
        """Note that a wire delivers a stream from now on, and the one before no longer (rule Q6a).

        Args:
            stream_id: Which stream.
            wire: Which wire.
            home: Its session, or its connection.
            event: What has asked for the stream there.
            last: Its last entry but `end`.
        """
        known = self.streams.get(stream_id, Delivery())
        self.streams[stream_id] = known.attach(wire, home, _position_in(event), last)

    def detach(self, stream_id: StreamId) -> None:
        """Note that no wire delivers a stream."""
        known = self.streams.get(stream_id)
        if known is not None:
            self.leaving[stream_id], self.streams[stream_id] = known, known.detach()

    def go(self, stream_id: StreamId) -> None:
        """Note that a stream is over."""
        known = self.streams.pop(stream_id, None)
        if known is not None and known.wire is not None:
            self.leaving[stream_id] = known

    def rest(self) -> None:
        """Note that all is written that follows from an input."""
        self.leaving.clear()

    def confirm(self, stream_id: StreamId, through: int) -> None:
        """Note that the client of a stream says what it has, and may say so."""
        known = self.streams.get(stream_id)
        if known is not None:
            self.streams[stream_id] = attrs.evolve(known, confirmed=max(known.confirmed, through))

    def write(self, wire: str, frame: Frame, stream_id: StreamId, sequence: int) -> None:
        """Check where an entry is written that says where it stands.

        Raises:
            Violation: Its stream is delivered elsewhere, or not at all (rule Q6g); or the wire was given it before.
        """
        kept = self.leaving if self._has_left(wire, stream_id) else self.streams
        known = kept.get(stream_id)
        # Of a stream that is over, whoever comes again is told the end again (rule Q9a).
        if known is None and frame.is_end:
            return
        if known is None or known.wire != wire:
            deliverer = "nobody" if known is None or known.wire is None else known.wire
            raise Violation("one attachment", f"{stream_id} belongs to {deliverer} and is written to {wire}")
        if known.position is None or sequence > known.position:
            kept[stream_id] = attrs.evolve(known, position=sequence)
        # What is still asked goes first, although the client may have it (rule R24).
        elif not isinstance(frame.message, Request):
            raise Violation("each entry once", f"{stream_id}#{sequence} is written to {wire} once more")

    def _has_left(self, wire: str, stream_id: StreamId) -> bool:
        """Return whether a wire has delivered a stream until the input in hand, and nothing does so now."""
        left, known = self.leaving.get(stream_id), self.streams.get(stream_id)
        return left is not None and left.wire == wire and (known is None or known.wire is None)

    def count(self, wire: str, frame: Frame) -> None:
        """Count an entry that does not say where it stands: it is the next one of the stream that the wire delivers.

        The answer and `end` come together, and then nothing is delivered any more. No crash leaves a `create`, which is
        on no record (rule R3): what comes first then stands behind it.
        """
        if not isinstance(frame.message, Notification | Request) or frame.is_end:
            return
        here = [stream_id for stream_id, known in self.streams.items() if known.wire == wire]
        for stream_id in here:
            known = self.streams[stream_id]
            least = CREATE if frame.is_create else CREATE + 1
            position = None if known.position is None or len(here) > 1 else max(known.position + 1, least)
            self.streams[stream_id] = attrs.evolve(known, position=position)

    def crash(self, records: Sequence[LogRecord]) -> None:
        """Note that the server's process has ended: nothing is delivered, and it knows what is on record."""
        confirmed: dict[StreamId, int] = {}
        for record in records:
            match record:
                case StreamOpened(stream_id=stream_id):
                    confirmed[stream_id] = 0
                case StreamConfirmed(stream_id=stream_id, through=through):
                    confirmed[stream_id] = through
                case StreamClosed(stream_id=stream_id):
                    confirmed.pop(stream_id, None)
                case _:
                    pass
        self.streams = {stream_id: Delivery(through) for stream_id, through in confirmed.items()}

    def fork(self) -> Self:
        """Return an independent copy."""
        return type(self)(self.streams.copy(), self.leaving.copy())


def _position_in(event: StreamsInput) -> int | None:
    """Return what a client says that it has, where it asks for a stream: by a call nothing, first or again."""
    match event:
        case ResumeReceived(after=None, header_after=after) | ResumeReceived(after=after) | CursorReceived(after=after):
            return after
        case _:
            return 0


def place_of(frame: Frame) -> tuple[StreamId, int] | None:
    """Return the stream of an entry, and where it stands there: as its tag says, or the id of its event."""
    if frame.stream_id is not None and frame.sequence is not None:
        return frame.stream_id, frame.sequence
    if frame.message is not None and frame.event_id is not None:
        return parse_event_id(frame.event_id)
    return None
