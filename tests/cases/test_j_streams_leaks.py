"""What was kept for ever, and what had no bound (group J: in the server's streams)."""

from __future__ import annotations

from collections.abc import Sized

import pytest

from mcpstreams_sansio.server.calls import Peer
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.registry import Registry
from tests.sansio.server.conversation import DRAFT, KEY, MARKER, STOCK, Conversation


def sizes(registry: Registry) -> dict[str, int]:
    """Return how much each table of a machine holds."""
    tables: dict[str, Sized] = {
        "streams": registry.streams,
        "connections": registry.connections,
        "calls": registry.calls,
        "resumes": registry.resumes,
        "asks": registry.asks,
        "bound": registry.bound,
        "quotas": registry.quotas,
        "working": registry.working,
        "works": registry.works,
        "tombstones": registry.tombstones,
        "deadlines": registry.deadlines,
    }
    return {name: len(table) for name, table in tables.items()} | {"bytes": registry.total_bytes}


EMPTY = dict.fromkeys(sizes(Conversation().machine._registry), 0)


@pytest.mark.rule("Q7d", "Q7e", "R16")
def test_j1_what_nobody_comes_back_for_is_gone_in_the_end() -> None:
    talk = Conversation(StreamsConfig(tombstone_ttl=3_600))
    line, exchange = talk.connect(), talk.exchange()
    line.call(1, "announced")
    exchange.call(2, "silent", peer=STOCK)
    line.call(3, "completed")
    line.call(4, "asking")
    talk.ask("q1", "asking")
    talk.say(1, stream="announced")
    talk.respond("completed")
    line.lose()
    exchange.lose()
    talk.wait(600 + 3_600)
    assert sizes(talk.machine._registry) == EMPTY
    assert talk.machine.next_deadline() is None


@pytest.mark.rule("Q11h")
@pytest.mark.parametrize("peer", [STOCK, DRAFT, MARKER])
def test_j3_hundreds_of_requests_leave_nothing_behind(peer: Peer) -> None:
    talk = Conversation(StreamsConfig(max_tombstones=10, key_ttl=10, tombstone_ttl=5))
    client = talk.connect(principal="ann")
    for number in range(300):
        talk.wait(0.2)
        stream = f"s{number}"
        key = f"{number:022}" if peer is MARKER else None
        client.call(number, stream, peer=peer, key=key, attempt=f"a.{number}" if key else None)
        talk.say(1, stream=stream)
        talk.respond(stream)
        client.ack(4, stream)
        client.poll("nothing")
        client.messages.clear()
        client.chunks.clear()
        talk.effects.clear()
        if client.dropped is not None:
            client = talk.connect(principal="ann")
    client.lose()
    talk.wait(1_000)
    registry = talk.machine._registry
    assert sizes(registry) == EMPTY
    assert registry.alive == 0
    assert registry.keys.count(("principal", "ann"), talk.now) == 0
    assert len(registry.keys) == 0


@pytest.mark.rule("R10", "P40")
@pytest.mark.parametrize("waits", [True, False])
def test_j6_an_endless_stream_without_a_reader_is_bounded(*, waits: bool) -> None:
    talk = Conversation(StreamsConfig(window=50, max_stream_bytes=20_000))
    line = talk.connect()
    line.call()
    line.lose()
    told: list[str] = []
    said = 0
    while said < 1_000 and not any("hold" in what for what in told if waits):
        talk.say(said)
        said += 1
        told += talk.application()
    log = talk.machine._registry.streams[line.create.stream_id].log
    if waits:
        assert (said, log.produced) == (50, 51)
    else:
        assert "cancel s1: log full" in told
        assert log.size <= 20_000 + 1_000
    other = talk.connect()
    other.resume()
    assert other.heard()[:3] == ["create", "progress 0", "progress 1"]


@pytest.mark.rule("R21")
def test_j3_a_key_goes_when_its_time_is_over_also_if_its_call_never_ends() -> None:
    talk = Conversation(StreamsConfig(key_ttl=10, max_keys=1))
    line = talk.connect()
    line.call(1, "s1", peer=MARKER, key=KEY)
    talk.wait(10)
    line.call(2, "s2", peer=MARKER, key="another-key-of-some-length")
    assert line.heard()[-1] == "create"
