"""Every limit and time has a range, and the error names the field."""

from __future__ import annotations

import math

import attrs
import pytest

from mcpstreams_sansio.server.config import StreamsConfig

DEFAULTS = attrs.asdict(StreamsConfig())
COUNTS = [name for name, value in DEFAULTS.items() if type(value) is int]
TIMES = [name for name, value in DEFAULTS.items() if type(value) is float]
MAY_BE_NOTHING = {"redelivery_window", "takeover_interval", "resume_interval"}


def config(name: str, value: object) -> StreamsConfig:
    return StreamsConfig(**{name: value})  # type: ignore[arg-type]  # the type of one field or another


def test_every_field_but_two_is_a_count_or_a_time() -> None:
    assert DEFAULTS.keys() - {*COUNTS, *TIMES} == {"durable", "create_shape"}


@pytest.mark.rule("Q11h", "P40")
@pytest.mark.parametrize("name", COUNTS)
def test_a_count_is_at_least_one(name: str) -> None:
    assert getattr(config(name, 1), name) == 1
    for value in (0, -1):
        with pytest.raises(ValueError, match=rf"\A{name} must be at least 1\Z"):
            config(name, value)


@pytest.mark.parametrize("name", TIMES)
def test_a_time_is_a_positive_number_of_seconds(name: str) -> None:
    assert getattr(config(name, 0.001), name) == 0.001
    words = "must not be negative" if name in MAY_BE_NOTHING else "must be a positive number of seconds"
    for value in (-1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match=rf"\A{name} {words}\Z"):
            config(name, value)


@pytest.mark.parametrize("name", TIMES)
def test_no_time_at_all_is_a_choice_for_some(name: str) -> None:
    if name in MAY_BE_NOTHING:
        assert getattr(config(name, 0.0), name) == 0
    else:
        with pytest.raises(ValueError, match=rf"\A{name} must be a positive number of seconds\Z"):
            config(name, 0.0)


def test_stalls_and_silence_need_not_be_watched() -> None:
    unwatched = StreamsConfig(stall_timeout=None, keepalive=None)
    assert (unwatched.stall_timeout, unwatched.keepalive) == (None, None)


@pytest.mark.rule("R6")
@pytest.mark.parametrize(("size", "window"), [(1, 1), (2, 1), (1_000, 500)])
def test_half_of_what_a_stream_may_hold_may_be_unacknowledged(size: int, window: int) -> None:
    assert StreamsConfig(max_stream_bytes=size).window_bytes == window
