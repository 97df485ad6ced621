"""With a durable log, nobody learns of a record before it is written, and a lost log is owned up to (rules R9, P10)."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.ids import Secret, StreamId
from mcpstreams_sansio.server.calls import BodyPolicy
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import BodyKind
from mcpstreams_sansio.server.inputs import LogWritten
from mcpstreams_sansio.server.records import TokenAdded
from mcpstreams_sansio.server.table import StreamState
from tests.sansio.server.conversation import KEY, MARKER, STOCK, Client, Conversation, Way, token_of

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


@pytest.mark.rule("R9", "Q5h")
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
    assert exchange.body is None
    talk.sync()
    talk.sync()
    assert (exchange.heard(), exchange.way) == ([":"], Way.ENDED)
    assert talk.application() == []


@pytest.mark.rule("R9", "R21")
def test_a_call_that_is_sent_again_before_it_is_durable_is_primed_where_it_came_last() -> None:
    talk = conversation()
    first, second = talk.exchange(), talk.exchange()
    first.call(peer=MARKER, key=KEY, attempt="a.1")
    second.call(peer=MARKER, key=KEY, attempt="a.2", stream="s2")
    assert first.heard() == ["error 7 superseded"]
    assert second.heard() == []
    talk.sync()
    assert second.heard() == ["0", "1 create"]
    assert talk.application() == ["start s1"]


@pytest.mark.rule("R9", "Q13")
def test_a_resume_that_comes_before_the_stream_is_durable_waits_with_it() -> None:
    talk = conversation()
    line, exchange = talk.connect(), talk.exchange()
    line.call()
    exchange.resume()
    assert (exchange.body, line.heard()) == (None, ["error 7 superseded"])
    talk.sync()
    assert exchange.heard() == ["0", "1 create"]
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


# --------------------------------------------------------------------------------------------------- the log is lost


def working(client_is: str = "line") -> tuple[Conversation, Client]:
    """Return a call of which one message is durable and a second one is not."""
    talk = conversation()
    client = talk.connect(principal="ann") if client_is == "line" else talk.exchange(principal="ann")
    client.call()
    talk.sync()
    talk.say(1)
    talk.sync()
    talk.say(2)
    talk.application()
    client.heard()
    return talk, client


@pytest.mark.rule("R9")
def test_a_call_ends_with_the_reason_behind_what_is_durable() -> None:
    talk, line = working()
    talk.lose_disk()
    assert line.heard() == ["error 7 log_failed", "end"]
    assert talk.application() == ["cancel s1: log failed"]
    talk.say(3)
    assert talk.application() == ["refused s1: log_failed"]


@pytest.mark.rule("R9")
def test_an_exchange_ends_as_well() -> None:
    talk, exchange = working("exchange")
    talk.lose_disk()
    assert exchange.heard() == ["3 error 7 log_failed", "4 end"]
    assert exchange.way is Way.ENDED


@pytest.mark.rule("R9", "Q9a")
def test_what_is_durable_stays_readable() -> None:
    talk, line = working()
    line.lose()
    talk.lose_disk()
    other = talk.connect(principal="ann")
    assert other.poll() == "completed pending error"
    other.resume()
    assert other.heard() == ["create", "progress 1", "error 7 log_failed", "end", "result 9"]


@pytest.mark.rule("R9", "Q5e")
def test_a_response_that_is_durable_stays_the_response() -> None:
    talk, line = working()
    talk.respond()
    talk.sync()
    talk.sync()
    line.heard()
    line.ack(3)
    talk.lose_disk()
    line.resume()
    assert line.heard() == ["result 7", "end", "result 9"]


@pytest.mark.rule("R9")
def test_a_response_that_is_not_durable_never_was() -> None:
    talk, line = working()
    talk.sync()
    talk.respond()
    talk.application()
    talk.lose_disk()
    assert line.heard() == ["progress 2", "error 7 log_failed", "end"]
    assert talk.application() == []


@pytest.mark.rule("R9")
@pytest.mark.parametrize("client_is", ["line", "exchange"])
def test_a_call_that_was_not_durable_is_refused(client_is: str) -> None:
    talk = conversation()
    client = talk.connect() if client_is == "line" else talk.exchange()
    client.call(peer=MARKER, key=KEY)
    talk.lose_disk()
    assert client.heard() == ["error 7 log_failed"]
    assert client.body is (None if client_is == "line" else BodyKind.JSON)
    assert talk.application() == []
    other = talk.connect()
    other.call(peer=MARKER, key=KEY, stream="s2")
    other.call(8, "s3")
    assert other.heard() == ["error 7 log_failed", "error 8 log_failed"]


def test_a_call_that_was_not_durable_and_lost_its_client_is_forgotten() -> None:
    talk = conversation()
    line = talk.connect()
    line.call()
    line.lose()
    talk.lose_disk()
    assert talk.state() is StreamState.GONE


@pytest.mark.rule("R9")
def test_whoever_waited_for_the_log_is_refused_and_whoever_comes_later_does_not_wait() -> None:
    talk, _ = working()
    talk.ask()
    talk.sync()
    talk.sync()
    asked, other, lost = (talk.exchange(principal="ann") for _ in range(3))
    asked.answer()
    assert lost.poll() is None
    lost.lose()
    other.cancel(11)
    talk.lose_disk()
    assert asked.heard() == ["error - log_failed"]
    assert other.heard() == ["error 11 log_failed"]
    assert talk.application() == ["cancel s1: cancelled", "failed q1: stream gone"]
    late = [talk.exchange(principal="ann") for _ in range(3)]
    late[0].answer()
    late[1].cancel(12)
    assert late[0].body is BodyKind.EMPTY
    assert late[1].heard() == ["result 12"]
    assert late[2].poll() == "error cancelled"


@pytest.mark.rule("R9", "R24")
def test_questions_that_are_open_get_no_answer() -> None:
    talk, _ = working()
    talk.ask("q1")
    talk.lose_disk()
    assert talk.application() == ["cancel s1: log failed", "failed q1: stream gone"]


@pytest.mark.rule("R9", "R3")
def test_a_fresh_token_is_told_after_all_and_opens_the_stream_as_long_as_this_process_lives() -> None:
    talk = Conversation(DURABLE)
    line = talk.connect()
    line.call(peer=MARKER, key=KEY, attempt="a.1")
    line.ack(1)
    talk.prompt_disk = False
    other = talk.connect()
    other.call(peer=MARKER, key=KEY, attempt="a.2", stream="s2", token=Secret("fresh"))
    talk.lose_disk()
    assert other.heard() == ["create", "error 7 log_failed", "end"]
    assert other.poll(token=Secret("fresh")) == "completed pending error"


@pytest.mark.rule("R13")
def test_a_log_fails_once_and_late_reports_change_nothing() -> None:
    talk, line = working()
    talk.lose_disk()
    line.heard()
    before = talk.machine.snapshot(talk.now)
    talk.lose_disk()
    talk.submit(LogWritten(3))
    assert talk.machine.snapshot(talk.now) == before
    assert line.heard() == []


@pytest.mark.rule("R9")
def test_without_a_log_none_can_fail() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    talk.lose_disk()
    talk.respond()
    assert line.heard() == ["create", "result 7", "end"]


@pytest.mark.rule("R3", "R9")
@pytest.mark.parametrize("tombstones", [1, 100])
def test_a_fresh_token_that_is_durable_too_late_opens_nothing(tombstones: int) -> None:
    talk = Conversation(attrs.evolve(DURABLE, max_tombstones=tombstones))
    line = talk.connect()
    line.call(peer=MARKER, key=KEY, attempt="a.1")
    line.ack(1)
    line.call(8, "other")
    talk.prompt_disk = False
    line.call(peer=MARKER, key=KEY, attempt="a.2", stream="s2", token=Secret("fresh"))
    line.cancelled(7)
    line.cancelled(8)
    while talk.batch is not None:
        talk.sync()
    assert line.heard() == ["create", "create", "end", "end"]
    assert line.poll(token=Secret("fresh")) == ("error stream_not_found" if tombstones == 1 else "error cancelled")


@pytest.mark.rule("R3", "R6", "R21")
def test_a_call_that_waits_for_create_is_answered_when_another_client_has_had_it_all() -> None:
    talk = Conversation(DURABLE)
    first, second = talk.connect(), talk.connect()
    first.call(peer=MARKER, key=KEY, attempt="a.1")
    first.ack(1)
    talk.respond()
    first.lose()
    talk.prompt_disk = False
    second.call(peer=MARKER, key=KEY, attempt="a.2", stream="s2", token=Secret("fresh"))
    talk.connect().ack(3, token=token_of("s1"))
    talk.sync()
    talk.sync()
    assert second.heard() == ["error 7 finished"]
