"""A server made of the pure core and one plain loop: no Trio, nothing but sockets of the standard library.

A tool is a generator here: it yields what it wants to tell the client and returns the result. `Loop` is the driver.
"""

from __future__ import annotations

import itertools
import json
import logging
import secrets
import selectors
import socket
import threading
import time
from collections.abc import Callable, Generator
from typing import TypeAlias

from mcpstreams_sansio import (
    Address,
    BytesReceived,
    ConnectionId,
    ConnectionLost,
    DeadlineReached,
    DropConnection,
    EndOfFile,
    EndWriting,
    Entropy,
    ErrorResponse,
    Framing,
    HoldMessages,
    JSONObject,
    LocalProtocolError,
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
)
from mcpstreams_sansio.errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from mcpstreams_sansio.wire.streams import read_create

Tool: TypeAlias = Generator[tuple[str, JSONObject], None, JSONObject]
"""Yields notifications, as method and params."""

MAX_PEERS = 100
"""Clients that are connected at a time; another one is turned away."""


class ToolError(Exception):
    """What a tool raises to answer with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Peer:
    """A client's socket, and what is still to be written on it."""

    def __init__(self, connection_id: ConnectionId, connection: socket.socket) -> None:
        connection.setblocking(False)
        self.connection_id = connection_id
        self.connection = connection
        self.unsent = bytearray()
        self.sends_more = True
        self.ending = False

    @property
    def events(self) -> int:
        """What the socket is waited for."""
        return (selectors.EVENT_READ if self.sends_more else 0) | (selectors.EVENT_WRITE if self.unsent else 0)


class Work:
    """A tool at work on a call."""

    def __init__(self, stream_id: StreamId, request_id: RequestId, tool: Tool) -> None:
        self.stream_id = stream_id
        self.request_id = request_id
        self.tool = tool
        self.held = False

    def go_on(self) -> SendMessage | Respond:
        """Let the tool say one thing, or end. Whatever it raises is answered, and nobody else's trouble."""
        try:
            return SendMessage(self.stream_id, Notification(*next(self.tool)))
        except StopIteration as done:
            return Respond(self.stream_id, Response(self.request_id, done.value))
        except ToolError as error:
            return Respond(self.stream_id, ErrorResponse(self.request_id, error.code, str(error)))
        except Exception as error:
            return self.fail(error)

    def fail(self, error: Exception) -> Respond:
        """Log what went wrong, of which the client learns nothing."""
        logging.error("a tool failed", exc_info=error)
        return Respond(self.stream_id, ErrorResponse(self.request_id, INTERNAL_ERROR, "Internal error"))


class Loop:
    """Owns a machine, its sockets and its tools, and does what the machine says."""

    def __init__(self, machine: Server, start_tool: Callable[[Request], Tool], listener: socket.socket) -> None:
        listener.setblocking(False)
        self.machine = machine
        self.start_tool = start_tool
        self.listener = listener
        self.selector = selectors.DefaultSelector()
        self.selector.register(listener, selectors.EVENT_READ)
        self.connection_ids = map(ConnectionId, itertools.count())
        self.peers: dict[ConnectionId, Peer] = {}
        self.works: dict[StreamId, Work] = {}

    def run(self) -> None:
        """Serve for ever."""
        while True:
            self.turn()

    def turn(self) -> None:
        """Wait until there is something to do; let every socket and every tool that can go on take one step."""
        ready = [work for work in self.works.values() if not work.held]
        for key, events in self.selector.select(0 if ready else self.seconds_left()):
            peer = self.peers.get(key.data)
            if key.fileobj is self.listener:
                self.accept()
            elif peer is not None and events & selectors.EVENT_WRITE:
                self.write(peer)
            elif peer is not None:
                self.read(peer)
        for work in ready:
            self.step(work)
        self.tell(DeadlineReached())  # early is harmless

    def seconds_left(self) -> float | None:
        """Return for how long there is nothing to do unless something comes; None is for ever."""
        deadline = self.machine.next_deadline()
        return None if deadline is None else max(0.0, deadline - time.monotonic())

    def tell(self, event: ServerInput) -> None:
        """Tell the machine something, and do what follows: nothing of that tells it anything in its turn."""
        for effect in self.machine.handle(event, time.monotonic()):
            self.carry_out(effect)

    # ---- what happened

    def accept(self) -> None:
        """Serve one more client, one message a line."""
        try:
            connection, (host, _) = self.listener.accept()
        except OSError:  # it has left already
            return
        if len(self.peers) >= MAX_PEERS:
            connection.close()
            return
        peer = Peer(next(self.connection_ids), connection)
        self.peers[peer.connection_id] = peer
        self.watch(peer)
        self.tell(PeerConnected(peer.connection_id, Framing.LINES, address=Address(host)))

    def read(self, peer: Peer) -> None:
        """Tell the machine what a client sent, or that it sends nothing more."""
        entropy = Entropy(secrets.token_bytes(32))
        try:
            data = peer.connection.recv(65_536)
        except BlockingIOError:  # it only looked so
            return
        except OSError:
            self.lose(peer)
            return
        peer.sends_more = bool(data)
        self.watch(peer)
        if data:
            self.tell(BytesReceived(peer.connection_id, data, entropy))
        else:
            self.tell(EndOfFile(peer.connection_id, entropy))

    def write(self, peer: Peer) -> None:
        """Write what the socket takes, and tell the machine once it has taken it all."""
        try:
            sent = peer.connection.send(peer.unsent)
        except BlockingIOError:
            return
        except OSError:
            self.lose(peer)
            return
        del peer.unsent[:sent]
        if peer.unsent:
            return
        if peer.ending:
            self.close(peer)
        else:
            self.watch(peer)
        self.tell(Written(peer.connection_id))

    def lose(self, peer: Peer) -> None:
        """Tell the machine that a connection is gone in both directions."""
        self.close(peer)
        self.tell(ConnectionLost(peer.connection_id))

    def step(self, work: Work) -> None:
        """Let a tool take a step, unless its call is over by now."""
        if work.stream_id not in self.works:
            return
        order = work.go_on()
        try:
            self.tell(order)
        except LocalProtocolError as error:  # JSON cannot carry what the tool said, and the machine changed nothing
            order = work.fail(error)
            self.tell(order)
        if isinstance(order, Respond):
            self.works.pop(work.stream_id, None)

    # ---- what is to be done

    def carry_out(self, effect: ServerEffect) -> None:
        """Do one thing that the machine wants done; a connection that was lost meanwhile wants nothing more."""
        match effect:
            case Write(connection_id, chunks) if peer := self.peers.get(connection_id):
                peer.unsent += b"".join(chunks)
                self.watch(peer)
            case EndWriting(connection_id) if peer := self.peers.get(connection_id):
                peer.ending = True
                if not peer.unsent:
                    self.close(peer)
            case DropConnection(connection_id) if peer := self.peers.get(connection_id):
                self.close(peer)
            case _:
                self.mind_tools(effect)

    def mind_tools(self, effect: ServerEffect) -> None:
        """Start, stop, hold or let go on a tool."""
        match effect:
            case StartCall(stream_id, request):
                self.works[stream_id] = Work(stream_id, request.id, self.start_tool(request))
            case StopCall(stream_id):
                self.works.pop(stream_id, None)
            case HoldMessages(stream_id) if work := self.works.get(stream_id):
                work.held = True
            case SendMore(stream_id) if work := self.works.get(stream_id):
                work.held = False
            case _:
                pass  # HTTP, questions and a durable log are not used here; what is left only informs

    def watch(self, peer: Peer) -> None:
        """Wait for what the socket is wanted for now."""
        if peer.connection in self.selector.get_map():
            self.selector.unregister(peer.connection)
        if peer.events:
            self.selector.register(peer.connection, peer.events, peer.connection_id)

    def close(self, peer: Peer) -> None:
        """Let go of a socket."""
        del self.peers[peer.connection_id]
        peer.sends_more = False
        peer.unsent.clear()
        self.watch(peer)
        peer.connection.close()


# ---------------------------------------------------------------------------------------------- the application's part


def serve(request: Request) -> Tool:
    """Serve one request: here is what the server can do."""
    match request.method, request.params:
        case "tools/list", _:
            return {"tools": [{"name": "count", "description": "Counts aloud.", "inputSchema": {"type": "object"}}]}
        case "tools/call", {"name": "count", "arguments": {"to": int(number)}}:
            for done in range(1, number + 1):
                yield "notifications/message", {"level": "info", "data": f"{done} of {number}"}
            return {"content": [{"type": "text", "text": f"counted to {number}"}]}
        case "tools/call", {"name": "count"}:
            return {"content": [{"type": "text", "text": "count to what?"}], "isError": True}
        case "tools/call", _:
            raise ToolError(INVALID_PARAMS, "there is no such tool")
        case _:
            raise ToolError(METHOD_NOT_FOUND, "Method not found")


# ------------------------------------------------------------------------------------------------- a client, by hand


HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"streams": {}, "experimental": {"mcpstreams/resumable-streams": {}}},
    "clientInfo": {"name": "by hand", "version": "1"},
}


class Client:
    """The other end of a connection, as bare as can be: it shows what is on the wire."""

    def __init__(self, port: int) -> None:
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.lines = self.connection.makefile("rb")
        self.send(id=0, method="initialize", params=HELLO)
        self.receive()
        self.send(method="notifications/initialized")

    def send(self, **message: object) -> None:
        """Send one message."""
        self.connection.sendall(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def receive(self) -> Message:
        """Return the next message."""
        return decode_message(self.lines.readline())

    def close(self) -> None:
        """Lose the connection."""
        self.lines.close()
        self.connection.close()


def show(message: Message) -> None:
    """Print what matters of a message."""
    match message:
        case Notification(method, params):
            print(f"{method} {(params or {}).get('data', '')}".rstrip())
        case Response(request_id, result):
            print("answer to", request_id, result.get("content", result))
        case ErrorResponse(request_id, _, fault):
            print("error for", request_id, fault)
        case Request(_, method):
            print("question", method)


def main() -> None:
    """Make a call, lose its connection, and get the rest on another one; then make a call that fails."""
    identity = ServerIdentity(instance=secrets.token_urlsafe(16), capabilities={"tools": {}})
    with socket.create_server(("127.0.0.1", 0)) as listener:
        loop = Loop(Server(ServerConfig(identity=identity)), serve, listener)
        # A thread, only so that the client can be in the same file.
        threading.Thread(target=loop.run, daemon=True).start()
        port = listener.getsockname()[1]

        client = Client(port)
        client.send(id=1, method="tools/call", params={"name": "count", "arguments": {"to": 5}})
        created = client.receive()
        assert isinstance(created, Notification)
        stream = read_create(created.params)
        for _ in range(2):
            show(client.receive())
        position = 3  # `create` is the first message of a stream, so this is the third
        client.close()
        print("--- the connection is gone")

        client = Client(port)
        ref = {"streamId": stream.stream_id, "resumeToken": stream.resume_token.reveal()}
        client.send(id="again", method="stream/resume", params={**ref, "_meta": {"mcpstreams/after": position}})
        while (message := client.receive()) != Response("again", {}):
            show(message)
        print("--- that was all of it")

        client.send(id=2, method="tools/call", params={"name": "guess"})
        client.receive()  # `create`
        show(client.receive())
        client.close()


if __name__ == "__main__":
    main()
