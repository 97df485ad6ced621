"""Streamable HTTP at the client: one task for each exchange, httpx2 on Trio below."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final, Unpack, final

import trio

from mcpstreams_sansio.client.effects import PauseReading, ResumeReading
from mcpstreams_sansio.client.inputs import ConnectFailed
from mcpstreams_sansio.client.machine import ClientEffect, ClientInput
from mcpstreams_sansio.http.exchange import Endpoint
from mcpstreams_sansio.http.messages import HeadReceived, HTTPRequest, SendRequest
from trio_bindings.client import ClientOptions, ClientSession, open_session
from trio_bindings.driver import Connection, Driver
from trio_bindings.extras import extra
from trio_bindings.keepalive import ask_of_silent_peers
from trio_bindings.outage import Outage

with extra("http"):
    import httpx2

CONNECT_SECONDS: Final = 10.0
"""How long reaching the server may take; how long an answer may take is the machine's business."""

_NOT_REACHED: Final = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
"""What httpx2 raises before anything of a request was sent."""


@final
class HTTPExchanges:
    """Carries out what the machine wants of HTTP.

    Args:
        driver: Owns the machine.
        http: Sends the requests.
        origin: Scheme and authority of the server, to which the machine's targets are relative.
        outage: Is told why the server was not reached.
    """

    def __init__(
        self, driver: Driver[ClientInput, ClientEffect], http: httpx2.AsyncClient, origin: httpx2.URL, outage: Outage
    ) -> None:
        self._driver = driver
        self._http = http
        self._origin = origin
        self._outage = outage
        driver.route(SendRequest, self._begin)
        driver.route(PauseReading, self._pause)
        driver.route(ResumeReading, self._resume)

    def _begin(self, effect: SendRequest) -> None:
        connection = self._driver.add_connection(effect.connection_id)
        self._driver.start_soon(self._carry, connection, effect.request)

    async def _carry(self, exchange: Connection, request: HTTPRequest) -> None:
        with self._driver.carry(exchange):
            try:
                await self._exchange(exchange, request)
            except _NOT_REACHED as error:
                self._outage.note(error)
                self._driver.submit(ConnectFailed(exchange.connection_id))
            except httpx2.RequestError as error:
                self._outage.note(error)
                exchange.lost()

    async def _exchange(self, exchange: Connection, request: HTTPRequest) -> None:
        """Report the response piece by piece."""
        async with self._http.stream(
            request.method.decode(),
            self._origin.copy_with(raw_path=request.target),
            headers=list(request.headers),
            content=request.body,
            extensions={"trace": _note_connection},
        ) as response:
            headers = tuple((name.lower(), value) for name, value in response.headers.raw)
            self._driver.submit(HeadReceived(exchange.connection_id, response.status_code, headers))
            async for data in response.aiter_bytes():
                exchange.received(data)
                # httpx2 tidies up only if it is cancelled while it reads, so nothing else here may be cancelled. The
                # wait has an end all the same: whoever drops the exchange, or ends the driver, sets the event.
                with trio.CancelScope(shield=True):
                    await exchange.wanted.wait()
            exchange.received_eof()

    def _pause(self, effect: PauseReading) -> None:
        if (exchange := self._driver.connection(effect.connection_id)) is not None:
            exchange.wanted = trio.Event()

    def _resume(self, effect: ResumeReading) -> None:
        if (exchange := self._driver.connection(effect.connection_id)) is not None:
            exchange.wanted.set()


async def _note_connection(event: str, info: Mapping[str, Any]) -> None:  # noqa: ASYNC124  # httpx2 awaits it
    """Hear what httpx2 does, for the one moment at which it has a new socket, whatever proxies are in between."""
    if event == "connection.connect_tcp.complete":
        tcp = info["return_value"].get_extra_info("socket")
        if isinstance(tcp, trio.socket.SocketType):  # whoever brings `http` may bring its own network
            ask_of_silent_peers(tcp)


@contextlib.asynccontextmanager
async def connect_http(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    http: httpx2.AsyncClient | None = None,
    **options: Unpack[ClientOptions],
) -> AsyncIterator[ClientSession]:
    """Talk to an MCP server over HTTP for as long as the block runs. Calls survive every disconnection.

    Args:
        url: The server's endpoint.
        headers: What each request carries besides the protocol's own: `{"Authorization": ...}` and the like.
        http: Sends the requests, where its owner wants proxies, certificates or HTTP/2 of its own; it is not closed.
            It must neither limit its connections nor the time of reading.
        **options: What `open_session` takes: `client_info`, `capabilities`, `config` and others.

    Raises:
        ValueError: The URL is none of HTTP, or `headers` cannot be sent or are the protocol's own.
        LocalProtocolError: `client_info` says no name or no version, or `capabilities` are malformed.
    """
    server = httpx2.URL(url)
    if server.scheme not in ("http", "https") or not server.host:
        raise ValueError("the URL of an MCP server begins with http:// or https:// and a host")
    own = tuple((name.lower().encode(), value.encode()) for name, value in (headers or {}).items())
    async with contextlib.AsyncExitStack() as stack:
        if http is None:
            http = await stack.enter_async_context(new_http())
        session = open_session(
            Endpoint(server.raw_path, own),
            lambda driver, outage: HTTPExchanges(driver, http, server, outage),
            **options,
        )
        yield await stack.enter_async_context(session)


def new_http(*, trust_env: bool = True) -> httpx2.AsyncClient:
    """Return what sends requests unless the application brings its own: no limit on streams, none on their length.

    Args:
        trust_env: Use the proxies that the environment names.
    """
    return httpx2.AsyncClient(
        headers={"accept-encoding": "identity"},  # a compressed stream would be held back by whoever compresses it
        limits=httpx2.Limits(max_connections=None),
        timeout=httpx2.Timeout(CONNECT_SECONDS, read=None),
        trust_env=trust_env,
    )
