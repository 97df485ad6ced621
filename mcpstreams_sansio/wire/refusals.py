"""The refusals that the protocol foresees, as errors on the wire: one vocabulary for both sides.

A client decides by `data.reason`, never by the wording (case I5). This module must never know when a refusal is due.

Spec: rules Q10, R10, R14, R21.
"""

from __future__ import annotations

import enum
from typing import Final, final

import attrs

from mcpstreams_sansio.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LocalProtocolError,
    RemoteProtocolError,
)
from mcpstreams_sansio.ids import RequestId
from mcpstreams_sansio.wire.converter import Position, Seconds, structure, unstructure
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject


@enum.unique
class Reason(enum.Enum):
    """Why something was refused: the value is `data.reason` on the wire."""

    STREAM_NOT_FOUND = "stream_not_found"
    """No such stream, a wrong token, or another principal's: nobody can tell which (rule Q10)."""

    ABANDONED = "abandoned"
    """Nobody came back within `resumeInterval.max` (rule P34)."""

    EXPIRED = "expired"
    """It was kept for its time, or had to make room (rules Q7e, R10)."""

    CANCELLED = "cancelled"
    """Its work was cancelled (rule Q9b)."""

    FINISHED = "finished"
    """Everything was delivered and acknowledged (rule R6)."""

    NOT_RESUMABLE = "not_resumable"
    """Its `max` is 0 (rule Q7c)."""

    EVENTS_GONE = "events_gone"
    """Messages above the cursor are no longer kept (rules Q5c, R10)."""

    INVALID_CURSOR = "invalid_cursor"
    """The cursor cannot be read, or is another stream's, or above the newest message (rules Q5c, Q13)."""

    ALREADY_ATTACHED = "already_attached"
    """The stream is attached to this very connection (rule Q6d)."""

    KEY_CONFLICT = "key_conflict"
    """The key names another call (rule R21.2)."""

    TOO_EARLY = "too_early"
    """Before `resumeInterval.min`, one takeover after another, or too many wrong tokens (rules Q7f, R14, Q11e)."""

    SUPERSEDED = "superseded"
    """A newer attachment has the stream (rules Q6a, R14)."""

    ID_IN_USE = "id_in_use"
    """The id of the original request names another request on this connection (rule Q3c)."""

    TOO_MANY_STREAMS = "too_many_streams"
    """A keyed call needs a stream, and there is no room for one (rule R10)."""

    TOO_MANY_KEYS = "too_many_keys"
    """A keyed call needs its key remembered, and no key may be forgotten for it (rule R21.4)."""

    DRAINING = "draining"
    """The server is stopping and takes no new call."""

    LOG_FULL = "log_full"
    """The stream failed: it holds more than it may, and nothing of it can be dropped (rule R10)."""

    LOG_FAILED = "log_failed"
    """The server cannot make anything durable any more (rule R9)."""

    INTERRUPTED = "interrupted"
    """The server has restarted while it worked on the call: that may have run, and is not run again (rule R21)."""


# Fixed texts: nothing of the request is repeated, and what must not be told apart is the same to the byte (rule T34).
# A peer without the extension has nothing but the text, so where a call may have run the text says so: it is for people
# to decide whether to try again (case H4).
_ERRORS: Final[dict[Reason, tuple[int, str]]] = {
    Reason.STREAM_NOT_FOUND: (INVALID_PARAMS, "there is no such stream for this token"),
    Reason.ABANDONED: (INVALID_PARAMS, "the stream was abandoned"),
    Reason.EXPIRED: (INVALID_PARAMS, "the stream is no longer kept"),
    Reason.CANCELLED: (INVALID_PARAMS, "the stream was cancelled"),
    Reason.FINISHED: (INVALID_PARAMS, "the stream was delivered completely"),
    Reason.NOT_RESUMABLE: (INVALID_PARAMS, "the stream cannot be resumed"),
    Reason.EVENTS_GONE: (INVALID_PARAMS, "messages after the cursor are no longer kept"),
    Reason.INVALID_CURSOR: (INVALID_PARAMS, "the cursor is no position of this stream"),
    Reason.ALREADY_ATTACHED: (INVALID_PARAMS, "the stream is attached to this connection already"),
    Reason.KEY_CONFLICT: (INVALID_PARAMS, "the key names another call"),
    Reason.TOO_EARLY: (INVALID_REQUEST, "too early"),
    Reason.SUPERSEDED: (INVALID_REQUEST, "a newer attachment has the stream"),
    Reason.ID_IN_USE: (INVALID_REQUEST, "the id of the stream's request is in use on this connection"),
    Reason.TOO_MANY_STREAMS: (INVALID_REQUEST, "there is no room for another stream"),
    Reason.TOO_MANY_KEYS: (INVALID_REQUEST, "there is no room for another key"),
    Reason.DRAINING: (INVALID_REQUEST, "the server is stopping"),
    Reason.LOG_FULL: (INTERNAL_ERROR, "the stream holds more than it may; its call may have run"),
    Reason.LOG_FAILED: (INTERNAL_ERROR, "the log of the streams has failed; a call that had begun may have run"),
    Reason.INTERRUPTED: (INTERNAL_ERROR, "the server has restarted while it worked on the call, which may have run"),
}

_PASSING: Final = frozenset({Reason.TOO_EARLY, Reason.TOO_MANY_STREAMS, Reason.TOO_MANY_KEYS, Reason.DRAINING})
"""What time may cure, so that it makes sense to say when to try again."""


@final
@attrs.frozen
class Refusal:
    """What `data` of such an error holds.

    Wire: `{"reason": "events_gone", "firstAvailable": 7, "lost": 3}`

    Spec: rules Q10, R10.
    """

    reason: Reason
    """Why."""
    first_available: Position | None = None
    """With `EVENTS_GONE`: the lowest position above the cursor that is still kept."""
    lost: Position | None = None
    """With `EVENTS_GONE`: how many messages above the cursor are not."""
    retry_after: Seconds | None = None
    """Seconds after which another try makes sense."""
    extra: JSONObject = attrs.field(factory=dict, hash=False, repr=False)
    """Members that this version does not name."""


def refusal(
    request_id: RequestId | None,
    reason: Reason,
    *,
    first_available: int | None = None,
    lost: int | None = None,
    retry_after: float | None = None,
) -> ErrorResponse:
    """Return the error that answers a refused request.

    Args:
        request_id: The request's; `None` for a resume without an id (rule D2).
        reason: Why.
        first_available: With `EVENTS_GONE`, and only there: the lowest position above the cursor that is kept.
        lost: The same: how many messages above the cursor are gone.
        retry_after: Seconds; only where time may cure the reason.

    Raises:
        LocalProtocolError: The details are not those of the reason.

    Wire: `{"code": -32602, "message": "...", "data": {"reason": "stream_not_found"}}`

    Spec: rules Q10, R10.
    """
    gone = reason is Reason.EVENTS_GONE
    if (first_available is not None, lost is not None) != (gone, gone):
        raise LocalProtocolError("first_available and lost belong to events_gone, both of them")
    if retry_after is not None and reason not in _PASSING:
        raise LocalProtocolError(f"{reason.value} does not pass: it has no retry_after")
    code, message = _ERRORS[reason]
    return ErrorResponse(request_id, code, message, unstructure(Refusal(reason, first_available, lost, retry_after)))


def interrupted_error(request_id: RequestId) -> ErrorResponse:
    """Return the answer to a call whose work was interrupted, where its application does not go on with it.

    Wire: `{"code": -32603, "message": "...", "data": {"reason": "interrupted"}}`

    Spec: rules R21, R27.
    """
    return refusal(request_id, Reason.INTERRUPTED)


def read_refusal(error: ErrorResponse) -> Refusal | None:
    """Return what an error says in this vocabulary, `None` where it says nothing: then it is an error like any other.

    Only `data` counts, neither code nor wording: what answers a request of the protocol itself can be nothing else.
    """
    try:
        return structure(Refusal, error.data, "data")
    except RemoteProtocolError:
        return None


def read_refused_call(error: ErrorResponse) -> Refusal | None:
    """Return with what refusal the protocol answers an application's request, `None` where its handler has answered.

    Both come in the same place, so here the code has to be the reason's own too. A handler chooses its codes outside of
    those that JSON-RPC reserves, where all of these are (rule Q10).
    """
    refusal = read_refusal(error)
    return refusal if refusal is not None and _ERRORS[refusal.reason][0] == error.code else None
