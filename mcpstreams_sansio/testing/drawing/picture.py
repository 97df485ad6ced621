"""A diagram as shapes: bands for steps behind, then lifelines and wires, then arrows, then words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, assert_never, final

import attrs

from mcpstreams_sansio.testing.drawing.diagram import Arrow, Blank, Diagram, Flight, Mark, Note, Pause, Tone, Tube
from mcpstreams_sansio.testing.drawing.layout import (
    HEADING,
    MARGIN,
    PAD,
    TAG,
    Columns,
    Rows,
    box_width,
    columns,
    gutter_of,
    rows,
    slots_of,
)
from mcpstreams_sansio.testing.drawing.shapes import Anchor, Box, Cross, Line, Picture, Shape, Text
from mcpstreams_sansio.testing.drawing.text import TITLE_SIZE, wrapped

_LEADING: Final = 19.0
"""From one line of running text to the next."""
_TITLE_LEADING: Final = 26.0
_ABOVE: Final = 5.0
"""From a label to its arrow."""
_BOX: Final = 18.0
"""Height of the box around a note, or around the name of a wire."""
_BASELINE: Final = 4.5
"""From the middle of a line of text to its baseline."""
_TAIL: Final = 8.0
"""How far a wire is drawn beyond its last row, and lifelines beyond theirs."""
_EDGE: Final = 4.0
"""Width of the edge of a wire that delivers a stream."""


def picture_of(diagram: Diagram, legend: str) -> Picture:
    """Place a diagram, and draw it.

    Args:
        diagram: What is drawn.
        legend: What a reader needs to know about any such picture.
    """
    across = columns(diagram)
    room = across.width - 2 * MARGIN
    title = list(_running("title", wrapped(diagram.title, room, TITLE_SIZE), MARGIN / 2, _TITLE_LEADING))
    notes = [line for note in diagram.notes for line in wrapped(note, room)]
    text = list(_running("note", notes, title[-1].y + 2, _LEADING))
    down = rows(diagram, [*title, *text][-1].y + PAD)
    paint = _Painter(diagram, across, down)
    shapes = [*title, *text, *paint.bands(), *paint.lifelines(), *paint.tubes(), *paint.marks(), *paint.headings()]
    end = down.bottom + HEADING + PAD
    if diagram.broken is not None:
        lines = wrapped(diagram.broken, room - 2 * PAD)
        shapes.append(Box("bad-box", MARGIN, end, room, len(lines) * _LEADING + PAD, 4))
        shapes += [attrs.evolve(line, x=MARGIN + PAD) for line in _running("bad", lines, end, _LEADING)]
        end += len(lines) * _LEADING + 2 * PAD
    explained = list(_running("note", wrapped(legend, room), end, _LEADING))
    height = explained[-1].y + MARGIN
    description = f"{diagram.title}. {' '.join(diagram.notes)} {len(diagram.steps)} steps. {diagram.broken or ''}"
    page = Box("page", 0, 0, across.width, height)
    return Picture(diagram.title, description.strip(), across.width, height, (page, *shapes, *explained))


def _running(kind: str, lines: Iterable[str], y: float, leading: float) -> Iterator[Text]:
    for number, line in enumerate(lines, 1):
        yield Text(kind, MARGIN, y + number * leading, line, Anchor.START)


@final
@attrs.frozen
class _Painter:
    diagram: Diagram
    across: Columns
    down: Rows

    def bands(self) -> Iterator[Shape]:
        """Every other step lies on a darker band; each has its number and its action at the left."""
        first = 0
        for number, (step, (top, height)) in enumerate(zip(self.diagram.steps, self.down.bands, strict=True), 1):
            if number % 2:
                yield Box("band", 0, top, self.across.width, height)
            for row, mark in enumerate(step.marks, first):
                if isinstance(mark, Pause):
                    yield Box("pause", 0, self.down.at[row] - _BOX - 1, self.across.width, _BOX + 4)
            y = self.down.at[first] - _ABOVE
            yield Text("number", self.across.numbers, y, str(number), Anchor.END)
            yield Text("action", self.across.actions, y, step.action, Anchor.START)
            first += len(step.marks)

    def lifelines(self) -> Iterator[Shape]:
        """Draw the lifelines from top to bottom."""
        for x in self.across.lifelines.values():
            yield Line("lifeline", x, self.down.headings[0] + HEADING, x, self.down.bottom + _TAIL)

    def headings(self) -> Iterator[Shape]:
        """Name the lifelines, and the wires that live there."""
        for top in (*self.down.headings, self.down.bottom):
            middle = top + HEADING / 2
            for name, x in self.across.lifelines.items():
                yield Box("heading-box", x - box_width(name) / 2, middle - _BOX / 2 - 2, box_width(name), _BOX + 4, 3)
                yield Text("heading", x, middle + _BASELINE, name)
            for tube in self.diagram.tubes:
                if self._top(tube) < top < self._bottom(tube):
                    yield from self._tag(tube.name, middle)

    def _tag(self, name: str, middle: float) -> Iterator[Shape]:
        lane = self.across.lanes[name]
        yield Box("tag-box", lane.left, middle - _BOX / 2, lane.width, _BOX, 3)
        yield Text("heading", lane.middle, middle + _BASELINE, name)

    # ---- wires

    def _top(self, tube: Tube) -> float:
        return self.down.at[tube.life.begin] - TAG + _BOX / 2

    def _bottom(self, tube: Tube) -> float:
        return self.down.at[tube.life.end] + _TAIL

    def tubes(self) -> Iterator[Shape]:
        """Draw the wires, and what is under way on them."""
        for tube in self.diagram.tubes:
            lane = self.across.lanes[tube.name]
            top, bottom = self._top(tube), self._bottom(tube)
            sound = bottom if tube.lost is None else self.down.at[tube.lost]
            yield Box("sound", lane.left, top, lane.width, sound - top)
            if sound < bottom:
                yield Box("half-open", lane.left, sound, lane.width, bottom - sound)
            for span in tube.delivers:
                begin, end = self.down.at[span.begin], self.down.at[span.end]
                yield Box("delivers", lane.right - _EDGE, begin, _EDGE, end - begin)
            yield from self._tag(tube.name, top - _BOX / 2)
            yield from self._flights(tube)

    def _flights(self, tube: Tube) -> Iterator[Shape]:
        for flight, x in self._places(tube).items():
            begin, end = self.down.at[flight.sent], self.down.at[flight.until]
            if end > begin:
                yield Line("up" if flight.up else "down", x, begin, x, end)
            if flight.lost:
                yield Cross(x, end)
        for row in tube.breaks:
            yield Cross(self.across.lanes[tube.name].middle, self.down.at[row], _TAIL)

    def _places(self, tube: Tube) -> dict[Flight, float]:
        """Return where in a wire each thing on it is drawn."""
        slots, of = slots_of(tube)
        return {flight: self.across.lanes[tube.name].slot(slot, of) for flight, slot in slots.items()}

    # ---- rows

    def marks(self) -> Iterator[Shape]:
        """Draw what stands in each row."""
        ends = self._ends()
        row = 0
        for step in self.diagram.steps:
            for mark in step.marks:
                yield from self._mark(mark, row, ends)
                row += 1

    def _mark(self, mark: Mark, row: int, ends: dict[tuple[str, int], float]) -> Iterator[Shape]:
        y = self.down.at[row]
        match mark:
            case Arrow():
                yield from self._arrow(mark, row, ends)
            case Note(at=at, text=text, tone=tone):
                yield from self._note(self.across.lifelines[at], y, text, "note", tone)
            case Pause(text=text):
                yield from self._note(self.across.lifelines[self.diagram.left[-1]], y, text, "pause", Tone.PLAIN)
            case Blank():
                pass
            case unknown:
                assert_never(unknown)

    def _note(self, x: float, y: float, text: str, kind: str, tone: Tone) -> Iterator[Shape]:
        wide = box_width(text)
        yield Box(f"{kind}-box", x - wide / 2, y - _BOX + 1, wide, _BOX, 3)
        yield Text("note" if tone is Tone.PLAIN else tone.value, x, y - _BOX / 2 + _BASELINE + 1, text)

    def _arrow(self, arrow: Arrow, row: int, ends: dict[tuple[str, int], float]) -> Iterator[Shape]:
        y = self.down.at[row]
        source, target = self._end(arrow.source, row, ends), self._end(arrow.target, row, ends)
        if arrow.source in self.across.lanes:
            kind = "up" if arrow.target == self.diagram.hub else "down"
        elif arrow.target in self.across.lanes or (
            arrow.source in self.diagram.clients and arrow.target == self.diagram.hub
        ):
            kind = "up" if arrow.source in self.diagram.left else "down"
        else:
            kind = "local"
        tone = arrow.tone
        yield Line(kind if tone is Tone.PLAIN else tone.value, source, y, target, y, arrow=True)
        middle = self.across.gutters[gutter_of(self.diagram, arrow)]
        yield Text("label" if tone is Tone.PLAIN else tone.value, middle, y - _ABOVE, arrow.text)

    def _ends(self) -> dict[tuple[str, int], float]:
        """Return where in a wire an arrow of a row begins or ends."""
        ends = {}
        for tube in self.diagram.tubes:
            for flight, x in self._places(tube).items():
                ends[tube.name, flight.sent] = x
        for tube in self.diagram.tubes:
            for flight, x in self._places(tube).items():
                if not flight.lost and flight.until > flight.sent:
                    ends[tube.name, flight.until] = x
        return ends

    def _end(self, name: str, row: int, ends: dict[tuple[str, int], float]) -> float:
        if name in self.across.lifelines:
            return self.across.lifelines[name]
        return ends.get((name, row), self.across.lanes[name].middle)
