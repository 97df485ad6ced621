"""Live progress of searches, on stderr: a table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, final

import click
from rich.console import Console
from rich.live import Live
from rich.table import Table

from mcpstreams_sansio.testing import Statistics
from trio_bindings.cli.searches import Display, Found

LINE_SECONDS: Final = 10.0
"""Between two plain lines about the same search."""
_NOTHING: Final = Statistics(0, 0, 0, 0)


@contextmanager
def open_search_display(worlds: int) -> Iterator[Display]:
    """Show progress while the block runs.

    Args:
        worlds: How many are to be searched.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(worlds)
        return
    with Live(console=console, transient=True) as live:
        yield _Live(live, worlds)


@final
class _Tally:
    """How far all searches have come together."""

    def __init__(self, worlds: int) -> None:
        self.worlds = worlds
        self.finished = 0
        self.running: dict[str, tuple[Statistics, float]] = {}
        self._states = 0
        self._transitions = 0
        self._begin = time.perf_counter()

    def show(self, name: str, statistics: Statistics, seconds: float) -> None:
        self.running[name] = statistics, seconds

    def finish(self, found: Found) -> None:
        self.running.pop(found.configuration.name, None)
        self.finished += 1
        self._states += found.statistics.states
        self._transitions += found.statistics.transitions

    def all(self) -> tuple[Statistics, float]:
        """Return the sums, and for how long it takes so far."""
        now = [statistics for statistics, _ in self.running.values()]
        sums = Statistics(
            self._states + sum(each.states for each in now),
            sum(each.waiting for each in now),
            self._transitions + sum(each.transitions for each in now),
            max((each.depth for each in now), default=0),
        )
        return sums, time.perf_counter() - self._begin


def per_second(number: int, seconds: float) -> int:
    """Return a rate."""
    return round(number / max(seconds, 0.001))


def line(name: str, statistics: Statistics, seconds: float) -> str:
    """Return in one line how far a search has come."""
    return (
        f"{name}: {statistics.states} states, {statistics.waiting} waiting, depth {statistics.depth}, "
        f"{per_second(statistics.states, seconds)} states/s, "
        f"{per_second(statistics.transitions, seconds)} transitions/s"
    )


@final
class _Lines:
    def __init__(self, worlds: int) -> None:
        self._tally = _Tally(worlds)
        self._said: dict[str, float] = {}

    def show(self, name: str, statistics: Statistics, seconds: float) -> None:
        self._tally.show(name, statistics, seconds)
        if name not in self._said or seconds - self._said[name] >= LINE_SECONDS:
            self._said[name] = seconds
            click.echo(line(name, statistics, seconds), err=True)

    def finish(self, found: Found) -> None:
        self._tally.finish(found)
        end = "broken" if found.failure else "complete" if found.complete else "incomplete"
        text = line(found.configuration.name, found.statistics, found.seconds)
        click.echo(f"{text}, {end} ({self._tally.finished} of {self._tally.worlds})", err=True)


@final
class _Live:
    def __init__(self, live: Live, worlds: int) -> None:
        self._live = live
        self._tally = _Tally(worlds)

    def show(self, name: str, statistics: Statistics, seconds: float) -> None:
        self._tally.show(name, statistics, seconds)
        self._live.update(self._table())

    def finish(self, found: Found) -> None:
        self._tally.finish(found)
        self._live.update(self._table())

    def _table(self) -> Table:
        table = Table("world", box=None)
        for heading in ("states", "waiting", "depth", "states/s", "transitions/s"):
            table.add_column(heading, justify="right")
        for name, (statistics, seconds) in self._tally.running.items():
            table.add_row(name, *_cells(statistics, seconds))
        table.add_row(f"{self._tally.finished} of {self._tally.worlds} done", *_cells(*self._tally.all()))
        return table


def _cells(statistics: Statistics, seconds: float) -> list[str]:
    rates = (per_second(statistics.states, seconds), per_second(statistics.transitions, seconds))
    return [f"{number:,}" for number in (statistics.states, statistics.waiting, statistics.depth, *rates)]
