"""Streamable HTTP at the server: h11 on Trio's streams below, the machine's exchanges above (rules R12, R18)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import TypeAlias, Unpack, assert_never

import attrs
import trio

from mcpstreams_sansio.connections import EndWriting, Write
from mcpstreams_sansio.http.checks import check_host, check_origin, first_refusal
from mcpstreams_sansio.http.messages import HTTPRefusal, HTTPRequest, RequestReceived, SendHead, find_header
from mcpstreams_sansio.ids import Address, Principal
from trio_bindings.addresses import address_of
from trio_bindings.app import Handler
from trio_bindings.closing import close_politely
from trio_bindings.driver import Connection
from trio_bindings.entropy import fresh_entropy
from trio_bindings.h11_connection import H11Connection, HTTPLimits, PeerGoneError
from trio_bindings.server import LOOPBACK, RunningServer, ServerOptions, open_server

Authenticate: TypeAlias = Callable[[HTTPRequest], Principal | HTTPRefusal | None]
"""Says by its head who made a request, before its body is read; `None` is nobody in particular (rule R25), and a
refusal is for those who may not come in at all."""

WrapStream: TypeAlias = Callable[[trio.SocketStream], trio.abc.Stream]
"""Makes of an accepted socket what HTTP is spoken on: `functools.partial(trio.SSLStream, ssl_context=..., ...)`."""

_logger = logging.getLogger("trio_bindings")


async def serve_http(
    handler: Handler,
    port: int,
    *,
    host: str = LOOPBACK,
    limits: HTTPLimits | None = None,
    authenticate: Authenticate | None = None,
    wrap_stream: WrapStream | None = None,
    task_status: trio.TaskStatus[RunningServer] = trio.TASK_STATUS_IGNORED,
    **options: Unpack[ServerOptions],
) -> None:
    """Serve MCP over HTTP until cancelled or drained.

    Args:
        handler: Serves every call.
        port: Where to listen; 0 takes a free port, see `RunningServer.ports`.
        host: Address to listen on; by default only this machine can connect. A server for others names the hosts that
            they call it by in `config.http.allowed_hosts`: a request for any other one is answered 403, and logged.
        limits: Sizes and times of HTTP itself.
        authenticate: Says who made a request; asked about those that are not refused for their head.
        wrap_stream: Adds TLS, for example.
        task_status: `nursery.start(serve_http, ...)` returns the server once it listens.
        **options: What `open_server` takes: `server_info`, `capabilities`, `config` and others.

    Raises:
        ValueError: As for `open_server`.
        LocalProtocolError: As for `open_server`.
    """
    async with open_server(handler, **options) as server:

        async def serve(socket: trio.SocketStream) -> None:
            stream = socket if wrap_stream is None else wrap_stream(socket)
            address = address_of(socket)
            await serve_http_stream(server, stream, limits=limits, authenticate=authenticate, address=address)

        listeners = await server.open_port(port, host)
        task_status.started(server)
        await server.accept(listeners, serve)


async def serve_http_stream(
    server: RunningServer,
    stream: trio.abc.Stream,
    *,
    limits: HTTPLimits | None = None,
    authenticate: Authenticate | None = None,
    address: Address | None = None,
) -> None:
    """Serve the exchanges of one stream, one after another, then close it. The stream belongs to this call.

    Args:
        server: From `open_server`.
        stream: What HTTP is spoken on.
        limits: Sizes and times of HTTP itself.
        authenticate: Says who made a request.
        address: Where the client is, for quotas of clients that nobody authenticated (rule R25).
    """
    http = H11Connection(stream, server.config.http.max_body_bytes, limits or HTTPLimits())
    try:
        while await _serve_next(server, http, authenticate, address):
            continue
        await http.let_body_pass()
        await close_politely(stream)
    finally:
        await trio.aclose_forcefully(stream)


async def _serve_next(
    server: RunningServer, http: H11Connection, authenticate: Authenticate | None, address: Address | None
) -> bool:
    """Serve one exchange, and say whether the stream can carry another."""
    received = await _next_request(server, http, authenticate)
    if received is None:
        return False
    request, sender = received
    principal, refusal = (None, sender) if isinstance(sender, HTTPRefusal) else (sender, None)
    exchange = server.driver.add_connection(server.driver.new_connection_id())
    with server.driver.carry(exchange):
        server.driver.submit(
            RequestReceived(exchange.connection_id, request, fresh_entropy(), principal, address, refusal)
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_watch, http, nursery.cancel_scope)
            nursery.start_soon(_respond, exchange, http, nursery.cancel_scope)
    return http.begin_next()


async def _next_request(
    server: RunningServer, http: H11Connection, authenticate: Authenticate | None
) -> tuple[HTTPRequest, Principal | HTTPRefusal | None] | None:
    """Return the next request and who made it, or None if there will be none on this stream.

    The core says whether a body is worth reading: of a request that is refused for its head it is not (case Q1). Nor is
    that of somebody who is not let in.
    """
    try:
        with server.until_drained():
            await http.wait_for_request()
        if server.is_draining:
            return None
        head = await http.read_head()
        _warn_of_strange_names(server, head)
        sender = first_refusal(head, server.config.http) or await _sender_of(head, authenticate, http)
        if isinstance(sender, HTTPRefusal):
            http.pass_over_body()
            return head, sender
        return attrs.evolve(head, body=await http.read_body()), sender
    except PeerGoneError:
        return None


def _warn_of_strange_names(server: RunningServer, head: HTTPRequest) -> None:
    """Say under which name a request was refused: who set up the server may have forgotten it (case Q1, rule H2)."""
    config = server.config.http
    if check_host(head, config) is not None:
        host = find_header(head.headers, b"host") or b""
        server.warnings.warn("a request for the host %r was refused: HTTPConfig.allowed_hosts does not name it", host)
    elif check_origin(head, config) is not None:
        origin = find_header(head.headers, b"origin") or b""
        server.warnings.warn(
            "a request from the origin %r was refused: HTTPConfig.allowed_origins does not name it", origin
        )


async def _sender_of(
    head: HTTPRequest, authenticate: Authenticate | None, http: H11Connection
) -> Principal | HTTPRefusal | None:
    """Return who made a request, or why nobody is let in with it.

    Raises:
        PeerGoneError: The application could not say, and the request was answered so.
    """
    try:
        return None if authenticate is None else authenticate(head)
    except Exception as error:
        _logger.error("a request could not be authenticated", exc_info=error)
    await http.refuse(HTTPStatus.INTERNAL_SERVER_ERROR)
    raise PeerGoneError


async def _watch(http: H11Connection, exchange: trio.CancelScope) -> None:
    """End the exchange as soon as the peer is gone, although nothing may be written for a long time (case J4)."""
    await http.wait_until_gone()
    exchange.cancel()


async def _respond(exchange: Connection, http: H11Connection, scope: trio.CancelScope) -> None:
    """Write the response as the machine tells it, then end the exchange."""
    try:
        while True:
            match await exchange.next_command():
                case SendHead(status=status, headers=headers):
                    http.begin_response(status, headers)
                case Write(chunks=chunks):
                    await http.send_body(chunks, is_last=exchange.is_ending)
                    exchange.written()
                case EndWriting():
                    await http.end_response()
                    break
                case never:
                    assert_never(never)
    except PeerGoneError:
        exchange.lost()
    scope.cancel()
