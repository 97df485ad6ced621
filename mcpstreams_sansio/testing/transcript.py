"""A way through a world as text: a person reads it, a reviewer sees what changed in it, a test replays it.

::

    # why this is kept
    @ http marker cuts=1
    > up c1
        server <- connection opened c1 http scope-00001
        server <- call received c1 stream-00001 tools/call
    > cut c1
        client <- connection lost c1

A line with `>` is an action, the indented lines below it are what followed. The line with `@` says in which world.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Final, Protocol, final

import attrs

from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.testing.properties import Action, World

_NOTE: Final = "# "
_SETTING: Final = "@ "
_ACTION: Final = "> "
_EFFECT: Final = "    "


class NarratedWorld(World, Protocol):
    """A world that can be written down."""

    def setting(self) -> str:
        """Say in one line which world this is, before anything happens."""

    def effects(self) -> Sequence[str]:
        """Say what followed from the last action, one line each. No line holds a secret."""


@final
@attrs.frozen
class Step:
    """One action, and what followed."""

    action: Action
    effects: tuple[str, ...] = ()


@final
@attrs.frozen
class Transcript:
    """A way through a world."""

    setting: str
    """Which world."""
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()
    """What a person should know about it."""

    @property
    def path(self) -> tuple[Action, ...]:
        """The actions alone."""
        return tuple(step.action for step in self.steps)


def record(world: NarratedWorld, path: Iterable[Action], notes: Iterable[str] = ()) -> Transcript:
    """Walk through a world and write it down. The walk ends where something raises, as a counterexample does.

    Args:
        world: In its first state; it is not changed.
        path: Actions from there on.
        notes: Lines for the head.
    """
    world = world.fork()
    setting, steps = world.setting(), []
    for action in path:
        try:
            world.apply(action)
            world.check()
        except Exception as error:
            steps.append(Step(action, (*map(_line, world.effects()), _line(f"! {error}"))))
            break
        steps.append(Step(action, tuple(map(_line, world.effects()))))
    return Transcript(setting, tuple(steps), tuple(map(_line, notes)))


def _line(text: str) -> str:
    """Return a text as one line: what is raised may say anything."""
    return " ".join(text.splitlines())


def replay(world: NarratedWorld, transcript: Transcript) -> None:
    """Go the same way again in this world, which is in its first state and is changed.

    Raises:
        Violation: A property is broken on the way, as in the run of which this may be the record.
        LocalProtocolError: The transcript is of another world, or an action is not possible where it stands.
    """
    if world.setting() != transcript.setting:
        raise LocalProtocolError(f"the transcript is of another world: {transcript.setting}")
    for number, step in enumerate(transcript.steps, 1):
        if step.action not in world.actions():
            raise LocalProtocolError(f"step {number}, {step.action}, is not possible here")
        world.apply(step.action)
        world.check()


def take_again(world: NarratedWorld, transcript: Transcript, number: int) -> str | None:
    """Take one step of a transcript again, in the world as it stands before it.

    Args:
        world: It is changed.
        transcript: It may consist of actions alone; otherwise what follows from each has to be what it says.
        number: Which step, from 0.

    Returns:
        How the step breaks a property; None if it breaks none.

    Raises:
        LocalProtocolError: The step is not possible, or something else follows from it than is written.
    """
    step = transcript.steps[number]
    name = f"step {number + 1}, {step.action}"
    if step.action not in world.actions():
        raise LocalProtocolError(f"{name}, is not possible here")
    broken = None
    try:
        world.apply(step.action)
        world.check()
    except Exception as error:
        broken = str(error)
    effects = tuple(map(_line, (*world.effects(), *([] if broken is None else [f"! {broken}"]))))
    if effects != step.effects and any(each.effects for each in transcript.steps):
        written, happens = _first_difference(step.effects, effects)
        raise LocalProtocolError(f"{name}, leads to something else now: {happens}, where the transcript has {written}")
    return broken


def _first_difference(one: Sequence[str], other: Sequence[str]) -> tuple[str, str]:
    pairs = itertools.zip_longest(one, other, fillvalue="nothing more")
    return next(pair for pair in pairs if pair[0] != pair[1])


def format_transcript(transcript: Transcript) -> str:
    """Return the text, with a newline at its end."""
    lines = [_NOTE + note for note in transcript.notes]
    lines.append(_SETTING + transcript.setting)
    for step in transcript.steps:
        lines.append(_ACTION + str(step.action))
        lines += [_EFFECT + effect for effect in step.effects]
    return "\n".join(lines) + "\n"


def parse_transcript(text: str) -> Transcript:
    """Read what `format_transcript` wrote; empty lines are skipped.

    Raises:
        LocalProtocolError: A line is none of a transcript, or stands where it cannot; the text gives its number.
    """
    notes: list[str] = []
    settings: list[str] = []
    steps: list[Step] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(_NOTE) and not settings:
            notes.append(line.removeprefix(_NOTE))
        elif line.startswith(_SETTING) and not settings:
            settings.append(line.removeprefix(_SETTING))
        elif line.startswith(_ACTION) and settings:
            kind, _, target = line.removeprefix(_ACTION).partition(" ")
            steps.append(Step(Action(kind, target or None)))
        elif line.startswith(_EFFECT) and steps:
            steps[-1] = Step(steps[-1].action, (*steps[-1].effects, line.removeprefix(_EFFECT)))
        elif line:
            raise LocalProtocolError(f"line {number} is not one of a transcript, or not in its place")
    if not settings:
        raise LocalProtocolError("no line of the transcript says in which world it happens")
    return Transcript(settings[0], tuple(steps), tuple(notes))
