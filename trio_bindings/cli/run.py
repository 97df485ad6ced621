"""A run of the demo: server, proxy and client in one process."""

from __future__ import annotations

import contextlib
import functools
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Final, final

import attrs
import click
import trio

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.effects import Recovery
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.machine import ServerConfig
from trio_bindings.byte_stream import connect_tcp, serve_tcp
from trio_bindings.cli.display import Display, open_display
from trio_bindings.cli.files import Files
from trio_bindings.cli.hash_client import CAPABILITIES, HashClient
from trio_bindings.cli.hash_tool import HashTool
from trio_bindings.cli.proxy import CuttingProxy
from trio_bindings.cli.summary import Summary
from trio_bindings.client import ClientSession
from trio_bindings.entropy import fresh_instance
from trio_bindings.http_client import connect_http, new_http
from trio_bindings.http_server import serve_http
from trio_bindings.server import LOOPBACK, RunningServer, new_identity

SERVER_INFO: Final = {"name": "mcpstreams-demo", "version": "1"}
CLIENT_INFO: Final = {"name": "mcpstreams-demo-client", "version": "1"}
RETRY_MS: Final = 100
"""Pause asked of a client before it comes back: a demo has no time to lose."""
RETRY_CEILING: Final = 0.5
"""Seconds that the client waits at most, although one connection after another is cut before it was of any use."""
MESSAGE_BYTES: Final = 320
"""About what one message takes on the wire."""
CUT_WITHIN: Final = 0.6
"""Share of the run in which the cuts are made, on average: the rest is left for those that come to nothing."""
USEFUL_BYTES: Final = 1_000
"""What a connection has to carry before it is of any use: handshakes, heads, the announcement of a stream."""
PATIENCE: Final = 300.0
"""Seconds without anything new after which a call is given up."""
PAUSE: Final = RETRY_CEILING
"""Seconds from a connection that was of no use to the next one."""
WATCH_SECONDS: Final = 0.1


@final
@attrs.frozen(kw_only=True)
class Options:
    """What was asked for."""

    transport: str
    cuts: int
    messages: int
    streams: int
    seed: int
    timeout: float

    @property
    def down_bytes(self) -> int:
        """Offset below which a server's bytes are cut, so that all cuts are made in time."""
        expected = self.messages * self.streams * MESSAGE_BYTES
        return int(2 * CUT_WITHIN * expected / max(1, self.cuts))

    @property
    def hopeless(self) -> bool:
        """Whether nothing can come of a run: connections are cut before they are of use, until time is up."""
        return self.down_bytes < USEFUL_BYTES and self.cuts * PAUSE > min(self.timeout, PATIENCE)


def _serve(options: Options, tool: HashTool, port: int) -> Callable[..., Awaitable[None]]:
    """Return what serves the tool, to be started in a nursery."""
    streams = StreamsConfig(retry_ms=RETRY_MS)
    config = ServerConfig(identity=new_identity(), streams=streams)
    serve = serve_http if options.transport == "http" else serve_tcp
    return functools.partial(
        serve, tool.handle, port, server_info=SERVER_INFO, capabilities={"tools": {}}, config=config
    )


@contextlib.asynccontextmanager
async def _connect(options: Options, client: HashClient, port: int) -> AsyncIterator[ClientSession]:
    """Connect to a port of this machine, whatever proxies the environment names."""
    async with new_http(trust_env=False) as http:
        connect = (
            functools.partial(connect_http, f"http://{LOOPBACK}:{port}/mcp", http=http)
            if options.transport == "http"
            else functools.partial(connect_tcp, LOOPBACK, port)
        )
        config = ClientConfig(instance=fresh_instance(), retry_ceiling=RETRY_CEILING, patience=PATIENCE)
        async with connect(
            client_info=CLIENT_INFO, capabilities=CAPABILITIES, config=config, on_request=client.answer
        ) as session:
            yield session


async def _watch(proxy: CuttingProxy, display: Display) -> None:
    """Tell of each cut."""
    shown = 0
    while True:
        await trio.sleep(WATCH_SECONDS)
        if proxy.made > shown:
            shown = proxy.made
            display.show_cuts(shown)


def _interruptions() -> AbstractContextManager[AsyncIterator[int]]:
    """Let the signals that interrupt a run be heard. Before that, and after, they end the process as they always do."""
    return trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM)


async def _cancel_at(interruptions: AsyncIterator[int], scope: trio.CancelScope) -> None:
    async for _ in interruptions:
        scope.cancel()


async def serve_demo(options: Options, files: Files, port: int) -> None:
    """Serve the demo's tool until interrupted, then let its clients go in good order.

    Raises:
        click.ClickException: Nothing can listen on the port.
    """
    refused: OSError | None = None
    with _interruptions() as interruptions:
        async with trio.open_nursery() as nursery:
            try:
                server: RunningServer = await nursery.start(_serve(options, HashTool(files), port))
            except OSError as error:  # raised in here, it would come out as a group
                refused = error
            else:
                where = f"{LOOPBACK}:{server.ports[0]}"
                click.echo(f"serving at {f'http://{where}/mcp' if options.transport == 'http' else where}", err=True)
                await anext(interruptions)
                await server.drain()
    if refused is not None:
        raise click.ClickException(f"port {port} cannot be listened on: {refused.strerror}")


async def run_demo(options: Options, files: Files) -> Summary:
    """Run server, proxy and client until every call has ended, or time is up, or somebody interrupts."""
    tool = HashTool(files)
    start = trio.current_time()
    with _interruptions() as interruptions, open_display(options.streams, options.messages, options.cuts) as display:
        client = HashClient(options.messages, display)
        async with trio.open_nursery() as nursery:
            run = trio.CancelScope(deadline=start + options.timeout)
            nursery.start_soon(_cancel_at, interruptions, run)
            server: RunningServer = await nursery.start(_serve(options, tool, 0))
            proxy = CuttingProxy(server.ports[0], options.cuts, options.down_bytes, options.seed)
            port: int = await nursery.start(proxy.serve)
            nursery.start_soon(_watch, proxy, display)
            async with _connect(options, client, port) as session:
                with run:
                    await client.run(session, options.streams)
            nursery.cancel_scope.cancel()
    tally, attempts = client.tally, session.counters.attempts
    finished = tally.finished == options.streams
    missing = tool.produced - tally.received
    return Summary(
        transport=options.transport,
        seed=options.seed,
        streams=options.streams,
        produced=tool.produced,
        received=tally.received,
        duplicates=session.counters.duplicates,
        out_of_order=tally.out_of_order,
        lost=missing if finished else tally.lost,
        undelivered=0 if finished else missing - tally.lost,
        executions=tool.executions,
        answers=tally.answers,
        matching=tally.matching,
        cuts=proxy.made,
        resumes=attempts[Recovery.RESUME] + attempts[Recovery.CURSOR],
        resends=attempts[Recovery.RESEND],
        polls=attempts[Recovery.POLL],
        seconds=round(trio.current_time() - start, 3),
        failures=tuple(tally.failures),
        finished=finished,
    )
