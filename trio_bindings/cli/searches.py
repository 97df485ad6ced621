"""Searches of worlds, one after another or several at a time in processes of their own."""

from __future__ import annotations

import contextlib
import enum
import gc
import math
import multiprocessing
import queue
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from enum import IntEnum
from multiprocessing.synchronize import Event
from types import ModuleType
from typing import Final, Protocol, TypeAlias, final

import attrs

from mcpstreams_sansio.client import calls
from mcpstreams_sansio.server import stream
from mcpstreams_sansio.testing import (
    SETTLES,
    Configuration,
    Counterexample,
    Explorer,
    RecordedTable,
    Statistics,
    StreamsWorld,
    digest,
    draw,
    format_transcript,
    record,
)

STEP: Final = 250
"""States between two reports of a search."""
LOOK_SECONDS: Final = 0.25
"""How long a report may wait until somebody looks at it."""


@final
@attrs.frozen
class Failure:
    """A property is broken: what it is, and the shortest way there."""

    broken: str
    transcript: str
    drawing: str | None
    """None if it cannot be drawn: what is broken may be anything."""


@final
@attrs.frozen
class Found:
    """What one search has found."""

    configuration: Configuration
    statistics: Statistics
    seconds: float
    complete: bool
    goals: frozenset[str]
    """What happened on the way."""
    server_cells: frozenset[str]
    """Cells of the table of a stream that were looked up."""
    client_cells: frozenset[str]
    failure: Failure | None = None


class Display(Protocol):
    """What searches tell of their progress."""

    def show(self, name: str, statistics: Statistics, seconds: float) -> None:
        """A search has come so far."""

    def finish(self, found: Found) -> None:
        """A search is over."""


@enum.unique
class Ending(enum.Enum):
    """Why the searches are over."""

    ALL_DONE = "each of them is"
    TIME_OVER = "there was only so much time for all of them"
    INTERRUPTED = "somebody wanted them to end"


@final
class Stop:
    """Whether the searches are to end early.

    Args:
        seconds: How long they may take in all, from now on.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        self._until = time.monotonic() + seconds
        self._interrupted = False

    def interrupt(self) -> None:
        """Have them end as soon as they can."""
        self._interrupted = True

    @property
    def wanted(self) -> bool:
        """Whether they are to end."""
        return self.ending is not Ending.ALL_DONE

    @property
    def ending(self) -> Ending:
        """Why they end, if they end now."""
        if self._interrupted:
            return Ending.INTERRUPTED
        return Ending.TIME_OVER if time.monotonic() >= self._until else Ending.ALL_DONE


@contextlib.contextmanager
def stoppable(seconds: float) -> Iterator[Stop]:
    """Take the first interruption as the wish to stop; a second one is as usual."""
    stop = Stop(seconds)
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def want(_: int, __: object) -> None:
        stop.interrupt()
        restore()

    def restore() -> None:
        for number, handler in usual.items():
            signal.signal(number, handler)

    for number in usual:
        signal.signal(number, want)
    try:
        yield stop
    finally:
        restore()


# ---- one search

Tell: TypeAlias = Callable[[Statistics, float], bool]
"""Told of progress; returns whether to go on."""


@contextlib.contextmanager
def _recorded(module: ModuleType, name: str) -> Iterator[RecordedTable[IntEnum, IntEnum]]:
    """Put a table that remembers in the place of the one that is used, which may be wrong on purpose."""
    used = getattr(module, name)
    recorded = RecordedTable[IntEnum, IntEnum](used)
    setattr(module, name, recorded)
    try:
        yield recorded
    finally:
        setattr(module, name, used)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Run without Python's collector of circles: worlds hold none."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def search(configuration: Configuration, max_states: int | None, tell: Tell) -> Found:
    """Search one world to its end, or until somebody wants no more."""
    world, begin = configuration.world(), time.perf_counter()
    most = configuration.max_states if max_states is None else max_states
    with (
        _recorded(stream, "STREAM_TABLE") as server_cells,
        _recorded(calls, "CALL_TABLE") as client_cells,
        _uncollected(),
    ):
        explorer = Explorer(world, [SETTLES], max_states=most, key_digest=digest)
        while explorer.advance(STEP) and tell(explorer.statistics(), time.perf_counter() - begin):
            pass
        report, seconds = explorer.report(), time.perf_counter() - begin
        failure = None if report.counterexample is None else _failure(world, report.counterexample)
    return Found(
        configuration,
        report.statistics,
        seconds,
        report.complete,
        frozenset(report.goals),
        frozenset(f"{state.name}/{signal.name}" for state, signal in server_cells.seen()),
        frozenset(f"{state.name}/{signal.name}" for state, signal in client_cells.seen()),
        failure,
    )


def _failure(world: StreamsWorld, counterexample: Counterexample) -> Failure:
    broken = f"{counterexample.property_name}: {counterexample.text}"
    transcript = record(world, counterexample.path, [broken])
    try:
        drawing = draw(world, transcript, broken)
    except Exception:
        drawing = None
    return Failure(broken, format_transcript(transcript), drawing)


# ---- many searches


def search_all(
    configurations: Sequence[Configuration], max_states: int | None, processes: int, display: Display, stop: Stop
) -> list[Found]:
    """Search worlds, the first ones first; return what was found in the same order.

    What was not begun when somebody wanted to stop is left out, and so is what a process has taken into its grave.
    """
    if processes == 1:
        return _search_here(configurations, max_states, display, stop)
    return _search_elsewhere(configurations, max_states, processes, display, stop)


def _search_here(
    configurations: Sequence[Configuration], max_states: int | None, display: Display, stop: Stop
) -> list[Found]:
    results = []
    for each in configurations:
        if stop.wanted:
            break

        def tell(statistics: Statistics, seconds: float, name: str = each.name) -> bool:
            display.show(name, statistics, seconds)
            return not stop.wanted

        results.append(search(each, max_states, tell))
        display.finish(results[-1])
    return results


_Progress: TypeAlias = tuple[str, Statistics, float]


@final
@attrs.frozen
class _Worker:
    """What a process that searches was given."""

    reports: multiprocessing.Queue[_Progress]
    stop: Event


_worker: list[_Worker] = []
"""Of this process, if it is one that searches."""


def _begin_work(reports: multiprocessing.Queue[_Progress], stop: Event) -> None:
    """Make a process ready to search. An interruption is sent to all processes, and is the first one's business."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _worker[:] = [_Worker(reports, stop)]


def _work(configuration: Configuration, max_states: int | None) -> Found | None:
    """Search in a process that was made ready; None if it is too late to begin."""
    [worker] = _worker
    if worker.stop.is_set():
        return None

    def tell(statistics: Statistics, seconds: float) -> bool:
        worker.reports.put((configuration.name, statistics, seconds))
        return not worker.stop.is_set()

    return search(configuration, max_states, tell)


def _search_elsewhere(
    configurations: Sequence[Configuration], max_states: int | None, processes: int, display: Display, stop: Stop
) -> list[Found]:
    context = multiprocessing.get_context("spawn")
    reports: multiprocessing.Queue[_Progress] = context.Queue()
    end = context.Event()
    with ProcessPoolExecutor(
        min(processes, len(configurations)), context, initializer=_begin_work, initargs=(reports, end)
    ) as pool:
        futures = [pool.submit(_work, each, max_states) for each in configurations]
        waiting = set(futures)
        while waiting:
            done, waiting = wait(waiting, LOOK_SECONDS, FIRST_COMPLETED)
            if stop.wanted:
                end.set()
            _show_reports(reports, display)
            _show_finished(done, display)
    return [found for found in map(_found_by, futures) if found is not None]


def _found_by(future: Future[Found | None]) -> Found | None:
    """Return what a search has found; None if it was not begun, or its process is dead, or had no memory left."""
    try:
        return future.result()
    except (BrokenProcessPool, MemoryError):
        return None


def _show_reports(reports: multiprocessing.Queue[_Progress], display: Display) -> None:
    with contextlib.suppress(queue.Empty):
        while True:
            display.show(*reports.get_nowait())


def _show_finished(done: set[Future[Found | None]], display: Display) -> None:
    for future in done:
        found = _found_by(future)
        if found is not None:
            display.finish(found)
