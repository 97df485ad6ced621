"""The server's front for one multiplexed peer: bytes to messages, the handshake, then dispatch.

It turns what a connection brings into inputs of `ServerStreams` and knows nothing of streams itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self, TypeAlias, assert_never, final

import attrs

from mcpstreams_sansio.connections import BytesReceived, EndOfFile, Framing
from mcpstreams_sansio.errors import INVALID_REQUEST, PARSE_ERROR, RemoteProtocolError
from mcpstreams_sansio.framing.limits import FrameTooLargeError
from mcpstreams_sansio.framing.lines import LineDecoder
from mcpstreams_sansio.ids import ConnectionId, Entropy
from mcpstreams_sansio.server.calls import Peer
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.dispatch import Circumstances, Routed, route
from mcpstreams_sansio.server.identity import Negotiated, ServerIdentity, answer_initialize
from mcpstreams_sansio.server.inputs import Reply
from mcpstreams_sansio.server.policies import StreamPolicies
from mcpstreams_sansio.server.stream import Reading
from mcpstreams_sansio.wire import handshake, methods
from mcpstreams_sansio.wire.jsonrpc import (
    ErrorResponse,
    Message,
    Request,
    Response,
    decode_message,
    error_response,
)
from mcpstreams_sansio.wire.revisions import Revision


@final
@attrs.frozen
class AwaitingHandshake:
    """Nothing but `initialize` and `ping` is served."""


HandshakeState: TypeAlias = AwaitingHandshake | Negotiated


@final
@attrs.define(eq=False)
class ServerPeer:
    """One multiplexed connection, as its front knows it."""

    connection_id: ConnectionId
    framing: Framing
    identity: ServerIdentity
    config: StreamsConfig
    policies: StreamPolicies
    lines: LineDecoder
    """Its limit holds for messages that travel by themselves as well."""
    state: HandshakeState = AwaitingHandshake()
    reading: Reading = Reading.OPEN
    messages: int = 0
    """How many were read."""
    _message: bytes | None = None
    """The one that was not read yet, where messages travel by themselves."""

    def receive(self, event: BytesReceived | EndOfFile) -> None:
        """Take in what the peer sent; `next_inputs` says what it means."""
        match event:
            case EndOfFile():
                self.reading = Reading.ENDED
                self.lines.receive_eof()
            case BytesReceived() if self.framing is Framing.MESSAGES:
                self._message = event.data
            case BytesReceived():
                self.lines.receive_data(event.data)
            case never:
                assert_never(never)

    def next_inputs(self, entropy: Entropy) -> Sequence[Routed] | None:
        """Return what the next message means; None if no other one is here.

        What cannot be read is answered, and loses nothing else (case O4). Only for a last line that was cut off before
        it was JSON there is no answer: a client that gave its hello would take it for a refusal.
        """
        try:
            payload = self._next_payload()
        except RemoteProtocolError as error:
            return [self._unreadable(error)]
        if payload is None:
            return None
        self.messages += 1
        return self._receive_payload(payload, entropy)

    def _next_payload(self) -> bytes | None:
        if self.framing is Framing.LINES:
            return self.lines.next_line()
        payload, self._message = self._message, None
        limit = self.lines.max_line_size
        if payload is not None and len(payload) > limit:
            raise FrameTooLargeError(f"a message is longer than {limit} bytes")
        return payload

    def _receive_payload(self, payload: bytes, entropy: Entropy) -> Sequence[Routed]:
        try:
            message = decode_message(payload)
        except RemoteProtocolError as error:
            if error.error_code == PARSE_ERROR and self.lines.torn:
                return []
            return [self._unreadable(error)]
        match self.state:
            case AwaitingHandshake():
                return self._shake_hands(message)
            case Negotiated(peer, revision):
                if isinstance(message, Request) and message.method == handshake.INITIALIZE:
                    return [self._refuse(message, "the handshake is done")]
                return route(message, self._circumstances(peer, revision, entropy))
            case never:
                assert_never(never)

    def _circumstances(self, peer: Peer, revision: Revision, entropy: Entropy) -> Circumstances:
        number = self.messages
        return Circumstances(self.connection_id, self.framing, peer, revision, self.policies, entropy, number)

    def _shake_hands(self, message: Message) -> Sequence[Routed]:
        """Serve `initialize` and `ping`; refuse other requests, and pass over what has no answer."""
        match message:
            case Request(method=methods.PING):
                return [Reply(self.connection_id, Response(message.id, {}))]
            case Request(method=handshake.INITIALIZE):
                try:
                    response, self.state = answer_initialize(message, self.identity, self.config)
                except RemoteProtocolError as error:
                    return [Reply(self.connection_id, error_response(error, message.id))]
                return [Reply(self.connection_id, response)]
            case Request():
                return [self._refuse(message, "the first request is initialize")]
            case _:
                return []

    def _refuse(self, request: Request, why: str) -> Reply:
        return Reply(self.connection_id, ErrorResponse(request.id, INVALID_REQUEST, why))

    def _unreadable(self, error: RemoteProtocolError) -> Reply:
        return Reply(self.connection_id, error_response(error, error.request_id))

    def fork(self) -> Self:
        """Return an independent copy."""
        return attrs.evolve(self, lines=self.lines.fork())

    def snapshot(self) -> tuple[object, ...]:
        """Return a hashable value, equal for fronts that will behave alike."""
        return self.connection_id, self.framing, self.state, self.reading, self.lines.snapshot()
