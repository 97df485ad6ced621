"""The server's half of a world: what its machine is told, and what becomes of its effects."""

from __future__ import annotations

import collections
import functools

import attrs

from mcpstreams_sansio.client.effects import CallNotRun
from mcpstreams_sansio.connections import DropConnection, EndWriting, Framing, Write, Written
from mcpstreams_sansio.ids import ConnectionId
from mcpstreams_sansio.server.effects import (
    AskAnswered,
    AskFailed,
    AskFailure,
    BeginBody,
    BodyKind,
    HoldMessages,
    Refused,
    SendMore,
    StartCall,
    StopCall,
    StreamAttached,
    StreamDetached,
    StreamGone,
    StreamsEffect,
    WorkInterrupted,
    WriteLog,
)
from mcpstreams_sansio.server.inputs import AckReceived, PollReceived, StreamsInput
from mcpstreams_sansio.server.records import EntryKind
from mcpstreams_sansio.testing.actions import Peers
from mcpstreams_sansio.testing.conversation import called_number
from mcpstreams_sansio.testing.deliveries import place_of
from mcpstreams_sansio.testing.disk import Disk
from mcpstreams_sansio.testing.frames import Frame, read_event, read_message, read_plain
from mcpstreams_sansio.testing.fronts import head_of
from mcpstreams_sansio.testing.machines import check_due
from mcpstreams_sansio.testing.polls import check_polled
from mcpstreams_sansio.testing.properties import Violation
from mcpstreams_sansio.testing.secrecy import check_wanted, check_written, tokens_of
from mcpstreams_sansio.testing.state import Role, State
from mcpstreams_sansio.testing.wires import Chunk, Close, End, Wire
from mcpstreams_sansio.testing.work import CREATE, Work, WorkState
from mcpstreams_sansio.wire.refusals import Reason


def tell_server(state: State, *events: StreamsInput) -> None:
    """Tell the server's machine, and do what it wants done, in order."""
    waiting = collections.deque(events)
    while waiting:
        event = waiting.popleft()
        state.happened.append((Role.SERVER_IS_TOLD, event))
        if not _may_be_too_late(state, event):
            state.promised.hear(event)
        if isinstance(event, AckReceived):
            _confirm(state, event)
        state.server, effects = state.server.handle(event, state.now)
        check_due(state.server, state.now)
        for effect in effects:
            state.happened.append((Role.SERVER_WANTS, effect))
            check_wanted(effect)
            carry_out(effect, state)
            if isinstance(effect, StreamAttached):
                _deliver(state, effect, event)
            if isinstance(effect, Write) and _taken_at_once(state, effect):
                waiting.append(Written(effect.connection_id))
        state.deliveries.rest()
        if isinstance(event, PollReceived):
            check_polled(state, event, effects)


def _may_be_too_late(state: State, event: StreamsInput) -> bool:
    """Return whether an acknowledgement comes from a client that is gone: any time may have passed meanwhile."""
    if not isinstance(event, AckReceived):
        return False
    wire = state.wire_of_server(event.connection_id)
    return wire is None or wire.client is End.GONE


def _confirm(state: State, event: AckReceived) -> None:
    """Note what a client says that it has, if it is at home where its stream is, or has the token (rule R6)."""
    delivery = state.deliveries.streams.get(event.stream_id)
    wire = state.wire_of_server(event.connection_id)
    if delivery is None or wire is None:
        return
    token = event.resume_token
    known = wire.scope == delivery.home if token is None else token.reveal() in tokens_of(state, event.stream_id)
    if known:
        state.deliveries.confirm(event.stream_id, event.through)


def _deliver(state: State, effect: StreamAttached, event: StreamsInput) -> None:
    """Note who delivers a stream, and from where on: that depends on how it was asked for."""
    wire, work = _in_use(state, effect.connection_id), state.works.get(effect.stream_id)
    last = CREATE if work is None else work.last_entry
    state.deliveries.attach(effect.stream_id, wire.name, wire.scope, event, last)


def disk_of(state: State) -> Disk | None:
    """Return the disk, if records go to one."""
    return state.disk if state.left.durable else None


def frame_of(wire: Wire, data: bytes) -> Frame:
    """Read what stands in a chunk: a message, or in the body of a response an event."""
    return read_event(data) if wire.body is BodyKind.EVENTS else read_plain(data)


def _taken_at_once(state: State, effect: Write) -> bool:
    """Say whether the transport takes a write without any delay."""
    if not state.left.slow_writes:
        return True
    wire = _in_use(state, effect.connection_id)
    state.left = state.left.spend("slow_writes")
    state.put(attrs.evolve(wire, writing=True))
    return False


def _in_use(state: State, connection_id: ConnectionId) -> Wire:
    wire = state.wire_of_server(connection_id)
    if wire is None or wire.server is End.GONE:
        raise Violation("lost is lost", "the server does something with a connection that is lost")
    return wire


@functools.singledispatch
def carry_out(effect: StreamsEffect, state: State) -> None:
    """Do what the server's machine wants done."""
    raise TypeError(f"{type(effect).__name__} is no effect of a server")


@carry_out.register
def _write(effect: Write, state: State) -> None:
    wire = _in_use(state, effect.connection_id)
    if wire.writing:
        raise Violation("one write is outstanding", "a connection is written to before it took the write before")
    for data in effect.chunks:
        frame = frame_of(wire, data)
        check_written(state, data, frame)
        state.witness.write(wire.name, frame, disk_of(state))
        _write_entry(state, wire, frame)
        state.promised.write(frame, disk_of(state))
    state.put(wire.write(*(Chunk(data) for data in effect.chunks)))


def _write_entry(state: State, wire: Wire, frame: Frame) -> None:
    place = place_of(frame)
    if place is not None:
        state.deliveries.write(wire.name, frame, *place)
    elif wire.framing is Framing.MESSAGES:
        state.deliveries.count(wire.name, frame)


@carry_out.register
def _begin_body(effect: BeginBody, state: State) -> None:
    wire = _in_use(state, effect.connection_id)
    assert wire.opening is not None, "only an exchange has a body, and it has begun"
    if effect.body is BodyKind.EMPTY and wire.opening.message is not None and state.left.durable:
        state.promised.accept(read_message(wire.opening.message), _asked_of(state, wire), state.disk)
    state.put(wire.begin_body(head_of(effect, wire.opening)))


def _asked_of(state: State, wire: Wire) -> frozenset[str]:
    """Return the open questions to which an answer counts that comes over a wire (rule R24).

    With our extension it has the token. Without it, it counts only where its stream is at home; elsewhere it is
    accepted all the same, and its client is asked again.
    """
    open_ones = {stream_id: work.ask_id for stream_id, work in state.works.items() if work.asking and work.ask_id}
    homes = {stream_id: delivery.home for stream_id, delivery in state.deliveries.streams.items()}
    known = state.peers is Peers.MARKER
    return frozenset([ask_id for name, ask_id in open_ones.items() if known or homes.get(name) == wire.scope])


@carry_out.register
def _end_writing(effect: EndWriting, state: State) -> None:
    wire = _in_use(state, effect.connection_id)
    state.put(attrs.evolve(wire.write(Close()), server=End.FAREWELL))


@carry_out.register
def _drop(effect: DropConnection, state: State) -> None:
    state.put(_in_use(state, effect.connection_id).lost_for_server())


@carry_out.register
def _write_log(effect: WriteLog, state: State) -> None:
    state.disk = state.disk.begin(effect)


@carry_out.register
def _start(effect: StartCall, state: State) -> None:
    number = called_number(effect.request.params)
    if any(caller.outcome == CallNotRun.__name__ for caller in state.callers_of(number)):
        raise Violation("not run is not run", f"call {number} runs, and its caller was told that it never would")
    state.witness.start(number, effect.stream_id, disk_of(state))
    state.promised.start(effect.stream_id)
    state.works[effect.stream_id] = state.arrived[effect.stream_id]


@carry_out.register
def _interrupted(effect: WorkInterrupted, state: State) -> None:
    work = state.works.get(effect.stream_id) or state.arrived[effect.stream_id]
    entries = state.disk.entries_of(effect.stream_id)
    if effect.produced != 1 + len(entries):
        raise Violation("nothing durable is lost", f"{effect.produced} entries of {effect.stream_id} are left")
    questions = [entry.ask_id for entry in entries if entry.kind is EntryKind.ASK]
    messages = [entry for entry in entries if entry.kind is EntryKind.NOTIFICATION and entry.ask_id is None]
    withdrawn = [entry.ask_id for entry in entries if entry.kind is EntryKind.NOTIFICATION and entry.ask_id]
    settled = [*withdrawn, *(answer.ask_id for answer in effect.answers)]
    open_ones = [ask_id for ask_id in questions if ask_id not in settled]
    if open_ones != list(effect.asks):
        raise Violation("a question is open or answered", f"not all questions of {effect.stream_id} are what they were")
    if work.number not in state.witness.executed:
        state.witness.start(work.number, effect.stream_id, disk_of(state))
        state.promised.start(effect.stream_id)
    ask_id = open_ones[0] if open_ones else None
    state.works[effect.stream_id] = work.interrupt(len(messages), len(questions), len(withdrawn), ask_id)


@carry_out.register
def _cancel(effect: StopCall, state: State) -> None:
    work = state.works[effect.stream_id]
    if state.left.slow_stops and not work.over:
        state.left = state.left.spend("slow_stops")
        state.works[effect.stream_id] = work.go_on()
    else:
        state.works[effect.stream_id] = work.become(WorkState.STOPPED)


@carry_out.register
def _ask_answered(effect: AskAnswered, state: State) -> None:
    state.works[effect.stream_id] = state.works[effect.stream_id].answered(effect.ask_id)


@carry_out.register
def _ask_failed(effect: AskFailed, state: State) -> None:
    work = state.works[effect.stream_id]
    if effect.failure is AskFailure.TIMED_OUT and not state.late:
        _check_unanswered(state, work.number, effect.ask_id)
    if not work.over:
        withdrawn = effect.failure is AskFailure.TIMED_OUT
        after = work.withdraw(effect.ask_id) if withdrawn else work.answered(effect.ask_id)
        state.works[effect.stream_id] = after


def _check_unanswered(state: State, number: int, ask_id: str) -> None:
    """Check that nobody could have answered: callers answer whatever they are asked."""
    waiting = [caller for caller in state.callers_of(number) if caller.outcome is None]
    if any(ask_id in caller.asked for caller in waiting):
        raise Violation("an answer arrives", f"the work on call {number} gets no answer, though one was given")
    if waiting and state.peers is Peers.MARKER:
        raise Violation("a question arrives", f"the work on call {number} gets no answer, since nobody was asked")


@carry_out.register
def _hold(effect: HoldMessages, state: State) -> None:
    state.works[effect.stream_id] = state.works[effect.stream_id].hold()


@carry_out.register
def _send_more(effect: SendMore, state: State) -> None:
    state.works[effect.stream_id] = state.works[effect.stream_id].go_on()


@carry_out.register
def _refused(effect: Refused, state: State) -> None:
    work = state.works[effect.stream_id]
    if not work.over:
        state.works[effect.stream_id] = work.become(WorkState.STOPPED)


@carry_out.register
def _attached(effect: StreamAttached, state: State) -> None:
    state.witness.attach(effect.stream_id, _in_use(state, effect.connection_id).name)


@carry_out.register
def _detached(effect: StreamDetached, state: State) -> None:
    state.deliveries.detach(effect.stream_id)


@carry_out.register
def _gone(effect: StreamGone, state: State) -> None:
    state.deliveries.go(effect.stream_id)
    state.witness.go(effect.stream_id, effect.reason)
    state.promised.go(effect.stream_id, effect.reason, state.late or state.bounds.room > 0)
    work = state.works.get(effect.stream_id)
    if work is not None:
        _check_gone(state, work, effect.reason)


def _check_gone(state: State, work: Work, reason: Reason) -> None:
    """Check that whoever is concerned by the end of a stream hears of it: its work, and before it the server."""
    heard_at_once = state.left.slow_stops == state.bounds.slow_stops
    if reason in {Reason.CANCELLED, Reason.ABANDONED} and heard_at_once and not work.over:
        text = f"the work on call {work.number} is not told to stop, and its stream is {reason.value}"
        raise Violation("nobody works in vain", text)
    # Where a session or a process ends, work is stopped whatever becomes of its stream.
    if (
        reason is Reason.EXPIRED
        and work.state is WorkState.STOPPED
        and state.lives == 1
        and state.peers is not Peers.STOCK
    ):
        raise Violation("lost is lost", f"the work on call {work.number} had no answer, and it is {reason.value}")
    callers = state.callers_of(work.number)
    crashes = state.lives > 1 or state.left.client_crashes < state.bounds.client_crashes
    in_time = state.peers is Peers.MARKER and not crashes and not state.late
    told = in_time and all(caller.cancelled for caller in callers)
    # A client that heard the answer before the loss has nothing to tell any more, and the rest expires.
    heard = reason is Reason.EXPIRED and state.left.breaks < state.bounds.breaks
    if reason in {Reason.ABANDONED, Reason.EXPIRED} and told and not heard:
        text = f"call {work.number} was cancelled, and its stream is {reason.value}"
        raise Violation("a server hears of a cancellation", text)
