"""Cursors that were lost, kept too long, or not believed (group C: what a client does with them)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.framing.sse import SSEEvent
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse
from mcpstreams_sansio.wire.refusals import Reason, refusal
from tests.cases.clients import CALL, announced, attempts, in_session, message, primed
from tests.sansio.client.conversation import Conversation
from tests.sansio.client.driving import EVENTS


@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        (Reason.STREAM_NOT_FOUND, "loss: stream_not_found"),
        (Reason.EVENTS_GONE, "loss: events_gone"),
        (Reason.INVALID_CURSOR, "loss: invalid_cursor"),
    ],
)
def test_c1_each_refusal_of_a_cursor_has_its_own_outcome(reason: Reason, ending: str) -> None:
    driven = primed()
    driven.cut(CALL)
    assert driven.wait(1.0)[-1] == "c4 <- GET in session-1 at 0"
    gone = {"first_available": 4, "lost": 3} if reason is Reason.EVENTS_GONE else {}
    texts = driven.replies(4, refusal(None, reason, **gone), status=400)
    assert f"1: ends with {ending} @0" in texts
    assert driven.wait(1_000.0) == []


@pytest.mark.rule("R10")
def test_c1_evicted_messages_are_counted_for_the_application() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.creates()
    talk.link_down()
    talk.link_up()
    talk.wait(1.0)
    assert talk.rejects("1.1", Reason.EVENTS_GONE, first_available=8, lost=6) == ["1: gap of 6 @7"]


@pytest.mark.rule("R16")
def test_c5_a_new_session_is_not_asked_for_the_cursor_of_the_old_one() -> None:
    driven = announced()
    driven.cut(CALL)
    assert driven.wait(1.0)[-1] == "c4 <- POST resume s1 after 1 #2 in session-1 at s1_1"
    driven.heads(4, 404)
    driven.wait(1.0)
    driven.meets(5, 2)
    texts = driven.accepts(6) + driven.wait(1.0)
    assert texts[-1] == "c7 <- POST resume s1 after 1 #3 in session-2", "by token, with the position in the body"


def test_c7_a_cursor_that_was_taken_back_is_not_presented_and_the_caller_is_told() -> None:
    driven = in_session(stock=True)
    driven.call()
    driven.heads(CALL, 200, EVENTS)
    note = b'{"jsonrpc":"2.0","method":"notifications/message"}'
    driven.receives(CALL, b"id: 5\ndata: " + note + b"\n\nid\ndata: " + note + b"\n\n")
    driven.take(2)
    assert driven.cut(CALL) == ["1: ends with doubt: connection lost @2"]


@pytest.mark.parametrize("cursor", ["s1_3", "é_1", "a b", "0", "_GET_stream", "%41"])
def test_c8_the_cursor_comes_back_byte_for_byte(cursor: str) -> None:
    driven = in_session(stock=True)
    driven.call()
    driven.heads(CALL, 200, EVENTS)
    driven.streams(CALL, SSEEvent("", id=cursor))
    driven.cut(CALL)
    assert attempts(driven.wait(1.0)) == [f"GET in session-1 at {cursor}"]
    assert dict(driven.requests[4].headers)[b"last-event-id"] == cursor.encode()


def test_c8_after_every_event_with_an_id_the_next_request_carries_it() -> None:
    driven = primed()
    path = CALL
    for number in range(1, 6):
        driven.streams(path, message(number))
        driven.take(number)
        driven.cut(path)
        path += 1
        assert attempts(driven.wait(1.0)) == [f"GET in session-1 at {number}"]
        driven.heads(path, 200, EVENTS)


def test_c4_an_unknown_error_in_answer_to_a_cursor_is_not_taken_for_the_calls_own() -> None:
    driven = primed()
    driven.cut(CALL)
    driven.wait(1.0)
    texts = driven.replies(4, ErrorResponse(None, -32000, "what epoch is that?"), status=400)
    assert texts == ["1: ends with doubt: refused @0"]
