"""Every way in which one cell of a state table can be wrong."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from types import ModuleType
from typing import Final, TypeAlias, final

import attrs

from mcpstreams_sansio.client import calls, link
from mcpstreams_sansio.client.link import LINK_TABLE
from mcpstreams_sansio.client.table import CALL_TABLE
from mcpstreams_sansio.server import stream
from mcpstreams_sansio.server.table import STREAM_TABLE
from mcpstreams_sansio.tables import Forbidden, Table, Transition, never, to

Cell: TypeAlias = tuple[enum.IntEnum, enum.IntEnum]
AnyTable: TypeAlias = Table[enum.IntEnum, enum.IntEnum]


@final
@attrs.frozen
class Subject:
    """A table, and the name by which a module looks it up."""

    name: str
    module: ModuleType
    attribute: str
    table: AnyTable = attrs.field(repr=False)

    @contextlib.contextmanager
    def replaced(self, table: AnyTable) -> Iterator[None]:
        """Let the module look things up in another table."""
        setattr(self.module, self.attribute, table)
        try:
            yield
        finally:
            setattr(self.module, self.attribute, self.table)


SUBJECTS: Final = {
    subject.name: subject
    for subject in (
        Subject("stream", stream, "STREAM_TABLE", STREAM_TABLE),  # type: ignore[arg-type]  # it is only read
        Subject("call", calls, "CALL_TABLE", CALL_TABLE),  # type: ignore[arg-type]  # it is only read
        Subject("link", link, "LINK_TABLE", LINK_TABLE),  # type: ignore[arg-type]  # it is only read
    )
}


def place(subject: Subject, cell: Cell) -> str:
    """Return what a cell is called: members of two tables may be equal, and their names are not."""
    state, signal = cell
    return f"{subject.name} {state.name}/{signal.name}"


@final
@attrs.frozen
class Mutant:
    """A table with one cell changed."""

    subject: Subject
    cell: Cell
    answer: Transition[enum.IntEnum] | Forbidden

    @property
    def place(self) -> str:
        """What its cell is called."""
        return place(self.subject, self.cell)

    def __str__(self) -> str:
        return f"{self.place} -> {self.answer.target.name if isinstance(self.answer, Transition) else 'never'}"

    def planted(self) -> contextlib.AbstractContextManager[None]:
        """Let the module use it."""
        return self.subject.replaced({**self.subject.table, self.cell: self.answer})


def mutants(subject: Subject) -> Iterator[Mutant]:
    """Yield each cell with every other answer that it could give: every other state to go to, or never.

    What could never happen may happen, without any change of state.
    """
    for cell, answer in subject.table.items():
        state, _ = cell
        match answer:
            case Transition(target):
                for each in type(state):
                    if each is not target:
                        yield Mutant(subject, cell, to(each, "mutant"))
                yield Mutant(subject, cell, never("mutant"))
            case Forbidden():
                yield Mutant(subject, cell, to(state, "mutant"))
