"""Making room: what is forgotten first, and what never (rules R5, R7, R10)."""

from __future__ import annotations

from mcpstreams_sansio.server.registry import Registry, StreamTimer
from mcpstreams_sansio.server.stream import Stream
from mcpstreams_sansio.server.table import StreamState

_STEPS = 16
"""Room is looked for at most once for so many parts of `max_total_bytes` that are added: the search, which looks at
every stream, then costs a bounded amount for each byte."""


def drop_aged(registry: Registry, stream: Stream) -> None:
    """Drop what left its redelivery window; wake up again for the rest (rule R5)."""
    before = stream.log.size
    stream.log.drop_aged(registry.config.redelivery_window, registry.now)
    registry.total_bytes += stream.log.size - before
    oldest = stream.log.first_confirmation()
    if oldest is not None:
        registry.deadlines.set((StreamTimer.AGE, stream.stream_id), oldest + registry.config.redelivery_window)


def drop_confirmed(registry: Registry, stream: Stream) -> None:
    """Drop everything that a stream's client has."""
    before = stream.log.size
    stream.log.drop_confirmed(stream.log.confirmed)
    registry.total_bytes += stream.log.size - before


def forget_sent(registry: Registry, stream: Stream) -> None:
    """Drop everything of a stream that was sent, since nothing can bring it back (rule R2)."""
    before = stream.log.size
    stream.log.forget_sent()
    registry.total_bytes += stream.log.size - before


def fits(registry: Registry, stream: Stream, size: int) -> bool:
    """Return whether a stream can take so many bytes more, after dropping what it may (rule R10)."""
    limit = registry.config.max_stream_bytes - size
    if stream.log.size > limit:
        shrink(registry, stream, max(limit, 0))
    return stream.log.size <= limit


def shrink(registry: Registry, stream: Stream, size: int) -> None:
    """Drop the oldest of a stream's confirmed entries and sent notifications until it is no larger than `size`."""
    before = stream.log.size
    stream.log.drop_sent(size)
    registry.total_bytes += stream.log.size - before


def needed(registry: Registry) -> bool:
    """Return whether room has to be looked for now."""
    return registry.total_bytes > max(registry.config.max_total_bytes, registry.make_room_at)


def make(registry: Registry) -> list[Stream]:
    """Make room in the order of rule R10; return the completed streams that have to go as a whole, oldest first."""
    config = registry.config
    target = config.max_total_bytes - config.max_total_bytes // _STEPS
    streams = [stream for stream in registry.streams.values() if stream.state is not StreamState.GONE]
    for stream in streams:
        drop_confirmed(registry, stream)
    noisiest_first = sorted(streams, key=lambda stream: (not stream.complete, -stream.log.size))
    for stream in noisiest_first:
        if registry.total_bytes <= target:
            break
        floor = 0 if stream.complete else config.keep_bytes
        shrink(registry, stream, max(floor, stream.log.size - (registry.total_bytes - target)))
    leaving: list[Stream] = []
    excess = registry.total_bytes - target
    for stream in streams:
        if excess <= 0:
            break
        if stream.state is StreamState.COMPLETED and stream.log.sent == stream.log.produced:
            leaving.append(stream)
            excess -= stream.log.size
    registry.make_room_at = (
        registry.total_bytes - sum(stream.log.size for stream in leaving) + max(1, config.max_total_bytes // _STEPS)
    )
    return leaving
