"""What a poll has to say: each flag is worked out, and any other one is found."""

from __future__ import annotations

import itertools

import attrs
import pytest

from mcpstreams_sansio.connections import EndWriting, Write
from mcpstreams_sansio.ids import ConnectionId, Secret, StreamId
from mcpstreams_sansio.server.effects import WriteLog
from mcpstreams_sansio.server.inputs import PollReceived
from mcpstreams_sansio.server.records import EntryKind, EntryLogged
from mcpstreams_sansio.testing import Bounds, StreamsWorld, Violation
from mcpstreams_sansio.testing.deliveries import Delivery
from mcpstreams_sansio.testing.polls import check_poll, check_polled
from mcpstreams_sansio.testing.state import State
from mcpstreams_sansio.testing.work import Work, WorkState
from mcpstreams_sansio.wire.jsonrpc import Response, encode_message
from mcpstreams_sansio.wire.refusals import Reason
from mcpstreams_sansio.wire.streams import PollResult, PollStatus, poll_response

S1 = StreamId("stream-00001")
WORK = Work(1, S1, 7, "p", messages=0, asks=0, sent=2)
"""Its messages stand at 2 and 3; an answer would stand at 4."""
ASKING = attrs.evolve(WORK, asks=1).ask("ask-00001")
SUCCEEDED, FAILED, GIVEN_UP = (
    WORK.become(state) for state in (WorkState.SUCCEEDED, WorkState.FAILED, WorkState.GIVEN_UP)
)

Told = tuple[PollStatus, bool, bool, bool]


def state_of(work: Work, delivery: Delivery | None, bounds: Bounds = Bounds()) -> State:
    state = StreamsWorld.parse(f"multiplexed marker {bounds}").state
    state.works[S1] = work
    if delivery is not None:
        state.deliveries.streams[S1] = delivery
    return state


def true_of(state: State) -> set[Told]:
    """Return all that a poll may say."""
    flags = (False, True)
    statuses: tuple[PollStatus, ...] = ("live", "completed")
    found = set()
    for told in itertools.product(statuses, flags, flags, flags):
        try:
            check_poll(state, PollResult(S1, *told))
        except Violation:
            continue
        found.add(told)
    return found


def away(confirmed: int) -> Delivery:
    return Delivery(confirmed)


def delivered(position: int | None, confirmed: int = 0) -> Delivery:
    return Delivery(confirmed, None, "c1", position)


@pytest.mark.rule("P31", "Q8b", "Q8d")
@pytest.mark.parametrize(
    ("work", "delivery", "told"),
    [
        (attrs.evolve(WORK, sent=0), away(0), ("live", False, False, False)),
        (WORK, away(0), ("live", True, False, False)),
        (WORK, away(2), ("live", True, False, False)),
        (WORK, away(3), ("live", False, False, False)),
        (WORK, delivered(2), ("live", True, False, False)),
        (WORK, delivered(3), ("live", False, False, False)),
        (ASKING, away(4), ("live", True, True, False)),
        (ASKING.withdraw("ask-00001"), away(4), ("live", True, False, False)),
        (ASKING.withdraw("ask-00001"), away(5), ("live", False, False, False)),
        (SUCCEEDED, away(3), ("completed", True, False, False)),
        (SUCCEEDED, away(4), ("completed", False, False, False)),
        (SUCCEEDED, delivered(5), ("completed", False, False, False)),
        (FAILED, away(3), ("completed", True, False, True)),
        (FAILED, away(4), ("completed", False, False, False)),
        (GIVEN_UP, away(0), ("completed", True, False, True)),
        (FAILED, None, ("completed", False, False, False)),
    ],
)
def test_a_poll_says_what_is_so_and_nothing_else(work: Work, delivery: Delivery | None, told: Told) -> None:
    assert true_of(state_of(work, delivery)) == {told}


@pytest.mark.rule("R5", "R10")
@pytest.mark.parametrize(
    ("work", "delivery", "bounds"),
    [
        pytest.param(WORK, delivered(0, confirmed=3), Bounds(), id="what is confirmed may be gone"),
        pytest.param(WORK, delivered(None), Bounds(), id="nobody can tell"),
        pytest.param(WORK, away(0), Bounds(room=300), id="there was no room"),
    ],
)
def test_sometimes_either_may_be_so(work: Work, delivery: Delivery, bounds: Bounds) -> None:
    assert true_of(state_of(work, delivery, bounds)) == {("live", True, False, False), ("live", False, False, False)}


def test_an_answer_is_kept_however_little_room_there_is() -> None:
    assert true_of(state_of(SUCCEEDED, away(3), Bounds(room=300))) == {("completed", True, False, False)}


@pytest.mark.rule("Q8e")
def test_of_a_stream_that_is_over_only_its_end_is_told() -> None:
    state = state_of(SUCCEEDED, None)
    state.witness.gone[S1] = Reason.FINISHED
    assert true_of(state) == {("completed", False, False, False)}
    state.witness.gone[S1] = Reason.EXPIRED
    assert true_of(state) == set()
    assert true_of(StreamsWorld.parse("multiplexed marker").state) == set()


def test_before_its_work_begins_a_stream_has_nothing_to_tell() -> None:
    state = state_of(WORK, away(0))
    state.arrived[S1] = attrs.evolve(state.works.pop(S1), sent=0)
    assert true_of(state) == {("live", False, False, False)}


@pytest.mark.rule("R9")
def test_a_poll_tells_nothing_that_a_crash_may_undo() -> None:
    state = state_of(attrs.evolve(WORK, sent=1), away(0), Bounds(durable=1))
    with pytest.raises(Violation, match="what is not durable"):
        check_poll(state, PollResult(S1, "live", True, False, False))
    batch = WriteLog(1, (EntryLogged(S1, 2, EntryKind.NOTIFICATION, b""),))
    state.disk = state.disk.begin(batch).complete()[1]
    assert true_of(state) == {("live", True, False, False)}


def test_every_poll_is_looked_at_that_is_answered_at_once() -> None:
    state, here, there = state_of(WORK, away(0)), ConnectionId(1_000_001), ConnectionId(1_000_002)
    event = PollReceived(here, "visit", S1, Secret("token-00001"))
    lie = encode_message(poll_response("visit", PollResult(S1, "live", False, False, False)))
    other = encode_message(Response("another", {}))
    check_polled(state, event, [EndWriting(here), Write(there, (lie,)), Write(here, (b":\n\n", other))])
    with pytest.raises(Violation, match="nothing more is told to be there"):
        check_polled(state, event, [Write(here, (other, lie))])
