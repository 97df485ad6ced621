"""Where records become durable, in one world: one batch at a time, whenever the world says so."""

from __future__ import annotations

import functools
from typing import Self, final

import attrs

from mcpstreams_sansio.ids import Digest, StreamId
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import WriteLog
from mcpstreams_sansio.server.records import (
    AnswerLogged,
    EntryKind,
    EntryLogged,
    KeyCancelled,
    LogRecord,
    StreamClosed,
    StreamOpened,
)
from mcpstreams_sansio.server.recovery import read_records
from mcpstreams_sansio.testing.names import Text, text_of
from mcpstreams_sansio.testing.properties import Violation
from mcpstreams_sansio.wire.refusals import Reason


@final
@attrs.frozen
class Disk:
    """The durable records, and the batch that is being written."""

    records: tuple[LogRecord, ...] = ()
    """What survives a crash, in order."""
    batch: WriteLog | None = None
    """What is being written. A crash may keep any number of its records, from the first one on."""

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

    def crash(self, kept: int) -> Self:
        """Lose what is being written, but for so many records from its beginning."""
        rest = () if self.batch is None else self.batch.records[:kept]
        return attrs.evolve(self, records=self.records + rest, batch=None)

    @functools.cached_property
    def text(self) -> Text:
        """What a crash can leave, for the key of a world.

        While nothing is being written, nothing need be said. Then every record that the machine ever asked for is
        durable, and whatever comes back from them is in the machine already: for each stream that is not gone its id,
        request, peer, policy, tags, principal, owner, tokens, every entry that is not confirmed, what is confirmed, and
        the open questions; for those that are gone the reason, the tokens and the number of the last entry; and every
        key, since tombstones and keys last longer than a search. Answers were handed over by the same input that made
        them durable, so no work waits for one. What is dropped for room shows as missing, in the machine too.

        In between the machine is ahead of the disk, by what is being written and what is queued behind it. The queue is
        in the snapshot of the machine; the rest is here.
        """
        if self.batch is None:
            return text_of(None)
        return text_of((read_records(self.records, StreamsConfig().max_tokens), self.batch.records))

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

    def says(self, payload: bytes | None) -> bool:
        """Say whether a message of the work is durable, in whatever stream."""
        return any(isinstance(record, EntryLogged) and record.payload == payload for record in self.records)

    def tells(self, reason: Reason) -> bool:
        """Say whether it is durable that a stream is gone for a reason, or that a call was cancelled before it came."""
        return any(
            (isinstance(record, StreamClosed) and record.reason is reason)
            or (isinstance(record, KeyCancelled) and reason is Reason.CANCELLED)
            for record in self.records
        )

    def answers(self, ask_id: str) -> bool:
        """Say whether the answer to a question is durable."""
        return any(isinstance(record, AnswerLogged) and record.ask_id == ask_id for record in self.records)

    def cancelled(self, key_digest: Digest) -> bool:
        """Say whether it is durable that no work begins under a key any more: cancelled, or its stream is gone."""
        streams = set()
        for record in self.records:
            match record:
                case KeyCancelled() if record.key_digest == key_digest:
                    return True
                case StreamOpened() if record.key_digest == key_digest:
                    streams.add(record.stream_id)
                case StreamClosed() if record.stream_id in streams:
                    return True
                case _:
                    pass
        return False

    def entries_of(self, stream_id: StreamId) -> list[EntryLogged]:
        """Return the entries of a stream that are durable."""
        return [record for record in self.records if isinstance(record, EntryLogged) and record.stream_id == stream_id]

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
