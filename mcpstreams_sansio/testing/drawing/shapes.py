"""Shapes with their places, and how they are written as SVG: no program and no font is needed for it."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from html import escape
from typing import Final, TypeAlias, assert_never, final

import attrs

from mcpstreams_sansio.testing.drawing.text import SIZE, TITLE_SIZE, width

# Each rule names the picture that it belongs to: in a page, a style holds for everything that is there.
_STYLE: Final = f"""\
.transcript text {{ font: {SIZE:g}px system-ui, sans-serif; fill: #1f2937; }}
.transcript text.title {{ font-size: {TITLE_SIZE:g}px; font-weight: bold; }}
.transcript text.heading, .transcript text.action, .transcript text.strong {{ font-weight: bold; }}
.transcript text.number {{ fill: #6b7280; }}
.transcript text.bad {{ fill: #b91c1c; font-weight: bold; }}
.transcript .page {{ fill: #ffffff; }}
.transcript .band {{ fill: #f4f5f7; }}
.transcript .pause {{ fill: #fdf3d0; }}
.transcript .heading-box {{ fill: #e5e7eb; stroke: #6b7280; }}
.transcript .note-box {{ fill: #fffbe8; stroke: #a8a29e; }}
.transcript .pause-box {{ fill: #fdf3d0; stroke: #a16207; }}
.transcript .bad-box {{ fill: #fef2f2; stroke: #b91c1c; stroke-width: 2; }}
.transcript .tag-box {{ fill: #dbe4f0; stroke: #64748b; }}
.transcript .lifeline {{ stroke: #9ca3af; }}
.transcript .sound {{ fill: #eaf0f8; stroke: #64748b; }}
.transcript .half-open {{ fill: #ffffff; stroke: #b91c1c; stroke-dasharray: 5 4; }}
.transcript .delivers {{ fill: #34a56f; }}
.transcript .up {{ stroke: #1d4ed8; fill: none; stroke-width: 1.5; }}
.transcript .down {{ stroke: #047857; fill: none; stroke-width: 1.5; }}
.transcript .local {{ stroke: #374151; fill: none; stroke-width: 1.5; }}
.transcript .strong {{ stroke: #111827; fill: none; stroke-width: 2.5; }}
.transcript text.strong {{ stroke: none; fill: #111827; }}
.transcript .bad {{ stroke: #b91c1c; fill: none; stroke-width: 1.5; }}
.transcript text.bad {{ stroke: none; fill: #b91c1c; }}
.transcript .cross {{ stroke: #b91c1c; stroke-width: 2.5; }}"""


@enum.unique
class Anchor(enum.Enum):
    """Which point of a text its place is."""

    START = "start"
    MIDDLE = "middle"
    END = "end"


@final
@attrs.frozen
class Text:
    """One line of text, on its baseline."""

    kind: str
    x: float
    y: float
    text: str
    anchor: Anchor = Anchor.MIDDLE

    @property
    def left(self) -> float:
        """Where it begins at most."""
        return self.x - self.width * {Anchor.START: 0.0, Anchor.MIDDLE: 0.5, Anchor.END: 1.0}[self.anchor]

    @property
    def width(self) -> float:
        """How wide it is at most."""
        return width(self.text, TITLE_SIZE if self.kind == "title" else SIZE)


@final
@attrs.frozen
class Box:
    """A rectangle."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    radius: float = 0.0


@final
@attrs.frozen
class Line:
    """A straight line, with a head at its end where it is an arrow."""

    kind: str
    x1: float
    y1: float
    x2: float
    y2: float
    arrow: bool = False


@final
@attrs.frozen
class Cross:
    """The mark of what is lost."""

    x: float
    y: float
    size: float = 5.0


Shape: TypeAlias = Text | Box | Line | Cross


@final
@attrs.frozen
class Picture:
    """All shapes, those behind first."""

    title: str
    description: str
    width: float
    height: float
    shapes: tuple[Shape, ...]

    def svg(self) -> str:
        """Return the picture as an SVG document, the same for equal pictures."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:g}" height="{self.height:g}"'
            f' viewBox="0 0 {self.width:g} {self.height:g}" class="transcript" role="img"'
            ' aria-labelledby="transcript-title transcript-desc">'
        )
        lines = [
            head,
            f'<title id="transcript-title">{_escaped(self.title)}</title>',
            f'<desc id="transcript-desc">{_escaped(self.description)}</desc>',
            f"<style>\n{_STYLE}\n</style>",
            *(_written(shape) for shape in self.shapes),
            "</svg>",
        ]
        return "\n".join(lines) + "\n"


def _written(shape: Shape) -> str:
    match shape:
        case Text(kind=kind, x=x, y=y, text=text, anchor=anchor):
            place = f'x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor.value}"'
            return f'<text class="{kind}" {place}>{_escaped(text)}</text>'
        case Box(kind=kind, x=x, y=y, width=wide, height=high, radius=radius):
            size = f'width="{_number(wide)}" height="{_number(high)}"'
            corner = f' rx="{_number(radius)}"' if radius else ""
            return f'<rect class="{kind}" x="{_number(x)}" y="{_number(y)}" {size}{corner}/>'
        case Line(arrow=True):
            return f'<path class="{shape.kind} arrow" d="{_arrow(shape)}"/>'
        case Line(kind=kind, x1=x1, y1=y1, x2=x2, y2=y2):
            return f'<path class="{kind}" d="{_path([(x1, y1), (x2, y2)])}"/>'
        case Cross(x=x, y=y, size=size):
            one = _path([(x - size, y - size), (x + size, y + size)])
            other = _path([(x - size, y + size), (x + size, y - size)])
            return f'<path class="cross" d="{one} {other}"/>'
        case unknown:
            assert_never(unknown)


_HEAD: Final = 7.0


def _arrow(line: Line) -> str:
    """Return a level line with a head: two strokes from its end backwards."""
    back = line.x2 + (-_HEAD if line.x2 > line.x1 else _HEAD)
    head = [(back, line.y2 - _HEAD / 2), (line.x2, line.y2), (back, line.y2 + _HEAD / 2)]
    return f"{_path([(line.x1, line.y1), (line.x2, line.y2)])} {_path(head)}"


def _path(points: Iterable[tuple[float, float]]) -> str:
    return "M " + " L ".join(f"{_number(x)} {_number(y)}" for x, y in points)


def _number(value: float) -> str:
    return f"{round(value, 1):g}"


def _escaped(text: str) -> str:
    """Return text as it may stand in a document: what XML cannot hold at all is shown as Python would write it."""
    return escape("".join(each if each.isprintable() else ascii(each)[1:-1] for each in text))
