"""Connections that break before anything of use has come (group D: what a client can still do)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.framing.sse import SSEEvent
from tests.cases.clients import CALL, RESULT, announced, attempts, in_session, primed
from tests.sansio.client.driving import EVENTS, event


@pytest.mark.rule("R20", "H14")
@pytest.mark.parametrize("data_line", [b"data:\n", b"data: \n", b"data\n", b""])
@pytest.mark.parametrize("again", [False, True], ids=["POST", "GET"])
def test_d1_priming_is_a_cursor_and_no_error_on_post_and_get(data_line: bytes, again: bool) -> None:
    driven = primed()
    path = CALL
    if again:
        driven.cut(path)
        driven.wait(1.0)
        path = 4
        driven.heads(path, 200, EVENTS)
    answer = b'data: {"jsonrpc":"2.0","id":"instance-1","result":{}}\n\n'
    assert driven.receives(path, b"id: 1\nretry: 3000\n" + data_line + b"\n") == []
    assert driven.receives(path, answer) == ["1: ends with result @1"]


@pytest.mark.rule("H13", "H24")
def test_d3_a_cut_before_any_message_is_no_loss() -> None:
    driven = primed()
    assert driven.cut(CALL) == []
    assert attempts(driven.wait(1.0)) == ["GET in session-1 at 0"]
    driven.heads(4, 200, EVENTS)
    assert driven.streams(4, event(RESULT, "1")) == ["1: ends with result @1"]


@pytest.mark.rule("R21")
def test_d4_a_cut_after_the_head_is_no_loss_with_a_key_and_known_at_once_without() -> None:
    driven = in_session()
    driven.call()
    driven.heads(CALL, 200, EVENTS)
    assert driven.cut(CALL) == []
    assert driven.wait(1.0) == ["1: tries resend", "c4 <- POST call 1 key #2 in session-1"]
    driven = in_session(stock=True)
    driven.call()
    driven.heads(CALL, 200, EVENTS)
    assert driven.cut(CALL) == ["1: ends with doubt: connection lost @0"]


@pytest.mark.rule("P7", "P15")
def test_d4_a_cut_after_create_is_no_loss_with_the_draft_alone() -> None:
    driven = announced()
    driven.cut(CALL)
    assert driven.wait(1.0)[-1] == "c4 <- POST resume s1 after 1 #2 in session-1 at s1_1"


def test_d1_an_empty_event_in_the_middle_of_a_stream_moves_the_cursor_only() -> None:
    driven = announced()
    assert driven.streams(CALL, SSEEvent("", id="s1_1b")) == []
    driven.cut(CALL)
    assert driven.wait(1.0)[-1].endswith("at s1_1b")
