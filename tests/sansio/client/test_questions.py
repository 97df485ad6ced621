"""What the server asks: handed over once, answered until the answer has arrived (rule R24)."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client.effects import AskReceived, SendOnPath
from mcpstreams_sansio.client.inputs import AnswerAsk, MessageReceived, PathUnsent, PathUnusable
from mcpstreams_sansio.client.table import CallState
from mcpstreams_sansio.errors import INTERNAL_ERROR, METHOD_NOT_FOUND
from mcpstreams_sansio.ids import CallId, ConnectionId, StreamId
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Notification, Request, Response
from mcpstreams_sansio.wire.marker import Window
from mcpstreams_sansio.wire.meta import meta_of
from mcpstreams_sansio.wire.refusals import Reason
from mcpstreams_sansio.wire.tags import tagged
from tests.sansio.client.conversation import ASK, CONFIG, DRAFT, FAILURE, Conversation


def asked(*, http: bool = False, draft: bool = False) -> Conversation:
    """Return a conversation in which question `q1` of call 1 is open."""
    talk = Conversation(http=http)
    if draft:
        talk.server = DRAFT
    talk.link_up()
    talk.call()
    path = 1 if http else None
    talk.creates(path)
    assert talk.asks(2, path=path) == ["1: asked q1 @2"]
    return talk


def come_back(talk: Conversation) -> list[str]:
    """Lose the call's path, and come back."""
    if talk.http:
        talk.cut(1)
    else:
        talk.link_down()
        talk.link_up()
    return talk.wait(1.0)


@pytest.mark.rule("R24")
def test_the_application_sees_the_question_as_it_was_asked() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.creates()
    request = Request("q1", ASK, {"messages": [], "_meta": {"mcpstreams/seq": 2, "streamId": "s1", "hint": 1}})
    (effect,) = talk.effects(MessageReceived(ConnectionId(1), request))
    assert isinstance(effect, AskReceived)
    assert (effect.method, effect.params) == (ASK, {"messages": [], "_meta": {"hint": 1}})


@pytest.mark.rule("R6", "R10")
def test_a_question_that_uses_up_half_of_the_window_is_acknowledged_at_once() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.creates(window=Window(6, 10_000))
    assert talk.asks(2, "q1") == ["1: asked q1 @2"]
    assert talk.asks(3, "q2") == ["c1 <- ack s1 3", "1: asked q2 @3"]


@pytest.mark.rule("Q4c")
def test_an_answer_goes_where_the_call_is_delivered() -> None:
    assert asked().answer("q1") == ["c1 <- result q1"]
    assert asked(http=True).answer("q1") == ["c2 <- result q1"]


@pytest.mark.rule("R24")
def test_an_answer_says_by_a_token_that_it_may_be_given_on_any_connection() -> None:
    talk = asked()
    (sent,) = talk.effects(AnswerAsk(CallId(1), "q1", Response("q1", {"role": "user", "_meta": {"own": 1}})))
    assert isinstance(sent, SendOnPath)
    assert isinstance(sent.message, Response)
    assert meta_of(sent.message.result) == {"own": 1, "mcpstreams/resumeToken": "token of s1"}


@pytest.mark.rule("R24", "R2")
@pytest.mark.parametrize("answer", [Response("q1", {}), ErrorResponse("q1", FAILURE, "no")])
def test_not_to_a_server_that_would_not_understand_it_and_not_where_there_is_no_place(
    answer: Response | ErrorResponse,
) -> None:
    talk = asked(http=True, draft=isinstance(answer, Response))
    (sent,) = talk.effects(AnswerAsk(CallId(1), "q1", answer))
    assert isinstance(sent, SendOnPath)
    assert sent.message == answer


def test_h10_an_answer_may_be_an_error() -> None:
    refusal = AnswerAsk(CallId(1), "q1", ErrorResponse("q1", METHOD_NOT_FOUND, "not here"))
    assert asked().tell(refusal) == [f"c1 <- error {METHOD_NOT_FOUND} q1"]


def test_a_question_is_answered_once() -> None:
    talk = asked()
    talk.answer("q1")
    assert talk.answer("q1") == []


def test_a_question_needs_no_taking() -> None:
    talk = asked()
    talk.progresses(3)
    talk.take(3)
    assert come_back(talk)[1] == "c2 <- resume s1 after 3 #2"


# ------------------------------------------------------------------------------------------------------ sent again


@pytest.mark.rule("Q4e", "R24", "T20")
def test_t20_a_question_that_comes_again_is_not_handed_over_again() -> None:
    talk = asked()
    come_back(talk)
    assert talk.asks(2) == ["1: drops @2"]
    assert talk.answer("q1") == ["c2 <- result q1"]
    assert talk.asks(2) == ["1: drops @2"], "its answer is under way"


@pytest.mark.rule("Q4e", "R24")
def test_an_answer_that_was_accepted_is_given_again_if_the_question_crossed_it() -> None:
    talk = asked(http=True)
    talk.answer("q1")
    talk.accepts(2)
    talk.cut(2)
    assert talk.asks(2, path=1) == ["c3 <- result q1", "1: drops @2"]


@pytest.mark.rule("R24")
def test_an_answer_that_was_lost_with_its_connection_goes_again_asked_or_not() -> None:
    talk = asked()
    talk.answer("q1")
    assert come_back(talk) == ["1: tries resume", "c2 <- resume s1 after 2 #2", "c2 <- result q1"]
    assert talk.asks(2) == ["1: drops @2"]


@pytest.mark.rule("R24")
def test_an_answer_given_while_nothing_delivers_the_call_waits_for_the_next_path() -> None:
    talk = asked()
    talk.link_down()
    assert talk.answer("q1") == []
    talk.link_up()
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 after 2 #2", "c2 <- result q1"]


@pytest.mark.rule("R24")
def test_over_http_a_lost_answer_goes_again_though_the_call_is_delivered() -> None:
    talk = asked(http=True)
    talk.answer("q1")
    assert talk.cut(2) == []
    assert talk.wait(1.0) == ["c3 <- result q1"]
    assert talk.refuses(3, 503) == []
    assert talk.wait(2.0) == ["c4 <- result q1"]
    assert talk.tell(PathUnsent(ConnectionId(4))) == []
    assert talk.wait(4.0) == ["c5 <- result q1"]
    assert talk.accepts(5) == []
    talk.cut(5)
    assert talk.wait(60.0) == []


@pytest.mark.rule("R24")
def test_an_answer_that_came_before_the_resume_that_makes_it_count_goes_again() -> None:
    talk = asked(http=True)
    talk.link_down()
    talk.answer("q1")
    talk.cut(1)
    assert talk.link_up() == ["c2 <- result q1", "c3 <- ack s1 2"]
    assert talk.wait(1.0) == ["1: tries resume", "c4 <- resume s1 after 2 #2"]
    talk.accepts(4)
    assert talk.asks(2, path=4) == ["c5 <- result q1", "1: drops @2"], "the server did not know it on this session"
    assert talk.accepts(2) == [], "what the first copy met says nothing about the second"
    talk.cut(5)
    assert talk.wait(1.0) == ["c6 <- result q1"]


@pytest.mark.rule("R24")
def test_an_answer_that_came_while_another_connection_had_the_call_goes_again_behind_the_resume() -> None:
    talk = asked()
    come_back(talk)
    talk.link_down()
    talk.link_up()
    assert talk.wait(2.0) == ["1: tries resume", "c3 <- resume s1 after 2 #3"]
    assert talk.answer("q1") == ["c3 <- result q1"]
    assert talk.rejects("1.2", Reason.SUPERSEDED) == [], "by the resume before it, which may have come late"
    assert talk.wait(4.0) == ["1: tries resume", "c3 <- resume s1 after 2 #4", "c3 <- result q1"]


def test_a_lost_copy_of_an_answer_that_went_again_is_not_missed() -> None:
    talk = asked(http=True)
    talk.answer("q1")
    assert talk.asks(2, path=1) == ["c3 <- result q1", "1: drops @2"]
    talk.cut(2)
    talk.accepts(3)
    assert talk.wait(60.0) == []


def test_a_question_that_comes_again_need_not_wait_for_the_pause_of_its_answer() -> None:
    talk = asked(http=True)
    talk.answer("q1")
    talk.cut(2)
    assert talk.asks(2, path=1) == ["c3 <- result q1", "1: drops @2"]
    assert talk.wait(1.0) == []


@pytest.mark.parametrize("status", [400, 404, 410])
def test_an_answer_that_the_server_does_not_want_is_not_sent_again(status: int) -> None:
    talk = asked(http=True)
    talk.answer("q1")
    assert talk.refuses(2, status) == []
    assert talk.wait(60.0) == []


def test_an_answer_whose_reply_can_not_be_read_has_arrived_all_the_same() -> None:
    talk = asked(http=True)
    talk.answer("q1")
    assert talk.tell(PathUnusable(ConnectionId(2))) == []
    assert talk.wait(60.0) == []


def test_an_answer_is_not_sent_for_ever() -> None:
    talk = Conversation(http=True, config=attrs.evolve(CONFIG, max_attempts=2))
    talk.link_up()
    talk.call()
    talk.creates(path=1)
    talk.asks(2, path=1)
    assert talk.answer("q1") == ["c2 <- result q1"]
    talk.cut(2)
    assert talk.wait(8.0) == ["c3 <- result q1"]
    talk.cut(3)
    assert talk.wait(8.0) == ["c4 <- result q1"]
    talk.cut(4)
    assert talk.wait(60.0) == []


def test_over_http_answers_wait_for_the_next_session() -> None:
    talk = asked(http=True)
    talk.link_down()
    assert talk.answer("q1") == []
    assert talk.link_up() == ["c2 <- result q1", "c3 <- ack s1 2"]


def test_an_answer_that_waits_when_its_call_ends_is_dropped() -> None:
    talk = asked(http=True)
    talk.answer("q1")
    talk.cut(2)
    talk.responds(3, path=1)
    assert talk.wait(1.0) == []
    talk.wait(60.0)
    assert talk.state() is None


def test_what_becomes_of_an_answer_whose_call_is_over_is_nobodys_concern() -> None:
    talk = asked(http=True)
    talk.answer("q1")
    talk.responds(3, path=1)
    talk.cut(1)
    assert talk.state() is None
    assert talk.accepts(2) == []
    assert talk.cut(2) == []


# ------------------------------------------------------------------------------------------------- withdrawn, or over


@pytest.mark.rule("R24")
def test_a_question_may_be_withdrawn_and_a_late_answer_is_ignored() -> None:
    talk = asked()
    assert talk.withdraws(3) == ["1: withdrawn q1"]
    assert talk.answer("q1") == []
    assert talk.progresses(4) == ["1: progress 3 @4"]


def test_a_question_that_is_answered_already_is_withdrawn_without_a_word() -> None:
    talk = asked()
    talk.answer("q1")
    assert talk.withdraws(3) == []
    assert come_back(talk)[2:] == [], "the answer is not sent any more"


def test_a_withdrawal_of_what_nobody_asked_changes_nothing_but_the_position() -> None:
    talk = asked()
    assert talk.withdraws(3, "q9") == []
    assert talk.sends(Notification("notifications/cancelled", {"requestId": None}), 4) == []
    assert talk.withdraws(4) == ["1: drops @4"]
    assert talk.progresses(5) == ["1: progress 4 @5"]


def test_the_end_of_a_call_is_the_end_of_its_questions() -> None:
    talk = asked()
    assert talk.responds(3) == ["1: withdrawn q1", "1: ends with result @3"]
    assert talk.answer("q1") == []


# --------------------------------------------------------------------------------------------- elsewhere, or too many


def test_a_question_that_was_never_answered_is_handed_over_where_the_call_goes_on() -> None:
    talk = asked()
    talk.progresses(3)
    talk.take(3)
    saved = talk.detach()
    elsewhere = Conversation(config=attrs.evolve(CONFIG, instance="another-instance"))
    elsewhere.link_up()
    assert elsewhere.attach(saved) == ["1: tries resume", "c1 <- resume s1 after 3 #2"]
    assert elsewhere.asks(2) == ["1: asked q1 @2"]
    assert elsewhere.answer("q1") == ["c1 <- result q1"]


def test_without_tags_a_question_is_known_by_its_id_alone() -> None:
    talk = asked(draft=True, http=True)
    assert talk.says(Request("q1", ASK, {}), path=1) == ["1: drops @2"]
    assert talk.says(Request("q2", ASK, {}), path=1) == ["1: asked q2 @3"]


def test_a_question_whose_id_is_known_is_not_handed_over_at_a_later_position_either() -> None:
    talk = asked()
    assert talk.asks(3) == ["1: drops @3"]
    assert talk.progresses(4) == ["1: progress 3 @4"]


@pytest.mark.rule("Q2g", "Q4e")
def test_a_known_question_shows_that_the_server_has_the_call_as_any_message_does() -> None:
    talk = asked()
    come_back(talk)
    assert talk.asks(3, "q1") == ["1: drops @3"]
    assert talk.state() is CallState.FOLLOWING
    assert talk.progresses(4) == ["1: progress 3 @4"]


@pytest.mark.rule("P2", "Q4e")
def test_without_the_marker_a_known_question_takes_no_position_whatever_tag_it_has() -> None:
    talk = asked(http=True, draft=True)
    assert talk.says(tagged(Request("q1", ASK, {}), StreamId("s1"), 9), path=1) == ["1: drops @2"]
    assert talk.progresses(3, path=1) == ["1: progress 2 @3"]


@pytest.mark.rule("R24")
def test_over_http_an_untagged_withdrawal_is_about_the_call_of_its_exchange() -> None:
    talk = asked(http=True, draft=True)
    assert talk.withdraws(3, path=1) == ["1: withdrawn q1"]


def limited() -> Conversation:
    """Return a conversation whose client remembers two questions of each call."""
    talk = Conversation(config=attrs.evolve(CONFIG, max_asks=2))
    talk.link_up()
    talk.call()
    talk.creates()
    return talk


def test_more_open_questions_than_the_limit_are_answered_with_an_error() -> None:
    talk = limited()
    talk.asks(2, "q1")
    talk.asks(3, "q2")
    assert talk.asks(4, "q3") == ["c1 <- error -32603 q3"]
    assert talk.asks(4, "q3") == ["c1 <- error -32603 q3", "1: drops @4"]
    assert talk.progresses(5) == ["1: progress 4 @5"]


def test_what_was_answered_longest_ago_makes_room() -> None:
    talk = limited()
    talk.asks(2, "q1")
    talk.asks(3, "q2")
    talk.answer("q1")
    assert talk.asks(4, "q3") == ["1: asked q3 @4"]
    assert talk.answer("q2") == ["c1 <- result q2"]
    assert talk.asks(2, "q1") == ["1: asked q1 @2"], "forgotten, so it is asked again, at least once"


def test_a_question_that_finds_no_room_while_nothing_can_be_sent_waits_for_its_repetition() -> None:
    talk = Conversation(http=True, config=attrs.evolve(CONFIG, max_asks=1))
    talk.link_up()
    talk.call()
    talk.creates(path=1)
    talk.asks(2, "q1", path=1)
    talk.link_down()
    assert talk.asks(3, "q2", path=1) == []


# ------------------------------------------------------------------------------------------------------ to no call


def test_a_question_without_a_call_is_handed_over_as_such() -> None:
    talk = Conversation(server=DRAFT)
    talk.link_up()
    question = Request(1, ASK, {"messages": []})
    assert talk.effects(MessageReceived(ConnectionId(1), question)) == [AskReceived(None, 1, 0, ASK, {"messages": []})]
    assert talk.says(question) == []
    assert talk.answer(1, None) == ["c1 <- result 1"]
    assert talk.answer(1, None) == []


def test_a_question_without_a_call_ends_with_its_connection() -> None:
    talk = Conversation(server=DRAFT)
    talk.link_up()
    talk.says(Request(1, ASK, {}))
    assert talk.link_down() == ["None: withdrawn 1"]
    assert talk.answer(1, None) == []


@pytest.mark.rule("R16")
def test_a_question_without_a_call_on_an_exchange_of_a_session_that_is_over_is_nobodys() -> None:
    talk = asked(http=True)
    talk.link_down()
    assert talk.says(Request("q2", ASK), path=1) == ["c1: stray sampling/createMessage q2"]
    assert talk.answer("q2", None) == []
    assert talk.link_up() == ["c2 <- ack s1 2"]
    assert talk.says(Request("q2", ASK), path=1) == ["None: asked q2 @0"]
    assert talk.answer("q2", None) == ["c3 <- result q2"]


def test_a_question_without_a_call_may_be_withdrawn() -> None:
    talk = Conversation(server=DRAFT)
    talk.link_up()
    talk.says(Request(1, ASK, {}))
    assert talk.says(Notification("notifications/cancelled", {"requestId": "1"})) == []
    assert talk.says(Notification("notifications/cancelled", {"requestId": 1})) == ["None: withdrawn 1"]


def test_more_of_them_than_the_limit_are_answered_with_an_error() -> None:
    talk = Conversation(server=DRAFT, config=attrs.evolve(CONFIG, max_asks=1))
    talk.link_up()
    talk.says(Request(1, ASK, {}))
    refusal = ErrorResponse(2, INTERNAL_ERROR, "too many questions are open")
    refused = talk.effects(MessageReceived(ConnectionId(1), Request(2, ASK, {})))
    assert refused == [SendOnPath(ConnectionId(1), refusal)]


@pytest.mark.rule("Q11g", "Q4b")
def test_one_id_can_not_stand_for_two_questions() -> None:
    talk = asked()
    talk.call()
    talk.creates(number=2)
    assert talk.asks(2, "q1", number=2) == [f"c1: stray {ASK} q1"]
    assert talk.says(Request("q1", ASK, {})) == []
    assert talk.answer("q1") == ["c1 <- result q1"]


def test_a_question_of_a_stream_that_nobody_follows_is_nobodys() -> None:
    talk = asked()
    assert talk.sends(Request("q9", ASK, {}), 2, stream="s9") == [f"c1: stray {ASK} q9"]


def test_a_question_on_a_late_path_is_ignored() -> None:
    talk = asked()
    talk.link_down()
    talk.link_up()
    assert talk.asks(3, "q2") == []


@pytest.mark.parametrize("http", [False, True])
def test_k4_a_ping_is_answered_whatever_else_is_going_on(http: bool) -> None:
    talk = asked(http=http)
    assert talk.says(Request(99, "ping"), path=1) == [f"c{2 if http else 1} <- result 99"]
    talk.link_down()
    assert talk.says(Request(100, "ping"), path=1) == []


@pytest.mark.rule("R24")
def test_a_withdrawn_question_that_the_log_replays_is_not_handed_over_again() -> None:
    talk = asked()
    talk.withdraws(3)
    talk.link_down()
    talk.link_up()
    talk.wait(2.0)
    assert talk.asks(2) == ["1: drops @2"]
    assert talk.answer("q1") == []
