"""The client's process ends, and another one goes on from what was kept: the searches meet that (rule R23)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs
import pytest

from mcpstreams_sansio.client.effects import CallFinished, CallResult
from mcpstreams_sansio.client.inputs import SavedCall
from mcpstreams_sansio.testing import Action, Always, StreamsWorld, Violation, explore
from mcpstreams_sansio.testing.caller import DIED, Caller, Guarantee
from mcpstreams_sansio.testing.client_side import carry_out
from mcpstreams_sansio.testing.stores import Store
from tests.model.ways import walked


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


# ------------------------------------------------------------------------------------------------- what nobody asks for

UNASKED = "multiplexed marker messages=0 client_crashes=1 unasked_saves=1"
ASKED = ("call k1", "connect", "save k1", "up c1", "succeed k1", "down c1")


def store_in(world: StreamsWorld) -> Store:
    (caller,) = world.state.callers.values()
    assert caller.store is not None
    return caller.store


def possible(world: StreamsWorld) -> set[str]:
    return {str(action) for action in world.actions()} & {"save k1", "keep k1"}


def test_a_caller_saves_what_it_is_asked_to() -> None:
    setting = "multiplexed marker messages=0 client_crashes=1"
    assert possible(walked(setting, "call k1")) == set()
    assert possible(walked(setting, "call k1", "connect")) == {"save k1"}
    assert possible(walked(setting, *ASKED, "save k1", "down c1")) == {"save k1"}


def test_it_may_keep_a_call_before_it_goes_out() -> None:
    world = walked(UNASKED, "call k1", "keep k1")
    kept = store_in(world).kept
    assert kept is not None
    assert (kept.saved.sent, possible(world)) == (False, set())


def test_in_place_of_the_outcome_it_may_keep_what_leads_there() -> None:
    ended = walked(UNASKED, *ASKED, "save k1", "down c1")
    assert possible(ended) == {"save k1", "keep k1"}
    ended.apply(Action("keep", "k1"))
    kept = store_in(ended).kept
    assert kept is not None
    assert (kept.saved.taken, kept.position, possible(ended)) == (1, 2, {"save k1"})
    ended.apply(Action("crash-client"))
    (caller,) = ended.state.callers.values()
    assert (caller.outcome, caller.saved) == (None, kept.saved)


def test_an_outcome_that_is_being_written_may_be_lost() -> None:
    setting = "multiplexed marker messages=0 client_crashes=1 slow_saves=3"
    begun = walked(setting, *ASKED[:3], "saved k1", *ASKED[3:], "save k1", "saved k1", "down c1", "save k1")
    lost, written = begun.fork(), begun.fork()
    lost.apply(Action("crash-client"))
    written.apply(Action("saved", "k1"))
    written.apply(Action("crash-client"))
    assert [caller.outcome for caller in lost.state.callers.values()] == [None]
    assert [caller.outcome for caller in written.state.callers.values()] == ["CallResult"]


@pytest.mark.rule("R23")
def test_a_caller_that_was_not_asked_to_save_what_has_changed_is_seen() -> None:
    world = walked(UNASKED, *ASKED)
    ((call_id, caller),) = world.state.callers.items()
    world.state.callers[call_id] = attrs.evolve(caller, store=attrs.evolve(store_in(world), due=False))
    with pytest.raises(Violation, match="what brings a call back is asked for"):
        world.apply(Action("crash-client"))


@pytest.mark.rule("R23")
def test_an_end_to_which_nothing_leads_is_seen() -> None:
    world = walked(UNASKED, "call k1")
    (call_id,) = world.state.callers
    with pytest.raises(Violation, match="an end can be reached once more"):
        carry_out(CallFinished(call_id, 1, CallResult({"number": 1})), world.state)


def test_a_call_that_was_let_go_is_gone_with_its_process_unless_it_was_kept() -> None:
    let_go = Caller(1, Guarantee.EXACTLY_ONCE, store=Store()).let_go(SavedCall("a.1", "tools/call", None, 0))
    died = let_go.crash()
    assert (died.outcome, died.saved) == (DIED, None)
