"""Whole lives of a server, whatever clients, applications and time do: what holds after each input and at the end."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.http.config import HTTPConfig
from mcpstreams_sansio.ids import Entropy, RequestId, Secret
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import StartCall
from mcpstreams_sansio.server.inputs import AskPeer, ReleaseStream, WithdrawAsk
from mcpstreams_sansio.server.machine import Server, ServerConfig, ServerEffect, ServerInput
from mcpstreams_sansio.server.policies import StreamPolicies, StreamPolicy
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject, Message, Notification, Request, Response
from mcpstreams_sansio.wire.streams import ResumeInterval
from tests.sansio.said import MESSAGES
from tests.sansio.serving import IDENTITY, JSON_AND_EVENTS, MARKED, STREAMS, Seen, Serving, initialize, named, serving

CONFIG = ServerConfig(
    identity=IDENTITY,
    http=HTTPConfig(session_idle=60.0, max_sessions=3),
    streams=StreamsConfig(
        max_streams=6,
        max_streams_per_principal=4,
        max_interval=40.0,
        silent_retention=20.0,
        tombstone_ttl=50.0,
        key_ttl=100.0,
        ask_timeout=30.0,
        stall_timeout=10.0,
        max_wrong_tokens=5,
        max_keys=4,
        window=3,
    ),
    policies=StreamPolicies({"tools/call:fragile": StreamPolicy(ResumeInterval(max=0))}),
    max_line_size=300,
)
KEYS = ["a" * 22, "b" * 30]
ELICITING: JSONObject = {**MARKED, "elicitation": {}}
CAPABILITIES = st.sampled_from([{}, STREAMS, ELICITING])
PRINCIPALS = st.sampled_from([None, "alice"])
REQUEST_IDS: st.SearchStrategy[RequestId] = st.sampled_from([1, "1", 2, "x"])
USUAL = JSON_AND_EVENTS[1]
ACCEPTS = st.sampled_from([USUAL, USUAL, USUAL, USUAL, b"*/*", b"application/json", b"text/event-stream", b"image/png"])
STRANGERS = st.sampled_from([None, None, None, None, None, "mallory"])
"""Who sends a request in place of the one whose session it is."""


def parts_of(holder: object) -> Iterator[object]:
    """Yield what an object holds."""
    match holder:
        case Mapping():
            yield from holder.keys()
            yield from holder.values()
        case list() | tuple() | deque() | AbstractSet():
            yield from holder
        case str() | bytes() | bytearray() | int() | float() | None:
            pass
        case _:
            slots = [name for cls in type(holder).__mro__ for name in getattr(cls, "__slots__", ())]
            yield from (getattr(holder, name) for name in slots if hasattr(holder, name) and name != "__weakref__")
            yield from getattr(holder, "__dict__", {}).values()


def values_in(root: object) -> Iterator[object]:
    """Yield every attrs object that can be reached from another one."""
    waiting, met = [root], set[int]()
    while waiting:
        holder = waiting.pop()
        if id(holder) in met or isinstance(holder, type):
            continue
        met.add(id(holder))
        if attrs.has(type(holder)):
            yield holder
        waiting += parts_of(holder)


@attrs.define(eq=False)
class Doubting(Serving):
    """A driver that asks a fork first, and keeps what everything looks like."""

    shown: list[str] = attrs.field(factory=list)
    seeds: list[Entropy] = attrs.field(factory=list)

    def submit(self, event: ServerInput) -> list[ServerEffect]:
        fork, before = self.server.fork(), self.server.snapshot(self.now)
        assert fork.snapshot(self.now) == before
        expected = fork.handle(event, self.now)
        assert self.server.snapshot(self.now) == before, "what a fork does is no business of the original"
        effects = Serving.submit(self, event)
        assert effects[: len(expected)] == expected, "a fork does what the original does"
        self.shown += [repr(event), repr(expected)]
        return effects

    def entropy(self) -> Entropy:
        self.seeds.append(Serving.entropy(self))
        return self.seeds[-1]


class Lives(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.one = Doubting(Server(CONFIG))
        self.sessions: list[tuple[bytes, str | None]] = []
        self.answered = set[str]()
        self.asks = 0
        self.sessions.append((self.one.begin(ELICITING), None))
        self.one.greet(MARKED)

    def pick(self, data: st.DataObject, *filtered: Framing) -> Seen | None:
        """Return a connection that is still open, if there is one."""
        open_ones = [seen for seen in self.one.seen.values() if seen.over is None and seen.framing in filtered]
        return data.draw(st.sampled_from(open_ones)) if open_ones else None

    def session(self, data: st.DataObject) -> tuple[bytes | None, str | None]:
        """Draw a session and whose it is: often one that is there."""
        sessions = self.one.server._http.sessions
        there = [known for known in self.sessions if sessions.find(Secret(known[0].decode()), named(known[1]))]
        return data.draw(st.sampled_from([*there * 4, *self.sessions[-1:], (None, None), (b"unknown", None)]))

    def refs(self) -> list[JSONObject]:
        """Return ids and tokens of all streams that were announced over HTTP."""
        exchanges = [seen for seen in self.one.seen.values() if seen.framing is Framing.HTTP and seen.chunks]
        creates = [message for seen in exchanges for message in seen.messages if isinstance(message, Notification)]
        streams = [create.params["stream"] for create in creates if create.params and "stream" in create.params]
        return [
            {name: stream[name] for name in ("streamId", "resumeToken")}
            for stream in streams
            if isinstance(stream, dict)
        ]

    def cursors(self) -> list[bytes]:
        exchanges = [seen for seen in self.one.seen.values() if seen.framing is Framing.HTTP and seen.chunks]
        events = [seen.events for seen in exchanges if seen.headers[b"content-type"] == b"text/event-stream"]
        return [event.id.encode() for some in events for event in some if event.id]

    def message(self, data: st.DataObject) -> Message | bytes:
        """Draw something that a client may say."""
        refs: st.SearchStrategy[JSONObject] = st.sampled_from([*self.refs(), {"streamId": "s", "resumeToken": "guess"}])
        metas: st.SearchStrategy[JSONObject] = st.sampled_from(
            [
                {},
                {"mcpstreams/key": KEYS[0], "mcpstreams/attempt": "i.1"},
                {"mcpstreams/key": KEYS[1]},
                {"mcpstreams/ack": [{"streamId": "s", "through": 1}]},
                {"mcpstreams/key": "malformed"},
            ]
        )
        ref, meta = data.draw(refs), data.draw(metas)
        request_id: RequestId = data.draw(REQUEST_IDS)
        ask_id = f"ask-{data.draw(st.integers(0, max(self.asks, 1)))}"
        choices: list[Message | bytes] = [
            Request(request_id, "tools/call", {"name": "work", "_meta": meta}),
            Request(request_id, "tools/call", {"name": "fragile"}),
            Request(request_id, "resources/list", {"_meta": meta}),
            Request(request_id, "stream/resume", {**ref, "_meta": {"mcpstreams/attempt": f"i.{len(self.one.seen)}"}}),
            Request(request_id, "stream/resume", ref),
            Notification("stream/resume", ref),
            Request(request_id, "stream/poll", ref),
            Request(request_id, "mcpstreams/cancel", ref),
            Request(request_id, "ping"),
            Notification("notifications/cancelled", {"requestId": request_id}),
            Notification("notifications/cancelled", {"_meta": meta}),
            Notification("notifications/mcpstreams/ack", {"acks": [{**ref, "through": 2}]}),
            Notification("notifications/x"),
            Response(ask_id, {}),
            ErrorResponse(ask_id, -1, "no"),
            initialize({}),
            b"not JSON",
        ]
        return data.draw(st.sampled_from(choices))

    # ------------------------------------------------------------------------------------------------------------ HTTP

    @rule(capabilities=CAPABILITIES, principal=PRINCIPALS, revision=st.sampled_from(["2025-11-25", "2025-06-18"]))
    def begin(self, capabilities: JSONObject, principal: str | None, revision: str) -> None:
        seen = self.one.post(initialize(capabilities, revision=revision), principal=principal)
        if seen.status == 200:
            self.sessions.append((seen.headers[b"mcp-session-id"], principal))

    @rule(data=st.data(), accept=ACCEPTS, slow=st.booleans(), stranger=STRANGERS)
    def post(self, data: st.DataObject, accept: bytes, slow: bool, stranger: str | None) -> None:
        session, principal = self.session(data)
        headers = [(b"accept", accept)]
        if cursors := self.cursors():
            headers += data.draw(st.sampled_from([[], [(b"last-event-id", data.draw(st.sampled_from(cursors)))]]))
        self.one.post(self.message(data), session, *headers, principal=stranger or principal, slow=slow)

    @rule(data=st.data(), accept=ACCEPTS, slow=st.booleans())
    def call(self, data: st.DataObject, accept: bytes, slow: bool) -> None:
        session, principal = self.session(data)
        asked = Request(len(self.one.seen), data.draw(st.sampled_from(["tools/call", "resources/list"])))
        self.one.post(asked, session, (b"accept", accept), principal=principal, slow=slow)

    @rule(data=st.data(), stranger=STRANGERS)
    def get(self, data: st.DataObject, stranger: str | None) -> None:
        session, principal = self.session(data)
        cursor = data.draw(st.sampled_from([*self.cursors(), None, b"nonsense"]))
        self.one.get(session, cursor, principal=stranger or principal)

    @rule(data=st.data(), stranger=STRANGERS, sure=st.sampled_from([True, False, False]))
    def delete(self, data: st.DataObject, stranger: str | None, sure: bool) -> None:
        session, principal = self.session(data)
        if sure:
            self.one.delete(session, principal=stranger or principal)

    @rule(data=st.data())
    def lose_exchange(self, data: st.DataObject) -> None:
        if (seen := self.pick(data, Framing.HTTP)) is not None:
            self.one.lose(seen)

    # ----------------------------------------------------------------------------------------------------- multiplexed

    @rule(framing=st.sampled_from([Framing.LINES, Framing.MESSAGES]), capabilities=CAPABILITIES, principal=PRINCIPALS)
    def connect(self, framing: Framing, capabilities: JSONObject, principal: str | None) -> None:
        self.one.send(self.one.connect(framing, principal), initialize(capabilities))

    @rule(data=st.data(), cut=st.integers(0, 100))
    def say(self, data: st.DataObject, cut: int) -> None:
        seen = self.pick(data, Framing.LINES, Framing.MESSAGES)
        if seen is None or seen.silent:
            return
        self.one.send(seen, self.message(data), self.message(data))
        if seen.framing is Framing.LINES and seen.over is None:
            self.one.feed(seen, b'{"jsonrpc"' + b" " * cut * 4)
            self.one.feed(seen, b"\n")

    @rule(data=st.data(), slow=st.booleans())
    def read_slowly_or_not(self, data: st.DataObject, slow: bool) -> None:
        seen = self.pick(data, *Framing)
        if seen is not None:
            seen.slow = slow
            if seen.outstanding and not slow:
                self.one.written(seen.connection_id)

    @rule(data=st.data())
    def end_or_lose(self, data: st.DataObject) -> None:
        if (seen := self.pick(data, Framing.LINES, Framing.MESSAGES)) is not None:
            self.one.end(seen)
            if data.draw(st.booleans()):
                self.one.lose(seen)

    # ----------------------------------------------------------------------------------------------------- application

    def working(self) -> list[StartCall]:
        return [call for call in self.one.calls if call.stream_id not in self.answered]

    @rule(data=st.data(), order=st.sampled_from(["notify", "respond", "ask", "withdraw", "release"]))
    def work(self, data: st.DataObject, order: str) -> None:
        if not (working := self.working()):
            return
        call = data.draw(st.sampled_from(working))
        match order:
            case "notify":
                self.one.notify(call.stream_id, 1)
            case "respond":
                self.answered.add(call.stream_id)
                self.one.respond(call)
            case "ask":
                self.asks += 1
                self.one.submit(AskPeer(call.stream_id, f"ask-{self.asks}", "elicitation/create", {}))
            case "withdraw":
                self.one.submit(WithdrawAsk(call.stream_id, f"ask-{self.asks}"))
            case "release":
                self.one.submit(ReleaseStream(call.stream_id))

    @rule(seconds=st.sampled_from([0.1, 0.3, 0.3, 2.0, 2.0, 11.0, 25.0, 61.0]), late=st.booleans())
    def wait(self, seconds: float, late: bool) -> None:
        if late:  # whoever should have woken the machine was busy
            self.one.now += seconds
        else:
            self.one.wait(seconds)

    # ------------------------------------------------------------------------------------------------------- what holds

    @invariant()
    def every_table_knows_the_same_connections(self) -> None:
        server = self.one.server
        open_ones = {seen.connection_id: seen.framing for seen in self.one.seen.values() if seen.over is None}
        assert {key for key, framing in open_ones.items() if framing is Framing.HTTP} == set(server._http.exchanges)
        assert {key for key, framing in open_ones.items() if framing is not Framing.HTTP} == set(server._peers)
        for digest, session in server._http.sessions._sessions.items():
            own = {key for key, exchange in server._http.exchanges.items() if exchange.session == digest}
            assert session.exchanges == own
        assert len(server._http.sessions) <= CONFIG.http.max_sessions

    def teardown(self) -> None:
        for call in self.working():
            self.one.respond(call)
        for seen in self.one.seen.values():
            seen.slow = False
            if seen.outstanding:
                self.one.written(seen.connection_id)
        for seen in self.one.seen.values():
            if seen.framing is not Framing.HTTP and seen.over is None:
                self.one.end(seen)
        self.one.wait(100_000.0)
        self.one.assert_at_rest()
        registry = self.one.server._streams._registry
        assert (registry.streams, registry.calls, registry.resumes, registry.asks, registry.bound) == (
            {},
            {},
            {},
            {},
            {},
        )
        assert self.one.server.next_deadline() is None
        self.nobody_has_seen_a_secret()

    def nobody_has_seen_a_secret(self) -> None:
        connections = list(self.one.seen)
        labels = [f"session {number}" for number in connections]
        labels += [f"token {number}.{message}" for number in connections for message in range(8)]
        secrets = [*KEYS, *(seed.derive(label) for seed in self.one.seeds for label in labels)]
        shown = "".join([*self.one.shown, *map(repr, values_in(self.one.server))])
        assert [secret for secret in secrets if secret in shown] == []


TestLives = pytest.mark.rule("R12", "Q11b", "H9")(Lives.TestCase)


@given(
    said=st.lists(st.tuples(MESSAGES, st.sampled_from(Framing), st.booleans()), max_size=8),
    capabilities=CAPABILITIES,
    durable=st.booleans(),
)
def test_nothing_that_a_peer_says_is_more_than_a_server_can_take(
    said: list[tuple[Message, Framing, bool]], capabilities: JSONObject, durable: bool
) -> None:
    one = serving(streams=StreamsConfig(durable=durable, max_keys=2, max_streams=2))
    session = one.begin(capabilities)
    shared = {framing: one.greet(capabilities, framing=framing) for framing in (Framing.LINES, Framing.MESSAGES)}
    answers = 0
    for message, framing, answered in said:
        if framing is Framing.HTTP:
            one.post(message, session, (b"last-event-id", b"s_1"))
        elif shared[framing].over is None:
            one.send(shared[framing], message)
        if answered:
            for call in one.calls[answers:]:
                one.respond(call)
            answers = len(one.calls)
    for seen in one.seen.values():
        one.lose(seen)
    one.wait(1_000_000.0)
    one.assert_at_rest()
