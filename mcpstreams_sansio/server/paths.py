"""Connections as such: how one begins and ends, and what is said on it outside any stream."""

from __future__ import annotations

from mcpstreams_sansio.connections import ConnectionLost, DropConnection, DropReason, EndOfFile, Framing, Written
from mcpstreams_sansio.ids import ConnectionId, owner_of
from mcpstreams_sansio.server import flow, lifecycle, replies
from mcpstreams_sansio.server.inputs import Accept, ConnectionOpened, Drain, Reply, ScopeEnded
from mcpstreams_sansio.server.outbox import Connection, Phase
from mcpstreams_sansio.server.registry import ConnectionTimer, Registry, Service
from mcpstreams_sansio.server.stream import Reading, attachment_of


def open_connection(registry: Registry, event: ConnectionOpened) -> None:
    """Take a new delivery path into account."""
    registry.highest_connection = event.connection_id
    registry.connections[event.connection_id] = Connection(
        event.connection_id,
        event.framing,
        event.scope,
        event.principal,
        owner_of(event.principal, event.address),
        event.primes,
        Phase.UNDECIDED if event.framing is Framing.HTTP else Phase.OPEN,
        registry.now,
    )


def lose_connection(registry: Registry, event: ConnectionLost) -> None:
    """Detach every stream of a connection that is gone; of one that is gone already, nothing follows (rule R13)."""
    path = registry.connections.get(event.connection_id)
    if path is not None:
        remove(registry, path)


def remove(registry: Registry, path: Connection) -> None:
    """Forget a connection and everything that only it could have delivered."""
    for stream_id in tuple(path.attached):
        stream = registry.streams[stream_id]
        if path.framing is not Framing.HTTP:  # a session goes on, and with it what its ids mean
            registry.forget_origin(stream, path.scope)
        lifecycle.lose(registry, stream)
    for timer in ConnectionTimer:
        registry.deadlines.clear((timer, path.connection_id))
    registry.touched.pop(path.connection_id, None)
    if path.holds_back:
        registry.gate.forget(path.connection_id)
    del registry.connections[path.connection_id]


def drop(registry: Registry, path: Connection, reason: DropReason) -> None:
    """Give up a connection; its streams stay resumable."""
    registry.effects.append(DropConnection(path.connection_id, reason))
    remove(registry, path)


def note_life(registry: Registry, connection_id: ConnectionId) -> None:
    """Note that a peer has said something, and look at what that has made of its replies (rules Q7a, R11)."""
    path = registry.connections.get(connection_id)
    if path is not None:
        path.unheard = 0
        _drop_flooded(registry, path)


def _drop_flooded(registry: Registry, path: Connection) -> None:
    """Give up a connection whose replies would exceed their limit whatever the next write takes of them.

    What else came with them is not even looked at: who sends a heap of nonsense at once shall not hold up the others.
    """
    if path.reply_bytes > registry.config.max_reply_bytes + registry.config.max_write_bytes:
        drop(registry, path, DropReason.FLOODED)


def note_written(registry: Registry, event: Written) -> None:
    """Note that a connection can take the next write."""
    path = registry.connections.get(event.connection_id)
    if path is None:
        return
    path.in_flight = 0
    registry.deadlines.clear((ConnectionTimer.STALL, path.connection_id))
    if path.phase is Phase.ENDED:
        remove(registry, path)
    else:
        registry.touch(path.connection_id)


def reply(registry: Registry, event: Reply) -> None:
    """Queue a message that belongs to no stream (rule R15)."""
    path = registry.connections.get(event.connection_id)
    if path is not None:
        path.reply(registry.encoded_reply(event.message))
        registry.touch(path.connection_id)
        _drop_flooded(registry, path)


def accept(registry: Registry, event: Accept) -> None:
    """Answer an exchange whose message has no answer, once what it led to is durable (rules H9, R9)."""
    path = registry.connections.get(event.connection_id)
    if path is not None:
        replies.accept(registry, path)


def end_scope(registry: Registry, event: ScopeEnded) -> None:
    """Let the streams of an HTTP session go: silent ones for good, announced ones to wait for their token (R16)."""
    for stream_id in tuple(registry.bound.get(event.scope, ())):
        lifecycle.end_with_scope(registry, registry.streams[stream_id])


def drain(registry: Registry, _: Drain) -> None:
    """Take no new call, and let go of every connection whose client can come back (rule R15)."""
    registry.service = Service.DRAINING
    for path in tuple(registry.connections.values()):
        for stream_id in tuple(path.attached):
            lifecycle.let_go(registry, registry.streams[stream_id])
        _wind_up(registry, path)


def end_reading(registry: Registry, event: EndOfFile) -> None:
    """Deliver what is attached to its end, then end the connection: its peer will ask nothing more (cases O1, O2)."""
    path = registry.connections.get(event.connection_id)
    if path is None:
        return
    for stream_id in path.attached:
        stream = registry.streams[stream_id]
        attachment_of(stream).reading = Reading.ENDED
        flow.resume_application(registry, stream)
    _wind_up(registry, path)


def _wind_up(registry: Registry, path: Connection) -> None:
    if path.phase is Phase.OPEN:
        path.end()
    registry.touch(path.connection_id)
