"""Walk a transcript once more, and draw what happens."""

from __future__ import annotations

from typing import Final

import attrs

from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.testing.actions import Kind
from mcpstreams_sansio.testing.drawing.diagram import Blank, Diagram, Note, Step
from mcpstreams_sansio.testing.drawing.picture import picture_of
from mcpstreams_sansio.testing.drawing.scenes import show_action, show_happenings, show_time
from mcpstreams_sansio.testing.drawing.shapes import Picture
from mcpstreams_sansio.testing.drawing.stage import SERVER, Stage
from mcpstreams_sansio.testing.transcript import NarratedWorld, Transcript, take_again
from mcpstreams_sansio.testing.world import StreamsWorld

LEGEND: Final = (
    "A bar is a connection, or one exchange of HTTP: solid while neither side has lost it, dashed once only one side"
    " still holds it. A line inside is something under way, blue to the server, green to the client; it ends in a red"
    " cross if it never arrives. A green edge: the server delivers a stream here. s1#2 is message 2 of stream 1, s1_2"
    " the id of an event; a cursor is the header Last-Event-ID."
)


WORLD: Final = "what happens"
"""The one lifeline of a world of which nothing more is known."""


def picture(world: NarratedWorld, transcript: Transcript, broken: str | None = None) -> Picture:
    """Place everything that `draw` writes; arguments and errors are the same."""
    if world.setting() != transcript.setting:
        raise LocalProtocolError(f"the transcript is of another world: {transcript.setting}")
    if isinstance(world, StreamsWorld):
        diagram, legend = _watched(world.fork(), transcript), LEGEND
    else:
        diagram, legend = _told(world.fork(), transcript), "Beside each action stands what followed from it."
    shown = diagram.broken or broken
    title = diagram.title or shown or f"World: {transcript.setting}"
    return picture_of(attrs.evolve(diagram, title=title, broken=shown), legend)


def draw(world: NarratedWorld, transcript: Transcript, broken: str | None = None) -> str:
    """Draw a transcript as an SVG sequence diagram, by going its way again.

    A `StreamsWorld` shows callers, machines, every connection as it lives, the work and the disk. Of any other world
    nothing is known but its actions and what it says of them: that is what is drawn, along one line.

    Args:
        world: Of the transcript, in its first state; it is not changed.
        transcript: What is drawn. A property that one of its steps breaks is shown at the end.
        broken: The same, of a property that no step by itself breaks: that something is out of reach.

    Returns:
        The document: the same text for the same transcript.

    Raises:
        LocalProtocolError: The transcript is of another world, or something else happens now than it says; the text
            names the step.
    """
    return picture(world, transcript, broken).svg()


def _watched(world: StreamsWorld, transcript: Transcript) -> Diagram:
    """Go the way in a world of streams, and note all that can be seen there."""
    stage = Stage(world.state)
    broken = None
    for number, action in enumerate(transcript.path):
        before = world.state.now
        stage.begin()
        broken = take_again(world, transcript, number)
        show_time(stage, world.state.now - before, action.kind == Kind.HURRY)
        show_action(stage, action)
        show_happenings(stage, action)
        stage.end(str(action))
        if broken is not None:
            break
    title, notes = _head(transcript)
    return Diagram(
        title, notes, stage.left, stage.clients, stage.right, SERVER, tuple(stage.steps), stage.tubes(), broken
    )


def _told(world: NarratedWorld, transcript: Transcript) -> Diagram:
    """Go the way in any world, and note what it says."""
    steps, broken = [], None
    for number, action in enumerate(transcript.path):
        broken = take_again(world, transcript, number)
        marks = tuple(Note(WORLD, effect) for effect in world.effects())
        steps.append(Step(str(action), marks or (Blank(),)))
        if broken is not None:
            break
    title, notes = _head(transcript)
    return Diagram(title, notes, (WORLD,), (WORLD,), (), "", tuple(steps), (), broken)


def _head(transcript: Transcript) -> tuple[str, tuple[str, ...]]:
    """Return the title, and the lines below it: of what is noted, the first sentence tells most."""
    title, _, rest = " ".join(transcript.notes).partition(". ")
    return title.removesuffix("."), tuple(line for line in (rest, f"World: {transcript.setting}") if line)
