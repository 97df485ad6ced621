"""The draft's resumable streams as they stand on the wire: four methods, their params and their results.

What the types hold has been checked; what they do not know of a peer's message is in `extra` and is written again.
This module must never know what a stream does, nor anything of the extension in `marker.py`.

Spec: MCP pull request 899, schema and `basic/streams`. Rules W1-W9, D1.
"""

from __future__ import annotations

import math
from typing import Final, Literal, TypeAlias, TypeVar, final

import attrs

from mcpstreams_sansio.errors import INVALID_PARAMS, LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.ids import RequestId, Secret, StreamId
from mcpstreams_sansio.wire.converter import Seconds, structure, unstructure
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Notification, Request, Response

STREAM_CREATE: Final = "notifications/stream/create"
"""Server to client: from now on this work has a stream (rules P5, P11)."""

STREAM_END: Final = "notifications/stream/end"
"""Server to client: the last message of a stream (rules P35, P36)."""

STREAM_POLL: Final = "stream/poll"
"""Client to server: what would a resume bring? It delivers nothing (rule P27)."""

STREAM_RESUME: Final = "stream/resume"
"""Client to server: deliver here what is undelivered (rules P15, P16)."""

PollStatus: TypeAlias = Literal["live", "completed"]
"""All that a poll may say (rule P30)."""

CreateShape: TypeAlias = Literal["wrapped", "flat"]
"""Whether `create` has its fields in `params.stream` (the draft's example) or in `params` (its schema); rule D1."""

_V = TypeVar("_V")


def _check_seconds(_: ResumeInterval, field: attrs.Attribute[float | None], value: float | None) -> None:
    if value is not None and not 0 <= value < math.inf:
        raise LocalProtocolError(f"{field.name} of a resume interval is a finite number of at least 0")


@final
@attrs.frozen
class ResumeInterval:
    """How long a client should, and may, wait before it comes back for a stream.

    Wire: `{"min": 5, "max": 3600}`

    Spec: rules W4, W5.
    """

    min: Seconds | None = attrs.field(default=None, validator=_check_seconds)
    """Seconds that it should wait before it resumes or polls (rule P26)."""
    max: Seconds | None = attrs.field(default=None, validator=_check_seconds)
    """Seconds after which the stream may be abandoned; 0 is not resumable, absent is no promise (rules P32, Q7c)."""
    extra: JSONObject = attrs.field(factory=dict, hash=False, repr=False)
    """Members that the draft does not name."""


@final
@attrs.frozen
class StreamCreate:
    """Params of `notifications/stream/create`: a stream, and what brings it back.

    Wire: `{"stream": {"streamId": "s", "resumeToken": "t", "requestId": 7, "resumeInterval": {"min": 1, "max": 600}}}`,
    or the same without the wrapper.

    Spec: rules W1-W4, D1.
    """

    stream_id: StreamId
    """Names the stream."""
    resume_token: Secret
    """Opens the stream; opaque to the client, which hands it back as it came (rule W2)."""
    request_id: RequestId | None = None
    """The request that caused the stream. A stream may have none (rule W3)."""
    resume_interval: ResumeInterval | None = None
    """When to come back."""
    meta: JSONObject | None = attrs.field(default=None, hash=False, repr=False)
    """`_meta` of the message; it stands in `params` in either shape."""
    extra: JSONObject = attrs.field(factory=dict, hash=False, repr=False)
    """Members that the draft does not name."""


@final
@attrs.frozen
class StreamEnd:
    """Params of `notifications/stream/end`: nothing of this stream follows.

    Wire: `{"streamId": "s"}`

    Spec: rules P35-P37.
    """

    stream_id: StreamId
    """A stream that was created before."""
    meta: JSONObject | None = attrs.field(default=None, hash=False, repr=False)
    """`_meta` of the message."""
    extra: JSONObject = attrs.field(factory=dict, hash=False, repr=False)
    """Members that the draft does not name."""


@final
@attrs.frozen
class StreamRef:
    """Params of `stream/resume` and `stream/poll`: which stream, and the token that opens it.

    Wire: `{"streamId": "s", "resumeToken": "t"}`

    Spec: rules P15, P27.
    """

    stream_id: StreamId
    """The stream that is meant."""
    resume_token: Secret
    """Its token, as `create` gave it."""
    meta: JSONObject | None = attrs.field(default=None, hash=False, repr=False)
    """`_meta` of the request."""
    extra: JSONObject = attrs.field(factory=dict, hash=False, repr=False)
    """Members that the draft does not name."""


@final
@attrs.frozen
class PollResult:
    """Result of `stream/poll`: how a stream stands, without any of its messages.

    Wire: `{"streamId": "s", "status": "live", "pendingMessages": true, "hasRequest": false, "hasError": false}`

    Spec: rules P30, P31, Q8.
    """

    stream_id: StreamId
    """The stream that was asked about."""
    status: PollStatus
    """`completed` once the response is produced, delivered or not (rule Q8a)."""
    pending_messages: bool
    """A resume would deliver something besides `end` (rule Q8b)."""
    has_request: bool
    """A request of the server waits for its answer (rule Q8c)."""
    has_error: bool
    """The response that waits reports an error (rule Q8c)."""
    meta: JSONObject | None = attrs.field(default=None, hash=False, repr=False)
    """`_meta` of the result."""
    extra: JSONObject = attrs.field(factory=dict, hash=False, repr=False)
    """Members that the draft does not name."""


@final
@attrs.frozen
class _WrappedCreate:
    """The wrapped shape of `create`, with what of the flat one may stand beside the wrapper."""

    stream: StreamCreate
    stream_id: StreamId | None = None
    resume_token: Secret | None = None
    request_id: RequestId | None = None
    resume_interval: ResumeInterval | None = None
    meta: JSONObject | None = None
    extra: JSONObject = attrs.field(factory=dict)


def read_create(params: JSONObject | None) -> StreamCreate:
    """Read the params of `notifications/stream/create` in either shape.

    Where `stream` is present it must be complete. A field that stands beside it as well must say the same there;
    `_meta` and unknown members of the two places are put together.

    Raises:
        RemoteProtocolError: -32602; the text names the fields that are wrong, or that disagree.

    Spec: rules D1, Q1, T26.
    """
    if params is None or "stream" not in params:
        return structure(StreamCreate, params, "params")
    outside = structure(_WrappedCreate, params, "params")
    inside = outside.stream
    return StreamCreate(
        stream_id=_agreed("streamId", inside.stream_id, outside.stream_id),
        resume_token=_agreed("resumeToken", inside.resume_token, outside.resume_token),
        request_id=_agreed("requestId", inside.request_id, outside.request_id),
        resume_interval=_agreed("resumeInterval", inside.resume_interval, outside.resume_interval),
        # `_meta` belongs to the message, so the outer one decides where both have a key.
        meta={**inside.meta, **(outside.meta or {})} if inside.meta is not None else outside.meta,
        extra={**outside.extra, **inside.extra},
    )


def _agreed(name: str, inside: _V, outside: _V | None) -> _V:
    if outside is None or outside == inside:
        return inside
    if inside is None:
        return outside
    raise RemoteProtocolError(f"params.{name}: not what params.stream.{name} says", error_code=INVALID_PARAMS)


def create_notification(create: StreamCreate, shape: CreateShape = "wrapped") -> Notification:
    """Return the message that announces a stream.

    Its params hold the token in clear: it is not for logs (rule R3).

    Spec: rules P5, D1.
    """
    fields = unstructure(create)
    if shape == "flat":
        return Notification(STREAM_CREATE, fields)
    meta = {"_meta": fields.pop("_meta")} if "_meta" in fields else {}
    return Notification(STREAM_CREATE, {"stream": fields, **meta})


def read_end(params: JSONObject | None) -> StreamEnd:
    """Read the params of `notifications/stream/end`.

    Raises:
        RemoteProtocolError: -32602; the text names the fields that are wrong.
    """
    return structure(StreamEnd, params, "params")


def end_notification(end: StreamEnd) -> Notification:
    """Return the last message of a stream (rule P35)."""
    return Notification(STREAM_END, unstructure(end))


def read_ref(params: JSONObject | None) -> StreamRef:
    """Read the params of a request that names a stream by id and token: `stream/resume`, `stream/poll`.

    They are the same whether `stream/resume` is a request or, as in the draft's example, has no id (rules W7, D2).

    Raises:
        RemoteProtocolError: -32602; the text names the fields that are wrong.
    """
    return structure(StreamRef, params, "params")


def resume_request(request_id: RequestId, ref: StreamRef) -> Request:
    """Return the request that attaches a stream to the connection it is sent on (rule P15)."""
    return Request(request_id, STREAM_RESUME, unstructure(ref))


def poll_request(request_id: RequestId, ref: StreamRef) -> Request:
    """Return the request that asks how a stream stands (rule P27)."""
    return Request(request_id, STREAM_POLL, unstructure(ref))


def read_poll_result(result: JSONObject) -> PollResult:
    """Read the result of `stream/poll`.

    Raises:
        RemoteProtocolError: -32602; the text names the fields that are wrong. A status that the draft has given up
            again, such as "abandoned", is one of them (rule W9).
    """
    return structure(PollResult, result, "result")


def poll_response(request_id: RequestId, result: PollResult) -> Response:
    """Return the answer to `stream/poll` (rule P30)."""
    return Response(request_id, unstructure(result))
