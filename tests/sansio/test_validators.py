"""What the numbers of a configuration have to be (case C10)."""

from __future__ import annotations

import math
from collections.abc import Callable

import attrs
import pytest

from mcpstreams_sansio.validators import at_least_one, not_negative, positive, positive_or_none


@attrs.frozen
class Config:
    calls: int = attrs.field(default=1, validator=at_least_one)
    pause: float = attrs.field(default=1.0, validator=positive)
    keepalive: float | None = attrs.field(default=None, validator=positive_or_none)
    delay: float = attrs.field(default=0.0, validator=not_negative)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("calls", 0, "must be at least 1"),
        *(("pause", value, "must be a positive number of seconds") for value in (0.0, -1.0, math.inf, math.nan)),
        *(("keepalive", value, "must be a positive number of seconds") for value in (0.0, math.nan)),
        *(("delay", value, "must not be negative") for value in (-0.1, math.inf, math.nan)),
    ],
)
def test_a_number_that_makes_no_sense_is_refused_by_the_name_of_its_field(field: str, value: float, words: str) -> None:
    make: Callable[..., Config] = Config
    with pytest.raises(ValueError, match=rf"\A{field} {words}\Z"):
        make(**{field: value})


def test_every_other_number_is_fine() -> None:
    assert Config(2, 0.1, 0.1, 0.1) != Config(1, 1e9, None, 0.0)
