"""A whole client and a whole server in one place: what one writes the other reads, as soon as anybody lets it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

import attrs

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.effects import OpenConnection
from mcpstreams_sansio.client.inputs import Connected
from mcpstreams_sansio.client.machine import Client, ClientEffect, ClientInput
from mcpstreams_sansio.connections import (
    BytesReceived,
    ConnectionLost,
    DeadlineReached,
    DropConnection,
    EndOfFile,
    EndWriting,
    Framing,
    Write,
    Written,
)
from mcpstreams_sansio.http.exchange import Endpoint
from mcpstreams_sansio.http.messages import HeadReceived, RequestReceived, SendHead, SendRequest
from mcpstreams_sansio.ids import ConnectionId, Entropy
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import StartCall, WriteLog
from mcpstreams_sansio.server.identity import ServerIdentity
from mcpstreams_sansio.server.inputs import LogWritten
from mcpstreams_sansio.server.machine import PeerConnected, Server, ServerConfig, ServerEffect, ServerInput
from mcpstreams_sansio.wire.jsonrpc import JSONObject

INFO: Final[JSONObject] = {"name": "test", "version": "1"}
Machine: TypeAlias = Client | Server
Value: TypeAlias = ClientInput | ClientEffect | ServerInput | ServerEffect


def _nobody(_: Machine, __: Value) -> None:
    """Nobody looks."""


@attrs.define(eq=False)
class Joined:
    """A client and its server. What waits between them is carried over by `run`, in order."""

    transport: Framing | Endpoint
    config: ClientConfig
    look: Callable[[Machine, Value], None] = _nobody
    """Is shown each input before the machine has it, and each effect, with the machine as it is then."""
    durable: bool = False
    """The server has a log, which makes everything durable as soon as it can."""
    client: Client = attrs.field(init=False)
    server: Server = attrs.field(init=False)
    now: float = 0.0
    seeds: int = 0
    started: list[StartCall] = attrs.field(factory=list)
    told: list[ClientEffect] = attrs.field(factory=list)
    """What the application of the client was told, and whatever else is not carried over."""
    under_way: deque[tuple[Machine, ClientInput | ServerInput]] = attrs.field(factory=deque)
    paths: set[ConnectionId] = attrs.field(factory=set)
    """What the client holds for open."""
    known: set[ConnectionId] = attrs.field(factory=set)
    """What the server has heard of."""

    def __attrs_post_init__(self) -> None:
        identity = ServerIdentity(instance="server-1", server_info=INFO, capabilities={"tools": {}})
        self.client = Client(self.config, self.transport, INFO, {"sampling": {}})
        self.server = Server(ServerConfig(identity=identity, streams=StreamsConfig(durable=self.durable)))

    def entropy(self) -> Entropy:
        """Return the next seed."""
        self.seeds += 1
        return Entropy(b"%032d" % self.seeds)

    def to_client(self, *events: ClientInput) -> None:
        """Tell the client something, now."""
        for event in events:
            self.look(self.client, event)
            for effect in self.client.handle(event, self.now):
                self.look(self.client, effect)
                self._of_client(effect)

    def to_server(self, *events: ServerInput) -> None:
        """Tell the server something, now."""
        for event in events:
            self.look(self.server, event)
            if isinstance(event, PeerConnected | RequestReceived):
                self.known.add(event.connection_id)
            for effect in self.server.handle(event, self.now):
                self.look(self.server, effect)
                self._of_server(effect)

    def run(self) -> None:
        """Carry over what is under way, and what that leads to."""
        while self.under_way:
            machine, event = self.under_way.popleft()
            if isinstance(machine, Client):
                self.to_client(event)  # type: ignore[arg-type]  # what is under way to a client is an input of one
            else:
                self.to_server(event)  # type: ignore[arg-type]  # and to a server one of a server's

    def wait(self, seconds: float) -> None:
        """Time passes, deadlines are kept, and everything is carried over."""
        end = self.now + seconds
        self.run()
        while (due := self._next()) is not None and due <= end:
            self.now = max(self.now, due)
            self.to_server(DeadlineReached())
            self.to_client(DeadlineReached())
            self.run()
        self.now = end

    def cut(self) -> None:
        """Every connection and every exchange is lost, with what is under way."""
        self.under_way.clear()
        for path in sorted(self.paths):
            self.to_client(ConnectionLost(path))
            if path in self.known:
                self.to_server(ConnectionLost(path))
        self.paths.clear()

    def _next(self) -> float | None:
        deadlines = [self.client.next_deadline(), self.server.next_deadline()]
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def _put(self, machine: Machine, *events: ClientInput | ServerInput) -> None:
        self.under_way.extend((machine, event) for event in events)

    def _read(self, path: ConnectionId, chunks: tuple[bytes, ...]) -> list[BytesReceived]:
        """Return what is read where this is written."""
        pieces = chunks if self.transport is Framing.MESSAGES else (b"".join(chunks),)
        return [BytesReceived(path, piece, self.entropy()) for piece in pieces]

    def _of_client(self, effect: ClientEffect) -> None:
        match effect:
            case OpenConnection(path):
                assert isinstance(self.transport, Framing)
                self.paths.add(path)
                self._put(self.server, PeerConnected(path, self.transport))
                self._put(self.client, Connected(path))
            case SendRequest(path, request):
                self.paths.add(path)
                self._put(self.server, RequestReceived(path, request, self.entropy()))
            case Write(path, chunks):
                self._put(self.server, *self._read(path, chunks))
                self._put(self.client, Written(path))
            case DropConnection(path) | EndWriting(path):
                self.paths.discard(path)
                self._put(self.server, ConnectionLost(path))
            case _:
                self.told.append(effect)

    def _of_server(self, effect: ServerEffect) -> None:
        match effect:
            case SendHead(path, status, headers):
                self._put(self.client, HeadReceived(path, status, headers))
                self._put(self.server, Written(path))
            case Write(path, chunks):
                self._put(self.client, *self._read(path, chunks))
                self._put(self.server, Written(path))
            case EndWriting(path):
                self.paths.discard(path)
                self._put(self.client, EndOfFile(path, self.entropy()))
            case DropConnection(path):
                self.paths.discard(path)
                self._put(self.client, ConnectionLost(path))
            case StartCall():
                self.started.append(effect)
            case WriteLog(write_id=write_id):
                self._put(self.server, LogWritten(write_id))
            case _:
                pass
