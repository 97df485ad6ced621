"""What the application wants of its calls (rules R23, R27)."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client.effects import SendOnPath
from mcpstreams_sansio.client.inputs import AttachCall, CallSaved, SavedCall
from mcpstreams_sansio.client.table import CallState
from mcpstreams_sansio.ids import CallId, Entropy, Secret, StreamId
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Request, Response
from mcpstreams_sansio.wire.marker import Attempt, Window
from mcpstreams_sansio.wire.meta import read_attempt
from tests.sansio.client.conversation import CONFIG, DRAFT, Conversation, progress

SAVED = SavedCall(
    "elsewhere-7",
    "tools/call",
    {"name": "tool"},
    taken=4,
    stream_id=StreamId("s1"),
    resume_token=Secret("token of s1"),
    key=Secret("a-key-of-some-length-000"),
    instance="server-1",
    attempt=3,
)


@pytest.mark.rule("R23", "R27")
def test_a_saved_call_goes_on_from_what_was_taken() -> None:
    talk = Conversation()
    talk.link_up()
    assert talk.attach(SAVED) == ["1: tries resume", "c1 <- resume s1 after 4 #4"]
    assert talk.progresses(4) == ["1: drops @4"]
    assert talk.progresses(5) == ["1: progress 4 @5"]


@pytest.mark.rule("R27")
def test_a_saved_call_waits_for_a_link_like_any_other() -> None:
    talk = Conversation()
    assert talk.attach(SAVED) == []
    assert talk.state() is CallState.STRANDED
    assert talk.link_up() == ["1: tries resume", "c1 <- resume s1 after 4 #4"]


def test_a_saved_call_keeps_the_id_of_its_request() -> None:
    talk = Conversation()
    talk.link_up()
    talk.attach(SAVED)
    assert talk.says(ErrorResponse("elsewhere-7", 7, "no")) == [], "it may have been under way, and does not say where"
    assert talk.ends(6) == ["1: ends with failure 7 @5", "c1 <- ack s1 6"]


@pytest.mark.rule("R4", "R27")
def test_what_an_earlier_process_began_and_this_one_let_go_is_not_ended_by_what_was_under_way() -> None:
    talk = Conversation()
    talk.link_up()
    talk.attach(SAVED)
    assert talk.attach(talk.detach()) == ["2: tries resume", "c1 <- resume s1 after 4 #5"]
    assert talk.state(2) is CallState.REATTACHING
    assert talk.ends(7) == [], "the end of the attachment that was let go"
    assert talk.progresses(5) == ["2: progress 4 @5"]
    assert talk.says(ErrorResponse("elsewhere-7", 7, "no")) == ["2: ends with failure 7 @6"]


def test_a_saved_call_without_a_stream_is_sent_again_under_its_key() -> None:
    talk = Conversation()
    talk.link_up()
    lost = attrs.evolve(SAVED, stream_id=None, resume_token=None, taken=0)
    assert talk.attach(lost) == ["1: tries resend", "c1 <- call elsewhere-7 key #4"]


@pytest.mark.rule("P15", "R21")
@pytest.mark.parametrize("half", [attrs.evolve(SAVED, stream_id=None), attrs.evolve(SAVED, resume_token=None)])
def test_a_stream_that_is_half_known_brings_nothing_back(half: SavedCall) -> None:
    talk = Conversation()
    talk.link_up()
    assert talk.attach(attrs.evolve(half, taken=0)) == ["1: tries resend", "c1 <- call elsewhere-7 key #4"]


@pytest.mark.rule("Q4a", "R27")
def test_a_saved_call_is_told_of_its_progress_by_the_token_that_it_was_made_with() -> None:
    talk = Conversation(server=DRAFT)
    talk.link_up()
    unkeyed = attrs.evolve(SAVED, key=None, instance=None)
    talk.attach(attrs.evolve(unkeyed, params={"name": "tool", "_meta": {"progressToken": 7}}))
    assert talk.says(progress(1, 7)) == ["1: progress 1 @5"]
    assert talk.says(progress(1, "elsewhere-7")) == ["c1: stray progress 1"]
    talk.detach()
    talk.attach(unkeyed)
    assert talk.says(progress(1, "elsewhere-7")) == ["2: progress 1 @5"], "where it named none, its id is one"


@pytest.mark.rule("R14")
def test_attempts_of_a_call_that_is_not_kept_any_further_count_for_who_makes_them() -> None:
    talk = Conversation()
    talk.link_up()
    saved = attrs.evolve(SAVED, client="elsewhere")
    for number, (stored, client) in enumerate([(False, "instance"), (True, "elsewhere")], start=1):
        talk.calls += 1
        effects = talk.effects(AttachCall(CallId(number), saved, Entropy(b"x" * 32), stored))
        if stored:
            effects = talk.effects(CallSaved(CallId(number), talk.save(number)))
        (sent,) = (effect.message for effect in effects if isinstance(effect, SendOnPath))
        assert isinstance(sent, Request)
        assert read_attempt(sent.params) == Attempt(client, 4)
        talk.detach(number)


@pytest.mark.rule("Q13")
def test_a_saved_cursor_of_http_is_not_presented_on_a_shared_connection() -> None:
    talk = Conversation()
    talk.link_up()
    assert talk.attach(attrs.evolve(SAVED, event_id="e4")) == ["1: tries resume", "c1 <- resume s1 after 4 #4"]


@pytest.mark.rule("R24")
@pytest.mark.parametrize("http", [False, True])
def test_saved_answers_go_with_the_call_as_many_as_are_remembered(http: bool) -> None:
    talk = Conversation(http=http, config=attrs.evolve(CONFIG, max_asks=2))
    saved = attrs.evolve(SAVED, answers=(Response("q1", {}), Response("q2", {})))
    assert talk.attach(saved) == []
    talk.detach()
    talk.link_up()
    paths = (1, 2, 3) if http else (1, 1, 1)
    assert talk.attach(saved) == [
        "2: tries resume",
        f"c{paths[0]} <- resume s1 after 4 #4",
        f"c{paths[1]} <- result q1",
        f"c{paths[2]} <- result q2",
    ]


def test_a_saved_call_with_nothing_to_bring_it_back_has_its_outcome_at_once() -> None:
    talk = Conversation()
    talk.link_up()
    lost = attrs.evolve(SAVED, stream_id=None, resume_token=None, key=None)
    assert talk.attach(lost) == ["1: ends with doubt: connection lost @4"]


def test_its_answers_are_nobodys_then() -> None:
    talk = Conversation(http=True)
    talk.link_up()
    lost = attrs.evolve(SAVED, stream_id=None, resume_token=None, key=None, answers=(Response("q1", {}),))
    assert talk.attach(lost) == ["1: ends with doubt: connection lost @4"]


def test_a_saved_cursor_brings_a_silent_stream_back_in_its_session() -> None:
    talk = Conversation(http=True, server=DRAFT)
    talk.link_up()
    silent = attrs.evolve(SAVED, stream_id=None, resume_token=None, key=None, event_id="e4", session="instance-0")
    assert talk.attach(silent) == ["1: tries cursor", "c1 <- get at e4"]
    elsewhere = attrs.evolve(silent, request_id="elsewhere-2", session="elsewhere-0")
    assert talk.attach(elsewhere) == ["2: ends with doubt: connection lost @4"]


@pytest.mark.rule("R6")
def test_a_saved_window_is_acknowledged_by_halves() -> None:
    talk = Conversation()
    talk.link_up()
    talk.attach(attrs.evolve(SAVED, window=Window(4, 10_000)))
    talk.progresses(5)
    talk.progresses(6)
    assert talk.take(5) == []
    assert talk.take(6) == ["c1 <- ack s1 6"]


def test_what_is_saved_is_what_was_attached() -> None:
    talk = Conversation()
    talk.attach(attrs.evolve(SAVED, window=Window(4, 10_000)))
    saved = talk.detach()
    assert attrs.evolve(saved, key_age=0.0) == attrs.evolve(SAVED, window=Window(4, 10_000))


def test_a_call_beyond_the_limit_certainly_does_not_run() -> None:
    talk = Conversation(config=attrs.evolve(CONFIG, max_calls=1))
    talk.link_up()
    talk.call()
    assert talk.call() == ["2: ends with not run: too many calls @0"]
    assert talk.attach(SAVED) == ["3: ends with not run: too many calls @0"]
    talk.creates()
    talk.responds(2)
    assert talk.call() == ["c1 <- call 4 key #1"], "an answered call takes no room from others"


@pytest.mark.rule("R13")
def test_a_late_order_for_a_call_that_is_over_changes_nothing() -> None:
    talk = Conversation(server=DRAFT)
    talk.link_up()
    talk.call()
    talk.creates()
    talk.progresses(2)
    talk.responds(3)
    assert talk.take(2) == []
    assert talk.cancel() == []
    assert talk.answer("q1") == []


def test_taking_what_was_taken_changes_nothing() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.creates()
    talk.progresses(2)
    talk.take(2)
    talk.wait(60.0)
    assert talk.take(2) == []
    assert talk.take(1) == []
    assert talk.wait(60.0) == []


def test_secrets_of_a_saved_call_show_themselves_to_nobody() -> None:
    shown = repr(SAVED)
    assert "token of s1" not in shown
    assert "a-key-of-some-length" not in shown
