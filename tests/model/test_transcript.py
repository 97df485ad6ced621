"""A way through a world can be written down, read back and gone again."""

from __future__ import annotations

import pytest

from mcpstreams_sansio import LocalProtocolError
from mcpstreams_sansio.testing import (
    Action,
    Step,
    Transcript,
    Violation,
    format_transcript,
    parse_transcript,
    record,
    replay,
)
from mcpstreams_sansio.testing.transcript import take_again
from tests.model.toys import Maze

EDGES = {"start": {"go left": "a", "go right": "b"}, "a": {"on": "x"}, "b": {"on": "end"}}
PATH = (Action("go", "right"), Action("on"))
TEXT = """\
# the right way
# leads out
@ a maze of 3 nodes
> go right
    now in b
> on
    now in end
"""


def test_a_way_is_written_with_what_followed() -> None:
    maze = Maze(EDGES)
    assert format_transcript(record(maze, PATH, ["the right way", "leads out"])) == TEXT
    assert maze.node == "start"


def test_it_is_read_back_as_it_was() -> None:
    transcript = parse_transcript(TEXT)
    assert transcript == Transcript(
        "a maze of 3 nodes",
        (Step(PATH[0], ("now in b",)), Step(PATH[1], ("now in end",))),
        ("the right way", "leads out"),
    )
    assert transcript.path == PATH
    assert format_transcript(transcript) == TEXT


def test_empty_lines_are_skipped() -> None:
    assert parse_transcript(TEXT.replace("\n", "\n\n")) == parse_transcript(TEXT)


def test_it_is_gone_again() -> None:
    maze = Maze(EDGES)
    replay(maze, parse_transcript(TEXT))
    assert maze.node == "end"


def test_a_counterexample_is_written_down_to_where_it_breaks_and_breaks_again() -> None:
    maze = Maze(EDGES, forbidden="x")
    transcript = record(maze, [Action("go", "left"), Action("on"), Action("never", "seen")])
    assert transcript.steps[-1] == Step(Action("on"), ("now in x", "! stays out: it is in x"))
    with pytest.raises(Violation, match="it is in x"):
        replay(maze, parse_transcript(format_transcript(transcript)))


def test_whatever_is_raised_is_one_line() -> None:
    class Talkative(Maze):
        def check(self) -> None:
            raise ValueError("one\ntwo\u2028three")

    transcript = record(Talkative(EDGES), PATH, ["one\ntwo"])
    assert transcript == Transcript(
        "a maze of 3 nodes", (Step(PATH[0], ("now in b", "! one two three")),), ("one two",)
    )
    assert parse_transcript(format_transcript(transcript)) == transcript
    assert take_again(Talkative(EDGES), transcript, 0) == "one\ntwo\u2028three"


def test_it_is_not_gone_in_another_world() -> None:
    with pytest.raises(LocalProtocolError, match="another world: a maze of 3 nodes"):
        replay(Maze({}), parse_transcript(TEXT))


def test_an_action_that_is_not_possible_is_named() -> None:
    text = "@ a maze of 3 nodes\n> go right\n> go left\n"
    with pytest.raises(LocalProtocolError, match="step 2, go left, is not possible"):
        replay(Maze(EDGES), parse_transcript(text))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "in which world"),
        ("# only a note\n", "in which world"),
        ("> on\n@ a maze\n", "line 1"),
        ("    now in b\n@ a maze\n", "line 1"),
        ("@ a maze\n    now in b\n", "line 2"),
        ("@ a maze\n@ a maze\n", "line 2"),
        ("@ a maze\n# a late note\n", "line 2"),
        ("@ a maze\n\nsomething else\n", "line 3"),
    ],
)
def test_a_line_out_of_place_is_refused_by_its_number(text: str, complaint: str) -> None:
    with pytest.raises(LocalProtocolError, match=complaint):
        parse_transcript(text)
