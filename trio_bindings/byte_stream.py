"""Any `trio.abc.Stream` as a connection of lines: TCP, TLS, Unix sockets, memory (rule M26)."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias, Unpack, assert_never, final

import trio

from mcpstreams_sansio.client.effects import OpenConnection
from mcpstreams_sansio.client.inputs import Connected, ConnectFailed
from mcpstreams_sansio.client.machine import ClientEffect, ClientInput
from mcpstreams_sansio.connections import EndWriting, Framing, Write
from mcpstreams_sansio.http.messages import SendHead
from mcpstreams_sansio.ids import Address, Principal
from mcpstreams_sansio.server.machine import PeerConnected
from trio_bindings.addresses import address_of
from trio_bindings.app import Handler
from trio_bindings.client import ClientOptions, ClientSession, open_session
from trio_bindings.closing import STREAM_FAILURES, close_politely
from trio_bindings.driver import Connection, Driver
from trio_bindings.keepalive import ask_of_silent_peers
from trio_bindings.outage import Outage
from trio_bindings.server import LOOPBACK, RunningServer, ServerOptions, open_server


async def run_byte_stream(connection: Connection, stream: trio.abc.Stream) -> None:
    """Carry bytes both ways until either side is done, then close the stream. The stream belongs to this call.

    A stream that breaks, in whatever way, ends the call without an exception: losing it is the machine's business.
    """
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_read, connection, stream, nursery.cancel_scope)
            nursery.start_soon(_write, connection, stream, nursery.cancel_scope)
        await close_politely(stream)
    finally:
        await trio.aclose_forcefully(stream)


async def _read(connection: Connection, stream: trio.abc.Stream, scope: trio.CancelScope) -> None:
    try:
        while data := await stream.receive_some():
            connection.received(bytes(data))
    except STREAM_FAILURES:
        scope.cancel()
    else:
        connection.received_eof()


async def _write(connection: Connection, stream: trio.abc.Stream, scope: trio.CancelScope) -> None:
    try:
        while True:
            match await connection.next_command():
                case Write(chunks=chunks):
                    await stream.send_all(b"".join(chunks))
                    connection.written()
                case EndWriting():
                    break
                case SendHead():
                    raise AssertionError("a stream of lines has no heads")
                case never:
                    assert_never(never)
    except STREAM_FAILURES:
        connection.lost()
    scope.cancel()


# -------------------------------------------------------------------------------------------------------------- server


async def serve_stream(
    server: RunningServer,
    stream: trio.abc.Stream,
    principal: Principal | None = None,
    address: Address | None = None,
) -> None:
    """Serve one client on a stream until either side is done with it. The stream belongs to this call.

    Args:
        server: From `open_server`.
        stream: One message a line, both ways.
        principal: Who the client was authenticated as; `None` is nobody in particular (rule R25).
        address: Where it is: whose quotas count if it is nobody in particular. All who are nowhere share theirs.
    """
    connection = server.driver.add_connection(server.driver.new_connection_id())
    with server.driver.carry(connection):
        server.driver.submit(PeerConnected(connection.connection_id, Framing.LINES, principal, address))
        await run_byte_stream(connection, stream)


async def serve_tcp(
    handler: Handler,
    port: int,
    *,
    host: str = LOOPBACK,
    task_status: trio.TaskStatus[RunningServer] = trio.TASK_STATUS_IGNORED,
    **options: Unpack[ServerOptions],
) -> None:
    """Serve MCP over TCP, one message a line, until cancelled or drained.

    Args:
        handler: Serves every call.
        port: Where to listen; 0 takes a free port, see `RunningServer.ports`.
        host: Address to listen on; by default only this machine can connect.
        task_status: `nursery.start(serve_tcp, ...)` returns the server once it listens.
        **options: What `open_server` takes: `server_info`, `capabilities`, `config` and others.

    Raises:
        ValueError: As for `open_server`.
        LocalProtocolError: As for `open_server`.
    """
    async with open_server(handler, **options) as server:
        listeners = await server.open_port(port, host)
        task_status.started(server)
        await server.accept(listeners, functools.partial(_serve_socket, server))


async def _serve_socket(server: RunningServer, stream: trio.SocketStream) -> None:
    await serve_stream(server, stream, address=address_of(stream))


# -------------------------------------------------------------------------------------------------------------- client


Dial: TypeAlias = Callable[[], Awaitable[trio.abc.Stream]]
"""Reaches the server once more. It raises `OSError`, or what a stream raises, if that cannot be done."""


@final
class Dialer:
    """Opens connections when the machine wants one.

    Args:
        open_stream: Reaches the server.
        driver: Owns the machine.
        outage: Is told why the server was not reached.
    """

    def __init__(self, open_stream: Dial, driver: Driver[ClientInput, ClientEffect], outage: Outage) -> None:
        self._open_stream = open_stream
        self._driver = driver
        self._outage = outage
        driver.route(OpenConnection, self._open)

    def _open(self, effect: OpenConnection) -> None:
        connection = self._driver.add_connection(effect.connection_id)
        self._driver.start_soon(self._carry, connection)

    async def _carry(self, connection: Connection) -> None:
        with self._driver.carry(connection):
            try:
                stream = await self._open_stream()
            except (OSError, *STREAM_FAILURES) as error:
                self._outage.note(error)
                self._driver.submit(ConnectFailed(connection.connection_id))
            else:
                self._driver.submit(Connected(connection.connection_id))
                await run_byte_stream(connection, stream)


def connect_stream(open_stream: Dial, **options: Unpack[ClientOptions]) -> AbstractAsyncContextManager[ClientSession]:
    """Talk to an MCP server over streams of lines for as long as the block runs. Calls survive every disconnection.

    Args:
        open_stream: Reaches the server; called again for each reconnection.
        **options: What `open_session` takes: `client_info`, `capabilities`, `config` and others.

    Raises:
        LocalProtocolError: `client_info` says no name or no version, or `capabilities` are malformed.
    """
    return open_session(Framing.LINES, functools.partial(Dialer, open_stream), **options)


def connect_tcp(host: str, port: int, **options: Unpack[ClientOptions]) -> AbstractAsyncContextManager[ClientSession]:
    """Talk to an MCP server over TCP, one message a line, for as long as the block runs; see also `connect_stream`.

    Args:
        host: Name or address of the server; looked up again for each reconnection.
        port: Where it listens.
        **options: What `open_session` takes: `client_info`, `capabilities`, `config` and others.

    Raises:
        LocalProtocolError: `client_info` says no name or no version, or `capabilities` are malformed.
    """
    return connect_stream(functools.partial(_open_tcp, host, port), **options)


async def _open_tcp(host: str, port: int) -> trio.SocketStream:
    stream = await trio.open_tcp_stream(host, port)
    ask_of_silent_peers(stream.socket)
    return stream
