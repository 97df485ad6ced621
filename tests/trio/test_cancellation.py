"""Cancelled at any step whatever, nothing hangs, nothing fails otherwise, and nothing is left behind (case S1)."""

from __future__ import annotations

import contextlib
import functools
import gc
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
import trio
import trio.testing

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.wire.jsonrpc import JSONObject
from tests.trio.machines import cancel_at_each_step, settle
from trio_bindings.app import Call
from trio_bindings.byte_stream import connect_stream, serve_stream
from trio_bindings.client import ClientSession, ServerRequest
from trio_bindings.http_client import connect_http
from trio_bindings.http_server import serve_http
from trio_bindings.server import LOOPBACK, RunningServer, open_server

CONFIG = ClientConfig(instance="client-of-a-test")


async def handler(call: Call) -> JSONObject:
    await call.progress(1)
    answer = await call.ask("custom/question")
    await call.notify("notifications/message", {"level": "info", "data": "x"})
    return answer


async def answer(_: ServerRequest) -> JSONObject:
    await trio.lowlevel.checkpoint()
    return {"answer": 42}


@contextlib.asynccontextmanager
async def in_memory() -> AsyncIterator[tuple[RunningServer, ClientSession]]:
    async with open_server(handler) as server:

        async def dial() -> trio.abc.Stream:
            await trio.lowlevel.checkpoint()
            ours, theirs = trio.testing.memory_stream_pair()
            server.driver.start_soon(serve_stream, server, theirs)
            return ours

        async with connect_stream(dial, config=CONFIG, on_request=answer) as session:
            yield server, session


async def run_over_memory() -> None:
    async with in_memory() as (server, session):
        async with session.call("tools/call", {"name": "t"}) as call:
            items = [item async for item in call]
            assert len(items) == 2
            assert await call.result() == {"answer": 42}
        await server.drain()


async def run_over_http() -> None:
    async with trio.open_nursery() as nursery:
        server: RunningServer = await nursery.start(serve_http, handler, 0)
        url = f"http://{LOOPBACK}:{server.ports[0]}/mcp"
        async with connect_http(url, config=CONFIG, on_request=answer) as session:
            assert await session.request("tools/call", {"name": "t"}) == {"answer": 42}
        await server.drain()


@pytest.mark.parametrize(("scenario", "stride"), [(run_over_memory, 1), (run_over_http, 11)])
async def test_a_client_and_a_server_can_be_cancelled_at_any_step(
    scenario: Callable[[], Awaitable[None]], stride: int
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert await cancel_at_each_step(scenario, most=2_000, stride=stride) > 50
        gc.collect()


# ------------------------------------------------------------------------------------------------- inside a session


async def make_request(session: ClientSession) -> None:
    await session.request("tools/call", {"name": "t"})


async def iterate(session: ClientSession) -> None:
    async with session.call("tools/call", {"name": "t"}) as call:
        async for _ in call:
            continue
        await call.outcome()


async def leave_early(session: ClientSession) -> None:
    async with session.call("tools/call", {"name": "t"}) as call:
        await anext(call)


async def detach_and_attach(session: ClientSession) -> None:
    async with session.call("tools/call", {"name": "t"}) as call:
        await anext(call)
        handle = call.detach()
    async with session.attach(handle) as call:
        await call.result()


async def meet_and_tell(session: ClientSession) -> None:
    await session.connected()
    await session.notify("notifications/x")


@pytest.mark.rule("R22", "R27")
@pytest.mark.parametrize("use", [make_request, iterate, leave_early, detach_and_attach, meet_and_tell])
async def test_a_session_serves_on_after_whatever_was_cancelled_in_it(
    use: Callable[[ClientSession], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    async with in_memory() as (server, session):

        async def check() -> None:
            with trio.fail_after(5):
                assert await session.request("tools/call", {"name": "t"}) == {"answer": 42}
                await settle()
            assert (session._calls, session._asks) == ({}, {})
            assert server._works == {} or use is detach_and_attach, "only what was detached goes on"

        assert await cancel_at_each_step(functools.partial(use, session), afterwards=check) >= 2
    assert caplog.text == "", "no cancellation is a fault of the application"
