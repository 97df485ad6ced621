"""With a durable log, nobody learns of a record before it is written, and a lost log is owned up to (rules R9, P10)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.ids import Secret, StreamId
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.inputs import BodyPolicy
from mcpstreams_sansio.server.records import TokenAdded
from tests.sansio.server.conversation import KEY, MARKER, STOCK, Conversation, token_of

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


@pytest.mark.rule("R3", "R9", "R21")
def test_a_fresh_token_is_told_once_it_is_durable() -> None:
    talk = Conversation(DURABLE)
    first = talk.connect()
    first.call(peer=MARKER, key=KEY, attempt="a.1")
    talk.say(1)
    first.ack(1)
    first.lose()
    talk.prompt_disk = False
    second, third = talk.connect(), talk.connect()
    second.call(peer=MARKER, key=KEY, attempt="a.2", stream="s2", token=Secret("fresh"))
    talk.say(2)
    assert second.heard() == []
    talk.sync()
    assert TokenAdded(StreamId("s1"), Secret("fresh").digest()) in talk.records
    assert second.heard() == ["create", "progress 1"]
    assert second.create.resume_token == Secret("fresh")
    talk.sync()
    assert second.heard() == ["progress 2"]
    talk.prompt_disk = True
    third.resume(token=Secret("fresh"), attempt="a.3")
    third.resume(10, token=token_of("s1"), attempt="a.4")
    assert third.heard() == ["progress 1", "progress 2", "error 9 superseded", "progress 1", "progress 2"]


@pytest.mark.rule("R9", "R24")
@pytest.mark.parametrize("ends", ["cancel", "respond"])
def test_an_answer_that_becomes_durable_too_late_is_no_answer(ends: str) -> None:
    talk = Conversation(DURABLE)
    line = talk.connect()
    line.call()
    talk.ask()
    talk.prompt_disk = False
    line.answer()
    assert talk.application() == ["start s1"]
    if ends == "cancel":
        line.cancelled(7)
    else:
        talk.respond()
    talk.application()
    talk.sync()
    assert talk.application() == ["failed q1: stream gone"]
