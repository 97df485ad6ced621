"""At most one moment for each key; the earliest comes up first, and leftovers do not pile up."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from mcpstreams_sansio.deadlines import Deadlines

KEYS = st.integers(0, 9)
MOMENTS = st.floats(0, 100)
LEFTOVERS = 64
"""How many moments that were moved or cleared may stay in the heap, beside one for each that counts."""


def all_due(deadlines: Deadlines[str], now: float) -> list[str]:
    due = []
    while (key := deadlines.pop_due(now)) is not None:
        due.append(key)
    return due


def test_moments_come_up_in_their_order_and_once() -> None:
    deadlines: Deadlines[str] = Deadlines()
    for key, when in (("later", 2.0), ("now", 1.0), ("never", 3.0)):
        deadlines.set(key, when)
    assert deadlines.next() == 1
    assert all_due(deadlines, 0.9) == []
    assert all_due(deadlines, 2) == ["now", "later"]
    assert all_due(deadlines, 2) == []
    assert deadlines.next() == 3


def test_equal_moments_come_up_in_the_order_of_setting() -> None:
    deadlines: Deadlines[str] = Deadlines()
    for key in "cab":
        deadlines.set(key, 1)
    deadlines.set("c", 1)
    assert all_due(deadlines, 1) == ["a", "b", "c"]


def test_a_moment_that_was_moved_does_not_come_up_at_the_old_time() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 1)
    deadlines.set("a", 5)
    assert (deadlines.next(), deadlines.when("a"), len(deadlines)) == (5, 5, 1)
    assert all_due(deadlines, 4) == []
    deadlines.set("a", 2)
    assert all_due(deadlines, 4) == ["a"]


def test_a_moment_that_was_cleared_does_not_come_up() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 1)
    deadlines.clear("a")
    deadlines.clear("a")
    deadlines.clear("unknown")
    assert "a" not in deadlines
    assert (deadlines.next(), deadlines.when("a"), len(deadlines)) == (None, None, 0)
    assert all_due(deadlines, 9) == []


def test_leftovers_do_not_pile_up() -> None:
    deadlines: Deadlines[str] = Deadlines()
    for moment in range(10_000):
        deadlines.set("a", moment)
    assert len(deadlines._heap) <= 2 * len(deadlines) + LEFTOVERS
    assert all_due(deadlines, 10_000) == ["a"]


def test_a_fork_is_another_one() -> None:
    deadlines: Deadlines[str] = Deadlines()
    deadlines.set("a", 1)
    fork = deadlines.fork()
    deadlines.clear("a")
    fork.set("b", 2)
    assert (all_due(deadlines, 9), all_due(fork, 9)) == ([], ["a", "b"])


@pytest.mark.rule("Q7h")
def test_a_snapshot_tells_what_is_due_from_now_on_and_no_more() -> None:
    one: Deadlines[str] = Deadlines()
    other: Deadlines[str] = Deadlines()
    one.set("a", 1)
    one.set("b", 2)
    other.set("b", 9)
    other.set("b", 12)
    other.set("a", 11)
    assert one.snapshot(0) == other.snapshot(10)
    assert one.snapshot(0) != other.snapshot(0)


class AgainstADict(RuleBasedStateMachine):
    """Whatever is set, moved, cleared and taken: a dict of the same moments gives the same answers."""

    def __init__(self) -> None:
        super().__init__()
        self.deadlines: Deadlines[int] = Deadlines()
        self.moments: dict[int, float] = {}
        self.now = 0.0

    @rule(key=KEYS, when=MOMENTS)
    def set(self, key: int, when: float) -> None:
        self.deadlines.set(key, when)
        self.moments[key] = when

    @rule(key=KEYS)
    def clear(self, key: int) -> None:
        self.deadlines.clear(key)
        self.moments.pop(key, None)

    @rule()
    def fork(self) -> None:
        self.deadlines = self.deadlines.fork()

    @precondition(lambda self: self.moments)
    @rule(now=MOMENTS)
    def take(self, now: float) -> None:
        key = self.deadlines.pop_due(now)
        if key is None:
            assert min(self.moments.values()) > now
        else:
            assert self.moments.pop(key) <= min([now, *self.moments.values()])

    @invariant()
    def they_agree(self) -> None:
        assert self.deadlines.next() == min(self.moments.values(), default=None)
        assert len(self.deadlines) == len(self.moments)
        assert {key: self.deadlines.when(key) for key in self.moments} == self.moments


TestAgainstADict = AgainstADict.TestCase
