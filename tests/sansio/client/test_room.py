"""Room for messages: what becomes of a call whose application takes less than comes (rule R23)."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.inputs import ServerTraits
from mcpstreams_sansio.client.table import CallState
from mcpstreams_sansio.wire.jsonrpc import Request
from mcpstreams_sansio.wire.streams import ResumeInterval
from tests.sansio.client.conversation import ASK, CONFIG, DRAFT, MARKER, Conversation

SMALL = attrs.evolve(CONFIG, max_unread=2)


def following(
    config: ClientConfig, *, http: bool = False, server: ServerTraits = MARKER, interval: ResumeInterval | None = None
) -> Conversation:
    """Return a conversation in which the call has its stream."""
    talk = Conversation(http=http, config=config, server=server)
    talk.link_up()
    talk.call()
    path = 1 if http else None
    if http:
        talk.accepts(1)
    talk.creates(path, interval=interval)
    return talk


def crowded(*, http: bool = False, draft: bool = False, interval: ResumeInterval | None = None) -> Conversation:
    """Return a conversation in which the application has more than it takes: more than two messages."""
    path = 1 if http else None
    talk = following(SMALL, http=http, server=DRAFT if draft else MARKER, interval=interval)
    for sequence in (2, 3, 4):
        talk.progresses(sequence, path)
    assert talk.state() is CallState.FULL
    return talk


@pytest.mark.rule("R23")
def test_a_shared_connection_is_read_on_and_what_has_no_room_comes_again() -> None:
    talk = crowded()
    assert talk.progresses(5) == []
    assert talk.responds(6) == []
    assert talk.ends(7) == []
    assert talk.take(2) == []
    assert talk.take(3) == ["1: tries resume", "c1 <- resume s1 after 3 #2"]
    assert talk.progresses(4) == ["1: drops @4"]
    assert talk.progresses(5) == ["1: progress 4 @5"]
    assert talk.responds(6) == ["1: ends with result @6"]


@pytest.mark.rule("R23")
def test_where_nothing_was_passed_over_the_path_is_simply_followed_on() -> None:
    talk = crowded()
    assert talk.take(3) == []
    assert talk.state() is CallState.FOLLOWING
    assert talk.progresses(5) == ["1: progress 4 @5"]


@pytest.mark.rule("R23")
def test_an_exchange_is_not_read_while_there_is_no_room() -> None:
    talk = following(SMALL, http=True)
    talk.progresses(2, path=1)
    talk.progresses(3, path=1)
    assert talk.progresses(4, path=1) == ["1: progress 3 @4", "pause c1"]
    assert talk.take(3) == ["read c1"]


def test_what_an_exchange_brought_before_it_was_paused_comes_again() -> None:
    talk = crowded(http=True)
    assert talk.progresses(5, path=1) == []
    assert talk.take(4) == ["1: tries resume", "leave c1", "c2 <- resume s1 after 4 #2 at s1_4"]


@pytest.mark.rule("R21", "R23")
def test_who_comes_back_for_what_had_no_room_is_refused_like_anybody_who_comes_back() -> None:
    talk = crowded(http=True)
    talk.progresses(5, path=1)
    talk.take(4)
    assert talk.state() is CallState.RECOVERING
    assert talk.refuses(2, 429) == []
    assert talk.wait(2.0) == ["1: tries resume", "c3 <- resume s1 after 4 #3 at s1_4"], "the call itself was taken"


def test_an_untagged_exchange_keeps_what_was_under_way_when_it_was_paused() -> None:
    talk = crowded(http=True, draft=True)
    assert talk.progresses(5, path=1) == ["1: progress 4 @5"]
    assert talk.take(5) == ["read c1"]


@pytest.mark.rule("R10", "R23")
def test_what_can_not_come_again_is_counted_and_reported() -> None:
    talk = crowded(draft=True)
    assert talk.progresses(5) == []
    assert talk.progresses(6) == []
    assert talk.take(4) == ["1: gap of 2 @5"]
    assert talk.progresses(7) == ["1: progress 6 @6"]


@pytest.mark.rule("R10", "R23")
def test_a_gap_takes_no_room_and_the_next_one_is_counted_anew() -> None:
    talk = following(attrs.evolve(CONFIG, max_unread_bytes=200), server=DRAFT)
    for sequence in (2, 3, 4, 5):
        talk.progresses(sequence)
    assert talk.take(3) == ["1: gap of 1 @5"]
    talk.progresses(6)
    assert talk.state() is CallState.FOLLOWING, "200 bytes are there for 200"
    talk.progresses(7)
    talk.progresses(8)
    assert talk.take(6) == ["1: gap of 1 @8"]


def test_what_can_not_come_again_is_reported_before_the_answer_at_the_latest() -> None:
    talk = crowded(draft=True)
    talk.progresses(5)
    assert talk.responds(6) == ["1: gap of 1 @5", "1: ends with result @6"]


@pytest.mark.rule("Q7c", "R10", "R23")
def test_a_tagged_message_that_can_not_come_again_is_counted_and_the_answer_is_taken() -> None:
    talk = crowded(interval=ResumeInterval(max=0))
    assert talk.progresses(5) == []
    assert talk.asks(6) == ["1: asked q1 @6"]
    assert talk.progresses(7) == []
    assert talk.responds(8) == ["1: gap of 2 @7", "1: withdrawn q1", "1: ends with result @8"]
    assert talk.ends(9) == []
    assert talk.take(7) == ["c1 <- ack s1 9"], "nothing was asked for again, which would not be allowed"


@pytest.mark.rule("Q7c", "R23")
def test_after_a_gap_of_tagged_messages_the_path_is_simply_followed_on() -> None:
    talk = crowded(interval=ResumeInterval(max=0))
    talk.progresses(5)
    talk.progresses(6)
    assert talk.take(4) == ["1: gap of 2 @6"]
    assert talk.state() is CallState.FOLLOWING
    assert talk.progresses(7) == ["1: progress 6 @7"]
    assert talk.take(6) == []
    assert talk.wait(CONFIG.ack_interval) == ["c1 <- ack s1 6"]


@pytest.mark.rule("Q7c")
def test_a_server_that_leaves_out_what_can_not_come_again_is_not_asked_for_it() -> None:
    talk = crowded(interval=ResumeInterval(max=0))
    assert talk.progresses(6) == []
    assert talk.take(4) == ["1: ends with doubt: connection lost @4"]


def test_a_question_is_taken_up_where_it_can_not_come_again() -> None:
    talk = crowded(draft=True)
    asked = Request("q1", ASK, {"messages": [], "_meta": {"streamId": "s1"}})
    assert talk.says(asked) == ["1: asked q1 @5"]


def test_a_question_that_comes_again_waits_for_room() -> None:
    talk = crowded()
    assert talk.asks(5) == []
    talk.take(4)
    assert talk.asks(5) == ["1: asked q1 @5"]


@pytest.mark.rule("R23")
def test_bytes_count_as_well_as_messages() -> None:
    talk = following(attrs.evolve(CONFIG, max_unread_bytes=150), http=True)
    assert talk.progresses(2, path=1) == ["1: progress 1 @2"]
    assert talk.progresses(3, path=1) == ["1: progress 2 @3", "pause c1"]
    assert talk.take(2) == [], "100 of 150 bytes are more than half"
    assert talk.take(3) == ["read c1"]


def test_a_call_with_no_room_that_lost_its_path_stays_alive_by_polls_until_there_is_room() -> None:
    talk = crowded()
    talk.link_down()
    talk.link_up()
    assert talk.wait(1.0) == ["1: tries poll", "c2 <- poll s1"]
    assert talk.polled("1.1", pending=True) == []
    assert talk.wait(2.0) == ["1: tries poll", "c2 <- poll s1"]
    assert talk.polled("1.2", completed=True) == []
    assert talk.take(4) == []
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 after 4 #2"], "as soon as the server allows"


@pytest.mark.rule("R2", "R23")
def test_a_call_that_only_a_cursor_keeps_alive_comes_back_and_reads_nothing_until_there_is_room() -> None:
    talk = Conversation(http=True, config=SMALL, server=DRAFT)
    talk.link_up()
    talk.call()
    talk.accepts(1)
    talk.primes(0, path=1)
    for sequence in (2, 3, 4):
        talk.progresses(sequence, path=1)
    for path in (2, 3):
        talk.cut(path - 1)
        assert talk.wait(4.0) == ["1: tries cursor", f"c{path} <- get at s1_0"]
        assert talk.accepts(path) == [f"pause c{path}"]
        assert talk.state() is CallState.FULL
    assert talk.progresses(2, path=3) == ["1: drops @1"], "it was under way"
    assert talk.take(2) == ["read c3"]
    assert talk.progresses(5, path=3) == ["1: progress 4 @4"]


@pytest.mark.rule("P26", "R23")
@pytest.mark.parametrize("polled", [False, True])
def test_who_has_room_again_comes_back_no_sooner_than_the_server_allows(polled: bool) -> None:
    talk = crowded(interval=ResumeInterval(min=5, max=60))
    talk.link_down()
    talk.link_up()
    if polled:
        assert talk.wait(5.0) == ["1: tries poll", "c2 <- poll s1"]
        assert talk.polled("1.1", pending=True) == []
    talk.wait(1.0)
    assert talk.take(4) == []
    assert talk.wait(3.9) == []
    assert talk.wait(0.1) == ["1: tries resume", "c2 <- resume s1 after 4 #2"]


@pytest.mark.rule("R23")
def test_who_has_room_again_after_that_comes_back_at_once() -> None:
    talk = crowded()
    talk.link_down()
    talk.link_up()
    talk.wait(1.0)
    talk.polled("1.1", pending=True)
    assert talk.wait(1.5) == [], "the pauses of a call without room grow"
    talk.take(4)
    assert talk.wait(0.0) == ["1: tries resume", "c2 <- resume s1 after 4 #2"]


def test_a_call_with_no_room_whose_link_is_down_comes_back_with_the_link() -> None:
    talk = crowded(http=True)
    talk.progresses(5, path=1)
    talk.link_down()
    assert talk.take(4) == ["leave c1"]
    assert talk.wait(1.0) == []
    assert talk.link_up() == ["1: tries resume", "c2 <- resume s1 after 4 #2"], "without a cursor of the old session"


def test_room_means_nothing_to_a_call_that_is_on_its_way() -> None:
    talk = crowded()
    talk.link_down()
    talk.link_up()
    talk.wait(1.0)
    assert talk.take(4) == []
    assert talk.polled("1.1", pending=True) == ["1: tries resume", "c2 <- resume s1 after 4 #2"]
