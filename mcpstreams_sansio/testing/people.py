"""What the applications at both ends can do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs

from mcpstreams_sansio.client.inputs import AnswerAsk, AttachCall, CancelCall, DetachCall, MakeCall
from mcpstreams_sansio.server.inputs import (
    AskPeer,
    ReleaseStream,
    Respond,
    SendMessage,
)
from mcpstreams_sansio.testing.actions import Peers
from mcpstreams_sansio.testing.caller import Caller
from mcpstreams_sansio.testing.client_side import take, tell_client, would_save
from mcpstreams_sansio.testing.conversation import ANSWER, ASK, METHOD, call_name, call_params, failure, success
from mcpstreams_sansio.testing.homes import FIRST
from mcpstreams_sansio.testing.properties import Violation
from mcpstreams_sansio.testing.server_side import tell_server
from mcpstreams_sansio.testing.state import State
from mcpstreams_sansio.testing.stores import Store
from mcpstreams_sansio.testing.work import CREATE, Work, WorkState
from mcpstreams_sansio.wire.jsonrpc import Response
from mcpstreams_sansio.wire.refusals import interrupted_error


def _callers(state: State, wanted: Callable[[Caller], bool]) -> Sequence[str]:
    return [caller.name for caller in state.callers.values() if wanted(caller)]


def _works(state: State, wanted: Callable[[Work], bool]) -> Sequence[str]:
    return [call_name(work.number) for work in state.works.values() if wanted(work)]


def can_call(state: State) -> Sequence[str]:
    """Calls are left to be made."""
    made = state.calls_made
    return [call_name(made + 1)] if made < state.left.calls else []


def call(state: State, _: str) -> None:
    """The caller makes its call."""
    number, call_id = state.calls_made + 1, state.fresh_call()
    state.callers[call_id] = Caller(number, state.guarantee, store=Store() if state.keeps_calls else None)
    order = MakeCall(call_id, METHOD, call_params(number), state.fresh_entropy(), state.keeps_calls)
    tell_client(state, FIRST, order)


def can_take(state: State) -> Sequence[str]:
    """The caller was given something and has not come back."""
    return _callers(state, lambda caller: caller.dawdles)


def come_back(state: State, name: str) -> None:
    """The caller comes back for more."""
    call_id = state.call_id_of(name)
    tell_client(state, state.callers[call_id].home, take(state, call_id))


def can_answer(state: State) -> Sequence[str]:
    """The caller was asked."""
    return _callers(state, lambda caller: bool(caller.unanswered))


def answer(state: State, name: str) -> None:
    """The caller answers the oldest question."""
    call_id = state.call_id_of(name)
    ask_id, state.callers[call_id] = state.callers[call_id].answer()
    tell_client(state, state.callers[call_id].home, AnswerAsk(call_id, ask_id, Response(ask_id, ANSWER)))


def can_cancel(state: State) -> Sequence[str]:
    """A call is running, and may be cancelled."""
    if not state.left.cancels:
        return []
    return _callers(state, _wants_more)


def cancel(state: State, name: str) -> None:
    """The caller no longer wants the result."""
    call_id = state.call_id_of(name)
    state.left = state.left.spend("cancels")
    state.callers[call_id] = state.callers[call_id].cancel()
    tell_client(state, state.callers[call_id].home, CancelCall(call_id))


def _wants_more(caller: Caller) -> bool:
    return caller.outcome is None and caller.saved is None and not caller.cancelled


def can_detach(state: State) -> Sequence[str]:
    """A call is running, and its caller may let it go, where it can tell afterwards what it has missed."""
    return _callers(state, _wants_more) if state.left.detaches and state.tells_positions else []


def detach(state: State, name: str) -> None:
    """The caller lets go of the call."""
    state.left = state.left.spend("detaches")
    call_id = state.call_id_of(name)
    tell_client(state, state.callers[call_id].home, DetachCall(call_id))


def can_attach(state: State) -> Sequence[str]:
    """A call was let go."""
    return _callers(state, lambda caller: caller.saved is not None)


def attach(state: State, name: str) -> None:
    """The caller goes on with the call, under another id."""
    saved, caller = state.callers.pop(state.call_id_of(name)).go_on()
    call_id = state.fresh_call()
    state.callers[call_id] = caller
    stored = caller.store is not None
    tell_client(state, caller.home, AttachCall(call_id, saved, state.fresh_entropy(), stored))


def can_rival(state: State) -> Sequence[str]:
    """Another client can have what brings a call back, from the moment on when there is something that names it.

    Only with our extension: without it nothing tells two clients apart, and nothing is promised to them (rule R14). And
    not where callers keep their calls: there another client could only have what is kept.
    """
    if not state.left.rivals or state.peers is not Peers.MARKER or state.keeps_calls:
        return []
    return _callers(state, lambda caller: caller.home == FIRST and _wants_more(caller) and _named(state, caller))


def rival(state: State, name: str) -> None:
    """Another client goes on with a call, while its own client does so as well (rule R14)."""
    state.left = state.left.spend("rivals")
    caller = state.callers[state.call_id_of(name)]
    saved = would_save(state, caller)
    home, state.spare = state.spare[0], state.spare[1:]
    state.homes[home.name] = home
    call_id = state.fresh_call()
    state.callers[call_id] = attrs.evolve(caller.let_go(saved), saved=None, store=None, home=home.name)
    tell_client(state, home.name, AttachCall(call_id, saved, state.fresh_entropy()))


def _named(state: State, caller: Caller) -> bool:
    """Say whether something names a call at the server: one that has certainly not arrived is a new call for each."""
    saved = would_save(state, caller)
    return saved.stream_id is not None or (saved.key is not None and saved.sent)


def can_send(state: State) -> Sequence[str]:
    """Work has a message to send."""
    return _works(state, lambda work: work.state is WorkState.RUNNING and work.messages > 0)


def send(state: State, name: str) -> None:
    """Work sends its next message."""
    _check_window(state, state.work_on(name))
    message, work = state.work_on(name).send()
    state.works[work.stream_id] = work
    tell_server(state, SendMessage(work.stream_id, message))


def _check_window(state: State, work: Work) -> None:
    """Check that work was told to wait if it is as far ahead of every caller as it may be (rules R6, R10).

    Raises:
        Violation: It was not.
    """
    window = state.bounds.window
    taken = max((caller.taken for caller in state.callers_of(work.number)), default=0)
    produced = CREATE + work.sent
    if window and state.peers is Peers.MARKER and produced - max(taken, CREATE) >= window:
        text = f"the work on call {work.number} is {produced - taken} entries ahead, and was not told to wait"
        raise Violation("no more than the window is ahead", text)


def can_ask(state: State) -> Sequence[str]:
    """Work has a question."""
    return _works(state, lambda work: work.state is WorkState.RUNNING and work.asks > 0)


def ask(state: State, name: str) -> None:
    """Work asks, and waits."""
    ask_id = state.fresh_ask()
    work = state.work_on(name).ask(ask_id)
    state.works[work.stream_id] = work
    tell_server(state, AskPeer(work.stream_id, ask_id, ASK, {"messages": []}))


def can_succeed(state: State) -> Sequence[str]:
    """Work is done."""
    return _works(state, lambda work: work.may_respond)


def succeed(state: State, name: str) -> None:
    """Work answers the call."""
    work = state.work_on(name)
    state.works[work.stream_id] = work.become(WorkState.SUCCEEDED)
    tell_server(state, Respond(work.stream_id, success(work.request_id, work.number)))


def can_fail(state: State) -> Sequence[str]:
    """Work is done, and may have failed."""
    return can_succeed(state) if state.left.failures else []


def fail(state: State, name: str) -> None:
    """Work answers the call with an error."""
    state.left = state.left.spend("failures")
    work = state.work_on(name)
    state.works[work.stream_id] = work.become(WorkState.FAILED)
    tell_server(state, Respond(work.stream_id, failure(work.request_id, work.number)))


def can_give_up(state: State) -> Sequence[str]:
    """Work was interrupted, and nobody has gone on with it."""
    return _works(state, lambda work: work.interrupted and not work.over)


def give_up(state: State, name: str) -> None:
    """Nobody goes on with the work; its caller is told so."""
    work = state.work_on(name)
    state.works[work.stream_id] = work.become(WorkState.GIVEN_UP)
    tell_server(state, Respond(work.stream_id, interrupted_error(work.request_id)))


def can_release(state: State) -> Sequence[str]:
    """Work can let go of the connection."""
    return _works(state, lambda work: work.state is not WorkState.STOPPED) if state.left.releases else []


def release(state: State, name: str) -> None:
    """Work lets go of the connection, not of the stream."""
    state.left = state.left.spend("releases")
    tell_server(state, ReleaseStream(state.work_on(name).stream_id))
