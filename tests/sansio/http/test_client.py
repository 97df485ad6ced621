"""The client's front for Streamable HTTP: sessions, exchanges, statuses (rules H4-H11, H24, H30-H32)."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.inputs import AnswerAsk
from mcpstreams_sansio.client.link import LinkState
from mcpstreams_sansio.framing.sse import SSEEvent
from mcpstreams_sansio.ids import CallId, Secret, StreamId
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject, Notification, Request, Response
from mcpstreams_sansio.wire.streams import StreamCreate, create_notification
from mcpstreams_sansio.wire.tags import tagged
from tests.sansio.client.conversation import CONFIG, INSTANCE, progress, request_id
from tests.sansio.client.driving import DRAFT_HELLO, ENDPOINT, EVENTS, HELLO, JSON, SESSION, Driven, event, shown

IN_SESSION = ["connected to server"]
CREATE = tagged(
    create_notification(StreamCreate(StreamId("s1"), Secret("token of s1"), request_id(1))), StreamId("s1"), 1
)


QUIET = attrs.evolve(CONFIG, keepalive=None)
SMALL = attrs.evolve(QUIET, max_event_size=500)
WATCHFUL = attrs.evolve(CONFIG, keepalive=15.0)


def in_session(config: ClientConfig = QUIET, *, draft: bool = False) -> Driven:
    """Return a client over HTTP whose session has begun."""
    driven = Driven(ENDPOINT, config, DRAFT_HELLO if draft else HELLO)
    assert driven.is_in_session() == IN_SESSION
    return driven


def followed(config: ClientConfig = QUIET) -> Driven:
    """Return a client with one call, whose stream is announced on exchange 3."""
    driven = in_session(config)
    driven.call()
    driven.heads(3, 200, EVENTS)
    assert driven.streams(3, SSEEvent("", id="s1_0"), event(CREATE, "s1_1")) == []
    return driven


def said(sequence: int) -> SSEEvent:
    return event(tagged(progress(sequence - 1), StreamId("s1"), sequence), f"s1_{sequence}")


def answer(sequence: int) -> SSEEvent:
    return event(tagged(Response(request_id(1), {}), StreamId("s1"), sequence), f"s1_{sequence}")


# ----------------------------------------------------------------------------------------------------------- handshake


@pytest.mark.rule("H30", "H31")
def test_a_session_begins_with_initialize_and_is_confirmed_in_its_own_name() -> None:
    driven = Driven(ENDPOINT)
    assert driven.opens() == ["c1 <- POST initialize 2025-11-25"]
    assert driven.meets(1) == ["c2 <- POST initialized in session-1"]
    assert driven.call() == []
    assert driven.accepts(2) == ["connected to server", "c3 <- POST call 1 key #1 in session-1"]


def test_a_server_may_do_without_sessions() -> None:
    driven = Driven(ENDPOINT)
    driven.opens()
    assert driven.replies(1, Response(f"{INSTANCE}-link.1", HELLO)) == ["c2 <- POST initialized"]
    assert driven.accepts(2) == IN_SESSION
    assert driven.call() == ["c3 <- POST call 1 key #1"]
    assert driven.closes() == ["1: ends with doubt: client closed @0", "drop c3: finished", "closed"]


def test_the_handshake_may_be_answered_by_events() -> None:
    driven = Driven(ENDPOINT)
    driven.opens()
    driven.heads(1, 200, EVENTS, SESSION)
    assert driven.streams(1, SSEEvent("", id="0"), Notification("notifications/message")) == []
    assert driven.streams(1, Response(f"{INSTANCE}-link.9", {})) == []
    assert driven.streams(1, Response(f"{INSTANCE}-link.1", HELLO)) == ["c2 <- POST initialized in session-1"]
    assert driven.ends(1) == []


@pytest.mark.rule("H4")
def test_the_revision_that_was_negotiated_stands_in_every_request() -> None:
    driven = Driven(ENDPOINT, hello={**HELLO, "protocolVersion": "2025-06-18"})
    driven.opens()
    driven.meets(1)
    headers = dict(driven.requests[2].headers)
    assert headers[b"mcp-protocol-version"] == b"2025-06-18"
    assert b"mcp-protocol-version" not in dict(driven.requests[1].headers)


@pytest.mark.parametrize(
    ("hello", "failure"),
    [
        ({**HELLO, "protocolVersion": "2019-01-01"}, "unsupported version"),
        ({"protocolVersion": "2025-11-25"}, "no MCP"),
    ],
)
def test_a_server_that_can_not_be_talked_to_ends_every_call(hello: JSONObject, failure: str) -> None:
    driven = Driven(ENDPOINT, hello=hello)
    driven.call()
    assert driven.meets(1) == ["drop c1: finished", "1: ends with not run: client failed @0", f"failed: {failure}"]
    assert driven.wait(1_000.0) == []


def test_a_refused_handshake_is_not_repeated() -> None:
    driven = Driven(ENDPOINT)
    driven.opens()
    refusal = ErrorResponse(f"{INSTANCE}-link.1", -32602, "no")
    assert driven.replies(1, refusal) == ["drop c1: finished", "failed: handshake refused"]


@pytest.mark.parametrize("headers", [[], [(b"content-type", b"text/html")], [JSON, (b"mcp-session-id", b"a b")]])
def test_what_does_not_speak_the_protocol_is_left(headers: list[tuple[bytes, bytes]]) -> None:
    driven = Driven(ENDPOINT)
    driven.opens()
    assert driven.heads(1, 200, *headers) == ["drop c1: finished", "failed: no MCP"]


def test_an_answer_to_initialize_that_can_not_be_read_is_none() -> None:
    driven = Driven(ENDPOINT)
    driven.opens()
    driven.heads(1, 200, JSON)
    driven.receives(1, b"<html>")
    assert driven.ends(1) == ["drop c1: finished", "failed: no MCP"]


@pytest.mark.parametrize(
    ("status", "failure"),
    [(401, "unauthorized"), (400, "handshake refused"), (403, "handshake refused"), (404, "handshake refused")],
)
def test_i6_a_status_that_will_not_change_is_not_tried_again(status: int, failure: str) -> None:
    driven = Driven(ENDPOINT)
    driven.opens()
    assert driven.heads(1, status) == ["drop c1: finished", f"failed: {failure}"]
    assert driven.wait(1_000.0) == []


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_status_that_may_change_is_tried_again(status: int) -> None:
    driven = Driven(ENDPOINT)
    driven.opens()
    assert driven.heads(1, status) == ["drop c1: finished", "not reached"]
    assert driven.wait(1.0) == ["c2 <- POST initialize 2025-11-25"]
    assert driven.meets(2, 2) == ["c3 <- POST initialized in session-1"]
    assert driven.heads(3, status) == ["drop c3: finished", "not reached"]
    assert driven.wait(2.0) == ["c4 <- POST initialize 2025-11-25"]


def test_a_lost_handshake_begins_again() -> None:
    driven = Driven(ENDPOINT)
    driven.opens()
    assert driven.cut(1) == ["not reached"]
    assert driven.wait(1.0) == ["c2 <- POST initialize 2025-11-25"]
    assert driven.fails_to_connect(2) == ["not reached"]
    assert driven.wait(2.0) == ["c3 <- POST initialize 2025-11-25"]
    driven.heads(3, 200, JSON)
    assert driven.ends(3) == ["not reached"], "an empty answer is none"
    assert driven.wait(4.0) == ["c4 <- POST initialize 2025-11-25"]
    driven.meets(4, 4)
    assert driven.cut(5) == ["not reached"]
    assert driven.wait(8.0) == ["c6 <- POST initialize 2025-11-25"]


def test_a_handshake_that_takes_too_long_is_given_up() -> None:
    driven = Driven(ENDPOINT)
    driven.opens()
    assert driven.wait(CONFIG.handshake_timeout) == ["drop c1: silent", "not reached"]
    assert driven.wait(1.0) == ["c2 <- POST initialize 2025-11-25"]
    driven.meets(2, 2)
    assert driven.wait(CONFIG.handshake_timeout) == ["drop c3: silent", "not reached"]


def test_i2_a_session_that_is_forgotten_before_it_is_confirmed_is_renewed_once() -> None:
    driven = Driven(ENDPOINT)
    driven.opens()
    driven.meets(1)
    assert driven.heads(2, 404) == ["drop c2: finished", "not reached"]
    assert driven.wait(1.0) == ["c3 <- POST initialize 2025-11-25"]
    driven.meets(3, 2)
    assert driven.heads(4, 404) == ["drop c4: finished", "failed: session lost"]
    assert driven.wait(1_000.0) == []


def test_a_server_without_sessions_that_refuses_the_confirmation_has_lost_none() -> None:
    driven = Driven(ENDPOINT)
    driven.opens()
    driven.replies(1, Response(f"{INSTANCE}-link.1", HELLO))
    assert driven.heads(2, 404) == ["drop c2: finished", "failed: handshake refused"]


# ------------------------------------------------------------------------------------------------------------- answers


@pytest.mark.rule("H10")
def test_a_call_may_be_answered_by_json() -> None:
    driven = in_session(draft=True)
    driven.call()
    assert driven.replies(3, Response(request_id(1), {})) == ["1: ends with result @1"]
    assert driven.wait(10.0) == []


@pytest.mark.rule("H10", "H13", "P24")
def test_a_call_may_be_answered_by_events() -> None:
    driven = followed()
    assert driven.streams(3, said(2), said(3)) == ["1: progress 1 @2", "1: progress 2 @3"]
    driven.take(3)
    assert driven.streams(3, answer(4)) == ["1: ends with result @4"]
    assert driven.ends(3) == ["c4 <- POST ack s1 4 in session-1"]


@pytest.mark.rule("P22", "H24", "T5")
def test_t5_every_reconnect_carries_the_latest_cursor() -> None:
    driven = followed()
    driven.streams(3, said(2))
    driven.take(2)
    assert driven.cut(3) == []
    assert driven.wait(1.0) == ["1: tries resume", "c4 <- POST resume s1 after 2 #2 in session-1 at s1_2"]
    driven.heads(4, 200, EVENTS)
    driven.streams(4, SSEEvent("", id="s1_2"), said(3))
    driven.take(3)
    assert driven.ends(4) == []
    assert driven.wait(1.0) == ["1: tries resume", "c5 <- POST resume s1 after 3 #3 in session-1 at s1_3"]


@pytest.mark.rule("H24", "H16")
def test_d3_a_stock_servers_call_comes_back_by_its_cursor_after_the_pause_it_asked_for() -> None:
    driven = in_session(draft=True)
    driven.call()
    driven.heads(3, 200, EVENTS)
    assert driven.streams(3, SSEEvent("", id="0", retry_ms=3_000)) == []
    assert driven.ends(3) == []
    assert driven.wait(2.9) == []
    assert driven.wait(0.1) == ["1: tries cursor", "c4 <- GET in session-1 at 0"]
    driven.heads(4, 200, EVENTS)
    assert driven.streams(4, event(Response(request_id(1), {}), "1")) == ["1: ends with result @1"]


def test_h1_an_empty_answer_ends_the_call_in_the_same_step() -> None:
    for headers in ((), (EVENTS,), (JSON,)):
        driven = in_session(draft=True)
        driven.call()
        assert driven.heads(3, 200, *headers) == []
        assert driven.ends(3) == ["1: ends with doubt: connection lost @0"]


def test_g3_an_answer_of_another_type_is_none_and_is_not_asked_for_again() -> None:
    driven = followed()
    driven.cut(3)
    driven.wait(1.0)
    texts = driven.heads(4, 200, (b"content-type", b"text/plain"))
    assert texts == ["drop c4: unreadable", "1: ends with doubt: unreadable @1"]
    assert driven.wait(1_000.0) == []


def test_the_rest_of_an_answered_handshake_is_not_waited_for_for_ever() -> None:
    driven = Driven(ENDPOINT, QUIET)
    driven.opens()
    driven.heads(1, 200, EVENTS, SESSION)
    assert driven.streams(1, Response(f"{INSTANCE}-link.1", HELLO)) == ["c2 <- POST initialized in session-1"]
    assert driven.heads(2, 200, EVENTS) == IN_SESSION
    assert driven.streams(1, Notification("notifications/message", {})) == [], "it belongs to no call"
    assert driven.wait(QUIET.reply_timeout) == ["drop c1: silent", "drop c2: silent"]
    assert driven.wait(1_000.0) == []


@pytest.mark.parametrize("ended", [False, True])
def test_the_rest_of_an_acceptance_is_not_waited_for_for_ever(ended: bool) -> None:
    driven = in_session()
    driven.notify()
    assert driven.heads(3, 200, EVENTS) == []
    assert driven.heads(3, 200, EVENTS) == [], "a second head says nothing"
    assert driven.streams(3, Notification("notifications/message", {})) == []
    assert (driven.cut(3) if ended else driven.wait(QUIET.reply_timeout)) == ([] if ended else ["drop c3: silent"])
    assert driven.wait(1_000.0) == []


@pytest.mark.rule("R21")
def test_an_answer_whose_body_does_not_come_is_asked_for_again_by_the_key() -> None:
    driven = in_session()
    driven.call()
    driven.heads(3, 200, JSON)
    driven.wait(QUIET.reply_timeout - 1.0)
    assert driven.receives(3, b"{") == []
    assert driven.wait(QUIET.reply_timeout - 1.0) == []
    assert driven.wait(1.0) == ["drop c3: silent"]
    assert driven.wait(1.0) == ["1: tries resend", "c4 <- POST call 1 key #2 in session-1"]


def test_a_stock_server_may_take_its_time_for_a_body() -> None:
    driven = in_session(draft=True)
    driven.call()
    driven.heads(3, 200, JSON)
    assert driven.wait(10_000.0) == []


def test_an_answer_without_a_type_is_none_whether_its_body_ends_or_not() -> None:
    driven = in_session(draft=True)
    driven.call()
    driven.heads(3, 200)
    assert driven.receives(3, b"?") == []
    assert driven.wait(QUIET.reply_timeout) == ["drop c3: silent", "1: ends with doubt: connection lost @0"]


def test_h11_an_acceptance_has_no_body_and_is_no_error() -> None:
    driven = in_session()
    assert driven.notify() == ["c3 <- POST notifications/roots/list_changed in session-1"]
    assert driven.accepts(3) == []
    assert driven.ends(3) == []


@pytest.mark.rule("H9", "R24")
def test_an_answer_to_the_server_is_done_with_its_acceptance() -> None:
    driven = followed()
    asked = tagged(Request("q1", "sampling/createMessage", {}), StreamId("s1"), 2)
    assert driven.streams(3, event(asked, "s1_2")) == ["1: asked q1 @2"]
    reply = AnswerAsk(CallId(1), "q1", Response("q1", {}))
    assert driven.tell(reply) == ["c4 <- POST result q1 in session-1"]
    assert driven.accepts(4) == []
    assert driven.wait(100.0) == []


def test_an_answer_that_nobody_accepts_goes_again() -> None:
    driven = followed()
    asked = tagged(Request("q1", "sampling/createMessage", {}), StreamId("s1"), 2)
    driven.streams(3, event(asked, "s1_2"))
    driven.tell(AnswerAsk(CallId(1), "q1", Response("q1", {})))
    assert driven.wait(CONFIG.reply_timeout) == ["drop c4: silent"]
    assert driven.wait(1.0) == ["c5 <- POST result q1 in session-1"]


def test_a_notification_that_nobody_accepts_is_gone() -> None:
    driven = in_session()
    driven.notify()
    assert driven.wait(CONFIG.reply_timeout) == ["drop c3: silent"]
    driven.notify()
    assert driven.cut(4) == []
    driven.notify()
    assert driven.heads(5, 500) == ["drop c5: finished"]
    assert driven.wait(1_000.0) == []


def test_j9_an_event_that_is_too_large_is_not_asked_for_again() -> None:
    driven = in_session(SMALL)
    driven.call()
    driven.heads(3, 200, EVENTS)
    driven.streams(3, event(CREATE, "s1_1"))
    driven.cut(3)
    driven.wait(1.0)
    driven.heads(4, 200, EVENTS)
    texts = driven.receives(4, b"data: " + b"x" * 600)
    assert texts[0].startswith("c4: unreadable: ")
    assert "500 bytes" in texts[0]
    assert texts[1:] == ["1: ends with doubt: unreadable @1", "drop c4: unreadable"]
    assert driven.wait(1_000.0) == []


def test_h6_an_unknown_event_is_reported_and_the_call_still_ends() -> None:
    driven = in_session(draft=True)
    driven.call()
    driven.heads(3, 200, EVENTS)
    error = SSEEvent('{"jsonrpc":"2.0","id":1,"error":{}}', event="error")
    assert driven.streams(3, error) == ["c3: unreadable: an event of unknown type"]
    assert driven.ends(3) == ["1: ends with doubt: connection lost @0"]


# ------------------------------------------------------------------------------------------------------------- refusals


def test_i6_missing_credentials_end_every_call() -> None:
    driven = followed()
    driven.call()
    assert driven.heads(4, 401) == [
        "drop c3: finished",
        "drop c4: finished",
        "1: ends with doubt: client failed @1",
        "2: ends with doubt: client failed @0",
        "failed: unauthorized",
    ]
    assert driven.client.link_state is LinkState.FAILED
    assert driven.wait(1_000.0) == []


def stands(driven: Driven) -> LinkState:
    """Return how the link stands, which each input may change."""
    return driven.client.link_state


def test_i6_so_do_those_of_an_exchange_of_the_session_before_and_no_other_session_is_begun() -> None:
    driven = followed()
    driven.call()
    driven.call()
    assert driven.heads(4, 404) == ["drop c4: finished", "disconnected"]
    assert stands(driven) is LinkState.DOWN
    assert driven.heads(5, 401) == [
        "drop c3: finished",
        "drop c5: finished",
        "1: ends with doubt: client failed @1",
        "2: ends with not run: client failed @0",
        "3: ends with doubt: client failed @0",
        "failed: unauthorized",
    ]
    assert stands(driven) is LinkState.FAILED
    assert driven.wait(1_000.0) == []
    assert driven.call() == ["4: ends with not run: client failed @0"]
    assert driven.closes() == ["closed"]
    assert stands(driven) is LinkState.CLOSED


@pytest.mark.rule("H9")
@pytest.mark.parametrize("answered", [request_id(1), None])
def test_the_body_of_a_refusal_may_say_why(answered: str | None) -> None:
    driven = in_session(draft=True)
    driven.call()
    texts = driven.replies(3, ErrorResponse(answered, -32601, "no such tool"), status=400)
    assert texts == ["1: ends with failure -32601 @1"]


@pytest.mark.parametrize("body", [b"", b"{", b'{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}'])
def test_a_body_that_says_nothing_about_the_request_leaves_the_status_to_speak(body: bytes) -> None:
    driven = in_session(draft=True)
    driven.call()
    driven.heads(3, 400, JSON)
    texts = driven.receives(3, body) + driven.ends(3)
    assert [text for text in texts if text.startswith("1:")] == ["1: ends with not run: refused @0"]


def test_a_refusal_whose_body_does_not_come_is_a_refusal() -> None:
    driven = in_session(draft=True)
    driven.call()
    driven.heads(3, 400, JSON)
    assert driven.wait(CONFIG.reply_timeout) == ["drop c3: silent", "1: ends with not run: refused @0"]
    driven.call()
    driven.heads(4, 400, JSON)
    assert driven.cut(4) == ["2: ends with not run: refused @0"]


def test_a_refusal_whose_body_is_too_large_is_a_refusal() -> None:
    driven = in_session(SMALL, draft=True)
    driven.call()
    driven.heads(3, 400, JSON)
    assert driven.receives(3, b"x" * 501) == ["drop c3: finished", "1: ends with not run: refused @0"]


@pytest.mark.parametrize(
    ("headers", "pause"),
    [([(b"retry-after", b"7")], 7.0), ([(b"retry-after", b"Fri, 31 Dec 1999")], 1.0), ([], 1.0)],
)
def test_a_server_may_say_when_to_come_back(headers: list[tuple[bytes, bytes]], pause: float) -> None:
    driven = in_session()
    driven.call()
    assert driven.heads(3, 429, *headers) == ["drop c3: finished"]
    assert driven.wait(pause - 0.1) == []
    assert driven.wait(0.1) == ["c4 <- POST call 1 key #2 in session-1"]


def test_a_call_that_never_left_goes_out_anew() -> None:
    driven = in_session(draft=True)
    driven.call()
    assert driven.fails_to_connect(3) == []
    assert driven.wait(1.0) == ["c4 <- POST call 1 in session-1"]


# ------------------------------------------------------------------------------------------------------------- sessions


@pytest.mark.rule("R16", "H31")
def test_i2_a_session_that_is_gone_is_renewed_once_and_its_calls_come_back() -> None:
    driven = followed()
    driven.streams(3, said(2))
    driven.take(2)
    driven.cut(3)
    driven.wait(1.0)
    assert driven.heads(4, 404) == ["drop c4: finished", "disconnected"]
    assert driven.wait(1.0) == ["c5 <- POST initialize 2025-11-25"]
    assert driven.meets(5, 2) == ["c6 <- POST initialized in session-2"]
    assert driven.accepts(6) == IN_SESSION
    assert driven.wait(1.0) == ["1: tries resume", "c7 <- POST resume s1 after 2 #3 in session-2"]


def test_an_unkeyed_call_that_meets_the_end_of_its_session_goes_out_anew() -> None:
    driven = in_session(draft=True)
    driven.call()
    driven.replies(3, Response(request_id(1), {}))
    driven.call()
    assert driven.heads(4, 404, JSON) == ["drop c4: finished", "disconnected"]
    assert driven.wait(1.0) == ["c5 <- POST initialize 2025-11-25"]
    driven.meets(5, 2)
    assert driven.accepts(6) == [*IN_SESSION, "c7 <- POST call 2 in session-2"]


def test_i2_a_server_that_forgets_each_session_at_once_is_left() -> None:
    driven = in_session()
    driven.call()
    assert driven.heads(3, 404) == ["drop c3: finished", "disconnected"]
    assert driven.wait(1.0) == ["c4 <- POST initialize 2025-11-25"]
    driven.meets(4, 2)
    assert driven.accepts(5) == [*IN_SESSION, "c6 <- POST call 1 key #2 in session-2"]
    assert driven.heads(6, 404) == [
        "drop c6: finished",
        "1: ends with not run: client failed @0",
        "failed: session lost",
    ]
    assert driven.client.link_state is LinkState.FAILED
    assert driven.wait(1_000.0) == []


def test_an_exchange_of_the_session_before_says_nothing_about_the_new_one() -> None:
    driven = followed()
    driven.call()
    driven.notify()
    assert driven.heads(5, 404) == ["drop c5: finished", "disconnected"]
    driven.wait(1.0)
    driven.meets(6, 2)
    assert driven.accepts(7) == [*IN_SESSION, "c8 <- POST ack s1 1 in session-2"]
    assert driven.heads(4, 404) == ["drop c4: finished"]
    assert driven.client.link_state is LinkState.UP
    assert driven.wait(1.0) == ["c9 <- POST call 2 key #2 in session-2"]
    assert driven.streams(3, said(2)) == ["1: progress 1 @2"], "what is under way ends by itself"


def test_what_the_session_before_still_accepts_proves_nothing_of_the_next_one() -> None:
    driven = followed()
    driven.call()
    driven.notify()
    driven.heads(5, 404)
    assert driven.heads(4, 200, EVENTS) == []
    driven.wait(1.0)
    driven.meets(6, 2)
    driven.accepts(7)
    driven.notify()
    assert driven.heads(8, 404)[-1] == "failed: session lost"


def test_a_server_without_sessions_has_none_that_could_be_gone() -> None:
    driven = Driven(ENDPOINT, hello=DRAFT_HELLO)
    driven.opens()
    driven.replies(1, Response(f"{INSTANCE}-link.1", DRAFT_HELLO))
    driven.accepts(2)
    driven.call()
    assert driven.heads(3, 404) == ["drop c3: finished", "1: ends with not run: refused @0"]
    assert driven.client.link_state is LinkState.UP


def test_i10_a_session_may_go_while_an_event_stream_is_read() -> None:
    driven = followed()
    driven.notify()
    assert driven.heads(4, 404) == ["drop c4: finished", "disconnected"]
    assert driven.streams(3, said(2)) == ["1: progress 1 @2"]
    driven.wait(1.0)
    driven.meets(5, 2)
    assert driven.accepts(6) == [*IN_SESSION, "c7 <- POST ack s1 1 in session-2"]
    driven.take(2)
    assert driven.ends(3) == []
    assert driven.wait(1.0) == ["1: tries resume", "c8 <- POST resume s1 after 2 #2 in session-2"]


# ------------------------------------------------------------------------------------------------- room, signs of life


@pytest.mark.rule("R23")
def test_an_exchange_is_not_read_while_its_application_has_more_than_it_takes() -> None:
    driven = in_session(attrs.evolve(QUIET, max_unread=2))
    driven.call()
    driven.heads(3, 200, EVENTS)
    driven.streams(3, event(CREATE, "s1_1"))
    texts = driven.streams(3, said(2), said(3), said(4))
    assert texts == ["1: progress 1 @2", "1: progress 2 @3", "1: progress 3 @4", "pause c3"]
    assert driven.take(4) == ["read c3"]
    assert driven.streams(3, said(5)) == ["1: progress 4 @5"]


@pytest.mark.rule("R15")
def test_an_event_stream_of_a_server_that_sends_signs_of_life_is_left_without_them() -> None:
    driven = followed(WATCHFUL)
    driven.wait(44.0)
    assert driven.receives(3, b":\n\n") == []
    assert driven.wait(44.0) == []
    assert driven.wait(1.0) == ["drop c3: silent"]
    assert driven.wait(1.0) == ["1: tries resume", "c4 <- POST resume s1 after 1 #2 in session-1 at s1_1"]


def test_one_that_is_not_read_is_not_expected_to_bring_any() -> None:
    driven = in_session(attrs.evolve(WATCHFUL, max_unread=1))
    driven.call()
    driven.heads(3, 200, EVENTS)
    driven.streams(3, event(CREATE, "s1_1"))
    assert driven.streams(3, said(2), said(3))[-1] == "pause c3"
    assert driven.wait(100.0) == []
    assert driven.take(3) == ["read c3"]
    assert "drop c3: silent" in driven.wait(46.0)


def test_a_stock_server_may_be_silent() -> None:
    driven = in_session(WATCHFUL, draft=True)
    driven.call()
    driven.heads(3, 200, EVENTS)
    driven.streams(3, SSEEvent("", id="0"))
    assert driven.wait(10_000.0) == []


def test_signs_of_life_are_nobodys_concern_between_two_sessions() -> None:
    driven = followed(WATCHFUL)
    driven.notify()
    driven.heads(4, 404)
    assert driven.receives(3, b":\n\n") == []


# ------------------------------------------------------------------------------------------------------------- parting


@pytest.mark.rule("R22", "R27", "H32")
@pytest.mark.parametrize("lost", [False, True])
def test_the_session_is_ended_once_the_server_has_heard_of_a_cancellation(lost: bool) -> None:
    driven = followed()
    assert driven.cancel()[-1] == "c4 <- POST cancel s1 in session-1"
    assert driven.closes() == []
    if lost:
        assert driven.cut(4) == ["c5 <- DELETE in session-1"]
    else:
        assert driven.heads(4, 200, JSON) == []
        assert driven.receives(4, b'{"jsonrpc": "2.0", "id": "x", "result": {}}') == []
        assert driven.ends(4) == ["c5 <- DELETE in session-1"]
    assert driven.heads(5, 200) == ["drop c5: finished", "closed"]


@pytest.mark.rule("R27")
def test_what_was_said_last_is_waited_for_but_not_for_ever() -> None:
    driven = in_session()
    driven.notify()
    driven.notify()
    assert driven.closes() == []
    assert driven.accepts(3) == []
    assert driven.accepts(4) == ["c5 <- DELETE in session-1"]
    driven = in_session()
    driven.notify()
    driven.closes()
    assert driven.wait(CONFIG.close_timeout) == ["drop c3: finished", "closed"]
    driven = in_session(attrs.evolve(QUIET, reply_timeout=1.0))
    driven.notify()
    driven.closes()
    assert driven.wait(1.0) == ["drop c3: silent", "c4 <- DELETE in session-1"]


def test_a_session_that_is_over_meanwhile_need_not_be_ended() -> None:
    driven = in_session()
    driven.notify()
    driven.closes()
    assert driven.heads(3, 404) == ["drop c3: finished", "closed"]


@pytest.mark.rule("H32")
@pytest.mark.parametrize("status", [200, 204, 401, 404, 405])
def test_a_session_is_ended_and_whatever_the_server_says_to_that_is_fine(status: int) -> None:
    driven = in_session()
    assert driven.closes() == ["c3 <- DELETE in session-1"]
    assert driven.heads(3, status) == ["drop c3: finished", "closed"]


def test_a_server_that_says_nothing_to_it_is_not_waited_for() -> None:
    driven = in_session()
    driven.closes()
    assert driven.wait(CONFIG.close_timeout) == ["drop c3: finished", "closed"]
    driven = in_session()
    driven.closes()
    assert driven.cut(3) == ["closed"]


def test_a_client_may_be_closed_in_the_middle_of_its_handshake() -> None:
    driven = Driven(ENDPOINT)
    driven.opens()
    assert driven.closes() == ["drop c1: finished", "closed"]


def test_while_a_session_is_being_ended_nothing_else_matters() -> None:
    driven = followed()
    driven.streams(3, said(2))
    driven.notify()
    assert driven.closes() == [
        "1: ends with doubt: client closed @2",
        "drop c3: finished",
        "c5 <- POST ack s1 1 in session-1",
    ]
    driven.accepts(5)
    assert driven.heads(4, 401) == ["drop c4: finished", "closed"]


@pytest.mark.rule("Q11b")
def test_no_secret_shows_itself() -> None:
    driven = followed()
    effects = driven.effects()
    assert "session-1" not in shown([*effects, driven.client._front, driven.client._front.snapshot(0.0)])
    assert "Bearer" not in shown([driven.client._front, driven.requests])
