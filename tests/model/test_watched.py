"""Machines that are looked at from inside: what one keeps, leaves open or tells nobody is seen at its next step."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from mcpstreams_sansio.connections import ConnectionLost, DeadlineReached
from mcpstreams_sansio.ids import CallId, Digest, Secret
from mcpstreams_sansio.server import attachments, flow, room
from mcpstreams_sansio.server.calls import StreamKind
from mcpstreams_sansio.server.inputs import CallReceived, SendMessage
from mcpstreams_sansio.server.registry import Registry
from mcpstreams_sansio.server.stream import Handler, Reading, Stream, attachment_of
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.testing import Bounds, Peers, StreamsWorld, Violation
from mcpstreams_sansio.testing.caller import Caller, Guarantee
from mcpstreams_sansio.testing.client_side import check_unread
from mcpstreams_sansio.testing.conversation import message
from mcpstreams_sansio.testing.names import stream_name
from mcpstreams_sansio.testing.watched import WatchedClient, WatchedServer
from tests.model.planted.fault import nothing
from tests.model.ways import walked

STREAM = stream_name(1)
SAID = SendMessage(STREAM, message(1, "p"))
WITH_A_STREAM = ("call k1", "connect", "up c1", "down c1")


def serving(setting: str, *path: str) -> WatchedServer:
    """Return the server's machine of such a world, to meddle with."""
    machine = walked(setting, *path).state.server._machine.fork()
    assert isinstance(machine, WatchedServer)
    return machine


def inside(machine: WatchedServer) -> Registry:
    return machine._machine._registry


def only_stream(machine: WatchedServer) -> Stream:
    (stream,) = inside(machine).streams.values()
    return stream


def another_call() -> CallReceived:
    """Return a call on the same connection, with a key of its own."""
    world = walked("multiplexed marker", "call k1", "connect", "up c1")
    (call,) = [event for _, event in world.state.happened if isinstance(event, CallReceived)]
    request = attrs.evolve(call.request, id="another")
    return attrs.evolve(call, stream_id=stream_name(2), request=request, key=Secret("k" * 22), digest=Digest(b"d" * 32))


# ------------------------------------------------------------------------------------------------ counted


def loses_a_byte(stream: Stream) -> None:
    stream.log.size -= 1


def has_sent_more(stream: Stream) -> None:
    stream.log.unsent_size -= 1


def has_confirmed_more(stream: Stream) -> None:
    stream.log.unconfirmed_size -= 1


@pytest.mark.rule("R10")
@pytest.mark.parametrize("meddle", [loses_a_byte, has_sent_more, has_confirmed_more])
def test_what_a_stream_keeps_is_counted(meddle: Callable[[Stream], None]) -> None:
    machine = serving("multiplexed marker", *WITH_A_STREAM)
    meddle(only_stream(machine))
    with pytest.raises(Violation, match=r"memory within limits: stream-00001 has .* bytes and counts"):
        machine.handle(SAID, 0.0)


def counts_too_many(known: Registry) -> None:
    known.alive += 1


def counts_too_much(known: Registry) -> None:
    known.total_bytes += 1


@pytest.mark.rule("R10")
@pytest.mark.parametrize("meddle", [counts_too_many, counts_too_much])
def test_so_is_what_all_streams_keep(meddle: Callable[[Registry], None]) -> None:
    machine = serving("multiplexed marker", *WITH_A_STREAM)
    meddle(inside(machine))
    with pytest.raises(Violation, match=r"memory within limits: 1 streams have .* are counted"):
        machine.handle(SAID, 0.0)


@pytest.mark.rule("Q7d")
def test_nothing_is_kept_of_a_stream_that_is_gone() -> None:
    machine = serving("multiplexed marker", *WITH_A_STREAM)
    only_stream(machine).state = StreamState.GONE
    with pytest.raises(Violation, match=r"memory within limits: stream-00001 is gone, and .* bytes of it are kept"):
        machine.handle(another_call(), 0.0)


@pytest.mark.rule("Q7d")
def test_nothing_names_a_stream_where_there_is_none() -> None:
    machine = serving("multiplexed marker messages=0", *WITH_A_STREAM, "succeed k1", "down c1", "down c1")
    inside(machine).asks["ask-00001"] = STREAM
    with pytest.raises(Violation, match="memory within limits: something names streams, and there is none"):
        machine.handle(DeadlineReached(), 16.0)


# ------------------------------------------------------------------------------------------------ room


@pytest.mark.rule("R10")
def test_what_may_go_goes_where_there_is_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = serving("multiplexed marker messages=2 room=300", *WITH_A_STREAM)
    monkeypatch.setattr(room, "make", lambda _: [])
    with pytest.raises(Violation, match="memory within limits: 455 bytes are kept, and not all that may go of"):
        machine.handle(SAID, 0.0)


@pytest.mark.rule("R10")
def test_what_may_go_is_looked_for_before_there_is_no_room() -> None:
    machine = serving("multiplexed marker messages=2", *WITH_A_STREAM)
    machine.handle(SAID, 0.0)
    inside(machine).yielding.clear()
    machine.handle(DeadlineReached(), 0.0)
    inside(machine).config = attrs.evolve(inside(machine).config, keep_bytes=1)
    with pytest.raises(Violation, match="memory within limits: what may go of stream-00001 is not looked for"):
        machine.handle(DeadlineReached(), 0.0)


@pytest.mark.rule("R10")
def test_a_completed_stream_goes_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = serving("multiplexed marker messages=0", *WITH_A_STREAM, "succeed k1")
    monkeypatch.setattr(room, "make", lambda _: [])
    monkeypatch.setattr(Registry, "has_room", lambda *_: True)
    inside(machine).config = attrs.evolve(inside(machine).config, max_total_bytes=600)
    with pytest.raises(Violation, match=r"memory within limits: .* not all that may go of stream-00001 has gone"):
        machine.handle(another_call(), 0.0)


@pytest.mark.rule("R10", "R7")
@pytest.mark.parametrize(
    ("keeps", "path"), [(10_000, ()), (1, ("cut c1", "notice c1"))], ids=["as much as it shall", "what was not sent"]
)
def test_what_may_not_go_stays(keeps: int, path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    machine = serving("multiplexed marker messages=2 cuts=1 room=300", *WITH_A_STREAM, *path)
    monkeypatch.setattr(room, "make", lambda _: [])
    inside(machine).config = attrs.evolve(inside(machine).config, keep_bytes=keeps)
    machine.handle(SAID, 0.0)
    assert inside(machine).total_bytes > 300


@pytest.mark.rule("R10")
def test_without_room_no_stream_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = serving("multiplexed marker room=300", *WITH_A_STREAM)
    monkeypatch.setattr(Registry, "has_room", lambda *_: True)
    with pytest.raises(Violation, match="memory within limits: stream-00002 is opened, and there is no room for it"):
        machine.handle(another_call(), 0.0)


@pytest.mark.rule("R10")
def test_without_room_a_call_is_refused_or_served_without_a_stream() -> None:
    machine = serving("multiplexed marker room=300", *WITH_A_STREAM)
    machine.handle(another_call(), 0.0)
    unkeyed = attrs.evolve(another_call(), stream_id=stream_name(3), key=None, digest=None)
    machine.handle(unkeyed, 0.0)
    assert [stream.policy.kind for stream in inside(machine).streams.values()] == [
        StreamKind.ANNOUNCED,
        StreamKind.FLEETING,
    ]


def test_what_is_due_makes_room_before_a_call_is_looked_at() -> None:
    machine = serving("multiplexed marker messages=0 room=300", *WITH_A_STREAM, "succeed k1", "down c1", "down c1")
    machine.handle(another_call(), 16.0)
    assert inside(machine).alive == 1


# ------------------------------------------------------------------------------------------------ the window


@pytest.mark.rule("R6", "R10")
def test_work_that_is_as_far_ahead_as_it_may_be_is_told_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = serving("multiplexed marker window=2", *WITH_A_STREAM)
    monkeypatch.setattr(flow, "over_limit", lambda *_: False)
    with pytest.raises(Violation, match=r"no more than the window is ahead: .* is 2 entries ahead, and is not told"):
        machine.handle(SAID, 0.0)


@pytest.mark.rule("R7")
def test_of_who_says_nothing_more_it_counts_what_was_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = serving("multiplexed marker window=2", *WITH_A_STREAM)
    attachment_of(only_stream(machine)).reading = Reading.ENDED
    monkeypatch.setattr(flow, "over_limit", lambda *_: False)
    machine.handle(SAID, 0.0)
    assert only_stream(machine).log.sent == 2


@pytest.mark.rule("R7", "R10")
def test_work_that_is_less_far_ahead_than_it_may_be_is_told_to_go_on() -> None:
    machine = serving("multiplexed marker", *WITH_A_STREAM)
    only_stream(machine).handler = Handler.HELD
    with pytest.raises(Violation, match="work that need not wait goes on: stream-00001 may go on, and was not told"):
        machine.handle(DeadlineReached(), 0.0)


@pytest.mark.rule("R10")
@pytest.mark.parametrize("setting", ["multiplexed marker window=2", "multiplexed stock window=2"])
def test_whoever_is_told_to_stop_need_not_be_told_to_wait(setting: str) -> None:
    machine = serving(setting, "call k1", "connect", "up c1")
    inside(machine).config = attrs.evolve(inside(machine).config, max_stream_bytes=1)
    machine.handle(SAID, 0.0)
    assert not inside(machine).working


def test_of_work_on_what_is_gone_nothing_is_asked() -> None:
    machine = serving("multiplexed marker messages=0", *WITH_A_STREAM)
    machine.handle(attrs.evolve(SAID, stream_id=stream_name(7)), 0.0)


# ------------------------------------------------------------------------------------------------ what is unread


@pytest.mark.rule("R23")
@pytest.mark.parametrize(
    ("peers", "bounds", "most"),
    [
        (Peers.MARKER, Bounds(max_unread=1), 2),
        (Peers.MARKER, Bounds(max_unread=2, reads_ahead=1), 3),
        (Peers.STOCK, Bounds(max_unread=2, reads_ahead=1), 4),
    ],
)
def test_no_more_is_unread_than_fits_and_what_was_read_ahead(peers: Peers, bounds: Bounds, most: int) -> None:
    state = StreamsWorld(peers=peers, bounds=bounds).state
    state.left = attrs.evolve(state.left, reads_ahead=0)
    check_unread(state, Caller(1, Guarantee.EXACTLY_ONCE, seen=most))
    with pytest.raises(Violation, match=f"memory within limits: call 1 has {most + 1} items unread"):
        check_unread(state, Caller(1, Guarantee.EXACTLY_ONCE, seen=most + 1))


def test_where_there_is_room_for_more_than_there_is_nothing_is_counted() -> None:
    check_unread(StreamsWorld().state, Caller(1, Guarantee.EXACTLY_ONCE, seen=100))


# ------------------------------------------------------------------------------------------------ what is left


@pytest.mark.rule("R25")
def test_a_call_is_open_as_long_as_it_has_a_stream_or_is_worked_on() -> None:
    machine = serving("multiplexed marker", *WITH_A_STREAM)
    assert machine.open_calls == 1
    inside(machine).alive = 0
    assert machine.open_calls == 1
    inside(machine).working.clear()
    assert machine.open_calls == 0


# ------------------------------------------------------------------------------------------------ a client


@pytest.mark.rule("R24")
def test_nothing_names_a_call_that_is_over() -> None:
    (home,) = walked("multiplexed marker messages=0", *WITH_A_STREAM).state.homes.values()
    machine = home.machine._machine.fork()
    assert isinstance(machine, WatchedClient)
    machine._machine._ledger.asks["ask-00001"] = CallId(7)
    with pytest.raises(Violation, match="memory within limits: something names call 7, which is over"):
        machine.handle(DeadlineReached(), 0.0)


# ------------------------------------------------------------------------------------------------ what is over


@pytest.mark.rule("R15")
def test_a_response_that_carries_nothing_is_ended() -> None:
    machine = serving("http marker messages=0", "call k1", "connect", "up c1")
    (path,) = inside(machine).connections.values()
    path.attached.clear()
    with pytest.raises(Violation, match=r"what is over ends: the response on .* carries nothing and stays open"):
        machine.handle(DeadlineReached(), 0.0)


# ------------------------------------------------------------------------------------------------ what is told


@pytest.mark.rule("R15")
def test_whoever_embeds_a_server_is_told_who_delivers(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = serving("multiplexed marker", *WITH_A_STREAM)
    (path,) = inside(machine).connections
    monkeypatch.setattr(attachments, "await_client", nothing)
    with pytest.raises(Violation, match=f"who delivers is told: {{'stream-00001': {path}}} is known, and it is {{}}"):
        machine.handle(ConnectionLost(path), 0.0)
