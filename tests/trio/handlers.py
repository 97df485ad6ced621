"""What a server of these tests does with a call."""

from __future__ import annotations

from typing import final

import trio

from mcpstreams_sansio.wire.jsonrpc import JSONObject
from trio_bindings.app import Call


async def do_nothing(call: Call) -> JSONObject:
    await trio.lowlevel.checkpoint()
    return {}


async def echo(call: Call) -> JSONObject:
    await trio.lowlevel.checkpoint()
    return dict(call.params)


@final
class Waiting:
    """A handler that waits, and says how it ended."""

    def __init__(self) -> None:
        self.started = trio.Event()
        self.cancelled = trio.Event()
        self.go_on = trio.Event()
        self.runs = 0

    async def __call__(self, call: Call) -> JSONObject:
        self.runs += 1
        self.started.set()
        try:
            await self.go_on.wait()
        except trio.Cancelled:
            self.cancelled.set()
            raise
        return {"done": True}
