"""One connection's way out: what waits on it, how it is framed, and what one `Write` takes.

Replies go first; then the connection's streams share the write by deficit round robin (rule R11). The body of an HTTP
exchange is decided by what comes first (rule R18). Nothing in here knows a stream's life: it takes entries from logs,
moves positions, and says which streams were given their last entry.
"""

from __future__ import annotations

from collections import deque
from enum import Enum, unique
from typing import Self, TypeAlias, assert_never, final

import attrs

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.copies import shallow_copy
from mcpstreams_sansio.framing.event_ids import event_id
from mcpstreams_sansio.framing.lines import encode_line
from mcpstreams_sansio.framing.sse import encode_comment, encode_payload
from mcpstreams_sansio.ids import ConnectionId, Owner, Principal, RequestId, StreamId
from mcpstreams_sansio.server.calls import BodyPolicy
from mcpstreams_sansio.server.inputs import Scope
from mcpstreams_sansio.server.log import Entry
from mcpstreams_sansio.server.stream import Attachment, Stream, attachment_of
from mcpstreams_sansio.wire.jsonrpc import Request, encode_message
from mcpstreams_sansio.wire.refusals import Reason

_TURNS_A_WRITE = 32
"""In how many turns, at least, a full write is shared: a stream's quantum is that part of `max_write_bytes`."""


@unique
class Phase(Enum):
    """How far a connection is."""

    UNDECIDED = "undecided"
    """An HTTP exchange whose head is not out."""
    OPEN = "open"
    """Messages can be written."""
    ACCEPTED = "accepted"
    """An HTTP exchange whose message was taken and has no answer."""
    EVENTS = "events"
    """Messages can be written, as events of an HTTP response."""
    ENDING = "ending"
    """What waits is written, then it ends."""
    ENDED = "ended"
    """Its end is out; only the report of its last write is awaited."""


@final
@attrs.frozen
class RefusalStatus:
    """What the status of an HTTP response says of a refusal, and its headers."""

    reason: Reason
    retry_after: float | None
    """Seconds."""


@final
@attrs.frozen
class Answer:
    """A message that answers a request, or refuses it."""

    payload: bytes = attrs.field(repr=False)
    request_id: RequestId | None
    refused: RefusalStatus | None = None


@final
@attrs.frozen
class Acceptance:
    """An HTTP exchange whose message has no answer was accepted (rule H9)."""


@final
@attrs.frozen
class Farewell:
    """A stream is over that the connection delivered, or was asked for; with it ends the body of an HTTP exchange."""

    payloads: tuple[bytes, ...] = attrs.field(repr=False)
    """`end`, where the stream was announced, then the result of a resume, where there is one (rules P35, R15)."""
    request_id: RequestId | None
    """The request that waits for it, if one does."""


Telling: TypeAlias = Answer | Acceptance | Farewell
"""What a peer is told that is no entry of a stream."""


@final
@attrs.define(eq=False)
class Connection:
    """One delivery path."""

    connection_id: ConnectionId
    framing: Framing
    scope: Scope
    principal: Principal | None
    owner: Owner
    """Whose quotas count what comes on it (rule R25)."""
    primes: bool
    phase: Phase
    last_write: float
    """When the last `Write` began; before the first, when the connection was opened."""
    body: BodyPolicy = BodyPolicy.NEVER
    """When the answer to its request becomes an event stream; for HTTP."""
    in_flight: int = 0
    """Bytes of the outstanding `Write`; 0 when there is none."""
    attached: dict[StreamId, None] = attrs.field(factory=dict)
    """The streams it delivers."""
    _ready: dict[StreamId, None] = attrs.field(factory=dict)
    """Those of them that have something to deliver, in the order of their turns."""
    _replies: deque[bytes] = attrs.field(factory=deque)
    """Messages that belong to no stream, or to no entry of one."""
    _frames: deque[bytes] = attrs.field(factory=deque)
    """Frames of an event stream that are no message: priming, `retry`, keep-alives."""
    _held: deque[Telling] = attrs.field(factory=deque)
    """What tells of records that are not durable yet, oldest first (rule R9)."""
    reply_bytes: int = 0
    """Bytes of the messages that wait, for their turn or for the log."""
    _pings: int = 0
    unheard: int = 0
    """Pings since the last sign of life."""
    refusal: RefusalStatus | None = None
    """What the one reply of an HTTP exchange refuses, if it does."""

    @property
    def idle(self) -> bool:
        """Whether nothing is outstanding and something may be written."""
        return self.in_flight == 0 and self.phase in (Phase.OPEN, Phase.EVENTS, Phase.ENDING)

    @property
    def has_replies(self) -> bool:
        """Whether a message waits that belongs to no entry."""
        return bool(self._replies)

    @property
    def has_work(self) -> bool:
        """Whether anything waits to be written."""
        return bool(self._replies or self._frames or self._ready)

    @property
    def written_out(self) -> list[StreamId]:
        """The streams it delivers that have nothing to deliver now."""
        return [stream_id for stream_id in self.attached if stream_id not in self._ready]

    @property
    def holds_back(self) -> bool:
        """Whether its peer will be told something that waits for the log."""
        return bool(self._held)

    @property
    def ready_stream(self) -> StreamId | None:
        """The stream whose turn comes next."""
        return next(iter(self._ready), None)

    def reply(self, payload: bytes) -> None:
        """Queue a message that waits for no entry (rule R15)."""
        self._replies.append(payload)
        self.reply_bytes += len(payload)

    def hold_back(self, telling: Telling) -> None:
        """Keep what its peer may not be told yet."""
        self._held.append(telling)
        self.reply_bytes += _size(telling)

    def next_held(self) -> Telling:
        """Take what was held back longest; there is something."""
        telling = self._held.popleft()
        self.reply_bytes -= _size(telling)
        return telling

    def prime(self, stream_id: StreamId, position: int) -> None:
        """Queue an empty event that carries a position (rules R1, H13, H14)."""
        self._frames.append(encode_payload(b"", event_id(stream_id, position)))

    def ask_to_retry(self, retry_ms: int) -> None:
        """Queue the pause after which the client shall come back (rule H16)."""
        self._frames.append(b"retry: %d\n\n" % retry_ms)

    def end(self) -> None:
        """Write what waits, then nothing more."""
        self.phase = Phase.ENDING

    def keep_alive(self) -> None:
        """Queue a comment (rule R15)."""
        self._frames.append(encode_comment())

    def next_ping(self) -> bytes:
        """Return a ping, whose answer nobody needs: that something comes is the answer (rule R15)."""
        self._pings += 1
        if self.phase is Phase.OPEN:  # who has hung up cannot answer
            self.unheard += 1
        return encode_message(Request(f"keepalive-{self._pings}", "ping"))

    def make_ready(self, stream_id: StreamId) -> None:
        """Give a stream a turn, after those that have one."""
        self._ready.setdefault(stream_id)

    def first_attached(self) -> StreamId:
        """Return the one stream that an HTTP exchange delivers; there is one."""
        return next(iter(self.attached))

    def first_ready(self) -> StreamId:
        """Return the stream whose turn it is; there is one."""
        return next(iter(self._ready))

    def forget(self, stream_id: StreamId) -> None:
        """Deliver a stream no longer."""
        self.attached.pop(stream_id, None)
        self._ready.pop(stream_id, None)

    def first_reply(self) -> bytes:
        """Take the oldest waiting message: the whole body of a JSON response."""
        payload = self._replies.popleft()
        self.reply_bytes -= len(payload)
        return payload

    def next_frame(self) -> bytes | None:
        """Take the oldest frame or reply, or None where only entries of streams wait."""
        if self._frames:
            return self._frames.popleft()
        if self._replies:
            return self._frame(self.first_reply(), None)
        return None

    def take_turn(self, stream: Stream, max_write_bytes: int, room: int) -> list[bytes]:
        """Take what a stream may put into a write in one turn, and give it another turn if it has more.

        Args:
            stream: The one whose turn it is.
            max_write_bytes: Size of a full write.
            room: Bytes that are left of it; the last message may exceed them.
        """
        attachment = attachment_of(stream)
        chunks: list[bytes] = []
        del self._ready[stream.stream_id]
        attachment.deficit += max(1, max_write_bytes // _TURNS_A_WRITE)
        taken = 0
        while taken < room:
            payload, entry = self._peek(stream, attachment)
            if payload is None or len(payload) > attachment.deficit:
                break
            attachment.deficit -= len(payload)
            if entry is None:
                attachment.repeats.popleft()
                chunk = self._frame(payload, None)
            else:
                attachment.position = entry.sequence
                stream.log.mark_sent(entry.sequence)
                chunk = self._frame(payload, self._cursor(stream, entry.sequence))
            chunks.append(chunk)
            taken += len(chunk)
        if self._peek(stream, attachment)[0] is None:
            attachment.deficit = 0
        else:
            self.make_ready(stream.stream_id)
        return chunks

    @staticmethod
    def _peek(stream: Stream, attachment: Attachment) -> tuple[bytes | None, Entry | None]:
        # A question that was closed meanwhile is not asked again (rule R24).
        while attachment.repeats and attachment.repeats[0] not in stream.asks:
            attachment.repeats.popleft()
        if attachment.repeats:
            return stream.asks[attachment.repeats[0]].payload, None
        entry = stream.log.next_after(attachment.position)
        return (None, None) if entry is None else (entry.payload, entry)

    def _cursor(self, stream: Stream, sequence: int) -> str | None:
        """Return the id of an entry's event: none where it would be no use to the client (rules H23, R2)."""
        return event_id(stream.stream_id, sequence) if self.framing is Framing.HTTP and stream.resumable else None

    def _frame(self, payload: bytes, identifier: str | None) -> bytes:
        match self.framing:
            case Framing.LINES:
                return encode_line(payload)
            case Framing.MESSAGES:
                return payload
            case Framing.HTTP:
                return encode_payload(payload, identifier)
            case never:
                assert_never(never)

    def fork(self) -> Self:
        """Return an independent copy."""
        copy = shallow_copy(self)
        copy.attached = self.attached.copy()
        copy._ready = self._ready.copy()
        copy._replies = self._replies.copy()
        copy._frames = self._frames.copy()
        copy._held = self._held.copy()
        return copy

    def snapshot(self) -> tuple[object, ...]:
        """Return a hashable value, equal for connections that will behave alike."""
        return (
            self.connection_id,
            self.framing,
            self.scope,
            self.principal,
            self.owner,
            self.primes,
            self.phase,
            self.body,
            self.unheard,
            self.refusal,
            self.in_flight > 0,
            tuple(self.attached),
            tuple(self._ready),
            tuple(self._replies),
            tuple(self._frames),
            tuple(self._held),
        )


def _size(telling: Telling) -> int:
    match telling:
        case Answer(payload):
            return len(payload)
        case Acceptance():
            return 0
        case Farewell(payloads):
            return sum(map(len, payloads))
        case never:
            assert_never(never)
