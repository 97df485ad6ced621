"""What a sequence diagram shows, before anybody knows where: rows in order, lifelines, and wires as they live."""

from __future__ import annotations

import enum
from typing import TypeAlias, final

import attrs


@enum.unique
class Tone(enum.Enum):
    """How loud something is drawn."""

    PLAIN = "plain"
    STRONG = "strong"
    """The end of a call."""
    BAD = "bad"
    """A loss, or a property that does not hold."""


@final
@attrs.frozen
class Arrow:
    """Something goes from one lifeline, or wire, to another."""

    source: str
    target: str
    text: str
    tone: Tone = Tone.PLAIN


@final
@attrs.frozen
class Note:
    """Something about one lifeline."""

    at: str
    text: str
    tone: Tone = Tone.PLAIN


@final
@attrs.frozen
class Pause:
    """Time passes, for everybody."""

    text: str


@final
@attrs.frozen
class Blank:
    """A row for an action that nothing follows from."""


Mark: TypeAlias = Arrow | Note | Pause | Blank
"""What stands in one row."""


@final
@attrs.frozen
class Step:
    """One action, and the rows that follow from it."""

    action: str
    marks: tuple[Mark, ...]


@final
@attrs.frozen
class Flight:
    """Something is on a wire for a while. Rows are counted from 0 over the whole diagram."""

    up: bool
    """From the client to the server."""
    sent: int
    until: int
    """The row in which it arrives or is lost; if it is still under way, the last row."""
    lost: bool = False


@final
@attrs.frozen
class Span:
    """From one row to another."""

    begin: int
    end: int


@final
@attrs.frozen
class Tube:
    """A wire as it lives: one connection, or one exchange."""

    name: str
    life: Span
    lost: int | None = None
    """From this row on only one side holds it: it is half-open. None if it ends for both at once, or in good order."""
    delivers: tuple[Span, ...] = ()
    """When the server delivers a stream here."""
    flights: tuple[Flight, ...] = ()
    breaks: tuple[int, ...] = ()
    """The rows in which a side learns that it is lost."""


@final
@attrs.frozen
class Diagram:
    """Everything that a picture shows."""

    title: str
    notes: tuple[str, ...]
    """Lines below the title."""
    left: tuple[str, ...]
    """The lifelines on the client's side of the wires, the machine of the first client last."""
    clients: tuple[str, ...]
    """Which of those are machines."""
    right: tuple[str, ...]
    """The lifelines on the other side."""
    hub: str
    """Which of those on the right is the server's machine."""
    steps: tuple[Step, ...]
    tubes: tuple[Tube, ...] = ()
    broken: str | None = None
    """How a property is broken in the end."""
