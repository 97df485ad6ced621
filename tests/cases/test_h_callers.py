"""Callers that were left hanging or misled (group H: the client's side)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.framing.sse import SSEEvent
from mcpstreams_sansio.wire.jsonrpc import Request, encode_message
from tests.cases.clients import CALL, QUIET, RESULT, announced, attempts, in_session, message
from tests.sansio.client.driving import EVENTS, JSON, Driven, event


@pytest.mark.parametrize("headers", [(), (EVENTS,), (JSON,)])
def test_h1_an_answer_that_is_empty_is_an_error_in_the_same_step(headers: tuple[tuple[bytes, bytes], ...]) -> None:
    driven = in_session(stock=True)
    driven.call()
    driven.heads(CALL, 200, *headers)
    assert driven.ends(CALL) == ["1: ends with doubt: connection lost @0"]


def test_h2_of_three_calls_none_is_pending_when_the_budget_is_over() -> None:
    driven = Driven(config=QUIET)
    driven.is_up()
    for _ in range(3):
        driven.call()
    texts = driven.cut(1) + driven.wait(2 * QUIET.patience)
    assert sorted(text for text in texts if "ends with" in text) == [
        f"{number}: ends with doubt: out of budget @0" for number in (1, 2, 3)
    ]
    assert not driven.client._streams.needs_link


@pytest.mark.rule("R21")
def test_h4_a_call_that_was_sent_is_not_posted_again_by_itself() -> None:
    driven = in_session(stock=True)
    driven.call()
    texts = driven.cut(CALL) + driven.wait(1_000.0)
    assert texts == ["1: ends with doubt: connection lost @0"]
    assert attempts(texts, "POST") == []


def test_h6_an_event_of_unknown_type_is_reported_and_the_call_still_ends() -> None:
    driven = in_session(stock=True)
    driven.call()
    driven.heads(CALL, 200, EVENTS)
    frame = SSEEvent(encode_message(RESULT).decode(), event="error")
    assert driven.streams(CALL, frame) == [f"c{CALL}: unreadable: an event of unknown type"]
    assert driven.ends(CALL) == ["1: ends with doubt: connection lost @0"]


def test_h8_every_event_of_an_answer_counts() -> None:
    driven = in_session(stock=True)
    driven.call()
    driven.heads(CALL, 200, EVENTS)
    assert driven.streams(CALL, message(1), message(2), event(RESULT, "3")) == [
        "1: progress 1 @1",
        "1: progress 2 @2",
        "1: ends with result @3",
    ]


@pytest.mark.rule("R24")
def test_h10_a_request_of_the_server_always_reaches_somebody_who_answers() -> None:
    driven = announced()
    assert driven.streams(CALL, event(Request(9, "ping"), "x")) == ["c4 <- POST result 9 in session-1"]
    assert driven.streams(CALL, event(Request(10, "what/ever"), "y")) == ["None: asked 10 @0"]


@pytest.mark.rule("H9")
def test_h11_202_is_success() -> None:
    driven = in_session()
    driven.notify()
    assert driven.accepts(CALL) + driven.wait(100.0) == []
