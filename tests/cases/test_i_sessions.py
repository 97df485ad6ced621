"""Sessions that were dead, renewed for ever, or mistaken for something else (group I: the client's side)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.client.link import LinkState
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse
from tests.cases.clients import CALL, announced, in_session
from tests.sansio.client.conversation import CONFIG
from tests.sansio.client.driving import ENDPOINT, EVENTS, Driven


@pytest.mark.rule("H31", "R16")
def test_i2_one_404_leads_to_one_new_session() -> None:
    driven = announced()
    driven.cut(CALL)
    driven.wait(1.0)
    driven.heads(4, 404)
    assert driven.wait(1.0) == ["c5 <- POST initialize 2025-11-25"]
    assert b"mcp-session-id" not in dict(driven.requests[5].headers)
    driven.meets(5, 2)
    driven.accepts(6)
    driven.wait(1.0)
    assert driven.heads(7, 404)[-1] == "failed: session lost"
    assert driven.wait(1_000.0) == []


@pytest.mark.parametrize("wording", ["Session not found", "session terminated", "", "Bad Request: no valid session id"])
@pytest.mark.parametrize(("status", "lost"), [(404, True), (400, False)])
def test_i5_the_status_decides_whatever_it_says(wording: str, status: int, lost: bool) -> None:
    driven = announced()
    driven.cut(CALL)
    driven.wait(1.0)
    texts = driven.replies(4, ErrorResponse(None, -32001, wording), status=status)
    assert ("disconnected" in texts) == lost


def test_i6_401_while_a_session_is_renewed_is_an_error_and_no_burst() -> None:
    driven = announced()
    driven.cut(CALL)
    driven.wait(1.0)
    driven.heads(4, 404)
    driven.wait(1.0)
    assert driven.heads(5, 401) == [
        "drop c5: finished",
        "1: ends with doubt: client failed @1",
        "failed: unauthorized",
    ]
    assert driven.client.link_state is LinkState.FAILED
    assert driven.wait(1_000.0) == []


def test_i10_a_session_that_goes_while_a_stream_is_read_can_be_renewed() -> None:
    driven = announced()
    driven.call()
    driven.heads(4, 404)
    driven.wait(1.0)
    driven.meets(5, 2)
    texts = driven.accepts(6) + driven.wait(1.0)
    assert texts[-2:] == ["c7 <- POST call 2 key #2 in session-2", "c8 <- POST ack s1 1 in session-2"]
    assert driven.ends(CALL) == []
    assert driven.wait(1.0)[-1] == "c9 <- POST resume s1 after 1 #2 in session-2"


def test_i8_a_failed_handshake_leaves_no_session_behind() -> None:
    driven = Driven(ENDPOINT)
    driven.opens()
    assert driven.heads(1, 400)[-1] == "failed: handshake refused"
    assert driven.closes() == ["closed"], "there is none that could be deleted"


def test_i2_a_session_that_served_once_may_be_renewed_again_and_again() -> None:
    driven = in_session()
    path, handshake = CALL, 1
    for _ in range(5):
        driven.call()
        driven.heads(path, 200, EVENTS)
        driven.notify()
        assert driven.heads(path + 1, 404)[-1] == "disconnected"
        driven.wait(CONFIG.retry_ceiling)
        handshake += 1
        driven.meets(path + 2, handshake)
        assert driven.accepts(path + 3)[0] == "connected to server"
        path = max(driven.requests) + 1
