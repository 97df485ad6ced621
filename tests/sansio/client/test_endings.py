"""How a call ends for its caller, and how what is left of it is put in order (rules Q3d, R6, R23)."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client.effects import CallFailed, CallFinished, CallResult, Doubt, OutcomeUnknown
from mcpstreams_sansio.client.failures import Failure, Said
from mcpstreams_sansio.client.inputs import GivenUp, LinkGivenUp, MessageReceived
from mcpstreams_sansio.client.table import CallState
from mcpstreams_sansio.ids import ConnectionId, StreamId
from mcpstreams_sansio.wire.jsonrpc import Response
from mcpstreams_sansio.wire.refusals import interrupted_error
from mcpstreams_sansio.wire.tags import tagged
from tests.sansio.client.conversation import CONFIG, DRAFT, Conversation, request_id


def following(*, http: bool = False) -> Conversation:
    """Return a conversation with one call and its stream."""
    talk = Conversation(http=http)
    talk.link_up()
    talk.call()
    talk.creates(1 if http else None)
    return talk


@pytest.mark.rule("R4")
def test_the_caller_gets_the_result_as_the_application_made_it() -> None:
    talk = following()
    result = tagged(Response(request_id(1), {"content": [], "_meta": {"theirs": 1}}), StreamId("s1"), 2)
    (effect,) = talk.effects(MessageReceived(ConnectionId(1), result))
    assert isinstance(effect, CallFinished)
    assert effect.outcome == CallResult({"content": [], "_meta": {"theirs": 1}})


@pytest.mark.rule("R21")
def test_h4_an_answer_that_tells_of_an_interruption_leaves_the_caller_in_doubt() -> None:
    talk = following()
    assert talk.tell(MessageReceived(ConnectionId(1), interrupted_error(request_id(1)))) == [
        "1: ends with doubt: interrupted @2"
    ]
    assert talk.ends(3) == ["c1 <- ack s1 3"]


@pytest.mark.rule("R21")
def test_without_a_key_such_an_error_is_the_applications_own() -> None:
    talk = Conversation(server=DRAFT)
    talk.link_up()
    talk.call()
    talk.creates()
    error = interrupted_error(request_id(1))
    (effect,) = talk.effects(MessageReceived(ConnectionId(1), error))
    assert isinstance(effect, CallFinished)
    assert effect.outcome == CallFailed(error)


@pytest.mark.rule("Q3d")
def test_the_caller_does_not_wait_for_end_and_the_server_is_not_asked_for_it() -> None:
    talk = following()
    assert talk.responds(2) == ["1: ends with result @2"]
    assert talk.state() is CallState.SETTLING
    assert not talk.streams.needs_link
    assert talk.link_down() == []
    assert talk.state() is None
    assert talk.link_up() == ["c2 <- ack s1 2"], "the response at least is known to have arrived"


def test_an_end_that_does_not_come_is_not_waited_for() -> None:
    talk = following()
    talk.responds(2)
    assert talk.wait(CONFIG.settle_timeout) == ["c1 <- ack s1 2"]
    assert talk.state() is None


def test_f1_over_http_what_follows_the_answer_is_still_read() -> None:
    talk = following(http=True)
    assert talk.responds(2, path=1) == ["1: ends with result @2"]
    assert talk.ends(3, path=1) == []
    assert talk.cut(1) == ["c2 <- ack s1 3"]


def test_an_exchange_that_does_not_end_after_the_answer_is_left() -> None:
    talk = following(http=True)
    talk.responds(2, path=1)
    assert talk.wait(CONFIG.settle_timeout) == ["leave c1", "c2 <- ack s1 2"]


def test_an_unkeyed_answer_leaves_nothing_to_be_done() -> None:
    talk = Conversation(server=DRAFT)
    talk.link_up()
    talk.call()
    talk.creates()
    assert talk.responds(2) == ["1: ends with result @2"]
    assert talk.state() is None
    assert talk.ends(3) == []


@pytest.mark.rule("R23")
def test_messages_that_nobody_took_are_not_acknowledged_with_the_answer() -> None:
    talk = following()
    talk.progresses(2)
    assert talk.responds(3) == ["1: ends with result @3"]
    assert talk.ends(4) == []
    assert talk.take(3) == ["c1 <- ack s1 4"]
    assert talk.state() is None


def test_an_application_that_never_takes_them_is_not_waited_for_for_ever() -> None:
    talk = following()
    talk.progresses(2)
    talk.progresses(3)
    talk.take(2)
    talk.responds(4)
    talk.ends(5)
    assert talk.wait(CONFIG.linger) == ["c1 <- ack s1 2"]
    assert talk.state() is None
    assert talk.take(4) == []


def test_more_answered_calls_than_the_limit_are_not_kept() -> None:
    talk = Conversation(config=attrs.evolve(CONFIG, max_settling=1))
    talk.link_up()
    for number in (1, 2):
        talk.call()
        talk.creates(number=number)
        talk.progresses(2, number=number)
    assert talk.responds(3, number=1) == ["1: ends with result @3"]
    assert talk.responds(3, number=2) == ["2: ends with result @3", "c1 <- ack s2 1, s1 1"]
    assert (talk.state(1), talk.state(2)) == (None, CallState.SETTLING)


@pytest.mark.parametrize(
    ("why", "sent", "unsent"),
    [
        (GivenUp.FAILED, "doubt: client failed", "not run: client failed"),
        (GivenUp.CLOSED, "doubt: client closed", "not run: client closed"),
    ],
)
def test_h2_when_all_is_given_up_every_call_has_its_outcome(why: GivenUp, sent: str, unsent: str) -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.link_down()
    talk.call()
    done = talk.tell(LinkGivenUp(why))
    assert done == [f"1: ends with {sent} @0", f"2: ends with {unsent} @0"]
    assert talk.streams.next_deadline() is None


def test_i6_whoever_does_not_know_what_became_of_a_call_knows_why() -> None:
    talk = following()
    said = Said(401, "who are you?")
    effect = talk.effects(LinkGivenUp(GivenUp.FAILED, Failure.UNAUTHORIZED, said))[0]
    assert isinstance(effect, CallFinished)
    assert effect.outcome == OutcomeUnknown(Doubt.CLIENT_FAILED, Failure.UNAUTHORIZED, said)


def test_what_was_taken_is_still_acknowledged_when_all_is_given_up() -> None:
    talk = following()
    talk.progresses(2)
    talk.take(2)
    talk.responds(3)
    assert talk.tell(LinkGivenUp(GivenUp.CLOSED)) == ["c1 <- ack s1 3"]
    assert talk.tell(LinkGivenUp(GivenUp.CLOSED)) == []


@pytest.mark.rule("R22", "R27")
def test_a_cancellation_that_is_on_its_way_is_left_to_arrive_when_all_is_given_up() -> None:
    talk = following(http=True)
    assert talk.cancel()[-1] == "c2 <- cancel s1"
    assert talk.tell(LinkGivenUp(GivenUp.CLOSED)) == []
    assert talk.state() is None
    assert talk.cut(2) == []


@pytest.mark.rule("R22", "R27")
def test_a_cancellation_that_waits_goes_out_once_more_when_all_is_given_up() -> None:
    talk = following(http=True)
    talk.cancel()
    talk.cut(2)
    assert talk.state() is CallState.CANCEL_DUE
    assert talk.tell(LinkGivenUp(GivenUp.CLOSED)) == ["1: tries cancel", "c3 <- cancel s1"]
    assert talk.state() is None


def test_a_cancellation_is_given_up_where_nothing_can_be_sent() -> None:
    talk = following()
    talk.link_down()
    talk.cancel()
    assert talk.tell(LinkGivenUp(GivenUp.CLOSED)) == []
    assert talk.state() is None


def test_a_cancellation_by_an_id_that_no_session_knows_any_more_is_given_up() -> None:
    talk = Conversation(http=True, server=DRAFT)
    talk.link_up()
    talk.call()
    talk.primes(0, path=1)
    assert talk.cancel()[-1] == "c2 <- cancelled 1"
    talk.link_down()
    talk.link_up()
    talk.cut(2)
    assert talk.state() is CallState.CANCEL_DUE
    assert talk.tell(LinkGivenUp(GivenUp.CLOSED)) == []
    assert talk.state() is None


def test_a_cancellation_whose_patience_is_over_is_given_up_where_it_could_be_sent() -> None:
    talk = following(http=True)
    talk.cancel()
    talk.cut(2)
    talk.now += talk.config.cancel_patience
    assert talk.tell(LinkGivenUp(GivenUp.CLOSED)) == []
    assert talk.state() is None


@pytest.mark.rule("R6")
def test_what_waits_behind_an_exchange_with_acknowledgements_is_sent_when_all_is_given_up() -> None:
    talk = following(http=True)
    talk.progresses(2, path=1)
    talk.progresses(3, path=1)
    talk.take(2)
    assert talk.wait(talk.config.ack_interval) == ["c2 <- ack s1 2"]
    talk.take(3)
    talk.responds(4, path=1)
    assert talk.tell(LinkGivenUp(GivenUp.CLOSED)) == ["leave c1", "c3 <- ack s1 4"]
