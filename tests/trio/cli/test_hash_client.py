"""The demo's client notices what is wrong with what it receives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import final

import pytest
import trio
import trio.testing

from mcpstreams_sansio.wire.jsonrpc import JSONObject
from trio_bindings.app import Call
from trio_bindings.byte_stream import connect_stream, serve_stream
from trio_bindings.cli.files import Total
from trio_bindings.cli.hash_client import CAPABILITIES, HashClient, Tally
from trio_bindings.client import ServerRequest
from trio_bindings.errors import CallError
from trio_bindings.server import open_server

MESSAGES = 3


@final
class Silent:
    """Shows nothing."""

    def show(self, stream: int, received: int) -> None:
        pass

    def show_cuts(self, made: int) -> None:
        pass


async def follow(tool: Callable[[Call], Awaitable[JSONObject]]) -> Tally:
    """Return what the client makes of one call of a tool."""
    async with open_server(tool) as server:

        async def dial() -> trio.abc.Stream:
            await trio.lowlevel.checkpoint()
            ours, theirs = trio.testing.memory_stream_pair()
            server.driver.start_soon(serve_stream, server, theirs)
            return ours

        client = HashClient(MESSAGES, Silent())
        with trio.fail_after(5):
            async with connect_stream(dial, capabilities=CAPABILITIES, on_request=client.answer) as session:
                await client.run(session, 1)
    return client.tally


def tool(*numbers: int, digest: str | None = None) -> Callable[[Call], Awaitable[JSONObject]]:
    """Return a tool that tells lines of these numbers, and a digest over them as a right one would."""

    async def handle(call: Call) -> JSONObject:
        total = Total()
        for number in numbers:
            await call.progress(number, MESSAGES, f"line {number}")
            total.add(f"line {number}")
            if number == MESSAGES // 2 + 1:
                total.add((await call.ask("elicitation/create"))["content"]["word"])  # type: ignore[index, call-overload, arg-type]  # our client's answer is known
        return {"structuredContent": {"digest": digest or total.value()}}

    return handle


async def test_a_right_tool_is_right() -> None:
    assert await follow(tool(1, 2, 3)) == Tally(received=3, answers=1, matching=1, finished=1)


@pytest.mark.parametrize("numbers", [(1, 3, 2), (2, 1, 3), (1, 2, 2)])
async def test_a_message_out_of_its_turn_is_noticed(numbers: tuple[int, ...]) -> None:
    tally = await follow(tool(*numbers))
    assert tally.out_of_order >= 1


async def test_a_wrong_digest_is_noticed() -> None:
    assert (await follow(tool(1, 2, 3, digest="0" * 64))).matching == 0


async def test_what_is_no_message_of_the_tool_is_out_of_order() -> None:
    async def strange(call: Call) -> JSONObject:
        await call.notify("notifications/message", {"level": "info", "data": "hello"})
        return {}

    tally = await follow(strange)
    assert (tally.out_of_order, tally.matching) == (1, 0)


async def test_a_call_without_a_result_is_named() -> None:
    async def fail(call: Call) -> JSONObject:
        await trio.lowlevel.checkpoint()
        raise CallError(-5, "the disk is gone")

    tally = await follow(fail)
    assert tally.failures == ["stream 1: CallFailedError: the disk is gone"]
    assert tally.finished == 1


async def test_only_the_tools_own_question_is_answered() -> None:
    client = HashClient(MESSAGES, Silent())
    with pytest.raises(CallError):
        await client.answer(ServerRequest("elicitation/create", {}, None))
    with pytest.raises(CallError):
        await client.answer(ServerRequest("roots/list", {}, None))
    assert client.tally.answers == 0
