"""Who delivers a stream: attaching a connection, and the five ways in which that ends (rules R14, R15)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.server.calls import BodyPolicy, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.wire.jsonrpc import Response
from mcpstreams_sansio.wire.streams import ResumeInterval
from tests.sansio.server.conversation import MARKER, STOCK, Conversation, Way, token_of

# ------------------------------------------------------------------------------------------------------- event streams


@pytest.mark.rule("R1", "H13", "P7")
def test_an_event_stream_begins_with_the_position_from_which_it_delivers() -> None:
    talk = Conversation()
    first = talk.exchange()
    first.call()
    talk.say(1, 2)
    assert first.heard() == ["0", "1 create", "2 progress 1", "3 progress 2"]
    first.lose()
    second = talk.exchange()
    second.resume(after=2)
    assert second.heard() == ["2", "3 progress 2"]


@pytest.mark.rule("H19", "R20")
def test_a_client_that_would_choke_on_priming_gets_a_comment_in_its_place() -> None:
    talk = Conversation()
    exchange = talk.exchange(primes=False)
    exchange.call()
    assert exchange.heard() == [":", "1 create"]


@pytest.mark.rule("R2", "H23")
@pytest.mark.parametrize(
    ("kind", "interval"),
    [(StreamKind.FLEETING, ResumeInterval()), (StreamKind.SILENT, ResumeInterval(max=0))],
)
def test_a_client_that_can_not_come_back_is_given_nothing_to_come_back_with(
    kind: StreamKind, interval: ResumeInterval
) -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(peer=STOCK, kind=kind, interval=interval)
    talk.say(1)
    talk.respond()
    assert exchange.heard() == [":", "- progress 1", "- result 7"]


# ----------------------------------------------------------------------------------------------------------- takeover


@pytest.mark.rule("R14", "Q6c")
def test_the_call_is_told_that_another_connection_has_it_now() -> None:
    talk = Conversation()
    first, second = talk.connect(), talk.connect()
    first.call()
    second.resume()
    talk.respond()
    assert first.heard() == ["create", "error 7 superseded"]
    assert second.heard() == ["create", "result 7", "end", "result 9"]


@pytest.mark.rule("R14", "Q3a")
def test_a_call_that_has_its_response_is_not_answered_a_second_time() -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=1))
    first, second = talk.connect(), talk.connect()
    first.call()
    first.reads = False
    talk.respond()
    assert first.heard() == ["create", "result 7"]
    second.resume()
    first.take()
    assert first.heard() == []
    assert second.heard() == ["create", "result 7", "end", "result 9"]


@pytest.mark.rule("R14")
def test_an_exchange_of_a_client_with_attempt_numbers_is_told_in_words() -> None:
    talk = Conversation()
    first, second, third = talk.exchange(), talk.exchange(), talk.exchange()
    first.call(peer=MARKER, attempt="a.1")
    second.resume(attempt="b.1", token=token_of("s1"))
    assert (first.heard(), first.way) == (["0", "1 create", "- error 7 superseded"], Way.ENDED)
    third.resume(8, attempt="a.2", token=token_of("s1"))
    assert (second.heard(), second.way) == (["0", "1 create", "- error 9 superseded"], Way.ENDED)
    talk.respond()
    assert third.heard() == ["0", "1 create", "2 result 7", "3 end", "- result 8"]


@pytest.mark.rule("R14", "Q3a")
def test_an_exchange_whose_call_has_its_response_is_told_nothing_more() -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=1))
    first, second = talk.exchange(), talk.exchange()
    first.call(peer=MARKER, attempt="a.1")
    first.reads = False
    talk.respond()
    second.resume(attempt="b.1", token=token_of("s1"))
    first.take()
    assert (first.heard(), first.way) == (["0", "1 create", "2 result 7"], Way.ENDED)


# ----------------------------------------------------------------------------------------------------------- repeats


@pytest.mark.rule("R24", "Q4d")
@pytest.mark.parametrize("how", ["answered", "withdrawn", "responded"])
def test_a_question_that_is_closed_before_it_could_be_repeated_is_not_asked_again(how: str) -> None:
    talk = Conversation()
    line = talk.connect(principal="ann")
    line.call(peer=MARKER)
    talk.ask("q1")
    talk.ask("q2")
    line.ack(3)
    line.lose()
    other = talk.connect(principal="ann")
    other.reads = False
    talk.reply(other, Response("p", {}))
    other.resume(after=3, attempt="a.1")
    match how:
        case "answered":
            talk.connect(principal="ann").answer("q1")
        case "withdrawn":
            talk.withdraw("q1")
        case _:
            talk.respond()
    other.reads = True
    other.take()
    assert (
        other.heard()
        == {
            "answered": ["result p", "ask q2"],
            "withdrawn": ["result p", "ask q2", "withdrawn q1"],
            "responded": ["result p", "result 7", "end", "result 9"],
        }[how]
    )


@pytest.mark.rule("R24")
def test_repeats_come_in_the_order_in_which_they_were_asked() -> None:
    talk = Conversation()
    line = talk.connect(principal="ann")
    line.call(peer=MARKER)
    talk.ask("q1")
    talk.say(1)
    talk.ask("q2")
    talk.ask("q3")
    line.lose()
    other = talk.connect(principal="ann")
    other.resume(after=4, attempt="a.1")
    assert other.heard() == ["ask q1", "ask q2", "ask q3"]


@pytest.mark.rule("R24", "R11")
def test_repeats_that_a_write_has_no_room_for_come_with_the_next_one() -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=1))
    line, other = talk.connect(principal="ann"), talk.connect(principal="ann")
    line.call(peer=MARKER)
    talk.ask("q1")
    talk.ask("q2")
    talk.say(1)
    line.lose()
    other.resume(after=3, attempt="a.1")
    assert other.heard() == ["ask q1", "ask q2", "progress 1"]


@pytest.mark.rule("R24", "R17")
def test_a_plain_cursor_is_given_only_what_follows_it() -> None:
    talk = Conversation()
    first, second = talk.exchange(), talk.exchange()
    first.call(peer=STOCK)
    talk.ask("q1")
    talk.say(1)
    first.lose()
    second.get(after=1)
    assert second.heard() == ["1", "2 progress 1"]


@pytest.mark.rule("R18")
def test_an_exchange_that_has_become_an_event_stream_has_nothing_more_to_decide() -> None:
    talk = Conversation(StreamsConfig(keepalive=None))
    exchange = talk.exchange()
    exchange.call(peer=STOCK, body=BodyPolicy.WHEN_NEEDED)
    assert talk.machine.next_deadline() == talk.config.sse_after
    talk.say(1)
    assert exchange.heard() == ["0", "1 progress 1"]
    assert talk.machine.next_deadline() is None


# ----------------------------------------------------------------------------------------------------------- attempts


@pytest.mark.rule("R14")
def test_of_so_many_client_instances_the_longest_unheard_is_forgotten_first() -> None:
    talk = Conversation(StreamsConfig(max_instances=2))
    line, other = talk.connect(), talk.connect()
    line.call(peer=MARKER, attempt="a.1")
    other.resume(1, attempt="b.1")
    other.resume(2, attempt="a.1")
    other.resume(3, attempt="a.2")
    other.resume(4, attempt="c.1")
    other.resume(5, attempt="a.2")
    assert other.heard()[-1] == "error 5 superseded"
    line.resume(6, attempt="b.1")
    assert line.heard()[-1] == "create"


@pytest.mark.rule("R14")
def test_what_came_before_the_latest_attempt_of_its_instance_is_refused() -> None:
    talk = Conversation(StreamsConfig(max_instances=2))
    line, other = talk.connect(), talk.connect()
    line.call(peer=MARKER, attempt="a.2")
    other.resume(1, attempt="b.1")
    for request_id, attempt in ((2, "a.1"), (3, "a.2"), (4, "b.1")):
        line.resume(request_id, attempt=attempt)
    assert line.heard()[2:] == [f"error {request_id} superseded" for request_id in (2, 3, 4)]
