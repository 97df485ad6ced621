"""State as data: what follows from each signal in each state, and why.

A table is *total*: every pair of a state and a signal has a cell, so "forbidden on purpose" never looks like
"forgotten". Guards do not live here: a machine first turns an input into a signal, and only the signal meets the table.
"""

from __future__ import annotations

import enum
import itertools
import types
from collections.abc import Mapping
from typing import Generic, TypeAlias, TypeVar, final

import attrs


class Named(enum.IntEnum):
    """A state or a signal, which is shown as a word.

    It is a number, since looking up a pair of them costs a quarter of what it costs with plain members.
    """

    def __str__(self) -> str:
        return self.name.lower().replace("_", " ")

    __format__ = enum.Enum.__format__


StateT = TypeVar("StateT", bound=enum.IntEnum)
SignalT = TypeVar("SignalT", bound=enum.IntEnum)


@final
@attrs.frozen
class Transition(Generic[StateT]):
    """The signal may come in this state, and this follows."""

    target: StateT
    """The state after it; the same one where nothing changes."""
    why: str
    """The reason, with the ids of its rules."""


@final
@attrs.frozen
class Forbidden:
    """The signal cannot come in this state: the machine that lets it through is wrong."""

    why: str
    """What rules it out."""


Table: TypeAlias = Mapping[tuple[StateT, SignalT], Transition[StateT] | Forbidden]
"""A total table of states and signals."""


def to(target: StateT, why: str) -> Transition[StateT]:
    """Return the cell of a signal that leads to `target`."""
    return Transition(target, why)


def never(why: str) -> Forbidden:
    """Return the cell of a signal that cannot come."""
    return Forbidden(why)


def total_table(
    states: type[StateT],
    signals: type[SignalT],
    cells: Mapping[tuple[StateT, SignalT], Transition[StateT] | Forbidden],
) -> Table[StateT, SignalT]:
    """Return the cells as a read-only table, once it is sure that there is one for every pair.

    Args:
        states: All states.
        signals: All signals.
        cells: One cell for each pair of them. Members of two `IntEnum`s may be equal, so types are checked too.

    Raises:
        TypeError: A pair has no cell, or a cell belongs to another table. It happens at import, so nobody ships it.
    """
    pairs = set(itertools.product(states, signals))
    if missing := pairs - set(cells):
        raise TypeError("no cell for " + ", ".join(sorted(f"{state.name}/{signal.name}" for state, signal in missing)))
    for (state, signal), cell in cells.items():
        astray = isinstance(cell, Transition) and type(cell.target) is not states
        if type(state) is not states or type(signal) is not signals or astray:
            raise TypeError(f"the cell {state!r}/{signal!r} belongs to another table")
    return types.MappingProxyType(dict(cells))


def follow(table: Table[StateT, SignalT], state: StateT, signal: SignalT) -> StateT:
    """Return the state that follows.

    Raises:
        AssertionError: The cell is forbidden. No input of a caller or a peer leads here: a guard is wrong.
    """
    cell = table[state, signal]
    if isinstance(cell, Forbidden):
        raise AssertionError(f"{signal.name} in {state.name}: {cell.why}")
    return cell.target
