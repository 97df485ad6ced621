"""A client at work: one machine, its driver, and any number of calls that survive disconnections (rules R26, R27)."""

from __future__ import annotations

import contextlib
import itertools
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, TypeAlias, TypedDict, final

import attrs
import trio

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.effects import (
    AskReceived,
    AskWithdrawn,
    AttemptMade,
    CallDetached,
    CallFinished,
    ClientClosed,
    ClientFailed,
    DuplicateDropped,
    GapFound,
    ItemReceived,
    NoticeDropped,
    NoticeReceived,
    Recovery,
    ReplyDropped,
    SaveDue,
    ServerConnected,
    ServerDisconnected,
    ServerNotReached,
    UnclaimedMessage,
    UnreadableReceived,
)
from mcpstreams_sansio.client.failures import NOTHING_SAID, Failure, Said
from mcpstreams_sansio.client.inputs import AnswerAsk, AttachCall, CloseClient, MakeCall, Notify, OpenClient, SavedCall
from mcpstreams_sansio.client.machine import Client, ClientEffect, ClientInput
from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.http.exchange import Endpoint
from mcpstreams_sansio.ids import CallId, RequestId
from mcpstreams_sansio.version import VERSION
from mcpstreams_sansio.wire.handshake import ServerHello
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject, Response
from trio_bindings.app import internal_error, outcome_within
from trio_bindings.calls import CallHandle, ClientCall
from trio_bindings.driver import Driver
from trio_bindings.entropy import fresh_entropy, fresh_instance
from trio_bindings.errors import CallError
from trio_bindings.outage import Outage
from trio_bindings.outcomes import explained
from trio_bindings.tasks import LimitedTasks

MAX_NOTIFICATION_TASKS: Final = 100
"""Notifications of the server that are being handled; above it new ones are dropped and logged: none is promised."""

CLOSE_SECONDS: Final = 1.0
"""How long leaving the session may take, cancelled or not: cancelled calls are told, the server is left in order."""

CLIENT_INFO: Final[JSONObject] = {"name": "mcpstreams", "version": VERSION}
"""What a client says of itself unless it is told otherwise."""

_logger = logging.getLogger("trio_bindings")


@final
@attrs.frozen(eq=False)
class ServerRequest:
    """Something that the server asks of this client: `method` with `params`, inside `call` or, if None, outside any."""

    method: str
    """What it wants."""
    params: JSONObject
    """The arguments; empty where the request has none."""
    call: ClientCall | None
    """The call inside which it asks; None where it belongs to none."""


RequestHandler: TypeAlias = Callable[[ServerRequest], Awaitable[JSONObject]]
"""Answers a request of the server with a result, or raises `CallError`."""

ServerNotificationHandler: TypeAlias = Callable[[NoticeReceived], Awaitable[object]]
"""Hears what the server announces outside any call."""


async def refuse_every_request(_: ServerRequest) -> JSONObject:
    """Answer -32601: what a client does with requests unless it is told otherwise."""
    await trio.lowlevel.checkpoint()
    raise CallError.method_not_found()


class ClientFailedError(Exception):
    """The server cannot be talked to, and trying again would bring the same."""

    def __init__(self, failure: Failure, said: Said = NOTHING_SAID) -> None:
        super().__init__(explained(failure.value, None, said))
        self.failure = failure
        self.said = said


@final
@attrs.define
class Counters:
    """What the client did below its application, counted from the start of the session."""

    duplicates: int = 0
    """Messages that came again and were dropped."""
    dropped_replies: int = 0
    """Replies that were not sent, since the server asked for more than it took."""
    attempts: dict[Recovery, int] = attrs.field(factory=lambda: dict.fromkeys(Recovery, 0))
    """Ways in which calls were brought back."""


@final
class ClientSession:
    """A server as this client's application sees it, whatever happens to the connections.

    Args:
        driver: Owns the machine; its block is open.
        machine: What the driver owns; here it is only asked, never told.
        on_request: Answers what the server asks.
        on_notification: Hears what the server announces.
    """

    def __init__(
        self,
        driver: Driver[ClientInput, ClientEffect],
        machine: Client,
        on_request: RequestHandler,
        on_notification: ServerNotificationHandler | None,
    ) -> None:
        self.counters = Counters()
        self._driver = driver
        self._machine = machine
        self._on_request = on_request
        self._on_notification = on_notification
        self._listeners = LimitedTasks(driver.nursery, MAX_NOTIFICATION_TASKS)
        self._call_ids = itertools.count(1)
        self._calls: dict[CallId, ClientCall] = {}
        self._asks: dict[tuple[CallId | None, RequestId], trio.CancelScope] = {}
        self._server: ServerHello | ClientFailed | None = None
        self.outage = Outage(machine.config)
        """Is told by the transport why the server was not reached."""
        self._met = trio.Event()
        self._closed = trio.Event()
        self._add_routes()

    def _add_routes(self) -> None:
        route = self._driver.route
        route(ItemReceived, self._put)
        route(GapFound, self._put)
        route(SaveDue, self._put)
        route(CallFinished, self._end)
        route(CallDetached, self._end)
        route(AskReceived, self._start_ask)
        route(AskWithdrawn, self._withdraw_ask)
        route(AttemptMade, self._count_attempt)
        route(DuplicateDropped, self._count_duplicate)
        route(ReplyDropped, self._count_dropped_reply)
        route(NoticeReceived, self._notify)
        route(ServerConnected, self._meet)
        route(ServerNotReached, self._miss)
        route(ClientFailed, self._fail)
        route(ClientClosed, self._close)
        for kind in (NoticeDropped, ServerDisconnected, UnclaimedMessage, UnreadableReceived):
            route(kind, self._observe)

    def __repr__(self) -> str:
        return f"<ClientSession link={self._machine.link_state} calls={len(self._calls)}>"

    # ---------------------------------------------------------------------------------------------------------- calls

    def call(self, method: str, params: JSONObject | None = None, *, stored: bool = False) -> ClientCall:
        """Return a call, to be made by entering it: `async with session.call(...) as call`.

        Entering raises `LocalProtocolError` if the call cannot be sent. One that is `stored` survives its process: it
        waits for being saved, as its items say, and an exception that leaves its block does not cancel it.
        """

        def begin(call: ClientCall) -> MakeCall:
            return MakeCall(self._add(call), method, params, fresh_entropy(), stored)

        return self._call(method, begin)

    def attach(self, handle: CallHandle, *, stored: bool = False) -> ClientCall:
        """Return a call that goes on where another was let go or saved, to be entered in the same way."""

        def begin(call: ClientCall) -> AttachCall:
            return AttachCall(self._add(call), handle.saved, fresh_entropy(), stored)

        return self._call(handle.saved.method, begin)

    def _call(self, method: str, begin: Callable[[ClientCall], MakeCall | AttachCall]) -> ClientCall:
        return ClientCall(method, begin, self._driver.submit, self._save, self._forget)

    def _save(self, call_id: CallId) -> SavedCall | None:
        return self._machine.save(call_id, trio.current_time())

    def _add(self, call: ClientCall) -> CallId:
        call_id = CallId(next(self._call_ids))
        self._calls[call_id] = call
        return call_id

    def _forget(self, call_id: CallId) -> None:
        del self._calls[call_id]

    async def request(self, method: str, params: JSONObject | None = None) -> JSONObject:
        """Make a call of which only the result matters, and return it.

        Raises:
            NoResultError: There is none; the type says why.
            LocalProtocolError: The call cannot be sent.
        """
        async with self.call(method, params) as call:
            return await call.result()

    async def notify(self, method: str, params: JSONObject | None = None) -> None:
        """Tell the server something, at most once (rule R25).

        Raises:
            LocalProtocolError: It cannot be sent.
        """
        await trio.lowlevel.checkpoint()
        self._driver.submit(Notify(method, params))

    def _put(self, effect: ItemReceived | GapFound | SaveDue) -> None:
        if (call := self._calls.get(effect.call_id)) is not None:
            call.put(effect)

    def _end(self, effect: CallFinished | CallDetached) -> None:
        if (call := self._calls.get(effect.call_id)) is not None:
            call.end(effect)

    # ----------------------------------------------------------------------------------------- requests of the server

    def _start_ask(self, effect: AskReceived) -> None:
        scope = self._asks[effect.call_id, effect.ask_id] = trio.CancelScope()
        self._driver.start_soon(self._answer, effect, scope)

    async def _answer(self, effect: AskReceived, scope: trio.CancelScope) -> None:
        """Let the application answer, unless the server withdraws the question."""
        key = (effect.call_id, effect.ask_id)
        call = None if effect.call_id is None else self._calls.get(effect.call_id)
        request = ServerRequest(effect.method, effect.params or {}, call)
        try:
            answer = await outcome_within(scope, effect.ask_id, self._on_request, request)
            if answer is not None:
                self._submit_answer(effect, answer)
        finally:
            if self._asks.get(key) is scope:  # a server that numbers its questions may have asked again meanwhile
                del self._asks[key]

    def _submit_answer(self, effect: AskReceived, answer: Response | ErrorResponse) -> None:
        try:
            self._driver.submit(AnswerAsk(effect.call_id, effect.ask_id, answer))
        except LocalProtocolError as error:  # what the application returned is no result
            failure = internal_error(effect.ask_id, error)
            self._driver.submit(AnswerAsk(effect.call_id, effect.ask_id, failure))

    def _withdraw_ask(self, effect: AskWithdrawn) -> None:
        if (scope := self._asks.get((effect.call_id, effect.ask_id))) is not None:
            scope.cancel()

    # ----------------------------------------------------------------------------------------------------- the session

    @property
    def server(self) -> ServerHello | None:
        """What the server said of itself in the latest handshake; None before the first one."""
        return self._server if isinstance(self._server, ServerHello) else None

    async def connected(self) -> ServerHello:
        """Return what the server said of itself, once a handshake is done. Calls need not wait for it.

        Raises:
            ClientFailedError: The server cannot be talked to.
            trio.ClosedResourceError: The session is over.
        """
        await self._met.wait()
        match self._server:
            case ServerHello() as server:
                return server
            case ClientFailed(failure, said):
                raise ClientFailedError(failure, said)
            case None:
                raise trio.ClosedResourceError

    def _meet(self, effect: ServerConnected) -> None:
        self._server = effect.server
        self._met.set()
        self.outage.end()

    def _miss(self, _: ServerNotReached) -> None:
        self.outage.go_on()

    def _fail(self, effect: ClientFailed) -> None:
        self._server = effect
        self._met.set()

    async def close(self) -> None:
        """Part from the server in good order. However that ends, nobody waits for a call any more."""
        try:
            self._driver.submit(CloseClient())
            await self._closed.wait()
        finally:
            for call in self._calls.values():
                call.cut()
            self._met.set()

    def _close(self, _: ClientClosed) -> None:
        self._closed.set()

    def _count_attempt(self, effect: AttemptMade) -> None:
        self.counters.attempts[effect.recovery] += 1

    def _count_duplicate(self, _: DuplicateDropped) -> None:
        self.counters.duplicates += 1

    def _count_dropped_reply(self, _: ReplyDropped) -> None:
        self.counters.dropped_replies += 1

    def _notify(self, effect: NoticeReceived) -> None:
        if self._on_notification is not None and not self._listeners.start(self._on_notification, effect):
            _logger.warning("a notification of the server was dropped: too many are being handled")

    def _observe(self, effect: object) -> None:
        _logger.debug("%r", effect)


class ClientOptions(TypedDict, total=False):
    """The keywords of `open_session`, which describes them, for functions that pass them on."""

    client_info: JSONObject | None
    capabilities: JSONObject | None
    config: ClientConfig | None
    on_request: RequestHandler
    on_notification: ServerNotificationHandler | None


@contextlib.asynccontextmanager
async def open_session(
    transport: Framing | Endpoint,
    add_routes: Callable[[Driver[ClientInput, ClientEffect], Outage], object],
    *,
    client_info: JSONObject | None = None,
    capabilities: JSONObject | None = None,
    config: ClientConfig | None = None,
    on_request: RequestHandler = refuse_every_request,
    on_notification: ServerNotificationHandler | None = None,
) -> AsyncIterator[ClientSession]:
    """Run a client for as long as the block runs; the block's end parts from the server, in `CLOSE_SECONDS` at most.

    Args:
        transport: How messages stand on a connection, or where HTTP requests go.
        add_routes: Gives the driver the routes that open connections, or begin exchanges.
        client_info: `name` and `version` of the application.
        capabilities: What the application can do: `{"sampling": {}}` and the like.
        config: Limits and times.
        on_request: Answers what the server asks; each in a task of its own.
        on_notification: Hears what the server announces; each in a task of its own.

    Raises:
        LocalProtocolError: `client_info` says no name or no version, or `capabilities` are malformed.
    """
    if config is None:
        config = ClientConfig(instance=fresh_instance())
    machine = Client(config, transport, CLIENT_INFO if client_info is None else client_info, capabilities)
    async with Driver[ClientInput, ClientEffect](machine) as driver:
        session = ClientSession(driver, machine, on_request, on_notification)
        add_routes(driver, session.outage)
        driver.submit(OpenClient())
        try:
            yield session
        finally:
            with trio.move_on_after(CLOSE_SECONDS, shield=True):
                await session.close()
