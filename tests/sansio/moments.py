"""Every way of so many inputs through a machine: a moment that was met before is not gone on from again."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

MomentT = TypeVar("MomentT")


def go_everywhere(
    beginnings: Iterable[MomentT],
    what_follows: Callable[[MomentT], Iterator[MomentT]],
    key: Callable[[MomentT], object],
    inputs: int,
) -> None:
    """Give a machine everything that can come, and everything that can come after it.

    Args:
        beginnings: The moments in which it begins.
        what_follows: Yields each moment that can come next.
        key: Returns what decides the future of a moment.
        inputs: How many of them come, one after another.
    """
    known = set[object]()
    moments = _distinct(beginnings, key, known)
    for _ in range(inputs):
        moments = _distinct(itertools.chain.from_iterable(map(what_follows, moments)), key, known)


def _distinct(moments: Iterable[MomentT], key: Callable[[MomentT], object], known: set[object]) -> list[MomentT]:
    """Return those that differ from all that are known."""
    found = {key(moment): moment for moment in moments}
    new = found.keys() - known
    known |= new
    return [moment for name, moment in found.items() if name in new]
