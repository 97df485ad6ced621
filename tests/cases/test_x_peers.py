"""Faults found by reading other clients (group X)."""

from __future__ import annotations

import attrs

from mcpstreams_sansio.client.policy import back_off
from mcpstreams_sansio.framing.sse import SSEEvent
from tests.cases.clients import CALL, QUIET, RESULT, attempts, message, primed
from tests.sansio.client.conversation import CONFIG
from tests.sansio.client.driving import EVENTS, event


def test_x1_a_resumed_stream_that_breaks_is_resumed_from_the_last_event_it_brought() -> None:
    driven = primed()
    driven.streams(CALL, message(1), message(2))
    driven.take(2)
    driven.cut(CALL)
    assert attempts(driven.wait(1.0)) == ["GET in session-1 at 2"]
    driven.heads(4, 200, EVENTS)
    driven.streams(4, message(3), message(4))
    driven.take(4)
    driven.cut(4)
    assert attempts(driven.wait(1.0)) == ["GET in session-1 at 4"]


def test_x2_empty_connections_in_a_row_forget_no_cursor_and_lose_no_call() -> None:
    driven = primed()
    texts = driven.cut(CALL) + driven.wait(1.0)
    for path in (4, 5, 6):
        driven.heads(path, 200, EVENTS)
        texts += driven.ends(path) + driven.wait(CONFIG.retry_ceiling)
    assert attempts(texts) == ["GET in session-1 at 0"] * 4
    driven.heads(7, 200, EVENTS)
    assert driven.streams(7, event(RESULT, "1")) == ["1: ends with result @1"]


def test_x5_ten_thousand_failures_are_the_longest_pause_and_no_overflow() -> None:
    for tries in (32, 64, 10_000):
        assert back_off(CONFIG, tries) == CONFIG.retry_ceiling


def test_x9_an_answer_on_a_resumed_connection_ends_its_own_call_and_no_other_stream() -> None:
    driven = primed(attrs.evolve(QUIET))
    driven.call()
    driven.heads(4, 200, EVENTS)
    driven.streams(4, SSEEvent("", id="other_0"))
    driven.cut(CALL)
    driven.wait(1.0)
    driven.heads(5, 200, EVENTS)
    driven.streams(5, event(RESULT, "1"))
    driven.cut(4)
    assert attempts(driven.wait(1.0)) == ["GET in session-1 at other_0"]
