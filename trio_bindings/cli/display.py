"""Live progress of the demo, on stderr: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, final

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

_LINES_PER_STREAM = 4
"""Plain lines for one stream."""


class Display(Protocol):
    """What the demo tells of its progress."""

    def show(self, stream: int, received: int) -> None:
        """So many messages of one stream were received."""
        ...

    def show_cuts(self, made: int) -> None:
        """So many connections were cut."""
        ...


@contextmanager
def open_display(streams: int, messages: int, cuts: int) -> Iterator[Display]:
    """Show progress while the block runs."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(messages)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        yield _Bars(progress, streams, messages, cuts)


@final
class _Bars:
    def __init__(self, progress: Progress, streams: int, messages: int, cuts: int) -> None:
        self._progress = progress
        self._streams: list[TaskID] = [
            progress.add_task(f"stream {number}", total=messages) for number in range(1, streams + 1)
        ]
        self._cuts = progress.add_task("connections cut", total=cuts)

    def show(self, stream: int, received: int) -> None:
        self._progress.update(self._streams[stream], completed=received)

    def show_cuts(self, made: int) -> None:
        self._progress.update(self._cuts, completed=made)


@final
class _Lines:
    def __init__(self, messages: int) -> None:
        self._messages = messages
        self._step = max(1, messages // _LINES_PER_STREAM)

    def show(self, stream: int, received: int) -> None:
        if received % self._step == 0 or received == self._messages:
            click.echo(f"stream {stream + 1}: {received} of {self._messages} messages", err=True)

    def show_cuts(self, made: int) -> None:
        click.echo(f"connections cut: {made}", err=True)
