"""A transcript is drawn: everything that happens is there, in its place, and can be read."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mcpstreams_sansio import LocalProtocolError
from mcpstreams_sansio.testing import (
    Action,
    Step,
    StreamsWorld,
    Transcript,
    draw,
    explore,
    format_transcript,
    parse_transcript,
    record,
)
from mcpstreams_sansio.testing.drawing.shapes import Box, Cross, Line, Picture, Text
from mcpstreams_sansio.testing.drawing.text import SIZE, TITLE_SIZE
from mcpstreams_sansio.testing.drawing.walk import picture
from mcpstreams_sansio.testing.explore import Counterexample
from tests.model.losses import LOSSES, transcript_of
from tests.model.planted.server_log import goes_on_from_what_was_sent
from tests.model.test_transcripts import FILES
from tests.model.toys import Maze

GOLDEN = Path(__file__).parent / "drawings" / "cut_before_create.svg"
SVG = "{http://www.w3.org/2000/svg}"
WIDEST = 1_700
"""Pixels that a wide screen shows at once, nearly."""


def drawn(transcript: Transcript) -> Picture:
    return picture(StreamsWorld.parse(transcript.setting), transcript)


def in_words(*actions: str, setting: str = "multiplexed marker cuts=1") -> Transcript:
    return record(StreamsWorld.parse(setting), [Action(*action.split()) for action in actions])


def kept(path: Path) -> Transcript:
    return parse_transcript(path.read_text("utf-8"))


every_picture = pytest.mark.parametrize(
    "transcript",
    [
        *[pytest.param(transcript_of(name), id=name) for name in LOSSES],
        *[pytest.param(kept(path), id=path.stem) for path in FILES],
    ],
)


def texts(shown: Picture, kind: str | None = None) -> list[Text]:
    return [shape for shape in shown.shapes if isinstance(shape, Text) and kind in {None, shape.kind}]


def words(shown: Picture) -> list[str]:
    return [text.text for text in texts(shown)]


def arrows(shown: Picture) -> list[Line]:
    return [shape for shape in shown.shapes if isinstance(shape, Line) and shape.arrow]


def boxes(shown: Picture, kind: str) -> list[Box]:
    return [shape for shape in shown.shapes if isinstance(shape, Box) and shape.kind == kind]


# ---- the whole


def test_the_same_transcript_is_the_same_document() -> None:
    transcript = in_words("call k1", "connect", "up c1", "cut c1", "connect")
    document = draw(StreamsWorld.parse(transcript.setting), transcript)
    if os.environ.get("REWRITE_TRANSCRIPTS"):
        GOLDEN.write_text(document, "utf-8")
    assert document == GOLDEN.read_text("utf-8")


@every_picture
def test_it_is_a_document_that_says_what_it_shows(transcript: Transcript) -> None:
    root = ElementTree.fromstring(draw(StreamsWorld.parse(transcript.setting), transcript))
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert root.get("role") == "img"
    assert title is not None
    assert title.text
    assert description is not None
    assert transcript.setting in (description.text or "")


@every_picture
def test_every_action_is_there_in_order(transcript: Transcript) -> None:
    shown = drawn(transcript)
    numbers = [text.text for text in texts(shown, "number")]
    actions = sorted((text for text in texts(shown, "action")), key=lambda text: text.y)
    assert numbers == [str(number) for number in range(1, len(transcript.steps) + 1)]
    assert [text.text for text in actions] == [str(action) for action in transcript.path]


@every_picture
def test_every_arrow_begins_and_ends_at_a_lifeline_or_a_wire(transcript: Transcript) -> None:
    shown = drawn(transcript)
    lifelines = {shape.x1 for shape in shown.shapes if isinstance(shape, Line) and shape.kind == "lifeline"}
    wires = [*boxes(shown, "sound"), *boxes(shown, "half-open")]
    for arrow in arrows(shown):
        for x in (arrow.x1, arrow.x2):
            on_a_wire = any(
                box.x <= x <= box.x + box.width and box.y <= arrow.y1 <= box.y + box.height for box in wires
            )
            assert x in lifelines or on_a_wire, arrow


@every_picture
def test_every_text_is_within_the_picture_and_covers_no_other(transcript: Transcript) -> None:
    shown = drawn(transcript)
    assert shown.width <= WIDEST
    places = [place(text) for text in texts(shown)]
    for left, top, right, bottom in places:
        assert 0 <= left < right <= shown.width
        assert 0 <= top < bottom <= shown.height
    for one, other in itertools.combinations(sorted(places, key=lambda each: each[1]), 2):
        beside = one[2] <= other[0] or other[2] <= one[0]
        assert beside or one[3] <= other[1] or other[3] <= one[1]


def place(text: Text) -> tuple[float, float, float, float]:
    size = TITLE_SIZE if text.kind == "title" else SIZE
    return text.left, text.y - 0.8 * size, text.left + text.width, text.y + 0.22 * size


@every_picture
def test_no_secret_is_in_it(transcript: Transcript) -> None:
    assert "token-" not in draw(StreamsWorld.parse(transcript.setting), transcript)


# ---- connections


def test_a_message_that_is_lost_ends_in_a_cross_where_the_connection_breaks() -> None:
    shown = drawn(in_words("call k1", "connect", "up c1", "cut c1"))
    crosses = [shape for shape in shown.shapes if isinstance(shape, Cross)]
    [broken] = [arrow for arrow in arrows(shown) if arrow.kind == "bad"]
    assert [cross.y for cross in crosses] == [broken.y1, broken.y1]  # of `create`, and of the connection


def test_what_is_written_into_nothing_is_lost_where_it_is_written() -> None:
    shown = drawn(in_words("call k1", "connect", "up c1", "down c1", "cut c1", "send k1"))
    last = max((shape for shape in shown.shapes if isinstance(shape, Cross)), key=lambda cross: cross.y)
    assert last.y == max(arrow.y1 for arrow in arrows(shown))


def test_a_connection_is_dashed_while_only_one_side_holds_it() -> None:
    half_open = drawn(in_words("call k1", "connect", "cut c1", "connect"))
    noticed = drawn(in_words("call k1", "connect", "cut c1", "notice c1", "connect"))
    whole = drawn(in_words("call k1", "connect"))
    assert [len(boxes(shown, "half-open")) for shown in (half_open, noticed, whole)] == [1, 1, 0]
    assert boxes(noticed, "half-open")[0].height < boxes(half_open, "half-open")[0].height


def test_a_loss_says_who_does_not_know_of_it() -> None:
    cut = drawn(in_words("call k1", "connect", "up c1", "cut c1"))
    faded = drawn(in_words("call k1", "connect", "up c1", "fade c1", setting="multiplexed marker fades=1"))
    early = drawn(in_words("call k1", "connect", "cut c1", setting="http marker cuts=1"))
    assert "connection lost, the server does not know" in words(cut)
    assert "connection lost, the client does not know" in words(faded)
    assert "connection lost" in words(early)  # the server has never heard of it


def test_exchanges_that_follow_each_other_share_a_lane() -> None:
    shown = drawn(transcript_of("cut during the replay of a resume, twice"))
    lanes = {box.x for box in boxes(shown, "sound")}
    assert len(lanes) < len(boxes(shown, "sound"))


def test_the_edge_of_a_connection_shows_where_a_stream_is_delivered() -> None:
    shown = drawn(transcript_of("a loss that is reported late"))
    first, second = boxes(shown, "delivers")
    assert first.y + first.height == second.y  # the second attachment ends the first (rule Q6a)


# ---- what else happens


def test_a_resume_shows_from_where_it_goes_on() -> None:
    assert "resume s1 after 1 (attempt 2), cursor s1_1" in words(drawn(transcript_of("an exchange of HTTP is cut")))
    assert "GET, cursor s1_1" in words(drawn(transcript_of("a cursor is all that is left")))


def test_time_shows_as_how_much_of_it_passes() -> None:
    assert "1 s passes" in words(drawn(transcript_of("half-open for ever")))
    assert "8 s pass, before what is under way arrives" in words(drawn(transcript_of("the server stalls")))


def test_somebody_else_has_a_lifeline_only_where_there_is_somebody() -> None:
    assert "somebody else" in words(drawn(transcript_of("somebody else polls, and somebody guesses")))
    assert "somebody else" not in words(drawn(transcript_of("half-open for ever")))


def test_each_client_has_a_lifeline_and_so_has_who_uses_it() -> None:
    shown = drawn(transcript_of("two clients compete"))
    places = {text.text: text.x for text in texts(shown, "heading")}
    assert places["caller k1b"] < places["client b"] < places["caller"] < places["client"] < places["server"]
    handshakes = [
        arrow.x1 for arrow in arrows(shown) if {arrow.x1, arrow.x2} < {*places.values()} and arrow.kind == "up"
    ]
    assert handshakes == [places["client"], places["client b"]]


def test_the_lifelines_of_a_long_transcript_are_named_again() -> None:
    short, long = drawn(transcript_of("cut before create")), drawn(transcript_of("an answer is lost"))
    assert [words(shown).count("server") for shown in (short, long)] == [2, 3]


# ---- what is broken


def test_a_broken_property_stands_at_the_end() -> None:
    with pytest.MonkeyPatch.context() as patch:
        goes_on_from_what_was_sent.plant(patch)
        world = StreamsWorld.parse("http draft cuts=1")
        found = explore(world, max_states=20_000).counterexample
        assert isinstance(found, Counterexample)
        transcript = record(world, found.path)
        shown = picture(world, transcript)
    [box] = boxes(shown, "bad-box")
    [told] = [text for text in texts(shown, "bad") if text.y > box.y]
    assert told.text == f"{found.property_name}: {found.text}"
    assert shown.title == told.text


def test_so_does_one_that_no_step_breaks() -> None:
    transcript = in_words("call k1")
    document = draw(StreamsWorld.parse(transcript.setting), transcript, "every call is settled: it is out of reach")
    assert "every call is settled: it is out of reach</text>" in document


def test_nothing_is_drawn_of_what_follows_a_broken_property() -> None:
    edges = {"start": {"on": "x"}, "x": {"off": "start"}}
    bare = Transcript("a maze of 2 nodes", (Step(Action("on")), Step(Action("off"))))
    shown = picture(Maze(edges, forbidden="x"), bare)
    assert [text.text for text in texts(shown, "action")] == ["on"]


# ---- any other world


EDGES = {"start": {"go <left>": "a&b", "silently": "b"}}


def test_a_world_of_which_nothing_is_known_shows_actions_and_what_it_says() -> None:
    transcript = record(Maze(EDGES), [Action("go", "<left>")], ["A way. It leads somewhere."])
    shown = picture(Maze(EDGES), transcript)
    assert shown.title == "A way"
    assert {"go <left>", "now in a&b", "It leads somewhere."} <= set(words(shown))
    assert arrows(shown) == []


def test_text_is_escaped() -> None:
    transcript = record(Maze(EDGES), [Action("go", "<left>")], ["\x00 & more"])
    document = draw(Maze(EDGES), transcript)
    assert "go &lt;left&gt;" in document
    assert "\\x00 &amp; more" in document
    ElementTree.fromstring(document)


def test_an_action_that_nothing_follows_from_has_a_row_of_its_own() -> None:
    class Silent(Maze):
        def effects(self) -> list[str]:
            return []

    shown = picture(Silent(EDGES), record(Silent(EDGES), [Action("silently")]))
    assert "silently" in words(shown)


# ---- what cannot be drawn


def replaced(transcript: Transcript, old: str, new: str) -> Transcript:
    return parse_transcript(format_transcript(transcript).replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("> connect", "> cut c1", "step 2, cut c1, is not possible here"),
        (
            "start call stream-00001",
            "start call stream-00002",
            "step 3, up c1, leads to something else now: server -> start call stream-00001 tools/call, where the "
            "transcript has server -> start call stream-00002 tools/call",
        ),
        ("    server <- written c1\n", "", "server <- written c1, where the transcript has nothing more"),
        ("cuts=1", "cuts=2", "of another world"),
    ],
)
def test_a_transcript_that_tells_of_something_else_is_refused_by_its_step(old: str, new: str, complaint: str) -> None:
    transcript = in_words("call k1", "connect", "up c1")
    with pytest.raises(LocalProtocolError, match=complaint):
        draw(StreamsWorld.parse(transcript.setting), replaced(transcript, old, new))


def test_the_world_is_not_changed() -> None:
    transcript = in_words("call k1", "connect")
    world = StreamsWorld.parse(transcript.setting)
    before = world.key()
    draw(world, transcript)
    assert world.key() == before


def test_actions_alone_are_enough() -> None:
    transcript = in_words("call k1", "connect", "up c1", "down c1")
    bare = Transcript(transcript.setting, tuple(Step(action) for action in transcript.path))
    world = StreamsWorld.parse(transcript.setting)
    assert draw(world, bare) == draw(world, transcript)
