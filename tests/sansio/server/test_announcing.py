"""A stream for a call that began without one: its application found out that it will take long (rules P4, R2, R18)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.ids import Secret, StreamId
from mcpstreams_sansio.server.calls import BodyPolicy, Peer, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.inputs import OpenStream
from mcpstreams_sansio.wire.meta import read_window
from mcpstreams_sansio.wire.streams import ResumeInterval
from mcpstreams_sansio.wire.tags import read_tag
from tests.sansio.server.conversation import DRAFT, KEY, MARKER, STOCK, Client, Conversation, token_of

S1 = StreamId("s1")
A_MINUTE = ResumeInterval(max=60)
FLEETING = StreamKind.FLEETING


def sequences(client: Client) -> list[int | None]:
    """Return the positions by which a client knows what it was sent."""
    tags = [read_tag(message) for message in client.messages]
    assert all(tag is None or tag.stream_id == S1 for tag in tags)
    return [None if tag is None else tag.sequence for tag in tags]


# ------------------------------------------------------------------------------------------------- what comes of it


@pytest.mark.rule("P4", "R2")
@pytest.mark.parametrize("peer", [DRAFT, MARKER])
@pytest.mark.parametrize("framing", [Framing.LINES, Framing.HTTP])
def test_a_call_gets_a_stream_while_nothing_was_said(peer: Peer, framing: Framing) -> None:
    talk = Conversation()
    client = talk.exchange() if framing is Framing.HTTP else talk.connect()
    client.call(peer=peer, kind=FLEETING)
    assert client.messages == []
    talk.open(interval=A_MINUTE)
    create = client.create
    assert (create.stream_id, create.resume_token, create.request_id) == (S1, token_of("s1"), 7)
    assert create.resume_interval == A_MINUTE
    talk.say(1)
    client.lose()
    assert talk.abandonment() == 60
    other = talk.connect()
    other.resume(attempt="a.1" if peer.marker else None)
    talk.respond()
    assert other.heard() == ["create", "progress 1", "result 7", "end", "result 9"]


@pytest.mark.rule("R1", "R4", "R6")
def test_a_client_that_counts_is_given_the_numbers_and_the_window() -> None:
    talk = Conversation(StreamsConfig(window=2))
    line, stock = talk.connect(), talk.connect()
    line.call(peer=MARKER, kind=FLEETING)
    talk.open()
    window = read_window(line.create.meta)
    assert window is not None
    assert window.entries == 2
    talk.say(1)
    assert talk.application() == ["start s1", "hold s1"]
    line.ack(2)
    assert talk.application() == ["more s1"]
    talk.respond()
    assert sequences(line) == [1, 2, 3, 4]
    stock.call(peer=DRAFT, kind=FLEETING, stream="s2")
    talk.open("s2")
    talk.respond("s2")
    assert (stock.heard(), sequences(stock)) == (["create", "result 7", "end"], [None] * 3)


@pytest.mark.rule("R3", "R21")
def test_its_token_goes_with_the_first_acknowledgement_and_a_call_that_is_sent_again_gets_a_fresh_one() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(peer=MARKER, kind=FLEETING, key=KEY, attempt="a.1")
    talk.open(interval=A_MINUTE)
    line.ack(1)
    line.call(peer=MARKER, key=KEY, attempt="a.2", stream="s2", token=Secret("fresh"))
    assert (line.create.resume_token, line.create.request_id, line.create.resume_interval) == (
        Secret("fresh"),
        7,
        A_MINUTE,
    )


@pytest.mark.rule("R9", "R1", "R4")
def test_it_outlives_the_process_as_what_it_became() -> None:
    talk = Conversation(StreamsConfig(durable=True))
    line, other = talk.connect(), talk.connect()
    line.call(peer=MARKER, kind=FLEETING)
    talk.open(interval=A_MINUTE)
    talk.say(1)
    talk.restart()
    assert talk.abandonment() == 60
    other = talk.connect()
    other.resume(after=1, attempt="a.1")
    talk.respond()
    assert other.heard() == ["progress 1", "result 7", "end", "result 9"]
    assert other.chunks[0] == line.chunks[1]
    assert sequences(other) == [2, 3, 4, None]


# --------------------------------------------------------------------------------------------------- where it is no use


def of_no_stream(talk: Conversation) -> None:
    talk.connect().call(peer=STOCK)


def with_a_stream(talk: Conversation) -> None:
    talk.connect().call()


def with_a_word(talk: Conversation) -> None:
    talk.connect().call(kind=FLEETING)
    talk.say(1)


def without_events(talk: Conversation) -> None:
    talk.exchange().call(kind=FLEETING, body=BodyPolicy.NEVER)


def without_a_client(talk: Conversation) -> None:
    exchange = talk.exchange()
    exchange.call(kind=StreamKind.SILENT)
    exchange.lose()


@pytest.mark.rule("P4", "R2", "R18")
@pytest.mark.parametrize("calls", [of_no_stream, with_a_stream, with_a_word, without_events, without_a_client])
def test_nothing_comes_of_it_where_the_client_could_do_nothing_with_it(calls: Callable[[Conversation], None]) -> None:
    talk = Conversation()
    calls(talk)
    before = talk.machine.snapshot(talk.now)
    assert talk.submit(OpenStream(S1, token_of("s1"))) == []
    assert talk.machine.snapshot(talk.now) == before


@pytest.mark.rule("R10", "R25")
@pytest.mark.parametrize("config", [StreamsConfig(max_streams=1), StreamsConfig(max_streams_per_principal=1)])
def test_its_call_is_counted_once_and_where_there_is_no_room_it_goes_on_without(config: StreamsConfig) -> None:
    talk = Conversation(config)
    line = talk.connect(principal="ann")
    line.call(7, "s1", kind=FLEETING)
    talk.open("s1")
    line.call(8, "s2", kind=FLEETING)
    talk.open("s2")
    assert line.heard() == ["create"]
    line.cancelled(7)
    talk.open("s2")
    assert line.heard() == ["end", "create"]
