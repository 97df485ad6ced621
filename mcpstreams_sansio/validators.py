"""What the numbers of a configuration have to be; each refusal names its field (case C10)."""

from __future__ import annotations

import math

import attrs


def at_least_one(_: object, field: attrs.Attribute[int], value: int) -> None:
    """Refuse a number below 1."""
    if value < 1:
        raise ValueError(f"{field.name} must be at least 1")


def positive(_: object, field: attrs.Attribute[float], value: float) -> None:
    """Refuse a time that is not longer than nothing, or has no end."""
    if not (value > 0 and math.isfinite(value)):
        raise ValueError(f"{field.name} must be a positive number of seconds")


def positive_or_none(_: object, field: attrs.Attribute[float], value: float | None) -> None:
    """Refuse a time that is not longer than nothing, unless there is none."""
    if value is not None:
        positive(_, field, value)


def not_negative(_: object, field: attrs.Attribute[float], value: float) -> None:
    """Refuse a number below 0, or one that is none."""
    if not (value >= 0 and math.isfinite(value)):
        raise ValueError(f"{field.name} must not be negative")
