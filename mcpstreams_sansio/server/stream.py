"""One stream as the server knows it: its state, its log, its connection and its open questions."""

from __future__ import annotations

from collections import deque
from enum import Enum, unique
from typing import ClassVar, Self, TypeAlias, final

import attrs

from mcpstreams_sansio.copies import shallow_copy
from mcpstreams_sansio.ids import ConnectionId, Digest, Owner, Principal, RequestId, StreamId
from mcpstreams_sansio.server.calls import CallPolicy, Peer, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.inputs import Scope
from mcpstreams_sansio.server.log import StreamLog
from mcpstreams_sansio.server.records import EntryKind, Tags
from mcpstreams_sansio.server.table import STREAM_TABLE, StreamSignal, StreamState
from mcpstreams_sansio.tables import follow
from mcpstreams_sansio.wire.converter import unstructure
from mcpstreams_sansio.wire.jsonrpc import Message, encode_message
from mcpstreams_sansio.wire.marker import META_WINDOW, Window
from mcpstreams_sansio.wire.refusals import Reason
from mcpstreams_sansio.wire.streams import StreamCreate, create_notification
from mcpstreams_sansio.wire.tags import tagged


@final
@attrs.frozen
class ByCall:
    """The connection on which the call came, first or again."""

    owes_call: ClassVar = True
    """The call's own id waits for its answer there."""


@final
@attrs.frozen
class ByResume:
    """A connection on which `stream/resume` came; its result is the tail of the attachment (rule R15)."""

    request_id: RequestId | None
    """None for a resume without an id: it has no result (rule D2)."""
    owes_call: bool = False
    """The call came on this very connection, which attached again: its own id waits for its answer too (R14)."""


@final
@attrs.frozen
class ByCursor:
    """An HTTP GET with a cursor (rule R17)."""

    owes_call: ClassVar = False


Origin: TypeAlias = ByCall | ByResume | ByCursor


@unique
class Reading(Enum):
    """Whether a peer may send more."""

    OPEN = "open"
    ENDED = "ended"


@final
@attrs.define(eq=False)
class Attachment:
    """The one connection that delivers a stream, and how far it is."""

    connection_id: ConnectionId
    origin: Origin
    position: int
    """The last entry that was put into a write of this connection."""
    repeats: deque[str] = attrs.field(factory=deque)
    """Questions at or below the client's position: they go first, without an event id (rule R24)."""
    deficit: int = 0
    """Bytes that the stream may still put into writes in its turn (deficit round robin, rule R11)."""
    reading: Reading = Reading.OPEN
    """Whether its client may still say on this connection what it has."""

    def fork(self) -> Self:
        """Return an independent copy."""
        copy = shallow_copy(self)
        copy.repeats = self.repeats.copy()
        return copy


@final
@attrs.frozen
class OpenAsk:
    """A question that nobody has answered."""

    sequence: int
    payload: bytes = attrs.field(repr=False)


@unique
class Handler(Enum):
    """What became of the application's work on the call."""

    WAITING = "waiting"
    """Its record is not durable yet (rule R9)."""
    RUNNING = "running"
    HELD = "held"
    """Running, and told to wait before it sends more (rule R10)."""
    DONE = "done"
    """It has answered, or was told to stop."""


@final
@attrs.define(eq=False)
class Stream:
    """Everything about one stream but the times, which the registry keeps in one heap."""

    stream_id: StreamId
    request_id: RequestId
    peer: Peer
    policy: CallPolicy
    tags: Tags
    principal: Principal | None
    scope: Scope | None
    """Where it was attached last: what answers, cancels and acknowledgements are entitled by (rules R6, R24). None
    since a restart: nowhere."""
    opened_in: Scope | None
    """Where its call came from: its request can be cancelled there all the same (rule Q9e). None once that connection
    is gone, or the request was answered there."""
    owner: Owner
    """Whose quota it counts against, fixed when it was opened."""
    tokens: list[Digest] = attrs.field(factory=list, repr=False)
    key_digest: Digest | None = attrs.field(default=None, repr=False)
    state: StreamState = StreamState.LIVE
    log: StreamLog = attrs.field(factory=StreamLog)
    attachment: Attachment | None = None
    handler: Handler = Handler.WAITING
    attempts: dict[str, int] = attrs.field(factory=dict)
    """The highest attempt number of each client instance, the latest instance last (rule R14)."""
    asks: dict[str, OpenAsk] = attrs.field(factory=dict)
    last_takeover: float = float("-inf")
    """When a client without attempt numbers attached last (rule R14)."""
    rested_at: float = float("-inf")
    """When it may be attached `max_resumes` times in a row again: each attachment puts it off (rule Q11h)."""
    reason: Reason | None = None
    """Why it is gone, or why its application may not go on."""
    number: int = 0
    """How many streams were opened before it."""

    def step(self, signal: StreamSignal) -> None:
        """Follow the table: the only place where a stream changes its state."""
        self.state = follow(STREAM_TABLE, self.state, signal)

    def strip(self) -> None:
        """Keep no more of a stream that is gone than a tombstone is (rule Q7d)."""
        self.request_id = 0
        self.peer = Peer()
        self.key_digest = None
        self.attempts.clear()

    @property
    def announced(self) -> bool:
        """Whether `create` and `end` are entries of its log (rule R2)."""
        return self.policy.kind is StreamKind.ANNOUNCED

    @property
    def resumable(self) -> bool:
        """Whether anything can bring it back after a loss (rules R2, Q7c)."""
        return self.policy.kind is not StreamKind.FLEETING and self.policy.interval.max != 0

    @property
    def complete(self) -> bool:
        """Whether the application has produced its last entry."""
        return self.state in (StreamState.DRAINING, StreamState.COMPLETED)

    @property
    def acknowledges(self) -> bool:
        """Whether its client says what it has (rule R6), and can say it where it is."""
        can_say = self.attachment is None or self.attachment.reading is Reading.OPEN
        return self.tags is Tags.SEQUENCE and can_say

    @property
    def ahead(self) -> int:
        """How many entries count against the window (rules R6, R7)."""
        return self.log.produced - min(self._counted, self.delivered)

    @property
    def ahead_size(self) -> int:
        """How many bytes do: what is kept beyond that is only kept while there is room (rules R5, R7)."""
        if self.delivered < self._counted:
            return self.log.size_above(self.delivered)
        return self.log.unconfirmed_size if self.acknowledges else self.log.unsent_size

    @property
    def _counted(self) -> int:
        """The position above which entries count, unless the connection is still being given earlier ones again."""
        return self.log.confirmed if self.acknowledges else self.log.sent

    def supersedes(self, instance: str, number: int) -> bool:
        """Return whether an attempt takes the stream from whoever has it (rule R14).

        It has to come later than every one that its instance made before. The latest one itself may arrive twice, as
        what stands between the two may have sent it again: the copy has the stream if nobody else has.
        """
        latest = self.attempts.get(instance, -1)
        return number > latest or (number == latest and self.attachment is None)

    def note_attempt(self, instance: str, number: int, most: int) -> None:
        """Remember an attempt; beyond `most` instances the longest unheard is forgotten."""
        self.attempts.pop(instance, None)
        self.attempts[instance] = number
        if len(self.attempts) > most:
            del self.attempts[next(iter(self.attempts))]

    @property
    def unanswered(self) -> bool:
        """Whether its request waits for its answer: no write had the response yet, or none of this attachment's."""
        position = self.log.sent if self.attachment is None else self.attachment.position
        return self.handler is not Handler.DONE or position < self._response

    @property
    def delivered(self) -> int:
        """The position up to which its connection was given everything; of one without, nothing is being given."""
        return self.log.produced if self.attachment is None else self.attachment.position

    @property
    def droppable(self) -> int:
        """The position up to which notifications may go where room is needed (rules R7, R10).

        After a restart anything that is not confirmed may never have been sent. It goes as if it had been where the
        numbers tell the client that it is missing; another client would lose it in silence, so for that one it stays.
        And what the attached connection was not given yet stays, although another one may have been given it before.
        """
        told = self.log.claimable if self.tags is Tags.SEQUENCE else self.log.sent
        return min(told, self.delivered)

    def has_pending_request(self) -> bool:
        """Poll's `hasRequest`: a question nobody has answered (rule Q8c)."""
        return bool(self.asks)

    def has_pending_messages(self) -> bool:
        """Poll's `pendingMessages`: a resume now would deliver something other than `create` and `end` (R8, Q8b)."""
        log = self.log
        first = max(self._delivered() + 1, log.first_available, 2 if self.announced else 1)
        last = self._response if self.complete else log.produced
        return self.has_pending_request() or last >= first

    def has_pending_error(self) -> bool:
        """Poll's `hasError`: the response is an error and was not delivered for certain (rule Q8c)."""
        if not self.complete:
            return False
        response = self.log.entry(self._response)
        return response is not None and response.kind is EntryKind.FAILURE and response.sequence > self._delivered()

    @property
    def _response(self) -> int:
        """Where the response of a complete stream stands."""
        return self.log.produced - (1 if self.announced else 0)

    def _delivered(self) -> int:
        return self.log.confirmed if self.attachment is None else self.attachment.position

    def fork(self) -> Self:
        """Return an independent copy."""
        copy = shallow_copy(self)
        copy.tokens = self.tokens.copy()
        copy.log = self.log.fork()
        if self.attachment is not None:
            copy.attachment = self.attachment.fork()
        copy.attempts = self.attempts.copy()
        copy.asks = self.asks.copy()
        return copy

    def resume_wait(self, config: StreamsConfig, now: float) -> float:
        """Return for how many seconds the stream cannot be attached once more, by whomever (rule Q11h)."""
        return max(self.rested_at - now - (config.max_resumes - 1) * config.resume_interval, 0.0)

    def takeover_wait(self, interval: float, now: float) -> float:
        """Return for how many seconds a client without attempt numbers takes over too hastily (rule R14)."""
        return max(self.last_takeover + interval - now, 0.0)

    def snapshot(self, config: StreamsConfig, now: float) -> tuple[object, ...]:
        """Return a hashable value, equal for streams that will behave alike."""
        attachment = self.attachment
        return (
            self.stream_id,
            self.request_id,
            self.peer,
            self.policy,
            self.tags,
            self.principal,
            self.owner,
            self.key_digest,
            self.state,
            self.handler,
            self.scope,
            self.opened_in,
            self.reason,
            self.takeover_wait(config.takeover_interval, now),
            max(self.rested_at - now, 0.0),
            self.log.snapshot(now),
            None
            if attachment is None
            else (
                attachment.connection_id,
                attachment.origin,
                attachment.position,
                tuple(attachment.repeats),
                attachment.deficit,
                attachment.reading,
            ),
            tuple(self.tokens),
            tuple(f"{instance}.{number}" for instance, number in self.attempts.items()),
            tuple(sorted(self.asks.items())),
        )


def attachment_of(stream: Stream) -> Attachment:
    """Return the attachment of a stream that is known to have one."""
    assert stream.attachment is not None, "no connection delivers this stream"
    return stream.attachment


def encode_entry(stream: Stream, message: Message, sequence: int) -> bytes:
    """Return the bytes of a message at a position of a stream: the same for every delivery (rule R4)."""
    if stream.tags is Tags.SEQUENCE:
        message = tagged(message, stream.stream_id, sequence)
    return encode_message(message)


def encode_create(config: StreamsConfig, create: StreamCreate, peer: Peer) -> bytes:
    """Return the bytes of `create`, which for a client that acknowledges says how much may be unacknowledged (R6)."""
    if tags_for(peer) is Tags.NONE:
        return encode_message(create_notification(create, config.create_shape))
    window = Window(config.window, config.window_bytes)
    message = create_notification(attrs.evolve(create, meta={META_WINDOW: unstructure(window)}), config.create_shape)
    return encode_message(tagged(message, create.stream_id, 1))


def tags_for(peer: Peer) -> Tags:
    """Return how the messages of an announced stream are tagged for its requester (rule R4)."""
    return Tags.SEQUENCE if peer.marker else Tags.NONE
