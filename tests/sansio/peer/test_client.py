"""The client's front for multiplexed servers: connections, handshakes, bytes, signs of life."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client.inputs import MakeCall, MessageReceived
from mcpstreams_sansio.client.link import LinkState
from mcpstreams_sansio.connections import BytesReceived, Framing, Write, Written
from mcpstreams_sansio.ids import CallId, ConnectionId
from mcpstreams_sansio.peer.client import ClientPeer
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject, Notification, Request, Response, encode_message
from tests.sansio.client.conversation import CONFIG, INSTANCE, request_id
from tests.sansio.client.driving import HELLO, SEED, Driven

UP = ["connected to server", "c1 <- initialized"]


# ----------------------------------------------------------------------------------------------------------- handshake


@pytest.mark.rule("P1", "P3")
@pytest.mark.parametrize("framing", [Framing.LINES, Framing.MESSAGES])
def test_a_connection_begins_with_the_handshake(framing: Framing) -> None:
    driven = Driven(framing)
    assert driven.opens() == ["open c1"]
    assert driven.connects(1) == ["c1 <- initialize 2025-11-25"]
    assert driven.greets() == UP
    assert driven.client.link_state is LinkState.UP


def test_calls_wait_for_the_handshake() -> None:
    driven = Driven()
    assert driven.call() == ["open c1"]
    assert driven.connects(1) == ["c1 <- initialize 2025-11-25"]
    assert driven.call() == []
    assert driven.greets() == [*UP, "c1 <- call 1 key #1", "c1 <- call 2 key #1"]


def test_before_the_handshake_a_server_may_only_ask_whether_anybody_is_there() -> None:
    driven = Driven()
    driven.opens()
    driven.connects(1)
    assert driven.hears(Request(1, "ping")) == ["c1 <- result 1"]
    assert driven.hears(Request(2, "sampling/createMessage")) == []
    assert driven.hears(Notification("notifications/message")) == []
    assert driven.hears(Response("instance-link.9", {})) == []
    assert driven.hears(ErrorResponse("instance-link.9", 1, "no")) == []
    assert driven.greets() == UP


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_server_may_insist_on_an_older_revision(version: str) -> None:
    driven = Driven(hello={**HELLO, "protocolVersion": version})
    assert driven.is_up() == UP


@pytest.mark.parametrize(
    ("hello", "failure"),
    [
        ({**HELLO, "protocolVersion": "2019-01-01"}, "unsupported version"),
        ({"protocolVersion": "2025-11-25"}, "no MCP"),
        ({}, "no MCP"),
    ],
)
def test_a_server_that_can_not_be_talked_to_ends_every_call(hello: JSONObject, failure: str) -> None:
    driven = Driven(hello=hello)
    driven.call()
    driven.connects(1)
    assert driven.greets() == [
        "drop c1: finished",
        "1: ends with not run: client failed @0",
        f"failed: {failure}",
    ]
    assert driven.client.next_deadline() is None


@pytest.mark.parametrize("request_id", [f"{INSTANCE}-link.1", None])
def test_a_refused_handshake_is_not_repeated(request_id: str | None) -> None:
    driven = Driven()
    driven.opens()
    driven.connects(1)
    assert driven.hears(ErrorResponse(request_id, -32602, "no")) == ["drop c1: finished", "failed: handshake refused"]
    assert driven.wait(1_000.0) == []


def test_a_handshake_that_takes_too_long_is_given_up() -> None:
    driven = Driven()
    driven.opens()
    driven.connects(1)
    assert driven.wait(CONFIG.handshake_timeout) == ["drop c1: silent", "not reached"]
    assert driven.wait(1.0) == ["open c2"]
    assert driven.wait(CONFIG.handshake_timeout) == ["drop c2: silent", "not reached"], "and so is opening a connection"


def test_a_cut_handshake_begins_again_after_a_pause() -> None:
    driven = Driven()
    driven.call()
    driven.connects(1)
    assert driven.cut(1) == ["not reached"]
    assert driven.wait(1.0) == ["open c2"]
    assert driven.fails_to_connect(2) == ["not reached"]
    assert driven.wait(2.0) == ["open c3"]
    assert driven.connects(3) == ["c3 <- initialize 2025-11-25"]
    assert driven.greets(3, 2) == ["connected to server", "c3 <- initialized", "c3 <- call 1 key #1"]


def test_a_connection_that_opens_twice_opened_once() -> None:
    driven = Driven()
    driven.opens()
    driven.connects(1)
    assert driven.connects(1) == []


# --------------------------------------------------------------------------------------------------------------- bytes


def test_lines_may_be_cut_anywhere() -> None:
    driven = Driven()
    driven.is_up()
    line = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\r\n'
    texts = [driven.receives(1, line[number : number + 1]) for number in range(len(line))]
    assert texts[:-1] == [[]] * (len(line) - 1)
    assert texts[-1] == ["told notifications/tools/list_changed"]


def test_o4_what_is_no_message_is_reported_and_costs_nothing_else() -> None:
    driven = Driven(config=attrs.evolve(CONFIG, max_line_size=200))
    driven.opens()
    driven.connects(1)
    driven.hello = {**HELLO, "capabilities": {}}
    driven.greets()
    good = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
    texts = driven.receives(1, b"\n".join([b"hello", b"\xff\xfe", b"{", b"x" * 201, good, b""]))
    assert texts == [
        "c1: unreadable: the text is not JSON",
        "c1: unreadable: the text is not UTF-8",
        "c1: unreadable: the text is not JSON",
        "c1: unreadable: a line is longer than 200 bytes",
        "told notifications/tools/list_changed",
    ]


def test_o6_a_peer_that_sends_headers_gets_a_clear_report() -> None:
    driven = Driven()
    driven.is_up()
    assert driven.receives(1, b"Content-Length: 20\r\n\r\n") == ["c1: unreadable: the text is not JSON"]


def test_a_message_of_its_own_may_be_too_large_as_well() -> None:
    driven = Driven(Framing.MESSAGES, attrs.evolve(CONFIG, max_line_size=300))
    driven.is_up()
    assert driven.receives(1, b"x" * 301) == ["c1: unreadable: a message is longer than 300 bytes"]
    assert driven.hears(Notification("notifications/tools/list_changed")) == ["told notifications/tools/list_changed"]


def test_a_last_line_without_its_end_counts_and_then_the_connection_is_gone() -> None:
    driven = Driven()
    driven.is_up()
    driven.receives(1, b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}')
    assert driven.ends(1) == ["told notifications/tools/list_changed", "drop c1: finished", "disconnected"]


@pytest.mark.rule("R26")
def test_what_a_last_line_leads_to_comes_before_the_end_of_its_connection() -> None:
    driven = Driven()
    driven.is_up()
    driven.receives(1, b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
    assert driven.ends(1) == ["drop c1: finished", "disconnected"], "the answer to the ping goes with the connection"
    driven.call()
    assert driven.wait(1.0) == ["open c2"]
    driven.connects(2)
    driven.receives(2, encode_message(Response("instance-link.2", HELLO)))
    assert driven.ends(2) == ["connected to server", "drop c2: finished", "disconnected"]
    assert driven.wait(2.0) == ["open c3"], "the call goes on"


def test_the_end_of_a_connection_that_keeps_boundaries_is_its_end() -> None:
    driven = Driven(Framing.MESSAGES)
    driven.is_up()
    assert driven.ends(1) == ["drop c1: finished", "disconnected"]


def test_what_comes_behind_a_refusal_of_the_handshake_is_not_read() -> None:
    driven = Driven()
    driven.opens()
    driven.connects(1)
    refusal = b'{"jsonrpc":"2.0","id":"instance-link.1","error":{"code":1,"message":"no"}}\n'
    assert driven.receives(1, refusal + b"garbage\n") == ["drop c1: finished", "failed: handshake refused"]


@pytest.mark.rule("R13")
def test_what_is_reported_of_a_connection_that_is_over_changes_nothing() -> None:
    driven = Driven()
    driven.is_up()
    driven.cut(1)
    assert driven.receives(1, b"late\n") == []
    assert driven.cut(1) == []
    assert driven.tell(Written(ConnectionId(1))) == []


# ------------------------------------------------------------------------------------------------------------- writing


@pytest.mark.rule("R11")
def test_one_write_is_outstanding_and_the_next_one_takes_all_that_waits() -> None:
    driven = Driven(slow=True)
    driven.opens()
    driven.connects(1)
    driven.tell(Written(ConnectionId(1)))
    assert driven.greets() == UP
    assert driven.call() == []
    assert driven.call() == []
    assert driven.tell(Written(ConnectionId(1))) == ["c1 <- call 1 key #1", "c1 <- call 2 key #1"]
    assert driven.tell(Written(ConnectionId(1))) == []
    assert driven.tell(Written(ConnectionId(1))) == [], "a report too many changes nothing"


@pytest.mark.rule("R11")
@pytest.mark.parametrize(("framing", "chunks"), [(Framing.LINES, 2), (Framing.MESSAGES, 2)])
def test_each_message_is_a_chunk(framing: Framing, chunks: int) -> None:
    driven = Driven(framing, slow=True)
    driven.opens()
    driven.connects(1)
    driven.tell(Written(ConnectionId(1)))
    driven.greets()
    driven.call()
    driven.call()
    (write,) = driven.effects(Written(ConnectionId(1)))
    assert isinstance(write, Write)
    assert len(write.chunks) == chunks
    assert all(chunk.endswith(b"\n") == (framing is Framing.LINES) for chunk in write.chunks)


@pytest.mark.rule("R11")
def test_a_connection_that_takes_nothing_is_given_up() -> None:
    driven = Driven(slow=True)
    driven.is_up()
    driven.tell(Written(ConnectionId(1)), Written(ConnectionId(1)))
    driven.call()
    assert driven.wait(29.0) == []
    assert driven.wait(1.0) == ["drop c1: stalled", "disconnected"]
    assert driven.wait(1.0) == ["open c2"]


def test_stalling_need_not_be_watched() -> None:
    driven = Driven(slow=True, config=attrs.evolve(CONFIG, stall_timeout=None, keepalive=None))
    driven.is_up()
    driven.call()
    assert driven.wait(10_000.0) == []


def test_a_connection_for_which_too_much_waits_is_given_up() -> None:
    driven = Driven(slow=True, config=attrs.evolve(CONFIG, max_outbox_bytes=300))
    driven.is_up()
    assert driven.call() == []
    assert driven.call() == ["drop c1: stalled", "disconnected"]


# ------------------------------------------------------------------------------------------------------- signs of life


@pytest.mark.rule("R15")
def test_a_silent_server_is_asked_whether_it_is_there_while_something_is_expected_of_it() -> None:
    driven = Driven()
    driven.is_up()
    assert driven.wait(100.0) == [], "nothing is"
    driven.call()
    assert driven.wait(15.0) == ["c1 <- ping"]
    assert driven.hears(Response("instance-link.2", {})) == []
    assert driven.wait(15.0) == ["c1 <- ping"]
    assert driven.wait(15.0) == ["c1 <- ping"]
    assert driven.wait(15.0) == ["drop c1: silent", "disconnected"]


def test_an_answered_call_needs_no_signs_of_life() -> None:
    driven = Driven(hello={**HELLO, "capabilities": {}})
    driven.is_up()
    driven.call()
    driven.wait(15.0)
    assert driven.hears(Response(request_id(1), {})) == ["1: ends with result @1"]
    assert driven.wait(100.0) == []
    driven.call()
    assert driven.wait(14.0) == []
    assert driven.wait(1.0) == ["c1 <- ping"], "counted from the call, not from the last word before it"


def test_signs_of_life_need_not_be_watched() -> None:
    driven = Driven(config=attrs.evolve(CONFIG, keepalive=None))
    driven.is_up()
    driven.call()
    assert driven.wait(1_000.0) == []


# ------------------------------------------------------------------------------------------------------------- parting


def test_a_client_that_is_closed_writes_what_waits_and_ends() -> None:
    driven = Driven(slow=True)
    driven.is_up()
    driven.notify()
    assert driven.closes() == []
    assert driven.tell(Written(ConnectionId(1))) == ["c1 <- initialized", "c1 <- notifications/roots/list_changed"]
    assert driven.tell(Written(ConnectionId(1))) == ["end c1"]
    assert driven.cut(1) == ["closed"]


def test_a_server_that_keeps_its_side_open_is_not_waited_for() -> None:
    driven = Driven()
    driven.is_up()
    assert driven.closes() == ["end c1"]
    assert driven.wait(CONFIG.close_timeout) == ["drop c1: finished", "closed"]


def test_a_server_that_ends_first_is_left_at_once() -> None:
    driven = Driven(slow=True)
    driven.is_up()
    driven.closes()
    assert driven.hears(Notification("notifications/tools/list_changed")) == [], "nobody listens any more"
    assert driven.ends(1) == ["drop c1: finished", "closed"]


@pytest.mark.parametrize("connected", [False, True])
def test_a_client_may_be_closed_before_it_has_met_its_server(connected: bool) -> None:
    driven = Driven()
    driven.opens()
    if connected:
        driven.connects(1)
    assert driven.closes() == ["drop c1: finished", "closed"]
    assert driven.client.link_state is LinkState.CLOSED


def test_a_client_that_never_connected_is_closed_at_once() -> None:
    driven = Driven()
    assert driven.closes() == ["closed"]
    assert driven.wait(1_000.0) == []


# ----------------------------------------------------------------------------------------------------- the very limit


def test_a_message_of_its_own_may_be_as_large_as_the_limit() -> None:
    message = encode_message(Notification("notifications/tools/list_changed", {"x": "x" * 300}))
    driven = Driven(Framing.MESSAGES, attrs.evolve(CONFIG, max_line_size=len(message)))
    driven.is_up()
    assert driven.receives(1, message) == ["told notifications/tools/list_changed"]
    assert driven.receives(1, message + b" ") == [f"c1: unreadable: a message is longer than {len(message)} bytes"]


@pytest.mark.rule("R11")
@pytest.mark.parametrize(("room", "texts"), [(0, []), (-1, ["drop c1: stalled", "disconnected"])])
def test_as_much_may_wait_as_the_limit_says(room: int, texts: list[str]) -> None:
    call = MakeCall(CallId(1), "tools/call", {"name": "x" * 1_000}, SEED)
    driven = Driven(slow=True)
    driven.is_up()
    driven.tell(Written(ConnectionId(1)), Written(ConnectionId(1)))
    (write,) = driven.effects(call)
    assert isinstance(write, Write)
    driven = Driven(slow=True, config=attrs.evolve(CONFIG, max_outbox_bytes=sum(map(len, write.chunks)) + room))
    driven.is_up()
    driven.tell(Written(ConnectionId(1)))
    assert driven.tell(call) == texts


@pytest.mark.rule("R23")
def test_a_message_is_counted_by_its_bytes() -> None:
    payload = encode_message(Notification("notifications/tools/list_changed"))
    driven = Driven()
    driven.is_up()
    front = driven.client.fork()._front
    assert isinstance(front, ClientPeer)
    [received] = front.receive(BytesReceived(ConnectionId(1), payload + b"\n", SEED), 0.0)
    assert isinstance(received, MessageReceived)
    assert received.size == len(payload)


# --------------------------------------------------------------------------------------------------------------- time


def test_while_nothing_is_expected_nothing_is_due() -> None:
    driven = Driven()
    driven.is_up()
    assert driven.client.next_deadline() is None


@pytest.mark.rule("R26")
def test_what_a_front_will_do_does_not_depend_on_when_it_began() -> None:
    early, late = Driven(slow=True), Driven(slow=True, now=1_000.0)
    for driven in (early, late):
        driven.opens()
        driven.wait(1.0)
    assert early.client.snapshot(early.now) == late.client.snapshot(late.now)
    for driven in (early, late):
        driven.connects(1)
        driven.tell(Written(ConnectionId(1)))
        driven.greets()
        driven.call()
        driven.wait(1.0)
    assert early.client.snapshot(early.now) == late.client.snapshot(late.now)
