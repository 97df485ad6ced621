"""A bare MCP client on a stream of lines: what it says is written out, so that a test shows the wire."""

from __future__ import annotations

import json
from typing import Any, final

import trio
import trio.testing

from trio_bindings.byte_stream import serve_stream
from trio_bindings.server import RunningServer

JSON = dict[str, Any]

STOCK: JSON = {}
DRAFT: JSON = {"streams": {}}
MARKED: JSON = {"streams": {}, "experimental": {"mcpstreams/resumable-streams": {}}}


@final
class BarePeer:
    """One connection of a client that does nothing by itself."""

    def __init__(self, server: RunningServer) -> None:
        self._theirs, self.stream = trio.testing.memory_stream_pair()
        self._buffer = b""
        server.driver.nursery.start_soon(serve_stream, server, self._theirs)

    async def says(self, **message: object) -> None:
        await self.stream.send_all(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def hears(self) -> JSON:
        """Return the next message."""
        with trio.fail_after(5):
            while b"\n" not in self._buffer:
                data = await self.stream.receive_some()
                assert data, "the server ended the connection"
                self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: JSON = json.loads(line)
        assert message.pop("jsonrpc") == "2.0"
        return message

    async def hears_method(self, method: str) -> JSON:
        """Return the next message with this method; what comes before is passed over."""
        while (message := await self.hears()).get("method") != method:
            continue
        return message

    async def hears_answer(self, request_id: object) -> JSON:
        """Return the answer to a request; what comes before is passed over."""
        while "method" in (message := await self.hears()) or message["id"] != request_id:
            continue
        return message

    async def hears_end(self) -> None:
        """Wait until the server ends the connection."""
        with trio.fail_after(5):
            while await self.stream.receive_some():
                continue

    async def shakes_hands(self, capabilities: JSON) -> JSON:
        info = {"name": "bare", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info}
        await self.says(id=0, method="initialize", params=params)
        answer = await self.hears()
        await self.says(method="notifications/initialized")
        result: JSON = answer["result"]
        return result

    async def calls(self, request_id: object = 1, **params: object) -> None:
        await self.says(id=request_id, method="tools/call", params=params)

    async def leaves(self) -> None:
        await self.stream.aclose()

    def breaks(self) -> None:
        """Break the connection in both directions, as a network does."""
        self._theirs.receive_stream.close()
        self.stream.receive_stream.close()


async def connected(server: RunningServer, capabilities: JSON) -> BarePeer:
    peer = BarePeer(server)
    await peer.shakes_hands(capabilities)
    return peer
