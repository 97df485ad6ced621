"""What a client's streams want done: a closed union of frozen values, to be carried out in order."""

from __future__ import annotations

import enum
from typing import TypeAlias, final

import attrs

from mcpstreams_sansio.client.failures import NOTHING_SAID, Failure, Said
from mcpstreams_sansio.client.inputs import SavedCall
from mcpstreams_sansio.ids import CallId, ConnectionId, RequestId
from mcpstreams_sansio.wire.handshake import ServerHello
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject, Message, Notification
from mcpstreams_sansio.wire.refusals import Reason


@final
@attrs.frozen
class SendOnPath:
    """Send this message on this path. With HTTP the path is new: begin an exchange under this id."""

    connection_id: ConnectionId
    message: Message = attrs.field(repr=False)
    last_event_id: str | None = None
    """The cursor for the `Last-Event-ID` header (rule P22)."""


@final
@attrs.frozen
class ReadAgain:
    """Begin an exchange under this id that carries no message, only a cursor: GET with `Last-Event-ID` (rule H24)."""

    connection_id: ConnectionId
    last_event_id: str


@final
@attrs.frozen
class LeavePath:
    """Nothing more is wanted from this path. A shared connection stays; an exchange is closed."""

    connection_id: ConnectionId


@final
@attrs.frozen
class PauseReading:
    """Read nothing more of this exchange: the application has more than it takes (rule R23)."""

    connection_id: ConnectionId


@final
@attrs.frozen
class ResumeReading:
    """Read on."""

    connection_id: ConnectionId


@final
@attrs.frozen
class ItemReceived:
    """A message of the call's stream, exactly once and in order."""

    call_id: CallId
    position: int
    """What `TakeMessages.through` names once the application has it."""
    message: Notification


@final
@attrs.frozen
class GapFound:
    """Messages are lost for good; the next item comes from after them (rule R10)."""

    call_id: CallId
    position: int
    lost: int


@final
@attrs.frozen
class AskReceived:
    """The server asks something inside the call; handed over once, whatever is sent again (rule R24)."""

    call_id: CallId | None
    """None where it belongs to no call: a server without streams has asked on a connection that carries everything."""
    ask_id: RequestId
    position: int
    """Where it stands in the call; 0 outside of one. It need not be taken: unanswered, it comes again in any case."""
    method: str
    params: JSONObject | None = attrs.field(repr=False)


@final
@attrs.frozen
class AskWithdrawn:
    """Nobody wants an answer to this question any more."""

    call_id: CallId | None
    ask_id: RequestId


@final
@attrs.frozen
class CallResult:
    """The call was answered."""

    result: JSONObject = attrs.field(repr=False)


@final
@attrs.frozen
class CallFailed:
    """The call was answered with an error by the application at the other end."""

    error: ErrorResponse


@final
@attrs.frozen
class CallLost:
    """The call ran, and its result cannot be had any more; the reason is the server's or the client's own."""

    reason: Reason


@enum.unique
class Doubt(enum.Enum):
    """Why nobody can tell whether the call ran."""

    CONNECTION_LOST = "connection lost"
    """The connection died before anything came back, and no key names the call (case H4)."""
    SERVER_CHANGED = "server changed"
    """The server that knew the key is not the one that answers now (rule R21.7)."""
    KEY_TOO_OLD = "key too old"
    """The server may have forgotten the key (rule R21.4)."""
    OUT_OF_BUDGET = "out of budget"
    """The server could not be reached within the budget of the call."""
    INTERRUPTED = "interrupted"
    """The server has restarted while it worked on the call, and nobody knows how far it had come (rule R21)."""
    REFUSED = "refused"
    """The server refuses what would bring the call back, and gives no reason that this client knows."""
    UNREADABLE = "unreadable"
    """The server's answer cannot be read: too large, or of another type (cases G3, J8, J9)."""
    CLIENT_FAILED = "client failed"
    """This client cannot talk to its server any more; `failure` says why."""
    CLIENT_CLOSED = "client closed"
    """This client was closed before the outcome came."""


@final
@attrs.frozen
class OutcomeUnknown:
    """The call may or may not have run: this client never runs it a second time to find out."""

    doubt: Doubt
    failure: Failure | None = None
    """With `CLIENT_FAILED`: why the server cannot be talked to."""
    said: Said = NOTHING_SAID
    """With that, and with `REFUSED`: what the server said of it."""


@enum.unique
class NotRun(enum.Enum):
    """Why it is certain that a call did not run."""

    UNREACHED = "unreached"
    """Within the budget of the call no server could be reached."""
    UNSAVED = "unsaved"
    """A server was reached, and within the budget of the call, which is `stored`, nobody said that it is saved."""
    REFUSED = "refused"
    """The server refused the request before it looked at the call."""
    TOO_MANY_CALLS = "too many calls"
    """`max_calls` of this client are open."""
    CLIENT_FAILED = "client failed"
    """This client cannot talk to its server, and the call had not gone out; `failure` says why."""
    CLIENT_CLOSED = "client closed"
    """This client was closed before the call went out."""


@final
@attrs.frozen
class CallNotRun:
    """It is certain that the call did not run: it may be made again.

    What was kept of one that is `stored` would run it still, and is dropped first: it may say that it was sent.
    """

    why: NotRun
    failure: Failure | None = None
    """With `CLIENT_FAILED`: why the server cannot be talked to."""
    said: Said = NOTHING_SAID
    """With that, and with `REFUSED`: what the server said of it."""


@final
@attrs.frozen
class CallCancelled:
    """The application cancelled the call."""


Outcome: TypeAlias = CallResult | CallFailed | CallLost | OutcomeUnknown | CallNotRun | CallCancelled
"""What becomes of a call: exactly one of these, always (case H2)."""


@final
@attrs.frozen
class Unread:
    """An item that the application had not taken when its call ended: how far it is once it has (rules R1, R23)."""

    position: int
    taken: int
    """Position up to which it has everything then: the messages behind the item that are no items count as well."""
    event_id: str | None
    """The SSE cursor of `taken`, where there is one."""


@final
@attrs.frozen
class CallFinished:
    """The one end of a call. Nothing follows for it."""

    call_id: CallId
    position: int
    """What `TakeMessages.through` names once the application has all that came before it."""
    outcome: Outcome
    saved: SavedCall | None = None
    """Of a call that is stored: what leads to its end once more, as it stood then. Until the outcome is kept itself,
    this can be; what was taken since is in `saved_after`."""
    unread: tuple[Unread, ...] = ()
    """Of a call that is stored: the items that come between `saved` and the end, in order."""

    def saved_after(self, through: int) -> SavedCall | None:
        """Return what leads to the end of a stored call once more, from what its application has taken by now.

        It has the cursor of that place: with an older one, messages would come a second time (rule R23).

        Args:
            through: The position of the last item that it has dealt with, or a lower one: at least that of `saved`.

        Returns:
            None for a call that is not stored.
        """
        taken = [item for item in self.unread if item.position <= through]
        if self.saved is None or not taken:
            return self.saved
        return attrs.evolve(self.saved, taken=taken[-1].taken, event_id=taken[-1].event_id)


@final
@attrs.frozen
class SaveDue:
    """Save the call now (rules R6, R23).

    Its request or an answer waits for that, or what would bring it back has changed, or the server will soon send no
    more. Only a call that is `stored` has to be saved.
    """

    call_id: CallId
    saved: SavedCall
    """What to keep, as it stood then: with the application as it was when it had all up to `taken`. Where it has gone
    on since, it says what it has taken, and keeps what `save` returns. Of one call the later ones replace the earlier
    ones."""


@final
@attrs.frozen
class CallDetached:
    """The call was let go; `saved` brings it back, here or elsewhere (rule R27)."""

    call_id: CallId
    saved: SavedCall


@enum.unique
class Recovery(enum.Enum):
    """What the client did to get a call back."""

    RESUME = "resume"
    """It asked for the stream by its token, on a new connection (rule P15)."""
    RESEND = "resend"
    """It sent the call again under its key (rule R21)."""
    CURSOR = "cursor"
    """It came back with nothing but an event id: GET with `Last-Event-ID` (rule H24)."""
    POLL = "poll"
    """It asked how the stream stands (rule P27)."""
    CANCEL = "cancel"
    """It told the server that nobody wants the call any more (rule R22)."""


@final
@attrs.frozen
class AttemptMade:
    """For observers: the client tries to get a call back (or to cancel it) in this way."""

    call_id: CallId
    recovery: Recovery


@final
@attrs.frozen
class DuplicateDropped:
    """For observers: a message that the client already had was dropped below the application."""

    call_id: CallId
    position: int


@final
@attrs.frozen
class ReplyDropped:
    """For observers: the server asked for more replies than it takes, and this one was not sent (`max_replies`)."""

    request_id: RequestId | None
    """What was asked: a ping, or a question that belongs to no call or that there was no room for."""


@final
@attrs.frozen
class UnclaimedMessage:
    """A message that belongs to no call: a notification of the server itself, or an answer nobody waits for (Q3b)."""

    connection_id: ConnectionId
    message: Message = attrs.field(repr=False)


PathEffect: TypeAlias = SendOnPath | ReadAgain | LeavePath | PauseReading | ResumeReading
"""What a front carries out."""

CallEffect: TypeAlias = (
    ItemReceived
    | GapFound
    | AskReceived
    | AskWithdrawn
    | CallFinished
    | SaveDue
    | CallDetached
    | AttemptMade
    | DuplicateDropped
    | ReplyDropped
    | UnclaimedMessage
)
"""What is the application's, or an observer's."""

ClientStreamsEffect: TypeAlias = PathEffect | CallEffect


@final
@attrs.frozen
class OpenConnection:
    """Open a multiplexed connection under this id, then report `Connected` or `ConnectFailed`."""

    connection_id: ConnectionId


@final
@attrs.frozen
class ServerConnected:
    """The handshake is done; also after each reconnection, since another server may answer then."""

    server: ServerHello


@final
@attrs.frozen
class ServerDisconnected:
    """The connection, or the HTTP session, is gone. The client comes back by itself as soon as anything needs it."""


@final
@attrs.frozen
class ServerNotReached:
    """No server was reached, or it was lost in the handshake. The client tries again by itself, after a pause."""


@final
@attrs.frozen
class NoticeReceived:
    """The server tells something that belongs to no call."""

    method: str
    params: JSONObject | None = attrs.field(repr=False)


@final
@attrs.frozen
class NoticeDropped:
    """A notification of the application was never sent: notifications are at most once (rule R25)."""

    method: str


@final
@attrs.frozen
class UnreadableReceived:
    """The server sent something that is no message; what follows it is read all the same (case O4)."""

    connection_id: ConnectionId
    why: str
    """What is wrong with it; no value of the server's is repeated."""


@final
@attrs.frozen
class ClientFailed:
    """The client cannot talk to its server, and trying again would bring the same. Every call has its outcome."""

    failure: Failure
    said: Said = NOTHING_SAID


@final
@attrs.frozen
class ClientClosed:
    """Closing is done: nothing more comes of this client."""
