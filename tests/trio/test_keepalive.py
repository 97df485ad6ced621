"""A peer that vanishes without a word: TCP asks for it on every socket of the bindings, accepted or connected."""

from __future__ import annotations

import socket

import pytest
import trio

from tests.trio.handlers import do_nothing
from trio_bindings.byte_stream import connect_tcp, serve_tcp
from trio_bindings.http_client import connect_http
from trio_bindings.http_server import serve_http
from trio_bindings.keepalive import IDLE_SECONDS, INTERVAL_SECONDS, OPTIONS, PROBES, ask_of_silent_peers
from trio_bindings.server import LOOPBACK, RunningServer


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> list[trio.SocketStream]:
    """Every stream that is made of a socket in this test."""
    made: list[trio.SocketStream] = []
    make = trio.SocketStream.__init__

    def make_and_note(stream: trio.SocketStream, tcp: trio.socket.SocketType) -> None:
        make(stream, tcp)
        made.append(stream)

    monkeypatch.setattr(trio.SocketStream, "__init__", make_and_note)
    return made


def assert_asked(streams: list[trio.SocketStream]) -> None:
    assert len(streams) >= 2, "both ends"
    for stream in streams:
        assert stream.socket.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        for level, name, value in OPTIONS[1:]:
            assert stream.socket.getsockopt(level, name) == value


async def test_both_ends_of_a_connection_of_lines_ask_for_each_other(streams: list[trio.SocketStream]) -> None:
    async with trio.open_nursery() as nursery:
        server: RunningServer = await nursery.start(serve_tcp, do_nothing, 0)
        async with connect_tcp(LOOPBACK, server.ports[0]) as session:
            await session.request("tools/list")
            assert_asked(streams)
        nursery.cancel_scope.cancel()


async def test_both_ends_of_a_connection_of_http_ask_for_each_other(streams: list[trio.SocketStream]) -> None:
    async with trio.open_nursery() as nursery:
        server: RunningServer = await nursery.start(serve_http, do_nothing, 0)
        async with connect_http(f"http://{LOOPBACK}:{server.ports[0]}/mcp") as session:
            await session.request("tools/list")
            assert_asked(streams)
        nursery.cancel_scope.cancel()


async def test_a_socket_that_is_broken_already_is_left_to_say_so_itself() -> None:
    tcp = trio.socket.socket()
    tcp.close()
    ask_of_silent_peers(tcp)
    with pytest.raises(OSError, match="Bad file descriptor"):
        await tcp.send(b"x")


def test_times_are_chosen_where_they_can_be() -> None:
    chosen = [value for level, _, value in OPTIONS if level == socket.IPPROTO_TCP]
    assert set(chosen) <= {IDLE_SECONDS, INTERVAL_SECONDS, PROBES}
    if hasattr(socket, "TCP_KEEPIDLE"):
        assert chosen == [IDLE_SECONDS, INTERVAL_SECONDS, PROBES]
