"""A machine that does what a test tells it, so that a driver is tested without any protocol."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TypeVar, final

import trio
import trio.testing

from mcpstreams_sansio.connections import DeadlineReached
from trio_bindings.driver import Driver

EventT = TypeVar("EventT")

Script = Callable[[object], Iterable[object]]
"""What the machine answers to each input."""


def say_nothing(_: object) -> Iterable[object]:
    return ()


@final
class FakeMachine:
    """Writes down what it hears, and answers by its script."""

    def __init__(self, script: Script = say_nothing) -> None:
        self.script = script
        self.deadline: float | None = None
        self.later: Iterator[float] = iter(())
        """The deadlines that follow when the present one is reached."""
        self.heard: list[object] = []
        self.times: list[float] = []
        self._news = trio.lowlevel.ParkingLot()

    def handle(self, event: object, now: float) -> list[object]:
        self.heard.append(event)
        self.times.append(now)
        self._news.unpark_all()
        if isinstance(event, DeadlineReached):
            self.deadline = next(self.later, None)
        return list(self.script(event))

    def next_deadline(self) -> float | None:
        return self.deadline

    def all_heard(self, kind: type[EventT]) -> list[EventT]:
        return [event for event in self.heard if isinstance(event, kind)]

    async def hears(self, kind: type[EventT], count: int = 1) -> EventT:
        """Wait until it has heard so many inputs of a kind, and return the last of these."""
        with trio.fail_after(5):
            while len(self.all_heard(kind)) < count:
                await self._news.park()
        return self.all_heard(kind)[count - 1]


FakeDriver = Driver[object, object]


async def settle() -> None:
    """Let every other task go as far as it can."""
    await trio.testing.wait_all_tasks_blocked()


async def for_ever() -> None:
    """Sleep until cancelled. What follows may run then, and a type checker must not think otherwise."""
    await trio.sleep_forever()


@final
class CancelAtStep(trio.abc.Instrument):
    """Cancels a scope just before the n-th step that any task takes in it."""

    def __init__(self, scope: trio.CancelScope, step: int) -> None:
        self.scope = scope
        self.steps_left = step

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if self.steps_left == 0:
            self.scope.cancel()
        self.steps_left -= 1


async def cancel_at_each_step(
    scenario: Callable[[], Awaitable[object]],
    most: int = 500,
    stride: int = 1,
    afterwards: Callable[[], Awaitable[object]] = settle,
) -> int:
    """Run an async scenario again and again, cancelled so many steps later each time, until it runs to its end.

    The scenario has to leave nothing behind whenever it is cut short: it checks that itself, in a `finally` of its own,
    or `afterwards` does, which is run after each time. Returns how many runs were cut short.
    """
    for step in range(0, most, stride):
        with trio.CancelScope() as scope, trio.fail_after(10):
            instrument = CancelAtStep(scope, step)
            trio.lowlevel.add_instrument(instrument)
            try:
                await scenario()
            finally:
                trio.lowlevel.remove_instrument(instrument)
        await afterwards()
        if not scope.cancelled_caught and instrument.steps_left >= 0:
            return step
    raise AssertionError(f"the scenario did not end within {most} steps")
