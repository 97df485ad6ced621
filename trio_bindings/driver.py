"""Owns a machine and does what it says: the one place where a machine meets a clock and tasks (rule R26).

`submit` is synchronous: it reads the clock, asks the machine, and carries out or queues every effect before it returns.
Nothing awaits between the machine's answer and its last effect, so no task ever sees half of one. What the machine
wants written waits in the queue of its connection; what it has for the application is put down by the routes of the
driver's owner, which may start tasks and set events, and must never submit anything themselves.
"""

from __future__ import annotations

import contextlib
import enum
import itertools
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from types import TracebackType
from typing import Generic, Protocol, Self, TypeAlias, TypeVar, TypeVarTuple, assert_never, cast, final

import trio

from mcpstreams_sansio.connections import (
    BytesReceived,
    ConnectionLost,
    DeadlineReached,
    DropConnection,
    EndOfFile,
    EndWriting,
    Write,
    Written,
)
from mcpstreams_sansio.http.messages import SendHead
from mcpstreams_sansio.ids import ConnectionId
from trio_bindings.entropy import fresh_entropy

ConnectionInput: TypeAlias = BytesReceived | EndOfFile | ConnectionLost | Written | DeadlineReached
"""What the driver and the transports tell any machine by themselves."""

WriteCommand: TypeAlias = SendHead | Write | EndWriting
"""What a connection's writer is given, in this order: at most one head, any number of writes, the end."""

MAX_COMMANDS = 3
"""Commands that wait for one writer: a head, the one outstanding write and the end (rule R11)."""

InputT = TypeVar("InputT")
EffectT = TypeVar("EffectT")
InputT_contra = TypeVar("InputT_contra", contravariant=True)
EffectT_co = TypeVar("EffectT_co", covariant=True)
KindT = TypeVar("KindT")
ArgumentTs = TypeVarTuple("ArgumentTs")


class Machine(Protocol[InputT_contra, EffectT_co]):
    """What the driver needs of a machine; both sides have this shape."""

    def handle(self, event: InputT_contra, now: float, /) -> Sequence[EffectT_co]:
        """Apply one input and return what is to be done, in order."""
        ...

    def next_deadline(self) -> float | None:
        """Return when the machine wants `DeadlineReached`, on the clock of `now`."""
        ...


@enum.unique
class _Phase(enum.Enum):
    """How far a connection has come, seen from the driver."""

    OPEN = enum.auto()
    """The machine knows it."""

    ENDING = enum.auto()
    """The machine wrote its last byte and hears nothing more of it, save that it is gone."""

    GONE = enum.auto()
    """The machine dropped it or knows that it is lost."""


@enum.unique
class _Life(enum.Enum):
    """How far the driver's block has come."""

    RUNNING = enum.auto()
    LEAVING = enum.auto()
    """The body is done, and the tasks are being cancelled."""

    OVER = enum.auto()


@final
class Connection:
    """One delivery path between its transport, which reads and writes, and the machine.

    Only the transport's tasks use it. Whatever comes after the machine let go of the connection is not reported.

    Args:
        connection_id: The machine's name for it.
        submit: The driver's `submit`.
    """

    def __init__(self, connection_id: ConnectionId, submit: Callable[[ConnectionInput], None]) -> None:
        self.connection_id = connection_id
        self.scope = trio.CancelScope()
        """Everything that the transport does for this connection; cancelled when the machine drops it."""
        self.wanted = trio.Event()
        """Set while the transport should read, and once it need not any more: for those that can stop reading (R23)."""
        self.wanted.set()
        self._submit = submit
        self._phase = _Phase.OPEN
        self._send, self._commands = trio.open_memory_channel[WriteCommand](MAX_COMMANDS)

    @property
    def is_ending(self) -> bool:
        """Whether the end is in the writer's queue: nothing but that follows the `Write` that it was given last."""
        return self._phase is _Phase.ENDING

    def received(self, data: bytes) -> None:
        """Report bytes of the peer."""
        if self._phase is _Phase.OPEN:
            self._submit(BytesReceived(self.connection_id, data, fresh_entropy()))

    def received_eof(self) -> None:
        """Report that the peer sends nothing more."""
        if self._phase is _Phase.OPEN:
            self._submit(EndOfFile(self.connection_id, fresh_entropy()))

    def lost(self) -> None:
        """Report that the connection is gone; a second report is swallowed here."""
        if self._phase is not _Phase.GONE:
            self._phase = _Phase.GONE
            self._submit(ConnectionLost(self.connection_id))

    async def next_command(self) -> WriteCommand:
        """Return what is to be written next, once there is something."""
        return await self._commands.receive()

    def written(self) -> None:
        """Report that the last `Write` is with the transport (rules R5, R11)."""
        if self._phase is not _Phase.GONE:
            self._submit(Written(self.connection_id))

    def queue(self, command: WriteCommand) -> None:
        """Put a command of the machine into the writer's queue.

        Raises:
            trio.WouldBlock: The machine has more than one write outstanding (rule R11).
        """
        match command:
            case SendHead() | Write():
                pass
            case EndWriting():
                self._phase = _Phase.ENDING
            case _:
                assert_never(command)
        self._send.send_nowait(command)

    def drop(self) -> None:
        """Stop everything that goes on for this connection: nobody wants it any more, and nothing is reported of it."""
        self._phase = _Phase.GONE
        self.wanted.set()
        self.scope.cancel()


@final
class Driver(Generic[InputT, EffectT]):
    """Carries out what one machine says, for as long as its `async with` block runs.

    All tasks live inside that block: leaving it cancels and awaits them. If the block is cancelled from outside, its
    body is cancelled first and the tasks only once the body is done: what the body says while it leaves still gets out.
    An exception of the body comes out as it is, not wrapped into a group.

    Args:
        machine: Owned from now on: nobody else may tell it anything.
    """

    nursery: trio.Nursery
    """Where every task of the driver and its owner lives; there is one while the block runs."""

    def __init__(self, machine: Machine[InputT | ConnectionInput, EffectT]) -> None:
        self._machine = machine
        self._routes: dict[type, Callable[[object], None]] = {}
        self._connections: dict[ConnectionId, Connection] = {}
        self._connection_ids = itertools.count(1)
        self._alarm = trio.CancelScope()
        self._leavings = trio.lowlevel.ParkingLot()
        self._block = contextlib.AsyncExitStack()
        self._life = _Life.RUNNING
        self._shields: set[trio.CancelScope] = set()
        self.route(Write, self.queue)
        self.route(EndWriting, self.queue)
        self.route(DropConnection, self._drop)

    # ------------------------------------------------------------------------------------------- machine and routes

    def route(self, kind: type[KindT], method: Callable[[KindT], None]) -> None:
        """Let a method carry out one kind of effect. It must neither submit nor raise."""
        self._routes[kind] = cast("Callable[[object], None]", method)

    @property
    def routed(self) -> frozenset[type]:
        """The kinds of effect that have a route: all of the machine's, or the driver is unfinished."""
        return frozenset(self._routes)

    def submit(self, event: InputT | ConnectionInput) -> None:
        """Tell the machine what happened, or what is wanted, and see to every effect.

        Raises:
            LocalProtocolError: The input is wrong whatever the time; nothing has changed (rule R13).
            trio.ClosedResourceError: The driver's block is over, so nothing could be carried out.
        """
        if self._life is _Life.OVER:
            raise trio.ClosedResourceError
        for effect in self._machine.handle(event, trio.current_time()):
            self._routes[type(effect)](effect)
        deadline = self._machine.next_deadline()
        self._alarm.deadline = math.inf if deadline is None else deadline

    async def _keep_time(self) -> None:
        """Wake the machine at each deadline that it names; `submit` moves the alarm of the sleep that goes on."""
        while True:
            await self._sleep()
            self._alarm = trio.CancelScope()
            self.submit(DeadlineReached())

    async def _sleep(self) -> None:
        with self._alarm:
            await trio.sleep_forever()

    # --------------------------------------------------------------------------------------------------- connections

    def new_connection_id(self) -> ConnectionId:
        """Return a name that no connection of this driver had or will have (rule R13)."""
        return ConnectionId(next(self._connection_ids))

    def add_connection(self, connection_id: ConnectionId) -> Connection:
        """Take a connection into the table, so that the machine can write on it and drop it; `carry` takes it out."""
        connection = Connection(connection_id, self.submit)
        self._connections[connection_id] = connection
        return connection

    @contextlib.contextmanager
    def carry(self, connection: Connection) -> Iterator[None]:
        """Let the block be the transport of a connection: it runs in the connection's scope.

        Leaving the block, in whatever way, is the end of the connection: the machine learns of it if it does not know.
        """
        try:
            with connection.scope:
                yield
        finally:
            connection.lost()
            del self._connections[connection.connection_id]
            self._leavings.unpark_all()

    def connection(self, connection_id: ConnectionId) -> Connection | None:
        """Return a connection, unless its transport is done with it."""
        return self._connections.get(connection_id)

    async def wait_without_connections(self) -> None:
        """Return once no connection is left."""
        while self._connections:
            await self._leavings.park()

    def queue(self, effect: WriteCommand) -> None:
        """Route for everything that a connection's writer carries out, in order."""
        self._connections[effect.connection_id].queue(effect)

    def _drop(self, effect: DropConnection) -> None:
        self._connections[effect.connection_id].drop()

    # --------------------------------------------------------------------------------------------------------- tasks

    def start_soon(self, function: Callable[[*ArgumentTs], Awaitable[object]], *arguments: *ArgumentTs) -> None:
        """Start a task that is cancelled once the body of the driver's block is done, and not before."""
        self.nursery.start_soon(self._run, function, *arguments)

    async def _run(self, function: Callable[[*ArgumentTs], Awaitable[object]], *arguments: *ArgumentTs) -> None:
        with trio.CancelScope(shield=self._life is _Life.RUNNING) as scope:
            self._shields.add(scope)
            try:
                await function(*arguments)
            finally:
                self._shields.discard(scope)

    async def __aenter__(self) -> Self:
        self.nursery = await self._block.enter_async_context(trio.open_nursery())
        self.start_soon(self._keep_time)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._life = _Life.LEAVING
        for connection in self._connections.values():
            connection.drop()
        for scope in self._shields:
            scope.shield = False
        # The nursery is not told of the body's exception: it would wrap it. What a task raised still comes out of here.
        self.nursery.cancel_scope.cancel()
        try:
            await self._block.aclose()
        finally:
            self._life = _Life.OVER
