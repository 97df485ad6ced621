"""Transcripts played against the Trio server, by the example that shows how: it does what the machine did there."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from docs.examples.play_a_script import play
from mcpstreams_sansio import LocalProtocolError
from mcpstreams_sansio.testing import Script, ScriptStep, Transcript, Violation, parse_transcript
from tests.model.losses import LOSSES, transcript_of
from tests.model.planted.server_log import goes_on_from_what_was_sent
from tests.model.test_transcripts import FILES


def playable(transcript: Transcript) -> bool:
    try:
        Script(transcript)
    except LocalProtocolError:
        return False
    return True


WRITTEN = {name: transcript_of(name) for name in LOSSES} | {
    path.stem: parse_transcript(path.read_text("utf-8")) for path in FILES
}
PLAYED = {name: transcript for name, transcript in WRITTEN.items() if playable(transcript)}


def run(script: Script) -> None:
    trio.run(play, script, clock=trio.testing.MockClock(autojump_threshold=0))


def test_there_is_something_to_play() -> None:
    assert len(PLAYED) >= 20


@pytest.mark.parametrize("name", PLAYED)
def test_the_server_does_as_it_is_written(name: str) -> None:
    run(Script(PLAYED[name]))


def test_a_server_that_does_something_else_is_found_at_the_step_where_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(PLAYED["cut between messages"])
    goes_on_from_what_was_sent.plant(monkeypatch)
    with pytest.RaisesGroup(Violation) as caught:
        run(script)
    (violation,) = caught.value.exceptions
    assert isinstance(violation, Violation)
    assert violation.property_name == "the server does as it is written"
    assert violation.__notes__ == ["at step 13: up c2"]


def test_so_is_one_that_says_more_than_is_written() -> None:
    script = Script(PLAYED["cut between messages"])
    *before, send = script.steps[:4]
    script.steps = (*before, ScriptStep(send.action, send.cues[:1]))
    with pytest.RaisesGroup(Violation) as caught:
        run(script)
    (violation,) = caught.value.exceptions
    assert "c1 brings more than is written" in str(violation)
