"""Found by reading other implementations (group X: in the server's streams)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.ids import StreamId
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.log import Entry
from mcpstreams_sansio.server.table import StreamState
from tests.sansio.server.conversation import STOCK, Conversation, Way


@pytest.mark.rule("P24", "R1")
@pytest.mark.parametrize("cursor", range(5))
def test_x4_a_replay_begins_behind_its_cursor(cursor: int) -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(peer=STOCK)
    talk.say(1, 2, 3, 4)
    exchange.lose()
    again = talk.exchange()
    again.get(cursor)
    assert again.heard() == [str(cursor), *(f"{number} progress {number}" for number in range(cursor + 1, 5))]


@pytest.mark.rule("Q9a", "R15")
@pytest.mark.parametrize("cursor", range(3))
def test_x6_the_replay_of_a_finished_stream_ends(cursor: int) -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(peer=STOCK)
    talk.say(1)
    talk.respond()
    again = talk.exchange()
    again.get(cursor)
    assert again.heard() == [["0", "1 progress 1", "2 result 7"], ["1", "2 result 7"], ["2"]][cursor]
    assert again.way is Way.ENDED


@pytest.mark.rule("R10")
def test_x8_a_noisy_stream_pays_before_a_hundred_quiet_ones() -> None:
    talk = Conversation(StreamsConfig(max_total_bytes=400_000, keep_bytes=1))
    line = talk.connect()
    quiet = [f"quiet{number}" for number in range(100)]
    for number, stream in enumerate(quiet):
        line.call(number, stream)
        talk.say(1, stream=stream, size=2_000)
    line.call(1_000, "noisy")
    talk.say(*range(300), stream="noisy", size=1_000)
    logs = talk.machine._registry.streams
    assert all(logs[StreamId(stream)].log.first_available == 1 for stream in quiet)
    assert logs[StreamId("noisy")].log.first_available > 1


@pytest.mark.rule("R6", "Q9a")
def test_x12_a_finished_stream_that_is_resumed_is_not_kept_the_longer_for_it() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    talk.respond()
    for number in range(3):
        line.resume(number)
    assert talk.state() is StreamState.COMPLETED
    assert talk.machine._registry.resumes == {}
    talk.wait(600)
    assert talk.state() is StreamState.GONE


class Counted(dict[int, Entry]):
    """Entries that count how often somebody looks for one."""

    looked = 0

    def get(self, sequence: int, default: object = None) -> Entry | None:  # type: ignore[override]  # one use of it
        self.looked += 1
        return super().get(sequence)


@pytest.mark.rule("Q5c", "P16")
def test_x12_a_resume_costs_what_it_missed_and_not_what_there_was() -> None:
    talk = Conversation(StreamsConfig(max_stream_bytes=10**9, window=10**6, max_total_bytes=10**9))
    line = talk.connect()
    line.call()
    line.lose()
    stream = talk.machine._registry.streams[StreamId("s1")]
    machine = talk.machine.fork()
    log = machine._registry.streams[StreamId("s1")].log
    for _ in range(100_000):
        machine._registry.total_bytes += len(log.append(log.entry(1).kind, b"{}").payload)  # type: ignore[union-attr]  # `create` is there
    log.durable = log.produced
    log.confirm(99_000, now=0)
    counted = Counted(log._entries)
    log._entries = counted
    assert stream.log.produced == 1
    assert log.lost_after(99_990) == 0
    position, missed = 99_991, 0
    while (entry := log.next_after(position)) is not None:
        position, missed = entry.sequence, missed + 1
    assert missed == 10
    assert counted.looked <= 3 * missed
