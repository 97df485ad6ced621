"""What the applications at both ends can do, and what strangers can try."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import attrs

from mcpstreams_sansio.client.inputs import AnswerAsk, AttachCall, CancelCall, DetachCall, MakeCall
from mcpstreams_sansio.connections import ConnectionLost, Framing
from mcpstreams_sansio.ids import ConnectionId, Secret
from mcpstreams_sansio.server.inputs import (
    AckReceived,
    AnswerReceived,
    AskPeer,
    CancelledReceived,
    CancelReceived,
    ConnectionOpened,
    CursorReceived,
    PeerInput,
    PollReceived,
    ReleaseStream,
    Respond,
    ResumeReceived,
    SendMessage,
)
from mcpstreams_sansio.testing.actions import Peers
from mcpstreams_sansio.testing.application import (
    ANSWER,
    ASK,
    METHOD,
    Caller,
    Work,
    WorkState,
    call_name,
    call_params,
    failure,
    success,
)
from mcpstreams_sansio.testing.client_side import take, tell_client, would_save
from mcpstreams_sansio.testing.frames import read_message
from mcpstreams_sansio.testing.homes import FIRST
from mcpstreams_sansio.testing.properties import Violation
from mcpstreams_sansio.testing.server_side import tell_server
from mcpstreams_sansio.testing.state import State
from mcpstreams_sansio.testing.stores import Store
from mcpstreams_sansio.testing.wires import Chunk, Down, End, Wire
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Message, Response
from mcpstreams_sansio.wire.refusals import Reason, interrupted_error, read_refusal
from mcpstreams_sansio.wire.streams import PollResult, read_poll_result

VISIT: Final = "visit"
"""The id of every request of a stranger, and the name of its wire."""
_CREATE: Final = 1
"""The position of `create`, before all that the work sends."""


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
    tell_client(state, caller.home, AttachCall(call_id, saved, state.fresh_entropy(), state.keeps_calls))


def can_rival(state: State) -> Sequence[str]:
    """Another client can have what brings a call back, from the moment on when there is something that names it.

    Only with our extension: without it nothing tells two clients apart, and nothing is promised to them (rule R14).
    """
    if not state.left.rivals or state.peers is not Peers.MARKER:
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
    state.callers[call_id] = attrs.evolve(caller.let_go(saved), saved=None, home=home.name)
    tell_client(state, home.name, AttachCall(call_id, saved, state.fresh_entropy()))


def _named(state: State, caller: Caller) -> bool:
    saved = would_save(state, caller)
    return saved.key is not None or saved.stream_id is not None


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
    produced = _CREATE + work.sent
    if window and state.peers is Peers.MARKER and produced - max(taken, _CREATE) >= window:
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


def can_poll(state: State) -> Sequence[str]:
    """Somebody else holds the token."""
    return _works(state, lambda work: True) if state.left.polls else []


def poll(state: State, name: str) -> None:
    """Somebody with the token polls from elsewhere; what it is told is true (rules Q6e, Q8)."""
    state.left = state.left.spend("polls")
    work = state.work_on(name)
    connection_id = state.fresh_connection()
    token = state.tokens[work.stream_id]
    reply = _visit(state, connection_id, PollReceived(connection_id, VISIT, work.stream_id, token))
    # One that waits for the disk never comes; any other tells of what is durable, which is all there is then.
    if isinstance(reply, Response):
        check_poll(read_poll_result(reply.result), state.works[work.stream_id], state.callers_of(work.number))


def check_poll(result: PollResult, work: Work, callers: Sequence[Caller]) -> None:
    """Compare what a poll says with what the work has done, and with what has come of it.

    Raises:
        Violation: It is not true.
    """
    answered = work.state in {WorkState.SUCCEEDED, WorkState.FAILED, WorkState.GIVEN_UP}
    if (result.status == "completed") != answered:
        raise Violation("a poll tells the truth", f"{result.status} is told of work that is {work.state.value}")
    if result.has_request != work.asking:
        raise Violation("a poll tells the truth", "what is told of open questions is wrong")
    if result.has_error and work.state not in {WorkState.FAILED, WorkState.GIVEN_UP}:
        raise Violation("a poll tells the truth", "an error is told that nobody made")
    unheard = answered and all(caller.outcome is None for caller in callers)
    if unheard and not result.pending_messages:
        raise Violation("a poll tells the truth", "nothing more is told to be there, and nobody has the answer")
    if unheard and work.state is not WorkState.SUCCEEDED and not result.has_error:
        raise Violation("a poll tells the truth", "nothing is told of an error of which nobody has heard")


def can_intrude(state: State) -> Sequence[str]:
    """Somebody else knows the id of a stream and not its token."""
    return _works(state, lambda work: True) if state.left.intrusions else []


def intrude(state: State, name: str) -> None:
    """Somebody without the token tries everything from elsewhere; nothing comes of it (rules P19, Q10, R6, R24)."""
    state.left = state.left.spend("intrusions")
    work = state.work_on(name)
    for attempt in _WITH_A_WRONG_TOKEN:
        connection_id, attached = state.fresh_connection(), dict(state.witness.attached)
        reply = _visit(state, connection_id, attempt(connection_id, work))
        if not _is_unknown(state, reply) or (state.witness.attached, state.works[work.stream_id]) != (attached, work):
            raise Violation("no access without the token", f"a wrong token does something to {work.stream_id}")
    for attempt in _WITHOUT_A_TOKEN:
        connection_id, before = state.fresh_connection(), state.server.text(state.now)
        reply = _visit(state, connection_id, attempt(connection_id, work))
        if reply is not None or state.server.text(state.now) != before:
            raise Violation("no access without the token", f"a stranger does something to {work.stream_id}")


def _is_unknown(state: State, reply: Message | None) -> bool:
    """Return whether somebody is told that there is no such stream, or has to wait for that."""
    refused = read_refusal(reply) if isinstance(reply, ErrorResponse) else None
    waits = reply is None and bool(state.left.durable)
    return waits or (refused is not None and refused.reason is Reason.STREAM_NOT_FOUND)


_Attempt: TypeAlias = Callable[[ConnectionId, Work], PeerInput]
_WRONG: Final = Secret("no token")
_WITH_A_WRONG_TOKEN: Final[Sequence[_Attempt]] = (
    lambda where, work: ResumeReceived(where, VISIT, work.stream_id, _WRONG, marker=True),
    lambda where, work: PollReceived(where, VISIT, work.stream_id, _WRONG),
    lambda where, work: CancelReceived(where, VISIT, work.stream_id, _WRONG),
)
_WITHOUT_A_TOKEN: Final[Sequence[_Attempt]] = (
    lambda where, work: CursorReceived(where, work.stream_id, 0),
    lambda where, work: AckReceived(where, work.stream_id, 1),
    lambda where, work: AnswerReceived(where, Response(work.ask_id or VISIT, ANSWER)),
    lambda where, work: CancelledReceived(where, work.request_id),
)
"""What counts where its stream is at home, and nowhere else."""


def _visit(state: State, connection_id: ConnectionId, event: PeerInput) -> Message | None:
    """Make a request from a connection of its own; return the reply, unless it has to wait for the disk."""
    scope = state.fresh_scope()
    state.put(Wire(VISIT, VISIT, Framing.MESSAGES, connection_id, connection_id, scope, server=End.OPEN))
    tell_server(state, ConnectionOpened(connection_id, Framing.MESSAGES, scope), event)
    told = state.wires[VISIT].down
    state.put(state.wires[VISIT].lost_for_client(stragglers=False).lost_for_server())
    tell_server(state, ConnectionLost(connection_id))
    return only_reply(told)


def only_reply(told: Sequence[Down]) -> Message | None:
    """Return the one message that a stranger was told; None where it has to wait.

    Raises:
        Violation: It was told more.
    """
    match told:
        case []:
            return None
        case [Chunk(data=data)]:
            return read_message(data)
        case _:
            raise Violation("one reply", "a stranger is told more than a reply")
