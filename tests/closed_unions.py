"""What a union alias is made of, for the tests that hold something against all of it."""

from __future__ import annotations

import typing
from collections.abc import Iterator


def members(value: object) -> Iterator[type]:
    """Yield the classes of a union, as deep as it goes."""
    for member in typing.get_args(value):
        if isinstance(member, type):
            yield member
        else:
            yield from members(member)
