"""What happened, in words: for transcripts, which show no secret, and for the goals of a search."""

from __future__ import annotations

import enum
import re
from typing import Final, assert_never

import attrs

from mcpstreams_sansio.connections import Write
from mcpstreams_sansio.testing.frames import Frame, read_event, read_message
from mcpstreams_sansio.testing.names import FIRST_CONNECTION
from mcpstreams_sansio.testing.state import Happening, State
from mcpstreams_sansio.testing.wires import Chunk, Close, Head, InFlight, Post
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Message, Notification, Request, Response
from mcpstreams_sansio.wire.marker import Attempt
from mcpstreams_sansio.wire.tags import read_tag

_UNSAID: Final = frozenset({"resume_token", "fresh_token", "key", "digest", "size"})
"""Fields that are secret, or say nothing that a reader of a transcript wants to know."""
_CHOICES: Final = ("reason", "recovery", "failure", "body", "outcome", "why", "doubt")
"""Fields that tell one goal from another."""
_SHAPES: Final[dict[type, tuple[str, tuple[str, ...]]]] = {}
_WORD: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_REASON: Final = re.compile(rb'"reason":"([a-z_]+)"')


def narrate(state: State) -> list[str]:
    """Say what followed from the last action, one line each."""
    lines = []
    for role, happening in state.happened:
        lines += [f"{role.value} {text}" for text in told(happening, state)]
    return lines


def goals_of(state: State) -> set[str]:
    """Name what the last action led to, without names and numbers."""
    goals = set()
    for role, happening in state.happened:
        words, choices = _shape(happening)
        said = (getattr(happening, name) for name in choices)
        goals.add(" ".join([role.value, words, *(_choice(each) for each in said if each is not None)]))
        if isinstance(happening, Write):
            found = (_REASON.search(data) for data in happening.chunks)
            goals.update(f"refused: {match[1].decode()}" for match in found if match)
    goals.update(f"lost: {_lost(item)}" for item in state.lost)
    return goals


def _lost(item: InFlight) -> str:
    """Return what was on its way, in a word or two."""
    match item:
        case Head() | Close():
            return type(item).__name__.lower()
        case Post(message=message):
            return "cursor" if message is None else _kind(read_message(message), reply="answer")
        case Chunk(data=data):
            said = _frame(data).message
            return "position" if said is None else _kind(said, reply="response")
        case unknown:
            assert_never(unknown)


def _kind(message: Message, reply: str) -> str:
    return reply if isinstance(message, Response | ErrorResponse) else message.method


def _shape(happening: Happening) -> tuple[str, tuple[str, ...]]:
    """Return a happening's name in words, and its fields that hold a choice or an outcome."""
    kind: type = type(happening)
    shape = _SHAPES.get(kind)
    if shape is None:
        words = _WORD.sub(" ", kind.__name__).lower()
        fields = tuple(field.name for field in attrs.fields(kind) if field.name in _CHOICES)
        shape = _SHAPES[kind] = (words, fields)
    return shape


def _choice(value: object) -> str:
    """Return what was chosen, as words; of an outcome, with its reason."""
    if isinstance(value, enum.Enum):
        return str(value.value)
    inner = (getattr(value, name, None) for name in _CHOICES)
    return " ".join([type(value).__name__, *(_choice(each) for each in inner if isinstance(each, enum.Enum))])


def told(happening: Happening, state: State) -> list[str]:
    """Return the lines of one happening: a write has one for each chunk."""
    words, _ = _shape(happening)
    if isinstance(happening, Write):
        where = state.connection_called(happening.connection_id)
        return [f"{words} {where}: {_content(data)}" for data in happening.chunks]
    names = [field.name for field in attrs.fields(type(happening)) if field.name not in _UNSAID]
    said = [_detail(name, getattr(happening, name), state) for name in names]
    return [" ".join(part for part in (words, *said) if part)]


def _detail(name: str, value: object, state: State) -> str:
    """Return one field of a happening as text; empty where there is nothing to say."""
    match value:
        case int() | float():
            return _number(name, value, state)
        case str():
            return value
        case enum.Enum():
            return str(value.value)
        case Request() | Notification() | Response() | ErrorResponse():
            return described(value)
        case Attempt():
            return f"attempt {value}"
        case _:
            return _choice(value) if name == "outcome" else ""


def _number(name: str, value: float, state: State) -> str:
    """Return a number with what it is the number of; the number of a connection is its name."""
    if isinstance(value, bool):
        return ""
    if value >= FIRST_CONNECTION:
        return state.connection_called(int(value))
    return f"{name.removesuffix('_id').replace('_', ' ')} {value}"


def described(message: Message) -> str:
    """Return what a message is, in a few words and without a secret."""
    tag = read_tag(message)
    where = "" if tag is None else f" {tag.stream_id}#{tag.sequence}"
    match message:
        case Request(method=method) | Notification(method=method):
            return method + where
        case Response():
            return "result" + where
        case ErrorResponse(code=code, data={"reason": str(reason)}):
            return f"error {code} {reason}"
        case ErrorResponse(code=code):
            return f"error {code}"
        case unknown:
            assert_never(unknown)


def _frame(data: bytes) -> Frame:
    """Return what a chunk is: JSON begins with a brace, and no line of an event does."""
    return Frame(read_message(data)) if data.startswith(b"{") else read_event(data)


def _content(data: bytes) -> str:
    """Return what a chunk is, in words."""
    frame = _frame(data)
    if frame.message is not None:
        return described(frame.message)
    if frame.event_id is not None:
        return f"position {frame.event_id}"
    return "nothing" if frame.retry_ms is None else f"retry {frame.retry_ms}"
