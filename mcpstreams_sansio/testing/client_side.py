"""The client's half of a world: what its machine is told, and what becomes of its effects."""

from __future__ import annotations

import collections
import functools

import attrs

from mcpstreams_sansio.client.effects import (
    AskReceived,
    AskWithdrawn,
    AttemptMade,
    CallDetached,
    CallFinished,
    ClientStreamsEffect,
    DuplicateDropped,
    GapFound,
    ItemReceived,
    LeavePath,
    PauseReading,
    ReadAgain,
    ResumeReading,
    SendOnPath,
    UnclaimedMessage,
)
from mcpstreams_sansio.client.inputs import ClientStreamsInput, TakeMessages
from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.ids import CallId
from mcpstreams_sansio.testing.properties import Violation
from mcpstreams_sansio.testing.state import Role, State
from mcpstreams_sansio.testing.wires import Post, Wire
from mcpstreams_sansio.wire.jsonrpc import encode_message


def tell_client(state: State, *events: ClientStreamsInput) -> None:
    """Tell the client's machine, and do what it wants done, in order."""
    waiting = collections.deque(events)
    while waiting:
        event = waiting.popleft()
        state.happened.append((Role.CLIENT_IS_TOLD, event))
        for effect in state.client.handle(event, state.now):
            state.happened.append((Role.CLIENT_WANTS, effect))
            carry_out(effect, state)
            if isinstance(effect, ItemReceived | CallFinished):
                waiting.extend(_come_back(state, effect.call_id))


def take(state: State, call_id: CallId) -> TakeMessages:
    """The caller comes back for more."""
    caller = state.callers[call_id] = state.callers[call_id].take()
    return TakeMessages(call_id, caller.taken)


def _come_back(state: State, call_id: CallId) -> list[TakeMessages]:
    """Say what a caller does about what it was given: it comes back at once, unless it may dawdle."""
    caller = state.callers[call_id]
    if caller.outcome is None and state.left.slow_takes:
        state.left = state.left.spend("slow_takes")
        return []
    return [take(state, call_id)]


def _send(state: State, effect: SendOnPath | ReadAgain, post: Post) -> None:
    wire = state.wire_of_client(effect.connection_id)
    if wire is None and state.shared is None:
        wire = Wire(state.fresh_wire(), Framing.HTTP, effect.connection_id, scope=state.scope)
    if wire is None:
        raise Violation("sent where it can be", "the client sends on a connection that is lost")
    state.put(wire.post(post))


@functools.singledispatch
def carry_out(effect: ClientStreamsEffect, state: State) -> None:
    """Do what the client's machine wants done."""
    raise TypeError(f"{type(effect).__name__} is no effect of a client")


@carry_out.register
def _send_on_path(effect: SendOnPath, state: State) -> None:
    _send(state, effect, Post(encode_message(effect.message), effect.last_event_id))


@carry_out.register
def _read_again(effect: ReadAgain, state: State) -> None:
    _send(state, effect, Post(None, effect.last_event_id))


@carry_out.register
def _leave(effect: LeavePath, state: State) -> None:
    wire = state.wire_of_client(effect.connection_id)
    if wire is not None and wire.framing is Framing.HTTP:
        state.put(wire.lost_for_client(stragglers=True))


@carry_out.register
def _item(effect: ItemReceived, state: State) -> None:
    state.callers[effect.call_id] = state.callers[effect.call_id].see(effect)


@carry_out.register
def _ask(effect: AskReceived, state: State) -> None:
    if effect.call_id is None:
        raise Violation("a question belongs to a call", "the client can not tell which call it is asked in")
    state.callers[effect.call_id] = state.callers[effect.call_id].consider(effect)


@carry_out.register
def _withdrawn(effect: AskWithdrawn, state: State) -> None:
    if effect.call_id is not None:
        state.callers[effect.call_id] = state.callers[effect.call_id].withdraw(effect.ask_id)


@carry_out.register
def _finished(effect: CallFinished, state: State) -> None:
    caller = state.callers[effect.call_id]
    sent = sum(work.sent for work in state.works.values() if work.number == caller.number)
    state.callers[effect.call_id] = caller.finish(effect, sent)


@carry_out.register
def _gap(effect: GapFound, state: State) -> None:
    raise Violation("nothing is missing", f"{effect.lost} messages are lost, and no log was ever full")


@carry_out.register
def _detached(effect: CallDetached, state: State) -> None:
    raise Violation("nothing unasked", "a call was detached that nobody let go")


@carry_out.register
def _pause(effect: PauseReading, state: State) -> None:
    wire = state.wire_of_client(effect.connection_id)
    if wire is not None:
        state.put(attrs.evolve(wire, paused=True))


@carry_out.register
def _read_on(effect: ResumeReading, state: State) -> None:
    wire = state.wire_of_client(effect.connection_id)
    if wire is not None:
        state.put(attrs.evolve(wire, paused=False))


@carry_out.register
def _observed(effect: AttemptMade | DuplicateDropped | UnclaimedMessage, state: State) -> None:
    """These are for observers: `goals` tells of them."""
