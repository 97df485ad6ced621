"""Tags: how a message says which stream it belongs to and where it stands there.

A tag is put on once, before the message is encoded for good, and taken off before the application sees it. An error
response has no place for one: its receiver counts on from what it has (rule R4).

Spec: rules Q4a, R1, R4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never, final

import attrs

from mcpstreams_sansio.errors import INVALID_PARAMS, RemoteProtocolError
from mcpstreams_sansio.ids import StreamId
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject, Message, Notification, Request, Response
from mcpstreams_sansio.wire.marker import META_SEQUENCE, META_STREAM_ID
from mcpstreams_sansio.wire.meta import META, meta_of, with_meta, without_keys


@final
@attrs.frozen
class Tag:
    """Where a message stands."""

    stream_id: StreamId
    """Its stream."""
    sequence: int
    """Its position there, from 1."""


def tagged(message: Message, stream_id: StreamId, sequence: int, stream_id_key: str = META_STREAM_ID) -> Message:
    """Return a message with its tag on; an error response as it is.

    Args:
        message: A message of the stream, without keys of ours in `_meta`.
        stream_id: The stream.
        sequence: The position, from 1.
        stream_id_key: What the requester's revision calls the stream's id in `_meta`.

    Wire: `{"params": {"_meta": {"streamId": "s", "mcpstreams/seq": 3}}}`, in `result` for a response.

    Spec: rules Q4a, R4.
    """
    return _changed(message, lambda holder: with_meta(holder, {stream_id_key: stream_id, META_SEQUENCE: sequence}))


def read_tag(message: Message, stream_id_key: str = META_STREAM_ID) -> Tag | None:
    """Return a message's tag, `None` where it has none. A stream's id alone is a hint and no tag.

    Raises:
        RemoteProtocolError: -32602; there is a position, and it is none, or it has no stream.

    Spec: rules R1, R4.
    """
    what, holder = _holder(message)
    meta = meta_of(holder, what)
    if META_SEQUENCE not in meta:
        return None
    sequence = meta[META_SEQUENCE]
    if type(sequence) is not int or sequence < 1:
        raise RemoteProtocolError(f"{what}.{META}.{META_SEQUENCE}: not a position", error_code=INVALID_PARAMS)
    stream_id = meta.get(stream_id_key)
    if not isinstance(stream_id, str) or not stream_id:
        raise RemoteProtocolError(f"{what}.{META}.{stream_id_key}: not a stream's id", error_code=INVALID_PARAMS)
    return Tag(StreamId(stream_id), sequence)


def untagged(message: Message, stream_id_key: str = META_STREAM_ID) -> Message:
    """Return a message without its tag, as the peer's application sent it; one without a tag as it is.

    A `_meta` and params that held only the tag go with it: nothing and an empty object mean the same there.

    Raises:
        RemoteProtocolError: -32602; `_meta` is no object.

    Spec: rule R4.
    """
    what, holder = _holder(message)
    if META_SEQUENCE not in meta_of(holder, what):
        return message
    return _changed(message, lambda holder: without_keys(holder, frozenset({stream_id_key, META_SEQUENCE})))


def stream_hint(message: Message) -> StreamId | None:
    """Return the stream that a message says it belongs to, tagged or not; `None` where it says nothing usable.

    It associates and never authorises: whoever sent it holds no token by that.

    Raises:
        RemoteProtocolError: -32602; `_meta` is no object.

    Spec: rules W8, Q4f.
    """
    what, holder = _holder(message)
    hint = meta_of(holder, what).get(META_STREAM_ID)
    return StreamId(hint) if isinstance(hint, str) and hint else None


def _holder(message: Message) -> tuple[str, JSONObject | None]:
    """Return what of a message has a `_meta`, and its name on the wire."""
    match message:
        case Request(params=params) | Notification(params=params):
            return "params", params
        case Response(result=result):
            return "result", result
        case ErrorResponse():
            return "error", None
        case _:
            assert_never(message)


def _changed(message: Message, change: Callable[[JSONObject | None], JSONObject | None]) -> Message:
    match message:
        case Request():
            return Request(message.id, message.method, change(message.params), message.extra)
        case Notification():
            return Notification(message.method, change(message.params), message.extra)
        case Response():
            return Response(message.id, change(message.result) or {}, message.extra)
        case ErrorResponse():
            return message
        case _:
            assert_never(message)
