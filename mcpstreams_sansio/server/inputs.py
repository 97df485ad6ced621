"""What a server's streams can be told: a closed union of frozen values.

Things that happened are participles, orders of the application are imperatives. Ids, tokens and keys arrive in the
inputs; a machine makes none (rule R13 names what is refused by an exception: only what is wrong whatever the time).
"""

from __future__ import annotations

from typing import NewType, TypeAlias, final

import attrs

from mcpstreams_sansio.connections import ConnectionLost, DeadlineReached, EndOfFile, Framing, Written
from mcpstreams_sansio.ids import Address, ConnectionId, Digest, Principal, RequestId, Secret, StreamId
from mcpstreams_sansio.server.calls import CallPolicy, Peer
from mcpstreams_sansio.server.records import LogRecord
from mcpstreams_sansio.wire.converter import Position
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject, Notification, Request, Response
from mcpstreams_sansio.wire.marker import Attempt
from mcpstreams_sansio.wire.streams import ResumeInterval

Scope = NewType("Scope", str)
"""What a request id is unique in and an answer is entitled by: one multiplexed connection, or one HTTP session."""


@final
@attrs.frozen
class ConnectionOpened:
    """A delivery path exists from now on. Its id is higher than every one before it (rule R13)."""

    connection_id: ConnectionId
    framing: Framing
    scope: Scope
    principal: Principal | None = None
    primes: bool = False
    """Its event streams begin with an empty event that carries the position (rules H13, H19)."""
    address: Address | None = None
    """Where it comes from: whose quotas count, if nobody was authenticated (rule R25)."""


@final
@attrs.frozen
class PeerHeard:
    """Something came from a peer, whatever it means: it is still there (rule Q7a).

    All that a peer wants of streams shows it as well. This is for what means nothing by itself, such as half a message.
    """

    connection_id: ConnectionId


@final
@attrs.frozen
class ScopeEnded:
    """An HTTP session is over: silent streams go, announced ones are detached (rule R16)."""

    scope: Scope


@final
@attrs.frozen
class Reply:
    """Send a message that belongs to no stream: it waits for no entry (rule R15)."""

    connection_id: ConnectionId
    message: Response | ErrorResponse | Notification


@final
@attrs.frozen
class Accept:
    """A message that has no answer was taken: an HTTP exchange is answered 202, others hear nothing (rule H9)."""

    connection_id: ConnectionId


@final
@attrs.frozen
class CallReceived:
    """A request for the application arrived; a known key makes it a re-send (rule R21)."""

    connection_id: ConnectionId
    stream_id: StreamId
    """A fresh id: it names the call, and its stream."""
    request: Request = attrs.field(repr=False)
    """As the application may see it: without our own `_meta` keys."""
    peer: Peer
    policy: CallPolicy
    fresh_token: Secret
    """The token of the new stream, or one more for a re-sent call whose `create` must be made again (rule R3)."""
    key: Secret | None = None
    digest: Digest | None = None
    """What a re-send under the same key must repeat (rule R21.2); present exactly with `key`."""
    attempt: Attempt | None = None


@final
@attrs.frozen
class ResumeReceived:
    """`stream/resume`, with its id or without one (rule D2)."""

    connection_id: ConnectionId
    request_id: RequestId | None
    stream_id: StreamId
    resume_token: Secret
    after: Position | None = None
    """The position of the last entry that the client has, as the body says: only who was given tags knows one (R4)."""
    header_after: Position | None = None
    """The same, as `Last-Event-ID` says beside it: the two must agree (rules P22, Q13). Without either, everything
    unconfirmed comes (rule R8)."""
    attempt: Attempt | None = None
    marker: bool = False
    """The requester knows our extensions: it may re-attach on the same connection (rule R14)."""


@final
@attrs.frozen
class CursorReceived:
    """An HTTP GET with `Last-Event-ID`: a cursor of this session, without a token (rules R17, Q13)."""

    connection_id: ConnectionId
    stream_id: StreamId
    after: Position


@final
@attrs.frozen
class PollReceived:
    """`stream/poll` (rules P27-P31)."""

    connection_id: ConnectionId
    request_id: RequestId
    stream_id: StreamId
    resume_token: Secret


@final
@attrs.frozen
class AckReceived:
    """The client has everything of one stream up to `through` (rule R6)."""

    connection_id: ConnectionId
    stream_id: StreamId
    through: Position
    resume_token: Secret | None = None


@final
@attrs.frozen
class AnswerReceived:
    """The client answered a request of the server (rule R24)."""

    connection_id: ConnectionId
    answer: Response | ErrorResponse = attrs.field(repr=False)
    resume_token: Secret | None = None
    key: Secret | None = None
    """Either entitles where neither a principal does nor the connection that was asked."""


@final
@attrs.frozen
class CancelReceived:
    """`mcpstreams/cancel`: idempotent, by token, from any connection (rule R22)."""

    connection_id: ConnectionId
    request_id: RequestId
    stream_id: StreamId
    resume_token: Secret


@final
@attrs.frozen
class CancelledReceived:
    """`notifications/cancelled`: by request id where that id is at home, or by key (rules Q9b, Q9e, R21.6)."""

    connection_id: ConnectionId
    request_id: RequestId | None
    key: Secret | None = None


@final
@attrs.frozen
class SendMessage:
    """The application sends a notification on a stream."""

    stream_id: StreamId
    message: Notification


@final
@attrs.frozen
class AskPeer:
    """The application asks the client something on a stream (sampling, elicitation, ...)."""

    stream_id: StreamId
    ask_id: str
    """Carries 128 unguessable bits of its own, so that no question ever had it (rule R24).

    Only while a question is open is its id refused for another one: what was asked before is not remembered for ever,
    and a client would answer an old id with its old answer.
    """
    method: str
    params: JSONObject | None = attrs.field(default=None, repr=False)


@final
@attrs.frozen
class WithdrawAsk:
    """The application no longer wants the answer: the client is told, a late answer is ignored."""

    stream_id: StreamId
    ask_id: str


@final
@attrs.frozen
class Respond:
    """The application's one answer to the call; the stream completes."""

    stream_id: StreamId
    outcome: Response | ErrorResponse
    """Its id must be the request's."""


@final
@attrs.frozen
class ReleaseStream:
    """Let go of the connection, not of the stream: the client comes back by itself (rules H15, Q2c)."""

    stream_id: StreamId


@final
@attrs.frozen
class OpenStream:
    """The application wants its call to survive a loss, although its policy said nothing of it (rule R18).

    It counts only while nothing was sent on the call, and only for a requester that declared `streams` (rules P2, R2);
    otherwise the call goes on as it is.
    """

    stream_id: StreamId
    fresh_token: Secret
    interval: ResumeInterval = ResumeInterval()


@final
@attrs.frozen
class LogWritten:
    """Every batch up to and including `write_id` is durable."""

    write_id: int


@final
@attrs.frozen
class LogFailed:
    """The log takes nothing more: what is durable stays readable, nothing new is accepted (rule R9)."""

    reason: str


@final
@attrs.frozen
class Recover:
    """Go on with what the process before this one has left in its durable log.

    It can only be the first input of a machine, one whose `StreamsConfig` says `durable`.
    """

    records: tuple[LogRecord, ...] = attrs.field(repr=False)
    """Everything that the log has kept, in order; nothing for a log that is new."""


@final
@attrs.frozen
class Drain:
    """Stop politely: take no new call, and keep no connection longer than it takes to write what there is.

    Streams stay. A client that comes back for one gets what there is by then, and is let go again, until the driver
    ends the rest. It accepts no multiplexed connection meanwhile, unless clients shall come back on one.
    """


PeerInput: TypeAlias = (
    CallReceived
    | ResumeReceived
    | CursorReceived
    | PollReceived
    | AckReceived
    | AnswerReceived
    | CancelReceived
    | CancelledReceived
)
ServerOrder: TypeAlias = SendMessage | AskPeer | WithdrawAsk | Respond | ReleaseStream | OpenStream
"""What an application orders on its own calls, each named by the stream id that `StartCall` brought."""

StreamsInput: TypeAlias = (
    ConnectionOpened
    | PeerHeard
    | ConnectionLost
    | EndOfFile
    | ScopeEnded
    | Written
    | Reply
    | Accept
    | PeerInput
    | ServerOrder
    | LogWritten
    | LogFailed
    | Recover
    | Drain
    | DeadlineReached
)
