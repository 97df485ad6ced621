"""Worlds that differ only in the names of things have one key, and no others do."""

from __future__ import annotations

import enum
from collections import deque

import attrs
import pytest

from mcpstreams_sansio.ids import Entropy, Secret
from mcpstreams_sansio.testing.names import (
    FAR,
    connection_name,
    numbered,
    remembered,
    stream_name,
    text_of,
    token_name,
)


class Colour(enum.IntEnum):
    RED = 1
    BLUE = 2


@attrs.frozen
class Pair:
    left: object
    right: object


def key(*values: object) -> object:
    return numbered([text_of(value) for value in values])


def derived(number: int) -> str:
    return Entropy(b"%016d" % number).derive("x")


@pytest.mark.parametrize(
    ("first", "second", "third"),
    [
        pytest.param(stream_name(1), stream_name(2), stream_name(3), id="stream"),
        pytest.param(token_name(1), token_name(2), token_name(3), id="token"),
        pytest.param(connection_name(1), connection_name(2), connection_name(300), id="connection"),
        pytest.param(derived(1), derived(2), derived(3), id="derived"),
        pytest.param(token_name(1).digest(), token_name(2).digest(), token_name(3).digest(), id="digest"),
    ],
)
def test_only_which_names_are_the_same_matters(first: object, second: object, third: object) -> None:
    assert key((first, second), first) == key((third, first), third) == key((second, third), second)
    assert key((first, second), first) != key((first, second), second)
    assert key((first, first)) != key((first, second))


def test_a_name_inside_bytes_is_the_same_name() -> None:
    payload = b'{"streamId":"%s"}'
    one, two = (payload % stream_name(number).encode() for number in (1, 2))
    assert key(stream_name(1), one) == key(stream_name(2), two)
    assert key(stream_name(1), one) != key(stream_name(1), two)


def test_a_token_and_its_digest_are_the_same_name() -> None:
    one, two = token_name(1), token_name(2)
    assert key(one, one.digest()) == key(two, two.digest())
    assert key(one, one.digest()) != key(one, two.digest())


def test_a_secret_can_be_known_by_another_digest() -> None:
    secret = remembered(Secret("token-99999"), lambda each: Secret(each.reveal() + "!").digest())
    assert key(secret, Secret("token-99999!").digest()) == key(token_name(1), token_name(1).digest())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, 2),
        (1, "1"),
        (1, 1.5),
        (True, 1),
        (None, "None"),
        ((1, 2), (2, 1)),
        ((1, (2,)), ((1, 2),)),
        ("a", b"a"),
        ("a,b", ("a", "b")),
        (Colour.RED, Colour.BLUE),
        (Pair(1, 2), Pair(2, 1)),
        ({"a": 1}, {"a": 2}),
        ({1, 2}, {1, 3}),
        (b"x" * 32, b"y" * 32),
        ("stream-1", "stream-2"),
        (Secret("secret"), Secret("another")),
    ],
)
def test_what_is_different_stays_different(one: object, other: object) -> None:
    assert key(one) != key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], (1, 2)),
        (deque([1, 2]), (1, 2)),
        ({3, 1, 2}, frozenset([2, 3, 1])),
        (FAR * 2, FAR * 3),
        (Pair({1: 2}, None), Pair({1: 2}, None)),
    ],
)
def test_what_behaves_alike_looks_alike(one: object, other: object) -> None:
    assert key(one) == key(other)


def test_attempts_compete_with_those_of_their_own_client_alone() -> None:
    """The latest of one client takes over; one that is late of the other does not, although it lies between as well."""
    held = ("instance.3", "instance2.1")
    assert key(held, "instance.4") == key(held, "instance.5")
    assert key(held, "instance.4") != key(held, "instance2.0")
    assert key(held, "instance2.2") != key(held, "instance2.0")


def test_in_which_order_texts_come_can_mean_nothing() -> None:
    first, second = connection_name(1), connection_name(2)
    machine, idle, busy = text_of((first, second)), text_of((second, "idle")), text_of((first, "busy"))
    assert numbered([machine], [idle, busy]) == numbered([machine], [busy, idle])
    same = text_of((second, "busy"))
    assert numbered([machine], [busy, same]) == numbered([machine], [same, busy])
    assert numbered([machine], [busy, same]) != numbered([machine], [busy, busy])


def test_in_which_order_a_set_is_written_depends_on_its_names_last() -> None:
    def timers(early: int, late: int) -> object:
        return {("rest", connection_name(early)), ("keep-alive", connection_name(late))}

    assert key(timers(1, 2)) == key(timers(2, 1))


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(TypeError, match=r"\Aobject has no place in a snapshot\Z"):
        text_of((1, object()))
