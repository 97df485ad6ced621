"""What a world is, and what can be asked of it.

*Always*: no state breaks it. *Sometimes*: the search met it, so that a pass is not an empty one. *Eventually*: whatever
has happened, it is still within reach without anything that nobody can rely on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, Protocol, Self, TypeAlias, TypeVar, final

import attrs


@final
@attrs.frozen
class Action:
    """Something that can happen next. Its text is what a transcript holds: the kind, and the target if there is one."""

    kind: str
    """What happens, as one word: `cut`, `deliver-up`."""
    target: str | None = None
    """What it happens to, as one word: `c1`."""

    def __str__(self) -> str:
        return self.kind if self.target is None else f"{self.kind} {self.target}"


class World(Protocol):
    """Everything that can happen, one action at a time.

    What is limited (messages, breaks, polls) is counted in the world, so that it runs out of actions by itself. A
    search therefore never stops in the middle of something, which could hide that it hangs.
    """

    def actions(self) -> Sequence[Action]:
        """Return what can happen now: in the same state the same actions, in the same order."""

    def apply(self, action: Action) -> None:
        """Let one of these actions happen.

        Raises:
            Violation: The action shows that something does not hold.
        """

    def simplify(self) -> None:
        """Let happen what makes no difference when it happens: before or after anything else, all comes to the same.

        A search does so after every action, since it need not try all the orders.
        """

    def fork(self) -> Self:
        """Return an independent copy."""

    def key(self) -> Hashable:
        """Return what decides the future, together with `spent`: two worlds that are equal in both act the same."""

    def spent(self) -> tuple[int, ...]:
        """Return how often each thing has happened that may happen so often, and need not: always as many numbers.

        Of two worlds with equal keys, the one that has spent no more of anything can do all that the other one can, and
        what may be relied on is the same in both. So a search needs only that one.
        """

    def check(self) -> None:
        """Check what holds in every state.

        Raises:
            Violation: It does not.
        """

    def goals(self) -> Iterable[str]:
        """Name what the last action did that is worth having been met."""


@final
class Violation(Exception):
    """A property does not hold.

    Args:
        property_name: Which one.
        text: How that shows, for a person. It names no secret.
    """

    def __init__(self, property_name: str, text: str) -> None:
        super().__init__(f"{property_name}: {text}")
        self.property_name = property_name
        self.text = text


WorldT = TypeVar("WorldT", bound=World)
WorldT_contra = TypeVar("WorldT_contra", bound=World, contravariant=True)


@final
@attrs.frozen
class Always(Generic[WorldT_contra]):
    """Holds in every state."""

    name: str
    """What holds, as a short sentence."""
    broken: Callable[[WorldT_contra], str | None]
    """Returns how a world breaks it, or None."""

    def check(self, world: WorldT_contra) -> None:
        """Check one state.

        Raises:
            Violation: It is broken.
        """
        how = self.broken(world)
        if how is not None:
            raise Violation(self.name, how)


@final
@attrs.frozen
class Sometimes:
    """Was met at least once: without it the search proves less than it seems to."""

    goal: str
    """One of the names that `World.goals` gives."""


@final
@attrs.frozen
class Eventually(Generic[WorldT_contra]):
    """Can be reached from every state by actions that may be relied on.

    In a world that runs out of faults this is liveness: a state that hangs, and a circle that nothing leads out of,
    both break it.
    """

    name: str
    """What is reached, as a short sentence."""
    holds: Callable[[WorldT_contra], bool]
    """Says whether a state has it."""
    reliable: Callable[[Action], bool]
    """Says whether an action happens by itself: a fault does not, nor does a favour of the application."""


Property: TypeAlias = Always[WorldT_contra] | Sometimes | Eventually[WorldT_contra]
