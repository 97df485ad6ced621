"""A client's process ends at any moment, and another one goes on with what its callers have kept (rules R21, R23)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import attrs

from mcpstreams_sansio.client.inputs import CallSaved, OutcomeSaved, SavedCall
from mcpstreams_sansio.testing.caller import Caller
from mcpstreams_sansio.testing.client_side import tell_client, would_save
from mcpstreams_sansio.testing.homes import FIRST
from mcpstreams_sansio.testing.properties import Violation
from mcpstreams_sansio.testing.state import State
from mcpstreams_sansio.testing.stores import Kept, Outcome
from mcpstreams_sansio.testing.wires import End


def can_save(state: State) -> Sequence[str]:
    """A caller has something to keep."""
    return [caller.name for caller in state.callers.values() if caller.is_to_save]


def save(state: State, name: str) -> None:
    """The caller keeps its call as it stands, or its outcome: at once, unless its store is slow."""
    caller = state.callers[state.call_id_of(name)]
    _write(state, name, _standing(state, caller) if caller.outcome is None else Outcome())


def can_keep(state: State) -> Sequence[str]:
    """A caller may keep more than it has to."""
    return [caller.name for caller in state.callers.values() if caller.may_keep] if state.left.unasked_saves else []


def keep(state: State, name: str) -> None:
    """The caller keeps its call before anybody asks it to, or in place of its outcome what leads there once more."""
    state.left = state.left.spend("unasked_saves")
    caller = state.callers[state.call_id_of(name)]
    _write(state, name, (caller.store and caller.store.ending) or _standing(state, caller))


def _standing(state: State, caller: Caller) -> Kept:
    """Return what brings the call back from where it is. Keys never expire here, so their age tells nothing apart."""
    return Kept(attrs.evolve(would_save(state, caller), key_age=0.0), caller.kept, caller.taken)


def _write(state: State, name: str, what: Kept | Outcome) -> None:
    call_id = state.call_id_of(name)
    caller = state.callers[call_id]
    assert caller.store is not None, "only who keeps something saves"
    state.callers[call_id] = attrs.evolve(caller, store=caller.store.write(what))
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
    written = caller.store.under_way
    assert written is not None, "it was being written"
    state.callers[call_id] = attrs.evolve(caller, store=caller.store.written())
    saved = OutcomeSaved(call_id) if isinstance(written, Outcome) else CallSaved(call_id, written.saved)
    tell_client(state, caller.home, saved)


def can_crash_client(state: State) -> Sequence[str | None]:
    """The client's process can end."""
    return [None] if state.left.client_crashes and state.callers else []


def crash_client(state: State, _: str) -> None:
    """The process ends, and the next one begins. What was on its way to it is lost; what it has sent may arrive."""
    state.left = state.left.spend("client_crashes")
    own = {call_id: caller for call_id, caller in state.callers.items() if caller.home == FIRST}
    for caller in own.values():
        _check_asked(state, caller)
    fresh, state.spare = state.spare[0], state.spare[1:]
    state.homes[FIRST] = attrs.evolve(fresh, name=FIRST)
    for wire in list(state.wires.values()):
        if wire.home == FIRST and wire.client is End.OPEN:
            state.put(wire.lost_for_client(stragglers=True))
    for call_id, caller in own.items():
        state.callers[call_id] = caller.crash()


def _check_asked(state: State, caller: Caller) -> None:
    """Check that a caller which has kept all that it was asked to keep has all by which its call can be brought back.

    Raises:
        Violation: Something that names the call has changed, or waits for being kept, and nobody has said so.
    """
    store = caller.store
    if store is None or store.waits or caller.outcome is not None or caller.saved is not None or caller.cancelled:
        return
    kept = _NOTHING if store.kept is None else _names(store.kept.saved)
    if kept != _names(would_save(state, caller)):
        raise Violation("what brings a call back is asked for", f"call {caller.number} is not kept as it stands")


_NOTHING: Final = (None, None, None, None, False, ())


def _names(saved: SavedCall) -> tuple[object, ...]:
    return saved.stream_id, saved.resume_token, saved.key, saved.instance, saved.sent, saved.answers
