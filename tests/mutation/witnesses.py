"""Who can notice a mutant: each test and each quick world, with the cells that it looks up.

Until a changed cell is looked up, everything goes as it always does. So who never looks it up cannot notice it, and is
not asked. Of the others those are asked first that have their answer soonest.
"""

from __future__ import annotations

import abc
import contextlib
import enum
import time
from collections.abc import Iterable, Sequence
from typing import Final, final

import attrs
import pytest

from mcpstreams_sansio.testing import QUICK, Configuration, RecordedTable
from tests.mutation.mutants import Mutant, Subject, place
from trio_bindings.cli.searches import search

STATES: Final = 50_000
"""More than any quick world has: a mutant may make it a larger one."""


@enum.unique
class Kind(enum.Enum):
    """What noticed a mutant."""

    TEST = "test"
    WORLD = "world"


class Witness(abc.ABC):
    """Something that may notice a mutant."""

    kind: Kind
    name: str

    @abc.abstractmethod
    def content(self) -> bool:
        """Say whether all is as it should be."""


@final
class Test(Witness):
    """A test that pytest has collected."""

    __test__ = False
    kind = Kind.TEST

    def __init__(self, item: pytest.Item) -> None:
        self.name = item.nodeid
        self._item = item
        self._failed = False

    def content(self) -> bool:
        """Say whether the test passes, with all that it needs made anew."""
        plugins = self._item.config.pluginmanager
        self._failed = False
        plugins.register(self)
        try:
            self._item.config.hook.pytest_runtest_protocol(item=self._item, nextitem=None)
        finally:
            plugins.unregister(self)
        return not self._failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take pytest's report of a part of the test."""
        self._failed = self._failed or report.failed


@final
class World(Witness):
    """A quick world, which is searched to its end."""

    kind = Kind.WORLD

    def __init__(self, configuration: Configuration) -> None:
        self.name = configuration.name
        self._configuration = configuration

    def content(self) -> bool:
        """Say whether nothing is found in it, and there is an end of it."""
        found = search(self._configuration, STATES, lambda statistics, seconds: True)
        return found.failure is None and found.complete


WORLDS: Final = tuple(World(each) for each in QUICK)


@final
@attrs.frozen
class Account:
    """What a witness knows, and how long it takes to ask it."""

    witness: Witness
    places: frozenset[str]
    """The cells that it looks up, as mutants name them."""
    seconds: float


def heard(witness: Witness, subjects: Sequence[Subject]) -> Account:
    """Ask a witness where nothing is changed, and see which cells it looks up.

    Raises:
        AssertionError: It is not content with what is right, and would notice anything.
    """
    tables = [RecordedTable(subject.table) for subject in subjects]
    begin = time.perf_counter()
    with contextlib.ExitStack() as stack:
        for subject, table in zip(subjects, tables, strict=True):
            stack.enter_context(subject.replaced(table))
        if not witness.content():
            raise AssertionError(f"{witness.name} fails without any mutant")
    places = [place(each, cell) for each, table in zip(subjects, tables, strict=True) for cell in table.seen()]
    return Account(witness, frozenset(places), time.perf_counter() - begin)


def in_order(accounts: Iterable[Account], mutant: Mutant, first: Witness | None = None) -> list[Witness]:
    """Return those who look the changed cell up: tests before worlds, what is fast before what is slow.

    Args:
        accounts: Of everybody.
        mutant: What they are to notice.
        first: Who is asked before everybody else.
    """
    involved = [each for each in accounts if mutant.place in each.places]
    involved.sort(key=lambda each: (each.witness is not first, each.witness.kind is Kind.WORLD, each.seconds))
    return [each.witness for each in involved]
