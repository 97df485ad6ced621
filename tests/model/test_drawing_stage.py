"""What happens is shown, also by a machine that is broken, and also where nothing here knows how."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.client.effects import AskWithdrawn, DuplicateDropped, GapFound, ItemReceived, ReplyDropped
from mcpstreams_sansio.connections import DropConnection, DropReason, Write
from mcpstreams_sansio.ids import CallId, ConnectionId, StreamId
from mcpstreams_sansio.server.effects import BeginBody, BodyKind, SendMore, StreamAttached
from mcpstreams_sansio.testing import Action, StreamsWorld
from mcpstreams_sansio.testing.conversation import message
from mcpstreams_sansio.testing.drawing.captions import down_caption
from mcpstreams_sansio.testing.drawing.diagram import Arrow, Mark, Note, Tone
from mcpstreams_sansio.testing.drawing.scenes import show_happenings
from mcpstreams_sansio.testing.drawing.stage import Stage
from mcpstreams_sansio.testing.drawing.text import width, wrapped
from mcpstreams_sansio.testing.state import Happening, Role
from mcpstreams_sansio.testing.wires import Head

CALL, NO_CALL, STREAM, NOWHERE = CallId(1), CallId(9), StreamId("stream-00009"), ConnectionId(5)


def marks_of(happening: Happening, role: Role) -> tuple[Mark, ...]:
    """Return what is drawn of something that happens once a call was made."""
    world = StreamsWorld()
    world.apply(Action("call", "k1"))
    stage = Stage(world.state)
    stage.begin()
    world.state.happened[:] = [(role, happening)]
    show_happenings(stage, Action("any"))
    stage.end("any")
    return stage.steps[0].marks


@pytest.mark.parametrize(
    ("happening", "mark"),
    [
        (GapFound(CALL, 3, 2), Arrow("client", "caller", "2 are lost", Tone.BAD)),
        (DuplicateDropped(CALL, 3), Note("client", "has #3 already")),
        (AskWithdrawn(None, "ask-00001"), Note("client", "no longer asks q1")),
        (ItemReceived(NO_CALL, 2, message(1, None)), Note("client", "#2 progress 1")),
        (ReplyDropped("ask-00001"), Note("client", "reply dropped q1")),
    ],
)
def test_what_a_client_does(happening: Happening, mark: Mark) -> None:
    assert marks_of(happening, Role.CLIENT_WANTS) == (mark,)


@pytest.mark.parametrize(
    ("happening", "mark"),
    [
        (SendMore(STREAM), Note("server", "send more")),
        (Write(NOWHERE, (b": \n\n",)), Note("server", "comment")),
        (BeginBody(NOWHERE, BodyKind.EMPTY), Note("server", "HTTP 202")),
        (DropConnection(NOWHERE, DropReason.STALLED), Note("server", "dropped: stalled", Tone.BAD)),
    ],
)
def test_what_a_server_does_about_nothing_that_there_is(happening: Happening, mark: Mark) -> None:
    assert marks_of(happening, Role.SERVER_WANTS) == (mark,)


def test_an_attachment_to_nothing_shows_nowhere() -> None:
    world = StreamsWorld()
    stage = Stage(world.state)
    stage.begin()
    stage.attach(STREAM, "c7")
    stage.end("any")
    assert stage.tubes() == ()
    assert isinstance(marks_of(StreamAttached(STREAM, NOWHERE), Role.SERVER_WANTS), tuple)


def test_a_refusal_says_when_to_come_back() -> None:
    assert down_caption(Head(BodyKind.JSON, 429, 2.0)) == "HTTP 429, retry after 2 s"


def test_text_is_wrapped_where_it_would_be_too_wide() -> None:
    text = "many words that go on for a while, and on"
    lines = wrapped(text, 100)
    assert " ".join(lines) == text
    assert all(width(line) <= 100 for line in lines)
    assert wrapped("", 100) == [""]


def test_what_is_no_ascii_counts_as_wide() -> None:
    assert width("漢") >= width("m")
