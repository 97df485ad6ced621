"""SSE event ids: which stream, and up to where.

An event id is the cursor that a stock HTTP client keeps and gives back. It names the stream, so that it can be resumed
without any other knowledge, and the position of its event (rule R1).

Wire: the stream id, `_`, the position in decimal: `s1_42`. What is not visible ASCII in a stream id, and `%`, is
written as `%` and two upper-case hexadecimal digits per byte of UTF-8. The last `_` separates, so stream ids may hold
others.

Spec: rules H23, R1, Q12; case C2.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, unquote_to_bytes

from mcpstreams_sansio.errors import INVALID_PARAMS, LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.ids import StreamId

MAX_EVENT_ID_LENGTH: Final = 4096
"""Characters of an event id: it must fit into a header beside everything else."""

MAX_SEQUENCE: Final = 2**53 - 1
"""The highest position: the highest integer that every reader of JSON keeps exact."""

_HEADER_VALUE: Final = re.compile(r"(?! )[^\x00-\x1f\x7f]*(?<! )")
_SAFE: Final = "!\"#$&'()*+,/:;<=>?@[\\]^`{|}"  # visible ASCII but `%`, besides what `quote` never touches
_WRITTEN_AS_IT_IS: Final = re.compile(r"[!-$&-~]+")
_EVENT_ID: Final = re.compile(r"([!-~]+)_(0|[1-9][0-9]{0,15})")


def event_id(stream_id: StreamId, sequence: int) -> str:
    """Return the id of the event at a position of a stream.

    Args:
        stream_id: Any text that UTF-8 can carry, but not empty.
        sequence: 0 (before the first entry) to `MAX_SEQUENCE`.

    Returns:
        Visible ASCII, as it may stand in the header `Last-Event-ID`. Two positions never share an id.

    Raises:
        LocalProtocolError: The stream has no id, or one that cannot be written within `MAX_EVENT_ID_LENGTH`, or the
            position is out of range.
    """
    if not stream_id:
        raise LocalProtocolError("a stream id must not be empty")
    if not 0 <= sequence <= MAX_SEQUENCE:
        raise LocalProtocolError("a position is not between 0 and MAX_SEQUENCE")
    text = f"{_written(stream_id)}_{sequence}"
    if len(text) > MAX_EVENT_ID_LENGTH:
        raise LocalProtocolError("a stream id is too long for an event id")
    return text


def parse_event_id(text: str) -> tuple[StreamId, int]:
    """Read an event id that a peer gave back.

    Args:
        text: The value of `Last-Event-ID`, as it came.

    Returns:
        The stream and the position. Each position has one spelling: `event_id` of them gives `text` again.

    Raises:
        RemoteProtocolError: -32602 (rule Q12). No id of this form, whoever made it.
    """
    if len(text) > MAX_EVENT_ID_LENGTH:
        raise RemoteProtocolError("an event id is too long", error_code=INVALID_PARAMS)
    parts = _EVENT_ID.fullmatch(text)
    if parts is None:
        raise _malformed()
    stream_id = unquote_to_bytes(parts[1]).decode(errors="replace")
    sequence = int(parts[2])
    if sequence > MAX_SEQUENCE or _written(stream_id) != parts[1]:  # another spelling, or bytes that are no text
        raise _malformed()
    return StreamId(stream_id), sequence


def fits_header(event_id: str) -> bool:
    """Say whether an event id, whoever made it, can stand in `Last-Event-ID` byte for byte (case C8)."""
    return len(event_id) <= MAX_EVENT_ID_LENGTH and _HEADER_VALUE.fullmatch(event_id) is not None


def _written(stream_id: str) -> str:
    if _WRITTEN_AS_IT_IS.fullmatch(stream_id):
        return stream_id
    try:
        return quote(stream_id, safe=_SAFE)
    except UnicodeEncodeError:
        raise LocalProtocolError("a stream id must be text that UTF-8 can carry") from None


def _malformed() -> RemoteProtocolError:
    return RemoteProtocolError("an event id is malformed", error_code=INVALID_PARAMS)
