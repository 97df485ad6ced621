"""The client's process ends, and another one goes on from what was kept: the searches meet that (rule R23)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from mcpstreams_sansio.testing import Always, StreamsWorld, explore
from mcpstreams_sansio.testing.application import DIED, Caller


def restored(caller: Caller, world: StreamsWorld) -> bool:
    """Say whether a caller has gone on from what it kept."""
    return not world.state.left.client_crashes and caller.saved is None and caller.outcome != DIED


MET: Mapping[str, Callable[[Caller, StreamsWorld], bool]] = {
    "a caller that was brought back has its result": (
        lambda caller, world: restored(caller, world) and caller.outcome == "CallResult"
    ),
    "it sees in the second process what was not kept in the first": (
        lambda caller, world: restored(caller, world) and caller.kept == 2 and caller.store is not None
    ),
    "a caller that kept nothing is gone": lambda caller, _: caller.outcome == DIED,
    "what a process was writing is lost with it": (
        lambda caller, world: not world.state.left.client_crashes and not world.state.left.slow_saves
    ),
    "the outcome came before the crash and was not kept": (
        lambda caller, world: caller.saved is not None and any(work.over for work in world.state.works.values())
    ),
}


@pytest.mark.parametrize("what", MET)
def test_the_searches_meet_it(what: str) -> None:
    def met(world: StreamsWorld) -> str | None:
        callers = world.state.callers.values()
        return "it is met" if any(MET[what](caller, world) for caller in callers) else None

    world = StreamsWorld.parse("multiplexed marker messages=2 client_crashes=1 slow_saves=1")
    found = explore(world, [Always(what, met)], max_states=20_000).counterexample
    assert found is not None
    assert found.property_name == what
