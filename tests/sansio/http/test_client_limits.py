"""How many exchanges a client has at a time, whatever its server and its application do (rules R24, R25)."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.wire.jsonrpc import Request
from tests.sansio.client.conversation import CONFIG
from tests.sansio.client.driving import ENDPOINT, EVENTS, Driven

QUIET = attrs.evolve(CONFIG, keepalive=None)


def in_session(config: ClientConfig) -> Driven:
    """Return a client over HTTP whose session has begun."""
    driven = Driven(ENDPOINT, config)
    assert driven.is_in_session() == ["connected to server"]
    return driven


@pytest.mark.rule("R25")
def test_no_more_exchanges_carry_notifications_than_may_and_the_next_one_waits() -> None:
    driven = in_session(attrs.evolve(QUIET, max_notifying=2, max_notices=2))
    said = [text for number in range(1, 6) for text in driven.notify(f"n{number}")]
    assert said == ["c3 <- POST n1 in session-1", "c4 <- POST n2 in session-1", "never sent n3"]
    assert driven.heads(4, 202) == ["c5 <- POST n4 in session-1"]
    assert driven.cut(3) == ["c6 <- POST n5 in session-1"]
    assert driven.accepts(5) == []


def test_notifications_that_wait_go_with_the_next_session() -> None:
    driven = in_session(attrs.evolve(QUIET, max_notifying=1))
    driven.notify("n1")
    driven.notify("n2")
    assert driven.heads(3, 404) == ["drop c3: finished", "disconnected"]
    assert driven.wait(1.0) == ["c4 <- POST initialize 2025-11-25"]
    assert driven.meets(4, 2) == ["c5 <- POST initialized in session-2"]
    assert driven.accepts(5) == ["connected to server", "c6 <- POST n2 in session-2"]


def test_of_exchanges_that_have_done_their_work_the_oldest_is_broken_off_when_there_are_too_many() -> None:
    driven = in_session(attrs.evolve(QUIET, max_ending=2))
    for _ in range(3):
        driven.notify()
    assert driven.heads(3, 202) == []
    assert driven.heads(5, 202) == []
    assert driven.heads(4, 202) == ["drop c3: finished"], "a server that accepts and does not end"
    assert driven.ends(5) == []
    assert driven.ends(3) == []


@pytest.mark.rule("R24")
def test_a_flood_of_pings_opens_no_flood_of_exchanges() -> None:
    driven = in_session(attrs.evolve(QUIET, max_answering=3, max_replies=5, max_ending=2))
    driven.call()
    driven.heads(3, 200, EVENTS)
    said = driven.streams(3, *(Request(number, "ping") for number in range(1, 100)))
    assert said[:3] == [f"c{number + 3} <- POST result {number} in session-1" for number in (1, 2, 3)]
    assert said[3:] == [f"drops the reply to {number}" for number in range(9, 100)]
    assert driven.heads(4, 202) == ["c7 <- POST result 4 in session-1"]
    assert driven.heads(5, 202) == ["c8 <- POST result 5 in session-1"]
    assert driven.heads(6, 202) == ["drop c4: finished", "c9 <- POST result 6 in session-1"]
