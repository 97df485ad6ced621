"""A call that is attached again on the connection that delivered it before: what was under way is no answer (R4).

An error has no place for a tag, so an old one looks like a new one. `end`, exactly one above, tells them apart.
"""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client.table import CallState
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Response
from mcpstreams_sansio.wire.refusals import Reason
from tests.sansio.client.conversation import CONFIG, DRAFT, FAILURE, Conversation, request_id

OLD_ERROR = ErrorResponse(request_id(1), FAILURE, "no")


def taken_up(talk: Conversation | None = None, *, through: int = 1) -> Conversation:
    """Return a conversation whose call was let go, and is taken up again on the same connection as call 2."""
    talk = talk or Conversation()
    talk.link_up()
    talk.call()
    talk.creates()
    for sequence in range(2, through + 1):
        talk.progresses(sequence)
        talk.take(sequence)
    saved = talk.detach()
    after = f" after {through} #2" if talk.server.marker else ""
    assert talk.attach(saved) == ["2: tries resume", f"c1 <- resume s1{after}"]
    assert talk.state(2) is CallState.REATTACHING
    return talk


def sent_again() -> Conversation:
    """Return a conversation whose call was let go before `create` came, and is sent again on the same connection."""
    talk = Conversation()
    talk.link_up()
    talk.call()
    assert talk.attach(talk.detach()) == ["2: tries resend", "c1 <- call 1 key #2"]
    return talk


# --------------------------------------------------------------------------------------------------------- an old error


@pytest.mark.rule("R4")
def test_an_error_before_which_messages_are_missing_is_no_answer() -> None:
    talk = taken_up()
    assert talk.says(OLD_ERROR) == []
    assert talk.ends(4) == [], "the error stood at 3, so 2 is missing"
    assert talk.progresses(2) == ["2: progress 1 @2"]
    talk.take(2, 2)
    assert talk.says(OLD_ERROR) == ["2: ends with failure 7 @3"]
    assert talk.ends(4) == ["c1 <- ack s1 4"]


@pytest.mark.rule("R4")
def test_an_error_is_the_answer_once_end_is_exactly_one_above_it() -> None:
    talk = taken_up()
    assert talk.says(OLD_ERROR) == []
    assert talk.ends(3) == ["2: ends with failure 7 @2", "c1 <- ack s1 3"]
    assert talk.state(2) is None
    assert talk.says(OLD_ERROR) == [], "the new attachment brings it all once more"
    assert talk.ends(3) == []
    assert talk.replies("2.1") == []


@pytest.mark.rule("R4")
@pytest.mark.parametrize("through", [2, 3])
def test_an_old_error_is_dropped_as_soon_as_a_message_shows_where_the_stream_is(through: int) -> None:
    talk = taken_up(through=2)
    assert talk.says(OLD_ERROR) == []
    assert talk.progresses(through)
    assert talk.state(2) is CallState.FOLLOWING
    assert talk.ends(through + 2) == [], "no error was seen where the answer has to stand"
    assert talk.state(2) is CallState.WAITING


@pytest.mark.rule("R4")
def test_an_old_error_is_dropped_as_well_when_a_later_message_shows_that_something_is_missing() -> None:
    talk = taken_up()
    talk.says(OLD_ERROR)
    assert talk.progresses(3) == []
    assert talk.ends(3) == [], "whatever `end` says then"
    assert talk.state(2) is CallState.REATTACHING


@pytest.mark.rule("R4")
def test_what_an_old_message_or_end_tells_of_the_stream_holds_for_an_error_too() -> None:
    talk = taken_up()
    talk.ends(5)
    assert talk.says(OLD_ERROR) == [], "the answer stands at 4"
    assert talk.ends(3) == [], "and not at 2"
    talk.progresses(2)
    talk.progresses(3)
    assert talk.says(OLD_ERROR) == ["2: ends with failure 7 @4"]


@pytest.mark.rule("R4", "R23")
def test_a_call_that_had_no_room_is_attached_again_in_the_same_way() -> None:
    talk = Conversation(config=attrs.evolve(CONFIG, max_unread=1))
    talk.link_up()
    talk.call()
    talk.creates()
    talk.progresses(2)
    talk.progresses(3)
    assert talk.progresses(4) == []
    assert talk.take(3) == ["1: tries resume", "c1 <- resume s1 after 3 #2"]
    assert talk.state() is CallState.REATTACHING
    assert talk.says(OLD_ERROR) == []
    assert talk.ends(6) == []
    assert talk.progresses(4) == ["1: progress 3 @4"]


@pytest.mark.rule("R4", "P31")
def test_so_is_a_call_that_has_asked_first() -> None:
    talk = Conversation(config=attrs.evolve(CONFIG, poll_first=True))
    talk.link_up()
    talk.call()
    talk.creates()
    assert talk.progresses(3) == []
    assert talk.wait(1.0) == ["1: tries poll", "c1 <- poll s1"]
    assert talk.polled("1.1", pending=True) == ["1: tries resume", "c1 <- resume s1 after 1 #2"]
    assert talk.state() is CallState.REATTACHING
    assert talk.says(OLD_ERROR) == []
    assert talk.ends(4) == []
    assert talk.progresses(2) == ["1: progress 1 @2"]


def test_what_is_kept_of_an_error_goes_with_the_attempt() -> None:
    talk = taken_up()
    talk.says(OLD_ERROR)
    assert talk.rejects("2.1", Reason.TOO_EARLY) == []
    assert talk.wait(2.0) == ["2: tries resume", "c1 <- resume s1 after 1 #3"]
    assert talk.ends(3) == [], "nothing stands before it now"
    assert talk.state(2) is CallState.REATTACHING


def test_who_waits_for_the_proof_of_an_error_can_cancel_and_let_go() -> None:
    talk = taken_up()
    talk.says(OLD_ERROR)
    assert talk.cancel(2) == ["2: ends with cancelled @1", "2: tries cancel", "c1 <- cancel s1"]
    talk = taken_up()
    talk.says(OLD_ERROR)
    assert talk.detach(2).taken == 1


# ---------------------------------------------------------------------------------------------- an end that never comes


@pytest.mark.rule("R4", "R15")
def test_an_error_without_its_end_is_believed_when_nothing_old_can_be_under_way_any_more() -> None:
    talk = taken_up()
    assert talk.says(OLD_ERROR) == []
    assert talk.replies("2.1") == [], "the result of the resume is its last word"
    assert talk.wait(2.0) == ["2: tries resume", "c1 <- resume s1 after 1 #3"]
    assert talk.state(2) is CallState.RECOVERING
    assert talk.says(OLD_ERROR) == ["2: ends with failure 7 @2"]


def test_h2_a_server_that_says_nothing_after_an_error_is_asked_again_within_the_budget() -> None:
    talk = taken_up()
    assert talk.says(OLD_ERROR) == []
    assert talk.wait(CONFIG.reply_timeout - 0.1) == []
    assert talk.wait(2.1) == ["2: tries resume", "c1 <- resume s1 after 1 #3"]
    said = talk.says(OLD_ERROR)
    while talk.state(2) is not None:
        said = talk.wait(1.0) + talk.says(OLD_ERROR)
    assert said == ["2: ends with doubt: out of budget @1"]
    assert talk.now <= CONFIG.patience + 2 * CONFIG.reply_timeout


def test_on_another_connection_nothing_old_can_be_under_way() -> None:
    talk = taken_up()
    talk.says(OLD_ERROR)
    talk.link_down()
    talk.link_up()
    assert talk.wait(2.0) == ["2: tries resume", "c2 <- resume s1 after 1 #3"]
    assert talk.state(2) is CallState.RECOVERING
    assert talk.says(OLD_ERROR) == ["2: ends with failure 7 @2"]


def test_a_saved_call_that_waited_for_its_link_finds_nothing_old_on_it() -> None:
    talk = taken_up()
    saved = talk.detach(2)
    talk.link_down()
    talk.attach(saved)
    talk.link_up()
    assert talk.says(OLD_ERROR) == ["3: ends with failure 7 @2"]


def test_over_http_each_attempt_has_an_exchange_of_its_own() -> None:
    talk = Conversation(http=True)
    talk.link_up()
    talk.call()
    talk.creates(path=1)
    assert talk.attach(talk.detach())[0] == "2: tries resume"
    assert talk.says(OLD_ERROR, path=1) == []
    assert talk.says(OLD_ERROR, path=2) == ["2: ends with failure 7 @2"]


@pytest.mark.rule("R8")
def test_without_tags_nothing_can_be_told_apart() -> None:
    talk = taken_up(Conversation(server=DRAFT))
    assert talk.says(OLD_ERROR) == ["2: ends with failure 7 @2"], "at least once, as documented"


@pytest.mark.rule("R4")
def test_a_result_says_itself_where_it_stands() -> None:
    talk = taken_up()
    assert talk.responds(3) == []
    assert talk.progresses(2) == ["2: progress 1 @2"]
    assert talk.responds(3) == ["2: ends with result @3"]


def test_a_result_that_does_not_is_an_answer_like_an_error() -> None:
    talk = taken_up()
    assert talk.says(Response(request_id(1), {})) == []
    assert talk.ends(3) == ["2: ends with result @2", "c1 <- ack s1 3"]


# ----------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.rule("R21", "Q10")
def test_a_refusal_of_a_re_sent_call_is_seen_at_once() -> None:
    assert sent_again().rejects("1", Reason.KEY_CONFLICT) == ["2: ends with loss: key_conflict @0"]
    assert sent_again().rejects("1", Reason.SUPERSEDED) == ["2: ends with loss: superseded @0"]
    talk = sent_again()
    assert talk.rejects("1", Reason.DRAINING, retry_after=5.0) == []
    assert talk.wait(4.9) == []
    assert talk.wait(0.1) == ["2: tries resend", "c1 <- call 1 key #3"]


@pytest.mark.rule("P18")
def test_a_refusal_of_the_resume_is_seen_at_once() -> None:
    talk = taken_up()
    talk.says(OLD_ERROR)
    assert talk.rejects("2.1", Reason.EXPIRED) == ["2: ends with loss: expired @1"]


@pytest.mark.rule("R4", "R21")
def test_the_old_error_of_a_call_that_is_sent_again_is_no_answer() -> None:
    talk = sent_again()
    assert talk.says(OLD_ERROR) == [], "`create` came while nobody waited for it"
    assert talk.ends(4) == []
    assert talk.creates() == []
    assert talk.progresses(2) == ["2: progress 1 @2"]
    assert talk.says(OLD_ERROR) == ["2: ends with failure 7 @3"]


@pytest.mark.rule("R14")
def test_a_word_of_a_takeover_that_is_meant_for_an_earlier_attachment_means_nothing() -> None:
    talk = taken_up()
    assert talk.rejects("1", Reason.SUPERSEDED) == [], "the connection lost the call, and then got it back"
    assert talk.progresses(2) == ["2: progress 1 @2"]
    assert talk.rejects("1", Reason.SUPERSEDED) == []
    assert talk.rejects("2.1", Reason.SUPERSEDED) == ["2: ends with loss: superseded @2"]


# ------------------------------------------------------------------------------------- what else may still be under way


@pytest.mark.rule("R15")
def test_the_result_of_an_older_resume_says_nothing_of_the_new_attachment() -> None:
    talk = taken_up()
    talk.attach(talk.detach(2))
    assert talk.replies("2.1") == []
    assert talk.state(3) is CallState.REATTACHING
    assert talk.progresses(2) == ["3: progress 1 @2"]


@pytest.mark.rule("R6")
def test_an_old_end_is_not_the_one_that_is_acknowledged() -> None:
    talk = taken_up()
    assert talk.ends(4) == []
    talk.progresses(2)
    talk.take(2, 2)
    assert talk.responds(3) == ["2: ends with result @3"]
    assert talk.state(2) is CallState.SETTLING, "the end of this attachment is still to come"
    assert talk.ends(4) == ["c1 <- ack s1 4"]


@pytest.mark.rule("R15", "Q9a")
def test_an_old_end_does_not_make_a_stream_finished_that_was_only_let_go() -> None:
    talk = taken_up()
    assert talk.ends(4) == []
    assert talk.replies("2.1") == []
    assert talk.wait(2.0) == ["2: tries resume", "c1 <- resume s1 after 1 #3"]
    assert talk.progresses(2) == ["2: progress 1 @2"]


@pytest.mark.rule("R24", "Q4e")
def test_an_old_question_is_handed_over_once_though_it_is_sent_again() -> None:
    talk = taken_up()
    assert talk.asks(2) == ["2: asked q1 @2"]
    assert talk.asks(2) == ["2: drops @2"]
    assert talk.answer("q1", 2) == ["c1 <- result q1"]


@pytest.mark.rule("R24", "R4")
def test_an_old_question_beyond_what_is_missing_waits_for_its_turn() -> None:
    talk = taken_up()
    assert talk.asks(3) == []
    assert talk.progresses(2) == ["2: progress 1 @2"]
    assert talk.asks(3) == ["2: asked q1 @3"]
