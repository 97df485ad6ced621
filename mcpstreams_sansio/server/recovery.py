"""What the records of another process say in the end: one pass over them, before anything of it is believed.

Nothing is decided here about the streams that come back; `restart.py` does that. A log that contradicts itself is
broken, and whoever reads it is told where: to go on without what is missing would be to lie to clients (rule R9).

Spec: rules R1, R3, R9, R10, R21, R24.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias, assert_never, final

import attrs

from mcpstreams_sansio.errors import LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.framing.event_ids import MAX_SEQUENCE, event_id
from mcpstreams_sansio.ids import Digest, Owner, StreamId
from mcpstreams_sansio.server.calls import StreamKind
from mcpstreams_sansio.server.keys import KeyEntry
from mcpstreams_sansio.server.records import (
    AnswerLogged,
    EntriesDropped,
    EntryKind,
    EntryLogged,
    KeyCancelled,
    LogRecord,
    StreamAnnounced,
    StreamClosed,
    StreamConfirmed,
    StreamOpened,
    TokenAdded,
)
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Response, decode_message
from mcpstreams_sansio.wire.refusals import Reason


@final
@attrs.define(eq=False)
class RecordedStream:
    """What is on record of one stream."""

    opened: StreamOpened
    """As it is since it was announced, if that came later."""
    tokens: list[Digest] = attrs.field(factory=list, repr=False)
    """Those that open it, the newest last; none for a stream that was never announced (rule R2)."""
    entries: dict[int, EntryLogged] = attrs.field(factory=dict)
    """What its client may still have to get: neither confirmed nor dropped."""
    produced: int = 0
    """The number of its last entry; `create` has one and no record (rule R3)."""
    confirmed: int = 0
    dropped: int = 0
    """Up to here notifications are missing."""
    ending: EntryKind | None = None
    """The last of what ends it: response, or failure, and `end`."""
    asks: dict[str, EntryLogged] = attrs.field(factory=dict)
    """The questions that nobody has answered or withdrawn."""
    answers: dict[str, Response | ErrorResponse] = attrs.field(factory=dict, repr=False)
    """The answers to the others."""
    reason: Reason | None = None
    """Why it is gone."""

    @property
    def announced(self) -> bool:
        """Whether `create` and `end` are entries of it (rule R2)."""
        return self.opened.policy.kind is StreamKind.ANNOUNCED

    @property
    def complete(self) -> bool:
        """Whether the call was answered."""
        return self.ending is not None

    @property
    def gone(self) -> int:
        """The highest number up to which something is not kept: what is confirmed, dropped, or was `create`."""
        return max(self.confirmed, self.dropped, 1 if self.announced else 0)


@final
@attrs.frozen
class Recorded:
    """What is on record of everything, in the order in which it began."""

    streams: tuple[RecordedStream, ...]
    keys: tuple[tuple[Digest, KeyEntry], ...] = attrs.field(repr=False)
    cancelled: tuple[tuple[Digest, Owner], ...] = attrs.field(repr=False)
    """The keys whose calls were cancelled before they came (rule R21.6)."""


_OfStream: TypeAlias = (
    StreamAnnounced | EntryLogged | AnswerLogged | TokenAdded | StreamConfirmed | EntriesDropped | StreamClosed
)


_LAST_WORDS: Final = {(EntryKind.END, EntryKind.RESPONSE), (EntryKind.END, EntryKind.FAILURE)}
"""What may follow what, once a call is answered."""


@attrs.define(eq=False)
class _Reader:
    streams: dict[StreamId, RecordedStream] = attrs.field(factory=dict)
    keys: dict[Digest, KeyEntry] = attrs.field(factory=dict)
    cancelled: dict[Digest, Owner] = attrs.field(factory=dict)
    gaps: dict[StreamId, tuple[str, int]] = attrs.field(factory=dict)
    """Where the record of an entry is missing: how the one after it is called, and the number of the last missing."""

    def open(self, record: StreamOpened) -> None:
        if record.stream_id in self.streams:
            raise LocalProtocolError("its stream was opened before")
        event_id(record.stream_id, MAX_SEQUENCE)  # it raises: the events of the stream will need one
        stream = self.streams[record.stream_id] = RecordedStream(record)
        if stream.announced:
            stream.produced = 1
            stream.tokens.append(record.token_digest)
        if record.key_digest is not None:
            # A key that was known before has been forgotten since, or this record would not be there (rule R21.4).
            self.keys.pop(record.key_digest, None)
            self.keys[record.key_digest] = KeyEntry(record.owner, record.stream_id, record.call_digest)

    def announce(self, stream: RecordedStream, record: StreamAnnounced) -> None:
        if stream.announced or stream.produced:
            raise LocalProtocolError("its stream was announced, or had an entry, before")
        stream.opened = attrs.evolve(stream.opened, policy=record.policy, tags=record.tags)
        stream.tokens.append(record.token_digest)
        stream.produced = 1

    def log(self, stream: RecordedStream, record: EntryLogged, place: str) -> None:
        if record.sequence <= stream.produced:
            raise LocalProtocolError("there was an entry with this number, or a higher one, before")
        if stream.complete and (record.kind, stream.ending) not in _LAST_WORDS:
            raise LocalProtocolError("its call was answered before")
        if record.sequence > stream.produced + 1:
            self.gaps[stream.opened.stream_id] = (place, record.sequence - 1)
        stream.produced = record.sequence
        stream.entries[record.sequence] = record
        match record.kind:
            case EntryKind.ASK if record.ask_id is not None:
                stream.asks[record.ask_id] = record
            case EntryKind.NOTIFICATION:
                stream.asks.pop(record.ask_id or "", None)
            case EntryKind.RESPONSE | EntryKind.FAILURE | EntryKind.END:  # which close every question (rule R24)
                stream.ending = record.kind
                stream.asks.clear()
                stream.answers.clear()
            case _:
                raise LocalProtocolError("there is no record of such an entry")

    def close(self, stream: RecordedStream, record: StreamClosed) -> None:
        stream.reason, stream.produced = record.reason, max(stream.produced, record.produced)
        # Whatever else it was makes no difference any more.
        stream.confirmed, stream.dropped, stream.ending = 0, 0, None
        for kept in (stream.entries, stream.asks, stream.answers):
            kept.clear()
        entry = None if stream.opened.key_digest is None else self.keys[stream.opened.key_digest]
        if entry is not None and entry.stream_id == record.stream_id:
            entry.reason = record.reason

    def cancel(self, record: KeyCancelled) -> None:
        self.cancelled.pop(record.key_digest, None)
        self.cancelled[record.key_digest] = record.owner

    def read(self, record: LogRecord, place: str) -> None:
        if isinstance(record, StreamOpened):
            self.open(record)
        elif isinstance(record, KeyCancelled):
            self.cancel(record)
        elif (stream := self.streams.get(record.stream_id)) is None or stream.reason is not None:
            raise LocalProtocolError("its stream was not opened, or was closed, before")
        else:
            self.read_on(stream, record, place)
            if max(stream.produced, stream.gone) >= MAX_SEQUENCE:
                raise LocalProtocolError("its stream would have more entries than it can")

    def read_on(self, stream: RecordedStream, record: _OfStream, place: str) -> None:
        match record:
            case StreamAnnounced():
                self.announce(stream, record)
            case EntryLogged():
                self.log(stream, record, place)
            case AnswerLogged():
                stream.asks.pop(record.ask_id, None)
                stream.answers[record.ask_id] = _answer_in(record)
            case TokenAdded():
                stream.tokens.append(record.token_digest)
            case StreamConfirmed():
                stream.confirmed = max(stream.confirmed, record.through)
            case EntriesDropped():
                stream.dropped = max(stream.dropped, record.through)
            case StreamClosed():
                self.close(stream, record)
            case _:
                assert_never(record)

    def check_gaps(self) -> None:
        for stream_id, (place, missing) in self.gaps.items():
            stream = self.streams[stream_id]
            if stream.reason is None and missing > max(stream.confirmed, stream.dropped):
                raise LocalProtocolError(f"{place} cannot be read: the entry before it is missing")


def read_records(records: Iterable[LogRecord], max_tokens: int) -> Recorded:
    """Return what records say in the end.

    Args:
        records: All that a log kept, in the order in which they were written; from the last batch, those that it has.
        max_tokens: How many tokens of a stream are kept (rule R3).

    Raises:
        LocalProtocolError: The log contradicts itself. The text says at which record, counted from 0.
    """
    reader = _Reader()
    for number, record in enumerate(records):
        place = f"record {number}, {type(record).__name__},"
        try:
            reader.read(record, place)
        except LocalProtocolError as error:
            raise LocalProtocolError(f"{place} cannot be read: {error}") from None
    reader.check_gaps()
    for stream in reader.streams.values():
        _reduce(stream, max_tokens)
    # What nobody can ask for leaves no more than its key.
    known = tuple(stream for stream in reader.streams.values() if stream.reason is None or stream.tokens)
    return Recorded(known, tuple(reader.keys.items()), tuple(reader.cancelled.items()))


def _reduce(stream: RecordedStream, max_tokens: int) -> None:
    """Leave out what makes no difference any more."""
    del stream.tokens[:-max_tokens]
    stream.produced = max(stream.produced, stream.gone)
    stream.entries = {
        sequence: entry
        for sequence, entry in stream.entries.items()
        if sequence > stream.confirmed and (sequence > stream.dropped or entry.kind is not EntryKind.NOTIFICATION)
    }


def _answer_in(record: AnswerLogged) -> Response | ErrorResponse:
    try:
        message = decode_message(record.payload)
    except RemoteProtocolError:
        message = None
    if not isinstance(message, Response | ErrorResponse):
        raise LocalProtocolError("it holds no answer")
    return message
