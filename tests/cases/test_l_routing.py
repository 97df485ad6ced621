"""Answers that reached somebody else (group L: the client's side)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.wire.jsonrpc import Response
from tests.cases.clients import in_session
from tests.sansio.client.conversation import request_id
from tests.sansio.client.driving import Driven


@pytest.mark.rule("Q3b", "W6")
def test_l1_answers_in_reverse_order_reach_their_own_callers() -> None:
    driven = in_session(stock=True)
    driven.call()
    driven.call()
    assert driven.replies(4, Response(request_id(2), {})) == ["2: ends with result @1"]
    assert driven.replies(3, Response(request_id(1), {})) == ["1: ends with result @1"]


@pytest.mark.rule("Q3c")
def test_l2_no_two_clients_and_no_two_calls_share_an_id() -> None:
    driven = Driven()
    driven.is_up()
    sent = [text for _ in range(3) for text in driven.call()]
    assert sent == [f"c1 <- call {number} key #1" for number in (1, 2, 3)]


@pytest.mark.rule("W6")
def test_l2_an_id_of_another_type_is_another_id() -> None:
    driven = Driven()
    driven.is_up()
    driven.call()
    assert driven.hears(Response(1, {})) == ["c1: stray result 1"]
