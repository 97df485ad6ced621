"""The states that a search has met, as numbers, and the ways between them, in a few bytes each."""

from __future__ import annotations

import struct
from typing import Final, final

import attrs

_STATE: Final = struct.Struct("=I")
_WAY: Final = struct.Struct("=IH")

START: Final = 0
"""The state in which a search begins."""


@final
@attrs.define
class Ways:
    """For each state, by which action of which earlier state it was first met."""

    _ways: bytearray = attrs.field(factory=lambda: bytearray(_WAY.pack(START, 0)))

    def __len__(self) -> int:
        return len(self._ways) // _WAY.size

    def add(self, source: int, ordinal: int) -> int:
        """Add a state that was met from `source` by its action number `ordinal`; return the state's number."""
        number = len(self)
        self._ways += _WAY.pack(source, ordinal)
        return number

    def to(self, state: int) -> list[int]:
        """Return the ordinals of the actions that lead from the start to a state."""
        ordinals = []
        while state != START:
            state, ordinal = _WAY.unpack_from(self._ways, state * _WAY.size)
            ordinals.append(ordinal)
        return ordinals[::-1]


@final
@attrs.define
class Reachability:
    """Which states can reach a good one. States are told in their order, and each one's steps after it.

    A state whose steps were not all told counts as good: nobody knows what it reaches.
    """

    _good: bytearray = attrs.field(factory=bytearray)
    """One byte for each state."""
    _targets: bytearray = attrs.field(factory=bytearray)
    """The targets of all steps, grouped by their source."""
    _ends: bytearray = attrs.field(factory=bytearray)
    """For each state, the number of steps told once its own were."""

    def add_state(self, good: bool) -> None:
        """Tell of the next state."""
        self._good.append(good)

    def add_step(self, target: int) -> None:
        """Tell of a step from the state whose turn it is."""
        self._targets += _STATE.pack(target)

    def end_state(self) -> None:
        """All steps of this state were told; the next state's turn begins."""
        self._ends += _STATE.pack(len(self._targets) // _STATE.size)

    def first_stuck(self) -> int | None:
        """Return the first state from which no good one can be reached, or None."""
        can = bytearray(self._good)
        ended = len(self._ends) // _STATE.size
        can[ended:] = b"\x01" * (len(can) - ended)
        reached = [state for state, good in enumerate(can) if good]
        starts, sources = self._backwards()
        while reached:
            state = reached.pop()
            for source in sources[starts[state] : starts[state + 1]]:
                if not can[source]:
                    can[source] = 1
                    reached.append(source)
        stuck = can.find(0)
        return None if stuck < 0 else stuck

    def _backwards(self) -> tuple[memoryview, memoryview]:
        """Return the steps grouped by their target: where each group starts, and the sources in it."""
        targets = memoryview(self._targets).cast("I")
        ends = memoryview(self._ends).cast("I")
        starts = memoryview(bytearray(_STATE.size * (len(self._good) + 2))).cast("I")
        # One place further than a count belongs: filling the groups then moves each start to where it is wanted.
        told = ends[-1] if len(ends) else 0
        for target in targets[:told]:
            starts[target + 2] += 1
        for state in range(2, len(starts)):
            starts[state] += starts[state - 1]
        sources = memoryview(bytearray(_STATE.size * max(told, 1))).cast("I")
        step = 0
        for source, end in enumerate(ends):
            for target in targets[step:end]:
                sources[starts[target + 1]] = source
                starts[target + 1] += 1
            step = end
        return starts, sources
