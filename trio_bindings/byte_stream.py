"""Any `trio.abc.Stream` as a connection of lines: TCP, TLS, Unix sockets, memory (rule M26)."""

from __future__ import annotations

import functools
from typing import assert_never

import trio

from mcpstreams_sansio.connections import EndWriting, Framing, Write
from mcpstreams_sansio.http.messages import SendHead
from mcpstreams_sansio.ids import Principal
from mcpstreams_sansio.server.machine import PeerConnected, ServerConfig
from trio_bindings.app import Handler
from trio_bindings.closing import STREAM_FAILURES, close_politely
from trio_bindings.driver import Connection
from trio_bindings.logs.interface import StreamLog
from trio_bindings.server import LOOPBACK, MAX_CONNECTIONS, NotificationHandler, RunningServer, open_server


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


async def serve_stream(server: RunningServer, stream: trio.abc.Stream, principal: Principal | None = None) -> None:
    """Serve one client on a stream until either side is done with it. The stream belongs to this call.

    Args:
        server: From `open_server`.
        stream: One message a line, both ways.
        principal: Who the client was authenticated as; `None` is nobody in particular (rule R25).
    """
    connection = server.driver.add_connection(server.driver.new_connection_id())
    with server.driver.carry(connection):
        server.driver.submit(PeerConnected(connection.connection_id, Framing.LINES, principal))
        await run_byte_stream(connection, stream)


async def serve_tcp(
    handler: Handler,
    port: int,
    *,
    host: str = LOOPBACK,
    config: ServerConfig | None = None,
    on_notification: NotificationHandler | None = None,
    log: StreamLog | None = None,
    max_connections: int = MAX_CONNECTIONS,
    task_status: trio.TaskStatus[RunningServer] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serve MCP over TCP, one message a line, until cancelled or drained.

    Args:
        handler: Serves every call.
        port: Where to listen; 0 takes a free port, see `RunningServer.ports`.
        host: Address to listen on; by default only this machine can connect.
        config: What the machine may and must do.
        on_notification: Hears what clients announce.
        log: Makes records durable, where `config` says that they are.
        max_connections: Sockets that may be open at a time.
        task_status: `nursery.start(serve_tcp, ...)` returns the server once it listens.
    """
    async with open_server(
        handler, config=config, on_notification=on_notification, log=log, max_connections=max_connections
    ) as server:
        listeners = await server.open_port(port, host)
        task_status.started(server)
        await server.accept(listeners, functools.partial(serve_stream, server))
