"""Draws state tables as SVG: no program, no font and no network is needed for it.

Two pictures. `graph` puts the states on a grid and draws an arrow for each pair; it shows few states best. `ladder`
gives each state a column and each transition a row; it stays readable with many. Both leave out what changes nothing.
Text and lines take the colour of the page around them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from html import escape
from typing import TypeAlias

from docs._ext.found import AnyTable
from docs._ext.tables import sides
from mcpstreams_sansio.tables import Transition

Point: TypeAlias = tuple[float, float]

CELL_WIDTH, CELL_HEIGHT = 230.0, 125.0
BOX_WIDTH, BOX_HEIGHT = 130.0, 38.0
LANE_WIDTH, ROW_HEIGHT = 104.0, 26.0
LINE = 14.0
"""Height of a line of text."""
LEVEL = 0.25
"""Up to what slope an arrow counts as level, or as upright."""
APART = 9.0
"""Half the distance between an arrow and the one that leads back."""


def arrows(table: AnyTable) -> dict[tuple[str, str], list[str]]:
    """Return the signals that lead from each state to each other one."""
    states, signals = sides(table)
    found: dict[tuple[str, str], list[str]] = {}
    for state in states:
        for signal in signals:
            cell = table[state, signal]
            if isinstance(cell, Transition) and cell.target is not state:
                found.setdefault((state.name, cell.target.name), []).append(signal.name)
    return found


def graph(table: AnyTable, places: Mapping[str, Point], title: str) -> str:
    """Return a picture with the states at the given places of a grid.

    Args:
        table: What is drawn.
        places: Column and row of each state, from 0.
        title: What somebody is told who does not see it.
    """
    states, _ = sides(table)
    centres = {state.name: grid_point(places[state.name]) for state in states}
    found = arrows(table)
    parts: list[str] = []
    for (source, target), labels in found.items():
        apart = APART if (target, source) in found else 0.0
        parts += arrow(centres[source], centres[target], labels, apart)
    parts += [part for name, centre in centres.items() for part in box(name, centre)]
    columns, rows = (max(place[axis] for place in places.values()) for axis in (0, 1))
    return picture(parts, (columns + 1) * CELL_WIDTH, (rows + 1) * CELL_HEIGHT, title)


def grid_point(place: Point) -> Point:
    """Return the middle of a cell of the grid."""
    column, row = place
    return (column + 0.5) * CELL_WIDTH, (row + 0.5) * CELL_HEIGHT


def box(name: str, centre: Point) -> Iterable[str]:
    """Draw a state."""
    x, y = centre
    left, top = x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2
    yield (
        f'<rect class="state" x="{left:g}" y="{top:g}" width="{BOX_WIDTH:g}" height="{BOX_HEIGHT:g}" rx="8"'
        f' fill="none" stroke="currentColor"/>{state_name(name, x, y + 4)}'
    )


def arrow(source: Point, target: Point, labels: list[str], apart: float) -> Iterable[str]:
    """Draw an arrow from the edge of one box to that of another, with its signals at its side."""
    (x1, y1), (x2, y2) = source, target
    length = math.hypot(x2 - x1, y2 - y1)
    along = (x2 - x1) / length, (y2 - y1) / length
    aside = along[1] * apart, -along[0] * apart
    start = leave_box((x1 + aside[0], y1 + aside[1]), along, aside)
    end = leave_box((x2 + aside[0], y2 + aside[1]), (-along[0], -along[1]), aside)
    yield line(start, end)
    # Beside the middle of an upright arrow a slanted one may need the room.
    share = 0.3 if abs(along[0]) < LEVEL else 0.5
    yield from words(labels, (between(start[0], end[0], share), between(start[1], end[1], share)), along)


def between(start: float, end: float, share: float) -> float:
    """Return what is a share of the way from start to end."""
    return start + (end - start) * share


def leave_box(point: Point, along: Point, aside: Point) -> Point:
    """Return where a ray from the middle of a box, moved aside, leaves the box."""
    x = (math.copysign(BOX_WIDTH / 2, along[0]) - aside[0]) / along[0] if along[0] else math.inf
    y = (math.copysign(BOX_HEIGHT / 2, along[1]) - aside[1]) / along[1] if along[1] else math.inf
    far = min(x, y) + 2
    return point[0] + along[0] * far, point[1] + along[1] * far


def words(labels: list[str], beside: Point, along: Point) -> Iterable[str]:
    """Write the signals of an arrow beside it, one line for each, where the arrow leaves room for them."""
    (x, y), (dx, dy) = beside, along
    height = LINE * (len(labels) - 1)
    if abs(dy) < LEVEL:
        anchor, first = "middle", (y - 6 - height if dx > 0 else y + LINE)
    elif abs(dx) < LEVEL:
        anchor, x, first = ("start", x + 8, y + 4 - height / 2) if dy > 0 else ("end", x - 8, y + 4 - height / 2)
    else:
        anchor, x, first = ("start", x + 4, y - 4 - height) if dx * dy > 0 else ("end", x - 4, y - 4 - height)
    for number, label in enumerate(labels):
        place = f'x="{x:g}" y="{first + LINE * number:g}"'
        yield f'<text class="signal" text-anchor="{anchor}" {place}>{escape(label)}</text>'


def ladder(table: AnyTable, title: str) -> str:
    """Return a picture with a column for each state and a row for each transition."""
    states, _ = sides(table)
    lanes = {state.name: (place + 0.5) * LANE_WIDTH for place, state in enumerate(states)}
    found = arrows(table)
    top, height = 34.0, 34.0 + ROW_HEIGHT * (len(found) + 1)
    parts = [part for name, x in lanes.items() for part in lane(name, x, height)]
    for number, ((source, target), labels) in enumerate(found.items(), start=1):
        y = top + ROW_HEIGHT * number
        start, end = lanes[source], lanes[target]
        parts.append(f'<circle class="start" cx="{start:g}" cy="{y:g}" r="3"/>')
        parts.append(line((start, y), (end, y)))
        text = escape(", ".join(labels))
        parts.append(f'<text class="signal" text-anchor="middle" x="{(start + end) / 2:g}" y="{y - 5:g}">{text}</text>')
    return picture(parts, LANE_WIDTH * len(lanes), height, title)


def lane(name: str, x: float, height: float) -> Iterable[str]:
    """Draw the column of a state."""
    yield state_name(name, x, 18)
    yield (
        f'<line class="lane" x1="{x:g}" y1="28" x2="{x:g}" y2="{height:g}"'
        f' stroke="currentColor" stroke-width="0.5" stroke-dasharray="3 3"/>'
    )


def state_name(name: str, x: float, y: float) -> str:
    """Write the name of a state."""
    style = 'font-size="13" font-weight="bold" text-anchor="middle"'
    return f'<text class="name" {style} x="{x:g}" y="{y:g}">{escape(name)}</text>'


def picture(parts: Iterable[str], width: float, height: float, title: str) -> str:
    """Put the parts of a picture together."""
    return "\n".join(
        [
            f'<svg class="states" xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:g} {height:g}"'
            f' style="min-width: {width * 0.75:g}px" fill="currentColor" font-family="sans-serif" font-size="10.5">',
            f"<title>{escape(title)}</title>",
            *parts,
            "</svg>",
        ]
    )


def line(start: Point, end: Point) -> str:
    """Draw a line with a tip at its end."""
    (x1, y1), (x2, y2) = start, end
    turned = math.degrees(math.atan2(y2 - y1, x2 - x1))
    return (
        f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="currentColor"/>'
        f'<path d="M0 0 L-9 -4 L-9 4 z" transform="translate({x2:g} {y2:g}) rotate({turned:g})"/>'
    )
