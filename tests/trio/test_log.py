"""A server with a log: nothing happens before it is durable, and a log that fails is an end of new work (rule R9)."""

from __future__ import annotations

import logging

import attrs
import pytest
import trio

from mcpstreams_sansio.ids import Secret, StreamId, owner_of
from mcpstreams_sansio.server.calls import CallPolicy, Peer, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.inputs import Recover
from mcpstreams_sansio.server.machine import ServerConfig
from mcpstreams_sansio.server.records import LogRecord, StreamOpened, Tags
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


@pytest.mark.rule("R21", "R27")
async def test_a_call_whose_handler_went_with_another_process_is_answered_and_not_run_again() -> None:
    log, handler = SlowLog(), Counting()
    log.may_write.set()
    opened = StreamOpened(
        *(StreamId("s1"), 1, "tools/call", Peer(streams=True), CallPolicy(StreamKind.ANNOUNCED), Tags.NONE, None),
        *(owner_of(None, None), Secret("token").digest()),
    )
    async with open_server(handler, config=DURABLE, log=log) as server:
        server.driver.submit(Recover((opened,)))
        await settle()
        peer = await connected(server, DRAFT)
        await peer.says(id=2, method="stream/resume", params={"streamId": "s1", "resumeToken": "token"})
        answer = await peer.hears_answer(1)
        assert answer["error"]["data"] == {"reason": "interrupted"}
        assert handler.runs == 0


async def test_nobody_is_promised_that_streams_outlive_a_server_whose_log_is_not_read_back() -> None:
    identity = attrs.evolve(DURABLE.identity, durable=True)
    with pytest.raises(ValueError, match=r"config\.identity\.durable must be false"):
        async with open_server(Counting(), config=attrs.evolve(DURABLE, identity=identity), log=SlowLog()):
            pass
