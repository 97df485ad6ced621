"""Whole clients over HTTP for the cases: a stock server's, and one of a server with our extension."""

from __future__ import annotations

import attrs

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.framing.sse import SSEEvent
from mcpstreams_sansio.ids import Secret, StreamId
from mcpstreams_sansio.wire.jsonrpc import Response
from mcpstreams_sansio.wire.streams import StreamCreate, create_notification
from mcpstreams_sansio.wire.tags import tagged
from tests.sansio.client.conversation import CONFIG, progress, request_id
from tests.sansio.client.driving import DRAFT_HELLO, ENDPOINT, EVENTS, HELLO, Driven, event

QUIET = attrs.evolve(CONFIG, keepalive=None)
CALL = 3
"""The exchange of the first call, after two of the handshake."""
RESULT = Response(request_id(1), {})
CREATE = tagged(
    create_notification(StreamCreate(StreamId("s1"), Secret("token of s1"), request_id(1))), StreamId("s1"), 1
)


def in_session(config: ClientConfig = QUIET, *, stock: bool = False) -> Driven:
    """Return a client whose session has begun."""
    driven = Driven(ENDPOINT, config, DRAFT_HELLO if stock else HELLO)
    driven.is_in_session()
    return driven


def primed(config: ClientConfig = QUIET) -> Driven:
    """Return a stock server's client whose call has a cursor, `0`, and nothing else yet."""
    driven = in_session(config, stock=True)
    driven.call()
    driven.heads(CALL, 200, EVENTS)
    driven.streams(CALL, SSEEvent("", id="0"))
    return driven


def announced(config: ClientConfig = QUIET) -> Driven:
    """Return a client whose call has a stream, `s1`."""
    driven = in_session(config)
    driven.call()
    driven.heads(CALL, 200, EVENTS)
    driven.streams(CALL, SSEEvent("", id="s1_0"), event(CREATE, "s1_1"))
    return driven


def message(number: int) -> SSEEvent:
    """Return the server's message `number`, with its own event id: what a stock server sends."""
    return event(progress(number), str(number))


def attempts(texts: list[str], verb: str = "GET") -> list[str]:
    """Return the requests of one kind, without the exchange that carries them."""
    return [text.partition(" <- ")[2] for text in texts if f"<- {verb}" in text]
