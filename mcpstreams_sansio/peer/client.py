"""The client's front for a multiplexed server: one connection after another, each with its handshake.

It turns what a connection brings into inputs of `ClientStreams` and knows nothing of calls. When to connect is not its
business either.

Spec: MCP 2025-11-25, Lifecycle and stdio. Rules P1, R11, R15; case O4.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Self, TypeAlias, assert_never, final

import attrs

from mcpstreams_sansio.client.config import SIGNS_OF_LIFE, ClientConfig
from mcpstreams_sansio.client.connection_ids import ConnectionIds
from mcpstreams_sansio.client.effects import (
    OpenConnection,
    PathEffect,
    SendOnPath,
    ServerConnected,
    UnreadableReceived,
)
from mcpstreams_sansio.client.failures import Failure, heard
from mcpstreams_sansio.client.fronts import FrontClosed, FrontNews, LinkFailed, LinkHopeless, traits_of
from mcpstreams_sansio.client.inputs import Connected, ConnectFailed, LinkDown, LinkUp, MessageReceived
from mcpstreams_sansio.connections import (
    BytesReceived,
    ConnectionEffect,
    ConnectionLost,
    DropConnection,
    DropReason,
    EndOfFile,
    Framing,
    Written,
)
from mcpstreams_sansio.errors import RemoteProtocolError
from mcpstreams_sansio.framing.limits import FrameTooLargeError
from mcpstreams_sansio.framing.lines import LineDecoder
from mcpstreams_sansio.ids import ConnectionId
from mcpstreams_sansio.peer.outbox import Outbox
from mcpstreams_sansio.wire.handshake import INITIALIZED, ClientHello, initialize_request, read_server_hello
from mcpstreams_sansio.wire.jsonrpc import (
    ErrorResponse,
    Message,
    Notification,
    Request,
    Response,
    decode_message,
    encode_message,
)
from mcpstreams_sansio.wire.methods import PING
from mcpstreams_sansio.wire.revisions import find_revision

PeerEvent: TypeAlias = Connected | ConnectFailed | BytesReceived | EndOfFile | ConnectionLost | Written
"""What a driver reports of a multiplexed connection."""

PeerOutput: TypeAlias = FrontNews | ConnectionEffect | OpenConnection


@enum.unique
class Phase(enum.Enum):
    """How far a connection is."""

    CONNECTING = "connecting"
    """The driver opens it."""
    SHAKING_HANDS = "shaking hands"
    """`initialize` is out."""
    UP = "up"
    """Messages go both ways."""
    ENDING = "ending"
    """What waits is written, then it ends."""
    ENDED = "ended"
    """Nothing more is written; the server is to close its side."""


@final
@attrs.define(eq=False)
class _Connection:
    """The one connection that there is at a time."""

    connection_id: ConnectionId
    outbox: Outbox
    lines: LineDecoder
    until: float
    """When connecting and the handshake, or the farewell, has to be done."""
    phase: Phase = Phase.CONNECTING
    hello_id: str = ""
    """The id of its `initialize`."""
    stalled_at: float = math.inf
    """When the outstanding write has taken too long."""
    heard_at: float = math.inf
    """Since when the server has been silent while something is expected of it; infinite while nothing is."""
    pings: int = 0
    """How often it was asked for a sign of life since."""

    def ping_at(self, keepalive: float | None) -> float:
        """Return when the server has been silent for too long once more."""
        return math.inf if keepalive is None else self.heard_at + keepalive * (self.pings + 1)


@final
@attrs.define(eq=False)
class ClientPeer:
    """The front of one server that is reached over multiplexed connections.

    Args:
        config: Limits and times.
        framing: `LINES` or `MESSAGES`.
        hello: What the client says of itself in each handshake.
        connection_ids: Where it takes the ids of its connections from.
    """

    _config: ClientConfig
    _framing: Framing
    _hello: ClientHello
    _connection_ids: ConnectionIds
    _connection: _Connection | None = None
    _requests: int = 0
    """Requests of its own so far: handshakes and pings."""

    def open(self, now: float) -> Sequence[PeerOutput]:
        """Have a connection opened; the one before it is over."""
        connection_id = self._connection_ids.next()
        config = self._config
        self._connection = _Connection(
            connection_id,
            Outbox(connection_id, self._framing, config.max_write_bytes),
            LineDecoder(max_line_size=config.max_line_size),
            now + config.handshake_timeout,
        )
        return [OpenConnection(connection_id)]

    def close(self, now: float) -> Sequence[PeerOutput]:
        """Write what waits, then part from the server."""
        connection = self._connection
        if connection is None:
            return [FrontClosed()]
        if connection.phase is not Phase.UP:
            return self._drop(connection, DropReason.FINISHED, FrontClosed())
        connection.phase = Phase.ENDING
        connection.until = now + self._config.close_timeout
        return []

    def receive(self, event: PeerEvent, now: float) -> Iterable[PeerOutput]:
        """Return what an event means; what is reported of a connection that is over means nothing (rule R13).

        Each part is to be dealt with before the next one is asked for: what a message leads to is sent on the
        connection that brought it, even if the same event ends that connection (case O4).
        """
        connection = self._connection
        if connection is None or event.connection_id != connection.connection_id:
            return []
        match event:
            case Connected():
                self._shake_hands(connection)
                return []
            case ConnectFailed() | ConnectionLost():
                self._connection = None
                return [_parting(connection)]
            case Written():
                connection.outbox.written()
                connection.stalled_at = math.inf
                return []
            case BytesReceived() | EndOfFile():
                return self._read(connection, event, now)
            case _:
                assert_never(event)

    def send(self, effect: PathEffect, _: float) -> Sequence[PeerOutput]:
        """Put what the streams want sent behind what waits; there are no other paths here that could be left."""
        assert isinstance(effect, SendOnPath), "a shared connection is neither left nor paused"
        self._put(effect.message)
        return []

    @property
    def can_notify(self) -> bool:
        """Whether a notification of the application can go out, for all that the link is up: the outbox takes it."""
        return True

    def notify(self, notification: Notification, _: float) -> Sequence[PeerOutput]:
        """Send a notification of the application; the link is up."""
        self._put(notification)
        return []

    def _put(self, message: Message) -> None:
        assert self._connection is not None, "nothing is sent while the link is down"
        self._connection.outbox.put(encode_message(message))

    def expect(self, now: float, *, something: bool) -> None:
        """Watch for signs of life while something is expected of the server (rule R15)."""
        connection = self._connection
        if connection is None or connection.phase is not Phase.UP:
            return
        if not something:
            connection.heard_at = math.inf
        elif connection.heard_at == math.inf:
            connection.heard_at, connection.pings = now, 0

    def flush(self, now: float) -> Sequence[PeerOutput]:
        """Give the transport what waits, as one write; the machine says when, once for each of its inputs."""
        connection = self._connection
        if connection is None:
            return []
        if connection.outbox.waiting_bytes > self._config.max_outbox_bytes:
            return self._drop(connection, DropReason.STALLED, _parting(connection))
        if connection.phase is Phase.ENDING and connection.outbox.empty:
            connection.phase = Phase.ENDED
            return [connection.outbox.end()]
        write = connection.outbox.next_write()
        if write is None:
            return []
        if self._config.stall_timeout is not None:
            connection.stalled_at = now + self._config.stall_timeout
        return [write]

    def next_deadline(self) -> float | None:
        """Return when `wake` is due."""
        connection = self._connection
        if connection is None:
            return None
        due = min(connection.stalled_at, connection.ping_at(self._config.keepalive))
        if connection.phase is not Phase.UP:
            due = min(due, connection.until)
        return None if due == math.inf else due

    def wake(self, now: float) -> Sequence[PeerOutput]:
        """Do what is due."""
        connection = self._connection
        assert connection is not None, "without a connection nothing is due"
        if connection.phase is not Phase.UP and now >= connection.until:
            ending = connection.phase in (Phase.ENDING, Phase.ENDED)
            return self._drop(connection, DropReason.FINISHED if ending else DropReason.SILENT, _parting(connection))
        if now >= connection.stalled_at:
            return self._drop(connection, DropReason.STALLED, _parting(connection))
        connection.pings += 1
        if connection.pings >= SIGNS_OF_LIFE:
            return self._drop(connection, DropReason.SILENT, _parting(connection))
        connection.outbox.put(encode_message(Request(self._request_id(), PING)))
        return []

    def _request_id(self) -> str:
        self._requests += 1
        return f"{self._config.instance}-link.{self._requests}"

    def _drop(self, connection: _Connection, reason: DropReason, news: FrontNews) -> Sequence[PeerOutput]:
        self._connection = None
        return [DropConnection(connection.connection_id, reason), news]

    def _shake_hands(self, connection: _Connection) -> None:
        """The connection is open: say hello, and nothing else yet."""
        if connection.phase is Phase.CONNECTING:
            connection.phase = Phase.SHAKING_HANDS
            connection.hello_id = self._request_id()
            connection.outbox.put(encode_message(initialize_request(connection.hello_id, self._hello)))

    def _read(self, connection: _Connection, event: BytesReceived | EndOfFile, now: float) -> Iterator[PeerOutput]:
        if connection.heard_at < math.inf:
            connection.heard_at, connection.pings = now, 0
        for payload in self._payloads(connection, event):
            yield from self._receive_payload(connection, payload)
            if self._connection is not connection:
                return
        if isinstance(event, EndOfFile):
            yield from self._drop(connection, DropReason.FINISHED, _parting(connection))

    def _payloads(
        self, connection: _Connection, event: BytesReceived | EndOfFile
    ) -> Iterator[bytes | RemoteProtocolError]:
        if self._framing is Framing.MESSAGES:
            if isinstance(event, BytesReceived):
                too_large = len(event.data) > self._config.max_line_size
                yield (
                    FrameTooLargeError(f"a message is longer than {self._config.max_line_size} bytes")
                    if too_large
                    else event.data
                )
            return
        if isinstance(event, BytesReceived):
            connection.lines.receive_data(event.data)
        else:
            connection.lines.receive_eof()
        while True:
            try:
                line = connection.lines.next_line()
            except FrameTooLargeError as error:
                yield error
                continue
            if line is None:
                return
            yield line

    def _receive_payload(self, connection: _Connection, payload: bytes | RemoteProtocolError) -> Sequence[PeerOutput]:
        """What cannot be read is reported and loses nothing else (case O4)."""
        try:
            if isinstance(payload, RemoteProtocolError):
                raise payload
            message = decode_message(payload)
        except RemoteProtocolError as error:
            return [UnreadableReceived(connection.connection_id, str(error))]
        if connection.phase is Phase.SHAKING_HANDS:
            return self._finish_handshake(connection, message)
        return [MessageReceived(connection.connection_id, message, size=len(payload))]

    def _finish_handshake(self, connection: _Connection, message: Message) -> Sequence[PeerOutput]:
        """Read the server's hello. Before it a server may only ask whether anybody is there."""
        match message:
            case Request(method=method) if method == PING:
                connection.outbox.put(encode_message(Response(message.id, {})))
                return []
            case ErrorResponse(id=request_id) if request_id in (None, connection.hello_id):
                news = LinkHopeless(Failure.HANDSHAKE_REFUSED, heard(message.message))
                return self._drop(connection, DropReason.FINISHED, news)
            case Response(id=request_id) if request_id == connection.hello_id:
                return self._meet(connection, message)
            case _:
                return []

    def _meet(self, connection: _Connection, message: Response) -> Sequence[PeerOutput]:
        try:
            server = read_server_hello(message.result)
        except RemoteProtocolError:
            return self._drop(connection, DropReason.FINISHED, LinkHopeless(Failure.NO_MCP))
        if find_revision(server.protocol_version) is None:
            return self._drop(connection, DropReason.FINISHED, LinkHopeless(Failure.UNSUPPORTED_VERSION))
        connection.phase = Phase.UP
        connection.outbox.put(encode_message(Notification(INITIALIZED)))
        return [ServerConnected(server), LinkUp(connection.connection_id, traits_of(server))]

    def fork(self, connection_ids: ConnectionIds) -> Self:
        """Return an independent copy that takes its ids from elsewhere."""
        connection = self._connection
        if connection is not None:
            connection = attrs.evolve(connection, outbox=connection.outbox.fork(), lines=connection.lines.fork())
        return attrs.evolve(self, connection_ids=connection_ids, connection=connection)

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return a hashable value, equal for fronts that will behave alike; times are relative to `now`."""
        connection = self._connection
        if connection is None:
            return (self._requests,)
        return (
            self._requests,
            connection.phase,
            connection.hello_id,
            connection.outbox.snapshot(),
            connection.lines.snapshot(),
            connection.until - now,
            connection.stalled_at - now,
            connection.heard_at - now,
            connection.pings,
        )


def _parting(connection: _Connection) -> FrontNews:
    """Return what the end of a connection means."""
    phase = connection.phase
    match phase:
        case Phase.CONNECTING | Phase.SHAKING_HANDS:
            return LinkFailed()
        case Phase.UP:
            return LinkDown()
        case Phase.ENDING | Phase.ENDED:
            return FrontClosed()
        case _:
            assert_never(phase)
