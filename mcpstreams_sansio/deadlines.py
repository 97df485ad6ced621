"""The moments at which a machine wants to be woken: one heap, with lazy removal."""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from typing import Generic, Self, TypeVar

import attrs

K = TypeVar("K", bound=Hashable)


@attrs.define
class Deadlines(Generic[K]):
    """At most one moment for each key.

    A moment that was moved or cleared stays in the heap until it comes up, or until such leftovers outnumber the
    moments that count: so nothing here loops over all keys on the message path, and memory stays proportional to
    the keys.
    """

    _heap: list[tuple[float, int, K]] = attrs.field(factory=list)
    _current: dict[K, tuple[float, int]] = attrs.field(factory=dict)
    _serial: int = 0

    def __len__(self) -> int:
        return len(self._current)

    def __contains__(self, key: K) -> bool:
        return key in self._current

    def when(self, key: K) -> float | None:
        """Return the moment of a key, or None if it has none."""
        entry = self._current.get(key)
        return None if entry is None else entry[0]

    def set(self, key: K, when: float) -> None:
        """Give a key this moment, instead of the one it may have. Equal moments come up in the order of setting."""
        self._serial += 1
        self._current[key] = (when, self._serial)
        heapq.heappush(self._heap, (when, self._serial, key))
        if len(self._heap) > 2 * len(self._current) + 64:
            self._heap = [(moment, serial, name) for name, (moment, serial) in self._current.items()]
            heapq.heapify(self._heap)

    def clear(self, key: K) -> None:
        """Take a key's moment away, if it has one."""
        self._current.pop(key, None)

    def next(self) -> float | None:
        """Return the earliest moment, or None if there is none."""
        while self._heap:
            when, serial, key = self._heap[0]
            if self._current.get(key) == (when, serial):
                return when
            heapq.heappop(self._heap)
        return None

    def pop_due(self, now: float) -> K | None:
        """Remove and return the key whose moment comes first, if that moment is not after `now`."""
        when = self.next()
        if when is None or when > now:
            return None
        key = heapq.heappop(self._heap)[2]
        del self._current[key]
        return key

    def fork(self) -> Self:
        """Return an independent copy."""
        return type(self)(self._heap.copy(), self._current.copy(), self._serial)

    def snapshot(self, now: float) -> frozenset[tuple[K, float]]:
        """Return the moments relative to `now`; equal for equal futures, whatever the order of setting."""
        return frozenset((key, when - now) for key, (when, _) in self._current.items())
