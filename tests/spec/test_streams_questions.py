"""What the draft leaves open and this project has decided: resumes, answers, cursors, connections (Q2 to Q6)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import Framing, Write
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import BodyKind
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.wire.jsonrpc import Response
from mcpstreams_sansio.wire.tags import read_tag, stream_hint
from tests.sansio.server.conversation import DRAFT, MARKER, STOCK, Client, Conversation, Way, token_of
from tests.sansio.server.words import gist

FRAMINGS = [Framing.LINES, Framing.MESSAGES, Framing.HTTP]


def reach(talk: Conversation, framing: Framing, principal: str | None = None) -> Client:
    """Return a connection, or an exchange of the one session."""
    if framing is Framing.HTTP:
        return talk.exchange(principal=principal)
    return talk.connect(framing, principal)


def messages(client: Client) -> list[str]:
    """Return every message that a client was sent, without the frames around it."""
    return [gist(message) for message in client.messages]


def interrupted(talk: Conversation, *numbers: int) -> None:
    """Let a call `s1` begin and lose its line, after it has sent these messages."""
    line = talk.connect(principal="ann")
    line.call()
    talk.say(*numbers)
    line.lose()


# ---------------------------------------------------------------------------------------------- Q2: the resume itself


@pytest.mark.rule("Q2a", "D2")
def test_a_resume_without_an_id_attaches_and_has_no_result() -> None:
    talk = Conversation()
    interrupted(talk, 1)
    other = talk.connect(principal="ann")
    other.resume(None)
    talk.respond()
    assert messages(other) == ["create", "progress 1", "result 7", "end"]


@pytest.mark.rule("D2")
def test_its_refusal_is_told_where_the_transport_has_a_place_for_it() -> None:
    talk = Conversation()
    interrupted(talk)
    line, exchange = talk.connect(), talk.exchange()
    for client in (line, exchange):
        client.resume(None, token=token_of("s2"))
    assert line.heard() == []
    assert (exchange.body, exchange.heard()) == (BodyKind.JSON, ["error - stream_not_found"])


@pytest.mark.rule("Q2b", "Q2d", "R15")
def test_the_result_of_a_resume_comes_last_and_is_no_entry() -> None:
    talk = Conversation()
    interrupted(talk, 1)
    exchange = talk.exchange(principal="ann")
    exchange.resume(after=1)
    talk.respond()
    assert exchange.heard() == ["1", "2 progress 1", "3 result 7", "4 end", "- result 9"]


@pytest.mark.rule("Q2f", "R15")
@pytest.mark.parametrize("framing", FRAMINGS)
def test_cancelling_the_resume_detaches_and_the_work_goes_on(framing: Framing) -> None:
    talk = Conversation()
    interrupted(talk, 1)
    other = reach(talk, framing, "ann")
    other.resume()
    (talk.exchange(principal="ann") if framing is Framing.HTTP else other).cancelled(9)
    assert messages(other) == ["create", "progress 1"]
    assert talk.state() is StreamState.DETACHED
    assert talk.application() == ["start s1"]


# ------------------------------------------------------------------------------------- Q3: the response where it comes


@pytest.mark.rule("Q3a", "T13")
@pytest.mark.parametrize("request_id", [7, "7"])
def test_the_response_keeps_its_id_and_its_type_and_end_is_last(request_id: str | int) -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(request_id)
    line.lose()
    talk.respond()
    other = talk.connect()
    other.resume()
    [response] = [message for message in other.messages if message == Response(request_id, {"content": []})]
    assert isinstance(response, Response)
    assert type(response.id) is type(request_id)
    assert messages(other)[-2:] == ["end", "result 9"]


@pytest.mark.rule("Q3c")
def test_a_resume_is_refused_where_the_id_of_its_call_names_another() -> None:
    talk = Conversation()
    interrupted(talk)
    other = talk.connect(principal="ann")
    other.call(7, "s2")
    other.resume()
    assert messages(other) == ["create", "error 9 id_in_use"]


@pytest.mark.rule("Q3d")
def test_response_and_end_are_written_back_to_back() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call()
    exchange.heard()
    effects = len(talk.effects)
    talk.respond()
    written = [effect for effect in talk.effects[effects:] if type(effect).__name__ == "Write"]
    assert len(written) == 1
    assert exchange.heard() == ["2 result 7", "3 end"]
    assert exchange.way is Way.ENDED


@pytest.mark.rule("Q3d", "P17")
@pytest.mark.parametrize("framing", [Framing.LINES, Framing.HTTP])
def test_they_go_together_for_who_was_away_when_they_came(framing: Framing) -> None:
    talk = Conversation()
    interrupted(talk)
    talk.respond()
    other = talk.connect(principal="ann") if framing is Framing.LINES else talk.exchange(principal="ann")
    other.resume()
    assert messages(other)[-3:] == ["result 7", "end", "result 9"]
    written = [len(effect.chunks) for effect in talk.effects if isinstance(effect, Write)]
    assert written[-1] >= 3, "in one write"


@pytest.mark.rule("Q3e")
def test_progress_goes_on_under_the_same_token_on_the_resumed_stream() -> None:
    talk = Conversation()
    interrupted(talk, 1)
    other = talk.connect(principal="ann")
    other.resume(after=2)
    talk.say(2)
    [message] = other.messages
    assert getattr(message, "params", {})["progressToken"] == "p"


# --------------------------------------------------------------------------------- Q4: one connection, many streams


@pytest.mark.rule("Q4a", "R4", "R1")
def test_what_has_room_for_it_says_where_it_belongs() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(7, "s1", peer=MARKER)
    talk.say(1)
    talk.ask("q1")
    talk.fail()
    tags = [(gist(message), read_tag(message)) for message in line.messages]
    found = [(what, tag and (tag.stream_id, tag.sequence)) for what, tag in tags]
    assert found == [
        ("create", ("s1", 1)),
        ("progress 1", ("s1", 2)),
        ("ask q1", ("s1", 3)),
        ("error 7 42", None),
        ("end", ("s1", 5)),
    ]


@pytest.mark.rule("R4")
def test_who_does_not_know_our_tags_sees_none() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(peer=DRAFT)
    talk.say(1)
    talk.respond()
    assert [stream_hint(message) for message in line.messages] == [None] * 4
    assert not any(b"mcpstreams" in chunk for chunk in line.chunks)


@pytest.mark.rule("Q4b", "R24")
def test_an_answer_is_found_by_its_id_alone_on_whatever_connection_it_comes() -> None:
    talk = Conversation()
    first, second = talk.connect(principal="ann"), talk.connect(principal="ann")
    first.call(7, "s1")
    second.call(7, "s2")
    talk.ask("q1", "s1")
    talk.ask("q2", "s2")
    first.answer("q2")
    second.answer("q1")
    assert talk.application()[2:] == ["answered q2", "answered q1"]


@pytest.mark.rule("Q4c", "R24")
@pytest.mark.parametrize("attached", [True, False])
def test_the_first_answer_counts_whether_the_stream_is_attached_or_not(*, attached: bool) -> None:
    talk = Conversation()
    line, other = talk.connect(principal="ann"), talk.exchange(principal="ann")
    line.call()
    talk.ask("q1")
    if not attached:
        line.lose()
    other.answer("q1")
    talk.exchange(principal="ann").answer("q1")
    assert other.body is BodyKind.EMPTY
    assert talk.application() == ["start s1", "answered q1"]


@pytest.mark.rule("Q4c", "R24", "R25")
def test_an_answer_of_somebody_else_is_taken_and_means_nothing() -> None:
    talk = Conversation()
    ann, bob = talk.connect(principal="ann"), talk.exchange(principal="bob")
    ann.call()
    talk.ask("q1")
    bob.answer("q1")
    unknown = talk.exchange(principal="bob")
    unknown.answer("q2")
    assert (bob.body, unknown.body) == (BodyKind.EMPTY, BodyKind.EMPTY)
    assert talk.application() == ["start s1"]
    ann.answer("q1")
    assert talk.application() == ["answered q1"]


@pytest.mark.rule("Q4d", "R24")
@pytest.mark.parametrize("after", [None, 1, 2, 3, 4])
def test_a_resume_asks_again_what_nobody_has_answered_first_and_once(after: int | None) -> None:
    talk = Conversation()
    line = talk.connect(principal="ann")
    line.call()
    talk.say(1)
    talk.ask("q1")
    talk.say(2)
    line.lose()
    exchange = talk.exchange(principal="ann")
    exchange.resume(after=after)
    heard = exchange.heard()
    assert [what for what in heard if "ask" in what] == ["3 ask q1" if after in (None, 1, 2) else "- ask q1"]
    if after in (3, 4):
        assert heard[:2] == [str(after), "- ask q1"]


@pytest.mark.rule("Q4d", "H25")
def test_a_plain_cursor_gets_only_what_follows_it() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(peer=STOCK)
    talk.ask("q1")
    talk.say(1)
    exchange.lose()
    again = talk.exchange()
    again.get(after=1)
    assert again.heard() == ["1", "2 progress 1"]


@pytest.mark.rule("Q4d", "R24")
@pytest.mark.parametrize("how", ["answered", "withdrawn"])
def test_a_question_that_is_closed_is_not_asked_again(how: str) -> None:
    talk = Conversation()
    line = talk.connect(principal="ann")
    line.call()
    talk.ask("q1")
    line.answer("q1") if how == "answered" else talk.withdraw("q1")
    line.lose()
    other = talk.connect(principal="ann")
    other.resume(after=2)
    assert "ask q1" not in messages(other)


# --------------------------------------------------------------------------------------------------- Q5: log, cursors


@pytest.mark.rule("Q5a", "R5", "R8")
def test_writing_confirms_nothing() -> None:
    talk = Conversation()
    interrupted(talk, 1, 2)
    other = talk.connect(principal="ann")
    other.resume()
    assert messages(other) == ["create", "progress 1", "progress 2"]


@pytest.mark.rule("Q5b", "T12")
def test_a_cursor_confirms_its_own_stream_only() -> None:
    talk = Conversation()
    line = talk.connect(principal="ann")
    line.call(7, "s1")
    line.call(8, "s2")
    talk.say(1, stream="s1")
    talk.say(2, stream="s2")
    line.lose()
    other = talk.connect(principal="ann")
    other.resume(9, "s1", after=2)
    other.resume(10, "s2")
    assert messages(other) == ["create", "progress 2"]


@pytest.mark.rule("Q5c", "Q10")
@pytest.mark.parametrize(("after", "header"), [(4, None), (None, 4), (2, 3), (3, 2), (99, None), (None, 99)])
def test_a_cursor_that_is_none_of_the_streams_is_refused(after: int | None, header: int | None) -> None:
    talk = Conversation()
    line, other = talk.connect(principal="ann"), talk.exchange(principal="ann")
    line.call(peer=MARKER)
    talk.say(1, 2)
    line.lose()
    other.resume(after=after, header=header, attempt="a.1")
    assert messages(other) == ["error 9 invalid_cursor"]
    assert talk.state() is StreamState.DETACHED


@pytest.mark.rule("R4")
def test_who_was_given_no_positions_has_no_cursor_but_that_of_an_event() -> None:
    talk = Conversation()
    interrupted(talk, 1, 2)  # its client did not know our extension
    other = talk.exchange(principal="ann")
    other.resume(after=2, attempt="a.1")
    assert messages(other) == ["error 9 invalid_cursor"]
    third = talk.exchange(principal="ann")
    third.resume(header=2, attempt="a.2")
    assert messages(third) == ["progress 2"]


@pytest.mark.rule("Q5d", "R8")
def test_without_a_cursor_everything_unconfirmed_comes_again() -> None:
    talk = Conversation()
    interrupted(talk, 1, 2, 3)
    first = talk.connect(principal="ann")
    first.resume(after=2)
    first.lose()
    second = talk.connect(principal="ann")
    second.resume()
    assert (messages(first), messages(second)) == (["progress 2", "progress 3"], ["progress 2", "progress 3"])


@pytest.mark.rule("Q5e", "Q7e")
def test_response_and_end_stay_until_the_stream_expires() -> None:
    talk = Conversation(StreamsConfig(max_interval=600, redelivery_window=1))
    interrupted(talk)
    talk.respond()
    for _ in range(3):
        talk.wait(599)
        other = talk.connect(principal="ann")
        other.resume(after=1)
        assert messages(other) == ["result 7", "end", "result 9"]
    talk.wait(600)
    assert talk.connect(principal="ann").poll() == "error expired"


@pytest.mark.rule("Q5h")
def test_replay_meets_what_is_live_without_a_gap() -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=1))
    interrupted(talk, 1, 2)
    other = talk.connect(principal="ann")
    other.reads = False
    other.resume()
    number = 3
    while other.outstanding is not None:
        if number < 6:
            talk.say(number)
            number += 1
        other.take()
    assert messages(other) == ["create", *(f"progress {n}" for n in range(1, 6))]


@pytest.mark.rule("Q5i", "R1")
def test_priming_repeats_the_cursor_before_the_first_message_that_is_replayed() -> None:
    talk = Conversation()
    interrupted(talk, 1, 2, 3)
    for request_id, after in ((8, 3), (9, None)):
        exchange = talk.exchange(principal="ann")
        exchange.resume(request_id, after=after)
        assert exchange.heard() == ["3", "4 progress 3"]
        talk.wait(1)


# ---------------------------------------------------------------------------------------------- Q6: two connections


@pytest.mark.rule("Q6a", "Q6c", "Q6g")
@pytest.mark.parametrize("framing", FRAMINGS)
def test_the_newest_connection_has_the_stream_and_the_older_one_is_told(framing: Framing) -> None:
    talk = Conversation()
    first, second = reach(talk, framing), reach(talk, framing)
    first.call()
    second.resume()
    talk.wait(1)
    talk.say(1)
    third = reach(talk, framing)
    third.resume(10)
    talk.say(2)
    if framing is Framing.HTTP:
        assert first.heard() == ["0", "1 create", "retry 30000"]
        assert second.heard() == ["0", "1 create", "2 progress 1", "retry 30000"]
        assert (first.way, second.way) == (Way.ENDED, Way.ENDED)
    else:
        assert first.heard() == ["create", "error 7 superseded"]
        assert second.heard() == ["create", "progress 1", "error 9 superseded"]
    assert messages(third) == ["create", "progress 1", "progress 2"]


@pytest.mark.rule("Q6b", "R14")
def test_takeovers_are_limited() -> None:
    talk = Conversation(StreamsConfig(takeover_interval=1))
    clients = [talk.exchange() for _ in range(4)]
    clients[0].call()
    clients[1].resume()
    clients[2].resume(10)
    assert messages(clients[2]) == ["error 10 too_early"]
    assert clients[2].head is not None
    assert clients[2].head.retry_after == 1
    talk.wait(1)
    clients[3].resume(10)
    assert messages(clients[3]) == ["create"]


@pytest.mark.rule("Q6d", "Q10")
def test_where_it_is_attached_already_a_resume_is_refused_without_effect() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    line.resume()
    talk.say(1)
    assert messages(line) == ["create", "error 9 already_attached", "progress 1"]


@pytest.mark.rule("Q6d", "R14")
def test_with_the_marker_it_is_attached_anew() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(peer=MARKER, attempt="a.1")
    talk.say(1)
    line.resume(after=1, attempt="a.2")
    talk.respond()
    assert messages(line) == ["create", "progress 1", "progress 1", "result 7", "end", "result 9"]


@pytest.mark.rule("Q6e", "P27")
def test_a_poll_changes_no_attachment() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call()
    assert other.poll() == "live"
    talk.say(1)
    assert messages(line) == ["create", "progress 1"]
    assert talk.observed() == ["s1 attached to 0"]
