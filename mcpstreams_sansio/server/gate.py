"""The gate: nothing that anyone can learn from a record happens before the record is durable (rule R9).

Records queue up and leave as one batch at a time (rule R11). What must wait for them is kept here, in order, and comes
out when the log reports them written. Without a durable log the gate is open: nothing is recorded and nothing waits.

What only holds the application back or stops its work passes by: nobody is told anything by it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from enum import Enum, unique
from typing import Self, TypeAlias, assert_never, final

import attrs

from mcpstreams_sansio.copies import shallow_copy
from mcpstreams_sansio.ids import ConnectionId, StreamId
from mcpstreams_sansio.server.effects import AskAnswered, StartCall, StreamGone, WriteLog
from mcpstreams_sansio.server.records import LogRecord
from mcpstreams_sansio.wire.jsonrpc import encode_message


@unique
class GateState(Enum):
    """Whether records are kept, and whether they still can be."""

    OPEN = "open"
    """There is no durable log."""
    GUARDING = "guarding"
    FAILED = "failed"
    """The log takes nothing more: nothing is recorded, and nothing waits any more."""


@final
@attrs.frozen
class EntriesDurable:
    """The entries of a stream up to `through` may be delivered."""

    stream_id: StreamId
    through: int


@final
@attrs.frozen
class CreateDurable:
    """`create` of a stream, made again for a call that was sent again, may be delivered (rule R3)."""

    stream_id: StreamId


@final
@attrs.frozen
class ReplyAllowed:
    """What a connection holds back longest may be told: it tells of something recorded."""

    connection_id: ConnectionId


Gated: TypeAlias = EntriesDurable | CreateDurable | ReplyAllowed | StartCall | AskAnswered | StreamGone


@final
@attrs.define(eq=False)
class Gate:
    """What is recorded, what is being written, and what waits for it."""

    state: GateState
    _records: list[LogRecord] = attrs.field(factory=list)
    _outstanding: int | None = None
    _next_write_id: int = 1
    _waiting: deque[tuple[int, Gated]] = attrs.field(factory=deque)

    def awaits(self, write_id: int) -> bool:
        """Return whether a batch may be reported written: it is outstanding, or the log has failed under it (R13)."""
        return self._outstanding == write_id or self.state is GateState.FAILED

    def record(self, record: LogRecord) -> None:
        """Queue a record for the next batch."""
        if self.state is GateState.GUARDING:
            self._records.append(record)

    def admit(self, gated: Gated) -> bool:
        """Return whether something may happen now; if not, it is kept until everything recorded so far is durable."""
        if self._records:
            self._waiting.append((self._next_write_id, gated))
            return False
        if self._outstanding is not None:
            self._waiting.append((self._outstanding, gated))
            return False
        return True

    def next_batch(self) -> WriteLog | None:
        """Return the next batch if there is one and none is outstanding."""
        if self.state is not GateState.GUARDING or not self._records or self._outstanding is not None:
            return None
        batch = WriteLog(self._next_write_id, tuple(self._records))
        self._records = []
        self._outstanding = self._next_write_id
        self._next_write_id += 1
        return batch

    def written(self) -> list[Gated]:
        """Note that the outstanding batch is durable; return what waited for it, in order."""
        through, self._outstanding = self._outstanding or 0, None
        released = []
        while self._waiting and self._waiting[0][0] <= through:
            released.append(self._waiting.popleft()[1])
        return released

    def forget(self, connection_id: ConnectionId) -> None:
        """Let no reply wait any more on a connection that is gone: who comes and goes shall leave nothing behind."""
        gone = ReplyAllowed(connection_id)
        self._waiting = deque(pair for pair in self._waiting if pair[1] != gone)

    def fail(self) -> list[Gated]:
        """Record nothing more; return what waited for records that will never be durable."""
        self.state = GateState.FAILED
        disappointed = [gated for _, gated in self._waiting]
        self._records = []
        self._waiting.clear()
        self._outstanding = None
        return disappointed

    def fork(self) -> Self:
        """Return an independent copy."""
        copy = shallow_copy(self)
        copy._records = self._records.copy()
        copy._waiting = self._waiting.copy()
        return copy

    def snapshot(self) -> tuple[object, ...]:
        """Return a hashable value, equal for gates that will behave alike: batch numbers do not matter."""
        base = self._next_write_id
        return (
            self.state,
            tuple(self._records),
            self._outstanding is not None,
            tuple((number - base, _name(gated)) for number, gated in self._waiting),
        )


def _name(gated: Gated) -> Hashable:
    """Return what tells a thing that waits from every other; a message in it is known by its name."""
    match gated:
        case EntriesDurable() | CreateDurable() | ReplyAllowed() | StreamGone():
            return gated
        case StartCall():
            return gated.stream_id
        case AskAnswered():
            return gated.stream_id, gated.ask_id, encode_message(gated.answer)
        case _:
            assert_never(gated)
