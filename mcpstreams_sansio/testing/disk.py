"""Where records become durable, in one world: one batch at a time, whenever the world says so."""

from __future__ import annotations

from typing import Self, final

import attrs

from mcpstreams_sansio.ids import StreamId
from mcpstreams_sansio.server.effects import WriteLog
from mcpstreams_sansio.server.records import EntryKind, EntryLogged, LogRecord, StreamClosed, StreamOpened
from mcpstreams_sansio.testing.properties import Violation


@final
@attrs.frozen
class Disk:
    """The durable records, and the batch that is being written."""

    records: tuple[LogRecord, ...] = ()
    """What survives a crash, in order."""
    batch: WriteLog | None = None
    """What is being written. A crash may keep any part of it, from its beginning."""

    def begin(self, batch: WriteLog) -> Self:
        """Start to write a batch.

        Raises:
            Violation: Another one is outstanding (rule R11).
        """
        if self.batch is not None:
            raise Violation("one batch is outstanding", "a second batch was given to the log")
        return attrs.evolve(self, batch=batch)

    def complete(self) -> tuple[int, Self]:
        """The outstanding batch is durable; return its number."""
        assert self.batch is not None, "nothing is being written"
        return self.batch.write_id, attrs.evolve(self, records=self.records + self.batch.records, batch=None)

    def holds(self, stream_id: StreamId, sequence: int) -> bool:
        """Say whether an entry of a stream is durable. `StreamOpened` stands for entry 1 of an announced one (R3)."""
        for record in reversed(self.records):
            match record:
                case EntryLogged() if record.stream_id == stream_id and record.sequence == sequence:
                    return True
                case StreamOpened() if record.stream_id == stream_id:
                    return sequence == 1
                case _:
                    pass
        return False

    def ended(self, stream_id: StreamId) -> bool:
        """Say whether it is durable that a stream is over, or complete."""
        for record in self.records:
            match record:
                case StreamClosed() | EntryLogged(kind=EntryKind.END) if record.stream_id == stream_id:
                    return True
                case _:
                    pass
        return False

    def started(self, stream_id: StreamId) -> bool:
        """Say whether it is durable that a stream was opened."""
        return any(isinstance(record, StreamOpened) and record.stream_id == stream_id for record in self.records)
