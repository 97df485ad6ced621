"""From replay to what is live, and order (group B: in the server's streams)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.table import StreamState
from tests.sansio.server.conversation import STOCK, Client, Conversation, Way

DURABLE = StreamsConfig(durable=True)


@pytest.mark.rule("Q5h", "R9", "P13")
@pytest.mark.parametrize("place", range(7))
@pytest.mark.parametrize("max_write_bytes", [1, 10_000])
def test_b1_x14_wherever_a_client_comes_in_between_it_gets_each_event_once(place: int, max_write_bytes: int) -> None:
    talk = Conversation(StreamsConfig(durable=True, max_write_bytes=max_write_bytes), prompt_disk=False)
    line = talk.connect()
    line.call()
    talk.sync()
    line.lose()
    other = talk.connect()
    steps = ["say 1", "sync", "say 2", "sync", "say 3", "sync"]
    steps.insert(place, "come back")
    for step in steps:
        match step.split():
            case ["say", number]:
                talk.say(int(number))
            case ["sync"]:
                talk.sync()
            case _:
                other.resume(after=1)
    while talk.batch is not None:
        talk.sync()
    assert other.heard() == ["progress 1", "progress 2", "progress 3"]


@pytest.mark.rule("H15", "R15")
def test_b3_a_close_in_the_middle_of_a_replay_leaves_the_cursor_where_it_stands() -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=1))
    line = talk.connect()
    line.call()
    talk.say(1, 2, 3, 4, 5)
    line.lose()
    exchange = talk.exchange()
    exchange.reads = False
    exchange.resume(8, after=1)
    for _ in range(2):
        exchange.take()
    talk.release()
    exchange.reads = True
    exchange.take()
    assert exchange.heard() == ["1", "2 progress 1", "3 progress 2", "retry 1000"]
    assert exchange.way is Way.ENDED
    again = talk.exchange()
    again.resume(9, after=3)
    assert again.heard() == ["3", "4 progress 3", "5 progress 4", "6 progress 5"]


@pytest.mark.rule("Q6g", "R14")
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("loser_ends", ["is lost", "cancels"])
def test_b4_of_two_resumes_with_one_cursor_one_delivers_and_the_others_end_does_not_touch_it(
    order: tuple[int, int], loser_ends: str
) -> None:
    talk = Conversation(StreamsConfig(takeover_interval=0))
    line = talk.connect(principal="ann")
    line.call()
    line.lose()
    clients: list[Client] = [talk.connect(principal="ann") for _ in range(2)]
    for number in order:
        clients[number].resume(after=1)
    loser, winner = (clients[number] for number in order)
    loser.lose() if loser_ends == "is lost" else loser.cancelled(9)
    talk.say(1)
    talk.wait(15)
    assert winner.heard() == ["progress 1", "ping keepalive-1"]
    assert "progress 1" not in loser.heard()
    assert talk.state() is StreamState.LIVE


@pytest.mark.rule("H13", "R1")
def test_b6_priming_stands_before_the_first_message_however_soon_that_comes() -> None:
    talk = Conversation(DURABLE)
    exchange = talk.exchange()
    exchange.reads = False
    exchange.call(peer=STOCK)
    talk.say(1)
    exchange.take()
    assert exchange.heard() == ["0", "1 progress 1"]
    exchange.lose()
    again = talk.exchange()
    again.get(0)
    assert again.heard() == ["0", "1 progress 1"]


@pytest.mark.rule("P13")
def test_b7_what_was_said_in_one_moment_comes_back_in_its_order() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    line.lose()
    talk.say(*range(100))
    other = talk.connect()
    other.resume(after=1)
    assert other.heard() == [f"progress {number}" for number in range(100)]


@pytest.mark.rule("R9", "Q5h")
def test_b8_an_event_that_could_not_be_stored_is_never_sent() -> None:
    talk = Conversation(DURABLE)
    exchange = talk.exchange()
    exchange.call(peer=STOCK)
    talk.say(1)
    talk.prompt_disk = False
    talk.say(2)
    talk.lose_disk()
    assert exchange.heard() == ["0", "1 progress 1", "2 error 7 log_failed"]


@pytest.mark.rule("P6", "P36", "R13")
def test_b10_progress_stands_before_the_result_and_nothing_after_end() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.reads = False
    exchange.call()
    talk.say(1, 2, 3)
    talk.respond()
    exchange.reads = True
    exchange.take()
    exchange.lose()
    talk.wait(600)
    talk.say(4)
    talk.release()
    assert exchange.heard() == ["0", "1 create", "2 progress 1", "3 progress 2", "4 progress 3", "5 result 7", "6 end"]
    assert talk.application() == ["start s1", "refused s1: expired", "refused s1: expired"]
