"""Where everything goes: lifelines in columns, steps in rows, wires in lanes that one after another may use."""

from __future__ import annotations

import collections
import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias, final

import attrs

from mcpstreams_sansio.testing.drawing.diagram import Arrow, Blank, Diagram, Flight, Note, Tube
from mcpstreams_sansio.testing.drawing.text import width

MARGIN: Final = 16.0
ROW: Final = 24.0
"""From one arrow to the next."""
TAG: Final = 20.0
"""Room for the name of a wire above its first arrow."""
HEADING: Final = 40.0
"""Height of a band with the names of the lifelines."""
PAGE: Final = 900.0
"""After how much they are named again."""
PAD: Final = 12.0
SLOT: Final = 9.0
"""Between two things that are on a wire at the same time."""
_LANE: Final = 34.0
_BETWEEN_LANES: Final = 14.0
_GUTTER: Final = 60.0
"""The narrowest room for labels."""
_NARROWEST: Final = 640.0
"""A picture is at least so wide, for the sake of its title."""
_BOLD: Final = 1.08
"""How much wider bold text is."""
_STEP: Final = 8.0
"""Between two steps."""
_BELOW: Final = 6.0
"""From an arrow to the end of its row."""


@enum.unique
class Side(enum.Enum):
    """Of a lifeline."""

    LEFT = "left"
    RIGHT = "right"


def box_width(text: str) -> float:
    """Return how wide the box of a heading or a note is."""
    return width(text) * _BOLD + PAD


@final
@attrs.frozen
class Lane:
    """Where a wire is drawn."""

    left: float
    width: float

    @property
    def middle(self) -> float:
        """Its middle."""
        return self.left + self.width / 2

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.left + self.width

    def slot(self, number: int, of: int) -> float:
        """Return where one of the things on a wire is drawn."""
        return self.middle + (number - (of - 1) / 2) * SLOT


@final
@attrs.frozen
class Columns:
    """What is where from left to right."""

    numbers: float
    """Where the numbers of the steps end."""
    actions: float
    """Where their names begin."""
    lifelines: Mapping[str, float]
    lanes: Mapping[str, Lane]
    gutters: Mapping[tuple[str, Side], float]
    """Where the middle of the labels is, at each side of a machine."""
    width: float


@final
@attrs.frozen
class Rows:
    """What is where from top to bottom."""

    at: tuple[float, ...]
    """The line of each row."""
    bands: tuple[tuple[float, float], ...]
    """Top and height of each step."""
    headings: tuple[float, ...]
    """The top of each band with the names of the lifelines."""
    bottom: float


# ---- lanes


def shelved(spans: Iterable[tuple[int, int]], apart: int) -> list[int]:
    """Put each span on the first shelf that is free.

    Args:
        spans: First and last row of each, in the order of their first rows.
        apart: How many rows have to be between two on the same shelf.

    Returns:
        The number of its shelf for each.
    """
    ends: list[int] = []
    shelves = []
    for first, last in spans:
        shelf = next((number for number, end in enumerate(ends) if end + apart < first), len(ends))
        ends[shelf : shelf + 1] = [last]
        shelves.append(shelf)
    return shelves


def slots_of(tube: Tube) -> tuple[dict[Flight, int], int]:
    """Say where in a wire each thing travels, so that no two cover each other; and how many places there are."""
    flights = sorted(tube.flights, key=lambda flight: (flight.sent, flight.until))
    shelves = shelved([(flight.sent, flight.until) for flight in flights], 0)
    return dict(zip(flights, shelves, strict=True)), max(shelves, default=0) + 1


def _lanes(tubes: Sequence[Tube], left: float) -> tuple[dict[str, Lane], float]:
    shelves = shelved([(tube.life.begin, tube.life.end) for tube in tubes], 1)
    widths: dict[int, float] = collections.defaultdict(float)
    for tube, shelf in zip(tubes, shelves, strict=True):
        _, slots = slots_of(tube)
        widths[shelf] = max(widths[shelf], _LANE, box_width(tube.name), (slots + 1) * SLOT)
    lanes = {}
    for shelf in sorted(widths):
        for tube, its_shelf in zip(tubes, shelves, strict=True):
            if its_shelf == shelf:
                lanes[tube.name] = Lane(left, widths[shelf])
        left += widths[shelf] + _BETWEEN_LANES
    return lanes, left


# ---- columns

Gutter: TypeAlias = tuple[str, Side]
"""The room beside a machine."""


def gutter_of(diagram: Diagram, arrow: Arrow) -> Gutter:
    """Return where the label of an arrow stands: beside the machine at one of its ends, where nothing else is."""
    client, hub = diagram.left[-1], diagram.hub
    ends = {arrow.source, arrow.target}
    if ends <= {*diagram.left}:
        return next(name for name in diagram.clients if name in ends), Side.LEFT
    if ends & {*diagram.clients}:
        return client, Side.RIGHT
    beyond = {*diagram.right[diagram.right.index(hub) + 1 :]}
    return hub, Side.RIGHT if ends & beyond else Side.LEFT


def _needs(diagram: Diagram) -> Mapping[Gutter, float]:
    """Return how wide each gutter has to be, from the lifeline on."""
    needs: dict[Gutter, float] = collections.defaultdict(lambda: _GUTTER)
    for mark in (mark for step in diagram.steps for mark in step.marks):
        if isinstance(mark, Arrow):
            gutter = gutter_of(diagram, mark)
            needs[gutter] = max(needs[gutter], width(mark.text) + 2 * PAD)
        elif not isinstance(mark, Blank):
            at = mark.at if isinstance(mark, Note) else diagram.left[-1]
            for side in Side:
                needs[at, side] = max(needs[at, side], box_width(mark.text) / 2 + PAD)
    return needs


def columns(diagram: Diagram) -> Columns:
    """Place everything from left to right: each gutter is as wide as its widest label."""
    needs = _needs(diagram)
    client, machines = diagram.left[-1], {*diagram.clients, diagram.hub}
    numbers = MARGIN + width(str(len(diagram.steps)))
    actions = numbers + PAD
    x, half = actions + max((width(step.action) for step in diagram.steps), default=0.0) * _BOLD + PAD, 0.0
    lifelines: dict[str, float] = {}
    gutters: dict[Gutter, float] = {}
    lanes: dict[str, Lane] = {}
    before: str | None = None
    for name in (*diagram.left, *diagram.right):
        apart = half + box_width(name) / 2 + PAD
        if name in machines:
            apart = max(apart, needs[name, Side.LEFT])
            gutters[name, Side.LEFT] = x + apart / 2
        if before in machines and (before, Side.RIGHT) not in gutters:
            apart = max(apart, needs[before, Side.RIGHT])
            gutters[before, Side.RIGHT] = x + apart / 2
        x += apart
        lifelines[name], half, before = x, box_width(name) / 2, name
        if name == client and diagram.tubes:
            room = max(half + PAD, needs[client, Side.RIGHT])
            gutters[client, Side.RIGHT] = x + room / 2
            lanes, x = _lanes(diagram.tubes, x + room)
            half = 0.0
    right = x + max(half, needs[before or client, Side.RIGHT]) + MARGIN
    return Columns(numbers, actions, lifelines, lanes, gutters, max(_NARROWEST, right))


# ---- rows


def rows(diagram: Diagram, top: float) -> Rows:
    """Place every row below the other, and name the lifelines again from time to time.

    Args:
        diagram: What is drawn.
        top: Where the first names of the lifelines stand.
    """
    opening = collections.Counter(tube.life.begin for tube in diagram.tubes)
    headings, y = [top], top + HEADING
    at: list[float] = []
    bands: list[tuple[float, float]] = []
    for step in diagram.steps:
        if y - headings[-1] > PAGE:
            headings.append(y)
            y += HEADING
        begin = y
        y += _STEP / 2
        for _ in step.marks:
            y += ROW + (TAG if opening[len(at)] else 0.0)
            at.append(y - _BELOW)
        y += _STEP / 2
        bands.append((begin, y - begin))
    return Rows(tuple(at), tuple(bands), tuple(headings), y)
