"""A snapshot tells apart whatever will behave differently: each field is in it, or it is said why it need not be."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable

import attrs
import pytest

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.http.server import HTTPServer
from mcpstreams_sansio.http.sessions import Session, Sessions
from mcpstreams_sansio.ids import Address, ConnectionId, Principal
from mcpstreams_sansio.peer.server import ServerPeer
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.gate import Gate
from mcpstreams_sansio.server.guesses import WrongTokens
from mcpstreams_sansio.server.inputs import ConnectionOpened, Scope
from mcpstreams_sansio.server.keys import Keys
from mcpstreams_sansio.server.log import StreamLog
from mcpstreams_sansio.server.outbox import Connection
from mcpstreams_sansio.server.registry import Registry
from mcpstreams_sansio.server.stream import Attachment, Stream
from mcpstreams_sansio.server.streams import ServerStreams
from tests.sansio.server.conversation import DRAFT, MARKER, Conversation

COUNTED = "it is counted from what is in the snapshot"
SHARED = "it is the same for as long as the machine lives"
NAMES = "it only makes the names of what is new differ"
DURING = "it is empty between two inputs"

LEFT_OUT: dict[type, dict[str, str]] = {
    Registry: {
        "highest_connection": "a driver gives higher ids than every one before, whichever that was (rule R13)",
        "asks": COUNTED,
        "bound": COUNTED,
        "quotas": COUNTED,
        "works": COUNTED,
        "alive": COUNTED,
        "total_bytes": COUNTED,
        "yielding": "of a stream that is not in it nothing may go, whether it is looked at or not",
        "opened": NAMES,
        "now": "times are relative to it",
        "effects": DURING,
        "prepared": DURING,
        "touched": DURING,
    },
    Stream: {"number": "the registry has them in that order"},
    Attachment: {},
    Connection: {
        "last_write": "the registry adds it where a keep-alive will look at it",
        "reply_bytes": COUNTED,
        "_pings": NAMES,
    },
    StreamLog: {"total": COUNTED, "size": COUNTED, "unsent_size": COUNTED, "unconfirmed_size": COUNTED},
    Gate: {},
    Keys: {"config": SHARED, "_counts": COUNTED, "_cancelled_by": COUNTED},
    WrongTokens: {"config": SHARED},
    ServerPeer: {
        "identity": SHARED,
        "config": SHARED,
        "policies": SHARED,
        "messages": NAMES,
        "_message": DURING,
    },
    HTTPServer: {"config": SHARED, "identity": SHARED, "streams": SHARED, "policies": SHARED},
    Session: {},
    Sessions: {
        "config": SHARED,
        "_owned": "it has the order of the moments at which the sessions became idle",
        "_count": NAMES,
    },
}


def attributes_in(function: Callable[..., object]) -> set[str]:
    """Return the names of all attributes that a function looks at."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def looked_at(kind: type) -> set[str]:
    """Return what the snapshot of a class looks at, by itself or through a method of its own."""
    holder = Stream if kind is Attachment else kind
    names = attributes_in(inspect.getattr_static(holder, "snapshot"))
    for name in tuple(names):
        method = inspect.getattr_static(holder, name, None)
        if inspect.isfunction(method) and name != "snapshot":
            names |= attributes_in(method)
    return names


@pytest.mark.parametrize("kind", LEFT_OUT, ids=lambda kind: kind.__name__)
def test_every_field_is_in_the_snapshot_or_has_a_reason_not_to_be(kind: type[attrs.AttrsInstance]) -> None:
    names = {field.name for field in attrs.fields(kind)}
    assert names - looked_at(kind) == LEFT_OUT[kind].keys()


HERE = ConnectionId(1)
OPENED = ConnectionOpened(HERE, Framing.LINES, Scope("a"))


@pytest.mark.parametrize(
    "other",
    [
        attrs.evolve(OPENED, framing=Framing.MESSAGES),
        attrs.evolve(OPENED, scope=Scope("b")),
        attrs.evolve(OPENED, principal=Principal("ann")),
        attrs.evolve(OPENED, primes=True),
        attrs.evolve(OPENED, address=Address("192.0.2.1")),
    ],
)
def test_connections_that_differ_in_anything_are_told_apart(other: ConnectionOpened) -> None:
    machines = [ServerStreams(), ServerStreams()]
    for machine, opened in zip(machines, (OPENED, other), strict=True):
        machine.handle(opened, 0.0)
    assert machines[0].snapshot(0.0) != machines[1].snapshot(0.0)


def test_a_peer_that_was_asked_in_vain_is_told_apart() -> None:
    talks = [Conversation(), Conversation()]
    for talk, alive in zip(talks, (True, False), strict=True):
        line = talk.connect()
        line.alive = alive
        line.call()
        talk.wait(50)
        line.heard()
    assert talks[0].machine.snapshot(50.0) != talks[1].machine.snapshot(50.0)


@pytest.mark.parametrize("other", [{"request_id": 8}, {"peer": MARKER}], ids=["request id", "peer"])
def test_streams_that_differ_in_whose_they_are_are_told_apart(other: dict[str, object]) -> None:
    talks = [Conversation(), Conversation()]
    for talk, said in zip(talks, ({}, other), strict=True):
        talk.connect().call(**{"request_id": 7, "peer": DRAFT, **said})  # type: ignore[arg-type]  # as named arguments
    assert talks[0].machine.snapshot(0.0) != talks[1].machine.snapshot(0.0)


def test_which_tombstone_is_forgotten_first_is_told_apart() -> None:
    talks = [Conversation(StreamsConfig(max_tombstones=2)) for _ in range(2)]
    for talk, order in zip(talks, ((1, 2), (2, 1)), strict=True):
        line = talk.connect()
        line.call(1, "s1")
        line.call(2, "s2")
        for request_id in order:
            line.cancelled(request_id)
    assert talks[0].machine.snapshot(0.0) != talks[1].machine.snapshot(0.0)
