"""Calls that lived on, or made trouble, after they were cancelled (group M: the client's side)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.ids import StreamId
from mcpstreams_sansio.wire.jsonrpc import Response
from mcpstreams_sansio.wire.tags import tagged
from tests.cases.clients import CALL, announced
from tests.sansio.client.conversation import request_id
from tests.sansio.client.driving import DRAFT_HELLO, Driven


@pytest.mark.rule("R22")
def test_m1_a_cancelled_call_keeps_nothing_open() -> None:
    driven = announced()
    assert driven.cancel() == [
        "1: ends with cancelled @1",
        "drop c3: finished",
        "1: tries cancel",
        "c4 <- POST cancel s1 in session-1",
    ]
    assert driven.heads(4, 200) == ["drop c4: finished"]
    ledger = driven.client._streams._ledger
    assert (len(ledger.calls), len(ledger.exchanges), len(ledger.requests)) == (0, 0, 0)
    assert (len(ledger.streams), len(ledger.errands), len(ledger.tokens)) == (0, 0, 0)
    assert driven.client.next_deadline() is None


@pytest.mark.rule("Q9c")
def test_m2_a_late_answer_to_a_cancelled_call_is_ignored() -> None:
    driven = Driven(hello=DRAFT_HELLO)
    driven.is_up()
    driven.call()
    assert driven.cancel() == ["1: ends with cancelled @0", "1: tries cancel", "c1 <- cancelled 1"]
    assert driven.hears(Response(request_id(1), {})) == []
    assert driven.cut(1) == ["disconnected"]


@pytest.mark.rule("R22", "P25")
def test_m8_a_cancelled_call_leads_to_nothing_but_its_cancellation() -> None:
    driven = announced()
    driven.cancel()
    late = tagged(Response(request_id(1), {}), StreamId("s1"), 2)
    assert driven.streams(CALL, late) == []
    assert driven.cut(4) == []
    texts = driven.wait(1_000.0)
    assert [text for text in texts if "<-" in text] == ["c5 <- POST cancel s1 in session-1"]
    assert [text for text in texts if text.startswith("1:")] == ["1: tries cancel"]
