"""What the application adds to a stream, and the back-pressure it meets (rules P12, R10, R13, R24)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.ids import ConnectionId, StreamId
from mcpstreams_sansio.server.calls import BodyPolicy, Peer, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.wire.jsonrpc import Request, Response
from mcpstreams_sansio.wire.meta import read_window
from tests.sansio.server.conversation import ASK, DRAFT, MARKER, Conversation

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


# ------------------------------------------------------------------------------------------------------ back-pressure

NARROW = StreamsConfig(window=3)


@pytest.mark.rule("R7", "R10")
def test_the_application_waits_while_more_than_the_window_is_unsent() -> None:
    talk = Conversation(NARROW)
    line = talk.connect()
    line.reads = False
    line.call()
    talk.say(1, 2)
    assert talk.application() == ["start s1"]
    talk.say(3)
    assert talk.application() == ["hold s1"]
    line.take()
    assert talk.application() == ["more s1"]


@pytest.mark.rule("R6", "R10")
def test_a_client_that_acknowledges_counts_what_it_has_not_acknowledged() -> None:
    talk = Conversation(NARROW)
    line = talk.connect()
    line.call(peer=MARKER)
    talk.say(1, 2)
    assert talk.application() == ["start s1", "hold s1"]
    line.ack(1)
    assert talk.application() == ["more s1"]


@pytest.mark.rule("R7")
def test_what_was_sent_and_is_only_kept_never_makes_an_application_wait_for_ever() -> None:
    talk = Conversation(StreamsConfig(max_stream_bytes=4_000, keep_bytes=500))
    line = talk.connect()
    line.call()
    for number in range(100):
        talk.say(number, size=100)
    assert talk.application() == ["start s1"]
    assert len(line.heard()) == 101


@pytest.mark.rule("R5", "R6")
def test_what_is_confirmed_and_only_kept_never_makes_an_application_wait_for_ever() -> None:
    talk = Conversation(StreamsConfig(max_stream_bytes=4_000, redelivery_window=1_000))
    line = talk.connect()
    line.call(peer=MARKER)
    for number in range(100):
        talk.say(number, size=100)
        line.ack(number + 2)
    assert talk.application() == ["start s1"]
    assert len(line.heard()) == 101


@pytest.mark.rule("R6", "R10")
def test_large_messages_fill_the_window_as_well_and_create_says_how_much_fits() -> None:
    talk = Conversation(StreamsConfig(max_stream_bytes=2_000))
    line = talk.connect()
    line.call(peer=MARKER)
    window = read_window(line.create.meta)
    assert window is not None
    assert (window.entries, window.bytes) == (1_024, 1_000)
    talk.say(1, size=1_000)
    assert talk.application() == ["start s1", "hold s1"]
    line.ack(2)
    assert talk.application() == ["more s1"]


@pytest.mark.rule("R7", "R10", "R11")
@pytest.mark.parametrize("peer", [DRAFT, MARKER])
def test_a_replay_that_is_read_slowly_makes_the_application_wait_and_fails_no_stream(peer: Peer) -> None:
    talk = Conversation(StreamsConfig(max_stream_bytes=8_000, keep_bytes=500, max_write_bytes=1, stall_timeout=None))
    line = talk.connect()
    line.call(peer=peer)
    for number in range(100):
        talk.say(number, size=100)
        line.ack(number + 2)
    line.lose()
    log = talk.machine._registry.streams[StreamId("s1")].log
    first = log.first_available
    slow = talk.connect()
    slow.reads = False
    slow.resume("slow", after=first - 1, attempt="a.1" if peer.marker else None)
    said = 100
    while "hold s1" not in talk.application():
        talk.say(said, size=100)
        said += 1
        assert said < 140
    assert log.size <= 8_000
    slow.reads = True
    slow.take()
    assert talk.application() == ["more s1"]
    talk.respond()
    expected = [*(f"progress {number}" for number in range(first - 2, said)), "result 7", "end", "result slow"]
    assert slow.heard() == expected


@pytest.mark.rule("R5", "R7")
@pytest.mark.parametrize("peer", [DRAFT, MARKER])
def test_what_is_only_kept_takes_up_at_most_half_of_a_stream(peer: Peer) -> None:
    talk = Conversation(StreamsConfig(max_stream_bytes=8_000, keep_bytes=500))
    line = talk.connect()
    line.call(peer=peer)
    log = talk.machine._registry.streams[StreamId("s1")].log
    for number in range(100):
        talk.say(number, size=100)
        line.ack(number + 2)
        assert log.size <= 4_000 + 250
    assert log.size > 3_000


@pytest.mark.rule("R2", "R6")
def test_a_silent_stream_is_not_acknowledged_whoever_its_client_is() -> None:
    talk = Conversation(NARROW)
    exchange = talk.exchange()
    exchange.call(peer=MARKER, kind=StreamKind.SILENT)
    talk.say(1, 2, 3, 4, 5)
    assert talk.application() == ["start s1"]


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


# ------------------------------------------------------------------------------------------------------ the very limit


@pytest.mark.rule("R7", "R10")
@pytest.mark.parametrize(("room", "held"), [(0, ["hold s1"]), (1, [])])
def test_the_application_waits_once_the_window_is_full_to_the_byte(room: int, held: list[str]) -> None:
    talk = Conversation()
    talk.connect(Framing.MESSAGES).call()
    talk.say(1)
    size = sum(map(len, talk.clients[ConnectionId(0)].chunks))
    talk = Conversation(StreamsConfig(max_stream_bytes=2 * (size + room)))
    slow = talk.connect(Framing.MESSAGES)
    slow.reads = False
    talk.reply(slow, Response("p", {}))
    slow.call()
    talk.say(1)
    assert talk.application() == ["start s1", *held]


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
