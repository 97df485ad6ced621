"""What a message, a poll's result or an effect is, in a word or two: tests compare lists of such texts."""

from __future__ import annotations

from mcpstreams_sansio.server.effects import (
    AskAnswered,
    AskFailed,
    HoldMessages,
    Refused,
    SendMore,
    StartCall,
    StopCall,
    StreamAttached,
    StreamDetached,
    StreamGone,
    WorkInterrupted,
)
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Message, Notification, Request, Response
from mcpstreams_sansio.wire.refusals import read_refusal
from mcpstreams_sansio.wire.streams import PollResult


def gist(message: Message) -> str:
    """Return what a message is, in a word or two."""
    match message:
        case Notification(method="notifications/progress", params=params) if params is not None:
            return f"progress {params['progress']}"
        case Notification(method="notifications/cancelled", params=params) if params is not None:
            return f"withdrawn {params['requestId']}"
        case Notification(method=method):
            return method.rpartition("/")[2]
        case Request(id=ask_id, method="ping"):
            return f"ping {ask_id}"
        case Request(id=ask_id):
            return f"ask {ask_id}"
        case Response(id=request_id):
            return f"result {request_id}"
        case ErrorResponse(id=request_id, code=code):
            refused = read_refusal(message)
            reason = code if refused is None else refused.reason.value
            return f"error {'-' if request_id is None else request_id} {reason}"


def flags(result: PollResult) -> str:
    """Return a poll's result in words."""
    told = {"pending": result.pending_messages, "request": result.has_request, "error": result.has_error}
    return " ".join([result.status, *(name for name, value in told.items() if value)])


def seen(effect: StreamAttached | StreamDetached | StreamGone) -> str:
    match effect:
        case StreamAttached():
            return f"{effect.stream_id} attached to {effect.connection_id}"
        case StreamDetached():
            return f"{effect.stream_id} detached"
        case StreamGone():
            return f"{effect.stream_id} gone: {effect.reason.value}"


def interruption(effect: WorkInterrupted) -> str:
    """Return what the application is told of work of another process: how far it came, what is asked and answered."""
    asked = [f"asks {ask_id}" for ask_id in effect.asks]
    return " ".join([f"interrupted {effect.stream_id} at {effect.produced}", *asked, *map(told, effect.answers)])


def told(
    effect: StartCall | StopCall | AskAnswered | AskFailed | HoldMessages | SendMore | Refused,
) -> str:
    match effect:
        case StartCall():
            return f"start {effect.stream_id}"
        case StopCall():
            return f"cancel {effect.stream_id}: {effect.reason.value}"
        case AskAnswered():
            return f"answered {effect.ask_id}"
        case AskFailed():
            return f"failed {effect.ask_id}: {effect.failure.value}"
        case HoldMessages():
            return f"hold {effect.stream_id}"
        case SendMore():
            return f"more {effect.stream_id}"
        case Refused():
            return f"refused {effect.stream_id}: {effect.reason.value}"
