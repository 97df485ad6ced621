"""A TCP proxy that cuts the connections it carries, at random bytes in both directions. It spares nothing."""

from __future__ import annotations

import random
import struct
from typing import Final, final

import attrs
import trio

from trio_bindings.closing import STREAM_FAILURES

LOOPBACK: Final = "127.0.0.1"

EARLY_BYTES: Final = 400
"""An early cut comes below this offset: the first byte, the handshake, the head of a request or a response."""
EARLY_SHARE: Final = 0.25
"""How many connections are cut early."""
UP_BYTES: Final = 3_000
"""Offset below which what a client sends is cut: requests, acknowledgements, answers."""

_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


@final
@attrs.frozen
class Plan:
    """Where one connection will be cut, whichever comes first, and how."""

    up: int
    """Bytes from the client that still get through."""
    down: int
    """Bytes from the server that still get through."""
    reset: bool
    """Both sides see an error instead of an end."""


@final
class CuttingProxy:
    """Carries connections to a port of this machine and cuts them until there were enough cuts.

    Args:
        port: Where the server listens.
        cuts: How many connections to cut; after that nothing is cut any more.
        down_bytes: Offset below which what the server sends is cut.
        seed: Decides every offset.
    """

    def __init__(self, port: int, cuts: int, down_bytes: int, seed: int) -> None:
        self.made = 0
        """Connections cut so far."""
        self._port = port
        self._cuts = cuts
        self._down_bytes = max(1, down_bytes)
        self._random = random.Random(seed)

    def plan(self) -> Plan:
        """Return where the next connection will be cut."""
        early = self._random.random() < EARLY_SHARE
        return Plan(
            up=self._random.randrange(EARLY_BYTES if early else UP_BYTES),
            down=self._random.randrange(EARLY_BYTES if early else self._down_bytes),
            reset=self._random.random() < 1 / 2,
        )

    async def serve(self, task_status: trio.TaskStatus[int] = trio.TASK_STATUS_IGNORED) -> None:
        """Carry connections until cancelled; report the port on which clients are welcome."""
        listeners = await trio.open_tcp_listeners(0, host=LOOPBACK)
        task_status.started(listeners[0].socket.getsockname()[1])
        await trio.serve_listeners(self._carry, listeners)

    async def _carry(self, client: trio.SocketStream) -> None:
        plan = self.plan()
        async with client:
            try:
                server = await trio.open_tcp_stream(LOOPBACK, self._port)
            except OSError:
                return
            async with server, trio.open_nursery() as nursery:
                nursery.start_soon(self._forward, client, server, plan, plan.up, nursery.cancel_scope)
                nursery.start_soon(self._forward, server, client, plan, plan.down, nursery.cancel_scope)

    async def _forward(
        self,
        source: trio.SocketStream,
        sink: trio.SocketStream,
        plan: Plan,
        allowance: int,
        connection: trio.CancelScope,
    ) -> None:
        """Forward one direction until its end or until its allowance is used up, which is the end of both."""
        try:
            while data := await source.receive_some():
                if len(data) > allowance and self.made < self._cuts:
                    self.made += 1
                    await sink.send_all(data[:allowance])
                    self._prepare_close(source, sink, reset=plan.reset)
                    connection.cancel()
                    return
                await sink.send_all(data)
                allowance = max(0, allowance - len(data))
            await sink.send_eof()
        except STREAM_FAILURES:
            connection.cancel()

    def _prepare_close(self, *streams: trio.SocketStream, reset: bool) -> None:
        if reset:
            for stream in streams:
                stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, _RESET_ON_CLOSE)
