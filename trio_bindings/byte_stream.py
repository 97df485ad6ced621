"""Any `trio.abc.Stream` as a connection of lines: TCP, TLS, Unix sockets, memory (rule M26)."""

from __future__ import annotations

from typing import assert_never

import trio

from mcpstreams_sansio.connections import EndWriting, Write
from mcpstreams_sansio.http.messages import SendHead
from trio_bindings.closing import STREAM_FAILURES, close_politely
from trio_bindings.driver import Connection


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
