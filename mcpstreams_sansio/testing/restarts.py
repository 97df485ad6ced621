"""A client's process ends at any moment, and another one goes on with what its callers have kept (rules R21, R23)."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from mcpstreams_sansio.client.inputs import CallSaved, OutcomeSaved
from mcpstreams_sansio.testing.client_side import tell_client, would_save
from mcpstreams_sansio.testing.homes import FIRST
from mcpstreams_sansio.testing.state import State
from mcpstreams_sansio.testing.stores import Kept
from mcpstreams_sansio.testing.wires import End


def can_save(state: State) -> Sequence[str]:
    """A caller has something that it does not keep yet."""
    return [caller.name for caller in state.callers.values() if caller.may_save]


def save(state: State, name: str) -> None:
    """The caller keeps its call as it stands, or its outcome: at once, unless its store is slow."""
    call_id = state.call_id_of(name)
    caller = state.callers[call_id]
    assert caller.store is not None, "only who keeps something saves"
    if caller.outcome is not None:
        state.callers[call_id] = attrs.evolve(caller, store=attrs.evolve(caller.store, done=True, due=False))
        tell_client(state, caller.home, OutcomeSaved(call_id))
        return
    # Keys never expire here, so their age is not to tell states apart.
    saved = attrs.evolve(would_save(state, caller), key_age=0.0)
    store = caller.store.write(Kept(saved, caller.kept, caller.taken))
    state.callers[call_id] = attrs.evolve(caller, store=store)
    if state.left.slow_saves:
        state.left = state.left.spend("slow_saves")
    else:
        report_saved(state, name)


def can_report_saved(state: State) -> Sequence[str]:
    """Something is being written."""
    callers = state.callers.values()
    return [caller.name for caller in callers if caller.store is not None and caller.store.under_way is not None]


def report_saved(state: State, name: str) -> None:
    """What was being written outlives the process from now on, and the machine is told."""
    call_id = state.call_id_of(name)
    caller = state.callers[call_id]
    assert caller.store is not None, "only who keeps something saves"
    kept = caller.store.under_way
    assert kept is not None, "it was being written"
    state.callers[call_id] = attrs.evolve(caller, store=caller.store.written(kept))
    tell_client(state, caller.home, CallSaved(call_id, kept.saved))


def can_crash_client(state: State) -> Sequence[str | None]:
    """The client's process can end."""
    return [None] if state.left.client_crashes and state.callers else []


def crash_client(state: State, _: str) -> None:
    """The process ends, and the next one begins. What was on its way to it is lost; what it has sent may arrive."""
    state.left = state.left.spend("client_crashes")
    fresh, state.spare = state.spare[0], state.spare[1:]
    state.homes[FIRST] = attrs.evolve(fresh, name=FIRST)
    for wire in list(state.wires.values()):
        if wire.home == FIRST and wire.client is End.OPEN:
            state.put(wire.lost_for_client(stragglers=True))
    for call_id, caller in state.callers.items():
        state.callers[call_id] = caller.crash()
