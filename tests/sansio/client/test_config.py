"""A client's limits and times: each is checked, and says which one it is."""

from __future__ import annotations

import math

import attrs
import pytest

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.policy import back_off

CONFIG = ClientConfig(instance="a-client")
FIELDS = [field for field in attrs.fields(ClientConfig) if field.name != "instance"]
SIZES = [field.name for field in FIELDS if isinstance(field.default, int) and not isinstance(field.default, bool)]
TIMES = [
    field.name
    for field in FIELDS
    if isinstance(field.default, float) and field.name not in {"retry_factor", "retry_jitter"}
]
SWITCHED_OFF_BY_NONE = ["keepalive", "stall_timeout"]


def changed(name: str, value: float | None) -> ClientConfig:
    return attrs.evolve(CONFIG, **{name: value})  # type: ignore[arg-type]  # which field it is, only the test knows


def test_every_field_is_a_size_or_a_time_or_one_of_few_others() -> None:
    others = {field.name for field in FIELDS} - set(SIZES) - set(TIMES)
    assert others == {"retry_factor", "retry_jitter", "poll_first"}


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("value", [0, -1])
def test_c10_a_size_is_at_least_one(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=rf"\A{name} must be at least 1\Z"):
        changed(name, value)


@pytest.mark.parametrize("name", SIZES)
def test_c10_one_is_a_size(name: str) -> None:
    assert getattr(changed(name, 1), name) == 1


@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan])
def test_a_time_is_positive_and_finite(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"\A{name} must be a positive number of seconds\Z"):
        changed(name, value)


@pytest.mark.parametrize("name", SWITCHED_OFF_BY_NONE)
def test_some_watching_can_be_switched_off(name: str) -> None:
    assert getattr(changed(name, None), name) is None


@pytest.mark.parametrize("value", [0.5, math.inf, math.nan])
def test_pauses_never_shrink_with_each_attempt(value: float) -> None:
    with pytest.raises(ValueError, match=r"\Aretry_factor must be a number of at least 1\Z"):
        attrs.evolve(CONFIG, retry_factor=value)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_jitter_is_a_part_of_the_pause(value: float) -> None:
    with pytest.raises(ValueError, match=r"\Aretry_jitter must be from 0 to 1\Z"):
        attrs.evolve(CONFIG, retry_jitter=value)


@pytest.mark.parametrize("value", ["", "short", "x" * 65, "has.a.dot", "has space"])
def test_an_instance_can_stand_in_request_ids_and_attempts(value: str) -> None:
    with pytest.raises(ValueError, match=r"\Ainstance must be 8 to 64 of A-Z a-z 0-9 _ -\Z"):
        ClientConfig(instance=value)


@pytest.mark.parametrize(
    ("floor", "ceiling", "factor", "tries"),
    [
        (1.0, 8.0, 2.0, 3),
        (1.0, 9.0, 2.0, 4),
        (0.1, 30.0, 2.0, 9),
        (8.0, 8.0, 2.0, 0),
        (9.0, 8.0, 2.0, 0),
        (1.0, 8.0, 1.0, 0),
    ],
)
def test_pauses_grow_so_often(floor: float, ceiling: float, factor: float, tries: int) -> None:
    config = attrs.evolve(CONFIG, retry_floor=floor, retry_ceiling=ceiling, retry_factor=factor)
    assert config.tries_to_ceiling == tries
    pauses = [back_off(config, number) for number in range(tries + 3)]
    assert pauses[tries:] == [pauses[-1]] * 3
    assert tries == 0 or pauses[tries - 1] < pauses[tries]
