"""Worlds so small that one knows every state of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Self

import attrs

from mcpstreams_sansio.testing import Action, Violation

Edges = Mapping[str, Mapping[str, str]]
"""For each node, where each action leads."""


@attrs.define
class Maze:
    """A graph that is written down: a node is a state, and a state is its name. `pay` and `toil` are counted, too."""

    edges: Edges
    node: str = "start"
    forbidden: str | None = None
    """A node that must not be entered."""
    trap: str | None = None
    """An action that raises what no property foresees."""
    slides: Mapping[str, str] = attrs.field(factory=dict)
    """Where a node leads without any action."""
    came_by: str | None = None
    payments: int = 0
    toils: int = 0

    def actions(self) -> Sequence[Action]:
        return [Action(*name.split()) for name in self.edges.get(self.node, {})]

    def apply(self, action: Action) -> None:
        if action.kind == self.trap:
            raise ZeroDivisionError("a slip")
        self.node = self.edges[self.node][str(action)]
        self.came_by = action.kind
        self.payments += action.kind == "pay"
        self.toils += action.kind == "toil"

    def simplify(self) -> None:
        self.node = self.slides.get(self.node, self.node)

    def fork(self) -> Self:
        return attrs.evolve(self)

    def key(self) -> Hashable:
        return ("node", self.node)

    def spent(self) -> tuple[int, ...]:
        return self.payments, self.toils

    def check(self) -> None:
        if self.node == self.forbidden:
            raise Violation("stays out", f"it is in {self.node}")

    def goals(self) -> Sequence[str]:
        return [f"went {self.came_by}"]

    def setting(self) -> str:
        return f"a maze of {len(self.edges)} nodes"

    def effects(self) -> Sequence[str]:
        return [f"now in {self.node}"]


@attrs.define
class Courier:
    """A sender that numbers its messages, a road that may lose one, a receiver: the smallest protocol with a fault.

    Each message is sent again until it is confirmed, and confirmations are never lost.
    """

    messages: int
    losses: int
    deduplicates: bool = True
    gives_up: bool = False
    sent: int = 0
    road: tuple[int, ...] = ()
    received: tuple[int, ...] = ()
    lost: int = 0

    def actions(self) -> Sequence[Action]:
        possible = []
        confirmed = max(self.received, default=0)
        unsent = self.sent < self.messages and self.sent == confirmed
        again = self.sent > confirmed and not (self.gives_up and self.lost) and len(self.road) < 2
        if unsent or again:
            possible.append(Action("send"))
        if self.road:
            possible.append(Action("deliver"))
            if self.lost < self.losses:
                possible.append(Action("lose"))
        return possible

    def apply(self, action: Action) -> None:
        if action.kind == "send":
            self.sent = max(self.received, default=0) + 1
            self.road += (self.sent,)
            return
        first, self.road = self.road[0], self.road[1:]
        if action.kind == "lose":
            self.lost += 1
        elif not (self.deduplicates and first in self.received):
            self.received += (first,)

    def simplify(self) -> None:
        """Whenever anything happens, it makes a difference."""

    def fork(self) -> Self:
        return attrs.evolve(self)

    def key(self) -> Hashable:
        return (self.sent, self.road, self.received)

    def spent(self) -> tuple[int, ...]:
        return (self.lost,)

    def check(self) -> None:
        if list(self.received) != sorted(set(self.received)):
            raise Violation("exactly once, in order", "a message came twice")

    def goals(self) -> Sequence[str]:
        return ["lost one"] if self.lost else []

    def done(self) -> bool:
        return len(self.received) == self.messages and not self.road


def except_for(*kinds: str) -> Callable[[Action], bool]:
    """Say of an action that it may be relied on, unless it is one of these."""
    return lambda action: action.kind not in kinds
