"""Replay that reached the wrong party or the wrong stream (group A: in the server's streams)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.server.effects import BodyKind
from tests.sansio.server.conversation import STOCK, Conversation


@pytest.mark.rule("Q13", "H25")
def test_a1_a_session_replays_its_own_streams_and_not_a_byte_of_anothers() -> None:
    talk = Conversation()
    a, b = talk.exchange("a"), talk.exchange("b")
    a.call(1, "a1", peer=STOCK)
    b.call(1, "b1", peer=STOCK)
    talk.say(1, stream="a1")
    talk.say(2, stream="b1")
    a.lose()
    b.lose()
    talk.say(3, stream="a1")
    talk.say(4, stream="b1")
    own, foreign = talk.exchange("b"), talk.exchange("b")
    foreign.get(1, "a1")
    own.get(1, "b1")
    assert own.heard() == ["1", "2 progress 4"]
    assert (foreign.body, foreign.heard()) == (BodyKind.JSON, ["error - invalid_cursor"])
    assert not any(b"a1" in chunk for chunk in foreign.chunks)


@pytest.mark.rule("Q13")
@pytest.mark.parametrize("name", ["", "a", "a:", "a:b:c", "A:B"])
def test_a3_a_cursor_names_its_stream_whole(name: str) -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(1, "a:b", peer=STOCK)
    talk.say(1, stream="a:b")
    exchange.lose()
    other = talk.exchange()
    other.get(0, name)
    assert other.heard() == ["error - invalid_cursor"]


@pytest.mark.rule("H25", "H22")
def test_a4_interleaved_streams_come_back_apart_and_go_on_apart() -> None:
    talk = Conversation()
    p, g = talk.exchange(), talk.exchange()
    p.call(1, "p", peer=STOCK)
    g.call(2, "g", peer=STOCK)
    for number, stream in enumerate("pgpgp", 1):
        talk.say(number, stream=stream)
    p.lose()
    again = talk.exchange()
    again.get(1, "p")
    talk.say(6, stream="g")
    talk.say(7, stream="p")
    assert again.heard() == ["1", "2 progress 3", "3 progress 5", "4 progress 7"]


@pytest.mark.rule("Q12", "R17")
def test_a5_an_unknown_cursor_replays_nothing() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(peer=STOCK)
    talk.say(1)
    other = talk.exchange()
    other.get(0, "nope")
    assert other.heard() == ["error - invalid_cursor"]
