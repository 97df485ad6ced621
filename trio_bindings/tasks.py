"""Tasks for what peers make an application do, so many at a time."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVarTuple, final

import trio

ArgumentTs = TypeVarTuple("ArgumentTs")

_logger = logging.getLogger("trio_bindings")


@final
class LimitedTasks:
    """Runs functions of the application, each in a task of its own; a failure of one is logged and ends only itself.

    Args:
        nursery: Where the tasks live.
        most: How many may run at a time.
    """

    def __init__(self, nursery: trio.Nursery, most: int) -> None:
        self._nursery = nursery
        self._most = most
        self._running = 0

    def start(self, function: Callable[[*ArgumentTs], Awaitable[object]], *arguments: *ArgumentTs) -> bool:
        """Start a task, unless as many as may run are running; say whether it was started."""
        if self._running >= self._most:
            return False
        self._running += 1
        self._nursery.start_soon(self._run, function, *arguments)
        return True

    async def _run(self, function: Callable[[*ArgumentTs], Awaitable[object]], *arguments: *ArgumentTs) -> None:
        try:
            await function(*arguments)
        except Exception as error:
            _logger.error("a function of the application failed", exc_info=error)
        finally:
            self._running -= 1
