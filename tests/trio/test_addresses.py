"""Where a client is: one place for everybody who cannot be told apart there."""

from __future__ import annotations

import contextlib
import functools
import json

import pytest
import trio

from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.machine import ServerConfig
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Request, encode_message
from tests.sansio.serving import initialize
from trio_bindings.addresses import address_of, place_of
from trio_bindings.app import Call
from trio_bindings.byte_stream import serve_tcp
from trio_bindings.server import LOOPBACK, new_identity


@pytest.mark.rule("R25")
@pytest.mark.parametrize(
    ("host", "place"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("::1", "::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_a_place_is_an_address_or_a_network_of_one_customer(host: str, place: str) -> None:
    assert place_of(host) == place


async def test_the_other_end_of_a_connection_is_somewhere_until_it_leaves() -> None:
    listeners = await trio.open_tcp_listeners(0, host=LOOPBACK)
    async with listeners[0] as listener:
        ours = await trio.open_tcp_stream(LOOPBACK, listener.socket.getsockname()[1])
        theirs = await listener.accept()
        async with ours, theirs:
            assert address_of(theirs) == LOOPBACK
            theirs.socket.close()
            assert address_of(theirs) is None


async def wait_for_ever(call: Call) -> JSONObject:
    await trio.sleep_forever()
    raise AssertionError("nobody wakes it")


async def asks(port: int, host: str, streams: contextlib.AsyncExitStack) -> dict[str, object]:
    """Call from somewhere, then ask for a sign of life; return what is answered first. The connection stays."""
    stream = await streams.enter_async_context(await trio.open_tcp_stream(LOOPBACK, port, local_address=host))
    for message in (initialize({}), Request(1, "tools/call"), Request(2, "ping")):
        await stream.send_all(encode_message(message) + b"\n")
    lines = b""
    while lines.count(b"\n") < 2:
        lines += await stream.receive_some()
    answer: dict[str, object] = json.loads(lines.splitlines()[1])
    return answer


@pytest.mark.rule("R25")
async def test_the_calls_of_one_place_leave_room_for_those_from_elsewhere() -> None:
    config = ServerConfig(identity=new_identity(), streams=StreamsConfig(max_calls_per_principal=1))
    async with trio.open_nursery() as nursery:
        server = await nursery.start(functools.partial(serve_tcp, wait_for_ever, 0, config=config))
        async with contextlib.AsyncExitStack() as streams:
            first, second = [await asks(server.ports[0], LOOPBACK, streams) for _ in range(2)]
            try:
                elsewhere = await asks(server.ports[0], "127.0.0.2", streams)
            except OSError:
                pytest.skip("this machine has one loopback address only")
        nursery.cancel_scope.cancel()
    assert (first["id"], second["id"], elsewhere["id"]) == (2, 1, 2)
    assert second["error"] == {
        "code": -32600,
        "message": "there is no room for another stream",
        "data": {"reason": "too_many_streams"},
    }
