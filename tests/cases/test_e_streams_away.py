"""What is made while the client is away (group E: in the server's streams)."""

from __future__ import annotations

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
def test_e2_what_is_said_while_nobody_is_connected_is_delivered_later() -> None:
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
    tables = (registry.streams, registry.calls, registry.asks, registry.bound, registry.quotas, registry.connections)
    assert [len(table) for table in tables] == [0] * len(tables)
    assert len(registry.deadlines) == 0
