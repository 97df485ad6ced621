"""What one connection writes: one write at a time, replies first, then its streams by turns (rules R11, R15)."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.connections import DropReason, Framing
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.wire.jsonrpc import Response
from tests.sansio.server.conversation import MARKER, Client, Conversation

PONG = Response("p", {})


def slow(talk: Conversation, framing: Framing = Framing.LINES) -> Client:
    """Return a connection that takes nothing until it is told to."""
    client = talk.connect(framing)
    client.reads = False
    return client


# ------------------------------------------------------------------------------------------------------- one at a time


@pytest.mark.rule("R11")
def test_while_a_write_is_outstanding_new_entries_only_enter_the_log() -> None:
    talk = Conversation()
    line = slow(talk)
    line.call()
    assert line.heard() == ["create"]
    talk.say(1, 2, 3)
    talk.respond()
    assert line.heard() == []
    line.take()
    assert line.heard() == ["progress 1", "progress 2", "progress 3", "result 7", "end"]


@pytest.mark.rule("R11")
def test_a_write_takes_what_fits_and_at_least_one_message() -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=250))
    line = slow(talk)
    line.call()
    talk.say(1, 2, 3, 4, 5)
    talk.say(6, size=500)
    talk.say(7)
    writes = []
    while line.outstanding is not None:
        writes.append(line.heard())
        line.take()
    assert writes == [
        ["create"],
        ["progress 1", "progress 2", "progress 3"],
        ["progress 4", "progress 5", "progress 6"],
        ["progress 7"],
    ]


@pytest.mark.rule("R11")
@pytest.mark.parametrize("framing", [Framing.LINES, Framing.MESSAGES])
def test_chunks_are_framed_as_the_connection_frames_messages(framing: Framing) -> None:
    talk = Conversation()
    client = talk.connect(framing)
    client.call()
    talk.say(1)
    ends_with_newline = [chunk.endswith(b"\n") for chunk in client.chunks]
    assert ends_with_newline == [framing is Framing.LINES] * 2
    assert all(chunk.count(b"\n") == chunk.endswith(b"\n") for chunk in client.chunks)


# ------------------------------------------------------------------------------------------------------------ replies


@pytest.mark.rule("R15")
def test_replies_wait_for_no_entry() -> None:
    talk = Conversation()
    line = slow(talk)
    line.call()
    talk.say(1, 2)
    talk.reply(line, PONG)
    line.take()
    assert line.heard() == ["create", "result p", "progress 1", "progress 2"]


@pytest.mark.rule("Q11h", "R11")
def test_a_peer_that_asks_on_and_reads_nothing_is_dropped() -> None:
    talk = Conversation(StreamsConfig(max_reply_bytes=1_000))
    line = slow(talk)
    talk.reply(line, PONG)
    for _ in range(1_000 // len(line.chunks[0]) + 1):
        talk.reply(line, PONG)
    assert line.dropped is None
    talk.reply(line, PONG)
    talk.reply(line, PONG)
    assert line.dropped is DropReason.FLOODED


@pytest.mark.rule("R11")
def test_one_large_reply_is_no_flood() -> None:
    talk = Conversation(StreamsConfig(max_reply_bytes=1_000))
    line, exchange = talk.connect(), talk.exchange()
    for client in (line, exchange):
        talk.reply(client, Response("p", {"text": "x" * 5_000}))
        assert client.heard() == ["result p"]


# ------------------------------------------------------------------------------------------------------------- by turns


def shares(line: Client, writes: int) -> Counter[str]:
    """Return how many bytes each stream got in the next writes."""
    got: Counter[str] = Counter()
    for _ in range(writes):
        assert line.outstanding is not None
        for chunk in line.outstanding.chunks:
            got["noisy" if b'"noisy"' in chunk else "quiet"] += len(chunk)
        line.take()
    return got


@pytest.mark.rule("R11")
def test_a_noisy_stream_does_not_starve_a_quiet_one() -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=4_000))
    line = slow(talk)
    line.call(1, "noisy", peer=MARKER)
    line.call(2, "quiet", peer=MARKER)
    for number in range(200):
        talk.say(number, stream="noisy", size=400)
    talk.say(1, stream="quiet")
    line.take()
    line.take()
    assert line.outstanding is not None
    assert any(b'"quiet"' in chunk for chunk in line.chunks[2:])


@pytest.mark.rule("R11")
@given(
    sizes=st.lists(st.integers(1, 300), min_size=1, max_size=5),
    others=st.lists(st.integers(1, 300), min_size=1, max_size=5),
)
def test_streams_that_always_have_something_get_the_same_share(sizes: list[int], others: list[int]) -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=1_000))
    line = slow(talk)
    line.call(1, "noisy", peer=MARKER)
    line.call(2, "quiet", peer=MARKER)
    for number in range(40):
        talk.say(number, stream="noisy", size=sizes[number % len(sizes)])
        talk.say(number, stream="quiet", size=others[number % len(others)])
    got = shares(line, 6)
    # One of them may be ahead by a turn and by one message.
    assert abs(got["noisy"] - got["quiet"]) <= 250 + 500


def test_a_message_larger_than_a_turn_waits_for_enough_turns_and_is_written() -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=1_000))
    line = slow(talk)
    line.call(1, "s1")
    line.call(2, "s2")
    talk.say(1, stream="s1", size=5_000)
    for number in range(20):
        talk.say(number, stream="s2", size=200)
    while line.outstanding is not None:
        line.take()
    place = [b"x" * 5_000 in chunk for chunk in line.chunks].index(True)
    # Both had something all the time: a turn gives 250 bytes to each.
    assert 4_000 < sum(map(len, line.chunks[:place])) < 6_000


@pytest.mark.rule("R11")
def test_a_write_is_filled_and_no_further_whoever_has_much_to_say() -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=8_000))
    line = slow(talk)
    for number in range(3):
        line.call(number, f"s{number}")
    for number in range(200):
        for stream in range(3):
            talk.say(number, stream=f"s{stream}", size=1 + number % (7 + stream))
    line.take()
    sizes = []
    while line.outstanding is not None:
        chunks = [len(chunk) for chunk in line.outstanding.chunks]
        sizes.append((sum(chunks[:-1]), sum(chunks)))
        line.take()
    assert len(sizes) > 5
    assert all(before < 8_000 <= size for before, size in sizes[:-1])
