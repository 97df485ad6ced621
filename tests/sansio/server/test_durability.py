"""With a durable log, nobody learns of a record before it is written, and a lost log is owned up to (rules R9, P10)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.inputs import BodyPolicy
from tests.sansio.server.conversation import KEY, MARKER, STOCK, Conversation

DURABLE = StreamsConfig(durable=True)


def conversation(config: StreamsConfig = DURABLE) -> Conversation:
    """Return a conversation whose disk is slow."""
    return Conversation(config, prompt_disk=False)


# ------------------------------------------------------------------------------------------------ before it is written


@pytest.mark.rule("P10", "R9")
def test_a_call_starts_and_is_announced_once_its_stream_is_durable() -> None:
    talk = conversation()
    line = talk.connect()
    line.call()
    assert (line.heard(), talk.application()) == ([], [])
    talk.sync()
    assert (line.heard(), talk.application()) == (["create"], ["start s1"])


@pytest.mark.rule("P10", "R9")
@pytest.mark.parametrize("body", [BodyPolicy.AT_ONCE, BodyPolicy.WHEN_NEEDED])
def test_priming_names_a_stream_so_it_waits_as_well(body: BodyPolicy) -> None:
    talk = conversation()
    exchange = talk.exchange()
    exchange.call(peer=STOCK, body=body)
    talk.wait(1)
    assert exchange.body is None
    talk.sync()
    talk.wait(1)
    assert exchange.heard() == ["0"]


@pytest.mark.rule("R9")
def test_messages_are_delivered_once_they_are_durable() -> None:
    talk = conversation()
    line = talk.connect()
    line.call()
    talk.sync()
    talk.say(1)
    talk.say(2)
    talk.respond()
    assert line.heard() == ["create"]
    talk.sync()
    assert line.heard() == ["progress 1"]
    talk.sync()
    assert line.heard() == ["progress 2", "result 7", "end"]


@pytest.mark.rule("P37", "R9")
def test_a_call_that_is_cancelled_before_it_is_durable_leaves_no_trace_on_the_wire() -> None:
    talk = conversation()
    exchange, other = talk.exchange(), talk.exchange()
    exchange.call()
    other.cancelled(7)
    assert exchange.heard() == [":"]
    talk.sync()
    talk.sync()
    assert exchange.heard() == []
    assert talk.application() == []


@pytest.mark.rule("R9", "R21")
def test_a_call_that_is_sent_again_before_it_is_durable_is_primed_where_it_came_last() -> None:
    talk = conversation()
    first, second = talk.exchange(), talk.exchange()
    first.call(peer=MARKER, key=KEY, attempt="a.1")
    second.call(peer=MARKER, key=KEY, attempt="a.2", stream="s2")
    assert first.heard() == ["retry 30000", ":"]
    assert second.heard() == []
    talk.sync()
    assert second.heard() == ["0", "1 create"]
    assert talk.application() == ["start s1"]
