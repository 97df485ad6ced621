"""Everything that `ServerStreams` can be told, in any order: nothing surprises it (rule R13)."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mcpstreams_sansio.connections import (
    ConnectionLost,
    DeadlineReached,
    DropConnection,
    EndOfFile,
    EndWriting,
    Framing,
    Write,
    Written,
)
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.ids import Address, ConnectionId, Digest, Entropy, Principal, RequestId, Secret, StreamId
from mcpstreams_sansio.server.calls import BodyPolicy, CallPolicy, Peer, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import BeginBody, BodyKind, StreamsEffect, WriteLog
from mcpstreams_sansio.server.gate import GateState
from mcpstreams_sansio.server.inputs import (
    Accept,
    AckReceived,
    AnswerReceived,
    AskPeer,
    CallReceived,
    CancelledReceived,
    CancelReceived,
    ConnectionOpened,
    CursorReceived,
    Drain,
    LogFailed,
    LogWritten,
    OpenStream,
    PeerHeard,
    PollReceived,
    Recover,
    ReleaseStream,
    Reply,
    Respond,
    ResumeReceived,
    Scope,
    ScopeEnded,
    SendMessage,
    StreamsInput,
    WithdrawAsk,
)
from mcpstreams_sansio.server.records import LogRecord
from mcpstreams_sansio.server.streams import ServerStreams
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Notification, Request, Response
from mcpstreams_sansio.wire.marker import Attempt
from mcpstreams_sansio.wire.revisions import AfterLoss
from mcpstreams_sansio.wire.streams import ResumeInterval
from tests.sansio.server.conversation import DRAFT, KEY, MARKER, STOCK, token_of
from tests.sansio.server.invariants import check_invariants, check_recorded

CONNECTIONS = st.integers(0, 5).map(ConnectionId)
STREAMS = st.sampled_from(["s1", "s2", "s3", "s4"]).map(StreamId)
TOKENS = st.sampled_from(["s1", "s2", "s3", "s4"]).map(token_of)
IDS: st.SearchStrategy[RequestId] = st.sampled_from([1, "1", 2, 3])
ASKS = st.sampled_from(["q1", "q2", "q3"])
CURSORS = st.integers(0, 6)
PEERS = st.sampled_from([STOCK, DRAFT, MARKER])
KEYS = st.sampled_from([None, Secret(KEY), Secret("another-key-of-some-length")])
ATTEMPTS = st.none() | st.builds(Attempt, st.sampled_from(["a", "b", "c"]), st.integers(0, 3))
INTERVALS = st.sampled_from([ResumeInterval(), ResumeInterval(max=0), ResumeInterval(min=1, max=5)])
POLICIES = st.builds(
    CallPolicy,
    st.sampled_from(StreamKind),
    st.sampled_from(BodyPolicy),
    st.sampled_from(AfterLoss),
    INTERVALS,
    st.booleans(),
)
SIZES = st.sampled_from([0, 0, 0, 300, 3_000])
MESSAGES = SIZES.map(lambda size: Notification("notifications/message", {"data": "x" * size}))
OUTCOMES = st.builds(Response, IDS, SIZES.map(lambda size: {"text": "x" * size, "isError": size > 0})) | st.builds(
    ErrorResponse, IDS, st.just(1), st.just("failed")
)


EVENTS: st.SearchStrategy[StreamsInput] = st.one_of(
    st.builds(ConnectionLost, CONNECTIONS),
    st.builds(EndOfFile, CONNECTIONS, st.just(Entropy(b"a seed of sixteen bytes"))),
    st.builds(PeerHeard, CONNECTIONS),
    st.builds(ScopeEnded, st.sampled_from(["a", "b"]).map(Scope)),
    st.builds(Reply, CONNECTIONS, st.builds(Response, IDS, SIZES.map(lambda size: {"text": "x" * size}))),
    st.builds(Accept, CONNECTIONS),
    st.builds(
        CallReceived,
        CONNECTIONS,
        STREAMS,
        st.builds(Request, IDS, st.just("tools/call")),
        PEERS,
        POLICIES,
        TOKENS,
        KEYS,
        st.none() | st.just(Digest(b"one call")),
        ATTEMPTS,
    ),
    st.builds(
        ResumeReceived,
        CONNECTIONS,
        st.none() | IDS,
        STREAMS,
        TOKENS,
        st.none() | CURSORS,
        st.none() | CURSORS,
        ATTEMPTS,
        st.booleans(),
    ),
    st.builds(CursorReceived, CONNECTIONS, STREAMS, CURSORS),
    st.builds(PollReceived, CONNECTIONS, IDS, STREAMS, TOKENS),
    st.builds(AckReceived, CONNECTIONS, STREAMS, CURSORS, st.none() | TOKENS),
    st.builds(AnswerReceived, CONNECTIONS, st.builds(Response, ASKS | IDS, st.just({}))),
    st.builds(CancelReceived, CONNECTIONS, IDS, STREAMS, TOKENS),
    st.builds(CancelledReceived, CONNECTIONS, st.none() | IDS, KEYS),
    st.builds(SendMessage, STREAMS, MESSAGES),
    st.builds(AskPeer, STREAMS, ASKS, st.sampled_from(["sampling/createMessage", "roots/list", "ping"])),
    st.builds(WithdrawAsk, STREAMS, ASKS),
    st.builds(Respond, STREAMS, OUTCOMES),
    st.builds(ReleaseStream, STREAMS),
    st.builds(OpenStream, STREAMS, TOKENS, INTERVALS),
    st.builds(LogWritten, st.integers(0, 3)),
    st.just(DeadlineReached()),
)

TIGHT = StreamsConfig(
    max_streams=3,
    max_calls=4,
    max_streams_per_principal=2,
    max_calls_per_principal=3,
    max_tombstones=2,
    window=4,
    max_stream_bytes=4_000,
    keep_bytes=300,
    max_total_bytes=6_000,
    max_asks=2,
    max_tokens=2,
    max_instances=2,
    max_keys=2,
    max_cancelled_keys=2,
    max_cancelled_keys_per_principal=1,
    max_write_bytes=500,
    max_reply_bytes=2_000,
    max_wrong_tokens=3,
    max_suspects=1,
    guess_memory=4,
    redelivery_window=2,
    key_ttl=20,
    tombstone_ttl=10,
    ask_timeout=5,
    silent_retention=5,
    max_interval=10,
    stall_timeout=3,
    keepalive=2,
)
CONFIGS = [TIGHT, attrs.evolve(TIGHT, durable=True), attrs.evolve(TIGHT, redelivery_window=0, stall_timeout=None)]
PAUSES = st.sampled_from([0.0, 0.0, 0.0, 0.1, 0.3, 1.0, 2.0, 5.0, 30.0])


class WhateverComes(RuleBasedStateMachine):
    """Everything that can be told, in any order, by a driver that keeps its contract and peers that keep none."""

    def __init__(self) -> None:
        super().__init__()
        self.machine = ServerStreams()
        self.config = StreamsConfig()
        self.now = 0.0
        self.told: list[tuple[StreamsInput, float]] = []
        self.wanted: list[StreamsEffect] = []
        self.framings: dict[ConnectionId, Framing] = {}
        self.bodies: dict[ConnectionId, BodyKind] = {}
        self.writing: set[ConnectionId] = set()
        self.closed: set[ConnectionId] = set()
        self.batch: WriteLog | None = None
        self.records: tuple[LogRecord, ...] = ()
        self.asked = 0
        self.named: set[StreamId] = set()

    @initialize(config=st.sampled_from(CONFIGS))
    def begin(self, config: StreamsConfig) -> None:
        self.config = config
        self.machine = ServerStreams(config)

    @rule(
        framing=st.sampled_from(Framing),
        scope=st.sampled_from(["a", "b"]),
        principal=st.sampled_from([None, "ann"]),
        primes=st.booleans(),
        address=st.sampled_from([None, Address("192.0.2.1"), Address("192.0.2.2")]),
    )
    def connect(
        self, framing: Framing, scope: str, principal: str | None, *, primes: bool, address: Address | None
    ) -> None:
        connection_id = ConnectionId(len(self.framings))
        self.framings[connection_id] = framing
        owner = None if principal is None else Principal(principal)
        self.tell(ConnectionOpened(connection_id, framing, Scope(scope), owner, primes, address))

    @rule(event=EVENTS)
    def say_anything(self, event: StreamsInput) -> None:
        self.tell(event)

    @rule(data=st.data(), peer=PEERS, policy=POLICIES, key=KEYS, number=st.integers(1, 4))
    def call(self, data: st.DataObject, peer: Peer, policy: CallPolicy, key: Secret | None, number: int) -> None:
        if self.open:
            stream = StreamId(f"s{len(self.named) + 1}")
            digest = None if key is None else Digest(b"one call")
            where, attempt = data.draw(st.sampled_from(self.open)), data.draw(ATTEMPTS)
            request, token = Request(number, "tools/call"), token_of(stream)
            self.tell(CallReceived(where, stream, request, peer, policy, token, key, digest, attempt))

    @rule(
        data=st.data(),
        number=st.integers(5, 8) | st.none(),
        header=st.booleans(),
        cursor=st.sampled_from([None, None, 0, 1, 2, 3]),
    )
    def come_back(self, data: st.DataObject, number: int | None, header: bool, cursor: int | None) -> None:
        known = sorted(self.machine._registry.streams)
        if self.open and known:
            where, stream = data.draw(st.sampled_from(self.open)), data.draw(st.sampled_from(known))
            after, header_after = (None, cursor) if header else (cursor, None)
            self.tell(ResumeReceived(where, number, stream, token_of(stream), after, header_after, None, True))

    @rule(data=st.data(), what=st.sampled_from(["say", "say", "ask", "respond", "answer", "cancel", "acknowledge"]))
    def go_on(self, data: st.DataObject, what: str) -> None:
        streams = self.machine._registry.streams
        if not self.open or not streams:
            return
        where, stream = data.draw(st.sampled_from(self.open)), streams[data.draw(st.sampled_from(sorted(streams)))]
        match what:
            case "say":
                self.tell(SendMessage(stream.stream_id, data.draw(MESSAGES)))
            case "ask":
                self.asked += 1
                self.tell(AskPeer(stream.stream_id, f"ask {self.asked}", "sampling/createMessage"))
            case "respond":
                self.tell(Respond(stream.stream_id, Response(stream.request_id, {})))
            case "answer":
                self.tell(AnswerReceived(where, Response(f"ask {self.asked}", {})))
            case "cancel":
                self.tell(CancelReceived(where, "c", stream.stream_id, token_of(stream.stream_id)))
            case _:
                through = data.draw(st.integers(0, stream.log.sent))
                self.tell(AckReceived(where, stream.stream_id, through, token_of(stream.stream_id)))

    @property
    def open(self) -> list[ConnectionId]:
        """Connections on which something can be said."""
        return [connection_id for connection_id in self.framings if connection_id not in self.closed]

    def tell(self, event: StreamsInput) -> None:
        if isinstance(event, CallReceived):
            if event.stream_id in self.named:
                return  # it has to be a fresh one, and not every old one is remembered
            self.named.add(event.stream_id)
        before, fork = self.machine.snapshot(self.now), self.machine.fork()
        try:
            effects = self.machine.handle(event, self.now)
        except LocalProtocolError:
            assert self.machine.snapshot(self.now) == before, "what is refused changes nothing"
            with pytest.raises(LocalProtocolError):
                fork.handle(event, self.now)
            return
        assert fork.handle(event, self.now) == effects, "a fork does the same"
        assert fork.snapshot(self.now) == self.machine.snapshot(self.now)
        if isinstance(event, ConnectionLost):
            self.close(event.connection_id)
        if isinstance(event, LogWritten) and self.batch is not None:
            self.records += self.batch.records
            self.batch = None
        self.told.append((event, self.now))
        self.wanted += effects
        for effect in effects:
            self.carry_out(effect)

    def close(self, connection_id: ConnectionId) -> None:
        self.closed.add(connection_id)
        self.writing.discard(connection_id)

    def carry_out(self, effect: StreamsEffect) -> None:
        match effect:
            case Write(connection_id=connection_id):
                assert connection_id not in self.closed
                assert connection_id not in self.writing
                on_http = self.framings[connection_id] is Framing.HTTP
                assert not on_http or connection_id in self.bodies
                self.writing.add(connection_id)
            case BeginBody(connection_id=connection_id):
                assert connection_id not in self.bodies
                assert self.framings[connection_id] is Framing.HTTP
                self.bodies[connection_id] = effect.body
            case EndWriting(connection_id=connection_id):
                assert connection_id not in self.closed
                self.closed.add(connection_id)
            case DropConnection(connection_id=connection_id):
                self.close(connection_id)
            case WriteLog():
                assert self.batch is None
                self.batch = effect
            case _:
                pass

    @rule(data=st.data())
    def take(self, data: st.DataObject) -> None:
        if self.writing:
            connection_id = data.draw(st.sampled_from(sorted(self.writing)))
            self.writing.discard(connection_id)
            self.tell(Written(connection_id))

    @rule()
    def sync(self) -> None:
        if self.batch is not None:
            self.tell(LogWritten(self.batch.write_id))

    @rule(seconds=PAUSES)
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(worse=st.sampled_from([Drain(), LogFailed("full")]), odds=st.integers(0, 9))
    def worsen(self, worse: StreamsInput, odds: int) -> None:
        if odds == 9:
            self.batch = None if isinstance(worse, LogFailed) else self.batch
            self.tell(worse)

    @rule(kept=st.integers(0, 5))
    def crash(self, kept: int) -> None:
        """End the process, with a part of what is being written, and go on in another one."""
        if self.config.durable:
            self.records += () if self.batch is None else self.batch.records[:kept]
            self.batch = None
            self.closed.update(self.framings)
            self.writing.clear()
            self.machine = ServerStreams(self.config)
            self.told, self.wanted = [], []
            self.tell(Recover(self.records))

    @invariant()
    def everything_is_on_record(self) -> None:
        if self.machine._registry.gate.state is GateState.GUARDING:
            check_recorded(self.machine, self.records + (() if self.batch is None else self.batch.records))

    @invariant()
    def all_is_well(self) -> None:
        if self.told and self.told[-1][1] == self.now:
            check_invariants(self.machine, self.now)

    def teardown(self) -> None:
        again = ServerStreams(self.config)
        effects = [effect for event, now in self.told for effect in again.handle(event, now)]
        assert effects == self.wanted, "the same inputs have the same effects"


TestWhateverComes = pytest.mark.rule("R13", "R5", "R11")(WhateverComes.TestCase)
TestWhateverComes.settings = settings(stateful_step_count=60)
