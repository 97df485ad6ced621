"""Transcripts as pictures: a sequence diagram that a person understands at a glance.

`draw` goes the way of a transcript again and watches. What it sees becomes a `Diagram` (`stage`, `scenes`, `trace`),
which says what stands in which row and nothing of places; `layout` finds the places, `picture` makes shapes of it, and
`shapes` writes SVG.
"""

from __future__ import annotations

from mcpstreams_sansio.testing.drawing.walk import draw

__all__ = ["draw"]
