"""How far an application may be ahead of its client, and when it waits (rules R6, R7, R10)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.ids import ConnectionId, StreamId
from mcpstreams_sansio.server.calls import Peer, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.wire.jsonrpc import Response
from mcpstreams_sansio.wire.meta import read_window
from tests.sansio.server.conversation import DRAFT, MARKER, Client, Conversation

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


# ------------------------------------------------------------------------------------- what is being given once more


def busy(talk: Conversation) -> Client:
    """Return a connection that has something to read and does not."""
    line = talk.connect()
    line.reads = False
    talk.reply(line, Response("p", {}))
    return line


def returning(talk: Conversation, peer: Peer) -> Client:
    """Return a connection that has yet to be given all of a stream again, of which its client has everything."""
    first = talk.connect()
    first.call(peer=peer)
    for number in (1, 2):
        talk.say(number)
        if peer.marker:
            first.ack(number + 1)
    first.lose()
    second = busy(talk)
    second.resume(after=1 if peer.marker else None, attempt="a.1" if peer.marker else None)
    talk.say(3)
    assert talk.application() == ["start s1", "hold s1"]
    return second


@pytest.mark.rule("R7", "Q7b")
@pytest.mark.parametrize("peer", [DRAFT, MARKER])
def test_the_work_goes_on_when_the_connection_is_lost_that_it_waited_for(peer: Peer) -> None:
    talk = Conversation(NARROW)
    returning(talk, peer).lose()
    assert talk.application() == ["more s1"]


@pytest.mark.rule("R7", "R14")
def test_it_goes_on_when_a_connection_takes_over_that_has_been_given_it_all() -> None:
    talk = Conversation(StreamsConfig(window=3, max_write_bytes=1))
    returning(talk, MARKER)
    busy(talk).resume(after=3, attempt="a.2")
    assert talk.application() == ["more s1"]


@pytest.mark.rule("R7", "R10")
def test_it_goes_on_when_room_is_made_of_what_its_client_was_sent() -> None:
    talk = Conversation(StreamsConfig(max_total_bytes=3_000, max_stream_bytes=4_000, keep_bytes=500))
    line = talk.connect()
    line.call(peer=MARKER)
    talk.say(1, 2, 3, size=600)
    line.call(8, "s2", peer=MARKER)
    assert talk.application() == ["start s1", "hold s1", "start s2"]
    talk.say(1, size=600, stream="s2")
    assert talk.application() == ["more s1"]


@pytest.mark.rule("R7", "R10")
def test_it_goes_on_when_its_own_stream_makes_room_of_that() -> None:
    talk = Conversation(StreamsConfig(max_stream_bytes=4_000, keep_bytes=500))
    line = talk.connect()
    line.call(peer=MARKER)
    talk.say(1, size=3_000)
    assert talk.application() == ["start s1", "hold s1"]
    talk.say(2, size=900)
    assert talk.application() == ["more s1"]
