"""Which cells of a state table were looked up: what a search has not met, it has not checked."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar, final

from mcpstreams_sansio.tables import Forbidden, Table, Transition

StateT = TypeVar("StateT", bound=enum.IntEnum)
SignalT = TypeVar("SignalT", bound=enum.IntEnum)


@final
class RecordedTable(Mapping[tuple[StateT, SignalT], Transition[StateT] | Forbidden], Generic[StateT, SignalT]):
    """A table that remembers what was looked up. It stands in for the table of a module, as long as one listens.

    Args:
        table: What it stands in for.
    """

    def __init__(self, table: Table[StateT, SignalT]) -> None:
        self._table = table
        self._seen: dict[tuple[StateT, SignalT], int] = {}

    def __getitem__(self, pair: tuple[StateT, SignalT]) -> Transition[StateT] | Forbidden:
        self._seen[pair] = self._seen.get(pair, 0) + 1
        return self._table[pair]

    def __iter__(self) -> Iterator[tuple[StateT, SignalT]]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def seen(self) -> dict[tuple[StateT, SignalT], int]:
        """Return the cells that were looked up, and how often."""
        return self._seen.copy()

    def unseen(self) -> list[tuple[StateT, SignalT]]:
        """Return the cells that can be met and were not."""
        return [pair for pair, cell in self._table.items() if isinstance(cell, Transition) and pair not in self._seen]
