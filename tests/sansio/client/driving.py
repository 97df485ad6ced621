"""A whole client at work: a driver that keeps its contract, a scripted server in bytes, and a clock.

Everything that the client does is a short text, as in `conversation`: `open c1`, `c1 <- initialize`, `drop c1: silent`.
Each `Write` is reported as soon as it is asked for, unless the transport is slow (rule R11).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from typing import Final, final

import attrs

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.effects import (
    ClientClosed,
    ClientFailed,
    NoticeDropped,
    NoticeReceived,
    OpenConnection,
    ServerConnected,
    ServerDisconnected,
    ServerNotReached,
    UnreadableReceived,
)
from mcpstreams_sansio.client.inputs import (
    CallSaved,
    CancelCall,
    CloseClient,
    Connected,
    ConnectFailed,
    MakeCall,
    Notify,
    OpenClient,
    TakeMessages,
)
from mcpstreams_sansio.client.machine import Client, ClientEffect, ClientInput, ConnectionOrder
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
from mcpstreams_sansio.framing.sse import SSEEvent, encode_event
from mcpstreams_sansio.http.exchange import Endpoint
from mcpstreams_sansio.http.messages import HeadReceived, HTTPRequest, SendRequest, find_header
from mcpstreams_sansio.ids import CallId, ConnectionId, Entropy
from mcpstreams_sansio.wire.handshake import INITIALIZE, read_client_hello
from mcpstreams_sansio.wire.jsonrpc import (
    JSONObject,
    Message,
    Notification,
    Request,
    Response,
    decode_message,
    encode_message,
)
from mcpstreams_sansio.wire.marker import MARKER
from tests.sansio.client.conversation import CONFIG, INSTANCE, told, told_to_server

SEED: Final = Entropy(b"x" * 32)
INFO: Final[JSONObject] = {"name": "client", "version": "1"}
ENDPOINT: Final = Endpoint(b"/mcp", ((b"host", b"localhost"), (b"authorization", b"Bearer secret")))
HELLO: Final[JSONObject] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"tools": {}, "experimental": {MARKER: {"instance": "server-1", "keyTtl": 1000}}},
    "serverInfo": {"name": "server", "version": "1"},
}
"""What a server with our extension answers to `initialize`."""
DRAFT_HELLO: Final[JSONObject] = {**HELLO, "capabilities": {"tools": {}}}
JSON: Final = (b"content-type", b"application/json")
EVENTS: Final = (b"content-type", b"text/event-stream; charset=utf-8")
SESSION: Final = (b"mcp-session-id", b"session-1")


def said(payload: bytes) -> str:
    """Return what the client says to its server."""
    message = decode_message(payload)
    match message:
        case Request(method=method, params=params) if method == INITIALIZE:
            hello = read_client_hello(params)
            assert hello.streams, "rule P1"
            assert hello.marker is not None, "rule P3"
            return f"initialize {hello.protocol_version}"
        case Request(method="ping"):
            return "ping"
        case Notification(method="notifications/initialized"):
            return "initialized"
        case _:
            return told_to_server(message)


def requested(request: HTTPRequest) -> str:
    """Return what the client requests: method, message, and the headers that depend on what came before."""
    headers = dict(request.headers)
    assert headers[b"authorization"] == b"Bearer secret"
    text = request.method.decode()
    if request.method == b"POST":
        assert headers[b"accept"] == b"application/json, text/event-stream", "rule H7"
        assert headers[b"content-type"] == b"application/json"
        text += f" {said(request.body)}"
    if request.method == b"GET":
        assert headers[b"accept"] == b"text/event-stream", "rule H20"
    for name, shown in ((SESSION[0], "in"), (b"mcp-protocol-version", "v"), (b"last-event-id", "at")):
        value = find_header(request.headers, name)
        if value is not None and name != b"mcp-protocol-version":
            text += f" {shown} {value.decode()}"
    return text


@functools.singledispatch
def done(effect: ClientEffect) -> list[str]:
    """Return what the client does, or has done."""
    return [told(effect)]


@done.register
def _(effect: OpenConnection) -> list[str]:
    return [f"open c{effect.connection_id}"]


@done.register
def _(effect: Write) -> list[str]:
    return [f"c{effect.connection_id} <- {said(line)}" for chunk in effect.chunks for line in chunk.splitlines()]


@done.register
def _(effect: EndWriting) -> list[str]:
    return [f"end c{effect.connection_id}"]


@done.register
def _(effect: DropConnection) -> list[str]:
    return [f"drop c{effect.connection_id}: {effect.reason.value}"]


@done.register
def _(effect: SendRequest) -> list[str]:
    return [f"c{effect.connection_id} <- {requested(effect.request)}"]


@done.register
def _(effect: ServerConnected) -> list[str]:
    return [f"connected to {effect.server.server_info['name']}"]


@done.register
def _(_: ServerDisconnected) -> list[str]:
    return ["disconnected"]


@done.register
def _(_: ServerNotReached) -> list[str]:
    return ["not reached"]


@done.register
def _(effect: NoticeReceived) -> list[str]:
    return [f"told {effect.method}"]


@done.register
def _(effect: NoticeDropped) -> list[str]:
    return [f"never sent {effect.method}"]


@done.register
def _(effect: UnreadableReceived) -> list[str]:
    return [f"c{effect.connection_id}: unreadable: {effect.why}"]


@done.register
def _(effect: ClientFailed) -> list[str]:
    return [f"failed: {effect.failure.value}"]


@done.register
def _(_: ClientClosed) -> list[str]:
    return ["closed"]


def ordered_for(effects: list[ClientEffect]) -> set[ConnectionId]:
    """Return the connections for which a driver is to do something."""
    return {effect.connection_id for effect in effects if isinstance(effect, ConnectionOrder)}


@final
@attrs.define(eq=False)
class Driven:
    """One client and its driver. Every method returns what the client does, as texts."""

    transport: Framing | Endpoint = Framing.LINES
    config: ClientConfig = CONFIG
    hello: JSONObject = attrs.field(default=HELLO, repr=False)
    slow: bool = False
    """The transport does not take writes by itself."""
    now: float = 0.0
    calls: int = 0
    exchanges: int = 0
    client: Client = attrs.field(init=False)
    requests: dict[int, HTTPRequest] = attrs.field(factory=dict)
    lost: set[ConnectionId] = attrs.field(factory=set)
    """What the client was told to be gone."""
    sessions: int = 0

    @client.default
    def _make(self) -> Client:
        return Client(self.config, self.transport, INFO, {"sampling": {}})

    def tell(self, *events: ClientInput) -> list[str]:
        """Tell the client something, and return what it does."""
        return [text for effect in self.effects(*events) for text in done(effect)]

    def effects(self, *events: ClientInput) -> list[ClientEffect]:
        """The same, as effects; writes are reported and followed up."""
        effects: list[ClientEffect] = []
        waiting = list(events)
        while waiting:
            event = waiting.pop(0)
            if isinstance(event, ConnectionLost | ConnectFailed):
                self.lost.add(event.connection_id)
            new = self.client.handle(event, self.now)
            assert ordered_for(new).isdisjoint(self.lost), "nothing is ordered for a connection that is gone"
            effects += new
            self.requests.update({e.connection_id: e.request for e in new if isinstance(e, SendRequest)})
            if not self.slow:
                waiting += [Written(effect.connection_id) for effect in new if isinstance(effect, Write)]
            assert self.client.fork().snapshot(self.now) == self.client.snapshot(self.now)
            assert isinstance(hash(self.client.snapshot(self.now)), int)
        return effects

    def wait(self, seconds: float) -> list[str]:
        """Time passes, and every deadline on the way is kept."""
        end = self.now + seconds
        texts: list[str] = []
        while (deadline := self.client.next_deadline()) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            texts += self.tell(DeadlineReached())
        self.now = end
        return texts

    # ---------------------------------------------------------------------------------------------------- application

    def opens(self) -> list[str]:
        """The application wants a link now."""
        return self.tell(OpenClient())

    def closes(self) -> list[str]:
        """The application is done."""
        return self.tell(CloseClient())

    def call(self, *, stored: bool = False) -> list[str]:
        """The application makes its next call, and keeps it beyond its process or not."""
        self.calls += 1
        return self.tell(MakeCall(CallId(self.calls), "tools/call", {"name": "tool"}, SEED, stored))

    def saves(self, number: int = 1) -> list[str]:
        """The application has a call where it outlives its process."""
        saved = self.client.save(CallId(number), self.now)
        assert saved is not None, "it is not over"
        return self.tell(CallSaved(CallId(number), saved))

    def take(self, through: int, number: int = 1) -> list[str]:
        """The application has everything up to here."""
        return self.tell(TakeMessages(CallId(number), through))

    def cancel(self, number: int = 1) -> list[str]:
        """The application does not want the result any more."""
        return self.tell(CancelCall(CallId(number)))

    def notify(self, method: str = "notifications/roots/list_changed") -> list[str]:
        """The application tells the server something."""
        return self.tell(Notify(method))

    # -------------------------------------------------------------------------------------------------- any connection

    def cut(self, path: int) -> list[str]:
        """A connection, or an exchange, is lost."""
        return self.tell(ConnectionLost(ConnectionId(path)))

    def fails_to_connect(self, path: int) -> list[str]:
        """Nobody was reached."""
        return self.tell(ConnectFailed(ConnectionId(path)))

    def receives(self, path: int, data: bytes) -> list[str]:
        """Bytes come."""
        return self.tell(BytesReceived(ConnectionId(path), data, SEED))

    def ends(self, path: int) -> list[str]:
        """The server has said all that it will say."""
        return self.tell(EndOfFile(ConnectionId(path), SEED))

    # ------------------------------------------------------------------------------------------------------ multiplexed

    def connects(self, path: int) -> list[str]:
        """A connection is open."""
        return self.tell(Connected(ConnectionId(path)))

    def hears(self, message: Message, path: int = 1) -> list[str]:
        """The server says something on a multiplexed connection."""
        end = b"" if self.transport is Framing.MESSAGES else b"\n"
        return self.receives(path, encode_message(message) + end)

    def greets(self, path: int = 1, handshake: int = 1) -> list[str]:
        """The server answers `initialize`."""
        return self.hears(Response(f"{INSTANCE}-link.{handshake}", self.hello), path)

    def is_up(self) -> list[str]:
        """Go through the first handshake; return what the client does then."""
        self.opens()
        self.connects(1)
        return self.greets()

    # ------------------------------------------------------------------------------------------------------------ HTTP

    def heads(self, path: int, status: int, *headers: tuple[bytes, bytes]) -> list[str]:
        """The head of a response comes."""
        return self.tell(HeadReceived(ConnectionId(path), status, headers))

    def accepts(self, path: int) -> list[str]:
        """A response that has no body comes."""
        return self.heads(path, 202) + self.ends(path)

    def replies(self, path: int, message: Message, *headers: tuple[bytes, bytes], status: int = 200) -> list[str]:
        """A response with one message comes, as JSON."""
        texts = self.heads(path, status, JSON, *headers)
        return texts + self.receives(path, encode_message(message)) + self.ends(path)

    def streams(self, path: int, *events: Message | SSEEvent) -> list[str]:
        """Events come."""
        return self.receives(path, b"".join(_framed(event) for event in events))

    def meets(self, path: int, handshake: int = 1, *headers: tuple[bytes, bytes]) -> list[str]:
        """The server answers `initialize`, with a session unless the headers say otherwise."""
        self.sessions += 1
        session = (b"mcp-session-id", b"session-%d" % self.sessions)
        return self.replies(path, Response(f"{INSTANCE}-link.{handshake}", self.hello), *(headers or (session,)))

    def is_in_session(self) -> list[str]:
        """Go through the first handshake; return what the client does then."""
        self.opens()
        self.meets(1)
        return self.accepts(2)


def _framed(event: Message | SSEEvent) -> bytes:
    return encode_event(event if isinstance(event, SSEEvent) else SSEEvent(encode_message(event).decode()))


def event(message: Message, event_id: str) -> SSEEvent:
    """Return a message as an event with an id."""
    return SSEEvent(encode_message(message).decode(), id=event_id)


def shown(values: Sequence[object]) -> str:
    """Return values as a person may come to see them."""
    return json.dumps([repr(value) for value in values])
