"""Both whole machines, and bytes between them: handshakes, frames, heads and bodies, each way cut anywhere.

Whoever uses it decides what arrives next, how much of it, what is lost, and what either clock shows.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

import attrs

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.inputs import Connected, ConnectFailed, TakeMessages
from mcpstreams_sansio.client.machine import Client, ClientEffect, ClientInput
from mcpstreams_sansio.connections import (
    BytesReceived,
    ConnectionLost,
    DeadlineReached,
    EndOfFile,
    Framing,
    Written,
)
from mcpstreams_sansio.http.exchange import Endpoint
from mcpstreams_sansio.http.messages import HeadReceived, RequestReceived
from mcpstreams_sansio.ids import CallId, ConnectionId, Entropy
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import (
    WriteLog,
)
from mcpstreams_sansio.server.identity import ServerIdentity
from mcpstreams_sansio.server.inputs import LogWritten
from mcpstreams_sansio.server.machine import PeerConnected, Server, ServerConfig, ServerEffect, ServerInput
from mcpstreams_sansio.testing import Peers, Transport, Violation
from mcpstreams_sansio.testing.conversation import ASK_CAPABILITY
from mcpstreams_sansio.wire.jsonrpc import JSONObject
from mcpstreams_sansio.wire.marker import MARKER
from mcpstreams_sansio.wire.strict_json import decode_json, encode_json
from tests.model.byte_people import People
from tests.model.byte_wires import End, Pipe, Side, Wire

INFO: Final[JSONObject] = {"name": "test", "version": "1"}
LIMIT: Final = 128 * 2**10
"""Bytes of one frame: what the applications say is never larger, and comes near."""
PATIENCE: Final = 600.0
"""Seconds within which neither machine gives anything up."""
EVENTS: Final = b"text/event-stream"


@attrs.frozen(kw_only=True)
class Setting:
    """What kind of world it is."""

    framing: Framing = Framing.LINES
    peers: Peers = Peers.MARKER
    line_end: bytes = b"\n"
    """How lines end on the way, whatever the machines write. A lone CR does so in event streams alone."""
    durable: bool = False
    """The server's records go to a disk, which takes its time."""
    dawdling: bool = False
    """Callers do not come back for more by themselves."""
    room: int | None = None
    """Bytes under way in one direction from which on the transport takes no further write; None is any number."""
    window: int = 1_024
    """Entries of a stream that may be unconfirmed."""
    max_unread: int = 10_000
    server_epoch: float = 0.0
    """What the server's clock shows at first."""
    client_epoch: float = 0.0

    @property
    def transport(self) -> Transport:
        """What connections mean."""
        return Transport.HTTP if self.framing is Framing.HTTP else Transport.MULTIPLEXED


@attrs.define(eq=False)
class Clock:
    """What one of the machines goes by: it never goes back, and owes nothing to the other one's."""

    epoch: float
    now: float = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.now = self.epoch

    @property
    def elapsed(self) -> float:
        """Seconds that have passed by it."""
        return self.now - self.epoch


@attrs.define(eq=False)
class ByteWorld:
    """A client and its server, with bytes between them."""

    setting: Setting
    carry_out_of_client: Callable[[ClientEffect, ByteWorld], None]
    """Does what the client wants done."""
    carry_out_of_server: Callable[[ServerEffect, ByteWorld], None]
    client: Client = attrs.field(init=False)
    server: Server = attrs.field(init=False)
    people: People = attrs.field(init=False)
    client_clock: Clock = attrs.field(init=False)
    server_clock: Clock = attrs.field(init=False)
    wires: list[Wire] = attrs.field(factory=list)
    batches: list[WriteLog] = attrs.field(factory=list)
    """Records that are not durable yet."""
    broken: bool = False
    """Something was lost, or a machine took it for lost."""
    torn: set[ConnectionId] = attrs.field(factory=set)
    """Connections, as the client calls them, whose end looks better than it is: what it cuts off cannot be read."""
    closed: bool = False
    to_be_told: deque[Callable[[], None]] = attrs.field(factory=deque)
    telling: bool = False
    """One of the machines is being told something; or was, when something was found wrong."""
    seeds: int = 0
    connections: int = 0

    def __attrs_post_init__(self) -> None:
        setting = self.setting
        streams = StreamsConfig(
            durable=setting.durable,
            window=setting.window,
            max_interval=PATIENCE,
            silent_retention=PATIENCE,
            keep_bytes=2**24,
        )
        identity = ServerIdentity(instance="server-1", server_info=INFO, capabilities={"tools": {}})
        self.server = Server(ServerConfig(identity=identity, streams=streams, max_line_size=LIMIT))
        config = ClientConfig(
            instance="client-1",
            patience=PATIENCE,
            max_unread=setting.max_unread,
            max_line_size=LIMIT,
            max_event_size=LIMIT,
        )
        http = setting.framing is Framing.HTTP
        where = Endpoint(b"/mcp", ((b"host", b"localhost"),)) if http else setting.framing
        self.client = Client(config, where, INFO, {ASK_CAPABILITY: {}})
        self.people = People(setting.transport, setting.peers)
        self.client_clock, self.server_clock = Clock(setting.client_epoch), Clock(setting.server_epoch)

    @property
    def late(self) -> bool:
        """Whether so much time has passed that somebody may have given up."""
        return max(self.client_clock.elapsed, self.server_clock.elapsed) > PATIENCE / 3

    def entropy(self) -> Entropy:
        """Return the next seed."""
        self.seeds += 1
        return Entropy(b"%032d" % self.seeds)

    def fresh_call(self) -> CallId:
        """Return the id of the next call."""
        self.seeds += 1
        return CallId(self.seeds)

    # ------------------------------------------------------------------------------------------------------- machines

    def tell_client(self, *events: ClientInput) -> None:
        """Tell the client, and do what it wants done; its callers come back for more if they do so at once."""
        self.to_be_told += [functools.partial(self._tell_client, event) for event in events]
        self._go_on()

    def tell_server(self, *events: ServerInput) -> None:
        """Tell the server, and do what it wants done."""
        self.to_be_told += [functools.partial(self._tell_server, event) for event in events]
        self._go_on()

    def _go_on(self) -> None:
        """Tell the machines one thing after another: nothing comes between the effects of one of them."""
        if self.telling:
            return
        self.telling = True
        while self.to_be_told:
            self.to_be_told.popleft()()
        self.telling = False
        self._tidy()

    def _tell_client(self, event: ClientInput) -> None:
        for effect in self.client.handle(event, self.client_clock.now):
            self.carry_out_of_client(effect, self)
        if not self.setting.dawdling:
            for call_id in list(self.people.callers):
                self.take(call_id)

    def _tell_server(self, event: ServerInput) -> None:
        for effect in self.server.handle(event, self.server_clock.now):
            self.carry_out_of_server(effect, self)

    def take(self, call_id: CallId) -> None:
        """Let a caller come back for more, if it was given something."""
        caller = self.people.callers.get(call_id)
        if caller is not None and caller.saved is None and caller.taken < caller.position:
            caller = self.people.callers[call_id] = caller.take()
            self.tell_client(TakeMessages(call_id, caller.taken))

    # ---------------------------------------------------------------------------------------------------------- wires

    def of_client(self, connection_id: ConnectionId) -> Wire:
        """Return the connection that the client means."""
        for wire in self.wires:
            if wire.client_id == connection_id and wire.client is Side.OPEN:
                return wire
        raise Violation("lost is lost", "the client does something with a connection that is lost")

    def of_server(self, connection_id: ConnectionId) -> Wire:
        """Return the connection that the server means."""
        for wire in self.wires:
            if wire.server_id == connection_id and wire.server is not Side.GONE:
                return wire
        raise Violation("lost is lost", "the server does something with a connection that is lost")

    def put(self, wire: Wire, pipe: Pipe, chunks: Sequence[bytes]) -> None:
        """Put what a machine writes on its way: with other line ends, perhaps, and no hello says too much."""
        first = not pipe.begun and (wire.request is None or b'"initialize"' in wire.request.body)
        said = [self.known(chunk) if first and not number else chunk for number, chunk in enumerate(chunks)]
        if wire.events or (wire.framing is Framing.LINES and self.setting.line_end != b"\r"):
            said = [chunk.replace(b"\n", self.setting.line_end) for chunk in said]
        pipe.put(said)
        self._report(wire)

    def known(self, hello: bytes) -> bytes:
        """Take out of a hello what the two sides do not know of each other here."""
        if self.setting.peers is Peers.MARKER or b'"protocolVersion"' not in hello:
            return hello
        message = decode_json(hello)
        assert isinstance(message, dict)
        told = message["params" if "params" in message else "result"]["capabilities"]
        told.get("experimental", {}).pop(MARKER, None)
        if self.setting.peers is Peers.STOCK:
            told.pop("streams", None)
        return encode_json(message) + (b"\n" if hello.endswith(b"\n") else b"")

    def _report(self, wire: Wire) -> None:
        """Report the writes that the transport has room for."""
        room = self.setting.room
        if wire.client_writes and wire.client is Side.OPEN and (room is None or wire.up.size <= room):
            wire.client_writes = False
            self.tell_client(Written(wire.client_id))
        if wire.server_writes and wire.server is not Side.GONE and (room is None or wire.down.size <= room):
            wire.server_writes = False
            assert wire.server_id is not None, "it has written something"
            self.tell_server(Written(wire.server_id))

    def arrive(self, wire: Wire) -> None:
        """Let the server hear of a connection."""
        self.connections += 1
        wire.server_id, wire.server = ConnectionId(self.connections), Side.OPEN
        if wire.request is not None:
            self.tell_server(RequestReceived(wire.server_id, wire.request, self.entropy()))
            return
        self.tell_server(PeerConnected(wire.server_id, wire.framing))
        if wire.client is Side.OPEN:
            self.tell_client(Connected(wire.client_id))

    def refuse(self, wire: Wire) -> None:
        """Let nobody hear of a connection: the client is told so, or that it is lost."""
        self.broken = True
        wire.server = Side.GONE
        if wire.client is Side.OPEN:
            wire.client = Side.GONE
            self.tell_client(ConnectFailed(wire.client_id))
        self._tidy()

    def bring_up(self, wire: Wire, size: int) -> None:
        """Let the server have what comes next from its client: the connection, some bytes, or their end."""
        if wire.server is Side.UNBORN:
            self.arrive(wire)
            return
        assert wire.server_id is not None, "it was heard of"
        if wire.up.size:
            self.tell_server(BytesReceived(wire.server_id, wire.up.take(size), self.entropy()))
            self._report(wire)
        elif wire.up.end is End.ENDED:
            wire.up.end = End.SILENT
            self.tell_server(EndOfFile(wire.server_id, self.entropy()))
        else:
            self.tell_server_of_loss(wire)

    def bring_down(self, wire: Wire, size: int) -> None:
        """Let the client have what comes next from its server: a head, some bytes, or their end."""
        if wire.head is not None:
            head, wire.head = wire.head, None
            self.tell_client(HeadReceived(wire.client_id, head.status, head.headers))
        elif wire.down.size:
            self.tell_client(BytesReceived(wire.client_id, wire.down.take(size), self.entropy()))
            self._report(wire)
        elif wire.down.end is End.ENDED:
            wire.down.end = End.BROKEN
            self.tell_client(EndOfFile(wire.client_id, self.entropy()))
            if wire.framing is Framing.HTTP:
                self.lose_for_client(wire)
        else:
            self.lose_for_client(wire)
            self.tell_client(ConnectionLost(wire.client_id))

    def tell_server_of_loss(self, wire: Wire) -> None:
        """Let the server learn that a connection is gone."""
        assert wire.server_id is not None, "it was heard of"
        self.lose_for_server(wire)
        self.tell_server(ConnectionLost(wire.server_id))

    def cut(self, wire: Wire, pipe: Pipe, after: int, end: End) -> None:
        """Lose what is under way in one direction behind so many bytes.

        It may look like an end in good order (a process that died, a proxy that gave up), but not in a body of JSON,
        whose length is known.
        """
        if end is End.ENDED and wire.framing is Framing.HTTP and not wire.events:
            end = End.BROKEN
        if pipe.end is End.OPEN or pipe.size > after:
            self.broken = True
            if end is End.ENDED:
                self.torn.add(wire.client_id)
            if pipe is wire.down and wire.head is not None and not after:
                wire.head = None
            pipe.cut(after, end)
            self._report(wire)

    def lose_for_client(self, wire: Wire) -> None:
        """The client has nothing to do with a connection any more. What it has sent may still arrive."""
        wire.client = Side.GONE
        if wire.up.end is End.OPEN:
            wire.up.end = End.BROKEN

    def lose_for_server(self, wire: Wire) -> None:
        """The server has nothing to do with a connection any more. What it has written may still arrive."""
        wire.server = Side.GONE
        if wire.down.end is End.OPEN:
            wire.down.end = End.BROKEN

    def _tidy(self) -> None:
        """Forget what is over; the server closes for good what it has said all on."""
        for wire in list(self.wires):
            if wire.server is Side.FAREWELL and wire.client is Side.GONE:
                self.tell_server_of_loss(wire)
        self.wires = [wire for wire in self.wires if not wire.over]

    def log(self) -> None:
        """Let the oldest batch of records be durable."""
        self.tell_server(LogWritten(self.batches.pop(0).write_id))

    # ----------------------------------------------------------------------------------------------------------- time

    def next_wait(self) -> float | None:
        """Return how long it is until the next deadline of either machine."""
        waits = [
            deadline - clock.now
            for deadline, clock in (
                (self.client.next_deadline(), self.client_clock),
                (self.server.next_deadline(), self.server_clock),
            )
            if deadline is not None
        ]
        return max(0.0, min(waits)) if waits else None

    def wait(self, seconds: float, *clocks: Clock) -> None:
        """Let some clocks go on, or both."""
        for clock in clocks or (self.client_clock, self.server_clock):
            clock.now += seconds

    def wake(self) -> None:
        """Wake both machines, whether it is time or not."""
        self.tell_client(DeadlineReached())
        self.tell_server(DeadlineReached())
