"""What the application adds to a stream, and the back-pressure it meets (rules P12, R10, R13, R24)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.server.config import StreamsConfig
from tests.sansio.server.conversation import Conversation

# ------------------------------------------------------------------------------------------------- messages, in order


@pytest.mark.rule("P13", "R4")
def test_a_deadline_that_adds_a_message_before_another_one_mistakes_neither_for_the_other() -> None:
    talk = Conversation(StreamsConfig(ask_timeout=600, keepalive=None))
    line = talk.connect()
    line.call()
    talk.ask("q1")
    talk.now = 600
    talk.say(1)
    assert line.heard() == ["create", "ask q1", "withdrawn q1", "progress 1"]


# --------------------------------------------------------------------------------------------------------- too much

SMALL = StreamsConfig(max_stream_bytes=1_000)


@pytest.mark.rule("R10")
def test_a_message_that_a_stream_can_not_hold_fails_it_and_the_client_is_told_why() -> None:
    talk = Conversation(SMALL)
    line = talk.connect()
    line.call()
    talk.say(1)
    talk.say(2, size=1_000)
    assert line.heard() == ["create", "progress 1", "error 7 log_full", "end"]
    assert talk.application() == ["start s1", "cancel s1: log full"]
    talk.say(3)
    assert talk.application() == ["refused s1: log_full"]


@pytest.mark.rule("R10", "Q5e")
def test_a_response_that_a_stream_can_not_hold_is_replaced_by_the_reason() -> None:
    talk = Conversation(SMALL)
    line = talk.connect()
    line.call()
    talk.respond(result={"text": "x" * 1_000})
    assert line.heard() == ["create", "error 7 log_full", "end"]


@pytest.mark.rule("R10", "R24")
def test_a_question_that_a_stream_can_not_hold_gets_no_answer() -> None:
    talk = Conversation(SMALL)
    line = talk.connect()
    line.call()
    talk.ask("q1", method="sampling/createMessage" + "x" * 1_000)
    assert line.heard() == ["create", "error 7 log_full", "end"]
    assert talk.application() == ["start s1", "failed q1: stream gone", "cancel s1: log full"]


# ---------------------------------------------------------------------------------------------------------- questions


@pytest.mark.rule("R24")
def test_questions_that_are_open_at_the_response_get_no_answer() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    talk.ask("q1")
    talk.ask("q2")
    line.answer("q1")
    talk.respond()
    assert talk.application() == ["start s1", "answered q1", "failed q2: stream gone"]
    line.answer("q2")
    talk.wait(1_000)
    assert talk.application() == []


@pytest.mark.rule("R24", "R10")
def test_questions_that_are_open_when_a_stream_is_full_get_no_answer() -> None:
    talk = Conversation(SMALL)
    line = talk.connect()
    line.call()
    talk.ask("q1")
    talk.say(1, size=1_000)
    assert talk.application() == ["start s1", "cancel s1: log full", "failed q1: stream gone"]
