"""JSON-RPC 2.0 as MCP uses it: four kinds of message, read strictly and written on one line.

Params and results are objects, ids are strings or integers, and batches do not exist (rule R20). What an envelope holds
beyond the members that JSON-RPC names is kept and written again. Nothing in here knows a method, so nothing knows
where a token may be: `repr` shows which message it is and nothing of what it carries (rule Q11b).

Spec: JSON-RPC 2.0; MCP 2025-11-25, Base protocol. Rules W6, R20.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final, TypeAlias, TypeGuard, assert_never, final

import attrs

from mcpstreams_sansio.errors import INVALID_PARAMS, INVALID_REQUEST, LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.ids import Digest, RequestId
from mcpstreams_sansio.wire.strict_json import (
    JSONObject,
    JSONValue,
    decode_json,
    decode_refused_json,
    encode_json,
    is_text,
)

__all__ = [
    "MAX_ID_LENGTH",
    "ErrorResponse",
    "JSONObject",
    "JSONValue",
    "Message",
    "Notification",
    "Request",
    "Response",
    "decode_message",
    "digest_of",
    "encode_message",
    "error_response",
    "is_request_id",
]


@final
@attrs.frozen
class Request:
    """Asks the peer for an answer.

    Wire: `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {...}}`
    """

    id: RequestId
    """Names the request until it is answered. `1` and `"1"` are two ids (rule W6)."""
    method: str
    """What to do."""
    params: JSONObject | None = attrs.field(default=None, repr=False)
    """Arguments; `None` where the member is absent."""
    extra: JSONObject = attrs.field(factory=dict, repr=False)
    """Members of the envelope that JSON-RPC does not name."""


@final
@attrs.frozen
class Notification:
    """Tells the peer something that has no answer.

    Wire: `{"jsonrpc": "2.0", "method": "notifications/progress", "params": {...}}`
    """

    method: str
    """What happened."""
    params: JSONObject | None = attrs.field(default=None, repr=False)
    """Arguments; `None` where the member is absent."""
    extra: JSONObject = attrs.field(factory=dict, repr=False)
    """Members of the envelope that JSON-RPC does not name."""


@final
@attrs.frozen
class Response:
    """Answers a request with its result.

    Wire: `{"jsonrpc": "2.0", "id": 1, "result": {...}}`
    """

    id: RequestId
    """The id of the request that is answered."""
    result: JSONObject = attrs.field(repr=False)
    """What the request was for."""
    extra: JSONObject = attrs.field(factory=dict, repr=False)
    """Members of the envelope that JSON-RPC does not name."""


@final
@attrs.frozen
class ErrorResponse:
    """Answers a request with an error.

    Wire: `{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "...", "data": ...}}`
    """

    id: RequestId | None
    """The id of the request that is answered; `None` where it could not be read, written as `null`."""
    code: int
    """What kind of error it is: one of JSON-RPC's codes, or an application's."""
    message: str
    """What went wrong, in a sentence."""
    data: JSONValue = attrs.field(default=None, repr=False)
    """More about it; `None` where there is nothing, and then not written."""
    extra: JSONObject = attrs.field(factory=dict, repr=False)
    """Members of the envelope that JSON-RPC does not name."""
    error_extra: JSONObject = attrs.field(factory=dict, repr=False)
    """Members of the object `error` that JSON-RPC does not name."""


Message: TypeAlias = Request | Notification | Response | ErrorResponse
"""Whatever one side can say to the other."""

MAX_ID_LENGTH: Final = 1_024
"""Characters of the id of a request. Ids are kept for as long as an answer is owed, and written again with it."""

_ID: Final = f"a string of at most {MAX_ID_LENGTH} characters or an integer"

_KINDS: Final = ("method", "result", "error")
"""The members that tell what a message is: it has exactly one of them."""

_ENVELOPE: Final = frozenset({"jsonrpc", "id", "method", "result", "error"})
_ENVELOPE_WITH_PARAMS: Final = _ENVELOPE | {"params"}
_ERROR_OBJECT: Final = frozenset({"code", "message", "data"})


def is_request_id(value: object) -> TypeGuard[RequestId]:
    """Say whether a value can name a request: a string of some length, or an integer; `true` is none (rule W6)."""
    return len(value) <= MAX_ID_LENGTH if isinstance(value, str) else type(value) is int


def decode_message(data: bytes) -> Message:
    """Read one message.

    Args:
        data: One JSON text in UTF-8, without its framing.

    Raises:
        RemoteProtocolError: `error_code` is -32700 for a text that cannot be read as JSON to its end, -32602 for a
            request whose params are no object, -32600 for any other JSON that is no message, a batch among them.
            `request_id` is set where the text is meant as a request and its id can be trusted, so that its sender need
            not wait in vain. It is never set for a broken answer: nobody answers an answer.

    Spec: rules W6, R20.
    """
    try:
        return _message(decode_json(data))
    except RemoteProtocolError as error:
        error.request_id = _id_to_answer(decode_refused_json(data))
        raise


def encode_message(message: Message) -> bytes:
    """Write a message as one line of compact JSON in UTF-8, without the line's end.

    Reading the line gives an equal message, provided that the arrays in it are lists.

    Raises:
        LocalProtocolError: A member is of the wrong type, JSON cannot carry a value, or `extra` has a member in it that
            JSON-RPC names.
    """
    members: dict[str, JSONValue]
    match message:
        case Request():
            _require(is_request_id(message.id), f"the id of a request must be {_ID}")
            members = {"jsonrpc": "2.0", "id": message.id, **_call(message.method, message.params)}
            named = _ENVELOPE_WITH_PARAMS
        case Notification():
            members = {"jsonrpc": "2.0", **_call(message.method, message.params)}
            named = _ENVELOPE_WITH_PARAMS
        case Response():
            _require(is_request_id(message.id), f"the id of a response must be {_ID}")
            _require(isinstance(message.result, Mapping), "a result must be an object")
            members = {"jsonrpc": "2.0", "id": message.id, "result": message.result}
            named = _ENVELOPE
        case ErrorResponse():
            known = message.id is None or is_request_id(message.id)
            _require(known, f"the id of an error must be null, {_ID}")
            members = {"jsonrpc": "2.0", "id": message.id, "error": _error_object(message)}
            named = _ENVELOPE
        case _:
            assert_never(message)
    return encode_json(_with_extra(members, message.extra, named))


def digest_of(message: Message) -> Digest:
    """Return the SHA-256 of an encoded message: it stands for the message where nothing of it may be shown (Q11b).

    Raises:
        LocalProtocolError: The message cannot be encoded.
    """
    return Digest(hashlib.sha256(encode_message(message)).digest())


def error_response(error: RemoteProtocolError, request_id: RequestId | None) -> ErrorResponse:
    """Return the answer to something unusable; it says what was wrong and repeats no value.

    Args:
        error: What reading it raised.
        request_id: Whom to answer: `error.request_id`, or what the caller knows better.
    """
    return ErrorResponse(request_id, error.error_code, str(error))


def _message(value: JSONValue) -> Message:
    """Tell the four kinds apart. The value is ours: what is left of it after reading becomes `extra`."""
    if isinstance(value, list):
        raise RemoteProtocolError("a batch is not accepted")
    if not isinstance(value, dict):
        raise RemoteProtocolError("a message must be an object")
    if value.pop("jsonrpc", None) != "2.0":
        raise RemoteProtocolError("jsonrpc must be 2.0")
    match [kind for kind in _KINDS if kind in value]:
        case ["method"]:
            return _request_or_notification(value)
        case ["result"]:
            return _response(value)
        case ["error"]:
            return _error_response(value)
        case _:
            raise RemoteProtocolError("a message must have exactly one of method, result and error")


def _request_or_notification(members: dict[str, JSONValue]) -> Request | Notification:
    method = members.pop("method")
    if not isinstance(method, str):
        raise RemoteProtocolError("method must be a string")
    if "id" not in members:
        return Notification(method, _params(members, INVALID_REQUEST), members)
    request_id = members.pop("id")
    if not is_request_id(request_id):
        raise RemoteProtocolError(f"the id of a request must be {_ID}")
    return Request(request_id, method, _params(members, INVALID_PARAMS), members)


def _params(members: dict[str, JSONValue], error_code: int) -> JSONObject | None:
    if "params" not in members:
        return None
    params = members.pop("params")
    if not isinstance(params, dict):
        raise RemoteProtocolError("params must be an object", error_code=error_code)
    return params


def _response(members: dict[str, JSONValue]) -> Response:
    result = members.pop("result")
    if not isinstance(result, dict):
        raise RemoteProtocolError("a result must be an object")
    request_id = members.pop("id", None)
    if not is_request_id(request_id):
        raise RemoteProtocolError(f"the id of a response must be {_ID}")
    return Response(request_id, result, members)


def _error_response(members: dict[str, JSONValue]) -> ErrorResponse:
    error = members.pop("error")
    if not isinstance(error, dict):
        raise RemoteProtocolError("an error must be an object")
    code, message, data = error.pop("code", None), error.pop("message", None), error.pop("data", None)
    if type(code) is not int or not isinstance(message, str):
        raise RemoteProtocolError("an error must have an integer code and a message")
    request_id = members.pop("id", None)
    if request_id is not None and not is_request_id(request_id):
        raise RemoteProtocolError(f"the id of an error must be null, {_ID}")
    return ErrorResponse(request_id, code, message, data, members, error)


def _id_to_answer(value: JSONValue) -> RequestId | None:
    """Return the id of what was meant as a request. It can be trusted if it can be written again."""
    if not isinstance(value, dict) or "method" not in value or "result" in value or "error" in value:
        return None
    request_id = value.get("id")
    if not is_request_id(request_id) or (isinstance(request_id, str) and not is_text(request_id)):
        return None
    return request_id


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise LocalProtocolError(otherwise)


def _call(method: str, params: JSONObject | None) -> dict[str, JSONValue]:
    _require(isinstance(method, str), "method must be a string")
    if params is None:
        return {"method": method}
    _require(isinstance(params, Mapping), "params must be an object")
    return {"method": method, "params": params}


def _error_object(message: ErrorResponse) -> JSONObject:
    _require(type(message.code) is int, "the code of an error must be an integer")
    _require(isinstance(message.message, str), "the message of an error must be a string")
    members: dict[str, JSONValue] = {"code": message.code, "message": message.message}
    if message.data is not None:
        members["data"] = message.data
    return _with_extra(members, message.error_extra, _ERROR_OBJECT)


def _with_extra(members: dict[str, JSONValue], extra: JSONObject, named: frozenset[str]) -> JSONObject:
    _require(isinstance(extra, Mapping), "extra must be an object")
    _require(named.isdisjoint(extra), "extra must not have members that JSON-RPC names")
    return {**members, **extra}
