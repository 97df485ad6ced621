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
    CallFailed,
    CallFinished,
    CallLost,
    CallNotRun,
    ClientStreamsEffect,
    Doubt,
    DuplicateDropped,
    GapFound,
    ItemReceived,
    LeavePath,
    Outcome,
    OutcomeUnknown,
    PauseReading,
    ReadAgain,
    ReplyDropped,
    ResumeReading,
    SaveDue,
    SendOnPath,
    UnclaimedMessage,
)
from mcpstreams_sansio.client.inputs import AnswerAsk, ClientStreamsInput, DetachCall, SavedCall, TakeMessages
from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.ids import CallId, ConnectionId
from mcpstreams_sansio.testing.actions import Peers, Transport
from mcpstreams_sansio.testing.caller import Caller
from mcpstreams_sansio.testing.conversation import ANSWER, METHOD, called_number, is_interruption
from mcpstreams_sansio.testing.homes import Home
from mcpstreams_sansio.testing.machines import check_due
from mcpstreams_sansio.testing.properties import Violation
from mcpstreams_sansio.testing.secrecy import check_wanted_by_client
from mcpstreams_sansio.testing.state import Role, State
from mcpstreams_sansio.testing.stores import Kept
from mcpstreams_sansio.testing.wires import End, Post, Wire
from mcpstreams_sansio.testing.work import WorkState
from mcpstreams_sansio.wire.jsonrpc import Request, Response, encode_message
from mcpstreams_sansio.wire.refusals import Reason


def tell_client(state: State, home: str, *events: ClientStreamsInput) -> None:
    """Tell a client's machine, and do what it wants done, in order."""
    waiting = collections.deque(events)
    while waiting:
        event = waiting.popleft()
        state.happened.append((Role.CLIENT_IS_TOLD, event))
        machine, effects = state.homes[home].machine.handle(event, state.now)
        check_due(machine, state.now)
        state.homes[home] = attrs.evolve(state.homes[home], machine=machine)
        for effect in effects:
            state.happened.append((Role.CLIENT_WANTS, effect))
            check_wanted_by_client(effect)
            if isinstance(effect, SendOnPath | ReadAgain) and state.transport is Transport.HTTP:
                begin_exchange(state, state.homes[home], effect.connection_id)
            carry_out(effect, state)
            match effect:
                case ItemReceived(call_id=call_id) | GapFound(call_id=call_id) | CallFinished(call_id=call_id):
                    waiting.extend(_come_back(state, call_id))
                case AskReceived(call_id=call_id) if call_id is not None:
                    waiting.extend(_come_back(state, call_id))
                case AskReceived(call_id=None, ask_id=ask_id) if state.guarantee.may_repeat:
                    # Nothing tells which call it belongs to, so it is answered for all of them.
                    waiting.append(AnswerAsk(None, ask_id, Response(ask_id, ANSWER)))
                case _:
                    pass


def would_save(state: State, caller: Caller) -> SavedCall:
    """Return what letting go of a call would give. Its client is not told, and does not let go."""
    _, effects = state.homes[caller.home].machine.handle(DetachCall(state.call_id_of(caller.name)), state.now)
    return next(effect.saved for effect in effects if isinstance(effect, CallDetached))


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


def begin_exchange(state: State, home: Home, connection_id: ConnectionId) -> None:
    """Open the exchange that a client is about to send its one message on.

    Raises:
        Violation: There is such an exchange, or the client has no session.
    """
    if state.wire_of_client(connection_id) is not None or home.scope is None:
        raise Violation("one message, one exchange", "the client sends on an exchange again, or without a session")
    state.put(Wire(state.fresh_wire(), home.name, Framing.HTTP, connection_id, scope=home.scope))


def _in_use(wire: Wire | None) -> Wire:
    if wire is None or wire.client is not End.OPEN:
        raise Violation("lost is lost", "the client does something with a connection that is lost")
    return wire


@functools.singledispatch
def carry_out(effect: ClientStreamsEffect, state: State) -> None:
    """Do what the client's machine wants done."""
    raise TypeError(f"{type(effect).__name__} is no effect of a client")


@carry_out.register
def _send_on_path(effect: SendOnPath, state: State) -> None:
    wire = _in_use(state.wire_of_client(effect.connection_id))
    post = Post(encode_message(effect.message), effect.last_event_id)
    state.put(wire.post(post))
    if isinstance(effect.message, Request) and effect.message.method == METHOD:
        state.requests.setdefault(called_number(effect.message.params), post)


@carry_out.register
def _read_again(effect: ReadAgain, state: State) -> None:
    state.put(_in_use(state.wire_of_client(effect.connection_id)).post(Post(None, effect.last_event_id)))


@carry_out.register
def _leave(effect: LeavePath, state: State) -> None:
    state.put(_in_use(state.wire_of_client(effect.connection_id)).lost_for_client(stragglers=True))


@carry_out.register
def _item(effect: ItemReceived, state: State) -> None:
    before = state.callers[effect.call_id]
    caller = state.callers[effect.call_id] = before.see(effect)
    if caller.seen > before.seen:
        _check_told(state, before, caller.seen - before.seen - 1)
    check_unread(state, caller)
    _check_missed(state, caller)


@carry_out.register
def _ask(effect: AskReceived, state: State) -> None:
    if effect.call_id is not None:
        caller = state.callers[effect.call_id]
        _check_wanted(state, caller, effect)
        state.callers[effect.call_id] = caller.consider(effect)
    elif not state.guarantee.may_repeat:
        raise Violation("a question belongs to a call", "the client cannot tell which call it is asked in")


def check_unread(state: State, caller: Caller) -> None:
    """Check that a client gives its caller no more than it may have unread, and the one item that fills it (rule R23).

    Without our extension nothing that was read ahead can be had again, so that comes on top.

    Raises:
        Violation: It has more.
    """
    limit = state.bounds.max_unread
    if not limit:
        return
    ahead = 0 if state.peers is Peers.MARKER else state.bounds.reads_ahead - state.left.reads_ahead
    if caller.unread > limit + 1 + ahead:
        raise Violation("memory within limits", f"call {caller.number} has {caller.unread} items unread")


def _check_wanted(state: State, caller: Caller, ask: AskReceived) -> None:
    """Check that a caller that keeps its answers is asked nothing to which the work has an answer already."""
    wanted = any(work.ask_id == ask.ask_id for work in state.works.values())
    if caller.store is not None and not wanted and not state.late and not caller.cancelled:
        raise Violation("a question is answered once", f"call {caller.number} is asked what was answered before")


@carry_out.register
def _withdrawn(effect: AskWithdrawn, state: State) -> None:
    if effect.call_id is not None:
        state.callers[effect.call_id] = state.callers[effect.call_id].withdraw(effect.ask_id)


@carry_out.register
def _finished(effect: CallFinished, state: State) -> None:
    before = state.callers[effect.call_id]
    sent = sum(work.sent for work in state.works.values() if work.number == before.number)
    _check_outcome(state, before, effect.outcome)
    caller = state.callers[effect.call_id] = _with_ending(state, before.finish(effect, sent), effect)
    if caller.has_its_answer:
        _check_told(state, before, sent - before.seen)
    _check_missed(state, caller)


def _check_told(state: State, caller: Caller, missing: int) -> None:
    """Check that a caller that misses messages was told of as many (rule R10).

    It may be told of more if a question was lost with them, if it has gone on from before a gap and was told again, or
    if what was passed over comes again in the end, since nothing tells that it had been there.

    Args:
        state: The world.
        caller: It is about to be given what follows, or its answer.
        missing: How many messages that leaves out.

    Raises:
        Violation: It was told of fewer, or of more for no such reason.
    """
    bounds = state.bounds
    goes_back = bounds.detaches or bounds.client_crashes or bounds.rivals
    exact = not (bounds.asks or goes_back or caller.guarantee.may_repeat)
    if caller.told < missing or (exact and caller.told > missing):
        text = f"call {caller.number} misses {missing} messages, and was told of {caller.told}"
        raise Violation("a gap tells how many are missing", text)


def _with_ending(state: State, caller: Caller, end: CallFinished) -> Caller:
    """Return a caller with what it may keep in place of the outcome (rule R23).

    Raises:
        Violation: A call that is kept beyond its process came to an end to which nothing leads once more.
    """
    store = caller.store
    if store is None or caller.cancelled:
        return caller
    saved = end.saved_after(end.position)
    if saved is None:
        raise Violation("an end can be reached once more", f"nothing leads to the end of call {caller.number} again")
    if not state.left.unasked_saves:
        return caller
    ending = Kept(attrs.evolve(saved, key_age=0.0), caller.seen, end.position)
    return attrs.evolve(caller, store=attrs.evolve(store, ending=ending))


def _check_missed(state: State, caller: Caller) -> None:
    """Check that another client has, or may still be given, what a caller misses; only for lack of room nobody may."""
    if caller.guarantee.may_repeat or state.bounds.room:
        return
    others = [each for each in state.callers_of(caller.number) if each.name != caller.name]
    for number in caller.missed:
        if not any(other.has_seen(number) or other.may_see(number) for other in others):
            raise Violation("each message reaches somebody", f"message {number} of call {caller.number} is gone")


def _check_outcome(state: State, caller: Caller, outcome: Outcome) -> None:
    """Check that a caller that has no answer really could not have one."""
    late = state.late
    match outcome:
        case CallNotRun() if caller.number in state.witness.executed:
            raise Violation("not run is not run", f"call {caller.number} ran, and its caller is told that it did not")
        case CallLost(reason=reason) if _can_be_lost(state, caller, reason):
            pass
        case CallLost(reason=Reason.STREAM_NOT_FOUND) if not state.remembers:
            pass
        case CallFailed(error=error) if is_interruption(error) and not _says_so_by_an_error(state, caller):
            raise Violation("an interruption is no failure", f"the work on call {caller.number} did not fail")
        case CallNotRun() | CallLost() if not late and not caller.cancelled:
            raise Violation("an answer in the end", f"call {caller.number} is given up while it can be had")
        case CallLost(reason=reason) if reason not in state.reasons_of(caller.number):
            raise Violation("lost is lost", f"call {caller.number} is given up as {reason.value}, which no stream is")
        case OutcomeUnknown(doubt=doubt) if doubt not in _excuses(state, caller):
            raise Violation("an answer in the end", f"call {caller.number} is given up: {doubt.value}")
        case _:
            pass


def _can_be_lost(state: State, caller: Caller, reason: Reason) -> bool:
    """Return whether a caller is told rightly that another client has its call or its answer, or that room ran out.

    Whoever has taken a call over may cancel it afterwards: it is lost then all the same, for the one who had it before.
    """
    others = [each for each in state.callers_of(caller.number) if each is not caller]
    match reason:
        case Reason.SUPERSEDED:
            return any(other.outcome is None or other.has_its_answer or other.cancelled for other in others)
        case Reason.FINISHED:
            return any(other.has_its_answer for other in others)
        case Reason.CANCELLED:
            return any(other.cancelled for other in others)
        case Reason.EXPIRED:
            return state.bounds.room > 0 and reason in state.reasons_of(caller.number)
        case _:
            return False


def _was_given_up(state: State, caller: Caller) -> bool:
    """Return whether nobody went on with the work on a call after a crash."""
    return any(work.number == caller.number and work.state is WorkState.GIVEN_UP for work in state.works.values())


def _says_so_by_an_error(state: State, caller: Caller) -> bool:
    """Return whether a caller hears of an interruption by an error: who knows our extension is told better."""
    return state.peers is not Peers.MARKER and _was_given_up(state, caller)


def _excuses(state: State, caller: Caller) -> set[Doubt]:
    """Return why a caller may be left in doubt: time ran out; a crash; and without our extension, nothing names it."""
    late = state.late
    excuses = {Doubt.OUT_OF_BUDGET} if late else set()
    if _was_given_up(state, caller):
        excuses.add(Doubt.INTERRUPTED)
    if not state.remembers:
        excuses.add(Doubt.SERVER_CHANGED)
    if state.peers is not Peers.MARKER:
        if not _has_a_way_back(state, caller):
            excuses.add(Doubt.CONNECTION_LOST)
        if late:  # a cursor of a stream that is no longer kept is refused by its status alone (rule Q12)
            excuses |= {Doubt.CONNECTION_LOST, Doubt.REFUSED}
    return excuses


def _has_a_way_back(state: State, caller: Caller) -> bool:
    """Return whether something brings a call back: what its caller was given came with an event id, or behind a token.

    An event id counts as long as its session (case C5), and neither is worth anything at another server.
    """
    left, bounds = state.left, state.bounds
    same_session = (left.sessions, left.client_crashes) == (bounds.sessions, bounds.client_crashes)
    by_event_id = state.transport is Transport.HTTP and same_session
    return caller.position > 0 and state.lives == 1 and (state.peers is Peers.DRAFT or by_event_id)


@carry_out.register
def _gap(effect: GapFound, state: State) -> None:
    state.callers[effect.call_id] = state.callers[effect.call_id].miss(effect)


@carry_out.register
def _detached(effect: CallDetached, state: State) -> None:
    state.callers[effect.call_id] = state.callers[effect.call_id].let_go(effect.saved)


@carry_out.register
def _save_due(effect: SaveDue, state: State) -> None:
    caller = state.callers[effect.call_id]
    assert caller.store is not None, "only who keeps something is to save it"
    state.callers[effect.call_id] = attrs.evolve(caller, store=attrs.evolve(caller.store, due=True))


@carry_out.register
def _pause(effect: PauseReading, state: State) -> None:
    state.put(attrs.evolve(_in_use(state.wire_of_client(effect.connection_id)), paused=True))


@carry_out.register
def _read_on(effect: ResumeReading, state: State) -> None:
    state.put(attrs.evolve(_in_use(state.wire_of_client(effect.connection_id)), paused=False))


@carry_out.register
def _observed(effect: AttemptMade | DuplicateDropped | ReplyDropped | UnclaimedMessage, state: State) -> None:
    """These are for observers: `goals` tells of them."""
