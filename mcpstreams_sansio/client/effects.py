"""What a client's streams want done: a closed union of frozen values, to be carried out in order."""

from __future__ import annotations

import enum
from typing import TypeAlias, final

import attrs

from mcpstreams_sansio.client.inputs import SavedCall
from mcpstreams_sansio.ids import CallId, ConnectionId
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

    call_id: CallId
    ask_id: str | int
    position: int
    method: str
    params: JSONObject | None = attrs.field(repr=False)


@final
@attrs.frozen
class AskWithdrawn:
    """The server no longer wants an answer to this question."""

    call_id: CallId
    ask_id: str | int


@final
@attrs.frozen
class CallResult:
    """The call was answered."""

    result: JSONObject


@final
@attrs.frozen
class CallFailed:
    """The call was answered with an error by the application at the other end."""

    error: ErrorResponse


@final
@attrs.frozen
class CallLost:
    """The call ran, and its result can not be had any more; the reason is the server's or the client's own."""

    reason: Reason


@enum.unique
class Doubt(enum.Enum):
    """Why nobody can tell whether the call ran."""

    CONNECTION_LOST = "connection lost"
    """The connection died before anything came back, and no key names the call (rule H4 of the cases)."""
    SERVER_CHANGED = "server changed"
    """The server that knew the key is not the one that answers now (rule R21.7)."""
    KEY_TOO_OLD = "key too old"
    """The server may have forgotten the key (rule R21.4)."""
    OUT_OF_BUDGET = "out of budget"
    """The server could not be reached within the budget of the call."""
    REFUSED = "refused"
    """The server answers something that this client can not make sense of."""


@final
@attrs.frozen
class OutcomeUnknown:
    """The call may or may not have run: this client never runs it a second time to find out."""

    doubt: Doubt


@final
@attrs.frozen
class CallCancelled:
    """The application cancelled the call."""


Outcome: TypeAlias = CallResult | CallFailed | CallLost | OutcomeUnknown | CallCancelled


@final
@attrs.frozen
class CallFinished:
    """The one end of a call. Nothing follows for it."""

    call_id: CallId
    position: int
    outcome: Outcome


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
    RESEND = "resend"
    CURSOR = "cursor"
    POLL = "poll"
    CANCEL = "cancel"


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
class UnclaimedMessage:
    """A message that belongs to no call: a notification of the server itself, or an answer nobody waits for (Q3b)."""

    connection_id: ConnectionId
    message: Message


ClientStreamsEffect: TypeAlias = (
    SendOnPath
    | ReadAgain
    | LeavePath
    | ItemReceived
    | GapFound
    | AskReceived
    | AskWithdrawn
    | CallFinished
    | CallDetached
    | AttemptMade
    | DuplicateDropped
    | UnclaimedMessage
)
