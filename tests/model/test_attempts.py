"""How often a client may try: what goes wrong in between forgives, and nothing else does (cases G1, G2)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.client.effects import AttemptMade, Recovery
from mcpstreams_sansio.testing import Action, Bounds, StreamsWorld, Violation
from mcpstreams_sansio.testing.attempts import count_attempts, most_attempts
from mcpstreams_sansio.testing.state import Role


def calling(setting: str) -> StreamsWorld:
    world = StreamsWorld.parse(setting)
    world.apply(Action("call", "k1"))
    return world


def tried(world: StreamsWorld, recovery: Recovery, before: Bounds | None = None) -> int:
    """Let the client try once; return how often it has tried since anything last went wrong."""
    ((call_id, _),) = world.state.callers.items()
    world.state.begin()
    world.state.happened.append((Role.CLIENT_WANTS, AttemptMade(call_id, recovery)))
    count_attempts(world.state, before or world.state.left)
    return world.state.callers[call_id].attempts


def test_an_attempt_and_one_more_are_enough_while_nothing_goes_wrong() -> None:
    world = calling("http marker cuts=1")
    assert [tried(world, Recovery.RESUME), tried(world, Recovery.RESEND)] == [1, 2]
    with pytest.raises(Violation, match="no attempt in vain"):
        tried(world, Recovery.CANCEL)


def test_a_poll_is_no_attempt() -> None:
    world = calling("http marker poll_first=1")
    assert [tried(world, Recovery.POLL) for _ in range(9)] == [0] * 9


def test_nothing_is_counted_where_room_runs_out() -> None:
    world = calling("http marker room=300")
    assert [tried(world, Recovery.RESEND) for _ in range(9)] == [0] * 9


def test_what_goes_wrong_forgives_what_was_tried_before() -> None:
    world = calling("http marker cuts=1")
    before = world.state.left
    tried(world, Recovery.RESUME)
    world.state.left = before.spend("cuts")
    assert tried(world, Recovery.RESUME, before) == 1


@pytest.mark.parametrize(
    ("bounds", "most"),
    [
        (Bounds(cuts=9), 2),
        (Bounds(rivals=2), 8),
        (Bounds(slow_takes=3), 2),
        (Bounds(slow_takes=3, max_unread=1), 5),
        (Bounds(slow_writes=1), 2),
        (Bounds(slow_writes=1, stalls=1), 3),
    ],
)
def test_more_are_needed_where_a_call_is_taken_away_or_waits_for_room(bounds: Bounds, most: int) -> None:
    assert most_attempts(bounds) == most
