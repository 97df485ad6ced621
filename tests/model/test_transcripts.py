"""Runs that are kept, in `tests/transcripts`: each tells what one guarantee means, step by step.

They are read by people, and a change of what happens in one of them shows in review. After a change that is meant, run
this file with `REWRITE_TRANSCRIPTS=1` in the environment, and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mcpstreams_sansio.testing import StreamsWorld, format_transcript, parse_transcript, record, replay

FOLDER = Path(__file__).parent.parent / "transcripts"
FILES = sorted(FOLDER.glob("*.txt"))


def test_there_are_transcripts() -> None:
    assert len(FILES) >= 10


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_happens_as_it_is_written(path: Path) -> None:
    written = parse_transcript(path.read_text("utf-8"))
    again = record(StreamsWorld.parse(written.setting), written.path, written.notes)
    if os.environ.get("REWRITE_TRANSCRIPTS"):
        path.write_text(format_transcript(again), "utf-8")
        return
    assert format_transcript(again) == format_transcript(written)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_call_is_settled_in_the_end(path: Path) -> None:
    written = parse_transcript(path.read_text("utf-8"))
    world = StreamsWorld.parse(written.setting)
    replay(world, written)
    assert world.settled()
