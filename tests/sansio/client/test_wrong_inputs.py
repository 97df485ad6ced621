"""Whatever is wrong with an input of a client is found before it changes anything (rule R13)."""

from __future__ import annotations

from typing import Final

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.client.inputs import (
    AnswerAsk,
    AttachCall,
    CallSaved,
    CancelCall,
    ClientStreamsInput,
    CloseClient,
    Connected,
    ConnectFailed,
    DetachCall,
    GivenUp,
    LinkDown,
    LinkGivenUp,
    LinkUp,
    MakeCall,
    MessageReceived,
    Notify,
    OpenClient,
    OutcomeSaved,
    PathAccepted,
    PathRefused,
    PathUnsent,
    PathUnusable,
    PositionReceived,
    RetryReceived,
    SavedCall,
    TakeMessages,
)
from mcpstreams_sansio.client.machine import Client, ClientInput
from mcpstreams_sansio.client.streams import ClientStreams
from mcpstreams_sansio.connections import BytesReceived, ConnectionLost, DeadlineReached, EndOfFile, Written
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.http.messages import HeadReceived
from mcpstreams_sansio.ids import CallId, ConnectionId, Entropy, Secret, StreamId
from mcpstreams_sansio.shapes import members_of
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Request, Response, encode_message
from mcpstreams_sansio.wire.marker import Window
from tests.sansio.client.conversation import ASK, MARKER, Conversation, request_id
from tests.sansio.client.driving import ENDPOINT, EVENTS, Driven
from tests.sansio.mistakes import INTERVAL, NOTE, check, mistakes, told
from tests.wording import whole

SEED: Final = Entropy(b"a seed that no other input has")
LINE: Final = ConnectionId(1)
ONE, TWO, OVER, KEPT, NEW = (CallId(number) for number in range(1, 6))
SAVED: Final = SavedCall(
    "elsewhere-7",
    "tools/call",
    {"name": "tool"},
    2,
    StreamId("s9"),
    Secret("token of s9"),
    INTERVAL,
    Secret("a-key-of-some-length-000"),
    "server-1",
    1.0,
    "s9_2",
    3,
    True,
    Window(10, 1_000),
    (Response("q9", {"role": "user"}),),
)


# ------------------------------------------------------------------------------------------------------- the streams

ON_STREAMS: tuple[ClientStreamsInput, ...] = (
    LinkUp(ConnectionId(2), MARKER),
    LinkUp(None, MARKER),
    LinkDown(),
    LinkGivenUp(GivenUp.FAILED),
    MessageReceived(LINE, NOTE, "e5", 100),
    MessageReceived(LINE, Request("q2", ASK, {"messages": []}), None, 100),
    MessageReceived(LINE, Response(request_id(2), {}), None, 100),
    MessageReceived(LINE, ErrorResponse(request_id(2), 7, "no"), None, 100),
    PositionReceived(LINE, "e6"),
    RetryReceived(LINE, 500),
    PathAccepted(LINE),
    PathRefused(LINE, 503, 2.0),
    PathUnsent(LINE),
    PathUnusable(LINE),
    ConnectionLost(LINE),
    MakeCall(NEW, "tools/call", {"name": "tool"}, SEED),
    AttachCall(NEW, SAVED, SEED),
    DetachCall(ONE),
    TakeMessages(ONE, 2),
    CallSaved(KEPT, attrs.evolve(SAVED, request_id=request_id(KEPT), taken=0)),
    OutcomeSaved(OVER),
    CancelCall(ONE),
    AnswerAsk(ONE, "q1", Response("q1", {"role": "user"})),
    AnswerAsk(ONE, "q1", ErrorResponse("q1", 1, "no")),
    DeadlineReached(),
)


def busy_streams(*, http: bool) -> ClientStreams:
    """Return streams with four calls: in the middle of a question, just sent, over, and to be saved."""
    talk = Conversation(http=http)
    talk.link_up()
    talk.call()
    talk.creates(1, window=Window(10, 1_000))
    talk.progresses(2, path=1)
    talk.asks(3, "q1", path=1)
    talk.call()
    talk.calls += 1
    talk.call(stored=True)
    return talk.streams


STREAMS: Final = {http: busy_streams(http=http) for http in (False, True)}


def test_every_input_of_the_streams_is_spoiled() -> None:
    assert {type(event) for event in ON_STREAMS} == members_of(ClientStreamsInput)


@pytest.mark.rule("R13")
@pytest.mark.parametrize("http", STREAMS)
@pytest.mark.parametrize("right", ON_STREAMS, ids=lambda event: type(event).__name__)
@given(data=st.data())
def test_streams_take_an_input_or_do_not_move(right: ClientStreamsInput, http: bool, data: st.DataObject) -> None:
    told(STREAMS[http].fork(), right, 20.0)
    check(STREAMS[http], right, *data.draw(mistakes(right)))


# ------------------------------------------------------------------------------------------------- the whole machine


def busy_over_lines() -> Client:
    """Return a client with two calls on one connection, and an id of one that is over."""
    driven = Driven()
    driven.is_up()
    driven.call()
    driven.calls += 1
    driven.call()
    return driven.client


def busy_over_http() -> Client:
    """Return a client with a session, in which a call is answered by events."""
    driven = Driven(ENDPOINT)
    driven.is_in_session()
    driven.call()
    driven.calls += 1
    driven.call()
    driven.heads(3, 200, EVENTS)
    return driven.client


PING: Final = encode_message(Request(1, "ping"))
ORDERS: Final[tuple[ClientInput, ...]] = (
    MakeCall(NEW, "tools/call", {"name": "tool"}, SEED),
    AttachCall(NEW, SAVED, SEED),
    DetachCall(ONE),
    TakeMessages(ONE, 0),
    CallSaved(TWO, SAVED),
    OutcomeSaved(TWO),
    CancelCall(ONE),
    AnswerAsk(None, "q1", Response("q1", {})),
    OpenClient(),
    CloseClient(),
    Notify("notifications/roots/list_changed", {"x": 1}),
    DeadlineReached(),
)
CLIENTS: Final = {"lines": busy_over_lines(), "HTTP": busy_over_http()}
ON_CLIENTS: Final[list[tuple[str, ClientInput]]] = [
    *((transport, order) for order in ORDERS for transport in CLIENTS),
    ("lines", Connected(LINE)),
    ("lines", ConnectFailed(LINE)),
    ("lines", Written(LINE)),
    ("lines", BytesReceived(LINE, PING + b"\n", SEED)),
    ("lines", EndOfFile(LINE, SEED)),
    ("lines", ConnectionLost(LINE)),
    ("HTTP", HeadReceived(ConnectionId(3), 200, (EVENTS,))),
    ("HTTP", ConnectFailed(ConnectionId(3))),
    ("HTTP", BytesReceived(ConnectionId(3), b"data: " + PING + b"\n\n", SEED)),
    ("HTTP", EndOfFile(ConnectionId(3), SEED)),
    ("HTTP", ConnectionLost(ConnectionId(3))),
]


def test_every_input_of_a_client_is_spoiled() -> None:
    assert {type(event) for _, event in ON_CLIENTS} == members_of(ClientInput)


@pytest.mark.rule("R13")
@pytest.mark.parametrize(
    ("transport", "right"), ON_CLIENTS, ids=lambda part: part if isinstance(part, str) else type(part).__name__
)
@given(data=st.data())
def test_a_client_takes_an_input_or_does_not_move(transport: str, right: ClientInput, data: st.DataObject) -> None:
    told(CLIENTS[transport].fork(), right, 20.0)
    check(CLIENTS[transport], right, *data.draw(mistakes(right)))


@pytest.mark.rule("R13")
@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("request_id", "\ud800", "AttachCall.saved.request_id must be text that UTF-8 can carry"),
        ("event_id", "a\nb", "the saved cursor cannot stand in a header"),
        ("event_id", " a", "the saved cursor cannot stand in a header"),
        ("taken", -1, "AttachCall.saved.taken must be a position"),
        ("key_age", -1.0, "AttachCall.saved.key_age must be a number of seconds"),
        ("method", 7, "AttachCall.saved.method must be text that UTF-8 can carry"),
    ],
)
def test_a_saved_call_that_was_spoiled_where_it_was_kept_is_refused(field: str, value: object, words: str) -> None:
    spoiled = SavedCall("elsewhere-7", "tools/call", None, 0)
    object.__setattr__(spoiled, field, value)
    machine = STREAMS[False].fork()
    before = machine.snapshot(1.0)
    with pytest.raises(LocalProtocolError, match=whole(words)):
        machine.handle(AttachCall(NEW, spoiled, SEED), 1.0)
    assert machine.snapshot(1.0) == before
