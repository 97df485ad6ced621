"""Everything that a server knows of its streams and connections: the tables that the rooms beside this one work on.

The registry finds, counts and remembers. What happens to a stream is decided in `attachments.py` (who delivers it),
`lifecycle.py` (how it begins and ends), `production.py` (what the application adds), `requests.py` (what a peer wants)
and `delivery.py` (what is written).
"""

from __future__ import annotations

from enum import Enum, unique
from typing import Self, TypeAlias, final

import attrs

from mcpstreams_sansio.copies import shallow_copy
from mcpstreams_sansio.deadlines import Deadlines
from mcpstreams_sansio.ids import ConnectionId, Digest, Owner, Principal, RequestId, Secret, StreamId, same_digest
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import StopCall, StopReason, StreamsEffect
from mcpstreams_sansio.server.gate import Gate, GateState
from mcpstreams_sansio.server.guesses import WrongTokens
from mcpstreams_sansio.server.inputs import Scope
from mcpstreams_sansio.server.keys import Keys
from mcpstreams_sansio.server.outbox import Connection
from mcpstreams_sansio.server.stream import Stream, encode_create, encode_entry
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.server.tally import Tally
from mcpstreams_sansio.wire.jsonrpc import Message, encode_message
from mcpstreams_sansio.wire.refusals import Reason
from mcpstreams_sansio.wire.streams import StreamCreate

_NOBODY = Secret("").digest()
"""Stands in for the tokens of an unknown stream, so that it takes as long to refuse as a wrong token (rule Q11a)."""


@unique
class StreamTimer(Enum):
    """What a stream has to be looked at for."""

    ABANDON = "abandon"
    """It is detached, and given up in the end (rules Q7a, Q7e)."""
    AGE = "age"
    """Confirmed entries leave their redelivery window (rule R5)."""
    FORGET = "forget"
    """It is gone, and the reason is forgotten in the end (rule Q7d)."""


@unique
class ConnectionTimer(Enum):
    """What a connection has to be looked at for."""

    DECIDE = "decide"
    """The response of an exchange has to become an event stream (rule R18)."""
    STALL = "stall"
    """A write has been outstanding for too long (rule R11)."""
    KEEPALIVE = "keepalive"
    """It delivers and has been silent (rule R15)."""


@unique
class AskTimer(Enum):
    """What a question has to be looked at for."""

    ANSWER = "answer"
    """It was not answered in time (rule R24)."""


Timer: TypeAlias = tuple[StreamTimer, StreamId] | tuple[ConnectionTimer, ConnectionId] | tuple[AskTimer, str]


@unique
class Service(Enum):
    """Whether the server is there to stay."""

    OPEN = "open"
    DRAINING = "draining"
    """It stops: it takes no new call, and keeps no connection longer than it takes to write what there is."""


@final
@attrs.frozen
class Prepared:
    """Bytes that the input in hand adds: made before anything changes, since making them may fail (rule R13)."""

    payload: bytes = attrs.field(repr=False)
    stream_id: StreamId | None = None
    """The stream whose entry they are; None for a reply."""
    sequence: int = 0
    """The number of that entry."""


@final
@attrs.define(eq=False)
class Registry:
    """The state of `ServerStreams`, and the effects of the input that is being handled."""

    config: StreamsConfig
    gate: Gate
    wrong_tokens: WrongTokens
    keys: Keys
    streams: dict[StreamId, Stream] = attrs.field(factory=dict)
    connections: dict[ConnectionId, Connection] = attrs.field(factory=dict)
    highest_connection: int = -1
    """Connection ids rise, so this one number tells a new connection from one that is gone (rule R13)."""
    calls: dict[tuple[Scope, RequestId], StreamId] = attrs.field(factory=dict)
    """The requests whose answer a stream holds, by where their id is at home (rule Q9e, case L2)."""
    resumes: dict[tuple[Scope, RequestId], StreamId] = attrs.field(factory=dict)
    """The `stream/resume` requests that wait for their result."""
    asks: dict[str, StreamId] = attrs.field(factory=dict)
    """The stream of each unanswered question: an answer is found by its id alone (rule Q4b)."""
    bound: dict[Scope, dict[StreamId, None]] = attrs.field(factory=dict)
    """The streams of each scope, for its end (rule R16)."""
    quotas: Tally = attrs.field(factory=Tally)
    """The streams that are not gone, for each owner."""
    tombstones: dict[StreamId, None] = attrs.field(factory=dict)
    """The streams that are gone and can still be asked for, oldest first."""
    deadlines: Deadlines[Timer] = attrs.field(factory=Deadlines)
    working: dict[StreamId, Owner] = attrs.field(factory=dict)
    """Calls that the application works on: it has neither answered them nor been told to stop. Some outlive their
    stream (rules D5, R27)."""
    works: Tally = attrs.field(factory=Tally)
    """The same, for each owner."""
    alive: int = 0
    """Streams that are not gone."""
    total_bytes: int = 0
    """Bytes of all logs together."""
    yielding: dict[StreamId, None] = attrs.field(factory=dict)
    """The streams of which something may go where room is needed; of any other one nothing may (rule R10). So it
    decides nothing but who is looked at, and is no part of a snapshot."""
    opened: int = 0
    """How many streams there ever were."""
    service: Service = Service.OPEN
    now: float = float("-inf")
    effects: list[StreamsEffect] = attrs.field(factory=list)
    prepared: Prepared | None = None
    """The bytes that the input in hand adds, until they are taken."""
    touched: dict[ConnectionId, None] = attrs.field(factory=dict)
    """Connections that may have something to write after this input: the only ones that are looked at."""

    @classmethod
    def empty(cls, config: StreamsConfig) -> Self:
        """Return the registry of a server that knows nobody yet."""
        return cls(
            config, Gate(GateState.GUARDING if config.durable else GateState.OPEN), WrongTokens(config), Keys(config)
        )

    @property
    def refusing(self) -> Reason | None:
        """Why no new call is taken: the log has failed, or the server drains."""
        if self.gate.state is GateState.FAILED:
            return Reason.LOG_FAILED
        return Reason.DRAINING if self.service is Service.DRAINING else None

    def find(self, stream_id: StreamId, token: Secret, principal: Principal | None) -> Stream | None:
        """Return the stream that a token opens for a principal, or None.

        Unknown stream, wrong token and wrong principal give the same answer after the same comparisons (rules Q10,
        Q11a, Q11c, R25).
        """
        stream = self.streams.get(stream_id)
        opens = self.opens(stream, token)
        return stream if opens and stream is not None and stream.principal == principal else None

    def opens(self, stream: Stream | None, token: Secret) -> bool:
        """Return whether a token is one of a stream's, in the same time whatever the answer is (rule Q11a)."""
        digest = token.digest()
        tokens = [] if stream is None else stream.tokens
        opens = False
        for place in range(self.config.max_tokens):
            taken = place < len(tokens)
            opens |= same_digest(tokens[place] if taken else _NOBODY, digest) and taken
        return opens

    def names(self, stream: Stream | None, digest: Digest) -> bool:
        """Return whether a key's digest is that of a stream's call, in the same time whatever the answer is (Q11a)."""
        known = None if stream is None else stream.key_digest
        return same_digest(known or _NOBODY, digest) and known is not None

    def add(self, stream: Stream) -> None:
        """Take a new stream into every count."""
        self.streams[stream.stream_id] = stream
        stream.number = self.opened
        self.opened += 1
        self.alive += 1
        self.quotas.add(stream.owner)
        if stream.scope is not None:
            self.bind(stream, stream.scope)

    def has_room(self, owner: Owner, counted: int = 0) -> bool:
        """Return whether one more stream may be kept for somebody (rules Q10, R10, R25).

        Args:
            owner: Whose quota it counts against.
            counted: 1 if it is among the calls that are counted already.
        """
        return (
            self.alive - counted < self.config.max_streams
            and self.quotas.of(owner) - counted < self.config.max_streams_per_principal
            and not self.full
        )

    @property
    def full(self) -> bool:
        """Whether the logs hold as much as they may: no new stream finds room (rule R10)."""
        return self.total_bytes >= self.config.max_total_bytes

    def bury(self, stream: Stream) -> None:
        """Free what a gone stream holds; remember its reason for a while, if anybody can ask for it (rule Q7d)."""
        assert stream.state is StreamState.GONE, "only what is gone is buried"
        self.alive -= 1
        self.quotas.remove(stream.owner)
        self.unbind(stream)
        self.deadlines.clear((StreamTimer.ABANDON, stream.stream_id))
        self.deadlines.clear((StreamTimer.AGE, stream.stream_id))
        self.total_bytes -= stream.log.size
        self.yielding.pop(stream.stream_id, None)
        stream.log.clear()
        if not stream.tokens:
            del self.streams[stream.stream_id]
            return
        stream.strip()
        self.tombstones[stream.stream_id] = None
        self.set_timer((StreamTimer.FORGET, stream.stream_id), self.config.tombstone_ttl)
        if len(self.tombstones) > self.config.max_tombstones:
            self.forget(next(iter(self.tombstones)))

    def forget(self, stream_id: StreamId) -> None:
        """Forget a gone stream altogether."""
        self.deadlines.clear((StreamTimer.FORGET, stream_id))
        del self.tombstones[stream_id]
        del self.streams[stream_id]

    def has_room_for_work(self, owner: Owner) -> bool:
        """Return whether one more call may be taken from somebody, with a stream or without (rule R25)."""
        return (
            max(self.alive, len(self.working)) < self.config.max_calls
            and max(self.quotas.of(owner), self.works.of(owner)) < self.config.max_calls_per_principal
        )

    def begin_work(self, stream: Stream) -> None:
        """Note that the application works on a call."""
        self.working[stream.stream_id] = stream.owner
        self.works.add(stream.owner)

    def end_work(self, stream_id: StreamId) -> None:
        """Note that the application has done with a call, if it worked on one."""
        owner = self.working.pop(stream_id, None)
        if owner is not None:
            self.works.remove(owner)

    def stop_work(self, stream_id: StreamId, reason: StopReason) -> None:
        """Tell the application that nobody wants the answer to a call any more."""
        self.end_work(stream_id)
        self.effects.append(StopCall(stream_id, reason))

    def drop_ask(self, ask_id: str) -> None:
        """Expect no answer to a question any more."""
        del self.asks[ask_id]
        self.deadlines.clear((AskTimer.ANSWER, ask_id))

    def may_yield(self, stream: Stream) -> None:
        """Look at this stream where room is needed: what it keeps has changed, or for whom (rule R10)."""
        self.yielding[stream.stream_id] = None

    def touch(self, connection_id: ConnectionId) -> None:
        """Look at this connection after the input: it may have something to write."""
        self.touched[connection_id] = None

    def set_timer(self, timer: Timer, seconds: float) -> None:
        """Wake up for this in so many seconds, and not at the moment set before."""
        self.deadlines.set(timer, self.now + seconds)

    def bind(self, stream: Stream, scope: Scope) -> None:
        """Note where a stream is at home from now on: its request id counts there, and where it came from (Q9e)."""
        self._leave(stream)
        if stream.scope != stream.opened_in:
            self._forget_id(stream, stream.scope)
        stream.scope = scope
        self.bound.setdefault(scope, {})[stream.stream_id] = None
        self.calls[scope, stream.request_id] = stream.stream_id

    def in_use(self, scope: Scope, request_id: RequestId, by_other_than: Stream | None = None) -> bool:
        """Return whether an id names a request that is still unanswered there (rule Q3c, case L2)."""
        if (scope, request_id) in self.resumes:
            return True
        named = self.streams.get(self.calls.get((scope, request_id), StreamId("")))
        return named is not None and named is not by_other_than and named.unanswered

    def take_prepared(self, stream_id: StreamId | None, sequence: int) -> bytes | None:
        """Return what was prepared, once, if it was for this: deadlines may have added entries in between."""
        prepared, self.prepared = self.prepared, None
        if prepared is None or (prepared.stream_id, prepared.sequence) != (stream_id, sequence):
            return None
        return prepared.payload

    def encoded(self, stream: Stream, message: Message) -> bytes:
        """Return the bytes of a stream's next entry (rule R4)."""
        sequence = stream.log.produced + 1
        return self.take_prepared(stream.stream_id, sequence) or encode_entry(stream, message, sequence)

    def encoded_create(self, stream: Stream, token: Secret) -> bytes:
        """Return the bytes of a stream's `create` with a token that it accepts (rule R3)."""
        create = StreamCreate(stream.stream_id, token, stream.request_id, stream.policy.interval)
        return self.take_prepared(stream.stream_id, 1) or encode_create(self.config, create, stream.peer)

    def encoded_reply(self, message: Message) -> bytes:
        """Return the bytes of a message that belongs to no stream."""
        return self.take_prepared(None, 0) or encode_message(message)

    def unbind(self, stream: Stream) -> None:
        """Forget where a stream is at home, and where it was opened."""
        self._leave(stream)
        for scope in (stream.scope, stream.opened_in):
            self._forget_id(stream, scope)

    def _leave(self, stream: Stream) -> None:
        scope = stream.scope
        members = None if scope is None else self.bound.get(scope)
        if scope is not None and members is not None:
            members.pop(stream.stream_id, None)
            if not members:
                del self.bound[scope]

    def forget_origin(self, stream: Stream, scope: Scope) -> None:
        """Let the id of a stream's request name nothing any more where it was answered, or where nobody is left."""
        self._forget_id(stream, scope)
        if stream.opened_in == scope:
            stream.opened_in = None

    def _forget_id(self, stream: Stream, scope: Scope | None) -> None:
        if scope is not None and self.calls.get((scope, stream.request_id)) == stream.stream_id:
            del self.calls[scope, stream.request_id]

    def fork(self) -> Self:
        """Return an independent copy, for explorers and what-if questions; entries and messages are shared."""
        copy = shallow_copy(self)
        copy.gate = self.gate.fork()
        copy.streams = {stream_id: stream.fork() for stream_id, stream in self.streams.items()}
        copy.connections = {connection_id: path.fork() for connection_id, path in self.connections.items()}
        copy.calls = self.calls.copy()
        copy.resumes = self.resumes.copy()
        copy.asks = self.asks.copy()
        copy.working = self.working.copy()
        copy.works = self.works.fork()
        copy.bound = {scope: members.copy() for scope, members in self.bound.items()}
        copy.quotas = self.quotas.fork()
        copy.tombstones = self.tombstones.copy()
        copy.keys = self.keys.fork()
        copy.wrong_tokens = self.wrong_tokens.fork()
        copy.deadlines = self.deadlines.fork()
        copy.yielding = self.yielding.copy()
        copy.effects = []
        copy.touched = {}
        return copy

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return a hashable value, equal for registries that will behave alike; times are relative to `now`."""
        return (
            tuple(stream.snapshot(self.config, now) for stream in self.streams.values()),
            tuple(self._eclipses(stream) for stream in self.streams.values()),
            tuple(self.tombstones),
            frozenset((path.snapshot(), self._silent_for(path, now)) for path in self.connections.values()),
            frozenset(self.resumes.items()),
            self.gate.snapshot(),
            frozenset(self.working.items() - {(name, stream.owner) for name, stream in self.streams.items()}),
            self.keys.snapshot(now),
            self.wrong_tokens.snapshot(now),
            self.deadlines.snapshot(now),
            self.service,
        )

    def _eclipses(self, stream: Stream) -> tuple[bool, ...]:
        """Return whether the id of a stream's request names another one, or none, where it counts (rule Q9e)."""
        if stream.state is StreamState.GONE:
            return ()
        scopes = {stream.scope: None, stream.opened_in or stream.scope: None}
        counting = (scope for scope in scopes if scope is not None)
        return tuple(self.calls.get((scope, stream.request_id)) != stream.stream_id for scope in counting)

    def _silent_for(self, path: Connection, now: float) -> float | None:
        """Return what a keep-alive will look at, if one is due some time."""
        if self.config.keepalive is None or (ConnectionTimer.KEEPALIVE, path.connection_id) not in self.deadlines:
            return None
        return min(now - path.last_write, self.config.keepalive)
