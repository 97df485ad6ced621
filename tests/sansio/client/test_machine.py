"""`Client`: one machine for streams, front and link (rules R12, R13)."""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.client.effects import CallFinished, NoticeReceived
from mcpstreams_sansio.client.inputs import (
    CancelCall,
    CloseClient,
    Connected,
    ConnectFailed,
    MakeCall,
    Notify,
    OpenClient,
    TakeMessages,
)
from mcpstreams_sansio.client.link import LinkState
from mcpstreams_sansio.client.machine import Client, ClientInput
from mcpstreams_sansio.connections import (
    BytesReceived,
    ConnectionLost,
    DeadlineReached,
    EndOfFile,
    Framing,
    Write,
    Written,
)
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.http.exchange import Endpoint
from mcpstreams_sansio.http.messages import HeadReceived
from mcpstreams_sansio.ids import CallId, ConnectionId, Entropy, Secret, StreamId
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Notification, Request, Response, decode_message, encode_message
from mcpstreams_sansio.wire.streams import StreamCreate, create_notification
from mcpstreams_sansio.wire.tags import tagged
from tests.sansio.client.conversation import CONFIG, INSTANCE, progress, request_id
from tests.sansio.client.driving import DRAFT_HELLO, ENDPOINT, EVENTS, HELLO, INFO, JSON, SEED, Driven
from tests.wording import whole

CREATE = tagged(
    create_notification(StreamCreate(StreamId("s1"), Secret("token of s1"), request_id(1))), StreamId("s1"), 1
)


def up() -> Driven:
    """Return a client with a link over lines."""
    driven = Driven(config=attrs.evolve(CONFIG, keepalive=None))
    driven.is_up()
    return driven


# --------------------------------------------------------------------------------------------------------- the link


def test_a_client_connects_for_its_first_call() -> None:
    driven = Driven()
    assert driven.client.next_deadline() is None
    assert driven.client.link_state is LinkState.DOWN
    assert driven.call() == ["open c1"]
    assert driven.client.config is CONFIG


def test_a_client_shows_how_it_stands() -> None:
    driven = Driven()
    driven.call()
    assert repr(driven.client) == "<Client link=opening calls=1>"
    assert str(driven.client.link_state) == "opening"
    assert repr(driven.client._streams) == "<ClientStreams calls=1>"


def test_a_client_that_nobody_needs_does_not_come_back() -> None:
    driven = up()
    assert driven.cut(1) == ["disconnected"]
    assert driven.wait(1_000.0) == []
    assert driven.call() == ["open c2"]


def test_h2_three_calls_in_flight_all_come_back() -> None:
    driven = up()
    for number in (1, 2, 3):
        driven.call()
        stream = StreamId(f"s{number}")
        create = create_notification(StreamCreate(stream, Secret(f"token of s{number}"), request_id(number)))
        driven.hears(tagged(create, stream, 1))
    assert driven.cut(1) == ["disconnected"]
    assert driven.wait(1.0) == ["open c2"]
    driven.connects(2)
    assert driven.greets(2, 2) == [
        "connected to server",
        "1: tries resume",
        "2: tries resume",
        "3: tries resume",
        "c2 <- initialized",
        *[f"c2 <- resume s{number} after 1 #2" for number in (1, 2, 3)],
    ]


def test_pauses_grow_while_links_bring_nothing_and_not_while_they_do() -> None:
    driven = up()
    driven.call()
    driven.hears(CREATE)
    moments = []
    for path in range(1, 5):
        driven.cut(path)
        before = driven.now
        while not any(text.startswith("open") for text in driven.wait(1.0)):
            pass
        moments.append(driven.now - before)
        driven.connects(path + 1)
        driven.greets(path + 1, path + 1)
    assert moments == [1.0, 2.0, 4.0, 8.0]
    driven.wait(8.0)
    driven.hears(tagged(progress(1), StreamId("s1"), 2), 5)
    driven.cut(5)
    assert driven.wait(1.0) == ["open c6"]


def test_h2_a_server_that_never_comes_back_costs_every_call_its_patience_and_no_more() -> None:
    driven = up()
    driven.call()
    driven.hears(CREATE)
    driven.cut(1)
    texts = driven.wait(CONFIG.patience + 60.0)
    assert "1: ends with doubt: out of budget @1" in texts
    assert driven.wait(1_000.0) == []


def test_g8_after_it_gave_up_a_client_tries_again_for_the_next_call() -> None:
    driven = Driven()
    driven.call()
    for path in range(1, 100):
        if driven.client.link_state is LinkState.OPENING:
            driven.fails_to_connect(path)
        driven.wait(10.0)
    assert driven.client.link_state is LinkState.DOWN
    (text,) = driven.call()
    assert text.startswith("open c")


def test_a_client_that_was_told_to_connect_tries_until_it_did_once() -> None:
    driven = Driven()
    driven.opens()
    driven.fails_to_connect(1)
    assert driven.wait(1.0) == ["open c2"]
    driven.connects(2)
    driven.greets(2)
    driven.cut(2)
    assert driven.wait(1_000.0) == []


def test_after_a_failure_every_new_call_fails_at_once() -> None:
    driven = Driven(hello={})
    driven.opens()
    driven.connects(1)
    driven.greets()
    assert driven.client.link_state is LinkState.FAILED
    assert driven.call() == ["1: ends with not run: client failed @0"]
    assert driven.notify() == ["never sent notifications/roots/list_changed"]
    assert driven.opens() == []
    assert driven.closes() == ["closed"]


def test_g14_reconnecting_leaves_nothing_behind() -> None:
    driven = up()
    driven.call()
    driven.hears(CREATE)
    sizes = set()
    for path in range(1, 60):
        driven.cut(path)
        driven.wait(1.0)
        driven.connects(path + 1)
        driven.greets(path + 1, path + 1)
        driven.hears(tagged(progress(path), StreamId("s1"), path + 1), path + 1)
        driven.wait(1.0)
        driven.hears(tagged(progress(path), StreamId("s1"), path + 1), path + 1)
        driven.take(path + 1)
        ledger = driven.client._streams._ledger
        sizes.add((len(ledger.errands), len(ledger.exchanges), len(ledger.requests), len(ledger.streams)))
    assert sizes == {(1, 0, 1, 1)}


# ------------------------------------------------------------------------------------------------------- notifications


def test_a_notification_of_the_application_goes_at_once_or_with_the_next_link() -> None:
    driven = Driven()
    assert driven.notify() == ["open c1"]
    driven.connects(1)
    assert driven.greets() == ["connected to server", "c1 <- initialized", "c1 <- notifications/roots/list_changed"]
    assert driven.notify() == ["c1 <- notifications/roots/list_changed"]


def test_it_says_what_the_application_says() -> None:
    driven = up()
    (write,) = driven.effects(Notify("notifications/of/its/own", {"of": [1, "what"]}))
    assert isinstance(write, Write)
    assert decode_message(b"".join(write.chunks)) == Notification("notifications/of/its/own", {"of": [1, "what"]})


@pytest.mark.rule("R25")
def test_more_of_them_than_the_limit_are_not_kept() -> None:
    driven = Driven(config=attrs.evolve(CONFIG, max_notices=2))
    driven.notify("notifications/a")
    driven.notify("notifications/b")
    assert driven.notify("notifications/c") == ["never sent notifications/a"]
    assert driven.closes() == [
        "never sent notifications/b",
        "never sent notifications/c",
        "drop c1: finished",
        "closed",
    ]


def test_what_belongs_to_no_call_is_told_to_the_application() -> None:
    driven = up()
    changed = Notification("notifications/resources/updated", {"uri": "file:///x"})
    (effect,) = driven.effects(BytesReceived(ConnectionId(1), encode_message(changed) + b"\n", SEED))
    assert effect == NoticeReceived("notifications/resources/updated", {"uri": "file:///x"})


@pytest.mark.rule("Q9c")
@pytest.mark.parametrize(
    "late",
    [
        progress(1, "unknown"),
        Notification("notifications/cancelled", {"requestId": "unknown"}),
        Notification("notifications/stream/create", {}),
    ],
)
def test_what_only_makes_sense_inside_a_call_is_for_observers_at_most(late: Notification) -> None:
    texts = up().hears(late)
    assert all("stray" in text for text in texts)
    assert not any(text.startswith("told") for text in texts)


# ------------------------------------------------------------------------------------------------------------- closing


def test_closing_gives_every_call_its_outcome_and_acknowledges_what_was_taken() -> None:
    driven = up()
    driven.call()
    driven.hears(CREATE)
    driven.hears(tagged(Response(request_id(1), {}), StreamId("s1"), 2))
    driven.call()
    assert driven.closes() == ["2: ends with doubt: client closed @0", "c1 <- ack s1 2", "end c1"]


def test_a_client_is_closed_once_and_does_nothing_after_that() -> None:
    driven = up()
    driven.closes()
    for event in (
        CloseClient(),
        OpenClient(),
        Notify("n"),
        MakeCall(CallId(9), "tools/call", None, SEED),
    ):
        with pytest.raises(LocalProtocolError, match=r"\Athe client was closed\Z"):
            driven.tell(event)
    driven.cut(1)
    with pytest.raises(LocalProtocolError, match=r"\Athe client was closed\Z"):
        driven.closes()
    assert driven.wait(1_000.0) == []


def test_late_orders_for_calls_of_a_closed_client_change_nothing() -> None:
    driven = up()
    driven.call()
    driven.closes()
    assert driven.take(0) == []
    assert driven.cancel() == []


# -------------------------------------------------------------------------------------------------------------- misuse


NOT_YOURS = "in _meta, streamId and what begins with mcpstreams/ are not the application's"
NEVER_YOURS = "this method is sent by the package itself, never by an application"


def refused(driven: Driven, event: ClientInput, words: str) -> None:
    before = driven.client.snapshot(driven.now)
    with pytest.raises(LocalProtocolError, match=whole(words)):
        driven.client.handle(event, driven.now)
    assert driven.client.snapshot(driven.now) == before


@pytest.mark.rule("R13")
@pytest.mark.parametrize(
    "event",
    [
        Connected(ConnectionId(9)),
        ConnectFailed(ConnectionId(9)),
        BytesReceived(ConnectionId(9), b"", SEED),
        EndOfFile(ConnectionId(9), SEED),
        ConnectionLost(ConnectionId(9)),
        Written(ConnectionId(9)),
        HeadReceived(ConnectionId(9), 200, ()),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_connection_that_never_was_is_a_mistake(event: ClientInput) -> None:
    refused(up(), event, "there never was such a connection")


@pytest.mark.rule("R13")
def test_each_transport_has_its_own_events() -> None:
    over_http = Driven(ENDPOINT)
    over_http.is_in_session()
    for event in (Connected(ConnectionId(1)), Written(ConnectionId(1))):
        refused(over_http, event, "the transport of this client has no such events")
    refused(up(), HeadReceived(ConnectionId(1), 200, ()), "the transport of this client has no such events")


@pytest.mark.rule("R13")
def test_what_is_wrong_whatever_the_time_comes_before_what_is_due() -> None:
    driven = Driven()
    driven.call()
    driven.now += 1_000.0
    refused(driven, CancelCall(CallId(9)), "there never was such a call")
    refused(driven, TakeMessages(CallId(9), 0), "there never was such a call")
    refused(driven, Notify("n", {"_meta": {"mcpstreams/key": 1}}), NOT_YOURS)
    refused(driven, Notify("notifications/cancelled"), NEVER_YOURS)
    refused(driven, Notify("n", {"x": math.nan}), "NaN and infinity are not JSON")
    with pytest.raises(LocalProtocolError, match=r"\Athe time must be a number of seconds, and must not go back\Z"):
        driven.client.handle(DeadlineReached(), -1.0)
    assert driven.tell(DeadlineReached()) == ["drop c1: silent", "not reached", "1: ends with not run: unreached @0"]


@pytest.mark.parametrize("capabilities", [{"streams": {}}, {"experimental": {"mcpstreams/resumable-streams": {}}}])
def test_an_application_does_not_declare_what_is_declared_here(capabilities: JSONObject) -> None:
    with pytest.raises(LocalProtocolError, match=r"\Aan application declares neither streams nor the marker\Z"):
        Client(CONFIG, Framing.LINES, INFO, capabilities)


def test_what_a_client_says_of_itself_has_to_be_json() -> None:
    with pytest.raises(LocalProtocolError, match=r"\ANaN and infinity are not JSON\Z"):
        Client(CONFIG, Framing.LINES, {**INFO, "more": math.inf})


@pytest.mark.rule("R13")
@pytest.mark.parametrize("info", ["me", None, [], {}, {"name": "me"}, {"version": "1"}, {"name": "me", "version": 1}])
def test_a_client_says_its_name_and_its_version(info: JSONObject) -> None:
    with pytest.raises(LocalProtocolError, match=r"\Aan application says its name and its version, both as text\Z"):
        Client(CONFIG, Framing.LINES, info)


def test_http_needs_to_know_where_to() -> None:
    with pytest.raises(LocalProtocolError, match=r"\AHTTP needs an endpoint\Z"):
        Client(CONFIG, Framing.HTTP, INFO)


# ----------------------------------------------------------------------------------------------------------- in general


@pytest.mark.parametrize("transport", [Framing.LINES, ENDPOINT])
def test_a_copy_goes_its_own_way(transport: Framing) -> None:
    driven = Driven(transport)
    driven.notify()
    copy = driven.client.fork()
    before = driven.client.snapshot(0.0)
    copy.handle(MakeCall(CallId(1), "tools/call", None, SEED), 1.0)
    copy.handle(Notify("n"), 1.0)
    assert driven.client.snapshot(0.0) == before
    assert copy.snapshot(1.0) != before


def down(driven: Driven) -> None:
    """Let the link be lost, and be needed by nothing."""
    driven.is_up()
    driven.cut(1)


def needed_by_a_call(driven: Driven) -> None:
    down(driven)
    driven.call()


def needed_by_a_notification(driven: Driven) -> None:
    down(driven)
    driven.notify()


def needed_by_its_application(driven: Driven) -> None:
    down(driven)
    driven.opens()


def opening(driven: Driven) -> None:
    driven.call()


def greeting(driven: Driven) -> None:
    driven.now = 1.0
    driven.opens()
    driven.connects(1)


def silent(driven: Driven) -> None:
    driven.is_up()
    driven.call()
    driven.hears(CREATE)


def stalled(driven: Driven) -> None:
    silent(driven)
    driven.slow = True
    driven.notify()


def answered(driven: Driven) -> None:
    silent(driven)
    driven.hears(tagged(Response(request_id(1), {}), StreamId("s1"), 2))


def in_no_session(driven: Driven) -> None:
    driven.call()


def unanswered(driven: Driven) -> None:
    driven.is_in_session()
    driven.call()


def quiet(driven: Driven) -> None:
    driven.is_in_session()
    driven.call()
    driven.heads(3, 200, EVENTS)
    driven.streams(3, CREATE)


@pytest.mark.rule("R12")
@pytest.mark.parametrize(
    ("transport", "happen", "moment", "follows"),
    [
        pytest.param(Framing.LINES, needed_by_a_call, 1.0, "open c2", id="its next try, for a call"),
        pytest.param(Framing.LINES, needed_by_a_notification, 1.0, "open c2", id="its next try, for a notification"),
        pytest.param(
            Framing.LINES, needed_by_its_application, 1.0, "open c2", id="its next try, for whoever wants one"
        ),
        pytest.param(Framing.LINES, opening, 30.0, "drop c1: silent", id="a connection"),
        pytest.param(Framing.LINES, greeting, 31.0, "drop c1: silent", id="a handshake"),
        pytest.param(Framing.LINES, silent, 15.0, "c1 <- ping", id="a sign of life"),
        pytest.param(Framing.LINES, stalled, 3.0, "drop c1: stalled", id="a write"),
        pytest.param(Framing.LINES, answered, 2.0, "c1 <- ack s1 2", id="the end of a stream"),
        pytest.param(ENDPOINT, in_no_session, 30.0, "drop c1: silent", id="a session"),
        pytest.param(ENDPOINT, unanswered, 30.0, "drop c3: finished", id="a head"),
        pytest.param(ENDPOINT, quiet, 45.0, "drop c3: silent", id="a sign of life in a body"),
    ],
)
def test_a_client_wakes_for_the_first_thing_that_any_part_of_it_waits_for(
    transport: Framing | Endpoint, happen: Callable[[Driven], None], moment: float, follows: str
) -> None:
    driven = Driven(transport, config=attrs.evolve(CONFIG, stall_timeout=3.0, keepalive=15.0))
    happen(driven)
    assert driven.client.next_deadline() == moment
    assert follows in driven.wait(moment - driven.now)


def test_a_late_wake_up_comes_before_the_input_that_woke() -> None:
    driven = up()
    driven.call()
    driven.cut(1)
    driven.now += 0.5
    assert driven.tell(DeadlineReached()) == []
    driven.now += CONFIG.handshake_timeout + 10.0
    assert driven.call() == ["open c2"]


@pytest.mark.rule("R11", "R26")
def test_a_late_wake_up_sends_nothing_on_a_connection_that_has_stalled_meanwhile() -> None:
    driven = up()
    driven.call()
    driven.hears(CREATE)
    driven.slow = True
    driven.notify()
    driven.hears(tagged(progress(2), StreamId("s1"), 3))
    driven.now += 100.0
    assert driven.tell(DeadlineReached()) == ["drop c1: stalled", "disconnected"]
    assert driven.wait(1.0) == ["open c2"]


@pytest.mark.rule("R13", "R26")
def test_nothing_is_ordered_for_a_connection_that_has_just_ended_although_it_was_due() -> None:
    driven = up()
    driven.call()
    driven.slow = True
    driven.notify()
    driven.now += 100.0
    assert driven.cut(1) == ["disconnected"]
    resuming = Driven(ENDPOINT)
    resuming.is_in_session()
    resuming.call()
    resuming.heads(3, 200, EVENTS)
    resuming.streams(3, CREATE)
    resuming.cut(3)
    assert resuming.wait(1.0) == ["1: tries resume", "c4 <- POST resume s1 after 1 #2 in session-1"]
    resuming.now += 100.0
    assert not [text for text in resuming.cut(4) if "c4" in text]


SERVER_BYTES = [
    encode_message(message) + b"\n"
    for message in (
        Response(f"{INSTANCE}-link.1", HELLO),
        Response(f"{INSTANCE}-link.2", DRAFT_HELLO),
        Response(f"{INSTANCE}-link.1", {}),
        CREATE,
        tagged(progress(1), StreamId("s1"), 2),
        tagged(progress(2), StreamId("s1"), 3),
        tagged(Request("q1", "sampling/createMessage", {}), StreamId("s1"), 2),
        tagged(Response(request_id(1), {}), StreamId("s1"), 3),
        Request(5, "ping"),
        Response(f"{INSTANCE}-1.1", {}),
    )
]


@st.composite
def happenings(draw: st.DrawFn, http: bool) -> ClientInput:
    """Make something that a driver or an application may report, however unlikely: of the newest connection, say 0."""
    path = ConnectionId(draw(st.sampled_from([0, 0, 0, 1, 2])))
    data = draw(
        st.one_of(
            st.sampled_from(SERVER_BYTES),
            st.sampled_from(SERVER_BYTES).map(lambda line: line.rstrip(b"\n")),
            st.sampled_from(SERVER_BYTES).map(lambda line: b"id: e\ndata: " + line + b"\n"),
            st.binary(max_size=20),
        )
    )
    common: list[ClientInput] = [
        BytesReceived(path, data, SEED),
        BytesReceived(path, data, SEED),
        EndOfFile(path, SEED),
        ConnectionLost(path),
        ConnectFailed(path),
        OpenClient(),
        Notify("n"),
        CancelCall(CallId(1)),
        TakeMessages(CallId(1), 0),
        DeadlineReached(),
    ]
    status = draw(st.sampled_from([200, 202, 400, 401, 404, 405, 429, 500]))
    headers = draw(st.sampled_from([(), (JSON,), (EVENTS,), (EVENTS, (b"mcp-session-id", b"s"))]))
    own: list[ClientInput] = (
        [HeadReceived(path, status, headers)] * 4 if http else [Connected(path), Connected(path), Written(path)]
    )
    return draw(st.sampled_from(common + own))


def of_a_late_connection(event: ClientInput, newest: int) -> ClientInput:
    """Say it of a connection that there was: of the newest one, or of one not long before it."""
    match event:
        case (
            BytesReceived()
            | EndOfFile()
            | ConnectionLost()
            | ConnectFailed()
            | HeadReceived()
            | Connected()
            | Written()
        ):
            return attrs.evolve(event, connection_id=ConnectionId(max(1, newest - event.connection_id)))
        case _:
            return event


@pytest.mark.rule("R13")
@pytest.mark.parametrize("http", [False, True])
@given(st.data())
def test_h2_whatever_a_server_sends_nothing_raises_and_every_call_ends(http: bool, data: st.DataObject) -> None:
    driven = Driven(ENDPOINT if http else Framing.LINES, attrs.evolve(CONFIG, patience=20.0), slow=True)
    client = driven.client
    effects = driven.effects(MakeCall(CallId(1), "tools/call", None, Entropy(b"y" * 32)))
    for happening in [*data.draw(st.lists(happenings(http), max_size=30)), CloseClient()]:
        driven.now += data.draw(st.sampled_from([0.0, 0.0, 1.0, 4.0, 31.0]))
        effects += driven.effects(of_a_late_connection(happening, client._streams.connection_ids._next - 1))
    assert sum(isinstance(effect, CallFinished) for effect in effects) == 1
    now = driven.now
    while (deadline := client.next_deadline()) is not None:
        now = max(now, deadline)
        client.handle(DeadlineReached(), now)
    assert client.link_state is LinkState.CLOSED
