"""What may happen in a world, and how often."""

from __future__ import annotations

import attrs

from mcpstreams_sansio.testing.actions import Bounds


def test_bounds_are_written_and_read() -> None:
    bounds = Bounds(messages=3, cuts=2, durable=1)
    assert str(bounds) == "messages=3 cuts=2 durable=1"
    assert Bounds.parse(str(bounds)) == bounds
    assert Bounds.parse("") == Bounds()
    assert bounds.spend("cuts") == attrs.evolve(bounds, cuts=1)
