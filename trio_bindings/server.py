"""A server at work: one machine, its driver, and a task for each call of a client (rules R26, R27)."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import TypeAlias, TypedDict, final

import attrs
import trio

from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.http.messages import SendHead
from mcpstreams_sansio.ids import StreamId
from mcpstreams_sansio.server.dispatch import NotificationReceived
from mcpstreams_sansio.server.effects import (
    AskAnswered,
    AskFailed,
    HoldMessages,
    Refused,
    SendMore,
    StartCall,
    StopCall,
    StreamAttached,
    StreamDetached,
    StreamGone,
    WorkInterrupted,
    WriteLog,
)
from mcpstreams_sansio.server.identity import ServerIdentity
from mcpstreams_sansio.server.inputs import Drain, LogFailed, LogWritten, Respond
from mcpstreams_sansio.server.machine import Server, ServerConfig, ServerEffect, ServerInput
from mcpstreams_sansio.server.policies import StreamPolicies
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject, Response
from mcpstreams_sansio.wire.refusals import interrupted_error
from trio_bindings.app import Call, Handler, Work, internal_error, outcome_within
from trio_bindings.driver import Driver
from trio_bindings.entropy import fresh_instance
from trio_bindings.keepalive import ask_of_silent_peers
from trio_bindings.logs.interface import StreamLog
from trio_bindings.once import Once
from trio_bindings.tasks import LimitedTasks

ClientNotificationHandler: TypeAlias = Callable[[NotificationReceived], Awaitable[object]]
"""Hears what clients announce; each in a task of its own."""

MAX_NOTIFICATION_TASKS = 100
"""Notifications of clients that are being handled; above it new ones are dropped and logged: nothing promises them."""

LOOPBACK = "127.0.0.1"
"""Where a server listens unless it is told otherwise: only this machine reaches it."""

MAX_CONNECTIONS = 1_000
"""Sockets that one server keeps open, unless it is told otherwise."""

DRAIN_SECONDS = 5.0
"""How long clients may take to hear that the server stops."""

_logger = logging.getLogger("trio_bindings")


@final
class RunningServer:
    """A server inside its `open_server` block: transports bring it connections, it runs the handler for each call.

    Args:
        driver: Owns the machine; its block is open.
        machine: What the driver owns; here it is only asked, never told.
        handler: Serves the calls.
        on_notification: Hears what clients announce.
        max_connections: Sockets that may be open at a time.
    """

    def __init__(
        self,
        driver: Driver[ServerInput, ServerEffect],
        machine: Server,
        handler: Handler,
        on_notification: ClientNotificationHandler | None,
        max_connections: int,
    ) -> None:
        self.driver = driver
        self.config = machine.config
        self.ports: tuple[int, ...] = ()
        """TCP ports on which it accepts connections."""
        self._machine = machine
        self._handler = handler
        self._on_notification = on_notification
        self._works: dict[StreamId, Work] = {}
        self._listeners = LimitedTasks(driver.nursery, MAX_NOTIFICATION_TASKS)
        self._batches, self._next_batch = trio.open_memory_channel[WriteLog](1)  # one is outstanding (rule R11)
        self.warnings = Once()
        """About requests that are refused although they may be meant well."""
        self._places = max_connections
        self._waits: set[trio.CancelScope] = set()
        self._draining = trio.Event()
        self._drained = trio.Event()
        self._add_routes()

    def _add_routes(self) -> None:
        route = self.driver.route
        route(SendHead, self.driver.queue)
        route(StartCall, self._start_call)
        route(WorkInterrupted, self._end_interrupted)
        route(StopCall, self._stop_call)
        route(AskAnswered, self._settle)
        route(AskFailed, self._settle)
        route(HoldMessages, self._hold)
        route(SendMore, self._send_more)
        route(NotificationReceived, self._notify)
        route(WriteLog, self._write_log)
        for kind in (Refused, StreamAttached, StreamDetached, StreamGone):
            route(kind, self._observe)

    def __repr__(self) -> str:
        ports = ",".join(map(str, self.ports)) or "none"
        return f"<RunningServer ports={ports} calls={len(self._works)}{' draining' if self.is_draining else ''}>"

    # ---------------------------------------------------------------------------------------------------------- calls

    def _start_call(self, effect: StartCall) -> None:
        work = self._works[effect.stream_id] = Work(effect, self.driver.submit, self._machine.abandonment_of)
        self.driver.start_soon(self._run, work)

    def _end_interrupted(self, effect: WorkInterrupted) -> None:
        self.driver.start_soon(self._answer_interrupted, effect)

    async def _answer_interrupted(self, effect: WorkInterrupted) -> None:
        """End a call whose handler went with another process: nothing can go on in the middle of a function."""
        self.driver.submit(Respond(effect.stream_id, interrupted_error(effect.request_id)))

    async def _run(self, work: Work) -> None:
        """Run the handler of one call and answer, unless nobody can receive the answer any more."""
        request_id = work.start.request.id
        try:
            outcome = await outcome_within(work.scope, request_id, self._handler, Call(work))
            if outcome is not None:
                self._respond(work, outcome)
        finally:
            del self._works[work.start.stream_id]

    def _respond(self, work: Work, outcome: Response | ErrorResponse) -> None:
        try:
            self.driver.submit(Respond(work.start.stream_id, outcome))
        except LocalProtocolError as error:  # what the handler returned is no result
            failure = internal_error(work.start.request.id, error)
            self.driver.submit(Respond(work.start.stream_id, failure))

    def _stop_call(self, effect: StopCall) -> None:
        if (work := self._works.get(effect.stream_id)) is not None:
            work.scope.cancel()

    def _settle(self, effect: AskAnswered | AskFailed) -> None:
        if (work := self._works.get(effect.stream_id)) is not None:
            work.settle(effect)

    def _hold(self, effect: HoldMessages) -> None:
        if (work := self._works.get(effect.stream_id)) is not None:
            work.hold()

    def _send_more(self, effect: SendMore) -> None:
        if (work := self._works.get(effect.stream_id)) is not None:
            work.room.set()

    def _notify(self, effect: NotificationReceived) -> None:
        if self._on_notification is not None and not self._listeners.start(self._on_notification, effect):
            _logger.warning("a notification of a client was dropped: too many are being handled")

    def _observe(self, effect: object) -> None:
        _logger.debug("%r", effect)

    # ------------------------------------------------------------------------------------------------------------ log

    def _write_log(self, effect: WriteLog) -> None:
        self._batches.send_nowait(effect)

    async def keep_log(self, log: StreamLog) -> None:
        """Make each batch of records durable and say so, until the log fails (rule R9)."""
        async for batch in self._next_batch:
            try:
                await log.append(batch.records)
            except OSError as error:
                _logger.error("the log failed", exc_info=error)
                self.driver.submit(LogFailed(type(error).__name__))
                return
            self.driver.submit(LogWritten(batch.write_id))

    # -------------------------------------------------------------------------------------------- accepting and ending

    async def open_port(self, port: int, host: str) -> list[trio.SocketListener]:
        """Listen for TCP connections."""
        listeners = await trio.open_tcp_listeners(port, host=host)
        self.ports = tuple(listener.socket.getsockname()[1] for listener in listeners)
        return listeners

    async def accept(
        self, listeners: list[trio.SocketListener], serve: Callable[[trio.SocketStream], Awaitable[object]]
    ) -> None:
        """Serve whoever connects, each in a task of its own, until the server is drained."""
        with self.until_drained():
            await self._accept(listeners, functools.partial(self._serve, serve))
        await self._drained.wait()

    async def _accept(
        self, listeners: list[trio.SocketListener], serve: Callable[[trio.SocketStream], Awaitable[object]]
    ) -> None:
        await trio.serve_listeners(serve, listeners, handler_nursery=self.driver.nursery)

    async def _serve(self, serve: Callable[[trio.SocketStream], Awaitable[object]], stream: trio.SocketStream) -> None:
        if self._places == 0:
            _logger.warning("a connection was refused: too many are open")
            await trio.aclose_forcefully(stream)
            return
        self._places -= 1
        ask_of_silent_peers(stream.socket)
        try:
            await serve(stream)
        finally:
            self._places += 1
            await trio.aclose_forcefully(stream)

    @contextlib.contextmanager
    def until_drained(self) -> Iterator[None]:
        """Run the block at most until the server is drained: for whatever waits for clients that may never come."""
        with trio.CancelScope() as scope:
            self._waits.add(scope)
            if self.is_draining:
                scope.cancel()
            try:
                yield
            finally:
                self._waits.discard(scope)

    @property
    def is_draining(self) -> bool:
        """Whether the server takes nothing new any more."""
        return self._draining.is_set()

    async def drain(self, within: float = DRAIN_SECONDS) -> None:
        """Stop politely: take nothing new and let every client go, so that it comes back elsewhere or later.

        Afterwards `serve_tcp` and `serve_http` return, which ends the calls that are still running.

        Args:
            within: Seconds that the connections may take to end.
        """
        self._draining.set()
        for scope in tuple(self._waits):
            scope.cancel()
        self.driver.submit(Drain())
        with trio.move_on_after(within):
            await self.driver.wait_without_connections()
        self._drained.set()


def new_identity(
    server_info: JSONObject | None = None,
    capabilities: JSONObject | None = None,
    instructions: str | None = None,
) -> ServerIdentity:
    """Return what a server says of itself, under an instance name that no other one has (rule R21.7).

    Args:
        server_info: `name` and `version`.
        capabilities: What the handler serves: `{"tools": {}}` and the like.
        instructions: A hint for the model on the other side.
    """
    identity = ServerIdentity(instance=fresh_instance(), capabilities=capabilities or {}, instructions=instructions)
    return identity if server_info is None else attrs.evolve(identity, server_info=server_info)


class ServerOptions(TypedDict, total=False):
    """The keywords of `open_server`, which describes them, for functions that pass them on."""

    server_info: JSONObject | None
    capabilities: JSONObject | None
    instructions: str | None
    policies: StreamPolicies | None
    config: ServerConfig | None
    on_notification: ClientNotificationHandler | None
    log: StreamLog | None
    max_connections: int


@contextlib.asynccontextmanager
async def open_server(
    handler: Handler,
    *,
    server_info: JSONObject | None = None,
    capabilities: JSONObject | None = None,
    instructions: str | None = None,
    policies: StreamPolicies | None = None,
    config: ServerConfig | None = None,
    on_notification: ClientNotificationHandler | None = None,
    log: StreamLog | None = None,
    max_connections: int = MAX_CONNECTIONS,
) -> AsyncIterator[RunningServer]:
    """Run a server for as long as the block runs; `serve_stream` and others bring it connections.

    Args:
        handler: Serves every call; each runs in a task of its own.
        server_info: `name` and `version` of the application.
        capabilities: What the handler serves: `{"tools": {}}` and the like.
        instructions: A hint for the model on the other side.
        policies: How each method, or each tool, is served.
        config: Limits, times and whatever else is to be chosen. The four above go before what it says of the same.
        on_notification: Hears what clients announce; each in a task of its own.
        log: Makes records durable; given exactly where `config.streams.durable` says that they are.
        max_connections: Sockets that may be open at a time; above it new ones are closed at once.

    Raises:
        ValueError: `log` and `config.streams.durable` contradict each other, or `config.identity.durable` promises
            what no log here can keep: none is read back.
        LocalProtocolError: `capabilities` declare what is declared here, or something is no JSON.
    """
    if config is None:
        config = ServerConfig(identity=new_identity())
    identity = attrs.evolve(
        config.identity,
        server_info=config.identity.server_info if server_info is None else server_info,
        capabilities=config.identity.capabilities if capabilities is None else capabilities,
        instructions=config.identity.instructions if instructions is None else instructions,
    )
    config = attrs.evolve(config, identity=identity, policies=policies or config.policies)
    if config.streams.durable != (log is not None):
        raise ValueError("a log and config.streams.durable belong together")
    if config.identity.durable:
        raise ValueError("config.identity.durable must be false: no log is read back here")
    machine = Server(config)
    async with Driver[ServerInput, ServerEffect](machine) as driver:
        server = RunningServer(driver, machine, handler, on_notification, max_connections)
        if log is not None:
            driver.start_soon(server.keep_log, log)
        yield server
