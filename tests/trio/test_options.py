"""What an application says by keyword, whichever function it says it to."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable

import pytest
import trio

from mcpstreams_sansio import LocalProtocolError
from mcpstreams_sansio.server.machine import ServerConfig
from mcpstreams_sansio.server.policies import StreamPolicies, StreamPolicy
from mcpstreams_sansio.wire.jsonrpc import JSONObject
from mcpstreams_sansio.wire.marker import MARKER
from tests.trio.peers import STOCK, BarePeer
from trio_bindings.app import Call
from trio_bindings.byte_stream import connect_tcp, serve_tcp
from trio_bindings.client import ClientOptions, open_session
from trio_bindings.http_client import connect_http
from trio_bindings.http_server import serve_http
from trio_bindings.server import ServerOptions, new_identity, open_server


async def do_nothing(call: Call) -> JSONObject:
    await trio.lowlevel.checkpoint()
    return {}


@pytest.mark.parametrize(("function", "options"), [(open_server, ServerOptions), (open_session, ClientOptions)])
def test_what_is_passed_on_is_what_is_taken(function: Callable[..., object], options: type) -> None:
    taken = [each for each in inspect.signature(function).parameters.values() if each.kind is each.KEYWORD_ONLY]
    passed = {name: hint.__forward_arg__ for name, hint in options.__annotations__.items()}
    assert passed == {each.name: each.annotation for each in taken}


async def test_a_keyword_that_nobody_knows_is_refused() -> None:
    with pytest.raises(TypeError, match="capabilites"):
        await serve_tcp(do_nothing, 0, capabilites={"tools": {}})  # type: ignore[call-arg]  # the mistake to be told
    with pytest.raises(TypeError, match="capabilites"):
        connect_tcp("localhost", 1, capabilites={})  # type: ignore[call-arg]  # the mistake to be told


@pytest.mark.parametrize("transport", ["tcp", "http"])
async def test_a_server_says_of_itself_what_it_was_given(transport: str) -> None:
    info = {"name": "example", "version": "1.2"}

    serve = functools.partial(
        serve_tcp if transport == "tcp" else serve_http,
        do_nothing,
        0,
        server_info=info,
        capabilities={"tools": {}},
        instructions="Ask nicely.",
    )
    async with trio.open_nursery() as nursery:
        port = (await nursery.start(serve)).ports[0]
        connection = (
            connect_tcp("127.0.0.1", port) if transport == "tcp" else connect_http(f"http://127.0.0.1:{port}/mcp")
        )
        with trio.fail_after(5):
            async with connection as session:
                server = await session.connected()
        nursery.cancel_scope.cancel()
    assert server.server_info == info
    assert server.capabilities.extra == {"tools": {}}
    assert server.extra["instructions"] == "Ask nicely."


async def test_what_is_said_by_keyword_goes_before_the_config_and_leaves_the_rest_of_it() -> None:
    config = ServerConfig(
        identity=new_identity({"name": "a", "version": "1"}, {"prompts": {}}, "Wait."), max_line_size=10_000
    )
    policies = StreamPolicies({"tools/call": StreamPolicy(run_on=True)})
    async with open_server(do_nothing, config=config) as server:
        assert server.config == config
    async with open_server(do_nothing, config=config, capabilities={"tools": {}}, policies=policies) as server:
        hello = await BarePeer(server).shakes_hands(STOCK)
        assert server.config.policies == policies
        assert server.config.max_line_size == 10_000
    assert hello["serverInfo"] == {"name": "a", "version": "1"}
    assert hello["instructions"] == "Wait."
    assert "tools" in hello["capabilities"]
    assert "prompts" not in hello["capabilities"]


async def test_what_no_server_can_say_is_refused_before_it_listens() -> None:
    with pytest.raises(LocalProtocolError):
        await serve_tcp(do_nothing, 0, capabilities={"experimental": {MARKER: {}}})
