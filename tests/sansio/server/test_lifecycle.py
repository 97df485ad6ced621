"""How a stream begins, loses its client and ends (rules P8, Q7, R2, R15)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.wire.streams import ResumeInterval
from tests.sansio.server.conversation import Conversation

# ------------------------------------------------------------------------------------------------- not resumable


@pytest.mark.rule("Q7c", "R2")
def test_a_stream_that_can_not_be_resumed_is_over_once_its_end_was_written() -> None:
    talk = Conversation()
    client = talk.connect()
    client.call(interval=ResumeInterval(max=0))
    talk.say(1)
    talk.respond()
    assert client.heard() == ["create", "progress 1", "result 7", "end"]
    assert talk.state() is StreamState.GONE
    assert talk.observed() == ["s1 attached to 0", "s1 gone: finished"]


@pytest.mark.rule("Q7c", "Q8e")
def test_its_tombstone_is_polled_as_finished_and_never_expires_twice() -> None:
    talk = Conversation()
    client = talk.connect()
    client.call(interval=ResumeInterval(max=0))
    talk.respond()
    assert client.poll() == "completed"
    talk.wait(10_000)
    assert client.poll() == "error stream_not_found"
