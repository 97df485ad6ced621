"""One stream's log: numbered entries, five watermarks, and what may be forgotten.

Entries are numbered from 1 (rule R1) and hold the bytes that every delivery uses (rule R4). Always
`confirmed <= sent <= claimable <= durable <= produced` (rule R5): *produced* is what the application made, *durable*
what the gate lets through (rule R9), *claimable* what the client may have, *sent* what this process put into a write,
*confirmed* what the client said it has. Only a restart sets *claimable* above *sent*: what the process before has sent
nobody knows.

Whatever is confirmed may be dropped to make room, and of notifications those that were sent; those that may have been
only where the client can be told that they are gone (rule R10), which is for `Stream.droppable` to say. Nothing else
ever is, but for whole streams that are complete (`room.make`). `first_available` remembers it: every entry from there
on is kept.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable
from typing import Final, Self, final

import attrs

from mcpstreams_sansio.copies import shallow_copy
from mcpstreams_sansio.server.records import EntryKind

_ALL: Final = 2**63
"""Above every position."""


@final
@attrs.frozen
class Entry:
    """One message of a stream, encoded once."""

    sequence: int
    kind: EntryKind
    payload: bytes = attrs.field(repr=False)
    offset: int = 0
    """Bytes of all the entries before it."""


@final
@attrs.define(eq=False)
class StreamLog:
    """The entries of one stream that are still kept, oldest first."""

    _entries: dict[int, Entry] = attrs.field(factory=dict)
    produced: int = 0
    durable: int = 0
    sent: int = 0
    claimable: int = 0
    """The last entry that the client may have: the last one sent, and after a restart all that was durable."""
    confirmed: int = 0
    first_available: int = 1
    total: int = 0
    """Bytes of the entries that were produced, kept or not."""
    size: int = 0
    """Bytes of the entries that are kept."""
    unsent_size: int = 0
    """Bytes of those of them that were not sent."""
    unconfirmed_size: int = 0
    """Bytes of those of them that are not confirmed."""
    withheld: int = 0
    """An entry whose record is not durable yet, though those of later ones are: `create` made again (rules R3, R9); 0
    is none."""
    _confirmations: deque[tuple[float, int]] = attrs.field(factory=deque)
    """When which position was confirmed, oldest first: what the redelivery window counts from (rule R5)."""

    @classmethod
    def restored(
        cls, entries: Iterable[tuple[int, EntryKind, bytes]], confirmed: int, gone: int, produced: int
    ) -> Self:
        """Return the log as it goes on after a restart (rules R1, R5).

        What was sent nobody knows: anything that was durable may have been. So whatever is not confirmed counts as not
        sent; but a client that says it has it is believed, and where there is no room for all that can be told to be
        gone, it goes as if it had been sent (rules R7, R10).

        Args:
            entries: Number, kind and bytes of what is kept, in order; all of it above `confirmed`.
            confirmed: What the client has.
            gone: The highest number up to which something is missing.
            produced: The last number that was used.
        """
        log = cls(
            produced=produced,
            durable=produced,
            sent=confirmed,
            claimable=produced,
            confirmed=confirmed,
            first_available=gone + 1,
        )
        for sequence, kind, payload in entries:
            log._keep(Entry(sequence, kind, payload, log.total))
        return log

    def append(self, kind: EntryKind, payload: bytes) -> Entry:
        """Add an entry and return it with its number."""
        self.produced += 1
        return self._keep(Entry(self.produced, kind, payload, self.total))

    def _keep(self, entry: Entry) -> Entry:
        self._entries[entry.sequence] = entry
        size = len(entry.payload)
        self.total += size
        self.size += size
        self.unsent_size += size
        self.unconfirmed_size += size
        return entry

    def entry(self, sequence: int) -> Entry | None:
        """Return an entry, or None if it was dropped."""
        return self._entries.get(sequence)

    def entries(self) -> Iterable[Entry]:
        """Return the entries that are kept, oldest first."""
        return self._entries.values()

    def next_after(self, position: int) -> Entry | None:
        """Return the first entry above a position if it is deliverable, or None if there is none (yet)."""
        for sequence in range(max(position + 1, 1), self.durable + 1):
            entry = self._entries.get(sequence)
            if entry is not None:
                return None if sequence == self.withheld else entry
        return None

    def forget_undurable(self) -> int:
        """Forget what will never be durable; return how many entries that were. Their numbers are free again."""
        count = self.produced - self.durable
        for sequence in range(self.durable + 1, self.produced + 1):
            size = len(self._entries.pop(sequence).payload)
            self.total -= size
            self.size -= size
            self.unsent_size -= size
            self.unconfirmed_size -= size
        self.produced = self.durable
        return count

    def mark_sent(self, sequence: int) -> None:
        """Note that everything up to an entry was put into a write: sent, never confirmed (rules R5, Q5a)."""
        self.unsent_size -= self._size_of(self.sent, sequence)
        self.sent = max(self.sent, sequence)
        self.claimable = max(self.claimable, self.sent)

    def size_above(self, position: int) -> int:
        """Return the bytes of all entries above a position, of which `create` may be dropped and nothing else."""
        following = self._entries.get(position + 1) or self._entries.get(position + 2)
        return 0 if following is None else self.total - following.offset

    def confirm(self, through: int, now: float) -> bool:
        """Note that the client has everything up to `through`; return whether that is news.

        The payload of `create`, which holds the token, goes at once (rule R3). The rest becomes droppable.
        """
        if through <= self.confirmed:
            return False
        self.mark_sent(through)
        self.unconfirmed_size -= self._size_of(self.confirmed, through)
        self.confirmed = through
        self._confirmations.append((now, through))
        first = self._entries.get(1)
        if first is not None and first.kind is EntryKind.CREATE:
            self._drop(first)
        self._forget_confirmations()
        return True

    def restore_create(self, payload: bytes) -> None:
        """Put entry 1 back, made again with a fresh token that has to be durable first (rules R3, R9)."""
        entry = Entry(1, EntryKind.CREATE, payload)
        self.withheld = entry.sequence
        self._entries = {1: entry, **self._entries}
        self.size += len(payload)
        if self.sent < entry.sequence:
            self.unsent_size += len(payload)
        if self.confirmed < entry.sequence:
            self.unconfirmed_size += len(payload)
        if self.first_available == entry.sequence + 1:
            self.first_available = entry.sequence

    def lost_after(self, position: int) -> int:
        """Return how many entries above a position were dropped: 0 means that the position can be served."""
        if position + 1 >= self.first_available:
            return 0
        # Few are kept below the first available one, and they come first.
        old = itertools.takewhile(lambda sequence: sequence < self.first_available, self._entries)
        kept = sum(1 for sequence in old if sequence > position)
        return self.first_available - 1 - position - kept

    def drop_confirmed(self, through: int) -> None:
        """Drop what is confirmed up to a position."""
        self._drop_oldest(min(through, self.confirmed), 0)

    def drop_aged(self, window: float, now: float, delivered: int = _ALL) -> None:
        """Drop what was confirmed `window` seconds ago or earlier (rule R5), up to what is delivered."""
        through = 0
        # The sum, as `room.drop_aged` makes it for the deadline: a difference may be less than the window by rounding.
        while self._confirmations and self._confirmations[0][0] + window <= now:
            through = self._confirmations.popleft()[1]
        self.drop_confirmed(min(through, delivered))

    def first_confirmation(self) -> float | None:
        """Return since when the oldest of the confirmed entries has been confirmed."""
        return self._confirmations[0][0] if self._confirmations else None

    def drop_for_room(self, size: int, least: int = 0, through: int = _ALL) -> None:
        """Drop the oldest notifications that the client may have, until the log is no larger than `size`.

        Args:
            size: Bytes to get to.
            least: Bytes that are kept in any case (rule R7).
            through: Whatever is above is kept in any case.
        """
        self._drop_oldest(min(self.claimable, through), size, least)

    def forget_sent(self) -> None:
        """Drop everything that was sent: nobody can ask for it again (rule R2)."""
        self.unconfirmed_size -= self._size_of(self.confirmed, self.sent)
        self.confirmed = self.sent
        self._drop_oldest(self.sent, 0)

    def _drop_oldest(self, through: int, size: int, least: int = 0) -> None:
        victims = []
        remaining = self.size
        for sequence, entry in self._entries.items():
            if remaining <= size or sequence > through:
                break
            if sequence <= self.confirmed or entry.kind is EntryKind.NOTIFICATION:
                remaining -= len(entry.payload)
                if remaining < least:
                    break
                victims.append(entry)
        for entry in victims:
            self._drop(entry)
        self._forget_confirmations()

    def _drop(self, entry: Entry) -> None:
        del self._entries[entry.sequence]
        self.size -= len(entry.payload)
        if entry.sequence > self.sent:
            self.unsent_size -= len(entry.payload)
        if entry.sequence > self.confirmed:
            self.unconfirmed_size -= len(entry.payload)
        self.first_available = max(self.first_available, entry.sequence + 1)

    def _forget_confirmations(self) -> None:
        """Forget when entries were confirmed that are no longer there: a quick client confirms each by itself."""
        oldest = next(iter(self._entries), self.produced + 1)
        while self._confirmations and self._confirmations[0][1] < oldest:
            self._confirmations.popleft()

    def clear(self) -> None:
        """Drop every entry; the numbers stay."""
        self._entries.clear()
        self._confirmations.clear()
        self.size = self.unsent_size = self.unconfirmed_size = 0

    def _size_of(self, after: int, through: int) -> int:
        entries = (self._entries.get(sequence) for sequence in range(after + 1, through + 1))
        return sum(len(entry.payload) for entry in entries if entry is not None)

    def fork(self) -> Self:
        """Return an independent copy that shares the entries themselves."""
        copy = shallow_copy(self)
        copy._entries = self._entries.copy()
        copy._confirmations = self._confirmations.copy()
        return copy

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return a hashable value, equal for logs that will behave alike. The token in `create` stays out (rule R3)."""
        return (
            tuple(
                (entry.sequence, entry.kind, None if entry.kind is EntryKind.CREATE else entry.payload)
                for entry in self._entries.values()
            ),
            self.produced,
            self.durable,
            self.sent,
            self.claimable,
            self.confirmed,
            self.first_available,
            self.withheld,
            tuple((when - now, through) for when, through in self._confirmations),
        )
