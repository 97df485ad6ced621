"""A key is canonical: there is one for all worlds that are alike, and never one for two that are not.

Both are shown on every state of some worlds. What is merged under one key really behaves alike: the same things can
happen in it, and each leads to the same key again. And neither names, nor the time of day, nor the order in which a
world happens to keep things makes a second key of the same state.

What a search leaves out besides is shown to lose nothing: states in which less can happen than in another one that is
the same otherwise, and the moments at which the server notices a loss that no longer matters.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import attrs
import pytest

from mcpstreams_sansio.testing import Action, Explorer, StreamsWorld, digest, reliable
from mcpstreams_sansio.testing.actions import OPTIONAL, Bounds, Kind
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
    "http marker messages=0 client_crashes=1",
    "multiplexed marker messages=0 asks=1 client_crashes=1",
    "multiplexed marker messages=0 cuts=1 slow_writes=1 polls=1",
    "multiplexed draft messages=0 cuts=1 hurries=1",
    "multiplexed marker messages=0 crashes=1 durable=1",
    "multiplexed marker messages=0 asks=1 crashes=1 durable=1",
    "multiplexed marker messages=0 client_crashes=1 unasked_saves=1",
    "http marker messages=0 straggles=1 crashes=1",
    "http marker messages=1 slow_takes=1 straggles=1",
    "http draft messages=0 cuts=1 sessions=1",
    "http stock cuts=1",
    "multiplexed marker messages=0 cuts=1 oversleeps=1",
    "multiplexed marker messages=0 cuts=1 copies=1",
    "http marker messages=0 cancels=1 copies=1",
    "multiplexed marker calls=2 messages=0 room=300",
    "multiplexed marker messages=3 window=2",
    "multiplexed marker messages=1 cuts=1 slow_takes=1 max_unread=1",
    "http marker messages=0 releases=1 fades=1",
    "http marker messages=0 failures=1 intrusions=1",
    "multiplexed marker messages=0 hurries=1 slow_writes=1 stalls=1",
]

SPENDERS = [
    "multiplexed marker messages=0 cuts=2",
    "multiplexed marker messages=0 cancels=1 detaches=1",
    "multiplexed marker messages=0 straggles=1 polls=1",
    "multiplexed marker messages=0 hurries=2",
    "multiplexed marker messages=0 cancels=1 copies=1",
    "multiplexed marker messages=0 cuts=1 rivals=1",
    "multiplexed marker messages=0 crashes=1 durable=1 polls=1",
    "multiplexed marker messages=0 crashes=1 cuts=1",
    "multiplexed marker messages=0 client_crashes=1 unasked_saves=1 polls=1",
    "http marker messages=0 releases=1 intrusions=1",
    "http marker messages=0 fades=1 polls=1",
    "http draft messages=0 cuts=1 sessions=1",
    "http stock messages=0 crashes=1 cuts=1",
]
"""Worlds in which every kind of thing is met that may happen, and need not."""

NOTHING_LEFT = Bounds()

Spent = tuple[int, ...]
Place = tuple[bytes, Spent]
"""All that decides the future."""
Successors = Mapping[tuple[str, Place], int]
"""What can happen, and where it leads: how often."""


def key_of(world: StreamsWorld) -> Place:
    return digest(world.key()), world.spent()


def successors(world: StreamsWorld) -> Successors:
    return Counter((action.kind, key_of(after)) for action, after in steps(world))


def steps(world: StreamsWorld) -> Iterator[tuple[Action, StreamsWorld]]:
    for action in world.actions():
        after = world.fork()
        after.apply(action)
        yield action, after


def every_state(setting: str) -> Iterator[StreamsWorld]:
    """Give one world for each place, and nothing is left out."""
    seen: set[Place] = set()
    waiting = [StreamsWorld.parse(setting)]
    while waiting:
        world = waiting.pop()
        if key_of(world) not in seen:
            seen.add(key_of(world))
            yield world
            waiting += [after for _, after in steps(world)]


@pytest.mark.parametrize("setting", SETTINGS)
def test_what_has_one_key_behaves_alike(setting: str) -> None:
    """By induction over the steps, it does so for ever: all that is merged can do the same, to the same end."""
    start = StreamsWorld.parse(setting)
    behaviour: dict[Place, tuple[Successors, bool]] = {}
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
        waiting += [after for _, after in steps(world)]
    assert merged > len(behaviour) // 4, "or it would show little"


@pytest.mark.parametrize("setting", SPENDERS)
def test_where_more_can_happen_all_can_happen_that_can_elsewhere(setting: str) -> None:
    """By induction over the steps: then nothing is found only where more was spent, and the same may be relied on."""
    alike: dict[bytes, list[StreamsWorld]] = {}
    for world in every_state(setting):
        alike.setdefault(key_with(world, NOTHING_LEFT), []).append(world)
    covered = 0
    for group in alike.values():
        for more, less in itertools.permutations(group, 2):
            if can_do_what_can(more, less):
                covered += 1
                assert more.settled() == less.settled()
                assert_can_do_all_that(more, less)
    assert covered, "or it would show nothing"


def can_do_what_can(more: StreamsWorld, less: StreamsWorld) -> bool:
    """Return whether two worlds are the same, but that in one of them less is spent."""
    return covers(more.spent(), less.spent()) and key_with(more, less.state.left) == digest(less.key())


def key_with(world: StreamsWorld, left: Bounds) -> bytes:
    """Return the key that a world had if only that were left of what need not happen."""
    other = world.fork()
    other.state.left = attrs.evolve(world.state.left, **{name: getattr(left, name) for name in OPTIONAL})
    return digest(other.key())


def assert_can_do_all_that(more: StreamsWorld, less: StreamsWorld) -> None:
    possible = list(steps(more))
    for action, after in steps(less):
        found = [other for same, other in possible if same.kind == action.kind and can_do_what_can(other, after)]
        assert found, f"{action} can happen only where more was spent"
    assert reliable_steps(more) == reliable_steps(less)


def reliable_steps(world: StreamsWorld) -> Counter[tuple[str, bytes]]:
    return Counter((action.kind, key_with(after, NOTHING_LEFT)) for action, after in steps(world) if reliable(action))


def covers(one: Spent, other: Spent) -> bool:
    return all(fewer <= more for fewer, more in zip(one, other, strict=True))


@pytest.mark.parametrize("setting", SETTINGS)
def test_it_makes_no_difference_when_a_loss_is_noticed_that_changes_nothing(
    setting: str,
) -> None:
    """Whatever happens first, the server's notice or anything else: both orders lead to the same, and show the same."""
    for world in every_state(setting):
        calm = noticed(world)
        gone = world.state.wires.keys() - calm.state.wires.keys()
        unneeded = [Action(Kind.NOTICE, name) for name in gone]
        assert [action for action in world.actions() if action not in unneeded] == calm.actions()
        for action, after in steps(world):
            one = noticed(after)
            if action in unneeded:
                assert key_of(one) == key_of(calm)
                continue
            if action.kind == Kind.OVERSLEEP:
                continue  # the loss would be what wakes the server
            other = calm.fork()
            other.apply(action)
            assert set(other.goals()) == set(after.goals())
            assert key_of(noticed(other)) == key_of(one)


def noticed(world: StreamsWorld) -> StreamsWorld:
    other = world.fork()
    other.simplify()
    return other


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
    _shuffle(state.deliveries.streams, order)
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


@pytest.mark.parametrize("setting", SETTINGS[::2])
def test_a_search_by_digests_meets_as_many_states_as_one_by_keys(setting: str) -> None:
    explorers = [Explorer(StreamsWorld.parse(setting), key_digest=each) for each in (None, digest)]
    for explorer in explorers:
        while explorer.advance(1_000):
            pass
    one, other = (explorer.report() for explorer in explorers)
    assert one == other
    assert one.complete
