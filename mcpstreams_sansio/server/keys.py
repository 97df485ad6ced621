"""The call keys that are remembered, so that a re-sent call is found and never runs twice (rule R21)."""

from __future__ import annotations

import hashlib
from typing import Self, final

import attrs

from mcpstreams_sansio.copies import shallow_copy
from mcpstreams_sansio.ids import Digest, Owner, Principal, Secret, StreamId
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.tally import Tally
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
    """The stream of its call; None for a key that was cancelled before its call arrived (rule R21.6)."""
    call_digest: Digest | None = attrs.field(repr=False)
    """What a re-send must repeat (rule R21.2)."""
    reason: Reason | None = None
    """Why its stream is gone: what a re-send is answered, also when the stream itself is forgotten (rule R21.3)."""


@final
@attrs.define(eq=False)
class Keys:
    """Every key from the arrival of its call until `key_ttl` later; none of these is forgotten early (rule R21.4).

    A key that was cancelled before its call came promises less: no work was ever done for it. There may be few of
    those, and the oldest is forgotten first, so that who cancels what never comes takes nobody's room.
    """

    config: StreamsConfig
    _entries: dict[Digest, tuple[float, KeyEntry]] = attrs.field(factory=dict)
    """With the moment at which each is forgotten: in order, since all live equally long."""
    _counts: Tally = attrs.field(factory=Tally)
    _cancelled: dict[Digest, tuple[float, Owner]] = attrs.field(factory=dict)
    """Those that no call came with: the same."""
    _cancelled_by: dict[Owner, dict[Digest, None]] = attrs.field(factory=dict)

    def __len__(self) -> int:
        return len(self._entries)

    def find(self, digest: Digest, now: float) -> KeyEntry | None:
        """Return what a key stands for, or None if it is unknown (or forgotten by now)."""
        self._forget(now)
        if digest in self._entries:
            return self._entries[digest][1]
        if digest in self._cancelled:
            return KeyEntry(self._cancelled[digest][1], None, None, Reason.CANCELLED)
        return None

    def count(self, owner: Owner, now: float) -> int:
        """Return how many keys of somebody are remembered."""
        self._forget(now)
        return self._counts.of(owner)

    def _forget(self, now: float) -> None:
        while self._entries and (first := next(iter(self._entries.values())))[0] <= now:
            del self._entries[next(iter(self._entries))]
            self._counts.remove(first[1].owner)
        while self._cancelled and next(iter(self._cancelled.values()))[0] <= now:
            self._forget_cancelled(next(iter(self._cancelled)))

    def _forget_cancelled(self, digest: Digest) -> None:
        owner = self._cancelled.pop(digest)[1]
        own = self._cancelled_by[owner]
        del own[digest]
        if not own:
            del self._cancelled_by[owner]

    def add(self, digest: Digest, entry: KeyEntry, now: float) -> None:
        """Remember the key of a call that has just arrived; it is unknown so far."""
        self._entries[digest] = (now + self.config.key_ttl, entry)
        self._counts.add(entry.owner)

    def cancel(self, digest: Digest, owner: Owner, now: float) -> None:
        """Remember that no call may start under a key that is unknown so far (rule R21.6).

        Args:
            digest: The key's.
            owner: Whose oldest cancellation is forgotten if there are too many of them.
            now: When it was cancelled.
        """
        if len(own := self._cancelled_by.get(owner, {})) >= self.config.max_cancelled_keys_per_principal:
            self._forget_cancelled(next(iter(own)))
        if len(self._cancelled) >= self.config.max_cancelled_keys:
            self._forget_cancelled(next(iter(self._cancelled)))
        self._cancelled[digest] = (now + self.config.key_ttl, owner)
        self._cancelled_by.setdefault(owner, {})[digest] = None

    def close(self, digest: Digest, reason: Reason) -> None:
        """Note why the stream of a key is gone."""
        if digest in self._entries:
            self._entries[digest][1].reason = reason

    def fork(self) -> Self:
        """Return an independent copy."""
        copy = shallow_copy(self)
        copy._entries = {digest: (until, shallow_copy(entry)) for digest, (until, entry) in self._entries.items()}
        copy._counts = self._counts.fork()
        copy._cancelled = self._cancelled.copy()
        copy._cancelled_by = {owner: own.copy() for owner, own in self._cancelled_by.items()}
        return copy

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return a hashable value, equal for keys that will be answered alike."""
        return (
            tuple(
                (digest, until - now, *attrs.astuple(entry))
                for digest, (until, entry) in self._entries.items()
                if until > now
            ),
            tuple((digest, until - now, owner) for digest, (until, owner) in self._cancelled.items() if until > now),
        )
