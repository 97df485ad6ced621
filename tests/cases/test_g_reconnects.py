"""Clients that came back for ever, too soon, or not at all (group G)."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client.link import LinkState
from mcpstreams_sansio.framing.sse import SSEEvent
from mcpstreams_sansio.wire.jsonrpc import Response
from tests.cases.clients import CALL, QUIET, announced, attempts, in_session, message, primed
from tests.sansio.client.conversation import CONFIG, INSTANCE
from tests.sansio.client.driving import EVENTS, HELLO, Driven


def come_and_go(driven: Driven, path: int, *brought: SSEEvent) -> list[str]:
    """Let the server answer 200, bring what it brings, and close; then wait."""
    driven.heads(path, 200, EVENTS)
    texts = driven.streams(path, SSEEvent("", id="0"), *brought)
    return texts + driven.ends(path) + driven.wait(CONFIG.retry_ceiling)


def test_g1_a_server_that_only_primes_and_closes_is_left_after_the_cap() -> None:
    driven = primed(attrs.evolve(QUIET, max_attempts=7))
    texts = driven.ends(CALL) + driven.wait(CONFIG.retry_ceiling)
    path = CALL + 1
    while path in driven.requests:
        texts += come_and_go(driven, path)
        path += 1
    assert len(attempts(texts)) == 7
    assert texts[-1] == "1: ends with doubt: out of budget @0"


def test_g1_one_real_message_starts_the_count_again() -> None:
    driven = primed(attrs.evolve(QUIET, max_attempts=3))
    texts = driven.ends(CALL) + driven.wait(CONFIG.retry_ceiling)
    for number in range(1, 30):
        texts += come_and_go(driven, CALL + number, message(number))
        driven.take(number)
    assert len(attempts(texts)) == 30


def test_g2_the_same_cursor_is_not_asked_for_without_end() -> None:
    driven = primed(attrs.evolve(QUIET, max_attempts=5))
    texts = driven.ends(CALL) + driven.wait(CONFIG.retry_ceiling)
    path = CALL + 1
    while path in driven.requests:
        driven.heads(path, 200)
        texts += driven.ends(path) + driven.wait(CONFIG.retry_ceiling)
        path += 1
    assert attempts(texts) == ["GET in session-1 at 0"] * 5
    assert driven.client.link_state is LinkState.UP


def test_g3_text_is_no_stream_and_is_not_asked_for_again() -> None:
    driven = primed()
    driven.cut(CALL)
    driven.wait(1.0)
    texts = driven.heads(4, 200, (b"content-type", b"text/plain"))
    assert texts == ["drop c4: unreadable", "1: ends with doubt: unreadable @0"]
    assert driven.wait(11 * 3_600.0) == []


@pytest.mark.rule("Q7g")
def test_g6_no_pause_is_the_floor_and_a_long_one_is_kept_or_given_up_at_once() -> None:
    driven = primed()
    driven.receives(CALL, b"retry: 0\n\n")
    driven.cut(CALL)
    assert driven.wait(CONFIG.retry_floor - 0.01) == []
    assert len(attempts(driven.wait(0.01))) == 1
    driven = primed()
    driven.receives(CALL, b"retry: 200000\n\n")
    assert driven.cut(CALL) == []
    assert driven.wait(199.9) == []
    assert len(attempts(driven.wait(0.1))) == 1
    driven = primed()
    driven.receives(CALL, b"retry: 86400000\n\n")
    assert driven.cut(CALL) == ["1: ends with doubt: out of budget @0"]


def test_g7_an_hour_of_silence_with_a_close_every_five_minutes_is_no_failure() -> None:
    driven = primed()
    path = CALL
    for _ in range(12):
        for _ in range(10):
            driven.wait(30.0)
            assert driven.receives(path, b"event: ping\ndata:\n\n") == []
        assert driven.ends(path) == []
        assert len(attempts(driven.wait(1.0))) == 1
        path += 1
        driven.heads(path, 200, EVENTS)
    assert driven.streams(path, SSEEvent("", id="1")) == []
    assert driven.call() != []


def test_g7_a_get_that_is_not_offered_costs_its_own_call_and_no_other() -> None:
    driven = primed()
    driven.cut(CALL)
    driven.wait(1.0)
    assert driven.heads(4, 405) == ["drop c4: finished", "1: ends with doubt: connection lost @0"]
    assert driven.call() == ["c5 <- POST call 2 in session-1"]


def test_g8_whether_it_gave_up_can_be_seen_and_the_next_call_says_so_at_once() -> None:
    driven = Driven()
    driven.opens()
    driven.connects(1)
    driven.receives(1, b'{"jsonrpc":"2.0","id":"instance-link.1","error":{"code":1,"message":"no"}}\n')
    assert driven.client.link_state is LinkState.FAILED
    assert driven.call() == ["1: ends with not run: client failed @0"]


def test_g10_nothing_goes_out_before_the_session_is_known() -> None:
    driven = Driven(in_session().transport)
    assert driven.call() == ["c1 <- POST initialize 2025-11-25"]
    assert driven.meets(1) == ["c2 <- POST initialized in session-1"]
    assert driven.accepts(2)[-1] == "c3 <- POST call 1 key #1 in session-1"


@pytest.mark.rule("H31")
def test_g11_404_means_the_session_if_there_was_one_and_nothing_but_itself_if_not() -> None:
    driven = announced()
    driven.cut(CALL)
    driven.wait(1.0)
    assert driven.heads(4, 404) == ["drop c4: finished", "disconnected"]
    without = Driven(driven.transport, QUIET, driven.hello)
    without.opens()
    without.replies(1, Response(f"{INSTANCE}-link.1", HELLO))
    without.accepts(2)
    without.call()
    assert without.heads(CALL, 404) == ["drop c3: finished", "1: ends with not run: refused @0"]


@pytest.mark.rule("H17")
def test_g12_an_end_without_an_answer_is_a_reconnect_in_the_same_step() -> None:
    driven = primed()
    assert driven.ends(CALL) == []
    assert driven.client.next_deadline() == driven.now + CONFIG.retry_floor
