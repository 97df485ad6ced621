"""How far an application may be ahead of its client, and who tells it to wait and to go on (rules R6, R7, R10).

It is told to wait when its stream holds as much as it may after an entry is added, or after a restart; and to go on as
soon as that is less: whatever lessens it asks here again. So where a client comes back from further behind, one entry
more may come.
"""

from __future__ import annotations

from mcpstreams_sansio.server.effects import HoldMessages, SendMore
from mcpstreams_sansio.server.registry import Registry
from mcpstreams_sansio.server.stream import Handler, Stream


def over_limit(registry: Registry, stream: Stream) -> bool:
    """Return whether a stream holds as much as its application may produce ahead."""
    return stream.ahead >= registry.config.window or stream.ahead_size >= registry.config.window_bytes


def hold_application(registry: Registry, stream: Stream) -> None:
    """Let the application wait if its stream holds too much."""
    if stream.handler is Handler.RUNNING and over_limit(registry, stream):
        stream.handler = Handler.HELD
        registry.effects.append(HoldMessages(stream.stream_id))


def resume_application(registry: Registry, stream: Stream) -> None:
    """Let the application go on if its stream has room again."""
    if stream.handler is Handler.HELD and not over_limit(registry, stream):
        stream.handler = Handler.RUNNING
        registry.effects.append(SendMore(stream.stream_id))
