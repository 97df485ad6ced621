"""What is made while the client is away (group E: in the server's streams)."""

from __future__ import annotations

from collections.abc import Sized

import pytest

from mcpstreams_sansio.server.config import StreamsConfig
from tests.sansio.server.conversation import STOCK, Conversation


@pytest.mark.rule("H15", "Q5e")
def test_e1_the_result_that_comes_after_a_close_for_polling_is_kept_and_delivered() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call()
    talk.release()
    talk.respond()
    assert talk.application() == ["start s1"]
    again = talk.exchange()
    again.get(0)
    assert again.heard() == ["0", "1 create", "2 result 7", "3 end"]


@pytest.mark.rule("P16")
def test_e2_x11_what_is_said_while_nobody_is_connected_is_delivered_later() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(peer=STOCK)
    exchange.lose()
    talk.say(1)
    again = talk.exchange()
    again.get(0)
    assert again.heard() == ["0", "1 progress 1"]


@pytest.mark.rule("Q5e", "R5")
def test_e3_a_final_event_that_was_not_written_to_its_end_can_be_had_again_until_retention_ends() -> None:
    talk = Conversation(StreamsConfig(silent_retention=120))
    exchange = talk.exchange()
    exchange.call(peer=STOCK)
    exchange.reads = False
    talk.respond()
    exchange.lose()
    for _ in range(2):
        talk.wait(119)
        again = talk.exchange()
        again.reads = False
        again.get(0)
        again.take()
        assert again.heard() == ["0", "1 result 7"]
        again.lose()
    talk.wait(120)
    late = talk.exchange()
    late.get(0)
    assert late.heard() == ["error - invalid_cursor"]


@pytest.mark.rule("Q9b")
def test_e5_a_cancelled_request_that_is_never_answered_leaves_nothing_to_route() -> None:
    talk = Conversation()
    exchange, other = talk.exchange(), talk.exchange()
    exchange.call(peer=STOCK)
    talk.ask("q1")
    other.cancelled(7)
    talk.accept(other)
    registry = talk.machine._registry
    tables: tuple[Sized, ...]
    tables = (registry.streams, registry.calls, registry.asks, registry.bound, registry.quotas, registry.connections)
    assert [len(table) for table in tables] == [0] * len(tables)
    assert len(registry.deadlines) == 0


def closed_for_polling() -> Conversation:
    """Return a conversation whose client was let go, and then five messages were produced for it."""
    talk = Conversation(StreamsConfig(window=4, keep_bytes=1, max_stream_bytes=2_000, max_write_bytes=1))
    exchange = talk.exchange()
    exchange.call(peer=STOCK)
    talk.say(1)
    talk.release()
    talk.say(2, 3, 4)
    return talk


@pytest.mark.rule("Q5c", "R10")
def test_e7_a_cursor_whose_messages_were_evicted_is_told_so() -> None:
    talk = Conversation(StreamsConfig(keep_bytes=1, max_stream_bytes=2_000))
    exchange = talk.exchange()
    exchange.call(peer=STOCK)
    talk.say(1, 2, 3, 4, size=900)
    exchange.lose()
    again = talk.exchange()
    again.get(0)
    assert again.heard() == ["error - events_gone"]
    assert again.error.data == {"reason": "events_gone", "firstAvailable": 4, "lost": 3}


@pytest.mark.rule("R17")
def test_e7_a_session_that_does_not_know_the_stream_is_told_nothing_of_it() -> None:
    talk = closed_for_polling()
    stranger = talk.exchange("another session")
    stranger.get(1)
    assert stranger.heard() == ["error - invalid_cursor"]


@pytest.mark.rule("Q6a")
def test_e7_of_two_that_come_back_the_later_one_is_served() -> None:
    talk = closed_for_polling()
    first, second = talk.exchange(), talk.exchange()
    first.reads = False
    first.get(1)
    talk.wait(1)
    second.get(1)
    assert second.heard() == ["1", "2 progress 2", "3 progress 3", "4 progress 4"]
    talk.respond()
    assert second.heard() == ["5 result 7"]
    first.take()
    assert not [text for text in first.heard() if "result" in text]


@pytest.mark.rule("P16", "R5")
def test_e7_a_replay_that_is_cut_goes_on_where_it_was_cut() -> None:
    talk = closed_for_polling()
    cut = talk.exchange()
    cut.reads = False
    cut.get(1)
    cut.take()
    assert cut.heard() == ["1", "2 progress 2"]
    cut.lose()
    again = talk.exchange()
    again.get(2)
    assert again.heard() == ["2", "3 progress 3", "4 progress 4"]
