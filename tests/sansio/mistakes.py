"""Inputs with a mistake in them, anywhere: a machine takes one, or refuses it and has not moved (rule R13).

Each takes an input that is right and puts something else into one of its fields, however deep. A machine that refused
it does the same afterwards with the right one as if it had never met the wrong one.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import TypeAlias

import attrs
from hypothesis import strategies as st

from mcpstreams_sansio.client.machine import Client
from mcpstreams_sansio.client.streams import ClientStreams
from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.ids import Entropy, Secret
from mcpstreams_sansio.server.calls import Peer, StreamKind
from mcpstreams_sansio.server.inputs import Drain
from mcpstreams_sansio.server.machine import Server
from mcpstreams_sansio.server.streams import ServerStreams
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONValue, Notification, Request, Response
from mcpstreams_sansio.wire.marker import Attempt
from mcpstreams_sansio.wire.streams import ResumeInterval

Machine: TypeAlias = Server | ServerStreams | Client | ClientStreams

NOTE = Notification("notifications/message", {"data": [1]})
INTERVAL = ResumeInterval(min=1.0, max=10.0)

NO_DATA: JSONValue = object()  # type: ignore[assignment]  # the mistake itself
ANYTHING = st.sampled_from(
    [
        *(None, True, False, 0, 1, -1, 7, 10**700, 0.5, math.nan, math.inf, 1j, object(), object),
        *("", "x", "s1", "\ud800", "x" * 5_000, b"", b"x", bytearray(b"x")),
        *((), ("x",), [], [1], {}, {1: 2}, {"x": math.nan}, {"_meta": 1}, {"x": "\ud800"}),
        *(frozenset(), frozenset({-1}), frozenset({"x"}), Secret("x"), Entropy, Framing.HTTP, StreamKind.SILENT),
        *(NOTE, Request(1, "m"), Response(7, {}), ErrorResponse(7, 1, "failed", NO_DATA)),
        *(Peer(), INTERVAL, Attempt("a", 1), Drain()),
    ]
)


def paths(value: object) -> Iterator[tuple[str, ...]]:
    """Yield the way to each field of a value, however deep, and to the value itself."""
    yield ()
    kind = type(value)
    if attrs.has(kind):
        for field in attrs.fields(kind):
            yield from ((field.name, *rest) for rest in paths(getattr(value, field.name)))


def spoiled(value: object, path: tuple[str, ...], by: object) -> object:
    """Return a value with something else in one place; not even its class has a say in it."""
    if not path:
        return by
    other = copy.copy(value)
    object.__setattr__(other, path[0], spoiled(getattr(value, path[0]), path[1:], by))
    return other


@st.composite
def mistakes(draw: st.DrawFn, right: object) -> tuple[object, object]:
    """Return an input and the moment at which it comes, one of them with a mistake."""
    now = draw(st.sampled_from([0.0, 20.0, 700.0]))
    if draw(st.integers(0, 9)) == 0:
        return right, draw(st.sampled_from([-1.0, math.nan, math.inf, -math.inf, None, "now", True]))
    return spoiled(right, draw(st.sampled_from(list(paths(right)))), draw(ANYTHING)), now


def told(machine: Machine, event: object, now: object) -> tuple[object, ...]:
    """Return what is to be done about an input, in what state that leaves a machine, and when that is to be woken."""
    effects = machine.handle(event, now)  # type: ignore[arg-type]  # that is the point
    return effects, machine.snapshot(0.0), machine.next_deadline()


def check(machine: Machine, right: object, wrong: object, now: object) -> None:
    """Check that a machine takes an input, or does not move."""
    tried = machine.fork()
    before = tried.snapshot(0.0), tried.next_deadline()
    try:
        told(tried, wrong, now)
    except LocalProtocolError:
        assert (tried.snapshot(0.0), tried.next_deadline()) == before
        assert told(tried, right, 20.0) == told(machine.fork(), right, 20.0)
