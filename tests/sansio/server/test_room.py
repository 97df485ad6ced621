"""Making room: what is forgotten first, and what never (rules R10, R5, R7; case X8)."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.connections import Write
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.ids import ConnectionId, StreamId
from mcpstreams_sansio.server import room
from mcpstreams_sansio.server.calls import CallPolicy, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.inputs import CallReceived, Reply, SendMessage
from mcpstreams_sansio.server.log import StreamLog
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.wire.jsonrpc import Request, Response
from mcpstreams_sansio.wire.revisions import AfterLoss
from tests.sansio.server.conversation import (
    DRAFT,
    KEY,
    MARKER,
    METHOD,
    STOCK,
    Client,
    Conversation,
    progress,
    token_of,
)

ROOM = StreamsConfig(max_total_bytes=16_000, keep_bytes=1_000, max_stream_bytes=100_000, window=10_000)


def log_of(talk: Conversation, stream: str = "s1") -> StreamLog:
    return talk.machine._registry.streams[StreamId(stream)].log


def sizes(talk: Conversation) -> dict[str, int]:
    """Return how much of each stream is kept."""
    return {stream_id: stream.log.size for stream_id, stream in talk.machine._registry.streams.items()}


def total(talk: Conversation) -> int:
    return talk.machine._registry.total_bytes


def chatter(talk: Conversation, stream: str, size: int) -> None:
    """Send about so many bytes, in messages of a thousand."""
    for number in range(size // 1_000):
        talk.say(number, stream=stream, size=900)


def away(talk: Conversation, stream: str, request_id: int) -> Client:
    """Return the line of a call whose client went away right after `create`."""
    line = talk.connect()
    line.call(request_id, stream)
    line.lose()
    return line


# -------------------------------------------------------------------------------------------------------- the order


@pytest.mark.rule("R10", "R5")
def test_what_is_confirmed_goes_first() -> None:
    talk = Conversation(ROOM)
    line = talk.connect()
    line.call(1, "confirmed", peer=MARKER)
    line.call(2, "sent")
    chatter(talk, "confirmed", 8_000)
    line.ack(9, "confirmed")
    chatter(talk, "sent", 8_000)
    assert sizes(talk)["confirmed"] == 0
    assert log_of(talk, "sent").first_available == 1


@pytest.mark.rule("R10")
def test_then_the_sent_notifications_of_completed_streams() -> None:
    talk = Conversation(ROOM)
    line = talk.connect()
    line.call(1, "live")
    chatter(talk, "live", 6_000)
    line.call(2, "completed")
    chatter(talk, "completed", 5_000)
    talk.respond("completed")
    chatter(talk, "live", 5_000)
    assert talk.state("completed") is StreamState.COMPLETED
    assert log_of(talk, "completed").first_available > 1
    assert log_of(talk, "live").first_available == 1


@pytest.mark.rule("R10")
def test_then_those_of_live_streams_the_noisiest_first() -> None:
    talk = Conversation(ROOM)
    line = talk.connect()
    quiet = [f"quiet{number}" for number in range(10)]
    for number, stream in enumerate(quiet):
        line.call(number, stream)
        talk.say(1, stream=stream)
    line.call(100, "noisy")
    chatter(talk, "noisy", 30_000)
    assert all(log_of(talk, stream).first_available == 1 for stream in quiet)
    assert log_of(talk, "noisy").first_available > 10
    assert total(talk) <= ROOM.max_total_bytes


@pytest.mark.rule("R7", "R10")
def test_of_a_live_stream_some_of_what_was_sent_is_always_kept() -> None:
    talk = Conversation(ROOM)
    line = talk.connect()
    line.call(1, "live")
    chatter(talk, "live", 5_000)
    away(talk, "away", 2)
    chatter(talk, "away", 16_000)
    assert ROOM.keep_bytes <= sizes(talk)["live"] < ROOM.keep_bytes + 1_000
    assert log_of(talk, "live").entry(6) is not None


@pytest.mark.rule("R10")
def test_then_whole_completed_streams_whose_end_was_sent_the_oldest_first() -> None:
    talk = Conversation(ROOM)
    line = talk.connect()
    for number, stream in enumerate(("old", "middle", "new")):
        line.call(number, stream)
        talk.respond(stream, {"text": "x" * 3_000})
    away(talk, "unsent", 9)
    talk.respond("unsent", {"text": "x" * 3_000})
    away(talk, "away", 10)
    chatter(talk, "away", 4_000)
    states = [talk.state(stream) for stream in ("old", "middle", "new", "unsent")]
    assert states == [StreamState.GONE, StreamState.COMPLETED, StreamState.COMPLETED, StreamState.COMPLETED]
    assert line.poll("old") == "error expired"


@pytest.mark.rule("R10", "Q5e", "Q10")
def test_then_no_new_stream_and_never_what_was_not_sent() -> None:
    talk = Conversation(ROOM)
    away(talk, "away", 1)
    chatter(talk, "away", 20_000)
    talk.respond("away")
    line = talk.connect()
    line.call(2, "unkeyed")
    line.call(3, "keyed", peer=MARKER, key="k" * 22)
    talk.respond("unkeyed")
    assert line.heard() == ["error 3 too_many_streams", "result 2"]
    line.resume(9, "away")
    assert line.heard() == ["create", *(f"progress {number}" for number in range(20)), "result 1", "end", "result 9"]


# ------------------------------------------------------------------------------------------------------------- gaps


@pytest.mark.rule("R10", "Q5c", "Q5f")
def test_a_gap_is_reported_with_what_is_left_and_how_much_is_not() -> None:
    talk = Conversation(StreamsConfig(max_stream_bytes=3_500))
    line = talk.connect()
    line.call()
    for number in range(10):
        talk.say(number, size=900)
    line.lose()
    other = talk.connect()
    other.resume(after=3)
    assert other.heard() == ["error 9 events_gone"]
    first = log_of(talk).first_available
    assert other.error.data == {"reason": "events_gone", "firstAvailable": first, "lost": first - 1 - 3}
    other.resume(10, after=first - 1)
    assert other.heard()[0] == f"progress {first - 2}"


@pytest.mark.rule("R10", "R21", "R3")
def test_a_call_that_is_sent_again_gets_its_token_however_much_is_gone() -> None:
    talk = Conversation(StreamsConfig(max_stream_bytes=3_500))
    lost = talk.connect()
    lost.call(peer=MARKER, key=KEY, attempt="a.1")
    for number in range(10):
        talk.say(number, size=900)
    lost.lose()
    first = log_of(talk).first_available
    assert first > 2
    again = talk.connect()
    again.call(peer=MARKER, key=KEY, attempt="a.2", stream="s2")
    assert again.heard() == ["create", *(f"progress {number - 2}" for number in range(first, 12))]
    again.resume(9, after=1, attempt="a.3")
    assert again.error.data == {"reason": "events_gone", "firstAvailable": first, "lost": first - 2}


@pytest.mark.rule("R8", "R10")
def test_a_resume_without_a_cursor_gets_what_is_left() -> None:
    talk = Conversation(StreamsConfig(max_stream_bytes=3_500))
    line = talk.connect()
    line.call()
    for number in range(10):
        talk.say(number, size=900)
    first = log_of(talk).first_available
    assert first > 2
    line.lose()
    other = talk.connect()
    other.resume()
    assert other.heard() == [f"progress {number}" for number in range(first - 2, 10)]


# ------------------------------------------------------------------------------------------------------ when to look


def test_a_crowded_moment_does_not_raise_the_limit_for_ever() -> None:
    talk = Conversation(ROOM)
    away(talk, "away", 1)
    chatter(talk, "away", 40_000)
    talk.connect().cancel(2, "away")
    line = talk.connect()
    line.call(3, "noisy")
    chatter(talk, "noisy", 40_000)
    assert total(talk) <= ROOM.max_total_bytes


def test_what_has_nothing_to_give_is_not_looked_at_again_before_it_changes() -> None:
    talk = Conversation(ROOM)
    for number in (1, 2):
        away(talk, f"s{number}", number)
        chatter(talk, f"s{number}", 17_000)
    registry = talk.machine._registry
    assert (total(talk) > ROOM.max_total_bytes, registry.yielding) == (True, {})
    room_needed = registry.fork()
    room_needed.yielding = dict.fromkeys(room_needed.streams)
    assert room.make(room_needed) == []
    assert room_needed.total_bytes == total(talk), "nothing would have been found there"


@pytest.mark.rule("R10")
def test_a_call_finds_the_room_that_the_write_before_it_made() -> None:
    talk = Conversation(StreamsConfig(max_total_bytes=300))
    lost = talk.connect()
    lost.call(1, "s1", peer=MARKER, key="1" * 22)
    lost.lose()
    talk.respond("s1")
    back = talk.connect()
    back.call(1, "s1 again", peer=MARKER, key="1" * 22, attempt="a.2")
    assert total(talk) < 300, "what was written goes, where a call would find no room"
    back.call(2, "s2", peer=MARKER, key="2" * 22)
    assert "error 2 too_many_streams" not in back.heard()


# ------------------------------------------------------------------------------------------------------------- quotas


@pytest.mark.rule("Q10", "R10")
@pytest.mark.parametrize(
    "config",
    [StreamsConfig(max_streams=2), StreamsConfig(max_streams_per_principal=2)],
    ids=["in all", "of one principal"],
)
def test_a_further_call_is_served_without_a_stream(config: StreamsConfig) -> None:
    talk = Conversation(config)
    line = talk.connect(principal="ann")
    for number in range(3):
        line.call(number, f"s{number}", peer=DRAFT)
    assert line.heard() == ["create", "create"]
    talk.respond("s2")
    assert line.heard() == ["result 2"]
    line.call(3, "s3", peer=MARKER, key="k" * 22)
    assert line.heard() == ["error 3 too_many_streams"]
    line.cancelled(0)
    line.call(4, "s4", peer=MARKER, key="k" * 22)
    assert line.heard() == ["end", "create"]


@pytest.mark.rule("R25", "Q11h")
def test_quotas_are_counted_by_principal_else_by_where_a_call_came_from() -> None:
    talk = Conversation(StreamsConfig(max_streams_per_principal=1))
    ann, also_ann, bob = (talk.connect(principal=name) for name in ("ann", "ann", "bob"))
    here, also_here = talk.connect(address="192.0.2.1"), talk.exchange(address="192.0.2.1")
    there, nowhere, also_nowhere = talk.connect(address="192.0.2.2"), talk.connect(), talk.connect()
    lines = (ann, also_ann, bob, here, also_here, there, nowhere, also_nowhere)
    for number, line in enumerate(lines):
        line.call(number, f"s{number}", kind=StreamKind.ANNOUNCED)
    served = [any("create" in heard for heard in line.heard()) for line in lines]
    assert served == [True, False, True, True, False, True, True, False]


@pytest.mark.rule("R25", "Q11h")
def test_the_calls_of_one_peer_leave_room_for_those_of_others() -> None:
    talk = Conversation(StreamsConfig(max_calls_per_principal=2))
    for number in range(2):
        gone = talk.connect(address="192.0.2.1")
        gone.call(number, f"s{number}", peer=STOCK, after_loss=AfterLoss.RUN_ON)
        gone.lose()
    again, other = talk.connect(address="192.0.2.1"), talk.connect(address="192.0.2.2")
    again.call(2, "s2", peer=STOCK)
    other.call(3, "s3", peer=STOCK)
    assert (again.heard(), other.heard()) == (["error 2 too_many_streams"], [])
    assert talk.application() == ["start s0", "start s1", "start s3"]
    talk.respond("s0")
    for number in (4, 5):
        again.call(number, f"s{number}", peer=STOCK)
    assert again.heard() == ["error 5 too_many_streams"]


@pytest.mark.rule("Q11h")
def test_calls_have_a_limit_of_their_own() -> None:
    talk = Conversation(StreamsConfig(max_calls=2))
    line = talk.connect()
    for number in range(3):
        line.call(number, f"s{number}", peer=STOCK)
    assert line.heard() == ["error 2 too_many_streams"]
    talk.respond("s0")
    line.call(3, "s3", peer=STOCK)
    talk.respond("s3")
    assert line.heard() == ["result 0", "result 3"]


# ------------------------------------------------------------------------------------- what a replay has still to give


@pytest.mark.rule("R10", "P13", "P16")
@pytest.mark.parametrize("complete", [True, False])
def test_nothing_that_the_connection_was_not_given_yet_makes_room(complete: bool) -> None:
    talk = Conversation(attrs.evolve(ROOM, max_write_bytes=2_000))
    lost = talk.connect()
    lost.call(1, "s1", peer=MARKER)
    talk.say(*range(10), size=900)
    if complete:
        talk.respond()
    lost.lose()
    back = talk.connect()
    back.reads = False
    back.resume(after=1, attempt="i.2")
    other = talk.connect()
    other.call(1, "s2", peer=MARKER)
    chatter(talk, "s2", 20_000)
    back.reads = True
    back.take()
    expected = [f"progress {number}" for number in range(10)]
    assert [said for said in back.heard() if said.startswith("progress")] == expected


@pytest.mark.rule("R5", "R10")
def test_a_replay_from_below_what_is_confirmed_outlives_the_window() -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=2_000, redelivery_window=10.0))
    first = talk.connect()
    first.call(1, "s1", peer=MARKER)
    talk.say(*range(10), size=900)
    first.ack(11)
    first.lose()
    back = talk.connect()
    back.reads = False
    back.resume(after=1, attempt="i.2")
    talk.wait(20.0)
    back.reads = True
    back.take()
    assert [said for said in back.heard() if said.startswith("progress")] == [f"progress {n}" for n in range(10)]


# -------------------------------------------------------------------------------------------------- what comes at once


def almost_full() -> tuple[Conversation, SendMessage, CallReceived]:
    """Return streams that hold almost all they may, a message that is too much, and a call that comes behind it."""
    talk = Conversation(ROOM)
    talk.connect().call(1, "s1")
    chatter(talk, "s1", 14_000)
    line = talk.connect()
    call = CallReceived(
        line.connection_id,
        StreamId("s2"),
        Request(2, METHOD),
        DRAFT,
        CallPolicy(StreamKind.ANNOUNCED),
        token_of("s2"),
    )
    return talk, SendMessage(StreamId("s1"), progress(0, 3_000)), call


def has_a_stream(talk: Conversation) -> bool:
    return talk.machine._registry.streams[StreamId("s2")].announced


@pytest.mark.rule("R10", "R13")
def test_room_is_made_between_inputs_that_come_at_once() -> None:
    talk, message, call = almost_full()
    talk.machine.handle_all([message, call], talk.now)
    assert has_a_stream(talk)


@pytest.mark.rule("R10", "R13")
def test_room_is_made_behind_inputs_that_came_before_a_wrong_one() -> None:
    talk, message, call = almost_full()
    with pytest.raises(LocalProtocolError, match=r"\Athere never was such a connection\Z"):
        talk.machine.handle_all([message, Reply(ConnectionId(2), Response("p", {}))], talk.now)
    talk.machine.handle(call, talk.now)
    assert has_a_stream(talk)


@pytest.mark.rule("R10", "R11")
def test_while_there_is_room_all_that_comes_at_once_shares_a_write() -> None:
    talk, _, call = almost_full()
    effects = talk.machine.handle_all([call, Reply(call.connection_id, Response("p", {}))], talk.now)
    assert [len(effect.chunks) for effect in effects if isinstance(effect, Write)] == [2]
