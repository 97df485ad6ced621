"""What the server answers: to a call, and to the client's own requests about it."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.policy import OF_KNOWN_CALLS
from mcpstreams_sansio.client.table import CallState
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Response
from mcpstreams_sansio.wire.refusals import Reason
from tests.sansio.client.conversation import CONFIG, DRAFT, FAILURE, Conversation, request_id


def calling(*, http: bool = False, draft: bool = False, config: ClientConfig = CONFIG) -> Conversation:
    """Return a conversation with one call, just sent."""
    talk = Conversation(http=http, config=config)
    if draft:
        talk.server = DRAFT
    talk.link_up()
    talk.call()
    return talk


def resuming(*, http: bool = False, received: int = 3, config: ClientConfig = CONFIG) -> Conversation:
    """Return a conversation whose client has taken what it received, and just asked for more."""
    talk = calling(http=http, config=config)
    talk.creates(path=1 if http else None)
    for sequence in range(2, received + 1):
        talk.progresses(sequence, path=1 if http else None)
        talk.take(sequence)
    if http:
        talk.cut(1)
    else:
        talk.link_down()
        talk.link_up()
    assert talk.wait(1.0)[0] == "1: tries resume"
    return talk


# ------------------------------------------------------------------------------------------------------- to the call


@pytest.mark.rule("Q3b", "W6")
def test_an_answer_is_told_by_its_id() -> None:
    talk = calling(draft=True)
    talk.call()
    assert talk.says(Response(request_id(2), {})) == ["2: ends with result @1"]
    assert talk.says(Response(request_id(1), {})) == ["1: ends with result @1"]


@pytest.mark.rule("Q3b")
def test_an_answer_that_nobody_waits_for_is_shown_and_does_no_harm() -> None:
    talk = calling()
    assert talk.says(Response(1, {})) == ["c1: stray result 1"]
    assert talk.says(ErrorResponse(None, -32700, "what?")) == ["c1: stray error -32700 None"]
    assert talk.state() is CallState.SENT


def test_m2_a_late_answer_to_a_request_of_this_client_is_ignored() -> None:
    talk = calling(draft=True)
    talk.says(Response(request_id(1), {}))
    assert talk.says(Response(request_id(1), {})) == []
    assert talk.says(ErrorResponse("instance-1.7", FAILURE, "late")) == []


@pytest.mark.rule("Q3b")
def test_a_second_answer_is_nobodys() -> None:
    talk = calling()
    talk.creates()
    talk.responds(2)
    assert talk.responds(3) == []
    assert talk.state() is CallState.SETTLING


def test_an_answer_while_the_client_only_polls_is_late() -> None:
    talk = Conversation(config=attrs.evolve(CONFIG, poll_first=True))
    talk.link_up()
    talk.call()
    talk.creates()
    talk.progresses(3)
    talk.wait(1.0)
    assert talk.responds(2) == []
    assert talk.state() is CallState.POLLING


def test_l1_an_answer_on_another_calls_exchange_is_nobodys() -> None:
    talk = calling(http=True, draft=True)
    talk.call()
    assert talk.says(Response(request_id(1), {}), path=2) == []
    assert talk.says(Response(request_id(2), {}), path=2) == ["2: ends with result @1"]


@pytest.mark.rule("R4")
def test_an_error_has_no_tag_and_takes_the_next_position() -> None:
    talk = calling()
    talk.creates()
    talk.progresses(2)
    assert talk.fails(3) == ["1: ends with failure 7 @3"]


@pytest.mark.rule("R4")
def test_a_result_beyond_what_is_missing_is_a_gap() -> None:
    talk = calling()
    talk.creates()
    assert talk.responds(3) == []
    assert talk.state() is CallState.WAITING


@pytest.mark.rule("R4")
def test_what_a_result_tells_of_the_messages_before_it_holds_on_the_next_path() -> None:
    talk = calling()
    talk.creates()
    talk.responds(4)
    talk.link_down()
    talk.link_up()
    talk.wait(2.0)
    assert talk.fails(2) == [], "2 and 3 are no answers"
    assert talk.state() is CallState.WAITING


def test_a_result_at_a_position_that_was_received_before_is_no_answer() -> None:
    talk = calling()
    talk.creates()
    talk.progresses(2)
    assert talk.responds(2) == []
    assert talk.state() is CallState.FOLLOWING


@pytest.mark.parametrize("tag", [{"mcpstreams/seq": "x"}, {"mcpstreams/seq": 2}])
def test_a_result_whose_tag_is_none_is_an_answer_all_the_same(tag: dict[str, str | int]) -> None:
    talk = calling()
    talk.creates()
    assert talk.says(Response(request_id(1), {"_meta": tag})) == ["1: ends with result @2"]


def test_a_result_without_a_stream_is_an_answer() -> None:
    assert calling().says(Response(request_id(1), {})) == ["1: ends with result @1"]


def test_a_call_may_be_refused_by_an_error_without_an_id() -> None:
    talk = calling(http=True, draft=True)
    assert talk.says(ErrorResponse(None, -32600, "no"), path=1) == ["1: ends with failure -32600 @1"]


def test_an_error_without_an_id_on_a_late_exchange_is_nobodys() -> None:
    talk = calling(http=True)
    talk.creates(path=1)
    talk.asks(2, path=1)
    assert talk.answer("q1") == ["c2 <- result q1"]
    assert talk.says(ErrorResponse(None, -32600, "no"), path=2) == []


# ----------------------------------------------------------------------------------------------- a call is refused


@pytest.mark.rule("R21", "Q10")
def test_a_call_that_is_refused_for_good_when_it_first_comes_certainly_did_not_run() -> None:
    assert calling().rejects("1", Reason.KEY_CONFLICT) == ["1: ends with not run: refused @0"]


@pytest.mark.rule("R21")
def test_a_re_sent_call_hears_what_became_of_the_first_copy() -> None:
    talk = calling()
    talk.link_down()
    talk.link_up()
    talk.wait(1.0)
    assert talk.rejects("1", Reason.EXPIRED) == ["1: ends with loss: expired @0"]


def test_a_call_that_is_refused_for_now_goes_out_anew() -> None:
    talk = calling()
    assert talk.rejects("1", Reason.DRAINING, retry_after=4.0) == []
    assert talk.wait(3.9) == []
    assert talk.wait(0.1) == ["c1 <- call 1 key #2"]
    assert talk.rejects("1", Reason.TOO_MANY_STREAMS) == []
    assert talk.wait(60.0) == ["c1 <- call 1 key #3"]


def test_an_unkeyed_calls_error_is_its_answer_whatever_it_says() -> None:
    talk = calling(draft=True)
    assert talk.rejects("1", Reason.EXPIRED) == ["1: ends with failure -32602 @1"]


def test_an_error_of_the_application_may_look_like_a_refusal() -> None:
    talk = calling()
    talk.creates()
    assert talk.rejects("1", Reason.EXPIRED) == ["1: ends with failure -32602 @2"]


@pytest.mark.rule("Q10", "Q6b")
@pytest.mark.parametrize("code", [42, -32602])
def test_an_error_of_the_application_is_not_the_protocols_word_whatever_its_data_say(code: int) -> None:
    talk = calling()
    talk.creates()
    error = ErrorResponse(request_id(1), code, "there is a newer order", {"reason": "superseded"})
    assert talk.says(error) == [f"1: ends with failure {code} @2"]


@pytest.mark.rule("Q10")
def test_an_error_without_a_stream_is_the_protocols_word_by_its_code_and_its_reason() -> None:
    error = ErrorResponse(request_id(1), FAILURE, "no", {"reason": "draining"})
    assert calling().says(error) == ["1: ends with failure 7 @1"]


@pytest.mark.rule("R14", "Q6b")
def test_a_call_that_another_client_took_over_is_lost() -> None:
    talk = calling()
    talk.creates()
    assert talk.rejects("1", Reason.SUPERSEDED) == ["1: ends with loss: superseded @1"]


# ------------------------------------------------------------------------------------------------- a resume is refused


@pytest.mark.rule("P18", "P34", "Q10")
@pytest.mark.parametrize(
    "reason", [Reason.STREAM_NOT_FOUND, Reason.ABANDONED, Reason.EXPIRED, Reason.CANCELLED, Reason.NOT_RESUMABLE]
)
def test_a_stream_that_is_gone_for_good_is_lost_for_that_reason(reason: Reason) -> None:
    assert resuming().rejects("1.1", reason) == [f"1: ends with loss: {reason.value} @3"]


@pytest.mark.rule("Q7f")
def test_a_client_that_came_too_early_comes_again_when_it_is_told_to() -> None:
    talk = resuming()
    assert talk.rejects("1.1", Reason.TOO_EARLY, retry_after=7.0) == []
    assert talk.wait(6.9) == []
    assert talk.wait(0.1) == ["1: tries resume", "c2 <- resume s1 after 3 #3"]


@pytest.mark.rule("Q7f")
def test_a_pause_that_no_clock_can_count_is_no_answer() -> None:
    error = ErrorResponse("instance-1.1", -32600, "too early", {"reason": "too_early", "retryAfter": 10**400})
    assert resuming().says(error) == ["1: ends with doubt: refused @3"]


@pytest.mark.rule("Q3c")
def test_an_id_in_use_is_a_matter_of_time() -> None:
    talk = resuming()
    assert talk.rejects("1.1", Reason.ID_IN_USE) == []
    assert talk.wait(2.0) == ["1: tries resume", "c2 <- resume s1 after 3 #3"]


@pytest.mark.rule("R10", "Q5c")
def test_messages_that_are_gone_are_reported_and_the_rest_is_followed() -> None:
    talk = resuming()
    assert talk.rejects("1.1", Reason.EVENTS_GONE, first_available=6, lost=2) == ["1: gap of 2 @5"]
    assert talk.take(5) == []
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 after 5 #3"]
    assert talk.progresses(6) == ["1: progress 5 @6"]


@pytest.mark.rule("R10")
def test_messages_that_are_gone_and_were_received_before_are_not_missed() -> None:
    talk = calling()
    talk.creates()
    talk.progresses(2)
    talk.progresses(3)
    talk.link_down()
    talk.link_up()
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 after 1 #2"]
    assert talk.rejects("1.1", Reason.EVENTS_GONE, first_available=3, lost=1) == []
    assert talk.wait(2.0) == ["1: tries resume", "c2 <- resume s1 after 2 #3"]


@pytest.mark.rule("R10", "R23")
def test_a_gap_that_the_client_has_by_now_is_none() -> None:
    # An acknowledgement on an exchange of its own overtook the resume, and the server dropped what it confirmed.
    talk = resuming()
    assert talk.rejects("1.1", Reason.EVENTS_GONE, first_available=4, lost=1) == []
    assert talk.wait(2.0) == ["1: tries resume", "c2 <- resume s1 after 3 #3"]


def test_a_server_that_finds_gaps_where_none_is_exhausts_the_budget() -> None:
    talk = resuming()
    said = ["1: tries resume"]
    for number in range(1, CONFIG.max_attempts + 1):
        assert "1: tries resume" in said
        said = talk.rejects(f"1.{number}", Reason.EVENTS_GONE, first_available=4, lost=1)
        while not said:
            said = talk.wait(1.0)
    assert said == ["1: ends with doubt: out of budget @3"]


def test_a_gap_without_an_end_ends_the_call() -> None:
    talk = resuming()
    error = ErrorResponse("instance-1.1", -32602, "gone", {"reason": "events_gone"})
    assert talk.says(error) == ["1: ends with loss: events_gone @3"]


@pytest.mark.rule("F3", "Q5b")
def test_a_cursor_that_is_not_understood_is_left_out_of_the_header() -> None:
    talk = resuming(http=True)
    assert talk.rejects("1.1", Reason.INVALID_CURSOR, path=2) == ["leave c2"]
    assert talk.wait(2.0) == ["1: tries resume", "c3 <- resume s1 after 3 #3"]
    assert talk.rejects("1.2", Reason.INVALID_CURSOR, path=3) == ["1: ends with loss: invalid_cursor @3", "leave c3"]


@pytest.mark.rule("Q6d")
def test_a_stream_that_is_attached_here_already_is_followed() -> None:
    talk = resuming()
    assert talk.rejects("1.1", Reason.ALREADY_ATTACHED) == []
    assert talk.state() is CallState.FOLLOWING
    assert talk.progresses(4) == ["1: progress 3 @4"]


@pytest.mark.rule("Q6d", "P27")
def test_a_poll_that_is_told_of_an_attachment_here_brings_no_news() -> None:
    talk = Conversation(config=attrs.evolve(CONFIG, poll_first=True))
    talk.link_up()
    talk.call()
    talk.creates()
    talk.link_down()
    talk.link_up()
    assert talk.wait(1.0) == ["1: tries poll", "c2 <- poll s1"]
    assert talk.rejects("1.1", Reason.ALREADY_ATTACHED) == []
    assert talk.state() is CallState.WAITING
    assert talk.wait(2.0) == ["1: tries poll", "c2 <- poll s1"]


@pytest.mark.parametrize("data", [None, {"reason": "a word of next year's"}, {"reason": 7}, "text"])
def test_a_refusal_without_a_reason_that_is_known_leaves_the_outcome_in_doubt(
    data: dict[str, str] | str | None,
) -> None:
    talk = resuming()
    assert talk.says(ErrorResponse("instance-1.1", -32601, "what is that?", data)) == ["1: ends with doubt: refused @3"]


def test_a_cursor_that_is_refused_says_why() -> None:
    talk = calling(http=True, draft=True)
    talk.primes(0, path=1)
    talk.cut(1)
    assert talk.wait(1.0) == ["1: tries cursor", "c2 <- get at s1_0"]
    done = talk.rejects(None, Reason.EVENTS_GONE, path=2, first_available=4, lost=3)
    assert done == ["1: ends with loss: events_gone @0", "leave c2"]


# ------------------------------------------------------------------------------------------------------- superseded


@pytest.mark.rule("R14", "Q6b")
def test_who_was_taken_over_by_another_does_not_come_back_by_itself() -> None:
    talk = resuming()
    assert talk.rejects("1.1", Reason.SUPERSEDED) == ["1: ends with loss: superseded @3"]


@pytest.mark.rule("R14")
def test_who_may_have_been_taken_over_by_an_own_attempt_comes_back_once_for_each() -> None:
    talk = resuming()
    talk.link_down()
    talk.link_up()
    assert talk.wait(2.0) == ["1: tries resume", "c3 <- resume s1 after 3 #3"]
    assert talk.rejects("1.2", Reason.SUPERSEDED) == []
    assert talk.wait(4.0) == ["1: tries resume", "c3 <- resume s1 after 3 #4"]
    assert talk.rejects("1.3", Reason.SUPERSEDED) == ["1: ends with loss: superseded @3"]


@pytest.mark.rule("R14")
def test_also_where_several_of_them_may_still_be_under_way() -> None:
    talk = resuming()
    for _ in (1, 2):
        talk.link_down()
        talk.link_up()
        assert talk.wait(4.0)[0] == "1: tries resume"
    for number in (3, 4):
        assert talk.rejects(f"1.{number}", Reason.SUPERSEDED) == []
        assert talk.wait(8.0)[0] == "1: tries resume"
    assert talk.rejects("1.5", Reason.SUPERSEDED) == ["1: ends with loss: superseded @3"]


@pytest.mark.rule("R14")
def test_only_the_latest_attempt_can_be_superseded() -> None:
    talk = resuming()
    talk.progresses(6)
    assert talk.wait(2.0) == ["1: tries resume", "c2 <- resume s1 after 3 #3"]
    assert talk.rejects("1.1", Reason.SUPERSEDED) == []
    assert talk.progresses(4) == ["1: progress 3 @4"]


def gap(talk: Conversation) -> list[str]:
    """The first message on the resumed path is not the one that was asked for."""
    return talk.progresses(6, path=2)


def let_go(talk: Conversation) -> list[str]:
    """The server ends the attachment at once, in good order."""
    return talk.replies("1.1", path=2)


def no_cursor(talk: Conversation) -> list[str]:
    """The server does not understand the event id."""
    return talk.rejects("1.1", Reason.INVALID_CURSOR, path=2)


@pytest.mark.rule("R14", "Q6b")
@pytest.mark.parametrize("word", [gap, let_go, no_cursor])
def test_an_attempt_of_which_the_server_has_said_something_took_nobody_over(
    word: Callable[[Conversation], list[str]],
) -> None:
    talk = resuming(http=True)
    assert word(talk) == ["leave c2"]
    assert talk.wait(2.0)[0] == "1: tries resume"
    assert talk.rejects("1.2", Reason.SUPERSEDED, path=3)[0] == "1: ends with loss: superseded @3"


@pytest.mark.rule("R14")
def test_one_to_which_the_server_only_failed_may_have() -> None:
    talk = resuming(http=True)
    assert talk.refuses(2, 503, retry_after=7.0) == []
    assert talk.wait(6.9) == []
    assert talk.wait(0.1)[0] == "1: tries resume"
    assert talk.rejects("1.2", Reason.SUPERSEDED, path=3) == ["leave c3"]
    assert talk.state() is CallState.WAITING


# ------------------------------------------------------------------------------------------------- a resume is over


@pytest.mark.rule("R15")
def test_g7_a_quiet_call_that_is_let_go_now_and_then_costs_nothing() -> None:
    talk = resuming(config=attrs.evolve(CONFIG, max_attempts=2))
    for number in range(1, 10):
        assert talk.wait(CONFIG.steady_after) == []
        assert talk.replies(f"1.{number}") == []
        assert talk.wait(2.0)[0] == "1: tries resume"


@pytest.mark.rule("R15")
def test_a_resume_that_ends_without_end_was_let_go() -> None:
    talk = resuming()
    talk.progresses(4)
    assert talk.replies("1.1") == []
    assert talk.state() is CallState.WAITING
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 after 3 #3"]


@pytest.mark.rule("R15")
def test_after_the_answer_the_result_of_the_resume_means_nothing() -> None:
    talk = resuming()
    talk.responds(4)
    talk.ends(5)
    assert talk.replies("1.1") == []


def test_the_result_of_a_resume_between_answer_and_end_means_nothing() -> None:
    talk = resuming()
    talk.responds(4)
    assert talk.replies("1.1") == []
    assert talk.state() is CallState.SETTLING


def test_a_refusal_that_comes_after_the_answer_means_nothing() -> None:
    talk = resuming()
    talk.responds(4)
    assert talk.rejects("1.1", Reason.SUPERSEDED) == []
    assert talk.state() is CallState.SETTLING


def test_a_reply_on_another_exchange_is_nobodys() -> None:
    talk = resuming(http=True)
    talk.call()
    assert talk.replies("1.1", path=3) == []
    assert talk.state() is CallState.RECOVERING


@pytest.mark.rule("Q9a")
def test_a_stream_of_which_only_the_end_is_left_is_lost_as_finished() -> None:
    talk = resuming()
    assert talk.ends(9) == ["1: ends with loss: finished @3"]
    assert talk.replies("1.1") == []


def test_a_server_that_confirms_a_resume_at_once_is_followed_all_the_same() -> None:
    talk = Conversation(server=DRAFT, config=attrs.evolve(CONFIG, max_attempts=3))
    talk.link_up()
    talk.call()
    talk.creates()
    talk.link_down()
    talk.link_up()
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1"]
    assert talk.replies("1.1") == []
    assert talk.wait(2.0) == ["1: tries resume", "c2 <- resume s1"]
    assert talk.rejects("1.2", Reason.ALREADY_ATTACHED) == []
    assert talk.progresses(2) == ["1: progress 1 @2"]


# ------------------------------------------------------------------------------------------------- a poll is refused


@pytest.mark.rule("P28", "Q8e")
def test_a_poll_of_what_is_gone_ends_the_call() -> None:
    talk = Conversation(config=attrs.evolve(CONFIG, poll_first=True))
    talk.link_up()
    talk.call()
    talk.creates()
    talk.link_down()
    talk.link_up()
    talk.wait(1.0)
    assert talk.rejects("1.1", Reason.ABANDONED) == ["1: ends with loss: abandoned @1"]


# --------------------------------------------------------------------------------------- what another client has done


@pytest.mark.rule("R21")
@pytest.mark.parametrize("reason", sorted(OF_KNOWN_CALLS, key=str))
def test_a_call_that_was_met_before_is_lost_and_not_refused(reason: Reason) -> None:
    assert calling().rejects("1", reason) == [f"1: ends with loss: {reason.value} @0"]
    assert calling().rejects("1", Reason.KEY_CONFLICT) == ["1: ends with not run: refused @0"]


@pytest.mark.rule("R6", "R10")
def test_an_end_behind_a_gap_means_that_the_answer_was_in_it() -> None:
    talk = resuming()
    talk.rejects("1.1", Reason.EVENTS_GONE, first_available=6, lost=2)
    talk.take(5)
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 after 5 #3"]
    assert talk.ends(6) == ["1: ends with loss: finished @5"]


@pytest.mark.rule("R4", "Q9a")
def test_an_end_that_comes_alone_again_is_all_there_is() -> None:
    talk = resuming(http=True)
    talk.accepts(2)
    assert talk.ends(5, path=2) == ["leave c2"]
    assert talk.wait(2.0) == ["1: tries resume", "c3 <- resume s1 after 3 #3 at s1_3"]
    talk.accepts(3)
    assert talk.ends(5, path=3) == ["1: ends with loss: finished @3", "leave c3"]


@pytest.mark.rule("R4", "R6")
def test_an_end_that_came_before_its_answer_is_awaited_again_and_acknowledged() -> None:
    talk = resuming(http=True)
    talk.accepts(2)
    talk.ends(5, path=2)
    talk.wait(2.0)
    talk.accepts(3)
    assert talk.responds(4, path=3) == ["1: ends with result @4"]
    talk.take(4)
    talk.ends(5, path=3)
    assert talk.cut(3) == ["c4 <- ack s1 5"]


@pytest.mark.rule("R21", "R27")
def test_h4_that_the_work_was_interrupted_is_an_answer_however_little_was_seen_of_the_stream() -> None:
    assert calling().rejects("1", Reason.INTERRUPTED) == ["1: ends with doubt: interrupted @1"]
    talk = calling()
    talk.link_down()
    talk.link_up()
    assert talk.wait(1.0) == ["1: tries resend", "c2 <- call 1 key #2"]
    assert talk.rejects("1", Reason.INTERRUPTED) == ["1: ends with doubt: interrupted @1"]
