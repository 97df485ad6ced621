"""What becomes of paths: taken, refused, over, and the link that comes and goes."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client.effects import LeavePath
from mcpstreams_sansio.client.inputs import ClientStreamsInput, LinkDown, LinkUp, PathRefused, PathUnsent, PathUnusable
from mcpstreams_sansio.client.table import CallState
from mcpstreams_sansio.connections import ConnectionLost
from mcpstreams_sansio.ids import ConnectionId
from tests.sansio.client.conversation import CONFIG, DRAFT, MARKER, Conversation


def sent(*, draft: bool = False) -> Conversation:
    """Return a conversation over HTTP whose one call was just sent."""
    talk = Conversation(http=True, server=DRAFT if draft else MARKER)
    talk.link_up()
    talk.call()
    return talk


def resuming() -> Conversation:
    """Return a conversation over HTTP whose one call was just resumed."""
    talk = sent()
    talk.creates(path=1)
    talk.cut(1)
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 after 1 #2 at s1_1"]
    return talk


# ----------------------------------------------------------------------------------------------------------- statuses


@pytest.mark.parametrize("status", [301, 400, 403, 404, 405, 406, 410, 413, 415])
def test_a_call_that_is_refused_by_its_status_certainly_did_not_run(status: int) -> None:
    assert sent(draft=True).refuses(1, status) == ["1: ends with not run: refused @0"]


@pytest.mark.parametrize("status", [409, 429])
def test_a_call_that_is_refused_for_now_goes_out_anew_though_unkeyed(status: int) -> None:
    talk = sent(draft=True)
    assert talk.refuses(1, status, retry_after=3.0) == []
    assert talk.wait(2.9) == []
    assert talk.wait(0.1) == ["c2 <- call 1"]


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
def test_a_server_that_fails_may_have_run_the_call(status: int) -> None:
    assert sent(draft=True).refuses(1, status) == ["1: ends with doubt: connection lost @0"]
    talk = sent()
    assert talk.refuses(1, status) == []
    assert talk.wait(1.0) == ["1: tries resend", "c2 <- call 1 key #2"]


@pytest.mark.parametrize("status", [400, 403, 404, 410])
def test_a_resume_that_is_refused_without_a_reason_leaves_the_outcome_in_doubt(status: int) -> None:
    assert resuming().refuses(2, status) == ["1: ends with doubt: refused @1"]


@pytest.mark.rule("F4")
@pytest.mark.parametrize("status", [409, 429, 500, 503])
def test_f4_a_resume_that_is_refused_for_now_is_tried_again(status: int) -> None:
    talk = resuming()
    assert talk.refuses(2, status) == []
    assert talk.wait(2.0) == ["1: tries resume", "c3 <- resume s1 after 1 #3 at s1_1"]


def test_g7_a_server_without_get_can_bring_nothing_back_by_a_cursor() -> None:
    talk = sent(draft=True)
    talk.primes(0, path=1)
    talk.cut(1)
    talk.wait(1.0)
    assert talk.refuses(2, 405) == ["1: ends with doubt: connection lost @0"]


def test_a_poll_that_is_refused_for_good_ends_the_call() -> None:
    talk = Conversation(http=True, config=attrs.evolve(CONFIG, poll_first=True))
    talk.link_up()
    talk.call()
    talk.creates(path=1)
    talk.cut(1)
    assert talk.wait(1.0) == ["1: tries poll", "c2 <- poll s1"]
    assert talk.accepts(2) == []
    assert talk.state() is CallState.POLLING
    assert talk.refuses(2, 400) == ["1: ends with doubt: refused @1"]


def test_a_status_after_the_answer_changes_nothing() -> None:
    for status in (400, 429, 500):
        talk = sent()
        talk.creates(path=1)
        talk.progresses(2, path=1)
        talk.responds(3, path=1)
        assert talk.refuses(1, status)[:1] in ([], ["c2 <- ack s1 1"])
        talk.take(2)
        assert talk.wait(CONFIG.linger) in ([], ["c2 <- ack s1 3"])
        assert talk.state() is None


@pytest.mark.parametrize("keyed", [True, False])
def test_g3_an_answer_that_can_not_be_read_is_not_asked_for_again(keyed: bool) -> None:
    talk = sent(draft=not keyed)
    assert talk.tell(PathUnusable(ConnectionId(1))) == ["1: ends with doubt: unreadable @0"]
    assert resuming().tell(PathUnusable(ConnectionId(2))) == ["1: ends with doubt: unreadable @1"]


def test_an_answered_call_whose_exchange_turns_unreadable_is_answered() -> None:
    talk = sent()
    talk.creates(path=1)
    talk.responds(2, path=1)
    assert talk.tell(PathUnusable(ConnectionId(1))) == ["c2 <- ack s1 2"]


# ----------------------------------------------------------------------------------------------------- late, or never


@pytest.mark.rule("R13")
def test_what_is_reported_of_an_exchange_that_is_over_changes_nothing() -> None:
    talk = resuming()
    over = ConnectionId(1)
    assert talk.accepts(1) == []
    assert talk.refuses(1, 400) == []
    assert talk.tell(PathUnsent(over), PathUnusable(over), ConnectionLost(over)) == []
    assert talk.state() is CallState.RECOVERING


@pytest.mark.rule("R13")
@pytest.mark.parametrize(
    "end",
    [
        ConnectionLost(ConnectionId(2)),
        PathUnsent(ConnectionId(2)),
        PathUnusable(ConnectionId(2)),
        PathRefused(ConnectionId(2), 503, None),
    ],
    ids=lambda end: type(end).__name__,
)
def test_nothing_is_ordered_for_an_exchange_that_has_just_ended_although_it_was_due(end: ClientStreamsInput) -> None:
    talk = resuming()
    talk.now += 100.0
    assert not [effect for effect in talk.effects(end) if isinstance(effect, LeavePath)]


def test_an_exchange_of_a_call_that_is_over_says_nothing() -> None:
    talk = sent()
    talk.creates(path=1)
    talk.asks(2, path=1)
    talk.answer("q1")
    talk.responds(3, path=1)
    talk.cut(1)
    assert talk.state() is None
    assert talk.refuses(2, 500) == []


# ---------------------------------------------------------------------------------------------------------- the link


def test_a_shared_connection_that_is_lost_is_the_link() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.creates()
    assert talk.tell(ConnectionLost(ConnectionId(1))) == []
    assert talk.state() is CallState.WAITING
    assert talk.tell(LinkDown(), ConnectionLost(ConnectionId(1))) == []


def test_a_new_link_takes_the_place_of_the_old_one() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.creates()
    assert talk.link_up() == ["c2 <- ack s1 1"]
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 after 1 #2"]


def test_the_ids_of_exchanges_never_clash_with_a_connection_that_somebody_else_named() -> None:
    talk = Conversation()
    talk.tell(LinkUp(ConnectionId(50), MARKER), LinkDown(), LinkUp(None, MARKER))
    assert talk.call() == ["c51 <- call 1 key #1"]


def test_a_call_that_waits_already_loses_nothing_more() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.creates()
    talk.link_down()
    talk.link_up()
    assert talk.state() is CallState.WAITING
    talk.link_down()
    talk.link_up()
    assert talk.wait(1.0) == ["1: tries resume", "c3 <- resume s1 after 1 #2"], "its pause goes on"


def test_all_calls_of_a_connection_come_back_when_it_is_lost() -> None:
    talk = Conversation()
    talk.link_up()
    for number in (1, 2, 3):
        talk.call()
        talk.creates(number=number)
    talk.link_down()
    talk.link_up()
    assert talk.wait(1.0)[1::2] == [f"c2 <- resume s{number} after 1 #2" for number in (1, 2, 3)]


def test_where_links_are_short_those_that_got_nothing_go_first() -> None:
    talk = Conversation()
    talk.link_up()
    for number in (1, 2, 3):
        talk.call()
        talk.creates(number=number)
    for path in (2, 3):
        talk.link_down()
        talk.wait(1.5)
        talk.link_up()
        assert talk.wait(0.0) == []
        talk.progresses(path, number=1)
    talk.link_down()
    talk.wait(8.0)
    served = [text for text in talk.link_up() if "resume" in text and "<-" in text]
    assert [text.split()[3] for text in served] == ["s2", "s3", "s1"]
