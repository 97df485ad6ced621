"""A key is canonical: there is one for all worlds that are alike, and never one for two that are not.

Both are shown on every state of some worlds. What is merged under one key really behaves alike: the same things can
happen in it, and each leads to the same key again. And neither names, nor the time of day, nor the order in which a
world happens to keep things makes a second key of the same state.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TypeVar

import pytest

from mcpstreams_sansio.testing import Explorer, StreamsWorld, digest
from mcpstreams_sansio.testing.state import Counters, State

K = TypeVar("K")
V = TypeVar("V")

SETTINGS = [
    "multiplexed marker messages=2 cuts=1",
    "multiplexed marker asks=1 cuts=1",
    "multiplexed marker messages=0 cuts=1 cancels=1 durable=1",
    "multiplexed marker messages=0 calls=2",
    "multiplexed marker messages=0 rivals=1",
    "multiplexed marker messages=0 client_crashes=1 slow_saves=1",
    "http marker messages=0 asks=1 client_crashes=1",
    "multiplexed marker messages=0 cuts=1 slow_writes=1 polls=1",
    "multiplexed draft messages=0 cuts=1 hurries=1",
    "multiplexed marker messages=0 crashes=1 durable=1",
    "multiplexed marker messages=0 asks=1 crashes=1 durable=1",
    "multiplexed marker messages=1 client_crashes=1",
    "http marker messages=0 straggles=1 crashes=1",
    "http marker messages=1 slow_takes=1 straggles=1",
    "http draft messages=0 cuts=1 sessions=1",
    "http stock cuts=1",
    "multiplexed marker messages=0 cuts=1 copies=1",
    "http marker messages=0 cancels=1 copies=1",
]

Successors = Mapping[tuple[str, bytes], int]
"""What can happen, and what key it leads to: how often."""


def key_of(world: StreamsWorld) -> bytes:
    return digest(world.key())


def successors(world: StreamsWorld) -> Successors:
    found: Counter[tuple[str, bytes]] = Counter()
    for action in world.actions():
        after = world.fork()
        after.apply(action)
        found[action.kind, key_of(after)] += 1
    return found


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_has_one_key_behaves_alike(setting: str) -> None:
    """By induction over the steps, it does so for ever: all that is merged can do the same, to the same end."""
    start = StreamsWorld.parse(setting)
    behaviour: dict[bytes, tuple[Successors, bool]] = {}
    waiting = [start]
    merged = 0
    while waiting:
        world = waiting.pop()
        key = key_of(world)
        found = successors(world), world.settled()
        if key in behaviour:
            merged += 1
            assert found == behaviour[key]
            continue
        behaviour[key] = found
        for action in world.actions():
            after = world.fork()
            after.apply(action)
            waiting.append(after)
    assert merged > len(behaviour) // 2, "or it would show little"


def renamed(world: StreamsWorld) -> StreamsWorld:
    """Return the first state of a world in which every name that will be given is another one, on another day."""
    other = world.fork()
    other.state.counters = Counters(wires=30, connections=40, streams=50, scopes=60, asks=70, seeds=80)
    other.state.now = 12_345.0
    return other


def shuffled(state: State, order: random.Random) -> None:
    """Keep everything in another order, wherever the order is nothing but how it is kept."""
    _shuffle(state.wires, order)
    _shuffle(state.works, order)
    _shuffle(state.tokens, order)
    _shuffle(state.callers, order)
    _shuffle(state.witness.attached, order)
    _shuffle(state.witness.ended, order)
    _shuffle(state.witness.gone, order)


def _shuffle(kept: dict[K, V], order: random.Random) -> None:
    items = list(kept.items())
    order.shuffle(items)
    kept.clear()
    kept.update(items)


@pytest.mark.parametrize("setting", SETTINGS)
def test_neither_names_nor_the_time_make_another_key(setting: str) -> None:
    world = StreamsWorld.parse(setting)
    walk_together(world, renamed(world), lambda _: None)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_order_in_which_things_are_kept_makes_no_other_key(setting: str) -> None:
    order = random.Random(7)
    world = StreamsWorld.parse(setting)
    walk_together(world, world.fork(), lambda other: shuffled(other.state, order))


def walk_together(world: StreamsWorld, other: StreamsWorld, disturb: Callable[[StreamsWorld], None]) -> None:
    """Go many random ways in two worlds that are the same but for what `disturb` does to the second one."""
    choose = random.Random(setting_seed(world))
    for _ in range(30):
        one, two = world.fork(), other.fork()
        while True:
            undisturbed = two.fork()
            disturb(two)
            assert key_of(one) == key_of(two)
            assert successors(one) == successors(two)
            actions = one.actions()
            if not actions:
                break
            ordinal = choose.randrange(len(actions))
            two = undisturbed
            one.apply(actions[ordinal])
            two.apply(two.actions()[ordinal])


def setting_seed(world: StreamsWorld) -> int:
    return sum(map(ord, world.setting()))


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_search_by_digests_meets_as_many_states_as_one_by_keys(setting: str) -> None:
    explorers = [Explorer(StreamsWorld.parse(setting), key_digest=each) for each in (None, digest)]
    for explorer in explorers:
        while explorer.advance(1_000):
            pass
    one, other = (explorer.report() for explorer in explorers)
    assert one == other
    assert one.complete
