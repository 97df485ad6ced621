"""A driver for tests of a whole server: it carries out every effect and checks that none breaks its contract.

Every `Write` is reported as soon as it is asked for, but on a connection whose peer is slow; every batch of records is
durable at once, but while the disk is slow. What a test has to see is kept: what was written on each connection, and
what the application was told.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, TypeVar

import attrs

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
from mcpstreams_sansio.framing.event_ids import parse_event_id
from mcpstreams_sansio.framing.sse import SSEDecoder, SSEEvent
from mcpstreams_sansio.http.config import HTTPConfig
from mcpstreams_sansio.http.messages import Headers, HTTPRefusal, HTTPRequest, RequestReceived, SendHead
from mcpstreams_sansio.ids import Address, ConnectionId, Entropy, Principal, StreamId
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import StartCall, WriteLog
from mcpstreams_sansio.server.identity import ServerIdentity
from mcpstreams_sansio.server.inputs import LogWritten, Respond, SendMessage
from mcpstreams_sansio.server.machine import PeerConnected, Server, ServerConfig, ServerEffect, ServerInput
from mcpstreams_sansio.wire.handshake import INITIALIZE, INITIALIZED
from mcpstreams_sansio.wire.jsonrpc import (
    ErrorResponse,
    JSONObject,
    Message,
    Notification,
    Request,
    Response,
    decode_message,
    encode_message,
)
from mcpstreams_sansio.wire.marker import MARKER

INFO: JSONObject = {"name": "test", "version": "1"}
STREAMS: JSONObject = {"streams": {}}
"""Capabilities of a client that knows the draft and nothing of our extension."""
MARKED: JSONObject = {"streams": {}, "experimental": {MARKER: {}}}
"""Capabilities of a client that knows both."""
HOST = (b"host", b"localhost:8000")
JSON_AND_EVENTS = (b"accept", b"application/json, text/event-stream")
EVENTS = (b"accept", b"text/event-stream")
JSON = (b"content-type", b"application/json")
IDENTITY = ServerIdentity(instance="instance-1", server_info=INFO, capabilities={"tools": {}})

Told = TypeVar("Told")
Sent: TypeAlias = Message | bytes


def initialize(capabilities: JSONObject, request_id: int = 0, revision: str = "2025-11-25") -> Request:
    return Request(
        request_id, INITIALIZE, {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": INFO}
    )


def named(principal: str | None) -> Principal | None:
    return None if principal is None else Principal(principal)


def with_usual(usual: Headers, session: bytes | None, headers: Headers) -> Headers:
    """Return the headers of a request: those that are given stand in for usual ones of the same name."""
    given = {name.lower() for name, _ in headers}
    own: Headers = () if session is None else ((b"mcp-session-id", session),)
    return tuple((name, value) for name, value in usual + own if name not in given) + headers


def encoded(message: Sent) -> bytes:
    return message if isinstance(message, bytes) else encode_message(message)


@attrs.define(eq=False)
class Seen:
    """What a driver has seen of one connection."""

    connection_id: ConnectionId
    framing: Framing
    head: SendHead | None = None
    chunks: list[bytes] = attrs.field(factory=list)
    outstanding: bool = False
    slow: bool = False
    """Its peer takes nothing for now."""
    silent: bool = False
    """Its peer has said that it will send nothing more."""
    over: EndWriting | DropConnection | ConnectionLost | None = None

    @property
    def status(self) -> int:
        assert self.head is not None, "the head is not out"
        return self.head.status

    @property
    def headers(self) -> dict[bytes, bytes]:
        assert self.head is not None, "the head is not out"
        headers = dict(self.head.headers)
        assert len(headers) == len(self.head.headers), "a header is there twice"
        return headers

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    @property
    def events(self) -> list[SSEEvent]:
        assert self.headers[b"content-type"] == b"text/event-stream"
        decoder = SSEDecoder()
        decoder.receive_data(self.body)
        return list(iter(decoder.next_event, None))

    @property
    def messages(self) -> list[Message]:
        """Every whole message that was written."""
        if self.framing is Framing.LINES:
            assert not self.body or self.body.endswith(b"\n")
            return [decode_message(line) for line in self.body.splitlines()]
        if self.framing is Framing.MESSAGES:
            return [decode_message(chunk) for chunk in self.chunks]
        if self.headers.get(b"content-type") == b"text/event-stream":
            return [decode_message(event.data.encode()) for event in self.events if event.data]
        return [decode_message(self.body)] if self.chunks else []

    @property
    def answer(self) -> Response:
        """The one message, which is a result."""
        [message] = self.messages
        assert isinstance(message, Response)
        return message

    @property
    def refusal(self) -> ErrorResponse:
        """The one message, which is an error."""
        [message] = self.messages
        assert isinstance(message, ErrorResponse)
        return message

    @property
    def reason(self) -> object:
        """`data.reason` of the one message, which is an error."""
        assert isinstance(self.refusal.data, dict)
        return self.refusal.data["reason"]

    @property
    def told(self) -> list[str | int | None]:
        """Of each message the method, of a response the id."""
        return [
            message.method if isinstance(message, Request | Notification) else message.id for message in self.messages
        ]

    @property
    def created(self) -> JSONObject:
        """What `create` says: the first message of an exchange that announces a stream."""
        create = self.messages[0]
        assert isinstance(create, Notification)
        assert create.method == "notifications/stream/create"
        assert create.params is not None
        stream = create.params["stream"]
        assert isinstance(stream, dict)
        return stream

    @property
    def ref(self) -> JSONObject:
        """The params with which the announced stream is resumed or polled."""
        return {name: self.created[name] for name in ("streamId", "resumeToken")}

    @property
    def cursors(self) -> list[int]:
        """Where a client stands after each event that moves its cursor."""
        standing = dict.fromkeys(event.id for event in self.events if event.id)
        return [parse_event_id(cursor)[1] for cursor in standing]

    @property
    def cursor(self) -> bytes:
        """The header with which a client comes back that has seen every event."""
        last = self.events[-1].id
        assert last is not None
        return last.encode()

    def take(self) -> list[Message]:
        """Return the messages that were written since the last time."""
        messages = self.messages
        self.chunks.clear()
        return messages


@attrs.define(eq=False)
class Serving:
    """A server and its driver."""

    server: Server = attrs.field(factory=lambda: Server(ServerConfig(identity=IDENTITY)))
    now: float = 0.0
    seen: dict[ConnectionId, Seen] = attrs.field(factory=dict)
    told: list[ServerEffect] = attrs.field(factory=list)
    """Effects that concern no connection."""
    slow_disk: bool = False
    batches: list[WriteLog] = attrs.field(factory=list)
    _inputs: int = 0
    _reporting: ConnectionId | None = None
    """The connection whose write is being reported."""

    # --------------------------------------------------------------------------------------------------- carrying out

    def submit(self, event: ServerInput) -> list[ServerEffect]:
        """Tell the machine, do what it wants done, in order, and return that."""
        effects = self.server.handle(event, self.now)
        for effect in effects:
            self._carry_out(effect)
        followed: list[ServerEffect] = []
        for effect in effects:
            match effect:
                case Write(connection_id) if not self.seen[connection_id].slow:
                    followed += self.written(connection_id)
                case WriteLog(write_id) if not self.slow_disk:
                    followed += self.submit(LogWritten(write_id))
        return effects + followed

    def _carry_out(self, effect: ServerEffect) -> None:
        match effect:
            case SendHead(connection_id):
                seen = self.seen[connection_id]
                assert seen.framing is Framing.HTTP
                assert (seen.head, seen.over) == (None, None), "one head, before anything else"
                seen.head = effect
            case Write(connection_id, chunks):
                seen = self.seen[connection_id]
                assert seen.framing is not Framing.HTTP or seen.head is not None, "the head comes first (R1)"
                assert not seen.outstanding, "one write at a time (R11)"
                assert seen.over is None, "nothing is written after the end"
                assert chunks
                assert all(chunks)
                seen.outstanding = True
                seen.chunks += chunks
            case EndWriting(connection_id):
                seen = self.seen[connection_id]
                assert seen.over is None, "a connection ends once"
                assert seen.framing is not Framing.HTTP or seen.head is not None
                seen.over = effect
            case DropConnection(connection_id):
                seen = self.seen[connection_id]
                # A report that comes too late finds the deadline of its write processed before it.
                unreported = seen.outstanding or self._reporting == connection_id
                ended_in_vain = isinstance(seen.over, EndWriting) and unreported
                assert seen.over is None or ended_in_vain, "what is dropped was still there"
                seen.over = effect
            case WriteLog():
                self.batches.append(effect)
                self.told.append(effect)
            case _:
                self.told.append(effect)

    def written(self, connection_id: ConnectionId) -> list[ServerEffect]:
        self.seen[connection_id].outstanding = False
        self._reporting = connection_id
        effects = self.submit(Written(connection_id))
        self._reporting = None
        return effects

    def entropy(self) -> Entropy:
        self._inputs += 1
        return Entropy(b"the seed of input %d" % self._inputs)

    def wait(self, seconds: float) -> None:
        """Let time pass, waking the machine whenever it wants to be."""
        until = self.now + seconds
        while (deadline := self.server.next_deadline()) is not None and deadline <= until:
            self.now = max(self.now, deadline)
            self.submit(DeadlineReached())
        self.now = until

    # ------------------------------------------------------------------------------------------------------------ HTTP

    def request(
        self,
        method: bytes,
        body: bytes = b"",
        *headers: tuple[bytes, bytes],
        principal: str | None = None,
        address: str | None = None,
        refusal: HTTPRefusal | None = None,
        target: bytes = b"/mcp",
        slow: bool = False,
    ) -> Seen:
        """Begin an exchange with exactly these headers."""
        seen = self._open(Framing.HTTP, slow=slow)
        asked = HTTPRequest(method, target, headers, body)
        place = None if address is None else Address(address)
        self.submit(RequestReceived(seen.connection_id, asked, self.entropy(), named(principal), place, refusal))
        return seen

    def post(
        self,
        message: Sent,
        session: bytes | None = None,
        *headers: tuple[bytes, bytes],
        principal: str | None = None,
        address: str | None = None,
        slow: bool = False,
    ) -> Seen:
        """Post a message as clients do; what is given in `headers` stands in for what they usually say."""
        asked = with_usual((HOST, JSON_AND_EVENTS, JSON), session, headers)
        return self.request(b"POST", encoded(message), *asked, principal=principal, address=address, slow=slow)

    def get(
        self,
        session: bytes | None,
        cursor: bytes | None = None,
        *headers: tuple[bytes, bytes],
        principal: str | None = None,
    ) -> Seen:
        """Come back with a cursor, or ask for the standalone stream."""
        usual: Headers = (HOST, EVENTS)
        if cursor is not None:
            usual += ((b"last-event-id", cursor),)
        return self.request(b"GET", b"", *with_usual(usual, session, headers), principal=principal)

    def delete(self, session: bytes | None, *headers: tuple[bytes, bytes], principal: str | None = None) -> Seen:
        """End a session."""
        return self.request(b"DELETE", b"", *with_usual((HOST,), session, headers), principal=principal)

    def begin(
        self,
        capabilities: JSONObject = STREAMS,
        *,
        revision: str = "2025-11-25",
        principal: str | None = None,
        address: str | None = None,
    ) -> bytes:
        """Open a session and return its id."""
        seen = self.post(initialize(capabilities, revision=revision), principal=principal, address=address)
        assert seen.status == 200
        session = seen.headers[b"mcp-session-id"]
        assert self.post(Notification(INITIALIZED), session, principal=principal).status == 202
        return session

    # ----------------------------------------------------------------------------------------------------- multiplexed

    def connect(
        self, framing: Framing = Framing.LINES, principal: str | None = None, address: str | None = None
    ) -> Seen:
        """Accept a multiplexed connection."""
        seen = self._open(framing)
        place = None if address is None else Address(address)
        self.submit(PeerConnected(seen.connection_id, framing, named(principal), place))
        return seen

    def greet(
        self,
        capabilities: JSONObject = STREAMS,
        *,
        framing: Framing = Framing.LINES,
        principal: str | None = None,
        address: str | None = None,
        revision: str = "2025-11-25",
    ) -> Seen:
        """Accept a multiplexed connection and shake hands on it."""
        seen = self.connect(framing, principal, address)
        self.send(seen, initialize(capabilities, revision=revision), Notification(INITIALIZED))
        [answer] = seen.take()
        assert isinstance(answer, Response)
        return seen

    def send(self, seen: Seen, *messages: Sent) -> None:
        """Let messages of a peer arrive: as lines in one chunk, or one after another."""
        if seen.framing is Framing.LINES:
            self.feed(seen, b"".join(encoded(message) + b"\n" for message in messages))
        else:
            for message in messages:
                self.feed(seen, encoded(message))

    def feed(self, seen: Seen, data: bytes) -> list[ServerEffect]:
        """Let bytes of a peer arrive."""
        return self.submit(BytesReceived(seen.connection_id, data, self.entropy()))

    def end(self, seen: Seen) -> list[ServerEffect]:
        """Let a peer say that it will send nothing more."""
        seen.silent = True
        return self.submit(EndOfFile(seen.connection_id, self.entropy()))

    def lose(self, seen: Seen) -> list[ServerEffect]:
        """Let a connection break."""
        lost = ConnectionLost(seen.connection_id)
        seen.over = seen.over or lost  # from now on nothing may be ordered for it
        return self.submit(lost)

    def _open(self, framing: Framing, *, slow: bool = False) -> Seen:
        connection_id = ConnectionId(len(self.seen) + 1)
        self.seen[connection_id] = Seen(connection_id, framing, slow=slow)
        return self.seen[connection_id]

    # ---------------------------------------------------------------------------------------------------- application

    def heard(self, kind: type[Told]) -> list[Told]:
        """Return what the application was told of this kind, oldest first."""
        return [effect for effect in self.told if isinstance(effect, kind)]

    @property
    def calls(self) -> list[StartCall]:
        return self.heard(StartCall)

    @property
    def call(self) -> StartCall:
        """The one call that has been started."""
        [call] = self.calls
        return call

    def notify(self, stream_id: StreamId, number: int) -> None:
        """Let the application report progress."""
        self.submit(SendMessage(stream_id, Notification("notifications/progress", {"progress": number})))

    def respond(self, call: StartCall, result: JSONObject | None = None) -> None:
        """Let the application answer."""
        self.submit(Respond(call.stream_id, Response(call.request.id, result or {"content": []})))

    # ------------------------------------------------------------------------------------------------------------ rest

    def assert_at_rest(self, *, sessions: int = 0, peers: Iterable[Seen] = ()) -> None:
        """Check that no connection has left anything behind.

        Args:
            sessions: How many sessions there are, none of them with an open exchange.
            peers: The multiplexed connections that are still open.
        """
        server = self.server
        still = {seen.connection_id for seen in peers}
        assert set(server._peers) == still
        assert set(server._streams._registry.connections) == still
        assert server._http.exchanges == {}
        assert len(server._http.sessions) == sessions
        assert all(not session.exchanges for session in server._http.sessions._sessions.values())
        assert [seen for seen in self.seen.values() if seen.over is None and seen.connection_id not in still] == []


def serving(http: HTTPConfig | None = None, streams: StreamsConfig | None = None) -> Serving:
    """Return a server with these limits and times."""
    config = ServerConfig(identity=IDENTITY, http=http or HTTPConfig(), streams=streams or StreamsConfig())
    return Serving(Server(config))
