"""Letting go of a call: its caller hears it at once, its server until it has confirmed (rules P25, R22, R27)."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client.inputs import DetachCall, PathUnsent, PathUnusable
from mcpstreams_sansio.client.table import CallState
from mcpstreams_sansio.ids import CallId, ConnectionId
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse
from mcpstreams_sansio.wire.refusals import Reason
from tests.sansio.client.conversation import CONFIG, DRAFT, MARKER, Conversation, progress, request_id

CANCELLED = "1: ends with cancelled @1"


def following(*, http: bool = False, draft: bool = False) -> Conversation:
    """Return a conversation with one call whose stream is delivered on the path of its request."""
    talk = Conversation(http=http)
    if draft:
        talk.server = DRAFT
    talk.link_up()
    talk.call()
    talk.creates(1 if http else None)
    return talk


def resumed(*, draft: bool = False) -> Conversation:
    """The same, but it was resumed on another connection."""
    talk = following(draft=draft)
    talk.link_down()
    talk.link_up()
    talk.wait(1.0)
    talk.progresses(2)
    return talk


# ------------------------------------------------------------------------------------------------------- by request id


@pytest.mark.rule("R22", "P25", "Q9b")
def test_where_its_request_went_a_call_is_cancelled_by_its_id() -> None:
    talk = following()
    assert talk.cancel() == [CANCELLED, "1: tries cancel", "c1 <- cancelled 1 key"]
    assert talk.state() is CallState.CANCELLING
    assert talk.ends(2) == []
    assert talk.state() is None


@pytest.mark.rule("Q9c")
def test_who_cancelled_ignores_what_was_under_way() -> None:
    talk = following()
    talk.cancel()
    assert talk.progresses(2) == []
    assert talk.asks(3) == []
    assert talk.withdraws(4) == []
    assert talk.state() is CallState.CANCELLING


def test_m2_an_answer_that_crossed_the_cancellation_confirms_it() -> None:
    talk = following()
    talk.cancel()
    assert talk.responds(2) == []
    assert talk.state() is None
    talk = following()
    talk.cancel()
    assert talk.fails(2) == []
    assert talk.state() is None


@pytest.mark.rule("Q9d", "T21")
def test_t21_a_create_that_crossed_the_cancellation_is_not_followed() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    assert talk.cancel() == ["1: ends with cancelled @0", "1: tries cancel", "c1 <- cancelled 1 key"]
    assert talk.creates() == []
    talk.link_down()
    assert talk.link_up() == ["1: tries cancel", "c2 <- cancel s1"], "it serves to cancel, and to nothing else"
    assert talk.replies("1.1") == []
    assert talk.state() is None


def test_a_server_without_the_marker_is_told_once_and_confirms_nothing() -> None:
    talk = following(draft=True)
    assert talk.cancel() == [CANCELLED, "1: tries cancel", "c1 <- cancelled 1"]
    assert talk.state() is None
    assert talk.ends(2) == []


# ------------------------------------------------------------------------------------------------------------ by token


@pytest.mark.rule("R22", "Q9e")
def test_anywhere_else_it_is_cancelled_by_its_token() -> None:
    talk = resumed()
    assert talk.cancel() == ["1: ends with cancelled @2", "1: tries cancel", "c2 <- cancel s1"]
    assert talk.replies("1.2") == []
    assert talk.state() is None


@pytest.mark.rule("R22")
def test_any_answer_to_a_cancellation_confirms_it() -> None:
    talk = resumed()
    talk.cancel()
    assert talk.rejects("1.2", Reason.FINISHED) == []
    assert talk.state() is None
    talk = resumed()
    talk.cancel()
    assert talk.says(ErrorResponse("instance-1.2", -32601, "what is that?")) == []
    assert talk.state() is None


def test_save_one_that_asks_for_patience() -> None:
    talk = resumed()
    talk.cancel()
    assert talk.rejects("1.2", Reason.TOO_EARLY) == []
    assert talk.wait(1.0) == ["1: tries cancel", "c2 <- cancel s1"]


@pytest.mark.rule("R22")
def test_a_cancellation_that_was_lost_is_told_again() -> None:
    talk = following()
    talk.cancel()
    talk.link_down()
    assert talk.state() is CallState.CANCEL_DUE
    assert talk.wait(5.0) == []
    assert talk.link_up() == ["1: tries cancel", "c2 <- cancel s1"]
    talk.replies("1.1")
    assert talk.state() is None


@pytest.mark.rule("R22")
def test_a_server_that_does_not_confirm_is_left_alone_after_a_while() -> None:
    talk = following()
    talk.now += 100.0
    talk.cancel()
    assert talk.wait(CONFIG.cancel_patience) == []
    assert talk.state() is None


def test_a_server_that_can_not_be_reached_is_left_alone_after_a_while() -> None:
    talk = following()
    talk.now += 100.0
    talk.cancel()
    talk.link_down()
    assert talk.wait(CONFIG.cancel_patience) == []
    assert talk.state() is None
    assert not talk.streams.needs_link


def test_nor_is_one_that_could_not_be_reached_when_the_call_was_cancelled() -> None:
    talk = following()
    talk.now += 100.0
    talk.link_down()
    assert talk.cancel() == [CANCELLED]
    assert talk.wait(CONFIG.cancel_patience) == []
    assert talk.state() is None


def test_a_cancellation_without_a_reply_is_repeated_within_its_patience() -> None:
    talk = Conversation(config=attrs.evolve(CONFIG, reply_timeout=5.0, cancel_patience=12.0), now=100.0)
    talk.link_up()
    talk.call()
    talk.creates()
    talk.link_down()
    talk.cancel()
    assert talk.link_up() == ["1: tries cancel", "c2 <- cancel s1"]
    assert talk.wait(6.0) == ["1: tries cancel", "c2 <- cancel s1"]
    assert talk.wait(6.0) == []
    assert talk.state() is None


@pytest.mark.rule("R22")
def test_no_reply_is_waited_for_longer_than_a_cancellation_is_worth() -> None:
    talk = Conversation(config=attrs.evolve(CONFIG, cancel_patience=12.0), now=100.0)
    talk.link_up()
    talk.call()
    talk.creates()
    talk.link_down()
    talk.cancel()
    talk.link_up()
    assert talk.wait(12.0) == []
    assert talk.state() is None


# -------------------------------------------------------------------------------------------------------------- by key


@pytest.mark.rule("R21", "R22")
def test_a_call_of_which_only_the_key_is_known_is_cancelled_by_it() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.link_down()
    assert talk.cancel() == ["1: ends with cancelled @0"]
    assert talk.link_up() == ["1: tries cancel", "c2 <- cancelled 1 key"]
    talk.link_down()
    assert talk.state() is CallState.CANCEL_DUE
    assert talk.link_up() == ["1: tries cancel", "c3 <- cancelled 1 key"]
    assert talk.wait(CONFIG.cancel_patience) == []
    assert talk.state() is None


def test_over_http_too_and_there_its_acceptance_confirms_it() -> None:
    talk = Conversation(http=True)
    talk.link_up()
    talk.call()
    assert talk.cancel() == ["1: ends with cancelled @0", "leave c1", "1: tries cancel", "c2 <- cancelled 1 key"]
    assert talk.accepts(2) == ["leave c2"]
    assert talk.state() is None


# ---------------------------------------------------------------------------------------------- with nothing of these


@pytest.mark.rule("Q9e")
def test_a_request_of_a_lost_connection_can_not_be_cancelled_and_need_not_be() -> None:
    talk = Conversation(server=DRAFT)
    talk.link_up()
    talk.call()
    talk.creates(interval=None)
    talk.link_down()
    talk.link_up()
    talk.wait(1.0)
    assert talk.state() is CallState.RECOVERING
    assert talk.cancel() == [CANCELLED, "1: tries cancel", "c2 <- resume s1", "c2 <- cancelled 1"]
    assert talk.replies("1.2") == []
    assert talk.state() is None


def test_over_http_its_session_knows_the_request() -> None:
    talk = following(http=True, draft=True)
    assert talk.cancel() == [CANCELLED, "leave c1", "1: tries cancel", "c2 <- cancelled 1"]
    talk.accepts(2)
    assert talk.state() is None


@pytest.mark.rule("Q9e", "R16")
def test_another_session_does_not() -> None:
    talk = following(http=True, draft=True)
    talk.link_down()
    talk.link_up()
    assert talk.cancel() == [CANCELLED, "leave c1"]
    assert talk.state() is None


def test_what_was_never_sent_needs_no_cancellation() -> None:
    talk = Conversation()
    talk.call()
    assert talk.cancel() == ["1: ends with cancelled @0"]
    assert talk.state() is None
    assert talk.link_up() == []


def test_what_was_certainly_not_taken_needs_none_either() -> None:
    talk = Conversation(http=True)
    talk.link_up()
    talk.call()
    talk.tell(PathUnsent(ConnectionId(1)))
    assert talk.cancel() == ["1: ends with cancelled @0"]
    assert talk.state() is None


@pytest.mark.parametrize("http", [False, True])
def test_a_call_of_another_process_that_only_its_connection_knew_can_not_be_cancelled(http: bool) -> None:
    talk = Conversation(http=http, server=DRAFT)
    talk.link_up()
    talk.link_down()
    talk.call()
    saved = attrs.evolve(talk.detach(), sent=True)
    talk.attach(saved)
    talk.cancel(2)
    assert talk.link_up() == []
    assert talk.state(2) is None


# --------------------------------------------------------------------------------------------------- over exchanges


@pytest.mark.parametrize("status", [400, 404, 410])
def test_a_server_that_refuses_to_be_told_is_left_alone(status: int) -> None:
    talk = following(http=True)
    assert talk.cancel()[-1] == "c2 <- cancel s1"
    talk.refuses(2, status)
    assert talk.state() is None


@pytest.mark.parametrize("status", [429, 503])
def test_one_that_refuses_for_now_is_told_again(status: int) -> None:
    talk = following(http=True)
    talk.cancel()
    assert talk.refuses(2, status) == []
    assert talk.wait(1.0) == ["1: tries cancel", "c3 <- cancel s1"]
    talk.cut(3)
    assert talk.wait(2.0) == ["1: tries cancel", "c4 <- cancel s1"]
    talk.cut(4)
    assert talk.wait(3.9) == [], "the pauses grow"
    assert talk.wait(0.1) == ["1: tries cancel", "c5 <- cancel s1"]


def test_an_answer_that_can_not_be_read_is_an_answer() -> None:
    talk = following(http=True)
    talk.cancel()
    assert talk.tell(PathUnusable(ConnectionId(2))) == []
    assert talk.state() is None


def test_an_error_without_an_id_is_an_answer_too() -> None:
    talk = following(http=True, draft=True)
    talk.cancel()
    assert talk.says(ErrorResponse(None, -32600, "no"), path=2) == ["leave c2"]
    assert talk.state() is None


def test_m8_a_cancelled_call_leads_to_nothing_else() -> None:
    talk = following()
    talk.cancel()
    assert talk.cancel() == []
    assert talk.take(1) == []
    assert talk.answer("q1") == []
    talk.link_down()
    talk.link_up()
    talk.replies("1.1")
    assert talk.wait(1_000.0) == []


def test_a_call_that_has_its_outcome_can_not_be_cancelled() -> None:
    talk = following()
    talk.responds(2)
    assert talk.cancel() == []
    talk.ends(3)
    assert talk.cancel() == []


def test_open_questions_are_withdrawn_with_their_call() -> None:
    talk = following()
    talk.asks(2)
    assert talk.cancel()[:2] == ["1: withdrawn q1", "1: ends with cancelled @2"]


def test_a_cancelled_call_that_polled_or_waited_is_cancelled_as_well() -> None:
    talk = following()
    talk.link_down()
    talk.link_up()
    assert talk.state() is CallState.WAITING
    assert talk.cancel() == [CANCELLED, "1: tries cancel", "c2 <- cancel s1"]


# ------------------------------------------------------------------------------------------------------------ detaching


@pytest.mark.rule("R27", "Q2f")
def test_a_call_that_is_let_go_is_not_cancelled_and_its_resume_is() -> None:
    talk = resumed()
    assert talk.take(2) == []
    saved = talk.detach()
    assert (saved.request_id, saved.stream_id, saved.taken, saved.attempt) == (request_id(1), "s1", 2, 2)
    assert talk.state() is None
    assert talk.progresses(3) == ["c2: stray progress 2"]


@pytest.mark.rule("Q2f")
def test_only_a_resume_can_be_given_up_for_itself() -> None:
    assert resumed().tell(DetachCall(CallId(1))) == ["c2 <- cancelled 1.1", "1: detached @1"]
    assert following().tell(DetachCall(CallId(1))) == ["1: detached @1"]
    assert following(http=True).tell(DetachCall(CallId(1))) == ["1: detached @1", "leave c1"]


@pytest.mark.rule("R27", "R23")
def test_what_was_not_taken_comes_again_wherever_the_call_goes_on() -> None:
    talk = following()
    talk.progresses(2)
    talk.progresses(3)
    talk.take(2)
    saved = talk.detach()
    assert talk.attach(saved) == ["2: tries resume", "c1 <- resume s1 after 2 #2"]
    assert talk.progresses(3) == ["2: progress 2 @3"]


def test_open_questions_of_a_call_that_is_let_go_are_withdrawn() -> None:
    talk = following()
    talk.asks(2)
    assert talk.tell(DetachCall(CallId(1))) == ["1: withdrawn q1", "1: detached @2"]


def test_what_was_due_before_a_call_is_let_go_is_done_before() -> None:
    talk = following()
    talk.progresses(2)
    talk.take(2)
    talk.now += CONFIG.ack_interval
    assert talk.tell(DetachCall(CallId(1))) == ["c1 <- ack s1 2", "1: detached @2"]


@pytest.mark.rule("Q9c")
def test_progress_of_a_call_that_is_being_cancelled_is_nobodys_concern() -> None:
    talk = resumed(draft=True)
    assert talk.cancel()[1:] == ["1: tries cancel", "c2 <- resume s1", "c2 <- cancelled 1"]
    assert talk.state() is CallState.CANCELLING
    assert talk.says(progress(3, request_id(1))) == []


def test_a_call_that_has_its_outcome_is_not_there_to_be_let_go() -> None:
    talk = following()
    talk.responds(2)
    assert talk.tell(DetachCall(CallId(1))) == []
    talk.ends(3)
    assert talk.tell(DetachCall(CallId(1))) == []


def test_a_call_that_was_never_sent_is_sent_where_it_goes_on() -> None:
    talk = Conversation()
    talk.call()
    saved = talk.detach()
    assert not saved.sent
    talk.attach(saved)
    assert talk.link_up() == ["c1 <- call 1 key #1"]


@pytest.mark.rule("R21")
def test_a_key_keeps_its_age_when_its_call_is_saved() -> None:
    talk = Conversation(server=attrs.evolve(MARKER, key_ttl=100.0))
    talk.link_up()
    talk.call()
    talk.now += 30.0
    talk.link_down()
    saved = talk.detach()
    assert saved.key_age == 30.0
    talk.attach(attrs.evolve(saved, key_age=41.0))
    assert talk.link_up() == ["2: ends with doubt: key too old @0"]
    assert talk.attach(attrs.evolve(saved, key_age=40.0)) == ["3: tries resend", "c2 <- call 1 key #2"]
