"""The same world, far beyond the bounds that can be searched: many calls at once, long runs, every kind of trouble.

One rule for each kind of action, so that a failure prints as a program. In the end connections stop failing, and every
caller must be settled.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import attrs
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mcpstreams_sansio.testing import Action, Bounds, Kind, Peers, StreamsWorld, Transport, reliable

LAST_RESORT = (Kind.TAKE, Kind.WAIT, Kind.NOTICE)
"""What happens when nothing else does; first what is named first."""

STEPS_TO_SETTLE = 3_000
"""More than any world of these bounds needs."""


BOUNDS = {
    "calls": st.integers(1, 5),
    "messages": st.integers(0, 6),
    "asks": st.integers(0, 2),
    "failures": st.integers(0, 2),
    "cancels": st.integers(0, 2),
    "detaches": st.integers(0, 2),
    "releases": st.integers(0, 3),
    "cuts": st.integers(0, 12),
    "straggles": st.integers(0, 4),
    "fades": st.integers(0, 4),
    "sessions": st.integers(0, 2),
    "crashes": st.integers(0, 3),
    "hurries": st.integers(0, 6),
    "oversleeps": st.integers(0, 4),
    "polls": st.integers(0, 2),
    "intrusions": st.integers(0, 2),
    "copies": st.integers(0, 2),
    "slow_writes": st.integers(0, 6),
    "slow_takes": st.integers(0, 6),
    "slow_stops": st.integers(0, 2),
    "durable": st.integers(0, 1),
    "poll_first": st.integers(0, 1),
    "max_unread": st.integers(0, 2),
    "stalls": st.integers(0, 1),
    "window": st.integers(0, 3),
    "reads_ahead": st.integers(0, 3),
    "rivals": st.integers(0, 1),
    "client_crashes": st.integers(0, 2),
    "unasked_saves": st.integers(0, 2),
    "slow_saves": st.integers(0, 3),
    "impatient": st.integers(0, 1),
    "room": st.sampled_from([0, 300, 1_000]),
}
"""How much there may be of everything."""


class Streams(RuleBasedStateMachine):
    """A world that Hypothesis walks through."""

    world: StreamsWorld
    before: tuple[StreamsWorld, Hashable] | None = None
    """A copy from before the last step, and what it was like then."""

    @initialize(transport=st.sampled_from(Transport), peers=st.sampled_from(Peers), bounds=st.builds(Bounds, **BOUNDS))
    def begin(self, transport: Transport, peers: Peers, bounds: Bounds) -> None:
        self.world = StreamsWorld(transport, peers, bounds)

    def possible(self, kind: Kind) -> list[Action]:
        return [action for action in self.world.actions() if action.kind == kind]

    @invariant()
    def a_copy_is_the_same_and_stays_as_it_is(self) -> None:
        if not hasattr(self, "world"):
            return
        if self.before is not None:
            copy, key = self.before
            assert copy.key() == key
        copy = self.world.fork()
        self.before = copy, self.world.key()
        assert copy.key() == self.before[1]

    @precondition(lambda self: hasattr(self, "world") and not self.world.actions())
    @rule()
    def nothing_is_left_to_happen(self) -> None:
        assert self.world.settled()

    def teardown(self) -> None:
        """Let nothing fail any more: every caller has its outcome, and the server lets go of everything."""
        if not hasattr(self, "world"):
            return
        for _ in range(STEPS_TO_SETTLE):
            if self.world.settled():
                return
            # Work that waits for its client to take something can only be told by the loss that nobody will.
            actions = [each for each in self.world.actions() if reliable(each) or each.kind == Kind.NOTICE]
            self.world.apply(min(actions, key=urgency))
        raise AssertionError(f"not settled after {STEPS_TO_SETTLE} steps: {self.world.setting()}")


def urgency(action: Action) -> int:
    """Return what happens first: whatever is on its way, before anybody waits."""
    return LAST_RESORT.index(Kind(action.kind)) + 1 if action.kind in LAST_RESORT else 0


def rule_for(kind: Kind) -> Callable[..., None]:
    """Return the rule by which one action of a kind happens: to the first target, the second, ..."""

    def happen(self: Streams, which: int) -> None:
        actions = self.possible(kind)
        self.world.apply(actions[which % len(actions)])

    def can_happen(self: Streams) -> bool:
        return hasattr(self, "world") and bool(self.possible(kind))

    happen.__name__ = kind.name.lower()
    happens: Callable[..., None] = rule(which=st.integers(0, 9))(happen)
    return precondition(can_happen)(happens)


def test_there_may_be_more_of_everything_than_is_searched() -> None:
    assert BOUNDS.keys() == {field.name for field in attrs.fields(Bounds)}


for each in Kind:
    setattr(Streams, each.name.lower(), rule_for(each))

TestStreams = pytest.mark.timeout(7_200)(Streams.TestCase)  # the profile `deep` takes as long as patience allows
