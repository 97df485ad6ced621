"""Whole worlds of machines, run through every order of events; public, as `trio.testing` is for Trio.

`explore` goes through every state of a world, breadth first, so that what it finds wrong it shows by the shortest way.
`properties` says what must always hold, what must have happened and what must stay within reach. `transcript` turns a
way through a world into text that a person reads and a test replays, and `draw` makes a picture of it. `StreamsWorld`
is the world of this package: both real machines, with wires, a disk, applications and time between them; any other
world can be explored as well.

The rooms:

* a search: `properties`, `explore`, `graph`, `cells`;
* the world: `world`, `state` (all its data), `actions` (what can happen, and how often), `configurations` (our worlds);
* what happens: `network` (wires, the disk, time), `people` (both applications), `strangers`, `crashes` (the server's
  process ends), `restarts` (the client's does), `half_open`;
* what it happens to: `machines`, `homes` (clients), `wires`, `disk`, `work` and `caller` (the applications of a call),
  `stores` (what a caller keeps), `conversation` (what they say), `fronts` and `frames` (what stands in the bytes);
* what machines want done: `server_side`, `client_side`;
* what must hold: `witness`, `deliveries`, `promised`, `polls`, `secrecy`, `attempts`, and `watched` from inside;
* how it is told: `names` (one key for worlds that are alike), `narration`, `transcript`, `drawing`, `script`, `cues`.
"""

from __future__ import annotations

from mcpstreams_sansio.testing import cues
from mcpstreams_sansio.testing.actions import Bounds, Kind, Peers, Transport, reliable
from mcpstreams_sansio.testing.cells import RecordedTable
from mcpstreams_sansio.testing.configurations import (
    DEEP,
    HAPPENINGS,
    LARGE,
    QUICK,
    USUAL,
    Configuration,
)
from mcpstreams_sansio.testing.drawing import draw
from mcpstreams_sansio.testing.explore import Counterexample, Explorer, Report, Statistics, digest, explore
from mcpstreams_sansio.testing.fronts import POLICIES
from mcpstreams_sansio.testing.properties import Action, Always, Eventually, Property, Sometimes, Violation, World
from mcpstreams_sansio.testing.script import Script, ScriptStep
from mcpstreams_sansio.testing.transcript import (
    NarratedWorld,
    Step,
    Transcript,
    format_transcript,
    parse_transcript,
    record,
    replay,
)
from mcpstreams_sansio.testing.world import CLIENT_CONFIG, SERVER_CONFIG, SETTLES, StreamsWorld

__all__ = [
    "CLIENT_CONFIG",
    "DEEP",
    "HAPPENINGS",
    "LARGE",
    "POLICIES",
    "QUICK",
    "SERVER_CONFIG",
    "SETTLES",
    "USUAL",
    "Action",
    "Always",
    "Bounds",
    "Configuration",
    "Counterexample",
    "Eventually",
    "Explorer",
    "Kind",
    "NarratedWorld",
    "Peers",
    "Property",
    "RecordedTable",
    "Report",
    "Script",
    "ScriptStep",
    "Sometimes",
    "Statistics",
    "Step",
    "StreamsWorld",
    "Transcript",
    "Transport",
    "Violation",
    "World",
    "cues",
    "digest",
    "draw",
    "explore",
    "format_transcript",
    "parse_transcript",
    "record",
    "reliable",
    "replay",
]
