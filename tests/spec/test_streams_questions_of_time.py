"""What the draft leaves open and this project has decided: time, polls, endings, refusals (Q7 to Q11)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.server.calls import StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import BodyKind
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.wire.jsonrpc import Request
from mcpstreams_sansio.wire.refusals import Reason, Refusal, read_refusal
from mcpstreams_sansio.wire.streams import ResumeInterval
from tests.sansio.server.conversation import MARKER, STOCK, Client, Conversation, Way, token_of
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


# --------------------------------------------------------------------------------------------------------- Q7: time


@pytest.mark.rule("Q7a", "Q7b", "T23")
def test_failures_do_not_prolong_a_streams_life() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(interval=ResumeInterval(max=60))
    line.lose()
    talk.wait(30)
    other = talk.connect()
    other.poll(token=token_of("s2"))
    other.resume(9, after=99)
    other.resume(10, token=token_of("s2"))
    other.ack(1, token=token_of("s2"))
    talk.wait(30)
    assert other.poll() == "error abandoned"


@pytest.mark.rule("Q7c", "T24")
def test_no_maximum_takes_the_servers_and_zero_can_not_be_resumed() -> None:
    talk = Conversation(StreamsConfig(max_interval=100))
    line = talk.connect()
    line.call(7, "s1")
    line.call(8, "s2", interval=ResumeInterval(max=0))
    line.lose()
    other = talk.connect()
    other.resume(9, "s2")
    assert messages(other) == ["error 9 not_resumable"]
    assert talk.application() == ["start s1", "start s2", "cancel s2: connection lost"]
    talk.wait(100)
    assert other.poll("s1") == "error abandoned"


@pytest.mark.rule("Q7c", "Q10")
def test_a_stream_of_maximum_zero_is_not_taken_over_either() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call(interval=ResumeInterval(max=0))
    other.resume()
    assert messages(other) == ["error 9 not_resumable"]
    assert other.poll() == "live"


@pytest.mark.rule("Q7d", "R27")
def test_expiry_stops_the_work_unless_it_may_run_on() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(7, "s1")
    line.call(8, "s2", run_on=True)
    line.lose()
    talk.wait(600)
    assert talk.application()[2:] == ["cancel s1: abandoned"]
    talk.respond("s2")
    assert talk.application() == ["refused s2: abandoned"]


@pytest.mark.rule("Q7e", "Q8e")
def test_a_completed_stream_is_kept_from_its_completion_and_from_its_last_detachment() -> None:
    talk = Conversation(StreamsConfig(max_interval=100))
    interrupted(talk)
    talk.wait(99)
    talk.respond()
    talk.wait(99)
    other = talk.connect(principal="ann")
    other.resume()
    talk.wait(99)
    assert other.poll() == "completed pending"
    talk.wait(100)
    assert other.poll() == "error expired"


@pytest.mark.rule("Q7b", "Q7e")
def test_a_poll_prolongs_a_completed_stream_too() -> None:
    talk = Conversation(StreamsConfig(max_interval=100))
    interrupted(talk)
    talk.respond()
    other = talk.connect(principal="ann")
    for _ in range(3):
        talk.wait(99)
        assert other.poll() == "completed pending"
    talk.wait(100)
    assert other.poll() == "error expired"


# -------------------------------------------------------------------------------------------------------- Q8: polling


@pytest.mark.rule("Q8b")
def test_while_a_stream_is_attached_only_what_is_unsent_is_pending() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call()
    talk.say(1)
    assert other.poll() == "live"
    line.reads = False
    talk.say(2)
    assert other.poll() == "live"
    talk.say(3)
    assert other.poll() == "live pending"


@pytest.mark.rule("Q8c")
@pytest.mark.parametrize(("is_error", "expected"), [(True, "completed pending error"), (False, "completed pending")])
def test_a_result_may_be_an_error_too(*, is_error: bool, expected: str) -> None:
    talk = Conversation()
    interrupted(talk)
    talk.respond(result={"content": [], "isError": is_error})
    assert talk.connect(principal="ann").poll() == expected


@pytest.mark.rule("Q8c", "Q8b")
def test_an_error_is_pending_until_the_connection_was_given_it() -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=1))
    line, other = talk.connect(), talk.connect()
    line.reads = False
    line.call()
    talk.fail()
    assert other.poll() == "completed pending error"
    line.take()
    assert line.heard() == ["create", "error 7 42"]
    assert other.poll() == "completed"


@pytest.mark.rule("Q8c", "Q8d")
def test_while_it_is_detached_an_error_is_pending_until_it_is_confirmed() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call(peer=MARKER)
    talk.fail()
    assert line.heard() == ["create", "error 7 42", "end"]
    assert other.poll() == "completed pending error"
    line.ack(2)
    assert other.poll() == "completed"


@pytest.mark.rule("Q8c", "Q8b")
def test_a_question_that_was_delivered_is_pending_until_it_is_answered() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    talk.ask("q1")
    assert line.poll() == "live pending request"
    line.answer("q1")
    assert line.poll() == "live"


@pytest.mark.rule("Q8d", "R8")
def test_while_it_is_detached_what_was_sent_and_not_confirmed_is_pending() -> None:
    talk = Conversation()
    interrupted(talk, 1)
    other = talk.connect(principal="ann")
    assert other.poll() == "live pending"
    other.ack(2, token=token_of("s1"))
    assert other.poll() == "live"


@pytest.mark.rule("Q8e", "R6")
def test_what_was_confirmed_to_its_end_is_completed_and_nothing_is_pending() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    talk.fail()
    line.ack(3)
    assert talk.state() is StreamState.GONE
    assert line.poll() == "completed"


# -------------------------------------------------------------------------------------------- Q9: completed, cancelled


@pytest.mark.rule("Q9a", "R6")
@pytest.mark.parametrize("framing", FRAMINGS)
def test_what_was_confirmed_to_its_end_is_answered_with_end(framing: Framing) -> None:
    talk = Conversation()
    first = reach(talk, framing)
    first.call()
    talk.respond()
    reach(talk, framing).ack(3, token=token_of("s1"))
    other = reach(talk, framing)
    other.resume()
    assert messages(other) == ["end", "result 9"]
    idless = reach(talk, framing)
    idless.resume(None)
    assert messages(idless) == ["end"]


@pytest.mark.rule("Q9a")
@pytest.mark.parametrize("framing", FRAMINGS)
def test_after_its_time_a_completed_stream_is_refused(framing: Framing) -> None:
    talk = Conversation()
    first = reach(talk, framing)
    first.call()
    talk.respond()
    talk.wait(600)
    other = reach(talk, framing)
    other.resume()
    assert messages(other) == ["error 9 expired"]


@pytest.mark.rule("Q9b")
@pytest.mark.parametrize("framing", FRAMINGS)
def test_cancelling_stops_the_work_drops_what_waits_and_ends_the_attachment(framing: Framing) -> None:
    talk = Conversation()
    client = reach(talk, framing)
    client.call()
    client.reads = False
    talk.say(1, 2, 3)
    (talk.exchange() if framing is Framing.HTTP else client).cancelled(7)
    client.take()
    assert messages(client) == ["create", "progress 1", "end"]
    assert talk.application() == ["start s1", "cancel s1: cancelled"]
    talk.respond()
    assert talk.application() == ["refused s1: cancelled"]


@pytest.mark.rule("Q9e")
def test_a_cancelled_id_means_the_request_of_that_connection_or_session() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call(7)
    other.cancelled(7)
    assert talk.application() == ["start s1"]
    other.resume()
    line.cancelled(7)
    assert talk.application() == []
    other.cancelled(7)
    assert talk.application() == ["cancel s1: cancelled"]


@pytest.mark.rule("Q9e")
def test_the_session_of_a_call_cancels_it_although_another_one_has_it_now() -> None:
    talk = Conversation()
    first, second, third = talk.exchange("a"), talk.exchange("b"), talk.exchange("c")
    first.call(7)
    first.lose()
    second.resume()
    second.lose()
    third.resume()
    talk.exchange("b").cancelled(7)
    talk.exchange("a", principal="mallory").cancelled(7)
    assert talk.application() == ["start s1"]
    talk.exchange("a").cancelled(7)
    assert talk.application() == ["cancel s1: cancelled"]


@pytest.mark.rule("Q9e", "Q3c")
def test_where_a_call_came_from_its_id_is_taken_until_it_is_answered_anywhere() -> None:
    talk = Conversation()
    first, second = talk.exchange("a"), talk.exchange("b")
    first.call(7)
    first.lose()
    second.resume()
    again = talk.exchange("a")
    again.call(7, "s2")
    assert messages(again) == ["error 7 id_in_use"]
    talk.respond("s1")
    later = talk.exchange("a")
    later.call(7, "s3")
    assert messages(later) == ["create"]


@pytest.mark.rule("Q9e", "R14")
def test_an_id_that_was_answered_by_a_takeover_names_nothing_any_more() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call(7, peer=MARKER, attempt="a.1")
    other.resume(9, attempt="a.2")
    line.cancelled(7)
    line.call(7, "s2", peer=MARKER)
    assert messages(line) == ["create", "error 7 superseded", "create"]
    assert talk.application() == ["start s1", "start s2"]


@pytest.mark.rule("Q9e")
def test_in_a_session_a_call_is_cancelled_on_any_exchange() -> None:
    talk = Conversation()
    exchange, other, foreign = talk.exchange("a"), talk.exchange("a"), talk.exchange("b")
    exchange.call(7)
    foreign.cancelled(7)
    assert talk.application() == ["start s1"]
    other.cancelled(7)
    talk.accept(other)
    assert talk.application() == ["cancel s1: cancelled"]
    assert other.body is BodyKind.EMPTY


# ----------------------------------------------------------------------------------------------- Q10, Q11: refusals


@pytest.mark.rule("Q10")
@pytest.mark.parametrize(
    ("reason", "code"),
    [
        ("stream_not_found", -32602),
        ("cancelled", -32602),
        ("invalid_cursor", -32602),
        ("already_attached", -32602),
        ("id_in_use", -32600),
    ],
)
def test_each_refusal_has_its_code_and_its_reason(reason: str, code: int) -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    other = talk.connect()
    match reason:
        case "stream_not_found":
            other.resume(token=token_of("s2"))
        case "cancelled":
            line.cancelled(7)
            other.resume()
        case "invalid_cursor":
            other.resume(after=2)
        case "already_attached":
            line.resume()
            other = line
        case _:
            other.call(7, "s2")
            other.resume()
    assert (other.error.id, other.error.code, other.error.data) == (9, code, {"reason": reason})


@pytest.mark.rule("Q11c", "R16")
def test_a_stream_outlives_its_session_and_is_resumed_in_another() -> None:
    talk = Conversation()
    exchange = talk.exchange("a")
    exchange.call()
    talk.end_session("a")
    assert exchange.heard() == ["0", "1 create"]
    assert exchange.way is Way.ENDED
    other = talk.exchange("b")
    other.resume(after=1)
    talk.respond()
    assert messages(other) == ["result 7", "end", "result 9"]


@pytest.mark.rule("Q11d", "R3")
def test_a_fresh_token_leaves_the_old_ones_valid_up_to_four() -> None:
    talk = Conversation(StreamsConfig(max_tokens=4))
    line = talk.connect()
    line.call(peer=MARKER, key="k" * 22, attempt="a.1", token=token_of("t1"))
    for number in range(2, 6):
        talk.say(number)
        line.ack(number)
        token = token_of(f"t{number}")
        line.call(peer=MARKER, key="k" * 22, attempt=f"a.{number}", stream=f"s{number}", token=token)
    opens = [line.poll(token=token_of(f"t{number}")) for number in range(1, 6)]
    assert opens == ["error stream_not_found", "live", "live", "live", "live"]


@pytest.mark.rule("Q11e", "Q10")
@pytest.mark.parametrize("stream", ["s1", "never was"])
def test_who_guesses_too_often_is_not_listened_to_for_a_while(stream: str) -> None:
    talk = Conversation(StreamsConfig(max_wrong_tokens=3, guess_memory=60.0))
    line, other = talk.connect(), talk.connect()
    line.call()
    line.heard()
    for _ in range(3):
        assert other.poll(stream, token_of("wrong")) == "error stream_not_found"
        talk.wait(10)
    for ask in (other.resume, other.cancel):
        ask(9, stream)  # even if the guess is right
    assert other.poll(stream) == "error too_early"
    assert other.heard() == ["error 9 too_early"] * 2
    assert read_refusal(other.error) == Refusal(Reason.TOO_EARLY, retry_after=30.0)
    assert line.poll() == "live"
    talk.wait(30)
    assert other.poll() == "live"


@pytest.mark.rule("Q11e")
def test_a_client_that_has_lost_many_streams_guesses_nothing() -> None:
    talk = Conversation(StreamsConfig(max_wrong_tokens=3))
    line = talk.connect()
    for number in range(50):
        line.resume(number, f"gone {number}")
    assert line.heard() == [f"error {number} stream_not_found" for number in range(50)]
    line.call(50)
    assert line.heard() == ["create"]


@pytest.mark.rule("Q11e")
def test_what_was_guessed_long_ago_is_forgiven() -> None:
    talk = Conversation(StreamsConfig(max_wrong_tokens=2, guess_memory=60.0))
    line = talk.connect()
    for _ in range(10):
        assert line.poll(token=token_of("wrong")) == "error stream_not_found"
        talk.wait(60)


@pytest.mark.rule("Q11e")
def test_only_so_many_guessers_are_counted_and_the_longest_remembered_is_forgotten() -> None:
    talk = Conversation(StreamsConfig(max_wrong_tokens=1, max_suspects=2))
    lines = [talk.connect() for _ in range(3)]
    for line in lines:
        line.poll(token=token_of("wrong"))
    lines[0].poll("s" * 5_000, token_of("wrong"))  # no stream has such an id
    found = [line.poll(token=token_of("wrong")) for line in reversed(lines)]
    assert found == ["error too_early", "error too_early", "error stream_not_found"]


@pytest.mark.rule("Q11h", "P40")
def test_the_questions_of_a_stream_have_a_limit() -> None:
    talk = Conversation(StreamsConfig(max_asks=2))
    line = talk.connect()
    line.call()
    for ask_id in ("q1", "q2", "q3"):
        talk.ask(ask_id)
    assert talk.application() == ["start s1", "failed q3: too many"]
    line.answer("q1")
    talk.ask("q4")
    assert messages(line) == ["create", "ask q1", "ask q2", "ask q4"]


def test_a_question_is_an_ordinary_request() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    talk.ask("q1")
    assert line.messages[-1] == Request("q1", "sampling/createMessage", {"messages": []})


@pytest.mark.rule("R2", "Q9a")
def test_a_silent_stream_is_resumed_by_its_cursor_and_by_nothing_else() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(peer=STOCK, kind=StreamKind.SILENT)
    talk.say(1)
    exchange.lose()
    talk.respond()
    by_token, by_cursor = talk.exchange(), talk.exchange()
    by_token.resume()
    assert messages(by_token) == ["error 9 stream_not_found"]
    by_cursor.get(after=1)
    assert by_cursor.heard() == ["1", "2 result 7"]
    assert by_cursor.way is Way.ENDED
