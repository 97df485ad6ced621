"""One side that waited for the other while the other waited for it (group K: whole machines)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.client.inputs import AnswerAsk
from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.ids import CallId, StreamId
from mcpstreams_sansio.wire.jsonrpc import Request, Response
from mcpstreams_sansio.wire.tags import tagged
from tests.cases.clients import CALL, RESULT, announced
from tests.sansio.client.driving import Driven, event
from tests.sansio.serving import STREAMS, Serving

ASK = Request("q1", "sampling/createMessage", {"messages": []})


@pytest.mark.rule("Q4c")
def test_k3_a_question_within_a_call_is_answered_while_the_call_is_open() -> None:
    driven = announced()
    assert driven.streams(CALL, event(tagged(ASK, StreamId("s1"), 2), "s1_2")) == ["1: asked q1 @2"]
    answer = AnswerAsk(CallId(1), "q1", Response("q1", {"role": "assistant"}))
    assert driven.tell(answer) == [f"c{CALL + 1} <- POST result q1 in session-1"]
    assert driven.accepts(CALL + 1) == []
    assert driven.streams(CALL, event(tagged(RESULT, StreamId("s1"), 3), "s1_3")) == ["1: ends with result @3"]


@pytest.mark.parametrize("framing", [Framing.LINES, Framing.MESSAGES])
def test_k4_a_ping_is_answered_while_the_work_on_a_call_goes_on(framing: Framing) -> None:
    one = Serving()
    seen = one.greet(STREAMS, framing=framing)
    one.send(seen, Request(1, "tools/call"))
    seen.take()
    one.send(seen, Request("p", "ping"))
    assert seen.take() == [Response("p", {})]


def test_k5_a_call_that_is_made_before_there_is_a_connection_is_sent_on_it() -> None:
    driven = Driven()
    assert driven.call() == ["open c1"]
    assert driven.connects(1) == ["c1 <- initialize 2025-11-25"]
    assert driven.greets() == ["connected to server", "c1 <- initialized", "c1 <- call 1 key #1"]
