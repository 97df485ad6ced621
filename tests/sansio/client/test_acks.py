"""Acknowledgements that wait: the highest position of each stream, sent again until it arrived (rule R6)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.client.acks import MAX_FAILURES, Acks
from mcpstreams_sansio.ids import ConnectionId, Secret, StreamId
from mcpstreams_sansio.wire.marker import Ack

PATH = ConnectionId(1)


def ack(stream: str, through: int) -> Ack:
    return Ack(StreamId(stream), through, Secret(f"token of {stream}"))


def wanting(*acks: Ack, most: int = 10) -> Acks:
    wanted = Acks(most)
    for each in acks:
        wanted.want(each)
    return wanted


@pytest.mark.rule("R6")
def test_the_highest_position_of_a_stream_is_acknowledged() -> None:
    acks = wanting(ack("a", 3), ack("b", 1), ack("a", 5), ack("a", 4))
    assert set(acks.take()) == {ack("a", 5), ack("b", 1)}
    assert not acks.waiting


@pytest.mark.rule("R6")
def test_the_latest_token_of_a_stream_names_it() -> None:
    anew = Ack(StreamId("a"), 3, Secret("another token"))
    assert wanting(ack("a", 3), anew).take() == (anew,)


def test_beyond_the_limit_the_oldest_is_left_to_the_servers_own_time() -> None:
    acks = wanting(ack("a", 1), ack("b", 1), ack("a", 2), ack("c", 1), most=2)
    assert acks.take() == (ack("a", 2), ack("c", 1))


def test_a_resume_with_a_cursor_says_it_already() -> None:
    acks = wanting(ack("a", 3), ack("b", 1))
    acks.cover(StreamId("a"))
    acks.cover(StreamId("unknown"))
    assert acks.take() == (ack("b", 1),)


def test_what_was_lost_waits_again_unless_more_is_wanted_by_now() -> None:
    acks = wanting(ack("a", 3), ack("b", 1))
    acks.send(acks.take(), PATH)
    acks.want(ack("a", 9))
    acks.lose({StreamId("a"), StreamId("b")})
    assert acks.path is None
    assert set(acks.take()) == {ack("a", 9), ack("b", 1)}


def test_what_was_accepted_is_done_with() -> None:
    acks = wanting(ack("a", 3))
    before = acks.fork()
    before.take()
    acks.send(acks.take(), PATH)
    assert acks.path == PATH
    acks.accept()
    assert acks.snapshot() == before.snapshot()


def test_nobody_waits_for_long_for_the_acknowledgement_of_a_stream_that_is_over() -> None:
    acks = wanting(ack("over", 3), ack("going on", 1))
    for _ in range(MAX_FAILURES):
        acks.send(acks.take(), PATH)
        acks.lose({StreamId("going on")})
    assert acks.take() == (ack("going on", 1),)


def test_a_copy_goes_its_own_way() -> None:
    acks = wanting(ack("a", 3))
    copy = acks.fork()
    assert copy.snapshot() == acks.snapshot()
    copy.take()
    assert acks.waiting
    assert copy.snapshot() != acks.snapshot()
