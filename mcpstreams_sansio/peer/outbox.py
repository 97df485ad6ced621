"""What a client writes on one multiplexed connection: at most one `Write` is outstanding, the rest waits (rule R11)."""

from __future__ import annotations

import enum
import hashlib
from collections import deque
from typing import Self, final

import attrs

from mcpstreams_sansio.connections import EndWriting, Framing, Write
from mcpstreams_sansio.framing.lines import encode_line
from mcpstreams_sansio.ids import ConnectionId


@enum.unique
class Writing(enum.Enum):
    """What the transport may be given."""

    OPEN = "open"
    """Whatever waits."""
    BUSY = "busy"
    """Nothing: a `Write` was not reported as done."""
    ENDED = "ended"
    """Nothing more, ever."""


@final
@attrs.define(eq=False)
class Outbox:
    """The messages that wait, framed, in order."""

    connection_id: ConnectionId
    framing: Framing
    max_write_bytes: int
    state: Writing = Writing.OPEN
    waiting_bytes: int = 0
    _chunks: deque[bytes] = attrs.field(factory=deque, repr=False)

    @property
    def empty(self) -> bool:
        """Whether nothing waits and nothing is outstanding."""
        return self.state is Writing.OPEN and not self._chunks

    def put(self, payload: bytes) -> None:
        """Let an encoded message wait for its turn."""
        chunk = encode_line(payload) if self.framing is Framing.LINES else payload
        self._chunks.append(chunk)
        self.waiting_bytes += len(chunk)

    def next_write(self) -> Write | None:
        """Return what waits, up to the size of a full write, if the transport may be given something."""
        if self.state is not Writing.OPEN or not self._chunks:
            return None
        chunks = [self._chunks.popleft()]
        size = len(chunks[0])
        while self._chunks and size + len(self._chunks[0]) <= self.max_write_bytes:
            chunks.append(self._chunks.popleft())
            size += len(chunks[-1])
        self.waiting_bytes -= size
        self.state = Writing.BUSY
        return Write(self.connection_id, tuple(chunks))

    def written(self) -> None:
        """The outstanding write is with the transport."""
        if self.state is Writing.BUSY:
            self.state = Writing.OPEN

    def end(self) -> EndWriting:
        """Write nothing more; everything has been written."""
        self.state = Writing.ENDED
        return EndWriting(self.connection_id)

    def fork(self) -> Self:
        """Return an independent copy."""
        return attrs.evolve(self, chunks=self._chunks.copy())

    def snapshot(self) -> tuple[object, ...]:
        """Return a hashable value, equal for outboxes that will behave alike.

        Of what waits it holds digests, since there are keys and tokens in it (rule Q11b).
        """
        return (self.connection_id, self.state, tuple(hashlib.sha256(chunk).digest() for chunk in self._chunks))
