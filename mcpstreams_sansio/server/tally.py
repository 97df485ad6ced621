"""How many of something each owner has: what quotas go by (rule R25)."""

from __future__ import annotations

from typing import Self, final

import attrs

from mcpstreams_sansio.ids import Owner


@final
@attrs.define
class Tally:
    """A count for each owner who has any."""

    _counts: dict[Owner, int] = attrs.field(factory=dict)

    def __len__(self) -> int:
        return len(self._counts)

    def of(self, owner: Owner) -> int:
        """Return how many somebody has."""
        return self._counts.get(owner, 0)

    def add(self, owner: Owner) -> None:
        """Count one more."""
        self._counts[owner] = self._counts.get(owner, 0) + 1

    def remove(self, owner: Owner) -> None:
        """Count one less; who has none is forgotten."""
        self._counts[owner] -= 1
        if not self._counts[owner]:
            del self._counts[owner]

    def fork(self) -> Self:
        """Return an independent copy."""
        return type(self)(self._counts.copy())
