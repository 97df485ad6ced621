"""The cutting proxy: it really cuts, anywhere, both ways, and only as often as it was told."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest
import trio

from trio_bindings.cli.proxy import EARLY_BYTES, LOOPBACK, UP_BYTES, CuttingProxy, Plan

DATA = bytes(range(256)) * 64


async def echo(stream: trio.SocketStream) -> None:
    with contextlib.suppress(trio.BrokenResourceError):
        async for data in stream:
            await stream.send_all(data)


@contextlib.asynccontextmanager
async def proxied(cuts: int, seed: int = 1, plan: Plan | None = None) -> AsyncIterator[tuple[CuttingProxy, int]]:
    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, echo, 0)
        proxy = CuttingProxy(listeners[0].socket.getsockname()[1], cuts, 5_000, seed)
        if plan is not None:
            proxy.plan = lambda: plan  # type: ignore[method-assign]  # a test decides where to cut
        port = await nursery.start(proxy.serve)
        with trio.fail_after(20):
            yield proxy, port
        nursery.cancel_scope.cancel()


async def exchange(port: int, data: bytes = DATA) -> tuple[bytes, bool]:
    """Send everything and return what came back, and whether the stream broke rather than ended."""
    received = bytearray()
    broken = False
    async with await trio.open_tcp_stream(LOOPBACK, port) as stream, trio.open_nursery() as nursery:

        async def send() -> None:
            with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                await stream.send_all(data)
                await stream.send_eof()

        nursery.start_soon(send)
        try:
            async for some in stream:
                received += some
        except trio.BrokenResourceError:
            broken = True
        nursery.cancel_scope.cancel()
    return bytes(received), broken


async def test_without_cuts_everything_gets_through() -> None:
    async with proxied(cuts=0) as (proxy, port):
        for _ in range(5):
            assert await exchange(port) == (DATA, False)
        assert proxy.made == 0


@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("down", [0, 1, 100, 5_000])
async def test_what_comes_back_is_cut_at_the_very_byte(down: int, reset: bool) -> None:
    async with proxied(1, plan=Plan(up=1_000_000, down=down, reset=reset)) as (proxy, port):
        received, broken = await exchange(port)
        assert broken == reset
        assert len(received) <= down
        assert reset or received == DATA[:down]
        assert proxy.made == 1


@pytest.mark.parametrize("up", [0, 1, 700])
async def test_what_goes_out_is_cut_at_the_very_byte(up: int) -> None:
    async with proxied(1, plan=Plan(up=up, down=1_000_000, reset=False)) as (proxy, port):
        received, _ = await exchange(port)
        assert len(received) <= up
        assert proxy.made == 1


async def test_it_cuts_as_often_as_told_and_then_no_more() -> None:
    async with proxied(cuts=10) as (proxy, port):
        results = [await exchange(port) for _ in range(30)]
        assert proxy.made == 10
        assert sum(received != DATA for received, _ in results) == 10
        assert results[-1] == (DATA, False)


def test_its_plans_are_decided_by_the_seed() -> None:
    def plans(seed: int) -> list[Plan]:
        proxy = CuttingProxy(1, 1, 5_000, seed)
        return [proxy.plan() for _ in range(20)]

    assert plans(1) == plans(1)
    assert plans(1) != plans(2)


def test_it_spares_nothing() -> None:
    plans = [CuttingProxy(1, 1, 50_000, seed).plan() for seed in range(5_000)]
    assert min(plan.up for plan in plans) == min(plan.down for plan in plans) == 0
    assert any(plan.up < EARLY_BYTES and plan.down < EARLY_BYTES for plan in plans)
    assert max(plan.up for plan in plans) > UP_BYTES * 0.9
    assert max(plan.down for plan in plans) > 45_000
    assert {plan.reset for plan in plans} == {True, False}


async def test_a_server_that_is_not_there_is_an_end_to_the_client() -> None:
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(0, host=LOOPBACK)
        unused = listeners[0].socket.getsockname()[1]
        await listeners[0].aclose()
        port = await nursery.start(CuttingProxy(unused, 1, 100, 1).serve)
        with trio.fail_after(5):
            received, _ = await exchange(port, b"")
        assert received == b""
        nursery.cancel_scope.cancel()
