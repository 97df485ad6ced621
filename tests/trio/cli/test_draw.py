"""`mcpstreams draw` makes a picture of a transcript, or says why it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mcpstreams_sansio.testing import StreamsWorld, draw, parse_transcript
from tests.sources import ROOT
from trio_bindings.cli.command import command

KEPT = ROOT / "tests" / "transcripts" / "nothing_is_told_before_it_is_durable.txt"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, ["draw", *map(str, arguments)])


def test_the_picture_lies_beside_the_transcript(tmp_path: Path) -> None:
    file = tmp_path / "kept.txt"
    file.write_text(KEPT.read_text("utf-8"), "utf-8")
    result = run(file)
    assert (result.exit_code, result.stdout) == (0, f"written: {tmp_path / 'kept.svg'}\n")
    transcript = parse_transcript(KEPT.read_text("utf-8"))
    drawing = draw(StreamsWorld.parse(transcript.setting), transcript)
    assert (tmp_path / "kept.svg").read_text("utf-8") == drawing


def test_or_wherever_it_is_wanted(tmp_path: Path) -> None:
    assert run(KEPT, "-o", tmp_path / "picture.svg").exit_code == 0
    assert (tmp_path / "picture.svg").is_file()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"@ multiplexed marker\n> call k1\n> up c1\n", "step 2, up c1, is not possible here"),
        (b"@ multiplexed marker\n> call k1\n    client <- link up\n", "step 1, call k1, leads to something else now"),
        (b"@ a maze of 3 nodes\n", "no setting of a world of streams"),
        (b"something else\n", "line 1"),
        (b"\xff\xfe", "no text"),
    ],
)
def test_what_can_not_be_drawn_is_refused_with_the_reason(text: bytes, complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "transcript.txt"
    file.write_bytes(text)
    result = run(file)
    assert result.exit_code == 1
    assert complaint in result.stderr
    assert not file.with_suffix(".svg").exists()


def test_a_transcript_is_never_overwritten_by_its_picture(tmp_path: Path) -> None:
    file = tmp_path / "kept.svg"
    file.write_bytes(KEPT.read_bytes())
    for arguments in ([file], [file, "-o", tmp_path / "." / "kept.svg"]):
        result = run(*arguments)
        assert result.exit_code == 1
        assert "kept.svg is the transcript; --out names where its drawing goes" in result.stderr
    assert file.read_bytes() == KEPT.read_bytes()


def test_a_world_may_be_described_in_other_words_and_the_file_begin_with_a_mark(tmp_path: Path) -> None:
    file = tmp_path / "transcript.txt"
    file.write_text("@ multiplexed marker cuts=1 messages=1\n> call k1\n", "utf-8-sig")
    assert run(file).exit_code == 0


def test_a_picture_that_can_not_be_written_is_an_error(tmp_path: Path) -> None:
    result = run(KEPT, "-o", tmp_path / "nowhere" / "picture.svg")
    assert result.exit_code == 1
    assert "picture.svg: No such file" in result.stderr
