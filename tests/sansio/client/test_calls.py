"""One call by itself: what it knows, what it has cost, what is saved of it."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client.calls import Call, Efforts, KnownStream
from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.table import CallSignal, CallState
from mcpstreams_sansio.ids import CallId, Entropy, Secret, StreamId
from mcpstreams_sansio.wire.marker import Window
from mcpstreams_sansio.wire.streams import ResumeInterval, StreamRef

CONFIG = ClientConfig(instance="a-client")
STREAM = KnownStream(StreamId("s"), Secret("token"), ResumeInterval(min=1), Window(10, 1_000))


def call(stream: KnownStream | None = None) -> Call:
    return Call(CallId(3), "a-client-3", "tools/call", None, "a-client-3", Entropy(b"x" * 32), stream=stream)


def test_a_call_begins_where_nothing_can_be_sent() -> None:
    made = call()
    assert not made.keyed
    states = [made.state]
    made.step(CallSignal.SEND)
    states.append(made.state)
    assert states == [CallState.STRANDED, CallState.SENT]


def test_what_a_state_forbids_is_a_fault_of_the_machine() -> None:
    with pytest.raises(AssertionError, match=r"\ARESPONSE in STRANDED: no path is its own\Z"):
        call().step(CallSignal.RESPONSE)


@pytest.mark.rule("Q3c")
def test_each_request_about_a_call_has_an_id_of_its_own() -> None:
    made = call()
    assert [made.next_errand("a-client"), made.next_errand("a-client")] == ["a-client-3.1", "a-client-3.2"]
    assert made.errand == "a-client-3.2"


@pytest.mark.rule("W4", "Q7c")
def test_a_stream_may_be_resumed_unless_its_max_is_0() -> None:
    assert STREAM.resumable
    assert STREAM.ref == StreamRef(StreamId("s"), Secret("token"))
    assert not attrs.evolve(STREAM, interval=ResumeInterval(max=0)).resumable
    assert attrs.evolve(STREAM, interval=ResumeInterval(max=0.5)).resumable


@pytest.mark.rule("R6")
@pytest.mark.parametrize(
    ("window", "taken", "size", "must"),
    [
        (Window(10, 1_000), 5, 0, True),
        (Window(10, 1_000), 4, 0, False),
        (Window(10, 1_000), 1, 500, True),
        (Window(10, 1_000), 1, 499, False),
        (Window(1, 1_000), 1, 0, True),
        (Window(10, 1), 1, 1, True),
        (Window(0, 0), 0, 0, False),
        (None, 1_000, 10**9, False),
    ],
)
def test_half_of_a_window_is_to_be_acknowledged(window: Window | None, taken: int, size: int, must: bool) -> None:
    made = call(attrs.evolve(STREAM, window=window))
    for _ in range(taken):
        made.positions.take_up(None)
    made.unacked_bytes = size
    assert made.must_acknowledge() == must


def test_a_call_without_a_stream_has_nothing_to_acknowledge() -> None:
    assert not call().must_acknowledge()


@pytest.mark.rule("R23")
@pytest.mark.parametrize(
    ("sizes", "full"), [([50, 50], False), ([1, 1, 1], True), ([100], False), ([101], True), ([100, 1], True)]
)
def test_a_call_is_full_once_it_holds_more_than_it_has_room_for(sizes: list[int], *, full: bool) -> None:
    made = call()
    for size in sizes:
        made.positions.take_up_item(size, None)
    assert made.is_full(attrs.evolve(CONFIG, max_unread=2, max_unread_bytes=100)) == full


@pytest.mark.rule("R6", "R23")
@pytest.mark.parametrize(
    ("room", "window", "sizes", "must"),
    [
        ((10, 1_000), None, [0] * 5, True),
        ((10, 1_000), None, [0] * 4, False),
        ((10, 1_000), None, [500], True),
        ((10, 1_000), None, [499], False),
        ((1, 1_000), None, [0], True),
        ((10, 1), None, [1], True),
        ((100, 10_000), Window(10, 1_000), [0] * 5, True),
        ((100, 10_000), Window(10, 1_000), [0] * 4, False),
        ((100, 10_000), Window(10, 1_000), [500], True),
        ((100, 10_000), Window(10, 1_000), [499], False),
        ((100, 10_000), Window(1, 1_000), [0], True),
        ((100, 10_000), Window(10, 1), [1], True),
        ((100, 10_000), Window(0, 0), [], False),
    ],
)
def test_half_of_the_room_or_of_a_window_that_is_taken_has_to_be_saved(
    room: tuple[int, int], window: Window | None, sizes: list[int], *, must: bool
) -> None:
    config = attrs.evolve(CONFIG, max_unread=room[0], max_unread_bytes=room[1])
    kept, other = call(attrs.evolve(STREAM, window=window)), call(attrs.evolve(STREAM, window=window))
    kept.positions.saved = 0
    for made in (kept, other):
        for size in sizes:
            made.positions.take_up_item(size, None)
        made.positions.take(len(sizes))
    assert kept.must_be_saved(config) == must
    assert not other.must_be_saved(config), "its application keeps nothing"


def test_each_attempt_counts_once_and_what_was_in_vain_is_forgiven() -> None:
    made = call()
    for _ in range(3):
        made.efforts.begin()
    assert (made.efforts.total, made.efforts.in_vain) == (3, 3)
    made.efforts.progress()
    assert (made.efforts.total, made.efforts.in_vain) == (3, 0)


@pytest.mark.rule("R23")
def test_a_call_is_crowded_while_more_than_half_of_its_room_is_taken() -> None:
    config = attrs.evolve(CONFIG, max_unread=4, max_unread_bytes=100)
    made = call()
    made.positions.take_up_item(10, None)
    made.positions.take_up_item(40, None)
    assert not made.is_crowded(config)
    made.positions.take_up_item(1, None)
    assert made.is_crowded(config)
    made.positions.take(1)
    assert not made.is_crowded(config)
    made.positions.take_up_item(20, None)
    made.positions.take(3)
    made.positions.take_up_item(60, None)
    assert made.is_crowded(config)


@pytest.mark.rule("R23")
def test_what_is_saved_is_what_was_taken_and_what_brings_it_back() -> None:
    made = call(STREAM)
    made.key, made.instance, made.first_sent, made.attempt = Secret("key"), "server-1", 10.0, 4
    made.positions.take_up("e1")
    made.positions.take_up_item(1, "e2")
    saved = made.save(12.5)
    assert (saved.taken, saved.event_id, saved.key_age, saved.attempt, saved.sent) == (1, "e1", 2.5, 4, True)
    assert (saved.stream_id, saved.resume_token, saved.interval, saved.window) == (
        "s",
        Secret("token"),
        STREAM.interval,
        STREAM.window,
    )
    bare = call().save(0.0)
    assert (bare.stream_id, bare.key, bare.key_age, bare.sent) == (None, None, 0.0, False)


def test_calls_are_alike_that_have_waited_as_long() -> None:
    early = Efforts(stranded_at=10.0, path_since=22.0, not_before=30.0)
    late = Efforts(stranded_at=110.0, path_since=122.0, not_before=130.0)
    assert early.snapshot(25.0, CONFIG) == late.snapshot(125.0, CONFIG)
    assert early.snapshot(25.0, CONFIG) != late.snapshot(126.0, CONFIG)


def test_a_copy_goes_its_own_way() -> None:
    made = call(STREAM)
    copy = made.fork()
    assert copy.snapshot(0.0, CONFIG) == made.snapshot(0.0, CONFIG)
    copy.positions.take_up(None)
    copy.efforts.begin()
    assert made.snapshot(0.0, CONFIG) == call(STREAM).snapshot(0.0, CONFIG)
