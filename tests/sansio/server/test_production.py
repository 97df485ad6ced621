"""What the application adds to a stream, and the back-pressure it meets (rules P12, R10, R13, R24)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.server.calls import BodyPolicy, Peer, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.wire.jsonrpc import Request
from tests.sansio.server.conversation import ASK, Conversation

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


@pytest.mark.rule("R24")
def test_a_question_goes_out_as_it_was_put() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    talk.ask("q1")
    assert line.messages[-1] == Request("q1", ASK, {"messages": []})
    talk.now = talk.config.ask_timeout
    talk.ask("q2")
    assert line.messages[-1] == Request("q2", ASK, {"messages": []}), "also behind what time has added first"


@pytest.mark.rule("R24")
@pytest.mark.parametrize(
    ("method", "needed"),
    [
        ("sampling/createMessage", "sampling"),
        ("elicitation/create", "elicitation"),
        ("roots/list", "roots"),
        ("x/anything", None),
    ],
)
def test_a_client_is_asked_only_what_it_said_it_can_answer(method: str, needed: str | None) -> None:
    talk = Conversation()
    able, unable = talk.connect(), talk.connect()
    able.call(1, "s1", peer=Peer(capabilities=frozenset() if needed is None else frozenset({needed})))
    unable.call(2, "s2", peer=Peer(capabilities=frozenset({"something else"})))
    talk.application()
    talk.ask("q1", "s1", method)
    talk.ask("q2", "s2", method)
    assert able.heard() == ["ask q1"]
    assert unable.heard() == (["ask q2"] if needed is None else [])
    assert talk.application() == ([] if needed is None else ["failed q2: unsupported"])


@pytest.mark.rule("R24", "R18")
def test_who_accepts_no_events_is_asked_nothing() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(kind=StreamKind.FLEETING, body=BodyPolicy.NEVER)
    talk.ask("q1")
    assert talk.application() == ["start s1", "failed q1: unsupported"]


@pytest.mark.rule("R24")
def test_a_stream_has_so_many_questions_open_and_no_more() -> None:
    talk = Conversation(StreamsConfig(max_asks=2))
    line = talk.connect()
    line.call()
    for ask_id in ("q1", "q2", "q3"):
        talk.ask(ask_id)
    assert line.heard() == ["create", "ask q1", "ask q2"]
    assert talk.application() == ["start s1", "failed q3: too many"]
    line.answer("q1")
    talk.ask("q4")
    assert line.heard() == ["ask q4"]


@pytest.mark.rule("R10", "R9")
def test_what_becomes_durable_of_a_stream_that_is_gone_goes_nowhere() -> None:
    talk = Conversation(StreamsConfig(durable=True))
    line = talk.connect()
    line.call(kind=StreamKind.FLEETING)
    talk.prompt_disk = False
    talk.say(1)
    line.cancelled(7)
    while talk.batch is not None:
        talk.sync()
    assert line.heard() == []
