"""Every state of a world, breadth first: the first counterexample is the shortest.

Nothing is left out by a limit on steps. A limit on states (`max_states`) ends a search as *incomplete*, and says so.
"""

from __future__ import annotations

import collections
import enum
import functools
import hashlib
import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final, Generic, TypeAlias, final

import attrs

from mcpstreams_sansio.testing.graph import START, Reachability, Ways
from mcpstreams_sansio.testing.properties import Action, Always, Eventually, Property, Sometimes, Violation, WorldT

Path: TypeAlias = tuple[Action, ...]
"""Actions from the start, in order."""
_REMEMBERED: Final = 65_536
"""How many parts of keys are digested only once."""


def digest(key: Hashable) -> bytes:
    """Return 16 bytes in place of a key: less memory, and a clash of two keys is beyond all odds.

    Args:
        key: Nested tuples of text, bytes, numbers and None. No sets: equal ones may be written differently.
    """
    parts = key if isinstance(key, tuple) else (key,)
    return hashlib.blake2b(b"".join([_digest_of_part(part) for part in parts]), digest_size=16).digest()


@functools.lru_cache(_REMEMBERED)
def _digest_of_part(part: Hashable) -> bytes:
    """Return the digest of a part of a key. Worlds that are alike have many in common, so each is read only once."""
    return hashlib.blake2b(repr(part).encode("utf-8", "surrogatepass"), digest_size=16).digest()


@final
@attrs.frozen
class Statistics:
    """How far a search has come."""

    states: int
    """Different states met, without those of which an earlier one can do the same and more."""
    waiting: int
    """Those of them from which nothing was tried yet."""
    transitions: int
    """Actions tried."""
    depth: int
    """Actions from the start to the state that is tried now."""


@final
@attrs.frozen
class Counterexample:
    """A property is broken, and this is the shortest way there."""

    property_name: str
    text: str
    """How it shows."""
    path: Path
    cause: Exception | None = attrs.field(default=None, eq=False)
    """What was raised, unless a property said it."""


@final
@attrs.frozen
class Report:
    """What a search has found."""

    statistics: Statistics
    complete: bool
    """All states were met and tried. Otherwise a counterexample or `max_states` ended the search."""
    goals: Mapping[str, int]
    """What happened on the way, and in how many transitions."""
    missing: tuple[str, ...]
    """What should have happened sometimes, and did not."""
    counterexample: Counterexample | None

    @property
    def ok(self) -> bool:
        """Nothing was broken, and nothing that should have happened is missing."""
        return self.counterexample is None and not self.missing


@enum.unique
class _Progress(enum.Enum):
    """How a search stands."""

    SEARCHING = "searching"
    BROKEN = "broken"
    """Something is broken, and more is not looked for."""
    FULL = "full"
    """The next state would be one too many."""
    EXHAUSTED = "exhausted"
    """Every state was met and everything was tried in it."""


@final
class Explorer(Generic[WorldT]):
    """A search that its owner moves on, so that it can show how far it is and stop when it likes.

    It keeps very many small objects, none of them in circles: without Python's collector of circles (`gc.disable()`) it
    is faster by a fifth.

    Args:
        start: The world in its first state; it is not changed.
        properties: What to ask, beyond what the world itself checks.
        max_states: The number of states at which to stop, incomplete; None for no such number.
        key_digest: What to remember of a key; None remembers whole keys.
    """

    def __init__(
        self,
        start: WorldT,
        properties: Sequence[Property[WorldT]] = (),
        *,
        max_states: int | None = None,
        key_digest: Callable[[Hashable], bytes] | None = None,
    ) -> None:
        self._start = start.fork()
        self._always = tuple(each for each in properties if isinstance(each, Always))
        self._sometimes = tuple(each for each in properties if isinstance(each, Sometimes))
        self._eventually = tuple((each, Reachability()) for each in properties if isinstance(each, Eventually))
        self._max_states = max_states
        self._digest = key_digest
        self._seen: dict[Hashable, tuple[int, ...]] = {}
        self._spent: list[tuple[int, ...]] = []
        self._ways = Ways()
        self._waiting: collections.deque[tuple[int, WorldT]] = collections.deque()
        self._goals: dict[str, int] = {}
        self._first: dict[str, tuple[int, int]] = {}
        self._transitions = 0
        self._depth = 0
        self._level_end = START
        self._progress = _Progress.SEARCHING
        self._counterexample: Counterexample | None = None
        self._begin()

    def advance(self, states: int) -> bool:
        """Try everything from up to this many further states.

        Args:
            states: How many; at least 1.

        Returns:
            True while there is more to do.
        """
        for _ in range(states):
            if self._progress is not _Progress.SEARCHING:
                return False
            number, world = self._waiting.popleft()
            self._expand(number, world)
            if not self._waiting and self._progress is _Progress.SEARCHING:
                self._progress = _Progress.EXHAUSTED
            if self._progress in {_Progress.FULL, _Progress.EXHAUSTED}:
                self._judge_eventually()
        return self._progress is _Progress.SEARCHING

    def statistics(self) -> Statistics:
        """Say how far the search has come."""
        return Statistics(len(self._spent), len(self._waiting), self._transitions, self._depth)

    def report(self) -> Report:
        """Say what was found so far. What is missing, or cannot be reached, is certain only at the end."""
        missing = tuple(each.goal for each in self._sometimes if each.goal not in self._goals)
        complete = self._progress is _Progress.EXHAUSTED
        return Report(self.statistics(), complete, dict(self._goals), missing, self._counterexample)

    def path_to(self, goal: str) -> Path:
        """Return the shortest way to something that happened.

        Raises:
            KeyError: It did not happen.
        """
        source, ordinal = self._first[goal]
        return self._path(source, ordinal)

    def _begin(self) -> None:
        """Meet the first state."""
        world = self._start.fork()
        world.simplify()
        try:
            self._meet(world)
        except Exception as error:
            self._break(error, ())
            return
        self._remember(self._key(world), START, world)

    def _key(self, world: WorldT) -> Hashable:
        key = world.key()
        return key if self._digest is None else self._digest(key)

    def _known(self, key: Hashable, world: WorldT) -> int | None:
        """Return a state that was met, and can do all that this one can."""
        spent = world.spent()
        return next((state for state in self._seen.get(key, ()) if _covers(self._spent[state], spent)), None)

    def _remember(self, key: Hashable, number: int, world: WorldT) -> None:
        """Try from this state, too, when its turn comes."""
        self._seen[key] = (*self._seen.get(key, ()), number)
        self._spent.append(world.spent())
        self._waiting.append((number, world))

    def _meet(self, world: WorldT) -> None:
        """Check a new state, and ask what it is for the questions of the end."""
        world.check()
        for always in self._always:
            always.check(world)
        for eventually, reachability in self._eventually:
            reachability.add_state(eventually.holds(world))

    def _expand(self, number: int, world: WorldT) -> None:
        """Try every action in one state."""
        if number > self._level_end:
            self._depth += 1
            self._level_end = len(self._spent) - 1
        actions = world.actions()
        last = len(actions) - 1
        for ordinal, action in enumerate(actions):
            after = world if ordinal == last else world.fork()
            target = self._try(number, ordinal, action, after)
            if target is None:
                return
            for eventually, reachability in self._eventually:
                if eventually.reliable(action):
                    reachability.add_step(target)
        for _, reachability in self._eventually:
            reachability.end_state()

    def _try(self, number: int, ordinal: int, action: Action, world: WorldT) -> int | None:
        """Apply an action; return the state after it, or None if the search is over."""
        self._transitions += 1
        try:
            world.apply(action)
            self._count(world, number, ordinal)
            world.simplify()
            key = self._key(world)
            known = self._known(key, world)
            if known is not None:
                return known
            if len(self._spent) == self._max_states:
                self._progress = _Progress.FULL
                return None
            self._meet(world)
        except Exception as error:
            self._break(error, self._path(number, ordinal))
            return None
        target = self._ways.add(number, ordinal)
        self._remember(key, target, world)
        return target

    def _count(self, world: WorldT, number: int, ordinal: int) -> None:
        for goal in world.goals():
            count = self._goals.get(goal, 0)
            self._goals[goal] = count + 1
            if not count:
                self._first[goal] = (number, ordinal)

    def _break(self, error: Exception, path: Path) -> None:
        """Note what was raised: a property that is broken, or a fault that no property foresees."""
        self._progress = _Progress.BROKEN
        if isinstance(error, Violation):
            self._counterexample = Counterexample(error.property_name, error.text, path)
        else:
            text = f"{type(error).__name__}: {error}"
            self._counterexample = Counterexample("nothing raises", text, path, error)

    def _path(self, source: int, *further: int) -> Path:
        """Walk from the start to a state and on, and return the actions."""
        world = self._start.fork()
        world.simplify()
        path = []
        ordinals = [*self._ways.to(source), *further]
        for step, ordinal in enumerate(ordinals, 1):
            action = world.actions()[ordinal]
            path.append(action)
            if step < len(ordinals):
                world.apply(action)
                world.simplify()
        return tuple(path)

    def _judge_eventually(self) -> None:
        """Find the first state from which something is out of reach."""
        for eventually, reachability in self._eventually:
            stuck = reachability.first_stuck()
            if stuck is not None:
                text = "it is out of reach from here on"
                self._counterexample = Counterexample(eventually.name, text, self._path(stuck))
                return


def _covers(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Return whether nothing was spent more often in one state than in another."""
    return one is other or all(map(operator.le, one, other))


def explore(
    start: WorldT,
    properties: Sequence[Property[WorldT]] = (),
    *,
    max_states: int | None = None,
    key_digest: Callable[[Hashable], bytes] | None = None,
) -> Report:
    """Search to the end. The arguments are those of `Explorer`."""
    explorer = Explorer(start, properties, max_states=max_states, key_digest=key_digest)
    while explorer.advance(1_000):
        pass
    return explorer.report()
