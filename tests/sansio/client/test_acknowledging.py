"""Acknowledgements: what was taken, in time, and sent again until it arrived (rule R6)."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.inputs import PathUnsent, PathUnusable
from mcpstreams_sansio.ids import ConnectionId
from mcpstreams_sansio.wire.marker import Window
from tests.sansio.client import conversation
from tests.sansio.client.conversation import DRAFT, Conversation

CONFIG = attrs.evolve(conversation.CONFIG, ack_interval=5.0)


def following(
    window: Window | None = None, *, http: bool = False, calls: int = 1, config: ClientConfig = CONFIG
) -> Conversation:
    """Return a conversation in which each call has received four messages."""
    talk = Conversation(http=http, config=config)
    talk.link_up()
    for number in range(1, calls + 1):
        talk.call()
        path = number if http else None
        talk.creates(path, number, window=window)
        for sequence in range(2, 6):
            talk.progresses(sequence, path, number)
    return talk


@pytest.mark.rule("R6", "R23")
def test_what_was_taken_is_acknowledged_after_a_while_and_what_was_only_received_is_not() -> None:
    talk = following()
    talk.take(3)
    assert talk.wait(4.9) == []
    assert talk.wait(0.1) == ["c1 <- ack s1 3"]
    assert talk.wait(60.0) == []


@pytest.mark.rule("R6")
def test_half_of_the_window_is_acknowledged_at_once() -> None:
    talk = following(Window(8, 10_000))
    assert talk.take(3) == []
    assert talk.take(4) == ["c1 <- ack s1 4"]
    assert talk.take(5) == [], "counted from the last one"


@pytest.mark.rule("R6")
def test_half_of_the_window_in_bytes_too() -> None:
    talk = following(Window(1_000, 400))
    assert talk.take(2) == ["c1 <- ack s1 2"], "`create` and one message"
    assert talk.take(3) == []
    assert talk.take(4) == ["c1 <- ack s1 4"]


@pytest.mark.rule("R6")
def test_after_an_acknowledgement_or_a_resume_no_byte_counts_twice() -> None:
    talk = following(Window(1_000, 202))
    assert talk.take(2) == ["c1 <- ack s1 2"]
    assert talk.take(3) == [], "100 bytes of 202"
    talk.link_down()
    talk.link_up()
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 after 3 #2"]
    assert talk.take(4) == []
    assert talk.take(5) == ["c2 <- ack s1 5"]


@pytest.mark.rule("R6")
def test_those_of_several_streams_go_together() -> None:
    talk = following(calls=2)
    talk.take(3, 1)
    talk.wait(2.0)
    talk.take(2, 2)
    talk.take(4, 1)
    assert talk.wait(3.0) == ["c1 <- ack s2 2, s1 4"]


@pytest.mark.rule("R6")
def test_after_the_end_everything_is_acknowledged_at_once() -> None:
    talk = following()
    talk.responds(6)
    assert talk.take(6) == []
    assert talk.ends(7) == ["c1 <- ack s1 7"]


@pytest.mark.rule("R23")
def test_what_comes_after_an_untaken_message_is_not_acknowledged_though_the_call_is_answered() -> None:
    talk = following()
    talk.take(2)
    talk.responds(6)
    assert talk.ends(7) == []
    assert talk.take(4) == []
    assert talk.wait(5.0) == ["c1 <- ack s1 4"]
    assert talk.take(5) == ["c1 <- ack s1 7"]
    assert talk.state() is None


@pytest.mark.rule("P2")
def test_a_server_without_the_marker_is_told_nothing() -> None:
    talk = Conversation(server=DRAFT, config=CONFIG)
    talk.link_up()
    talk.call()
    talk.creates()
    talk.progresses(2)
    talk.take(2)
    assert talk.wait(60.0) == []


def test_a_server_that_lost_the_marker_is_told_nothing_either() -> None:
    talk = following()
    talk.take(3)
    talk.link_down()
    talk.server = DRAFT
    assert talk.link_up() == []


def test_what_waits_while_the_link_is_down_goes_with_the_next_one() -> None:
    talk = following()
    talk.link_down()
    talk.take(3)
    assert talk.wait(0.5) == []
    assert talk.link_up() == ["c2 <- ack s1 3"]


def test_a_resume_says_it_too() -> None:
    talk = following()
    talk.link_down()
    talk.link_up()
    talk.take(3)
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 after 3 #2"]
    assert talk.wait(10.0) == []


@pytest.mark.rule("R6")
def test_what_another_call_has_to_say_waits_no_longer_for_that() -> None:
    talk = following(calls=2)
    talk.take(3, 1)
    talk.take(3, 2)
    talk.cancel(1)
    assert talk.wait(5.0) == ["c1 <- ack s2 3"]


def test_with_the_last_one_that_waits_goes_its_deadline() -> None:
    talk = following()
    talk.take(3)
    assert talk.streams.next_deadline() == 5.0
    talk.cancel()
    assert talk.streams.next_deadline() == CONFIG.cancel_patience


def test_a_call_that_fails_leaves_nothing_to_acknowledge_but_what_was_wanted_before() -> None:
    talk = following()
    talk.take(3)
    talk.link_down()
    talk.wait(CONFIG.patience)
    assert talk.state() is None
    assert talk.link_up() == ["c2 <- ack s1 3"], "with its token it counts though nobody follows the stream"


# ------------------------------------------------------------------------------------------ what nobody has to take


def created(window: Window | None = None) -> Conversation:
    """Return a conversation in which a call has its stream, and nothing of it yet."""
    talk = Conversation(config=CONFIG)
    talk.link_up()
    talk.call()
    talk.creates(window=window)
    return talk


@pytest.mark.rule("R6")
def test_create_is_acknowledged_after_a_while() -> None:
    talk = created()
    assert talk.wait(4.9) == []
    assert talk.wait(0.1) == ["c1 <- ack s1 1"]
    assert talk.wait(60.0) == []


@pytest.mark.rule("R6", "Q4d")
def test_a_call_that_is_only_asked_acknowledges_after_a_while_too() -> None:
    talk = created()
    talk.wait(60.0)
    talk.asks(2)
    talk.wait(1.0)
    talk.asks(3, "q2")
    assert talk.wait(3.9) == []
    assert talk.wait(0.1) == ["c1 <- ack s1 3"]
    talk.withdraws(4)
    assert talk.wait(4.9) == []
    assert talk.wait(0.1) == ["c1 <- ack s1 4"]
    assert talk.wait(60.0) == []


@pytest.mark.rule("R6")
def test_a_call_that_is_only_asked_acknowledges_half_of_the_window_at_once() -> None:
    talk = created(Window(6, 10_000))
    assert talk.asks(2) == ["1: asked q1 @2"]
    assert talk.asks(3, "q2") == ["c1 <- ack s1 3", "1: asked q2 @3"]
    assert talk.withdraws(4) == ["1: withdrawn q1"]
    assert talk.asks(5, "q3") == ["1: asked q3 @5"]
    assert talk.asks(6, "q4") == ["c1 <- ack s1 6", "1: asked q4 @6"]


@pytest.mark.rule("R6")
def test_a_call_that_is_only_asked_acknowledges_half_of_the_window_in_bytes_too() -> None:
    talk = created(Window(1_000, 600))
    assert talk.asks(2) == ["1: asked q1 @2"]
    assert talk.asks(3, "q2") == ["c1 <- ack s1 3", "1: asked q2 @3"]
    assert talk.asks(4, "q2") == ["1: drops @4"], "known by its id, it stands at a position of its own all the same"
    assert talk.withdraws(5) == ["1: withdrawn q1"]
    assert talk.asks(6, "q3") == ["c1 <- ack s1 6", "1: asked q3 @6"]


@pytest.mark.rule("R6", "R23")
def test_a_question_behind_a_message_that_is_not_taken_waits_with_it() -> None:
    talk = created()
    talk.wait(60.0)
    talk.progresses(2)
    talk.asks(3)
    assert talk.wait(60.0) == []
    talk.take(2)
    assert talk.wait(5.0) == ["c1 <- ack s1 3"]


@pytest.mark.rule("R6", "P25")
def test_of_a_call_that_is_cancelled_or_lost_nothing_is_acknowledged_any_more() -> None:
    talk = created()
    talk.cancel()
    talk.ends(2)
    assert talk.wait(60.0) == []
    talk = created()
    talk.ends(2)
    assert talk.wait(60.0) == []


# ---------------------------------------------------------------------------------------------------- over exchanges


@pytest.mark.rule("R6")
def test_over_http_one_exchange_at_a_time_carries_them() -> None:
    talk = following(Window(4, 10_000), http=True)
    assert talk.take(2) == ["c2 <- ack s1 2"]
    assert talk.take(4) == []
    assert talk.accepts(2) == ["c3 <- ack s1 4"]
    assert talk.cut(2) == [], "what happens on after the acceptance is nobody's concern"


@pytest.mark.rule("R6")
@pytest.mark.parametrize("status", [None, 429, 503])
def test_one_that_was_lost_goes_again_since_the_server_may_wait_for_it(status: int | None) -> None:
    talk = following(Window(4, 10_000), http=True)
    talk.take(2)
    assert (talk.cut(2) if status is None else talk.refuses(2, status)) == []
    assert talk.wait(5.0) == ["c3 <- ack s1 2"]
    assert talk.tell(PathUnsent(ConnectionId(3))) == []
    assert talk.wait(5.0) == ["c4 <- ack s1 2"]


def test_one_that_is_still_under_way_when_it_is_time_is_waited_for() -> None:
    talk = following(Window(4, 10_000), http=True)
    talk.take(2)
    talk.take(4)
    assert talk.wait(30.0) == []
    assert talk.accepts(2) == ["c3 <- ack s1 4"]


@pytest.mark.parametrize("status", [400, 404])
def test_a_server_that_does_not_want_them_is_spared_them(status: int) -> None:
    talk = following(Window(4, 10_000), http=True)
    talk.take(2)
    assert talk.refuses(2, status) == []
    assert talk.wait(60.0) == []


def test_one_whose_reply_can_not_be_read_has_arrived() -> None:
    talk = following(Window(4, 10_000), http=True)
    talk.take(2)
    assert talk.tell(PathUnusable(ConnectionId(2))) == []
    assert talk.wait(60.0) == []


def test_that_of_a_stream_that_is_over_is_not_sent_for_ever() -> None:
    talk = following(http=True)
    talk.take(5)
    talk.responds(6, path=1)
    talk.ends(7, path=1)
    sent = talk.cut(1)
    assert sent == ["c2 <- ack s1 7"]
    for path in (2, 3):
        talk.cut(path)
        sent += talk.wait(5.0)
    talk.cut(4)
    assert talk.wait(60.0) == []
    assert sent == ["c2 <- ack s1 7", "c3 <- ack s1 7", "c4 <- ack s1 7"]


def test_beyond_the_limit_the_oldest_is_left_to_the_servers_own_time() -> None:
    talk = following(calls=3, config=attrs.evolve(CONFIG, max_acks=2))
    for number in (1, 2, 3):
        talk.take(3, number)
    assert talk.wait(5.0) == ["c1 <- ack s2 3, s3 3"]
