"""Change every cell of the state tables, one at a time, and see who notices.

Tools that mutate code leave out what a module says at its top level, so the tables need one of their own. Each cell
gets every other answer that it could give: every other state to go to, or never. What could never happen may happen,
without any change of state.

Run it from the root of the project, on a machine that has nothing else to do::

    python -m tests.mutation.cells stream
    python -m tests.mutation.cells call --processes 4 > cells.txt

Each mutant is tried in a process of its own: first by the tests of the rooms that use the table, without those of the
table itself, then by the quick worlds. What nobody notices is printed last, and has to be shown to be equivalent.
"""

from __future__ import annotations

import argparse
import contextlib
import enum
import io
import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from types import ModuleType
from typing import Final, TypeAlias, final

import attrs
import pytest

from mcpstreams_sansio.client import calls, link
from mcpstreams_sansio.client.link import LINK_TABLE
from mcpstreams_sansio.client.table import CALL_TABLE
from mcpstreams_sansio.server import stream
from mcpstreams_sansio.server.table import STREAM_TABLE
from mcpstreams_sansio.tables import Forbidden, Table, Transition, never, to
from mcpstreams_sansio.testing import QUICK
from trio_bindings.cli.searches import search

Cell: TypeAlias = tuple[enum.IntEnum, enum.IntEnum]
AnyTable: TypeAlias = Table[enum.IntEnum, enum.IntEnum]

SECONDS: Final = 60
"""How long a test is waited for: a mutant may make something run for ever."""
STATES: Final = 50_000
"""More than any quick world has: a mutant may make it a larger one."""


@final
@attrs.frozen
class Subject:
    """A table, the name by which a module looks it up, and the tests that should notice."""

    module: ModuleType
    name: str
    table: AnyTable
    tests: Sequence[str]


CLIENT_TESTS: Final = ("tests/sansio/client", "--deselect=tests/sansio/client/test_table.py")
SUBJECTS: Final = {
    "stream": Subject(
        stream,
        "STREAM_TABLE",
        STREAM_TABLE,  # type: ignore[arg-type]  # it is only read
        ("tests/sansio/server", "--deselect=tests/sansio/server/test_table.py"),
    ),
    "call": Subject(calls, "CALL_TABLE", CALL_TABLE, CLIENT_TESTS),  # type: ignore[arg-type]  # it is only read
    "link": Subject(link, "LINK_TABLE", LINK_TABLE, CLIENT_TESTS),  # type: ignore[arg-type]  # it is only read
}


@enum.unique
class Notice(enum.Enum):
    """Who noticed a mutant."""

    NOBODY = "nobody"
    TESTS = "tests"
    WORLDS = "worlds"


@final
@attrs.frozen
class Mutant:
    """A table with one cell changed."""

    cell: Cell
    answer: Transition[enum.IntEnum] | Forbidden

    @property
    def name(self) -> str:
        """What its cell is called."""
        state, signal = self.cell
        return f"{state.name}/{signal.name}"

    def __str__(self) -> str:
        return f"{self.name} -> {self.answer.target.name if isinstance(self.answer, Transition) else 'never'}"


def mutants(table: AnyTable) -> Iterator[Mutant]:
    """Return all of them."""
    for cell, answer in table.items():
        state, _ = cell
        match answer:
            case Transition(target):
                yield from (Mutant(cell, to(each, "mutant")) for each in type(state) if each is not target)
                yield Mutant(cell, never("mutant"))
            case Forbidden():
                yield Mutant(cell, to(state, "mutant"))


def notice(name: str, mutant: Mutant) -> Notice:
    """Try a mutant in this process, which is not good for anything else any more."""
    subject = SUBJECTS[name]
    setattr(subject.module, subject.name, {**subject.table, mutant.cell: mutant.answer})
    with contextlib.redirect_stdout(io.StringIO()):
        passed = pytest.main(["-x", "-q", "-p", "no:cacheprovider", f"--timeout={SECONDS}", *subject.tests]) == 0
    if not passed:
        return Notice.TESTS
    for each in QUICK:
        found = search(each, STATES, lambda statistics, seconds: True)
        if found.failure is not None or not found.complete:
            return Notice.WORLDS
    return Notice.NOBODY


def main() -> int:
    """Try all mutants of a table; return 0 if somebody noticed each of them."""
    parser = argparse.ArgumentParser(description="Change every cell of a state table, and see who notices.")
    parser.add_argument("table", choices=SUBJECTS)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--cell", help="only this one, as STATE/SIGNAL")
    arguments = parser.parse_args()
    chosen = [each for each in mutants(SUBJECTS[arguments.table].table) if arguments.cell in (None, each.name)]
    unnoticed = []
    alone = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(arguments.processes, alone, max_tasks_per_child=1) as pool:
        for mutant, who in zip(chosen, pool.map(notice, [arguments.table] * len(chosen), chosen), strict=True):
            print(f"{mutant}: {who.value}", flush=True)
            if who is Notice.NOBODY:
                unnoticed.append(mutant)
    print(f"{len(chosen)} mutants, {len(unnoticed)} unnoticed", *unnoticed, sep="\n")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
