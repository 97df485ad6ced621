"""What a deliberate fault is: a small patch of a real machine, named after what it breaks, and how it is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import TypeVar, final

import attrs
import pytest

from mcpstreams_sansio.tables import Forbidden, Transition, to

Patch = pytest.MonkeyPatch
StateT = TypeVar("StateT", bound=IntEnum)
SignalT = TypeVar("SignalT", bound=IntEnum)
Cells = Mapping[tuple[StateT, SignalT], Transition[StateT] | Forbidden]


@final
@attrs.frozen
class Found:
    """A search that finds a fault."""

    setting: str
    """The world that is searched, as `StreamsWorld.setting` writes it."""
    broken: str
    """The property that does not hold; `nothing raises` if a machine itself notices."""
    steps: int
    """Actions of the shortest counterexample."""


@final
@attrs.frozen
class Fault:
    """A fault that an implementation could have."""

    plant: Callable[[Patch], None]
    """Puts it in. Its name and its docstring say what is wrong then."""
    cites: str
    """The rule that it breaks, or the case in which it was met: `rule R5`, `case F1`."""
    found: tuple[Found, ...]
    """Where it is found, at least once."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.plant.__name__

    @property
    def text(self) -> str:
        """What is wrong, in a sentence."""
        return (self.plant.__doc__ or "").strip()


def planted(cites: str, *found: Found) -> Callable[[Callable[[Patch], None]], Fault]:
    """Make a fault of a function that plants it.

    Args:
        cites: The rule that it breaks, or the case in which it was met.
        found: Where it is found.
    """
    return lambda plant: Fault(plant, cites, found)


def nothing(*_: object, **__: object) -> None:
    """Do nothing at all."""


def around(patch: Patch, owner: object, name: str, wrapper: Callable[..., object]) -> None:
    """Put something around a function.

    Args:
        patch: What takes it away again.
        owner: The module or the class that has the function.
        name: The function's.
        wrapper: Is called instead, with the function and what the function was to be given.
    """
    inner = getattr(owner, name)
    patch.setattr(owner, name, lambda *given, **named: wrapper(inner, *given, **named))


def with_cell(table: Cells[StateT, SignalT], state: StateT, signal: SignalT, target: StateT) -> Cells[StateT, SignalT]:
    """Return a state table of which one cell leads somewhere else."""
    return {**table, (state, signal): to(target, "a planted fault")}
