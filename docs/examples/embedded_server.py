"""A server made of the pure core and one plain loop: no Trio, no threads, nothing but sockets of the standard library.

A tool is a generator here: it yields what it wants to tell the client and returns the result. `Loop` is the driver.
"""

from __future__ import annotations

import itertools
import secrets
import selectors
import socket
import time
from collections import deque
from collections.abc import Callable, Generator
from typing import TypeAlias

from mcpstreams_sansio import (
    BytesReceived,
    ConnectionId,
    ConnectionLost,
    DeadlineReached,
    DropConnection,
    EndOfFile,
    EndWriting,
    Entropy,
    Framing,
    HoldMessages,
    JSONObject,
    Message,
    Notification,
    PeerConnected,
    Request,
    RequestId,
    Respond,
    Response,
    SendMessage,
    SendMore,
    Server,
    ServerConfig,
    ServerEffect,
    ServerIdentity,
    ServerInput,
    StartCall,
    StopCall,
    StreamId,
    Write,
    Written,
    decode_message,
    encode_line,
    encode_message,
)
from mcpstreams_sansio.wire.handshake import ClientHello, client_capabilities, initialize_request
from mcpstreams_sansio.wire.meta import own_meta
from mcpstreams_sansio.wire.streams import StreamRef, read_create, resume_request

Tool: TypeAlias = Generator[Notification, None, JSONObject]


class Peer:
    """A client's socket, and what is still to be written on it."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self.connection = connection
        self.unsent = bytearray()
        self.sends_more = True
        self.ending = False

    @property
    def events(self) -> int:
        """What the socket is waited for."""
        return (selectors.EVENT_READ if self.sends_more else 0) | (selectors.EVENT_WRITE if self.unsent else 0)


class Loop:
    """Owns a machine, its sockets and its tools, and does what the machine says."""

    def __init__(self, machine: Server, start_tool: Callable[[Request], Tool]) -> None:
        self.machine = machine
        self.start_tool = start_tool
        self.inputs: deque[ServerInput] = deque()
        self.connection_ids = map(ConnectionId, itertools.count())
        self.peers: dict[ConnectionId, Peer] = {}
        self.tools: dict[StreamId, tuple[RequestId, Tool]] = {}
        self.held: set[StreamId] = set()

    def add(self, connection: socket.socket) -> None:
        """Serve one more client, one message a line."""
        connection_id = next(self.connection_ids)
        self.peers[connection_id] = Peer(connection)
        self.inputs.append(PeerConnected(connection_id, Framing.LINES))

    def turn(self) -> None:
        """Let every socket and every tool take a step, and do what follows from it."""
        self.poll_sockets()
        for stream_id in self.tools.keys() - self.held:
            self.step(stream_id)
        deadline = self.machine.next_deadline()
        if deadline is not None and deadline <= time.monotonic():
            self.inputs.append(DeadlineReached())
        while self.inputs:
            for effect in self.machine.handle(self.inputs.popleft(), time.monotonic()):
                self.carry_out(effect)

    def poll_sockets(self) -> None:
        """Read from every socket that has something, and write to every one that takes something."""
        with selectors.DefaultSelector() as selector:
            for connection_id, peer in self.peers.items():
                if peer.events:
                    selector.register(peer.connection, peer.events, connection_id)
            for key, events in selector.select(timeout=0):
                if events & selectors.EVENT_WRITE:
                    self.write(key.data)
                else:
                    self.read(key.data)

    # ---- what happened

    def read(self, connection_id: ConnectionId) -> None:
        """Tell the machine what a client sent, or that it sends nothing more."""
        peer = self.peers[connection_id]
        entropy = Entropy(secrets.token_bytes(32))
        try:
            data = peer.connection.recv(65_536)
        except OSError:
            self.lose(connection_id)
            return
        peer.sends_more = bool(data)
        self.inputs.append(BytesReceived(connection_id, data, entropy) if data else EndOfFile(connection_id, entropy))

    def write(self, connection_id: ConnectionId) -> None:
        """Write what the socket takes, and tell the machine once it has taken it all."""
        peer = self.peers[connection_id]
        try:
            sent = peer.connection.send(peer.unsent)
        except OSError:
            self.lose(connection_id)
            return
        del peer.unsent[:sent]
        if not peer.unsent:
            self.inputs.append(Written(connection_id))
            if peer.ending:
                self.close(connection_id)

    def lose(self, connection_id: ConnectionId) -> None:
        """Tell the machine that a connection is gone in both directions."""
        self.close(connection_id)
        self.inputs.append(ConnectionLost(connection_id))

    def step(self, stream_id: StreamId) -> None:
        """Let a tool say one thing, or end."""
        request_id, tool = self.tools[stream_id]
        try:
            self.inputs.append(SendMessage(stream_id, next(tool)))
        except StopIteration as done:
            del self.tools[stream_id]
            self.inputs.append(Respond(stream_id, Response(request_id, done.value)))

    # ---- what is to be done

    def carry_out(self, effect: ServerEffect) -> None:
        """Do one thing that the machine wants done; a connection that was lost meanwhile wants nothing more."""
        match effect:
            case Write(connection_id, chunks) if connection_id in self.peers:
                self.peers[connection_id].unsent += b"".join(chunks)
            case EndWriting(connection_id) if connection_id in self.peers:
                self.end(connection_id)
            case DropConnection(connection_id) if connection_id in self.peers:
                self.close(connection_id)
            case _:
                self.mind_tools(effect)

    def mind_tools(self, effect: ServerEffect) -> None:
        """Start, stop, hold or let go a tool."""
        match effect:
            case StartCall(stream_id, request):
                self.tools[stream_id] = (request.id, self.start_tool(request))
            case StopCall(stream_id):
                self.tools.pop(stream_id, None)
            case HoldMessages(stream_id):
                self.held.add(stream_id)
            case SendMore(stream_id):
                self.held.discard(stream_id)
            case _:
                pass  # HTTP, questions and a durable log are not used here; what is left only informs

    def end(self, connection_id: ConnectionId) -> None:
        """Close a connection in good order: what is being written comes first."""
        peer = self.peers[connection_id]
        peer.ending = True
        if not peer.unsent:
            self.close(connection_id)

    def close(self, connection_id: ConnectionId) -> None:
        """Let go of a socket."""
        self.peers.pop(connection_id).connection.close()


# ---------------------------------------------------------------------------------------------- the application's part


def count(request: Request) -> Tool:
    """Count to what the client says, aloud."""
    match request.params:
        case {"arguments": {"to": int(number)}}:
            for done in range(1, number + 1):
                yield Notification("notifications/message", {"level": "info", "data": f"{done} of {number}"})
            return {"content": [{"type": "text", "text": f"counted to {number}"}]}
        case _:
            return {"content": [{"type": "text", "text": "count to what?"}], "isError": True}


# ------------------------------------------------------------------------------------------------- a client, by hand


class Client:
    """The other end of a socket, as bare as can be: it shows what is on the wire."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self.connection, theirs = socket.socketpair()
        self.connection.setblocking(False)
        self.unread = b""
        loop.add(theirs)
        hello = ClientHello("2025-11-25", client_capabilities({}), {"name": "by hand", "version": "0"})
        self.send(initialize_request("hello", hello))
        self.receive()
        self.send(Notification("notifications/initialized"))

    def send(self, message: Message) -> None:
        """Send one message."""
        self.connection.sendall(encode_line(encode_message(message)))

    def receive(self) -> Message:
        """Return the next message; the server works meanwhile."""
        while b"\n" not in self.unread:
            self.loop.turn()
            try:
                self.unread += self.connection.recv(65_536)
            except BlockingIOError:
                continue
        line, _, self.unread = self.unread.partition(b"\n")
        return decode_message(line)


def show(message: Message) -> None:
    """Print what matters of a message."""
    match message:
        case Notification(method, params):
            print(f"{method} {(params or {}).get('data', '')}".rstrip())
        case Response(request_id, result):
            print("answer to", request_id, result.get("content", result))
        case _:
            print(message)


def main() -> None:
    """Make a call, lose its connection, and get the rest on another one."""
    loop = Loop(Server(ServerConfig(identity=ServerIdentity(instance=secrets.token_urlsafe(16)))), count)

    client = Client(loop)
    client.send(Request(1, "tools/call", {"name": "count", "arguments": {"to": 5}}))
    created = client.receive()
    assert isinstance(created, Notification)
    stream = read_create(created.params)
    for _ in range(2):
        show(client.receive())
    position = 3  # `create` is the first message of a stream, so this is the third

    client.connection.close()
    print("--- the connection is gone")

    client = Client(loop)
    client.send(resume_request("again", StreamRef(stream.stream_id, stream.resume_token, own_meta(after=position))))
    message = client.receive()
    while not (isinstance(message, Response) and message.id == "again"):
        show(message)
        message = client.receive()

    client.connection.close()
    while loop.peers:
        loop.turn()


if __name__ == "__main__":
    main()
