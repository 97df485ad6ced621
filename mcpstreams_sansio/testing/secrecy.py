"""Where the tokens of streams stand: where they have to, and nowhere else (rules R3, P38, Q11b)."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Final

import attrs

from mcpstreams_sansio.client.effects import (
    CallDetached,
    CallFinished,
    ClientStreamsEffect,
    SaveDue,
    SendOnPath,
)
from mcpstreams_sansio.connections import Write
from mcpstreams_sansio.ids import Secret, StreamId
from mcpstreams_sansio.server.effects import StreamsEffect
from mcpstreams_sansio.testing.frames import Frame
from mcpstreams_sansio.testing.properties import Violation
from mcpstreams_sansio.testing.state import State

_TOKEN: Final = re.compile("token-[0-9]{5}")
_MARK: Final = b"token-"
_NONE: Final = frozenset[str]()


def check_written(state: State, data: bytes, frame: Frame) -> None:
    """Check what the server writes: `create` holds one token, which is its own stream's, and nothing else holds one.

    Raises:
        Violation: That is not so.
    """
    if _MARK not in data:
        return
    if not frame.is_create or frame.stream_id is None:
        raise Violation("no token but in create", "a token is in a message that is no create")
    if not set(_TOKEN.findall(data.decode())) <= tokens_of(state, frame.stream_id) or data.count(_MARK) != 1:
        raise Violation("no token but in create", f"the create of {frame.stream_id} holds another token than its own")


def tokens_of(state: State, stream_id: StreamId) -> set[str]:
    """Return the tokens that a stream may have: that of its call, and those of the call sent again (rule R3)."""
    number = state.arrived[stream_id].number
    return {state.tokens[each].reveal() for each, work in state.arrived.items() if work.number == number}


def check_wanted(effect: StreamsEffect) -> None:
    """Check what the server wants done besides: no record holds a token, and no application is given one (rule R3).

    Raises:
        Violation: That is not so.
    """
    if not isinstance(effect, Write) and tokens_in(effect):
        raise Violation("no token but in create", f"a token is in {type(effect).__name__}")


def check_wanted_by_client(effect: ClientStreamsEffect) -> None:
    """Check what a client wants done: a token goes to the server, in a message, and to where its call is kept.

    Raises:
        Violation: It goes elsewhere.
    """
    match effect:
        case SendOnPath(last_event_id=cursor):
            found = tokens_in(cursor)
        case CallFinished(outcome=outcome):
            found = tokens_in(outcome)
        case SaveDue() | CallDetached():
            found = _NONE
        case _:
            found = tokens_in(effect)
    if found:
        raise Violation("no token but in create", f"a token is in {type(effect).__name__}")


def tokens_in(value: object) -> frozenset[str]:
    """Return the tokens that anything holds, as text, as bytes or as secrets, however deep."""
    try:
        return _remembered(value)
    except TypeError:  # JSON in it keeps it from hashing
        return _search(value)


@functools.lru_cache(65_536)
def _remembered(value: object) -> frozenset[str]:
    return _search(value)


def _search(value: object) -> frozenset[str]:
    match value:
        case Secret():
            return _search(value.reveal())
        case bytes():
            return _search(value.decode(errors="replace"))
        case str():
            return frozenset(_TOKEN.findall(value))
        case Mapping():
            return _NONE.union(*map(_search, (*value.keys(), *value.values())))
        case list() | tuple() | frozenset():
            return _NONE.union(*map(_search, value))
        case _:
            kind = type(value)
            parts = attrs.fields(kind) if attrs.has(kind) else ()
            return _NONE.union(*(_search(getattr(value, part.name)) for part in parts))
