"""A server with a log: nothing happens before it is durable, and a log that fails is an end of new work (rule R9)."""

from __future__ import annotations

import logging

import pytest
import trio

from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.machine import ServerConfig
from mcpstreams_sansio.server.records import LogRecord
from mcpstreams_sansio.wire.jsonrpc import JSONObject
from tests.trio.machines import settle
from tests.trio.peers import DRAFT, connected
from trio_bindings.app import Call
from trio_bindings.server import new_identity, open_server


class SlowLog:
    """Keeps records in a list, when it is allowed to."""

    def __init__(self) -> None:
        self.records: list[LogRecord] = []
        self.may_write = trio.Event()
        self.batches = 0
        self.fails = False

    async def append(self, records: tuple[LogRecord, ...]) -> None:
        await self.may_write.wait()
        if self.fails:
            raise OSError("the disk is full")
        self.batches += 1
        self.records += records


class Counting:
    """A handler that counts its runs."""

    def __init__(self) -> None:
        self.runs = 0

    async def __call__(self, call: Call) -> JSONObject:
        self.runs += 1
        await call.notify("notifications/message", {"level": "info", "data": "x"})
        return {"done": True}


DURABLE = ServerConfig(identity=new_identity(), streams=StreamsConfig(durable=True))


@pytest.mark.rule("R9")
async def test_a_handler_starts_and_a_client_learns_only_when_the_record_is_durable() -> None:
    log, handler = SlowLog(), Counting()
    async with open_server(handler, config=DURABLE, log=log) as server:
        peer = await connected(server, DRAFT)
        await peer.calls(1, name="t")
        await settle()
        assert handler.runs == 0
        with trio.move_on_after(0.02) as scope:
            await peer.hears()
        assert scope.cancelled_caught
        log.may_write.set()
        assert (await peer.hears_answer(1))["result"] == {"done": True}
        assert handler.runs == 1
        assert len(log.records) >= 3
        assert log.batches >= 2


@pytest.mark.rule("R9")
async def test_after_a_failure_of_the_log_nothing_new_is_begun(caplog: pytest.LogCaptureFixture) -> None:
    log, handler = SlowLog(), Counting()
    async with open_server(handler, config=DURABLE, log=log) as server:
        peer = await connected(server, DRAFT)
        log.fails = True
        log.may_write.set()
        with caplog.at_level(logging.ERROR, "trio_bindings"):
            await peer.calls(1, name="t")
            await settle()
        await peer.calls(2, name="t")
        assert "error" in await peer.hears_answer(2)
        assert handler.runs == 0
        assert log.records == []
    assert "the disk is full" in caplog.text
