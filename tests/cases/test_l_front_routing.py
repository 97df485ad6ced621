"""Answers that crossed, since ids of requests are not names (group L)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.server.effects import AskAnswered, AskFailed, AskFailure
from mcpstreams_sansio.server.inputs import AskPeer
from mcpstreams_sansio.wire.jsonrpc import Request, Response
from mcpstreams_sansio.wire.refusals import Reason
from tests.sansio.serving import STREAMS, Serving

CALL = Request(1, "tools/call", {"name": "work"})
ELICITING = {**STREAMS, "elicitation": {}}


@pytest.mark.rule("H34")
def test_l1_equal_ids_of_two_clients_are_two_requests() -> None:
    one = Serving()
    exchanges = [one.post(CALL, one.begin({})) for _ in range(2)]
    lines = [one.greet({}, framing=framing) for framing in (Framing.LINES, Framing.LINES, Framing.MESSAGES)]
    for seen in lines:
        one.send(seen, CALL)
    for number, call in reversed(list(enumerate(one.calls))):
        one.respond(call, {"number": number})
    answers = [seen.answer for seen in (*exchanges, *lines)]
    assert answers == [Response(1, {"number": number}) for number in range(5)]


@pytest.mark.parametrize("framing", Framing)
def test_l2_a_second_request_under_an_id_in_flight_is_refused_and_the_first_is_not_touched(framing: Framing) -> None:
    one = Serving()
    if framing is Framing.HTTP:
        session = one.begin({})
        first, second = one.post(CALL, session), one.post(Request(1, "tools/call", {"name": "other"}), session)
        assert second.reason == Reason.ID_IN_USE.value
    else:
        first = second = one.greet({}, framing=framing)
        one.send(first, CALL, Request(1, "tools/call", {"name": "other"}))
        assert second.reason == Reason.ID_IN_USE.value
        first.take()
    one.respond(one.call, {"name": "work"})
    assert first.answer == Response(1, {"name": "work"})


@pytest.mark.rule("W6")
def test_l2_a_number_and_its_digits_are_two_ids() -> None:
    one = Serving()
    lines = one.greet({})
    one.send(lines, CALL, Request("1", "tools/call"))
    number, text = one.calls
    one.respond(text)
    one.respond(number)
    answers = lines.take()
    assert [type(answer.id) for answer in answers if isinstance(answer, Response)] == [str, int]
    one.send(lines, b'{"jsonrpc":"2.0","id":1.0,"method":"tools/call"}')
    assert lines.refusal.id is None, "1.0 is no id at all"


def test_l2_an_id_is_free_again_once_its_request_is_answered() -> None:
    one = Serving()
    lines = one.greet({})
    for number in range(3):
        one.send(lines, CALL)
        one.respond(one.calls[-1], {"number": number})
    assert lines.messages == [Response(1, {"number": number}) for number in range(3)]


@pytest.mark.rule("P12", "H21")
def test_l4_what_a_call_has_to_say_goes_where_the_call_is_answered() -> None:
    one = Serving()
    session = one.begin(ELICITING)
    exchange, other = one.post(CALL, session), one.post(Request(2, "tools/call"), session)
    one.notify(one.calls[0].stream_id, 1)
    one.submit(AskPeer(one.calls[0].stream_id, "ask-1", "elicitation/create", {}))
    assert exchange.told[1:] == ["notifications/progress", "elicitation/create"]
    assert other.told == ["notifications/stream/create"]
    one.post(Response("ask-1", {"action": "accept"}), session)
    assert [answer.stream_id for answer in one.heard(AskAnswered)] == [one.calls[0].stream_id]


@pytest.mark.rule("R24")
def test_l4_a_question_that_nobody_can_be_asked_fails_at_once() -> None:
    one = Serving()
    session = one.begin(ELICITING)
    one.post(CALL, session, (b"accept", b"application/json"))
    one.submit(AskPeer(one.call.stream_id, "ask-1", "elicitation/create", {}))
    assert one.heard(AskFailed) == [AskFailed(one.call.stream_id, "ask-1", AskFailure.UNSUPPORTED)]
