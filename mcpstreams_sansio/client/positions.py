"""How far a client is in one stream: what it has received, and what its application has taken.

*Received* is what duplicates are told by; *taken* is what the cursor and the acknowledgements say, so that nothing is
given up which the application does not have (rule R23). Between the two lie the items that are *unread*. Messages that
are no items (`create`, a withdrawal, the response, `end`) count as taken as soon as everything before them is.

Where the application keeps the call beyond its process, what is taken may be lost with that. Then the cursor and the
acknowledgements say what is *saved*, and between saved and taken lie the items that are *unsaved*.

With tags a position is the message's own sequence. Without them the client counts, and the SSE event ids, which mean
nothing to it, serve as cursors and tell a repetition by being equal.

Spec: rules R1, R4, R23, Q5g.
"""

from __future__ import annotations

import enum
from collections import deque
from typing import Final, Self, final

import attrs

from mcpstreams_sansio.client.effects import Unread
from mcpstreams_sansio.copies import shallow_copy

_NO_CURSOR: Final = ""
"""Stands where a cursor could: there is none, and one from before would be that of another position (case C7)."""


@enum.unique
class Place(enum.Enum):
    """Where a message stands, compared with what was received."""

    REPEATED = "repeated"
    """It was received before."""
    NEXT = "next"
    """It is the one that follows."""
    BEYOND = "beyond"
    """Something between is missing."""


@final
@attrs.define(eq=False)
class _Item:
    """An item that the application was given and the server may have to send again."""

    position: int
    size: int
    cursor: str | None
    """What to present once it is taken: its own id, or that of something after it which is no item."""


@final
@attrs.define(eq=False)
class Positions:
    """The positions of one stream, for one client."""

    received: int = 0
    """The last message that was taken up."""
    seen: int = 0
    """The highest position that is known to exist, taken up or passed over."""
    cursor: str | None = None
    """The SSE event id of `taken`, where there is one."""
    saved: int | None = None
    """What the application has where it outlives its process; None where nothing is kept."""
    saved_cursor: str | None = None
    """The SSE event id of `saved`, where there is one."""
    unread_bytes: int = 0
    unsaved_bytes: int = 0
    _floor: int = 0
    """Below it the server keeps nothing any more, taken or not (rule R10)."""
    _path: int = 0
    """Without tags: where the current path is, which begins again at the cursor after each loss."""
    _nameless: int = -1
    """Up to here no event id means anything any more (case C5)."""
    _unread: deque[_Item] = attrs.field(factory=deque)
    _unsaved: deque[_Item] = attrs.field(factory=deque)
    _event_ids: dict[str, int] = attrs.field(factory=dict)
    """The positions of the items that have an id and may come again: unread, unsaved, or not passed by the current
    path."""

    @classmethod
    def at(cls, taken: int, cursor: str | None, *, stored: bool = False) -> Self:
        """Return the positions of a call that goes on somewhere else from what was taken, and is kept there or not."""
        positions = cls(received=taken, seen=taken, cursor=cursor, path=taken)
        if stored:
            positions.saved, positions.saved_cursor = taken, cursor
        return positions

    @property
    def told_cursor(self) -> str | None:
        """The SSE event id of `told`, where there is one."""
        return (self.cursor if self.saved is None else self.saved_cursor) or None

    @property
    def header_cursor(self) -> str | None:
        """What to present as `Last-Event-ID`: the cursor, where it says the same as `after` (rules P22, Q13)."""
        return self.told_cursor if self.after == self.told else None

    @property
    def taken(self) -> int:
        """The position up to which the application has everything."""
        return self._unread[0].position - 1 if self._unread else self.received

    @property
    def told(self) -> int:
        """What the server may be told: `saved` where the application keeps the call, else `taken` (rule R23)."""
        return self.taken if self.saved is None else self.saved

    @property
    def after(self) -> int:
        """The position from which a resume asks: `told`, or where the server still has something."""
        return max(self.told, self._floor)

    @property
    def behind_gap(self) -> bool:
        """Whether nothing was received since the server said that all up to here is gone."""
        return self.received == self._floor > 0

    @property
    def unread(self) -> int:
        """How many items the application has not taken."""
        return len(self._unread)

    def unread_items(self) -> tuple[Unread, ...]:
        """Return the items that the application has not taken, with what it has once it takes each of them."""
        ends = [item.position - 1 for item in self._unread]
        items, cursor = [], self.cursor
        for item, taken in zip(self._unread, [*ends[1:], self.received], strict=False):  # one more if there are none
            cursor = cursor if item.cursor is None else item.cursor
            items.append(Unread(item.position, taken, cursor or None))
        return tuple(items)

    @property
    def unsaved(self) -> int:
        """How many items it has taken and not saved, where it keeps the call."""
        return len(self._unsaved)

    def place(self, sequence: int | None, event_id: str | None = None) -> Place:
        """Tell where a message stands, by its sequence, else by its event id, else by its coming last.

        Args:
            sequence: Its own position, if it has a tag.
            event_id: Its SSE event id, if that may serve.
        """
        if sequence is None:
            return Place.NEXT if self._position_of(event_id) is None else Place.REPEATED
        if sequence <= self.received:
            return Place.REPEATED
        return Place.NEXT if sequence == self.received + 1 else Place.BEYOND

    def pass_over(self, sequence: int) -> None:
        """Note that a message exists which is not taken up now."""
        self.seen = max(self.seen, sequence)

    def repeat(self, sequence: int | None, event_id: str | None) -> int:
        """Note that the current path has come to a message that was received before; return its position."""
        known = sequence if sequence is not None else self._position_of(event_id)
        assert known is not None, "only what is known can repeat"
        self._path = known
        self._forget_passed()
        return known

    def take_up(self, event_id: str | None) -> int:
        """Take up a message that is no item; return its position."""
        self._advance()
        if event_id is not None:
            self._move_cursor(event_id)
        return self.received

    def take_up_item(self, size: int, event_id: str | None) -> int:
        """Take up a message that is given to the application; return its position."""
        self._advance()
        self._unread.append(_Item(self.received, size, event_id))
        self.unread_bytes += size
        if event_id:
            self._event_ids[event_id] = self.received
        return self.received

    def leave_gap(self) -> int:
        """Give the application a gap in place of what was taken up last; return its position."""
        self._unread.append(_Item(self.received, 0, None))
        return self.received

    def note_cursor(self, event_id: str) -> None:
        """Take an event without a message as the cursor of where the current path is (rules H13, H14).

        After a loss a path begins at what was told, below what was received: its first position says nothing new.
        """
        if self._path >= self.received:
            self._move_cursor(event_id)
            return
        if self._path == self.taken:
            self.cursor = event_id
        if self._path == self.saved:
            self.saved_cursor = event_id

    def take(self, through: int) -> int:
        """The application has everything up to `through`; return how many bytes were unread of it."""
        taken = 0
        while self._unread and self._unread[0].position <= through:
            item = self._unread.popleft()
            taken += item.size
            if item.cursor is not None:
                self.cursor = item.cursor
            if self.saved is not None:
                self._unsaved.append(item)
                self.unsaved_bytes += item.size
        self.unread_bytes -= taken
        self._forget_passed()
        return taken

    def save(self, taken: int, cursor: str | None) -> int:
        """What was `taken` then, and the cursor of that, is kept; return how many bytes were unsaved of it."""
        if self.saved is None or taken < self.saved:
            return 0
        self.saved, self.saved_cursor = taken, cursor if taken > self._nameless else None
        saved = 0
        while self._unsaved and self._unsaved[0].position <= taken:
            saved += self._unsaved.popleft().size
        self.unsaved_bytes -= saved
        self._forget_passed()
        return saved

    def conclude(self) -> None:
        """Nothing has to come again: all that was received is taken and saved."""
        self.take(self.received)
        self.saved = self.saved_cursor = None
        self._unsaved.clear()
        self.unsaved_bytes = 0

    def begin_path(self) -> None:
        """A path was opened that begins at `after`."""
        self._path = self.after
        self._forget_passed()

    def forget_cursor(self) -> None:
        """No event id means anything any more: another session, or no way to present one (cases C5, G7)."""
        self.cursor = self.saved_cursor = None
        self._event_ids.clear()
        for item in self._unread:
            item.cursor = None
        if self.saved is not None:
            self._nameless = self.received

    def jump(self, first_available: int, lost: int) -> int | None:
        """The server keeps nothing below `first_available`; go on from there.

        Args:
            first_available: The lowest position that can still be had, at least 1.
            lost: How many messages above the cursor are gone, by the server's count.

        Returns:
            How many of them are missing here, as an item of its own at the last position before `first_available`;
            0 where all of them were received; None where it brings the stream no further than it was.
        """
        last_gone = first_available - 1
        if last_gone <= self.after:
            return None
        self._floor = last_gone
        missing = last_gone - self.received
        if missing <= 0:
            return 0
        self.received = last_gone
        self.seen = max(self.seen, last_gone)
        self._unread.append(_Item(last_gone, 0, _NO_CURSOR))
        return max(1, min(missing, lost))

    def _position_of(self, event_id: str | None) -> int | None:
        if not event_id:
            return None
        if event_id == self.cursor:
            return self.taken
        return self.saved if event_id == self.saved_cursor else self._event_ids.get(event_id)

    def _advance(self) -> None:
        self.received += 1
        self.seen = max(self.seen, self.received)
        self._path = self.received
        self._forget_passed()

    def _forget_passed(self) -> None:
        """Forget the ids of what was told, once the current path has come so far: it cannot come again."""
        passed = min(self.told, self._path)
        while self._event_ids:
            event_id, position = next(iter(self._event_ids.items()))
            if position > passed:
                return
            del self._event_ids[event_id]

    def _move_cursor(self, event_id: str) -> None:
        if self._unread:
            self._unread[-1].cursor = event_id
        else:
            self.cursor = event_id

    def fork(self) -> Self:
        """Return an independent copy."""
        copy = shallow_copy(self)
        copy._unread = deque(shallow_copy(item) for item in self._unread)
        copy._unsaved = deque(shallow_copy(item) for item in self._unsaved)
        copy._event_ids = self._event_ids.copy()
        return copy

    def snapshot(self) -> tuple[object, ...]:
        """Return a hashable value, equal for positions that will behave alike."""
        return (
            self.received,
            self.seen,
            self.cursor,
            self.saved,
            self.saved_cursor,
            self._nameless,
            self._floor,
            self._path,
            tuple((item.position, item.size, item.cursor) for item in self._unread),
            tuple((item.position, item.size) for item in self._unsaved),
            tuple(self._event_ids.items()),
        )
