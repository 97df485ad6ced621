"""Two connections on one stream (group F: what a client does when it is in the way, or was put out of it)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.wire.refusals import Reason
from tests.cases.clients import CALL, announced, attempts
from tests.sansio.client.conversation import Conversation
from tests.sansio.client.driving import EVENTS


@pytest.mark.parametrize("status", [409, 429])
def test_f1_f4_a_server_that_still_believes_in_the_old_connection_is_asked_again(status: int) -> None:
    driven = announced()
    driven.cut(CALL)
    driven.wait(1.0)
    for path in range(4, 8):
        assert driven.heads(path, status) == [f"drop c{path}: finished"]
        assert len(attempts(driven.wait(8.0), "POST resume")) == 1
    assert driven.client.link_state.name == "UP", "and the session is not torn down for it"


@pytest.mark.rule("R14", "H16")
def test_f3_a_superseded_client_comes_back_no_sooner_than_it_was_told() -> None:
    driven = announced()
    path, resumes = CALL, 0
    while driven.now < 60.0:
        driven.receives(path, b"retry: 30000\n\n")
        driven.ends(path)
        resumes += len(attempts(driven.wait(30.0), "POST resume"))
        path += 1
        driven.heads(path, 200, EVENTS)
    assert resumes == 2


@pytest.mark.rule("Q6b", "R14")
def test_f3_where_it_is_told_plainly_it_does_not_come_back_at_all() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.creates()
    assert talk.rejects("1", Reason.SUPERSEDED) == ["1: ends with loss: superseded @1"]
    assert talk.wait(1_000.0) == []


@pytest.mark.rule("Q6g")
def test_f6_a_late_word_on_the_old_path_is_not_delivered() -> None:
    talk = Conversation(http=True)
    talk.link_up()
    talk.call()
    talk.creates(path=1)
    talk.cut(1)
    talk.wait(1.0)
    talk.accepts(2)
    assert talk.progresses(2, path=1) == []
    assert talk.progresses(2, path=2) == ["1: progress 1 @2"]
