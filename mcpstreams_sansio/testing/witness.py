"""What can be seen from outside of a server, and must hold: checked on every effect and every byte that it writes."""

from __future__ import annotations

from typing import Final, final

import attrs

from mcpstreams_sansio.ids import StreamId
from mcpstreams_sansio.server.records import LogRecord, StreamClosed, StreamOpened
from mcpstreams_sansio.testing.conversation import is_said_by_work
from mcpstreams_sansio.testing.disk import Disk
from mcpstreams_sansio.testing.frames import Frame
from mcpstreams_sansio.testing.properties import Violation
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse
from mcpstreams_sansio.wire.refusals import Reason, read_refusal

_FINAL: Final = frozenset({Reason.ABANDONED, Reason.CANCELLED, Reason.EXPIRED, Reason.FINISHED})
"""Refusals that tell how a stream has ended, or that its call was cancelled before it came."""


@final
@attrs.define
class Witness:
    """What the server has done so far."""

    ended: dict[str, frozenset[StreamId]] = attrs.field(factory=dict)
    """The streams whose end was written, for each wire that still carries something."""
    unended: frozenset[StreamId] = frozenset()
    """The streams of which `create` was written, and no `end`."""
    opened: frozenset[StreamId] = frozenset()
    """The streams that were ever delivered."""
    gone: dict[StreamId, Reason] = attrs.field(factory=dict)
    executed: frozenset[int] = frozenset()
    """The calls whose work was started."""

    def attach(self, stream_id: StreamId, wire: str) -> None:
        """Note that a wire delivers a stream from now on: its end may come there once more."""
        self.opened |= {stream_id}
        self.ended[wire] = self.ended.get(wire, frozenset()) - {stream_id}

    def go(self, stream_id: StreamId, reason: Reason) -> None:
        """Note that a stream is over.

        Raises:
            Violation: It was over before; or it is finished, and nobody was told so (rule P35).
        """
        if stream_id in self.gone:
            raise Violation("a stream ends once", f"{stream_id} is over a second time")
        if reason is Reason.FINISHED and stream_id in self.unended:
            raise Violation("end is last, and once", f"{stream_id} is finished without its end")
        self.gone[stream_id] = reason
        self.unended -= {stream_id}

    def crash(self, records: tuple[LogRecord, ...]) -> None:
        """Note that the server's process has ended, and what is left of what it did: what is on record."""
        self.ended.clear()
        self.opened = frozenset([record.stream_id for record in records if isinstance(record, StreamOpened)])
        self.unended &= self.opened
        for record in records:
            if isinstance(record, StreamClosed):
                self.gone.setdefault(record.stream_id, record.reason)

    def start(self, number: int, stream_id: StreamId, disk: Disk | None) -> None:
        """Note that the work on a call begins.

        Raises:
            Violation: It began before (rule R21), or its record is not durable (rule R9).
        """
        if number in self.executed:
            raise Violation("a call runs once", f"the work on call {number} is started again")
        if disk is not None and not disk.started(stream_id):
            raise Violation(
                "durable before started", f"the work of {stream_id} is started before its record is durable"
            )
        self.executed |= {number}

    def write(self, wire: str, frame: Frame, disk: Disk | None) -> None:
        """Check what is written.

        Raises:
            Violation: It comes too early, or after the end.
        """
        if disk is not None:
            _check_durable(frame, disk)
        stream_id = frame.stream_id
        if stream_id is None:
            return
        if frame.sequence is not None and disk is not None and not disk.holds(stream_id, frame.sequence):
            raise Violation("durable before delivered", f"{stream_id}#{frame.sequence} is written before it is durable")
        # Of a stream that is over, whoever comes again is told the end again (rule Q9a).
        if stream_id in self.ended.get(wire, ()) and not (frame.is_end and stream_id in self.gone):
            raise Violation("end is last, and once", f"something of {stream_id} comes after its end")
        if frame.is_create and stream_id not in self.gone:
            self.unended |= {stream_id}
        if frame.is_end:
            self._end(wire, stream_id, disk)

    def _end(self, wire: str, stream_id: StreamId, disk: Disk | None) -> None:
        if disk is not None and not disk.ended(stream_id):
            raise Violation("durable before delivered", f"the end of {stream_id} is written before it is durable")
        self.unended -= {stream_id}
        self.ended[wire] = self.ended.get(wire, frozenset()) | {stream_id}

    def forget(self, wire: str) -> None:
        """A wire carries nothing any more."""
        self.ended.pop(wire, None)

    def fork(self) -> Witness:
        """Return an independent copy."""
        return Witness(self.ended.copy(), self.unended, self.opened, self.gone.copy(), self.executed)


def _check_durable(frame: Frame, disk: Disk) -> None:
    """Check what does not say where it stands: what the work has said, and refusals."""
    if is_said_by_work(frame.message) and not disk.says(frame.payload):
        raise Violation("durable before delivered", "what the work said is written before it is durable")
    refused = read_refusal(frame.message) if isinstance(frame.message, ErrorResponse) else None
    if refused is not None and refused.reason in _FINAL and not disk.tells(refused.reason):
        raise Violation("durable before told", f"{refused.reason.value} is told before it is durable")
