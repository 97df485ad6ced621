"""The call keys that are remembered, so that a re-sent call is found and never runs twice (rule R21)."""

from __future__ import annotations

import hashlib
from collections import deque
from typing import Self, final

import attrs

from mcpstreams_sansio.ids import Digest, Principal, Secret, StreamId
from mcpstreams_sansio.server.stream import Owner
from mcpstreams_sansio.wire.refusals import Reason


def key_digest(key: Secret, principal: Principal | None) -> Digest:
    """Return what a key is stored as: with its principal, so that nobody meets another one's key (rule R21.5)."""
    owner = b"-" if principal is None else b"+" + principal.encode("utf-8", "surrogatepass")
    return Digest(hashlib.sha256(key.digest() + owner).digest())


@final
@attrs.define
class KeyEntry:
    """What a key stands for."""

    owner: Owner
    """Whose quota it counts against."""
    stream_id: StreamId | None
    """The stream of its call; None if the call was cancelled before it arrived (rule R21.6)."""
    call_digest: Digest | None = attrs.field(repr=False)
    """What a re-send must repeat (rule R21.2)."""
    reason: Reason | None = None
    """Why its stream is gone: what a re-send is answered, also when the stream itself is forgotten (rule R21.3)."""


@final
@attrs.define(eq=False)
class Keys:
    """Every key from the arrival of its call until `key_ttl` later; none is forgotten early (rule R21.4)."""

    _entries: dict[Digest, KeyEntry] = attrs.field(factory=dict)
    _arrivals: deque[tuple[float, Digest]] = attrs.field(factory=deque)
    """When each entry is forgotten: in order, since all live equally long."""
    _counts: dict[Owner, int] = attrs.field(factory=dict)

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, digest: Digest, now: float) -> KeyEntry | None:
        """Return what a key stands for, or None if it is unknown (or forgotten by now)."""
        self._forget(now)
        return self._entries.get(digest)

    def count(self, owner: Owner, now: float) -> int:
        """Return how many keys of somebody are remembered."""
        self._forget(now)
        return self._counts.get(owner, 0)

    def _forget(self, now: float) -> None:
        while self._arrivals and self._arrivals[0][0] <= now:
            owner = self._entries.pop(self._arrivals.popleft()[1]).owner
            self._counts[owner] -= 1
            if not self._counts[owner]:
                del self._counts[owner]

    def add(self, digest: Digest, entry: KeyEntry, until: float) -> None:
        """Remember a key that is unknown so far."""
        self._entries[digest] = entry
        self._counts[entry.owner] = self._counts.get(entry.owner, 0) + 1
        self._arrivals.append((until, digest))

    def close(self, digest: Digest, reason: Reason) -> None:
        """Note why the stream of a key is gone."""
        entry = self._entries.get(digest)
        if entry is not None:
            entry.reason = reason

    def fork(self) -> Self:
        """Return an independent copy."""
        return type(self)(
            {digest: attrs.evolve(entry) for digest, entry in self._entries.items()},
            self._arrivals.copy(),
            self._counts.copy(),
        )

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return a hashable value, equal for keys that will be answered alike."""
        return tuple(
            (when - now, digest, *attrs.astuple(self._entries[digest])) for when, digest in self._arrivals if when > now
        )
