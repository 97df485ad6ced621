"""Kept transcripts as pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mcpstreams_sansio.testing import StreamsWorld, draw, parse_transcript

KEPT: Final = Path(__file__).parent.parent.parent / "tests" / "transcripts"
"""Where transcripts are kept."""


def drawn(name: str) -> tuple[str, str]:
    """Return what a kept transcript tells, and a picture of it.

    Raises:
        LookupError: There is no such transcript.
    """
    file = KEPT / f"{name}.txt"
    if not file.is_file():
        raise LookupError(f"no transcript is called {name}")
    transcript = parse_transcript(file.read_text("utf-8"))
    return " ".join(transcript.notes), draw(StreamsWorld.parse(transcript.setting), transcript)
