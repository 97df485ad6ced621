"""`ClientStreams` as a machine: total, deterministic, unimpressed by time and by whatever a server sends."""

from __future__ import annotations

import typing

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.client import streams as module
from mcpstreams_sansio.client.effects import (
    CallDetached,
    CallFinished,
    ClientStreamsEffect,
    GapFound,
    ItemReceived,
    SendOnPath,
)
from mcpstreams_sansio.client.inputs import (
    AnswerAsk,
    CancelCall,
    ClientStreamsInput,
    DetachCall,
    GivenUp,
    LinkDown,
    LinkGivenUp,
    LinkUp,
    MakeCall,
    MessageReceived,
    PathAccepted,
    PathRefused,
    PathUnsent,
    PathUnusable,
    PositionReceived,
    RetryReceived,
    TakeMessages,
)
from mcpstreams_sansio.client.streams import ClientStreams
from mcpstreams_sansio.client.table import CallSignal, CallState
from mcpstreams_sansio.connections import ConnectionLost, DeadlineReached
from mcpstreams_sansio.ids import CallId, ConnectionId, Entropy, RequestId
from mcpstreams_sansio.wire.jsonrpc import (
    ErrorResponse,
    JSONObject,
    JSONValue,
    Message,
    Notification,
    Request,
    Response,
)
from mcpstreams_sansio.wire.refusals import Reason
from tests.sansio.client.conversation import CONFIG, DRAFT, MARKER, Conversation, request_id
from tests.sansio.client.invariants import check_invariants


def test_every_kind_of_input_has_its_function() -> None:
    assert set(module._APPLY) == set(typing.get_args(ClientStreamsInput))


@pytest.mark.rule("R12")
def test_a_machine_knows_its_limits_and_gives_ids() -> None:
    streams = ClientStreams(CONFIG, ConnectionId(7))
    assert streams.config is CONFIG
    assert streams.connection_ids.next() == 7
    assert streams.state_of(CallId(1)) is None
    assert not streams.needs_link


def test_a_late_wake_up_changes_nothing_and_an_early_one_does_nothing() -> None:
    def played(*moments: float) -> tuple[object, ...]:
        talk = Conversation()
        talk.link_up()
        talk.call()
        talk.creates()
        talk.link_down()
        talk.link_up()
        for moment in moments:
            talk.now = moment
            talk.tell(DeadlineReached())
        talk.now = 3.0
        talk.progresses(2)
        return talk.streams.snapshot(talk.now)

    assert played(1.0) == played(0.25, 0.5, 1.0)


def test_no_timer_runs_in_a_state_that_waits_for_nothing_but_the_server() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    call = talk.streams._ledger.calls[CallId(1)]
    call.step(CallSignal.CONTACT)
    assert call.state is CallState.FOLLOWING
    assert talk.streams.next_deadline() is None
    talk.streams._ledger.wake(call, 1.0)
    talk.now = 1.0
    with pytest.raises(AssertionError, match=r"\Ano timer runs in this state\Z"):
        talk.streams.handle(DeadlineReached(), talk.now)


@pytest.mark.rule("Q11b")
def test_no_secret_shows_itself() -> None:
    talk = Conversation()
    talk.link_up()
    effects = talk.effects(MakeCall(CallId(1), "tools/call", {"name": "tool"}, Entropy(b"x" * 32)))
    talk.creates()
    saved = talk.detach()
    assert saved.key is not None
    secrets = {saved.key.reveal(), "token of s1"}
    shown = repr(effects) + repr(saved) + repr(talk.streams._ledger)
    assert not any(secret in shown for secret in secrets)


# -------------------------------------------------------------------------------------- whatever the server may send

IDS: list[RequestId] = [request_id(1), request_id(2), "instance-1.1", "instance-1.2", "instance-2.1", "q1", 1, "1"]
SHARED = ConnectionId(6)
SMALL = attrs.evolve(CONFIG, max_unread=1, max_asks=1, max_attempts=3, max_acks=1, patience=20.0, linger=5.0)


@st.composite
def holders(draw: st.DrawFn) -> JSONObject:
    """Make what holds the `_meta` of a message, tagged in all sorts of ways."""
    meta: dict[str, JSONValue] = {}
    if draw(st.booleans()):
        meta["streamId"] = draw(st.sampled_from(["s1", "s2", "s9"]))
    sequence = draw(st.one_of(st.integers(-1, 8), st.none(), st.just("x")))
    if sequence is not None:
        meta["mcpstreams/seq"] = sequence
    return {"_meta": draw(st.sampled_from([meta, meta, meta, {}, 7]))}


@st.composite
def messages(draw: st.DrawFn) -> Message:
    """Make a message that a server might send, or a broken one."""
    holder = draw(holders())
    asked = draw(st.sampled_from(IDS))
    stream = draw(st.sampled_from(["s1", "s2", "s9"]))
    create: JSONObject = {"streamId": stream, "resumeToken": "t", "requestId": asked}
    reason = draw(st.sampled_from([reason.value for reason in Reason]))
    refused: JSONObject = {"reason": reason, "firstAvailable": draw(st.integers(0, 9)), "lost": 1}
    status: JSONObject = {
        "streamId": stream,
        "status": draw(st.sampled_from(["live", "completed", "dead"])),
        "pendingMessages": draw(st.booleans()),
        "hasRequest": False,
        "hasError": False,
    }
    kinds: list[Message] = [
        Notification("notifications/progress", {**holder, "progressToken": asked, "progress": 1}),
        Notification("notifications/message", holder),
        Notification("notifications/message"),
        Notification("notifications/stream/create", {**holder, "stream": create}),
        Notification("notifications/stream/create", {**holder, **create}),
        Notification("notifications/stream/end", {**holder, "streamId": stream}),
        Notification("notifications/cancelled", {**holder, "requestId": asked}),
        Request(asked, "sampling/createMessage", holder),
        Request(asked, "ping"),
        Response(asked, holder),
        Response(asked, status),
        ErrorResponse(asked, -32602, "no", refused),
        ErrorResponse(None, -32602, "no", refused),
        ErrorResponse(asked, 7, "no"),
    ]
    return draw(st.sampled_from(kinds))


@st.composite
def events(draw: st.DrawFn) -> ClientStreamsInput:
    """Make something that can happen, at the server or at the application."""
    path = ConnectionId(draw(st.integers(1, 6)))
    call_id = CallId(draw(st.integers(1, 2)))
    others: list[ClientStreamsInput] = [
        PositionReceived(path, draw(st.sampled_from(["", "e1"]))),
        RetryReceived(path, 50),
        PathAccepted(path),
        PathRefused(path, draw(st.sampled_from([400, 405, 429, 500])), 1.0),
        PathUnsent(path),
        PathUnusable(path),
        ConnectionLost(path),
        LinkDown(),
        LinkUp(None, MARKER),
        LinkUp(SHARED, MARKER),
        LinkUp(SHARED, DRAFT),
        CancelCall(call_id),
        DetachCall(call_id),
        AnswerAsk(call_id, "q1", Response("q1", {})),
        DeadlineReached(),
    ]
    event_id = draw(st.sampled_from([None, "", "e1", "e2", "e3"]))
    said = MessageReceived(path, draw(messages()), event_id, draw(st.integers(0, 50)))
    return draw(st.sampled_from([said, said, said, draw(st.sampled_from(others))]))


@attrs.define(eq=False)
class Life:
    """What becomes of two calls, whatever is told to their machine."""

    streams: ClientStreams
    now: float = 0.0
    ends: dict[CallId, int] = attrs.field(factory=dict)
    positions: dict[CallId, int] = attrs.field(factory=dict)

    def tell(self, event: ClientStreamsInput) -> None:
        """Tell it, and check what it does."""
        for effect in self.streams.handle(event, self.now):
            self._check(effect)
        check_invariants(self.streams, self.now)

    def _check(self, effect: ClientStreamsEffect) -> None:
        match effect:
            case CallFinished(call_id=call_id) | CallDetached(call_id=call_id):
                self.ends[call_id] = self.ends.get(call_id, 0) + 1
            case ItemReceived(call_id=call_id, position=position) | GapFound(call_id=call_id, position=position):
                assert call_id not in self.ends, "nothing follows the end"
                assert position > self.positions.get(call_id, 0), "positions rise"
                self.positions[call_id] = position
            case SendOnPath(connection_id=path):
                assert self.streams.connection_ids.were_given(path)
            case _:
                pass

    def outlive(self) -> None:
        """Let time pass until nothing waits for it any more."""
        while (deadline := self.streams.next_deadline()) is not None:
            self.now = max(self.now, deadline)
            self.tell(DeadlineReached())


@pytest.mark.rule("R13", "Q11g")
@given(
    st.booleans(),
    st.booleans(),
    st.lists(st.tuples(events(), st.sampled_from([0.0, 0.0, 0.5, 1.0, 4.0]), st.booleans()), max_size=40),
)
def test_h2_whatever_happens_nothing_raises_and_every_call_ends_once(
    http: bool, polls: bool, script: list[tuple[ClientStreamsInput, float, bool]]
) -> None:
    life = Life(ClientStreams(attrs.evolve(SMALL, poll_first=polls)))
    life.streams.connection_ids.skip(SHARED)
    life.tell(LinkUp(None if http else SHARED, MARKER))
    for number in (1, 2):
        life.tell(MakeCall(CallId(number), "tools/call", None, Entropy(b"%032d" % number)))
    for event, pause, takes in script:
        life.now += pause
        life.tell(event)
        for call_id, position in life.positions.items() if takes else ():
            life.tell(TakeMessages(call_id, position))
    life.tell(LinkGivenUp(GivenUp.CLOSED))
    life.outlive()
    assert life.ends == {CallId(1): 1, CallId(2): 1}
    assert life.streams.snapshot(life.now)[2] == ()
