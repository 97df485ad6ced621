"""What may happen in a world, and how often."""

from __future__ import annotations

import re

import attrs
import pytest

from mcpstreams_sansio import LocalProtocolError
from mcpstreams_sansio.testing.actions import MOST, Bounds


def test_bounds_are_written_and_read() -> None:
    bounds = Bounds(messages=3, cuts=2, durable=1)
    assert str(bounds) == "messages=3 cuts=2 durable=1"
    assert Bounds.parse(str(bounds)) == bounds
    assert Bounds.parse("") == Bounds()
    assert bounds.spend("cuts") == attrs.evolve(bounds, cuts=1)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("cuts", "cuts is no bound of a world"),
        ("cuts=-1", "cuts=-1 is no bound of a world"),
        ("cuts=\u0663", "cuts=\u0663 is no bound of a world"),
        ("floods=1", "floods=1 is no bound of a world"),
        ("rivals=10001", "rivals is more than 10000"),
        ("rivals=" + "9" * 5_000, "rivals is more than 10000"),
    ],
)
def test_what_is_no_bound_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(LocalProtocolError, match=rf"\A{re.escape(complaint)}\Z"):
        Bounds.parse(text)
    assert Bounds.parse(f"rivals={MOST}").rivals == MOST
