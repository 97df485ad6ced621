"""Every input in every state of the link, and every other one after it: what its table rules out does not come.

Any bytes may come on any connection, that of an attempt long ago included; and what the table allows is met, or this
would prove nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import pytest

from mcpstreams_sansio.client import link
from mcpstreams_sansio.client.inputs import (
    CancelCall,
    CloseClient,
    Connected,
    ConnectFailed,
    DetachCall,
    MakeCall,
    Notify,
    OpenClient,
)
from mcpstreams_sansio.client.link import LINK_TABLE
from mcpstreams_sansio.client.machine import Client, ClientInput
from mcpstreams_sansio.connections import (
    BytesReceived,
    ConnectionLost,
    DeadlineReached,
    EndOfFile,
    Framing,
    Written,
)
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.http.exchange import Endpoint
from mcpstreams_sansio.http.messages import HeadReceived
from mcpstreams_sansio.ids import CallId, ConnectionId
from mcpstreams_sansio.tables import Forbidden
from mcpstreams_sansio.testing import RecordedTable
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Response, encode_message
from tests.sansio.client.conversation import INSTANCE
from tests.sansio.client.driving import ENDPOINT, EVENTS, HELLO, JSON, SEED, SESSION, Driven
from tests.sansio.moments import go_everywhere

Moment: TypeAlias = tuple[Client, float]
"""A client at some time."""

INPUTS: Final = 3
"""How many of them come, one after another."""
HANDSHAKES: Final = (1, 2)
SAID: Final = (
    *(encode_message(Response(f"{INSTANCE}-link.{number}", HELLO)) for number in HANDSHAKES),
    *(encode_message(ErrorResponse(f"{INSTANCE}-link.{number}", -32602, "no")) for number in HANDSHAKES),
    encode_message(Response(f"{INSTANCE}-link.1", {})),
    b"what is no JSON",
)
"""What a server may say to a handshake, and too late after it."""
STATUSES: Final = (202, 400, 401, 404, 500)


def reported(client: Client, path: ConnectionId, http: bool) -> Iterator[ClientInput]:
    """Yield what may be reported of a connection."""
    yield from (ConnectionLost(path), ConnectFailed(path), EndOfFile(path, SEED))
    yield from (BytesReceived(path, data if http else data + b"\n", SEED) for data in SAID)
    if http:
        yield from (HeadReceived(path, 200, (JSON, SESSION)), HeadReceived(path, 200, (EVENTS,)))
        yield from (HeadReceived(path, status, ()) for status in STATUSES)
    else:
        yield from (Connected(path), Written(path))


def what_follows(moment: Moment, http: bool) -> Iterator[Moment]:
    """Yield each moment that can come next."""
    client, now = moment
    inputs: list[tuple[ClientInput, float]] = [
        (OpenClient(), now),
        (CloseClient(), now),
        (MakeCall(CallId(9), "tools/call", None, SEED), now),
        (CancelCall(CallId(9)), now),
        (DetachCall(CallId(9)), now),
        (Notify("notifications/roots/list_changed"), now),
    ]
    newest = client._streams.connection_ids._next - 1
    for path in range(max(1, newest - 2), newest + 1):
        inputs += [(event, now) for event in reported(client, ConnectionId(path), http)]
    if (deadline := client.next_deadline()) is not None:
        inputs.append((DeadlineReached(), max(now, deadline)))
    for event, when in inputs:
        copy = client.fork()
        try:
            copy.handle(event, when)
        except LocalProtocolError:
            continue  # a driver that makes this mistake is told so
        yield copy, when


def key(moment: Moment) -> object:
    """Return what decides the future."""
    client, now = moment
    return client.snapshot(now)


def down(driven: Driven) -> None:
    """Nothing has happened yet."""


def opening(driven: Driven) -> None:
    driven.opens()


def connected(driven: Driven) -> None:
    driven.opens()
    driven.connects(1)


def up(driven: Driven) -> None:
    driven.is_up()
    driven.call()


def in_session(driven: Driven) -> None:
    driven.is_in_session()
    driven.call()
    driven.call()


def after_a_session(driven: Driven) -> None:
    """Lose the session, while an exchange of it still goes on."""
    in_session(driven)
    driven.heads(4, 404)


def closing(driven: Driven) -> None:
    up(driven)
    driven.closes()


def closing_a_session(driven: Driven) -> None:
    in_session(driven)
    driven.closes()


def failed(driven: Driven) -> None:
    driven.opens()
    driven.connects(1)
    driven.hears(Response(f"{INSTANCE}-link.1", {}))


def unauthorized(driven: Driven) -> None:
    in_session(driven)
    driven.heads(4, 401)


SITUATIONS: Final[dict[Framing | Endpoint, tuple[Callable[[Driven], None], ...]]] = {
    Framing.LINES: (down, opening, connected, up, closing, failed),
    ENDPOINT: (down, opening, in_session, after_a_session, closing_a_session, unauthorized),
}


def beginning(transport: Framing | Endpoint, situation: Callable[[Driven], None]) -> Moment:
    driven = Driven(transport, slow=True)
    situation(driven)
    return driven.client, driven.now


@pytest.mark.rule("R13")
def test_no_input_reaches_a_cell_that_is_ruled_out_and_every_other_cell_is_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = RecordedTable(LINK_TABLE)
    monkeypatch.setattr(link, "LINK_TABLE", table)
    for transport, situations in SITUATIONS.items():
        http = isinstance(transport, Endpoint)
        beginnings = (beginning(transport, each) for each in situations)
        go_everywhere(beginnings, functools.partial(what_follows, http=http), key, INPUTS)
    assert table.unseen() == []
    assert [cell for cell in table.seen() if isinstance(LINK_TABLE[cell], Forbidden)] == []
