"""Acknowledgements that wait to be sent: one for each stream, the highest position wins.

They are monotonic and idempotent, so one that may be lost is simply sent again, and one that is never sent costs the
server some memory for a while and nobody anything else (rules R5, R6).

Spec: rules R6, R23.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Final, Self, final

import attrs

from mcpstreams_sansio.copies import shallow_copy
from mcpstreams_sansio.ids import ConnectionId, StreamId
from mcpstreams_sansio.wire.marker import Ack

MAX_FAILURES: Final = 3
"""Losses in a row after which acknowledgements of streams that are over are let go: nobody waits for them."""


@final
@attrs.define(eq=False)
class Acks:
    """What is to be acknowledged, and what is on its way on an exchange."""

    most: int
    """Streams that may wait."""
    _waiting: dict[StreamId, Ack] = attrs.field(factory=dict)
    _under_way: tuple[Ack, ...] = ()
    path: ConnectionId | None = None
    """The exchange that carries what is under way; one at a time, so that they do not pile up."""
    failures: int = 0
    """How many exchanges broke in a row."""

    @property
    def waiting(self) -> bool:
        """Whether anything waits to be sent."""
        return bool(self._waiting)

    def want(self, ack: Ack) -> None:
        """Let a position be acknowledged with the next ones. Beyond `most` streams the oldest is let go."""
        known = self._waiting.pop(ack.stream_id, None)
        self._waiting[ack.stream_id] = ack if known is None or known.through <= ack.through else known
        if len(self._waiting) > self.most:
            del self._waiting[next(iter(self._waiting))]

    def cover(self, stream_id: StreamId) -> None:
        """Let a stream's wait no longer: what comes instead says as much."""
        self._waiting.pop(stream_id, None)

    def take(self) -> tuple[Ack, ...]:
        """Return everything that waits; it waits no longer."""
        acks = tuple(self._waiting.values())
        self._waiting.clear()
        return acks

    def send(self, acks: tuple[Ack, ...], path: ConnectionId) -> None:
        """They are under way on an exchange."""
        self._under_way, self.path = acks, path

    def accept(self) -> None:
        """The server has them, or will never want them."""
        self._under_way, self.path, self.failures = (), None, 0

    def lose(self, going_on: Container[StreamId]) -> None:
        """The exchange broke: what it carried waits again, unless more is to be acknowledged by now.

        Args:
            going_on: Streams that are not over: their server may be waiting for it before it sends more.
        """
        lost, self._under_way, self.path = self._under_way, (), None
        self.failures += 1
        for ack in lost:
            wanted = ack.stream_id in going_on or self.failures < MAX_FAILURES
            if wanted and ack.stream_id not in self._waiting:
                self.want(ack)

    def fork(self) -> Self:
        """Return an independent copy."""
        copy = shallow_copy(self)
        copy._waiting = self._waiting.copy()
        return copy

    def snapshot(self) -> tuple[object, ...]:
        """Return a hashable value, equal for what will be treated alike."""
        return (
            tuple((ack.stream_id, ack.through, ack.resume_token) for ack in self._waiting.values()),
            tuple((ack.stream_id, ack.through, ack.resume_token) for ack in self._under_way),
            self.path,
            self.failures,
        )
