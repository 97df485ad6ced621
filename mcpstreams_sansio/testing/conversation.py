"""What the two applications of a world say to each other: calls by number, messages by number, questions, answers."""

from __future__ import annotations

from typing import Final, assert_never

from mcpstreams_sansio.ids import RequestId
from mcpstreams_sansio.wire.jsonrpc import (
    ErrorResponse,
    JSONObject,
    JSONValue,
    Message,
    Notification,
    Request,
    Response,
)
from mcpstreams_sansio.wire.progress import PROGRESS_TOKEN
from mcpstreams_sansio.wire.refusals import Reason, read_refused_call

METHOD: Final = "tools/call"
"""What every call calls."""
MESSAGE: Final = "notifications/progress"
"""What the work sends: of all notifications, a client without our extension can tell only these apart (rule Q4a)."""
ASK: Final = "sampling/createMessage"
"""What the work asks."""
ANSWER: Final[JSONObject] = {"answer": True}
"""What the caller answers."""
ASK_CAPABILITY: Final = "sampling"
FAILURE_CODE: Final = 7
"""How the work fails, if it does: an application's own code."""


def call_name(number: int) -> str:
    """Return how transcripts name a call, and the work on it."""
    return f"k{number}"


def call_params(number: int) -> JSONObject:
    """Return the params of a call."""
    return {"name": "work", "arguments": {"number": number}}


def called_number(params: JSONObject | None) -> int:
    """Return which call it is."""
    arguments = (params or {})["arguments"]
    assert isinstance(arguments, dict), "calls are made by `call_params`"
    number = arguments["number"]
    assert isinstance(number, int), "calls are made by `call_params`"
    return number


def message(number: int, progress_token: JSONValue) -> Notification:
    """Return one message of the work."""
    return Notification(MESSAGE, {PROGRESS_TOKEN: progress_token, "progress": number})


def is_said_by_work(message: Message | None) -> bool:
    """Return whether a message is one of those that the work on a call sends."""
    match message:
        case Notification(method=method):
            return method == MESSAGE
        case Request(method=method):
            return method == ASK
        case Response(result=result):
            return "number" in result
        case ErrorResponse(code=code):
            return code == FAILURE_CODE
        case None:
            return False
        case unknown:
            assert_never(unknown)


def success(request_id: RequestId, number: int) -> Response:
    """Return the answer to call `number`."""
    return Response(request_id, {"content": [], "number": number})


def failure(request_id: RequestId, number: int) -> ErrorResponse:
    """Return the other answer to call `number`."""
    return ErrorResponse(request_id, FAILURE_CODE, f"call {number} failed")


def is_interruption(error: ErrorResponse) -> bool:
    """Say whether an error tells that the work on a call was interrupted."""
    refused = read_refused_call(error)
    return refused is not None and refused.reason is Reason.INTERRUPTED
