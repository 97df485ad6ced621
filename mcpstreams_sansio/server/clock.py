"""What happens when a deadline is reached."""

from __future__ import annotations

from typing import assert_never

from mcpstreams_sansio.connections import DropReason
from mcpstreams_sansio.server import attachments, delivery, lifecycle, paths, production, room
from mcpstreams_sansio.server.effects import AskFailed, AskFailure
from mcpstreams_sansio.server.registry import AskTimer, ConnectionTimer, Registry, StreamTimer, Timer


def run(registry: Registry) -> None:
    """Process every deadline that is due, earliest first: before the input that came with this time."""
    while (timer := registry.deadlines.pop_due(registry.now)) is not None:
        _reach(registry, timer)


def _reach(registry: Registry, timer: Timer) -> None:
    match timer:
        case (StreamTimer.ABANDON, stream_id):
            lifecycle.expire(registry, registry.streams[stream_id])
        case (StreamTimer.AGE, stream_id):
            room.drop_aged(registry, registry.streams[stream_id])
        case (StreamTimer.FORGET, stream_id):
            registry.forget(stream_id)
        case (ConnectionTimer.DECIDE, connection_id):
            attachments.open_events(registry, registry.connections[connection_id])
        case (ConnectionTimer.STALL, connection_id):
            paths.drop(registry, registry.connections[connection_id], DropReason.STALLED)
        case (ConnectionTimer.KEEPALIVE, connection_id):
            delivery.keep_alive(registry, registry.connections[connection_id])
        case (AskTimer.ANSWER, ask_id):
            stream = registry.streams[registry.asks[ask_id]]
            registry.effects.append(AskFailed(stream.stream_id, ask_id, AskFailure.TIMED_OUT))
            production.withdraw(registry, stream, ask_id)
        case _:
            assert_never(timer)
