"""What a client's streams can be told: a closed union of frozen values.

`ClientStreams` works with messages. A *path* is where a message can be sent and its answer is read: the one shared
connection of a multiplexed transport, or one exchange of HTTP. Fronts turn bytes into these inputs.
"""

from __future__ import annotations

import enum
from typing import TypeAlias, final

import attrs

from mcpstreams_sansio.client.failures import NOTHING_SAID, Failure, Said
from mcpstreams_sansio.connections import ConnectionLost, DeadlineReached
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.ids import CallId, ConnectionId, Entropy, RequestId, Secret, StreamId
from mcpstreams_sansio.wire.converter import Position, Seconds
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject, Message, Response
from mcpstreams_sansio.wire.marker import Window
from mcpstreams_sansio.wire.streams import ResumeInterval


@final
@attrs.frozen
class ServerTraits:
    """What the client knows of its server once the handshake is done (rules P3, R21.7)."""

    marker: bool = False
    """It advertises `mcpstreams/resumable-streams`: keys, cursors, acknowledgements."""

    instance: str | None = None
    """Names its memory: keys and streams end with it, and a log that outlives a server keeps it. Present with the
    marker."""

    key_ttl: Seconds | None = None
    """Seconds for which it remembers a key from its arrival."""


@final
@attrs.frozen
class LinkUp:
    """The handshake is done: requests can be sent."""

    shared: ConnectionId | None
    """The multiplexed connection that carries everything; `None`: each message gets an exchange of its own (HTTP)."""
    server: ServerTraits


@final
@attrs.frozen
class LinkDown:
    """Nothing can be sent until the next `LinkUp`: the shared connection, or the HTTP session, is gone."""


@final
@attrs.frozen
class MessageReceived:
    """One message arrived on a path."""

    connection_id: ConnectionId
    message: Message = attrs.field(repr=False)
    event_id: str | None = None
    """The SSE event id that came with it, where there was one of its own: an opaque cursor."""
    size: Position = 0
    """Bytes that it took on the wire: what `max_unread_bytes` and the server's window count."""


@final
@attrs.frozen
class PositionReceived:
    """An event without a message moved the cursor of this path: priming (rules H13, H14)."""

    connection_id: ConnectionId
    event_id: str
    """Empty where the server took its cursor back (case C7)."""


@final
@attrs.frozen
class RetryReceived:
    """The server asked for this pause before the next reconnect (rules H16, Q7g)."""

    connection_id: ConnectionId
    retry_ms: Position


@final
@attrs.frozen
class PathAccepted:
    """The server took what was sent on this exchange: any 2xx head (rule R24)."""

    connection_id: ConnectionId


@final
@attrs.frozen
class PathRefused:
    """The server answered this exchange with a status that is no success."""

    connection_id: ConnectionId
    status: int
    retry_after: Seconds | None = None
    """Seconds."""


@final
@attrs.frozen
class PathUnsent:
    """What was sent on this exchange was certainly not taken: no server was reached, or it had lost the session."""

    connection_id: ConnectionId


@final
@attrs.frozen
class PathUnusable:
    """The answer on this exchange cannot be read, and would be no better a second time (cases G3, J8, J9)."""

    connection_id: ConnectionId


@enum.unique
class GivenUp(enum.Enum):
    """Why no server will be reached any more."""

    FAILED = "failed"
    """It cannot be talked to."""
    CLOSED = "closed"
    """The client was closed."""


@final
@attrs.frozen
class LinkGivenUp:
    """No server will be reached any more: every open call gets its outcome now (case H2)."""

    why: GivenUp
    failure: Failure | None = None
    """With `FAILED`: why the server cannot be talked to."""
    said: Said = NOTHING_SAID
    """With that: what the server said of it."""


@final
@attrs.frozen
class MakeCall:
    """The application makes a call. Its outcome comes as exactly one `CallFinished`."""

    call_id: CallId
    """Higher than that of every call before it: so one number tells an old id from a new one (rule R13)."""
    method: str
    params: JSONObject | None = attrs.field(repr=False)
    """As the application means them: keys of ours in `_meta` are refused (rule R4)."""
    entropy: Entropy
    """Source of the call's key, and of the jitter of its waits (rule Q7g)."""
    stored: bool = False
    """The application keeps the call where it outlives its process, and says so by `CallSaved` and `OutcomeSaved`: what
    goes to the server waits for that, and the server keeps what is not saved (rule R23)."""


@final
@attrs.frozen
class SavedCall:
    """A call as plain data: what another process needs to go on with it (rule R23).

    It has one owner: where two clients go on from the same one, what either takes is gone for both.
    """

    request_id: str
    method: str
    params: JSONObject | None = attrs.field(repr=False)
    taken: Position
    """Position up to which the application has the messages."""
    stream_id: StreamId | None = None
    resume_token: Secret | None = None
    interval: ResumeInterval = ResumeInterval()
    key: Secret | None = None
    instance: str | None = None
    """The server instance that knows the key."""
    key_age: Seconds = 0.0
    """Seconds since the key was first sent; whoever keeps the call adds the time for which it was kept, by `aged`."""
    event_id: str | None = None
    """The SSE cursor of `taken`, where there is one."""
    attempt: Position = 0
    """The number of its latest attempt, or one above those that are still to come: later ones are higher (rule R14)."""
    sent: bool = True
    """Its request may have reached the server."""
    window: Window | None = None
    """How much of the stream may be unacknowledged (rule R6)."""
    answers: tuple[Response | ErrorResponse, ...] = attrs.field(default=(), repr=False)
    """What the application answered to questions of the server, which gets the same again if it asks again (R24)."""
    client: str | None = None
    """Of a call that is stored: under which instance its attempts go on being counted (rule R14)."""
    session: str | None = None
    """Of a call that nothing but `event_id` brings back: the session of which that is, and means nothing in any other
    (case C5). Where a stream or a key names the call, the id belongs to its log, and means the same for ever."""

    def aged(self, seconds: float) -> SavedCall:
        """Return the call after it was kept for a time, so that an old key is not used any more (rule R21.4).

        Args:
            seconds: For how long, by a clock that goes on while no process runs. Where that may have been set back
                since, take the longest time that it can have been: too long ends a call in doubt, and too short may
                run it twice.

        Raises:
            LocalProtocolError: That is no time that can pass.
        """
        if not seconds >= 0.0:
            raise LocalProtocolError("no call is kept for less than no time")
        return attrs.evolve(self, key_age=self.key_age + seconds)


@final
@attrs.frozen
class AttachCall:
    """Go on with a call that was detached here or saved elsewhere (rule R27)."""

    call_id: CallId
    """A new one, as for `MakeCall`."""
    saved: SavedCall
    entropy: Entropy
    stored: bool = False
    """The application keeps it further, as for `MakeCall`; `saved` is what it has kept so far."""


@final
@attrs.frozen
class CallSaved:
    """The application has this, and itself as it was when it asked for it, where it outlives its process (rule R23).

    What waited for it goes out, and what it says is taken is acknowledged.
    """

    call_id: CallId
    saved: SavedCall
    """Of `SaveDue`, or what `save` or `saved_after` returned. Of one call the later ones replace the earlier ones."""


@final
@attrs.frozen
class OutcomeSaved:
    """The application has the outcome of a stored call where it outlives its process: nothing has to come again.

    Until then the server keeps the answer, and all before it that was not saved (rules R6, R23).
    """

    call_id: CallId


@final
@attrs.frozen
class DetachCall:
    """Let go of the call without cancelling it; answered by `CallDetached` (rule R27)."""

    call_id: CallId


@final
@attrs.frozen
class TakeMessages:
    """The application has come back for more, or has the result: it has what it was given up to `through` (R23)."""

    call_id: CallId
    through: Position
    """The position of the last item taken, as the item named it."""


@final
@attrs.frozen
class CancelCall:
    """The application no longer wants the result (rules R22, P25)."""

    call_id: CallId


@final
@attrs.frozen
class AnswerAsk:
    """The application's answer to a question of the server (rule R24)."""

    call_id: CallId | None
    """As the question named it."""
    ask_id: RequestId
    answer: Response | ErrorResponse = attrs.field(repr=False)
    """Its id must be the question's."""


StreamsNews: TypeAlias = (
    LinkUp
    | LinkDown
    | MessageReceived
    | PositionReceived
    | RetryReceived
    | PathAccepted
    | PathRefused
    | PathUnsent
    | PathUnusable
    | ConnectionLost
)
"""What a front has to tell the streams."""

ClientOrder: TypeAlias = (
    MakeCall | AttachCall | DetachCall | TakeMessages | CallSaved | OutcomeSaved | CancelCall | AnswerAsk
)
"""What an application orders on its own calls."""

ClientStreamsInput: TypeAlias = StreamsNews | LinkGivenUp | ClientOrder | DeadlineReached


@final
@attrs.frozen
class OpenClient:
    """Connect now, although no call needs it yet; without it the client connects for its first call."""


@final
@attrs.frozen
class CloseClient:
    """Finish every open call and part from the server in good order; answered by `ClientClosed`."""


@final
@attrs.frozen
class Notify:
    """The application tells the server something, at most once (rule R25)."""

    method: str
    params: JSONObject | None = attrs.field(default=None, repr=False)


@final
@attrs.frozen
class Connected:
    """A multiplexed connection is open."""

    connection_id: ConnectionId


@final
@attrs.frozen
class ConnectFailed:
    """No server was reached: neither anything sent on this connection nor a request of this exchange has arrived."""

    connection_id: ConnectionId
