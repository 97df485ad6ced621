"""`ServerStreams`: every stream of a server as one machine.

An input is checked, then due deadlines are processed, then the input is applied, then what can be written is written,
then room is made if there is none.
The rooms beside this one do the work: `requests` (what a peer wants), `production` (what the application adds),
`lifecycle` and `attachments` (what becomes of a stream), `delivery` (what is written), all of them on one `Registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Never, final

from mcpstreams_sansio.connections import ConnectionLost, DeadlineReached, EndOfFile, Written
from mcpstreams_sansio.ids import ConnectionId, StreamId
from mcpstreams_sansio.server import clock, delivery, durability, lifecycle, paths, production, requests, restart, room
from mcpstreams_sansio.server.checks import SAID_BY_A_PEER, check
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import StreamsEffect
from mcpstreams_sansio.server.inputs import (
    Accept,
    AckReceived,
    AnswerReceived,
    AskPeer,
    CallReceived,
    CancelledReceived,
    CancelReceived,
    ConnectionOpened,
    CursorReceived,
    Drain,
    LogFailed,
    LogWritten,
    OpenStream,
    PeerHeard,
    PollReceived,
    ReleaseStream,
    Reply,
    Respond,
    ResumeReceived,
    ScopeEnded,
    SendMessage,
    StreamsInput,
    WithdrawAsk,
)
from mcpstreams_sansio.server.recovery import Recorded
from mcpstreams_sansio.server.registry import Prepared, Registry, StreamTimer
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.shapes import check_shape, check_time, members_of

_INPUTS: Final = members_of(StreamsInput)


@final
class ServerStreams:
    """The streams of one server, over any number of connections.

    It knows nothing of handshakes, methods or HTTP: whoever embeds it tells it what a peer wants in its own terms, and
    carries out what it wants done. `Server` does so for MCP's transports.

    Args:
        config: Limits and times.
    """

    def __init__(self, config: StreamsConfig | None = None) -> None:
        self._registry = Registry.empty(config or StreamsConfig())

    @property
    def config(self) -> StreamsConfig:
        """The limits and times it was made with."""
        return self._registry.config

    def __repr__(self) -> str:
        return f"<ServerStreams connections={len(self._registry.connections)} streams={self.alive}>"

    @property
    def alive(self) -> int:
        """How many streams are not gone."""
        return self._registry.alive

    @property
    def highest_connection(self) -> int:
        """The highest connection id that was ever opened; -1 before the first (rule R13)."""
        return self._registry.highest_connection

    def check(self, event: StreamsInput) -> None:
        """Refuse what `handle` would refuse, for an embedder that has something of its own to change before.

        Raises:
            LocalProtocolError: The input is wrong whatever the time (rule R13).
        """
        check_shape(event, _INPUTS)
        check(self._registry, event)

    def handle(self, event: StreamsInput, now: float) -> list[StreamsEffect]:
        """Apply one input.

        Args:
            event: What happened, or what the application orders.
            now: Seconds of any clock that never goes back.

        Returns:
            What is to be done, in order.

        Raises:
            LocalProtocolError: The input is wrong whatever the time. Nothing has changed, deadlines included (R13).
        """
        return self.handle_all([event], now)

    def handle_all(self, events: Iterable[StreamsInput], now: float) -> list[StreamsEffect]:
        """Apply several inputs that came at once: streams that they attach to one connection share its next write.

        Where there is no room for another stream, what came first is written first, which may make some.

        Args:
            events: In order; each is asked for once those before it have been applied. One that is wrong is refused
                like in `handle`, and what those before it want done is returned by the next call.
            now: As for `handle`.

        Returns:
            What is to be done, in order.

        Raises:
            LocalProtocolError: An input is wrong whatever the time. Nothing of it has been applied (rule R13).
        """
        registry = self._registry
        for event in events:
            self._apply(event, now)
        self._write()
        batch = registry.gate.next_batch()
        effects, registry.effects = registry.effects, []
        if batch is not None:
            effects.append(batch)
        return effects

    def _apply(self, event: StreamsInput, now: float) -> None:
        registry = self._registry
        check_time(now, registry.now)
        check_shape(event, _INPUTS)
        known = check(registry, event)
        applied = known if isinstance(known, Recorded) else event
        registry.now = now
        if isinstance(event, ConnectionLost):  # nothing that is due may be ordered for it any more
            paths.lose_connection(registry, event)  # once more below, where it finds nothing to do
        clock.run(registry)
        if registry.full:  # what came at once with this, or before one that was refused, finds its place first
            self._write()
        registry.prepared = known if isinstance(known, Prepared) else None
        _APPLY[type(applied)](registry, applied)  # type: ignore[arg-type]  # a test pairs each type with its function
        registry.prepared = None
        if isinstance(event, SAID_BY_A_PEER):
            paths.note_life(registry, event.connection_id)

    def _write(self) -> None:
        """Write what can be written, and make room behind it: what was written just now may go too (rule R10)."""
        delivery.flush(self._registry)
        for stream in room.make(self._registry):
            lifecycle.evict(self._registry, stream)

    def next_deadline(self) -> float | None:
        """Return when `DeadlineReached` is due, on the clock of `now`; None if nothing waits for time."""
        return self._registry.deadlines.next()

    def serves(self, connection_id: ConnectionId) -> bool:
        """Return whether a connection is open: it was neither lost, nor ended, nor dropped."""
        return connection_id in self._registry.connections

    def state_of(self, stream_id: StreamId) -> StreamState | None:
        """Return the state of a stream, or None if it is unknown or forgotten."""
        stream = self._registry.streams.get(stream_id)
        return None if stream is None else stream.state

    def abandonment_of(self, stream_id: StreamId) -> float | None:
        """Return when the work on a call will be cancelled unless its client comes back or asks (rules P32, R27).

        Args:
            stream_id: The stream of the call.

        Returns:
            A moment on the clock of `now`. A poll puts it off, and a return takes it away. None while a connection
            delivers the stream, where the work runs on although abandoned, and where no work is left.
        """
        stream = self._registry.streams.get(stream_id)
        if stream is None or stream.state is not StreamState.DETACHED or stream.policy.run_on:
            return None
        return self._registry.deadlines.when((StreamTimer.ABANDON, stream_id))

    def fork(self) -> ServerStreams:
        """Return an independent copy: for explorers, and for asking what an input would do."""
        other = ServerStreams.__new__(ServerStreams)
        other._registry = self._registry.fork()
        return other

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return a hashable value, equal for machines that will behave alike from `now` on."""
        return self._registry.snapshot(now)


def _release(registry: Registry, event: ReleaseStream) -> None:
    stream = production.find_open(registry, event.stream_id)
    if stream is not None:
        lifecycle.release(registry, stream)


def _hear(_: Registry, __: PeerHeard) -> None:
    """Any word of a peer is a sign of life: that is noted of all of them."""


def _wake(_: Registry, __: DeadlineReached) -> None:
    """What was due is done already."""


_APPLY: Final[dict[type[StreamsInput | Recorded], Callable[[Registry, Never], None]]] = {
    ConnectionOpened: paths.open_connection,
    PeerHeard: _hear,
    ConnectionLost: paths.lose_connection,
    EndOfFile: paths.end_reading,
    Written: paths.note_written,
    Reply: paths.reply,
    Accept: paths.accept,
    ScopeEnded: paths.end_scope,
    Drain: paths.drain,
    CallReceived: requests.receive_call,
    ResumeReceived: requests.receive_resume,
    CursorReceived: requests.receive_cursor,
    PollReceived: requests.receive_poll,
    AckReceived: requests.receive_ack,
    AnswerReceived: requests.receive_answer,
    CancelReceived: requests.receive_cancel,
    CancelledReceived: requests.receive_cancelled,
    SendMessage: production.send_message,
    AskPeer: production.ask_peer,
    WithdrawAsk: production.withdraw_ask,
    Respond: production.respond,
    ReleaseStream: _release,
    OpenStream: lifecycle.announce,
    LogWritten: durability.written,
    LogFailed: durability.failed,
    Recorded: restart.recover,
    DeadlineReached: _wake,
}
