"""Ways through a world, written as a transcript shows them: `call k1`, `connect`, `up c1`."""

from __future__ import annotations

from mcpstreams_sansio.testing import Action, StreamsWorld


def actions(*path: str) -> list[Action]:
    """Return the actions that are written so.

    Args:
        path: One action each, or several with commas between them.
    """
    steps = [step.partition(" ") for part in path for step in part.split(", ")]
    return [Action(kind, target or None) for kind, _, target in steps]


def walk(world: StreamsWorld, *path: str) -> StreamsWorld:
    """Return a copy of a world after a few actions, each of them possible where it stands."""
    world = world.fork()
    for action in actions(*path):
        assert action in world.actions(), f"{action}, where only {[str(each) for each in world.actions()]} can be"
        world.apply(action)
        world.check()
    return world


def walked(setting: str, *path: str) -> StreamsWorld:
    """Return a world after a few actions from its beginning."""
    return walk(StreamsWorld.parse(setting), *path)
