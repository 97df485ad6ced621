"""What is written beside an arrow: what a message is, where it stands, what it asks for. Never a secret."""

from __future__ import annotations

import re
from typing import Final, assert_never

from mcpstreams_sansio.client.effects import CallFinished
from mcpstreams_sansio.testing.conversation import METHOD, call_name, called_number
from mcpstreams_sansio.testing.frames import Frame, read_event, read_plain
from mcpstreams_sansio.testing.wires import Chunk, Close, Down, Head, Post
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Message, Notification, Request, Response, decode_message
from mcpstreams_sansio.wire.marker import MARKER_ACK, MARKER_CANCEL, read_ack_notification
from mcpstreams_sansio.wire.meta import read_after, read_attempt
from mcpstreams_sansio.wire.methods import CANCELLED
from mcpstreams_sansio.wire.streams import STREAM_POLL, STREAM_RESUME, read_ref
from mcpstreams_sansio.wire.tags import read_tag

_NUMBERED: Final = re.compile(r"\b(stream|scope|ask)-0*([1-9][0-9]*)")
_SHORT: Final = {"stream": "s", "scope": "session ", "ask": "q"}
_ASK: Final = "ask-"
_PREFIXES: Final = ("notifications/", "stream/", "mcpstreams/")
_NAMES_A_STREAM: Final = frozenset({STREAM_RESUME, STREAM_POLL, MARKER_CANCEL})


def short(text: str) -> str:
    """Return a text with the names of a world made short: `s1` is a stream, `s1_2` an event id, `q1` a question."""
    return _NUMBERED.sub(lambda match: _SHORT[match[1]] + match[2], text)


def seconds(value: float) -> str:
    """Return a time."""
    return f"{value:.6g} s"


def post_caption(post: Post) -> str:
    """Return what something is that a client sends."""
    cursor = [] if post.cursor is None else [f"cursor {post.cursor}"]
    said = ["GET"] if post.message is None else [message_caption(decode_message(post.message))]
    return short(", ".join(said + cursor))


def down_caption(item: Down) -> str:
    """Return what something is that a server sends."""
    match item:
        case Head(status=status, retry_after=None):
            return f"HTTP {status}"
        case Head(status=status, retry_after=pause):
            return f"HTTP {status}, retry after {pause:g} s"
        case Chunk(data=data):
            return chunk_caption(data)
        case Close():
            return "closed"
        case unknown:
            assert_never(unknown)


def chunk_caption(data: bytes) -> str:
    """Return what a chunk is: JSON begins with a brace, and no line of an event does."""
    return frame_caption(read_plain(data) if data.startswith(b"{") else read_event(data))


def frame_caption(frame: Frame) -> str:
    """Return what a message or an event is."""
    if frame.message is None:
        pause = [] if frame.retry_ms is None else [f"retry {frame.retry_ms} ms"]
        position = [] if frame.event_id is None else [f"id {frame.event_id}"]
        return short(", ".join(position + pause) or "comment")
    said = message_caption(frame.message)
    if frame.sequence is not None:
        return said
    about = "" if frame.stream_id is None else f" {frame.stream_id}"
    where = "" if frame.event_id is None else f", id {frame.event_id}"
    return short(said + about + where)


def message_caption(message: Message) -> str:
    """Return what a message is, after its place in its stream if it says so."""
    tag = read_tag(message)
    place = "" if tag is None else f"{tag.stream_id}#{tag.sequence} "
    return short(place + _said(message))


def _said(message: Message) -> str:
    match message:
        case Notification():
            return _told(message)
        case Request():
            return _asked(message)
        case Response() | ErrorResponse():
            return _answered(message)
        case unknown:
            assert_never(unknown)


def _told(message: Notification) -> str:
    if message.method == MARKER_ACK:
        acks = read_ack_notification(message.params)
        return "ack " + ", ".join(f"{ack.stream_id} through {ack.through}" for ack in acks)
    match message.params:
        case {"progress": int(number)}:
            return f"{name_of(message.method)} {number}"
        case _:
            return name_of(message.method)


def _answered(message: Response | ErrorResponse) -> str:
    match message:
        case Response(result={"status": str(status)}):
            return f"poll result: {status}"
        case Response(id=str(name)) if name.startswith(_ASK):
            return f"answer to {name}"
        case Response():
            return "result"
        case ErrorResponse(data={"reason": str(reason)}):
            return f"error: {reason}"
        case ErrorResponse(code=code):
            return f"error {code}"
        case unknown:
            assert_never(unknown)


def _asked(request: Request) -> str:
    words = [name_of(request.method)]
    if isinstance(request.id, str) and request.id.startswith(_ASK):
        words.append(request.id)
    if request.method == METHOD:
        words.append(call_name(called_number(request.params)))
    if request.method in _NAMES_A_STREAM:
        words.append(read_ref(request.params).stream_id)
    after = read_after(request.params)
    if after is not None:
        words.append(f"after {after}")
    attempt = read_attempt(request.params)
    if attempt is not None and attempt.number > 1:
        words.append(f"(attempt {attempt.number})")
    return " ".join(words)


def name_of(method: str) -> str:
    """Return the name of a method without what most of them begin with."""
    if method == CANCELLED:
        return "cancelled"
    for prefix in _PREFIXES:
        method = method.removeprefix(prefix)
    return method


def end_caption(end: CallFinished) -> str:
    """Return what came of a call."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(end.outcome).__name__).lower()
    why = [getattr(end.outcome, name).value for name in ("reason", "doubt", "why") if hasattr(end.outcome, name)]
    return ": ".join([words, *why])
