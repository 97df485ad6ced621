"""A copy has the same values, and nothing that is done to one of the two is seen in the other."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.copies import shallow_copy


@attrs.define
class Log:
    """As machines have them: a private field, one that others share, one that has a default."""

    _entries: list[int]
    name: str
    size: int = 0


@attrs.frozen
class Single:
    only: tuple[int, ...]


def test_a_copy_has_the_same_values() -> None:
    log = Log([1], "log", 3)
    copy = shallow_copy(log)
    assert copy == log
    assert copy is not log
    assert copy._entries is log._entries


def test_a_field_of_a_copy_is_its_own() -> None:
    log = Log([1], "log")
    copy = shallow_copy(log)
    copy.size = 7
    assert log.size == 0


@pytest.mark.parametrize("value", [Single(()), Single((1, 2))])
def test_an_only_field_is_copied_as_it_is(value: Single) -> None:
    assert shallow_copy(value) == value
