"""Both machines from inside: what they keep is counted, let go in time, and never more than it may be.

What a machine keeps shows nowhere but in it, nor does a response that it forgot to end, or a change that it told nobody
of. So this looks into the machines, as nothing else of a world does: at every moment of each once, whoever comes there.
What a client keeps of messages shows by what its callers were given and have not taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

from mcpstreams_sansio.client.effects import ClientStreamsEffect
from mcpstreams_sansio.client.inputs import ClientStreamsInput
from mcpstreams_sansio.client.ledger import Ledger
from mcpstreams_sansio.client.streams import ClientStreams
from mcpstreams_sansio.ids import ConnectionId, StreamId
from mcpstreams_sansio.server.calls import StreamKind
from mcpstreams_sansio.server.effects import HoldMessages, StreamAttached, StreamDetached, StreamsEffect
from mcpstreams_sansio.server.inputs import AskPeer, CallReceived, SendMessage, StreamsInput
from mcpstreams_sansio.server.outbox import Phase
from mcpstreams_sansio.server.records import EntryKind, Tags
from mcpstreams_sansio.server.registry import Registry
from mcpstreams_sansio.server.stream import Handler, Reading, Stream
from mcpstreams_sansio.server.streams import ServerStreams
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.testing.machines import is_due
from mcpstreams_sansio.testing.properties import Violation

_MEMORY: Final = "memory within limits"


@final
class WatchedServer:
    """A server's machine that is looked at after every step.

    Args:
        machine: It is changed by nobody else.
    """

    def __init__(self, machine: ServerStreams) -> None:
        self._machine = machine

    @property
    def open_calls(self) -> int:
        """How many calls have a stream that is not gone, or somebody who works on them."""
        registry = self._machine._registry
        return max(registry.alive, len(registry.working))

    def handle(self, event: StreamsInput, now: float) -> Sequence[StreamsEffect]:
        """Take an input; return what is to be done.

        Raises:
            Violation: Something is kept that may not be, or is not counted.
        """
        registry = self._machine._registry
        counted, limit = _counted(registry), registry.config.max_total_bytes
        # What is due is done before the input itself, and may make room.
        full = isinstance(event, CallReceived) and counted[1] >= limit and not is_due(self.next_deadline(), now)
        running = isinstance(event, SendMessage | AskPeer) and _runs(registry, event.stream_id)
        attached = _attached(registry)
        effects = self._machine.handle(event, now)
        if counted != _counted(registry):
            _check_counts(registry)
        _check_room(registry)
        _check_flow(registry)
        _check_bodies(registry)
        _check_told(registry, attached, effects)
        if isinstance(event, CallReceived) and full:
            _check_admission(registry, event.stream_id)
        if isinstance(event, SendMessage | AskPeer) and running:
            _check_window(registry, event.stream_id, effects)
        return effects

    def next_deadline(self) -> float | None:
        """Say when it wants to be woken."""
        return self._machine.next_deadline()

    def fork(self) -> WatchedServer:
        """Return an independent copy."""
        return WatchedServer(self._machine.fork())

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return what decides its future, with times relative to `now`."""
        return self._machine.snapshot(now)


@final
class WatchedClient:
    """A client's machine that is looked at after every step.

    Args:
        machine: It is changed by nobody else.
    """

    def __init__(self, machine: ClientStreams) -> None:
        self._machine = machine

    @property
    def open_calls(self) -> int:
        """How many calls have no outcome, or a cancellation that the server does not know of."""
        return self._machine.open_calls

    def handle(self, event: ClientStreamsInput, now: float) -> Sequence[ClientStreamsEffect]:
        """Take an input; return what is to be done.

        Raises:
            Violation: Something is kept of a call that is over.
        """
        effects = self._machine.handle(event, now)
        _check_names(self._machine._ledger)
        return effects

    def next_deadline(self) -> float | None:
        """Say when it wants to be woken."""
        return self._machine.next_deadline()

    def fork(self) -> WatchedClient:
        """Return an independent copy."""
        return WatchedClient(self._machine.fork())

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return what decides its future, with times relative to `now`."""
        return self._machine.snapshot(now)


def _check_names(ledger: Ledger) -> None:
    """Check that whatever names a call names one that is not over.

    Raises:
        Violation: Something does not.
    """
    named = {*ledger.requests.values(), *ledger.streams.values(), *ledger.errands.values(), *ledger.asks.values()}
    named.update(*ledger.tokens.values(), (call_id for call_id, _ in ledger.held))
    if not named <= ledger.calls.keys():
        raise Violation(_MEMORY, f"something names call {min(named - ledger.calls.keys())}, which is over")


def _counted(registry: Registry) -> tuple[int, int]:
    return registry.alive, registry.total_bytes


def _runs(registry: Registry, stream_id: StreamId) -> bool:
    """Return whether work goes on without having been told to wait."""
    stream = registry.streams.get(stream_id)
    return stream is not None and stream.handler is Handler.RUNNING


def _check_counts(registry: Registry) -> None:
    """Check that all that is kept is counted, and that nothing is kept of a stream that is gone (rules R10, Q7d).

    Raises:
        Violation: It is not, or something is.
    """
    alive = total = 0
    for stream in registry.streams.values():
        log = stream.log
        sizes = [(entry.sequence, len(entry.payload)) for entry in log.entries()]
        size = sum([size for _, size in sizes])
        if stream.state is not StreamState.GONE:
            alive += 1
            total += size
        elif size:
            raise Violation(_MEMORY, f"{stream.stream_id} is gone, and {size} bytes of it are kept")
        unsent = sum([size for sequence, size in sizes if sequence > log.sent])
        unconfirmed = sum([size for sequence, size in sizes if sequence > log.confirmed])
        if (log.size, log.unsent_size, log.unconfirmed_size) != (size, unsent, unconfirmed):
            raise Violation(_MEMORY, f"{stream.stream_id} has {size} bytes and counts {log.size}")
    if (registry.alive, registry.total_bytes) != (alive, total):
        text = f"{alive} streams have {total} bytes, {registry.alive} with {registry.total_bytes} are counted"
        raise Violation(_MEMORY, text)
    if not alive and (registry.asks or registry.resumes or registry.calls or registry.bound):
        raise Violation(_MEMORY, "something names streams, and there is none")


def _attached(registry: Registry) -> dict[StreamId, ConnectionId]:
    """Return which connection delivers which stream."""
    streams = registry.streams.values()
    return {stream.stream_id: stream.attachment.connection_id for stream in streams if stream.attachment is not None}


def _is_alive(registry: Registry, stream_id: StreamId) -> bool:
    stream = registry.streams.get(stream_id)
    return stream is not None and stream.state is not StreamState.GONE


def _check_told(registry: Registry, told: dict[StreamId, ConnectionId], effects: Sequence[StreamsEffect]) -> None:
    """Check that an embedder knows by what it is told who delivers each stream that is not gone.

    Args:
        registry: How it is.
        told: What it knew before.
        effects: What it is told now.

    Raises:
        Violation: It was not told of a change.
    """
    for effect in effects:
        match effect:
            case StreamAttached(stream_id, connection_id):
                told[stream_id] = connection_id
            case StreamDetached(stream_id):
                told.pop(stream_id, None)
            case _:
                pass
    known = {stream_id: path for stream_id, path in told.items() if _is_alive(registry, stream_id)}
    if known != _attached(registry):
        raise Violation("who delivers is told", f"{known} is known, and it is {_attached(registry)}")


def _check_room(registry: Registry) -> None:
    """Check that nothing is kept where a new stream finds no room, unless it may never go (rule R10).

    And that, where there is room, whatever may go would be found: else one machine would not behave like another that
    keeps the same.

    Raises:
        Violation: Something is kept, or would not be found.
    """
    for stream in registry.streams.values():
        found = stream.stream_id in registry.yielding and not registry.full
        if not found and stream.state is not StreamState.GONE and _has_spare(registry, stream):
            text = f"{registry.total_bytes} bytes are kept, and not all that may go of {stream.stream_id} has gone"
            raise Violation(_MEMORY, text if registry.full else f"what may go of {stream.stream_id} is not looked for")


def _has_spare(registry: Registry, stream: Stream) -> bool:
    """Return whether something of a stream could go: if so, it is the oldest such entry that goes first."""
    log, last = stream.log, stream.log.produced
    if stream.state is StreamState.COMPLETED and log.claimable == last:
        return True
    given = last if stream.attachment is None else stream.attachment.position
    sent = log.claimable if stream.tags is Tags.SEQUENCE else log.sent
    anything, notifications = min(log.confirmed, given), min(sent, given)
    least = 0 if stream.complete else registry.config.keep_bytes
    for entry in log.entries():
        if entry.sequence <= anything or (entry.kind is EntryKind.NOTIFICATION and entry.sequence <= notifications):
            return log.size - len(entry.payload) >= least
    return False


def _check_flow(registry: Registry) -> None:
    """Check that no work waits that need not: a client that only asks how far it is would wait for ever (R7, R10).

    Raises:
        Violation: Some does.
    """
    for stream in registry.streams.values():
        if stream.handler is not Handler.HELD:
            continue
        if _ahead(stream) < registry.config.window and stream.log.size < registry.config.window_bytes:
            raise Violation("work that need not wait goes on", f"{stream.stream_id} may go on, and was not told")


def _check_bodies(registry: Registry) -> None:
    """Check that no response of HTTP stays open that has nothing to carry: nobody else ends it (rules R15, H15).

    Raises:
        Violation: One does.
    """
    for path in registry.connections.values():
        if path.phase is Phase.EVENTS and path.idle and not (path.attached or path.has_work or path.holds_back):
            raise Violation("what is over ends", f"the response on {path.connection_id} carries nothing and stays open")


def _check_admission(registry: Registry, stream_id: StreamId) -> None:
    """Check that a call that came while there was no room has no stream that its client could come back for (R10).

    Raises:
        Violation: It has one.
    """
    stream = registry.streams.get(stream_id)
    if stream is not None and stream.policy.kind is not StreamKind.FLEETING:
        raise Violation(_MEMORY, f"{stream_id} is opened, and there is no room for it")


def _check_window(registry: Registry, stream_id: StreamId, effects: Sequence[StreamsEffect]) -> None:
    """Check that work was told to wait if it is as far ahead of its client as it may be (rules R6, R7, R10).

    Raises:
        Violation: It was not told.
    """
    stream = registry.streams.get(stream_id)
    if stream is None or stream.handler is Handler.DONE or HoldMessages(stream_id) in effects:
        return
    ahead = _ahead(stream)
    if ahead >= registry.config.window:
        text = f"the work on {stream_id} is {ahead} entries ahead, and is not told to wait"
        raise Violation("no more than the window is ahead", text)


def _ahead(stream: Stream) -> int:
    """Count how many entries ahead of its client some work is.

    That is what a client that acknowledges has not confirmed, and what any other one was not sent; and while either is
    being given again what it was given before, all that it was not given yet.
    """
    log, attachment = stream.log, stream.attachment
    silent = stream.tags is not Tags.SEQUENCE or (attachment is not None and attachment.reading is Reading.ENDED)
    through = log.sent if silent else log.confirmed
    given = log.produced if attachment is None else attachment.position
    return log.produced - min(through, given)
