"""What a server's streams want done: a closed union of frozen values, to be carried out in order."""

from __future__ import annotations

import enum
from typing import TypeAlias, final

import attrs

from mcpstreams_sansio.connections import ConnectionEffect
from mcpstreams_sansio.ids import ConnectionId, RequestId, StreamId
from mcpstreams_sansio.server.calls import Peer
from mcpstreams_sansio.server.records import LogRecord
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Request, Response
from mcpstreams_sansio.wire.refusals import Reason


@enum.unique
class BodyKind(enum.Enum):
    """What an HTTP response turns out to be (rule R18)."""

    JSON = "json"
    """One message."""
    EVENTS = "events"
    """An event stream."""
    EMPTY = "empty"
    """Accepted, nothing to say: 202 (rule H9)."""


@final
@attrs.frozen
class BeginBody:
    """The head of an HTTP exchange can go out; the first `Write` of its body follows at once (case R1)."""

    connection_id: ConnectionId
    body: BodyKind
    reason: Reason | None = None
    """Why the request was refused, where the body is such a refusal: some reasons have a status of their own."""
    retry_after: float | None = None
    """Seconds, where the refusal is a matter of time."""


@final
@attrs.frozen
class WriteLog:
    """Make these records durable, all of them, in order, then report `LogWritten`. One batch is outstanding (R11)."""

    write_id: int
    records: tuple[LogRecord, ...] = attrs.field(repr=False)


@final
@attrs.frozen
class StartCall:
    """Run the application's handler; what had to be durable before it is (rule R9)."""

    stream_id: StreamId
    request: Request = attrs.field(repr=False)
    peer: Peer
    resumable: bool
    """A lost connection does not end the call."""


@final
@attrs.frozen
class WorkInterrupted:
    """The process that worked on this call is gone, and nobody knows how far it came; the call is never started again.

    It may not even have begun, and it may have answered: what no record holds has not happened for anybody else. Now
    the application either goes on (`SendMessage`, `Respond`, as if it had started here), or ends the call by `Respond`
    with `interrupted_error`: a call that nobody works on and nobody ends would wait for ever (rules R21, R27).
    """

    stream_id: StreamId
    request_id: RequestId
    """The one that the answer has to have."""
    method: str
    peer: Peer
    produced: int
    """How many entries its log has, `create` among them: what was sent or asked beyond is to be sent or asked again."""
    asks: tuple[str, ...] = ()
    """Its questions that are still open. Their answers come as ever."""
    answers: tuple[AskAnswered, ...] = ()
    """The answers to the others: what the process before made of them, if it heard them at all, nobody knows."""


@enum.unique
class StopReason(enum.Enum):
    """Why the application's work on a call is no longer wanted."""

    CANCELLED = "cancelled"
    """The client cancelled the call (rules Q9b, R22)."""
    ABANDONED = "abandoned"
    """The client stayed away for longer than it may (rules P32, Q7d)."""
    CONNECTION_LOST = "connection lost"
    """The connection is gone, and nothing brings this call back."""
    SESSION_ENDED = "session ended"
    """The HTTP session is over, and with it the only way back (rule R16)."""
    LOG_FULL = "log full"
    """What the stream may not drop has outgrown `max_stream_bytes` (rule R10)."""
    LOG_FAILED = "log failed"
    """The durable log takes nothing more, so nothing more can be told (rule R9)."""


@final
@attrs.frozen
class StopCall:
    """Stop the handler: nobody can receive its result any more."""

    stream_id: StreamId
    reason: StopReason


@final
@attrs.frozen
class AskAnswered:
    """The client's one answer to a question of the application."""

    stream_id: StreamId
    ask_id: str
    answer: Response | ErrorResponse = attrs.field(repr=False)


@enum.unique
class AskFailure(enum.Enum):
    """Why a question will not be answered."""

    UNSUPPORTED = "unsupported"
    """The client lacks the capability (rule R24)."""
    TIMED_OUT = "timed out"
    """No answer came within `ask_timeout` (rule R24)."""
    TOO_MANY = "too many"
    """`max_asks` questions of this stream are open."""
    STREAM_GONE = "stream gone"
    """The call is over, or no longer wanted: nobody waits for an answer."""


@final
@attrs.frozen
class AskFailed:
    """A question of the application got no answer and will get none."""

    stream_id: StreamId
    ask_id: str
    failure: AskFailure


@final
@attrs.frozen
class HoldMessages:
    """The stream is at its limit: let the application wait before it sends more (overflow `wait`, rule R10)."""

    stream_id: StreamId


@final
@attrs.frozen
class SendMore:
    """There is room again."""

    stream_id: StreamId


@final
@attrs.frozen
class Refused:
    """An order of the application came too late: its stream is gone (rule R13)."""

    stream_id: StreamId
    reason: Reason


@final
@attrs.frozen
class StreamAttached:
    """A connection delivers this stream from now on."""

    stream_id: StreamId
    connection_id: ConnectionId


@final
@attrs.frozen
class StreamDetached:
    """No connection delivers this stream any more; it waits for its client."""

    stream_id: StreamId


@final
@attrs.frozen
class StreamGone:
    """The stream is over and its log is freed; only the reason is remembered, for a while."""

    stream_id: StreamId
    reason: Reason


StreamsEffect: TypeAlias = (
    ConnectionEffect
    | BeginBody
    | WriteLog
    | StartCall
    | WorkInterrupted
    | StopCall
    | AskAnswered
    | AskFailed
    | HoldMessages
    | SendMore
    | Refused
    | StreamAttached
    | StreamDetached
    | StreamGone
)
