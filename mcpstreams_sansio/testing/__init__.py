"""Whole worlds of machines, run through every order of events; public, as `trio.testing` is for Trio.

`explore` goes through every state of a world, breadth first, so that what it finds wrong it shows by the shortest way.
`properties` says what must always hold, what must have happened and what must stay within reach. `transcript` turns a
way through a world into text that a person reads and a test replays.
"""

from __future__ import annotations

from mcpstreams_sansio.testing.explore import Counterexample, Explorer, Report, Statistics, digest, explore
from mcpstreams_sansio.testing.properties import Action, Always, Eventually, Property, Sometimes, Violation, World
from mcpstreams_sansio.testing.transcript import (
    NarratedWorld,
    Step,
    Transcript,
    format_transcript,
    parse_transcript,
    record,
    replay,
)

__all__ = [
    "Action",
    "Always",
    "Counterexample",
    "Eventually",
    "Explorer",
    "NarratedWorld",
    "Property",
    "Report",
    "Sometimes",
    "Statistics",
    "Step",
    "Transcript",
    "Violation",
    "World",
    "digest",
    "explore",
    "format_transcript",
    "parse_transcript",
    "record",
    "replay",
]
