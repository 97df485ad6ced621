"""Making room: what is forgotten first, and what never (rules R5, R7, R10)."""

from __future__ import annotations

from mcpstreams_sansio.server import flow
from mcpstreams_sansio.server.records import EntriesDropped
from mcpstreams_sansio.server.registry import Registry, StreamTimer
from mcpstreams_sansio.server.stream import Stream
from mcpstreams_sansio.server.table import StreamState

_STEPS = 16
"""Where room is made, it is such a part of a limit at once: the search, which looks at streams and entries, then costs
a bounded amount for each byte. Where none can be made, each stream is looked at once for each change of it."""


def drop_aged(registry: Registry, stream: Stream) -> None:
    """Drop what left its redelivery window; wake up again for the rest (rule R5)."""
    before = stream.log.size
    stream.log.drop_aged(registry.config.redelivery_window, registry.now, stream.delivered)
    registry.total_bytes += stream.log.size - before
    oldest = stream.log.first_confirmation()
    if oldest is not None:
        registry.deadlines.set((StreamTimer.AGE, stream.stream_id), oldest + registry.config.redelivery_window)


def drop_confirmed(registry: Registry, stream: Stream) -> None:
    """Drop everything that a stream's client has."""
    before = stream.log.size
    stream.log.drop_confirmed(min(stream.log.confirmed, stream.delivered))
    registry.total_bytes += stream.log.size - before


def forget_undurable(registry: Registry, stream: Stream) -> int:
    """Forget what of a stream will never be durable; return how many entries that were (rule R9)."""
    before = stream.log.size
    count = stream.log.forget_undurable()
    registry.total_bytes += stream.log.size - before
    return count


def forget_sent(registry: Registry, stream: Stream) -> None:
    """Drop everything of a stream that was sent, since nothing can bring it back (rule R2)."""
    before = stream.log.size
    stream.log.forget_sent()
    registry.total_bytes += stream.log.size - before


def fits(registry: Registry, stream: Stream, size: int) -> bool:
    """Return whether a stream can take so many bytes more, after dropping what it may (rule R10).

    What is only kept takes up half of what a stream may hold at most: all of it may have to be given again to a
    connection that reads slowly, and then the other half is what the application may produce ahead.
    """
    half = registry.config.window_bytes
    excess = stream.log.size - stream.ahead_size - half
    if excess > 0:
        shrink(registry, stream, stream.log.size - excess - half // _STEPS, registry.config.keep_bytes)
    limit = registry.config.max_stream_bytes - size
    if stream.log.size > limit:
        shrink(registry, stream, max(limit, 0))
    return stream.log.size <= limit


def shrink(registry: Registry, stream: Stream, size: int, least: int = 0) -> None:
    """Drop the oldest of a stream's confirmed entries and droppable notifications until it is no larger than `size`.

    Args:
        registry: Where it is counted.
        stream: The stream.
        size: Bytes to get to.
        least: Bytes that are kept in any case.
    """
    log = stream.log
    before, available = log.size, log.first_available
    log.drop_for_room(size, least, stream.droppable)
    registry.total_bytes += log.size - before
    if log.first_available > max(available, log.confirmed + 1):
        registry.gate.record(EntriesDropped(stream.stream_id, log.first_available - 1))


def make(registry: Registry) -> list[Stream]:
    """Make room in the order of rule R10, if a new stream finds none.

    Somewhat more is made than was asked for, so that streams are not looked at for every few bytes. If all that may go
    has gone and there is no room still, nothing is looked at again before something has changed about it.

    Returns:
        The completed streams that have to go as a whole, oldest first.
    """
    if not registry.full:
        return []
    limit = registry.config.max_total_bytes
    target = limit - limit // _STEPS
    streams = sorted((registry.streams[name] for name in registry.yielding), key=lambda stream: stream.number)
    _drop_entries(registry, streams, target)
    leaving, excess = [], registry.total_bytes - target
    for stream in _whole(streams):
        if excess <= 0:
            break
        leaving.append(stream)
        excess -= stream.log.size
    if excess > 0:
        registry.yielding.clear()
    return leaving


def _whole(streams: list[Stream]) -> list[Stream]:
    """Return the completed streams whose end was sent, oldest first; behind them those where it may have been.

    Only a restart leaves such ones. Whoever comes back for one is told that it is gone, so none has to stay (rule R10).
    """
    completed = [stream for stream in streams if stream.state is StreamState.COMPLETED]
    sent = [stream for stream in completed if stream.log.sent == stream.log.produced]
    return sent + [stream for stream in completed if stream.log.sent < stream.log.claimable == stream.log.produced]


def _drop_entries(registry: Registry, streams: list[Stream], target: int) -> None:
    """Drop what is confirmed, then notifications: of completed streams first, then of the noisiest."""
    for stream in streams:
        drop_confirmed(registry, stream)
    for stream in sorted(streams, key=lambda stream: (not stream.complete, -stream.log.size)):
        excess = registry.total_bytes - target
        if excess <= 0:
            break
        least = 0 if stream.complete else registry.config.keep_bytes
        shrink(registry, stream, stream.log.size - excess, least)
        flow.resume_application(registry, stream)
