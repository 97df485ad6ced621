"""Copies of what machines are made of: a fork copies all of it, and explorers fork for each step that they try."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import TypeVar

import attrs

T = TypeVar("T", bound=attrs.AttrsInstance)


def shallow_copy(value: T) -> T:
    """Return another instance with the same values in its fields.

    It does what `attrs.evolve` does without changes, in a quarter of the time: a class is looked at only once.

    Args:
        value: An instance of an attrs class whose fields are all arguments, none of them by keyword only.
    """
    return type(value)(*_values_of(type(value))(value))


@functools.cache
def _values_of(kind: type[attrs.AttrsInstance]) -> Callable[[object], Sequence[object]]:
    # A getter of one attribute returns no tuple, so there are always two of them, and the last one is left out.
    names = [field.name for field in attrs.fields(kind)]
    get = operator.attrgetter(*names, "__class__")
    return lambda value: get(value)[:-1]
