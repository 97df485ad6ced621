"""A client over real sockets against a server that behaves badly."""

from __future__ import annotations

import json
from typing import final

import attrs
import trio
import trio.testing

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.wire.jsonrpc import JSONObject
from trio_bindings.entropy import fresh_instance
from trio_bindings.http_client import connect_http

CONFIG = ClientConfig(instance=fresh_instance(), max_answering=4, max_replies=10)
PINGS = 500
KEPT = CONFIG.max_answering + CONFIG.max_replies
HELLO: JSONObject = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}


def response(status: bytes, body: bytes, media_type: bytes = b"application/json") -> bytes:
    """Return a whole response."""
    head = b"HTTP/1.1 %s\r\ncontent-type: %s\r\ncontent-length: %d\r\n\r\n"
    return head % (status, media_type, len(body)) + body


@final
@attrs.define(eq=False)
class Pinging:
    """Answers a call with pings by the hundred, and takes its time to accept a reply."""

    connections: int = 0
    at_once: int = 0
    most_at_once: int = 0
    """Replies that waited at the same time to be accepted."""
    replies: int = 0
    crowded: trio.Event = attrs.field(factory=trio.Event)
    """As many wait as may."""
    replied: trio.Event = attrs.field(factory=trio.Event)
    """`KEPT` replies have come."""
    go_on: trio.Event = attrs.field(factory=trio.Event)

    async def serve(self, stream: trio.abc.Stream) -> None:
        """Serve one connection."""
        self.connections += 1
        async with stream:
            received = b""
            while data := await stream.receive_some():
                received += data
                head, complete, body = received.partition(b"\r\n\r\n")
                size = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
                if complete and len(body) >= size:
                    await stream.send_all(await self.answer(json.loads(body) if body else {}))
                    received = b""

    async def answer(self, message: dict[str, object]) -> bytes:
        """Return the response to a message."""
        match message:
            case {"method": "initialize", "id": asked}:
                return response(b"200 OK", json.dumps({"jsonrpc": "2.0", "id": asked, "result": HELLO}).encode())
            case {"method": "tools/call", "id": asked}:
                said: list[JSONObject] = [{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in range(PINGS)]
                said.append({"jsonrpc": "2.0", "id": str(asked), "result": {}})
                events = b"".join(b"data: %s\n\n" % json.dumps(each).encode() for each in said)
                return response(b"200 OK", events, b"text/event-stream")
            case {"result": {}}:
                self.replies += 1
                self.at_once += 1
                self.most_at_once = max(self.most_at_once, self.at_once)
                if self.at_once == CONFIG.max_answering:
                    self.crowded.set()
                if self.replies == KEPT:
                    self.replied.set()
                await self.go_on.wait()
                self.at_once -= 1
            case _:
                pass
        return response(b"202 Accepted", b"")


async def test_a_server_that_pings_without_end_is_answered_over_few_connections() -> None:
    server = Pinging()
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
            nursery.start_soon(trio.serve_listeners, server.serve, listeners)
            port = listeners[0].socket.getsockname()[1]
            async with connect_http(f"http://127.0.0.1:{port}/mcp", config=CONFIG) as session:
                assert await session.request("tools/call", {"name": "t"}) == {}
                assert session.counters.dropped_replies == PINGS - KEPT
                await server.crowded.wait()
                await trio.testing.wait_all_tasks_blocked(0.05)
                server.go_on.set()
                await server.replied.wait()
            nursery.cancel_scope.cancel()
    assert server.replies == KEPT
    assert server.most_at_once == CONFIG.max_answering
    assert server.connections <= KEPT + 2
