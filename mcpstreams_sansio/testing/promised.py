"""What a server was told and has answered, by which it must stand, now and after a crash (rules R6, R9, R21)."""

from __future__ import annotations

from typing import Self, final

import attrs

from mcpstreams_sansio.ids import Digest, RequestId, StreamId
from mcpstreams_sansio.server.inputs import (
    AckReceived,
    CallReceived,
    CancelledReceived,
    CancelReceived,
    PollReceived,
    StreamsInput,
)
from mcpstreams_sansio.server.keys import key_digest
from mcpstreams_sansio.server.records import KeyCancelled, LogRecord, StreamClosed, StreamOpened
from mcpstreams_sansio.testing.disk import Disk
from mcpstreams_sansio.testing.frames import Frame
from mcpstreams_sansio.testing.properties import Violation
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Message, Notification, Response
from mcpstreams_sansio.wire.meta import parse_call_key
from mcpstreams_sansio.wire.methods import CANCELLED
from mcpstreams_sansio.wire.refusals import Reason


@final
@attrs.define
class Promised:
    """What nobody may be disappointed of."""

    keys: dict[StreamId, Digest] = attrs.field(factory=dict)
    """Under which key the call of each stream came."""
    cancelled: frozenset[Digest] = frozenset()
    """The keys that the server was told to be cancelled."""
    cancels: dict[RequestId, StreamId] = attrs.field(factory=dict)
    """The requests that cancel a stream by its token."""
    ends: dict[StreamId, int] = attrs.field(factory=dict)
    """Where the end of each stream stands, of which it was written with its number."""

    acknowledged: frozenset[StreamId] = frozenset()
    """The streams that are kept, and of which the client is known to have all."""

    def hear(self, event: StreamsInput) -> None:
        """Note what the server is about to be told."""
        match event:
            case CallReceived(stream_id=stream_id, key=key) if key is not None:
                self.keys[stream_id] = key_digest(key, None)
            case CancelledReceived(key=key) if key is not None:
                self.cancelled |= {key_digest(key, None)}
            case CancelReceived(request_id=request_id, stream_id=stream_id):
                self.cancels[request_id] = stream_id
            case PollReceived(request_id=request_id):
                self.cancels.pop(request_id, None)  # strangers have one id for all that they ask
            case AckReceived():
                self.acknowledge(event)
            case _:
                pass

    def cancelled_before(self, stream_id: StreamId) -> bool:
        """Return whether the key under which the call of a stream came was cancelled."""
        return self.keys.get(stream_id) in self.cancelled

    def start(self, stream_id: StreamId) -> None:
        """Check that work may begin.

        Raises:
            Violation: Its call was cancelled before (rules R21.6, R22).
        """
        if self.cancelled_before(stream_id):
            raise Violation("what is cancelled never starts", f"the work of {stream_id} is started, and was cancelled")

    def write(self, frame: Frame, disk: Disk | None) -> None:
        """Note an end, and check what a cancellation is answered.

        Raises:
            Violation: A crash could take back what is told (rule R9).
        """
        if frame.is_end and frame.stream_id is not None and frame.sequence is not None:
            self.ends[frame.stream_id] = frame.sequence
        cancelled = self.cancels.get(frame.message.id) if isinstance(frame.message, Response) else None
        if disk is not None and cancelled is not None and not disk.ended(cancelled):
            raise Violation("durable before told", f"{cancelled} is told to be cancelled before that is durable")

    def accept(self, message: Message | None, open_asks: frozenset[str], disk: Disk) -> None:
        """Check what an exchange was opened with that is accepted now.

        Args:
            message: What the server accepts.
            open_asks: The questions for whose answer work waits.
            disk: Where records go.

        Raises:
            Violation: A crash could take that back (rule R9).
        """
        match message:
            case Response(id=str(ask_id)) | ErrorResponse(id=str(ask_id)) if ask_id in open_asks:
                if not disk.answers(ask_id):
                    raise Violation("durable before told", "an answer is accepted before it is durable")
            case Notification(method=method, params=params) if method == CANCELLED:
                key = parse_call_key(params)
                if key is not None and not disk.cancelled(key_digest(key, None)):
                    raise Violation("durable before told", "a cancellation is accepted before it is durable")
            case _:
                pass

    def acknowledge(self, event: AckReceived) -> None:
        """Note that the server is told that the client of a stream has all of it."""
        end = self.ends.get(event.stream_id)
        if event.through == end and event.resume_token is not None:
            self.acknowledged |= {event.stream_id}

    def go(self, stream_id: StreamId, reason: Reason, hurried: bool) -> None:
        """Check why a stream is over.

        Args:
            stream_id: Which one.
            reason: Why it is over.
            hurried: Time, or the lack of room, may have been faster than the client, and only the disk was slower.

        Raises:
            Violation: Its client has all of it, and it was kept for as long as streams are kept (rules R6, R7).
        """
        if stream_id in self.acknowledged and reason is Reason.EXPIRED and not hurried:
            raise Violation("freed once acknowledged", f"the client of {stream_id} has all, and it is {reason.value}")
        self.acknowledged -= {stream_id}

    def crash(self, records: tuple[LogRecord, ...]) -> None:
        """Note that the server's process has ended: it stands by what is on record."""
        streams: dict[StreamId, Digest | None] = {}
        cancelled = set()
        for record in records:
            match record:
                case StreamOpened():
                    streams[record.stream_id] = record.key_digest
                case KeyCancelled():
                    cancelled.add(record.key_digest)
                case StreamClosed(reason=Reason.CANCELLED) if (key := streams[record.stream_id]) is not None:
                    cancelled.add(key)
                case _:
                    pass
        self.cancelled, self.acknowledged = frozenset(cancelled), frozenset()

    def fork(self) -> Self:
        """Return an independent copy."""
        return type(self)(self.keys.copy(), self.cancelled, self.cancels.copy(), self.ends.copy(), self.acknowledged)
