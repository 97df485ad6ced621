"""How many answers are on their way at a time: a server that asks without end opens no connections without end."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client.inputs import AnswerAsk, GivenUp, LinkGivenUp
from mcpstreams_sansio.ids import CallId
from mcpstreams_sansio.wire.jsonrpc import Request, Response
from tests.sansio.client.conversation import ASK, CONFIG, Conversation

NARROW = attrs.evolve(CONFIG, max_answering=2, max_replies=3, max_asks=4)


def asked(*, questions: int = 0, http: bool = True) -> Conversation:
    """Return a conversation over exchanges, the first of which delivers a call with so many open questions."""
    talk = Conversation(http=http, config=NARROW)
    talk.link_up()
    talk.call()
    talk.creates(1)
    for number in range(1, questions + 1):
        talk.asks(number + 1, f"q{number}", path=1)
    return talk


def pings(talk: Conversation, *numbers: int) -> list[str]:
    """The server asks whether anybody is there."""
    return [text for number in numbers for text in talk.says(Request(number, "ping"), path=1)]


@pytest.mark.rule("R24")
def test_no_more_exchanges_carry_answers_than_may() -> None:
    talk = asked()
    assert pings(talk, 11, 12, 13, 14) == ["c2 <- result 11", "c3 <- result 12"]
    assert talk.accepts(3) == ["c4 <- result 13"], "whichever is over makes room for the next"
    assert talk.cut(2) == ["c5 <- result 14"], "a lost reply to a ping is not missed"
    assert talk.accepts(4) == []


def test_what_can_not_wait_either_is_dropped_and_told() -> None:
    talk = asked()
    pings(talk, 11, 12, 13, 14, 15)
    assert pings(talk, 16) == ["drops the reply to 16"]
    assert talk.accepts(2) == ["c4 <- result 13"]
    assert pings(talk, 18) == [], "there is room again"


def test_a_question_for_which_there_is_no_room_takes_no_more_room_than_a_ping() -> None:
    talk = asked(questions=4)
    pings(talk, 11, 12, 13, 14, 15)
    assert talk.asks(6, "q5", path=1) == ["drops the reply to q5"]


def test_on_a_shared_connection_answers_wait_only_for_their_turn() -> None:
    talk = asked(http=False)
    assert pings(talk, *range(11, 20)) == [f"c1 <- result {number}" for number in range(11, 20)]


@pytest.mark.rule("R24")
def test_the_answer_of_a_call_waits_and_goes_before_replies_to_pings() -> None:
    talk = asked(questions=3)
    pings(talk, 11, 12, 13)
    assert talk.answer("q1") == []
    assert talk.answer("q2") == []
    assert talk.accepts(2) == ["c4 <- result q1"]
    assert talk.accepts(4) == ["c5 <- result q2"]
    assert talk.accepts(5) == ["c6 <- result 13"]
    assert talk.answer("q3") == []
    assert talk.accepts(3) == ["c7 <- result q3"]


@pytest.mark.rule("R24")
def test_an_answer_that_waits_and_is_asked_for_again_goes_once() -> None:
    talk = asked(questions=1)
    pings(talk, 11, 12)
    talk.answer("q1")
    assert talk.asks(2, "q1", path=1) == ["1: drops @2"]
    assert talk.accepts(2) == ["c4 <- result q1"]
    assert talk.accepts(3) == []


@pytest.mark.rule("R24")
def test_what_waits_is_forgotten_with_its_question_and_with_its_call() -> None:
    talk = asked(questions=2)
    pings(talk, 11, 12)
    talk.answer("q1")
    talk.answer("q2")
    talk.withdraws(4, "q1", path=1)
    assert talk.accepts(2) == ["c4 <- result q2"]
    talk.asks(5, "q3", path=1)
    talk.answer("q3")
    talk.cancel()
    assert talk.accepts(3) == []


@pytest.mark.rule("R24")
def test_what_waits_is_forgotten_with_a_call_that_is_let_go() -> None:
    talk = asked(questions=1)
    pings(talk, 11, 12, 13)
    talk.answer("q1")
    talk.detach()
    assert talk.accepts(2) == ["c4 <- result 13"]


def test_so_it_is_where_its_question_was_withdrawn_and_forgotten_before() -> None:
    talk = asked(questions=4)
    pings(talk, 11, 12, 13)
    talk.answer("q1")
    talk.withdraws(6, "q1", path=1)
    assert talk.asks(7, "q5", path=1) == ["1: asked q5 @7"], "in the place of q1"
    talk.detach()
    assert talk.accepts(2) == ["c4 <- result 13"]


def test_an_answer_that_waits_when_its_call_is_answered_is_dropped() -> None:
    talk = asked(questions=1)
    pings(talk, 11, 12)
    talk.answer("q1")
    talk.responds(3, path=1)
    assert talk.accepts(2) == []


def test_an_answer_that_waits_makes_room_for_a_new_question_only_when_it_has_gone() -> None:
    talk = asked(questions=4)
    pings(talk, 11, 12)
    talk.answer("q1")
    assert talk.asks(6, "q5", path=1) == [], "a question is not forgotten while its answer waits"
    assert talk.accepts(2) == ["c4 <- result q1"]
    assert talk.asks(7, "q6", path=1) == ["1: asked q6 @7"]


@pytest.mark.rule("R16", "R24")
def test_with_the_session_go_the_replies_and_the_answers_of_calls_go_in_the_next() -> None:
    talk = asked(questions=1)
    pings(talk, 11, 12, 13)
    talk.answer("q1")
    assert talk.link_down() == []
    assert talk.link_up() == ["c4 <- ack s1 2"]
    assert talk.accepts(2) == ["c5 <- result q1"]
    assert talk.accepts(3) == []


def test_an_application_may_answer_more_than_can_go_at_once() -> None:
    talk = asked()
    for number in range(1, 5):
        talk.says(Request(f"q{number}", ASK), path=1)
    said = [text for number in range(1, 5) for text in talk.answer(f"q{number}", None)]
    assert said == ["c2 <- result q1", "c3 <- result q2"]
    assert talk.accepts(2) == ["c4 <- result q3"]


def test_nothing_is_left_when_no_server_will_be_reached_any_more() -> None:
    talk = asked(questions=1)
    pings(talk, 11, 12, 13)
    talk.tell(AnswerAsk(CallId(1), "q1", Response("q1", {})))
    talk.tell(LinkGivenUp(GivenUp.CLOSED))
    ledger = talk.streams._ledger
    assert (ledger.answering, ledger.held, list(ledger.replies)) == (set(), {}, [])
