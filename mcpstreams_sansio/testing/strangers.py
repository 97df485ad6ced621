"""What others can try from elsewhere: who has the token, who has not, and what only repeats what was sent before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from mcpstreams_sansio.connections import ConnectionLost, Framing
from mcpstreams_sansio.ids import ConnectionId, Secret, StreamId
from mcpstreams_sansio.server.inputs import (
    AckReceived,
    AnswerReceived,
    CancelledReceived,
    CancelReceived,
    ConnectionOpened,
    CursorReceived,
    PeerInput,
    PollReceived,
    ResumeReceived,
    StreamsInput,
)
from mcpstreams_sansio.testing.actions import Peers
from mcpstreams_sansio.testing.conversation import ANSWER, call_name
from mcpstreams_sansio.testing.frames import read_message
from mcpstreams_sansio.testing.fronts import inputs_of
from mcpstreams_sansio.testing.properties import Violation
from mcpstreams_sansio.testing.server_side import tell_server
from mcpstreams_sansio.testing.state import State
from mcpstreams_sansio.testing.wires import Chunk, Down, End, Wire
from mcpstreams_sansio.testing.work import Work
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Message, Response
from mcpstreams_sansio.wire.refusals import Reason, read_refusal

VISIT: Final = "visit"
"""The id of every request of a stranger, and the name of its wire."""
_ENDS: Final = frozenset(
    {
        Reason.ABANDONED,
        Reason.CANCELLED,
        Reason.EXPIRED,
        Reason.FINISHED,
        Reason.NOT_RESUMABLE,
        Reason.STREAM_NOT_FOUND,
    }
)
"""What tells that there is nothing more to be had of a stream."""


def can_poll(state: State) -> Sequence[str]:
    """Somebody else holds the token of a stream, whether work on its call has begun or not."""
    return [call_name(state.arrived[stream_id].number) for stream_id in _streams(state)] if state.left.polls else []


def poll(state: State, name: str) -> None:
    """Somebody with the token polls from elsewhere; what it is told is true (rules Q6e, Q8)."""
    state.left = state.left.spend("polls")
    stream_id = next(each for each in _streams(state) if call_name(state.arrived[each].number) == name)
    connection_id = state.fresh_connection()
    reply = only_reply(
        _visit(state, connection_id, PollReceived(connection_id, VISIT, stream_id, state.tokens[stream_id]))
    )
    # One that waits for the disk never comes; any result was checked as it was written.
    if not isinstance(reply, Response) and state.peers is not Peers.STOCK and state.remembers and not state.bounds.room:
        _check_end(state, state.arrived[stream_id].number, reply)


def _streams(state: State) -> Sequence[StreamId]:
    return [*state.works, *state.unborn]


def _check_end(state: State, number: int, reply: Message | None) -> None:
    """Check that who comes late is told how a stream has ended, if it has (rules Q9a, R21.3, R21.6).

    Raises:
        Violation: That is not so.
    """
    refused = read_refusal(reply) if isinstance(reply, ErrorResponse) else None
    if refused is None or refused.reason not in _ENDS:
        return
    was_cancelled = refused.reason is Reason.CANCELLED and any(
        state.promised.cancelled_before(stream_id) for stream_id, work in state.arrived.items() if work.number == number
    )
    if refused.reason not in state.reasons_of(number) and not was_cancelled:
        text = f"the stream of call {number} is told to be {refused.reason.value}"
        raise Violation("what a stream ended as stays so", text)


def can_intrude(state: State) -> Sequence[str]:
    """Somebody else knows the id of a stream and not its token."""
    return [call_name(work.number) for work in state.works.values()] if state.left.intrusions else []


def intrude(state: State, name: str) -> None:
    """Somebody without the token tries everything from elsewhere; nothing comes of it (rules P19, Q10, R6, R24).

    Whoever has other calls has tokens too, and tries each of them, as well as one that opens nothing.
    """
    state.left = state.left.spend("intrusions")
    work = state.work_on(name)
    for token in (_NOBODYS, *_tokens_of_others(state, work)):
        for attempt in _REFUSED:
            connection_id, before = state.fresh_connection(), (dict(state.deliveries.streams), dict(state.works))
            reply = only_reply(_visit(state, connection_id, attempt(connection_id, work, token)))
            if not _is_unknown(state, reply) or (state.deliveries.streams, state.works) != before:
                raise Violation("no access without the token", f"a wrong token does something to {work.stream_id}")
        for attempt in _IGNORED:
            connection_id, machine = state.fresh_connection(), state.server.text(state.now)
            reply = only_reply(_visit(state, connection_id, attempt(connection_id, work, token)))
            if reply is not None or state.server.text(state.now) != machine:
                raise Violation("no access without the token", f"a stranger does something to {work.stream_id}")


def _tokens_of_others(state: State, work: Work) -> Sequence[Secret]:
    return [state.tokens[other.stream_id] for other in state.works.values() if other.number != work.number]


def can_copy(state: State) -> Sequence[str]:
    """A call was sent, and something has kept what it was sent as. No server knows what it never wrote down (R21.7)."""
    wanted = state.left.copies and state.peers is Peers.MARKER and state.remembers
    return [call_name(number) for number in state.requests] if wanted else []


def copy(state: State, name: str) -> None:
    """The request comes once more; if its stream is gone, it is told how (rules R21.3, R21.6)."""
    state.left = state.left.spend("copies")
    number = next(number for number in state.requests if call_name(number) == name)
    connection_id = state.fresh_connection()
    told = _visit(state, connection_id, *inputs_of(state, connection_id, Framing.MESSAGES, state.requests[number]))
    for chunk in told:
        _check_end(state, number, read_message(chunk.data) if isinstance(chunk, Chunk) else None)


def _is_unknown(state: State, reply: Message | None) -> bool:
    """Return whether somebody is told that there is no such stream, or has to wait for that."""
    refused = read_refusal(reply) if isinstance(reply, ErrorResponse) else None
    waits = reply is None and bool(state.left.durable)
    return waits or (refused is not None and refused.reason is Reason.STREAM_NOT_FOUND)


_Attempt: TypeAlias = Callable[[ConnectionId, Work, Secret], PeerInput]
_NOBODYS: Final = Secret("no token")
_REFUSED: Final[Sequence[_Attempt]] = (
    lambda where, work, token: ResumeReceived(where, VISIT, work.stream_id, token, marker=True),
    lambda where, work, token: PollReceived(where, VISIT, work.stream_id, token),
    lambda where, work, token: CancelReceived(where, VISIT, work.stream_id, token),
)
"""What has an answer: there is no such stream."""
_IGNORED: Final[Sequence[_Attempt]] = (
    lambda where, work, _: CursorReceived(where, work.stream_id, 0),
    lambda where, work, _: AckReceived(where, work.stream_id, 1),
    lambda where, work, token: AckReceived(where, work.stream_id, 1, token),
    lambda where, work, _: AnswerReceived(where, Response(work.ask_id or VISIT, ANSWER)),
    lambda where, work, token: AnswerReceived(where, Response(work.ask_id or VISIT, ANSWER), token),
    lambda where, work, _: CancelledReceived(where, work.request_id),
)
"""What has none, and counts with the token, or where its stream is at home."""


def _visit(state: State, connection_id: ConnectionId, *events: StreamsInput) -> Sequence[Down]:
    """Send something over a connection of its own; return what comes back at once, before that is lost."""
    scope = state.fresh_scope()
    state.put(Wire(VISIT, VISIT, Framing.MESSAGES, connection_id, connection_id, scope, server=End.OPEN))
    tell_server(state, ConnectionOpened(connection_id, Framing.MESSAGES, scope), *events)
    told = state.wires[VISIT].down
    state.put(state.wires[VISIT].lost_for_client(stragglers=False).lost_for_server())
    tell_server(state, ConnectionLost(connection_id))
    return told


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
