"""Whose a call is: by its key, its question, its id, and from where (rules Q9, R14, R21, R24, R25)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.server.config import StreamsConfig
from tests.sansio.server.conversation import KEY, MARKER, Conversation, token_of

# ---------------------------------------------------------------------------------------------------- whose key it is


@pytest.mark.rule("R21", "R25")
def test_nobody_meets_the_key_of_another() -> None:
    talk = Conversation()
    ann, bob = talk.connect(principal="ann"), talk.connect(principal="bob")
    ann.call(7, "s1", peer=MARKER, key=KEY, attempt="a.1")
    bob.call(7, "s2", peer=MARKER, key=KEY, attempt="b.1")
    assert talk.application() == ["start s1", "start s2"]
    bob.cancelled(key=KEY)
    assert talk.application() == ["cancel s2: cancelled"]


@pytest.mark.rule("R21", "Q9b")
def test_a_call_is_cancelled_by_its_key_from_anywhere_and_stays_cancelled() -> None:
    talk = Conversation()
    first, second = talk.connect(), talk.connect()
    first.call(peer=MARKER, key=KEY, attempt="a.1")
    second.cancelled(key=KEY)
    assert (first.heard(), talk.application()) == (["create", "end"], ["start s1", "cancel s1: cancelled"])
    second.cancelled(key=KEY)
    second.call(peer=MARKER, key=KEY, attempt="a.2", stream="s2")
    assert (second.heard(), talk.application()) == (["error 7 cancelled"], [])
    talk.wait(talk.config.tombstone_ttl)
    assert talk.state() is None
    second.cancelled(key=KEY)
    second.call(peer=MARKER, key=KEY, attempt="a.3", stream="s3")
    assert second.heard() == ["error 7 cancelled"]


@pytest.mark.rule("R21", "R25")
def test_who_cancels_in_advance_pushes_out_only_what_is_their_own() -> None:
    talk = Conversation(StreamsConfig(max_cancelled_keys_per_principal=1))
    ann, bob = talk.connect(principal="ann"), talk.connect(principal="bob")
    for client in (ann, bob):
        client.cancelled(key=KEY)
    for client in (ann, bob):
        client.call(peer=MARKER, key=KEY, attempt="a.1", stream=f"s{client.connection_id}")
        assert client.heard() == ["error 7 cancelled"]


# ------------------------------------------------------------------------------------------------------------ answers


@pytest.mark.rule("R24", "R25")
def test_a_question_is_answered_by_whose_it_is_or_by_who_can_prove_it() -> None:
    talk = Conversation()
    ann, bob = talk.connect(principal="ann"), talk.connect(principal="bob")
    ann.call(7, "s1", peer=MARKER, key=KEY, attempt="a.1")
    talk.ask("q1", "s1")
    bob.answer("q1", token=token_of("s1"), key=KEY)
    talk.connect().answer("q1", token=token_of("s1"), key=KEY)
    assert talk.application() == ["start s1"]
    talk.connect(principal="ann").answer("q1")
    assert talk.application() == ["answered q1"]


@pytest.mark.rule("R24", "Q11a")
def test_without_a_principal_a_token_or_a_key_of_the_call_proves_it() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call(7, "s1", peer=MARKER, key=KEY, attempt="a.1")
    line.call(8, "s2", peer=MARKER, key=KEY.upper(), attempt="a.1")
    for ask_id in ("q1", "q2"):
        talk.ask(ask_id, "s1")
    talk.application()
    other.answer("q1", key=KEY.upper())
    other.answer("q1", token=token_of("s2"))
    other.answer("q1")
    other.answer("nobody asked this", key=KEY, token=token_of("s1"))
    assert talk.application() == []
    other.answer("q1", key=KEY)
    other.answer("q2", token=token_of("s1"))
    assert talk.application() == ["answered q1", "answered q2"]


# --------------------------------------------------------------------------------------------- where an id is at home


@pytest.mark.rule("Q9e", "R14")
def test_a_call_is_cancelled_by_its_id_in_the_session_where_it_came_whoever_has_its_stream() -> None:
    talk = Conversation()
    first, second, third = talk.exchange("one"), talk.exchange("two"), talk.exchange("one")
    first.call(peer=MARKER)
    second.resume(attempt="a.1")
    assert second.heard() == ["0", "1 create"]
    third.cancelled(7)
    assert talk.application() == ["start s1", "cancel s1: cancelled"]


@pytest.mark.rule("Q9e", "P8")
def test_a_session_goes_on_when_the_exchange_of_a_call_is_lost_and_so_does_the_id_of_the_call() -> None:
    talk = Conversation()
    first, second = talk.exchange(), talk.exchange()
    first.call()
    first.lose()
    second.cancelled(7)
    assert talk.application() == ["start s1", "cancel s1: cancelled"]


@pytest.mark.rule("R14", "W6")
def test_an_id_that_was_answered_with_superseded_is_free_again_and_names_the_old_call_no_more() -> None:
    talk = Conversation()
    first, second, third = talk.connect(), talk.connect(), talk.connect()
    first.call(7, "s1", peer=MARKER)
    second.resume(attempt="a.1")
    first.cancelled(7)
    first.call(7, "s2")
    assert first.heard() == ["create", "error 7 superseded", "create"]
    first.cancelled(7)
    assert talk.application() == ["start s1", "start s2", "cancel s2: cancelled"]
    first.resume(9, attempt="a.2")
    third.resume(attempt="a.3")
    first.call(7, "s3")
    assert first.heard() == ["end", "create", "error 9 superseded", "create"]


@pytest.mark.rule("R14", "Q3a")
def test_a_call_that_was_resumed_on_its_own_connection_is_still_owed_its_answer_there() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call(7, "s1", peer=MARKER)
    line.resume(9, attempt="a.1")
    other.resume(10, attempt="a.2")
    assert line.heard() == ["create", "create", "error 9 superseded", "error 7 superseded"]
