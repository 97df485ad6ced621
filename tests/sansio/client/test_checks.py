"""What is wrong whatever the time is refused before anything changes, deadlines included (rule R13)."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from mcpstreams_sansio.client.inputs import (
    AnswerAsk,
    AttachCall,
    CancelCall,
    ClientStreamsInput,
    DetachCall,
    MakeCall,
    MessageReceived,
    PathAccepted,
    PathRefused,
    PathUnsent,
    PathUnusable,
    PositionReceived,
    RetryReceived,
    SavedCall,
    TakeMessages,
)
from mcpstreams_sansio.connections import ConnectionLost
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.ids import CallId, ConnectionId, Entropy, Secret, StreamId
from mcpstreams_sansio.wire.jsonrpc import MAX_ID_LENGTH, JSONObject, Notification, Response
from tests.sansio.client.conversation import CONFIG, Conversation
from tests.wording import whole

NEVER = ConnectionId(99)
UNKNOWN = CallId(99)
SEED = Entropy(b"x" * 32)


def following() -> Conversation:
    """Return a conversation with a deadline that is due: an acknowledgement waits."""
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.creates()
    talk.progresses(2)
    talk.take(2)
    talk.now += CONFIG.ack_interval
    return talk


NOT_YOURS = "in _meta, streamId and what begins with mcpstreams/ are not the application's"
NOT_HIGHER = "a call id must be higher than every one before it"
NOT_JSON = "NaN and infinity are not JSON"


def refused(event: ClientStreamsInput, words: str) -> None:
    talk = following()
    before = talk.streams.snapshot(talk.now)
    with pytest.raises(LocalProtocolError, match=whole(words)):
        talk.streams.handle(event, talk.now)
    with pytest.raises(LocalProtocolError, match=whole(words)):
        talk.streams.check(event, talk.now)
    assert talk.streams.snapshot(talk.now) == before
    assert talk.wait(0.0) == ["c1 <- ack s1 2"], "what was due is still due"


def call(params: JSONObject | None, call_id: int = 2) -> MakeCall:
    return MakeCall(CallId(call_id), "tools/call", params, SEED)


@pytest.mark.rule("R13")
@pytest.mark.parametrize(
    "event",
    [
        MessageReceived(NEVER, Notification("n")),
        PositionReceived(NEVER, "e1"),
        RetryReceived(NEVER, 1),
        PathAccepted(NEVER),
        PathRefused(NEVER, 400),
        PathUnsent(NEVER),
        PathUnusable(NEVER),
        ConnectionLost(NEVER),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_path_that_never_was_is_a_mistake(event: ClientStreamsInput) -> None:
    refused(event, "there never was such a path")


@pytest.mark.rule("R13")
@pytest.mark.parametrize(
    "event",
    [
        DetachCall(UNKNOWN),
        CancelCall(UNKNOWN),
        TakeMessages(UNKNOWN, 0),
        AnswerAsk(UNKNOWN, "q", Response("q", {})),
    ],
    ids=lambda event: type(event).__name__,
)
def test_a_call_that_never_was_is_a_mistake(event: ClientStreamsInput) -> None:
    refused(event, "there never was such a call")


@pytest.mark.rule("R13")
@pytest.mark.parametrize("number", [1, 0, -5])
def test_the_id_of_a_call_is_higher_than_every_one_before(number: int) -> None:
    refused(call(None, number), NOT_HIGHER)
    refused(AttachCall(CallId(number), SavedCall("other", "m", None, 0), SEED), NOT_HIGHER)


@pytest.mark.rule("R13")
def test_methods_of_ours_are_not_the_applications() -> None:
    words = "this method is sent by the package itself, never by an application"
    refused(MakeCall(CallId(2), "stream/resume", None, SEED), words)
    refused(AttachCall(CallId(2), SavedCall("other", "initialize", None, 0), SEED), words)


@pytest.mark.rule("R4")
@pytest.mark.parametrize("key", ["mcpstreams/key", "mcpstreams/next-year", "streamId"])
def test_keys_of_ours_are_not_the_applications(key: str) -> None:
    refused(call({"_meta": {key: "x"}}), NOT_YOURS)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"a": math.nan}, NOT_JSON),
        ({"a": "\ud800"}, "a string holds a lone surrogate, which UTF-8 cannot carry"),
        ({"_meta": {"progressToken": math.inf}}, NOT_JSON),
    ],
)
def test_a_call_that_json_can_not_carry_is_a_mistake(params: JSONObject, words: str) -> None:
    refused(call(params), words)


@pytest.mark.parametrize("token", [None, True, 1.5, ["x"]])
def test_a_progress_token_is_text_or_a_whole_number(token: JSONObject) -> None:
    refused(call({"_meta": {"progressToken": token}}), "a progress token is a string or an integer")


def test_a_call_is_followed_once() -> None:
    same_request = SavedCall("instance-1", "tools/call", None, 0)
    same_stream = SavedCall("other", "tools/call", None, 0, stream_id=StreamId("s1"), resume_token=Secret("t"))
    for saved in (same_request, same_stream):
        refused(AttachCall(CallId(2), saved, SEED), "the saved call is followed already")


@pytest.mark.rule("R13")
def test_a_saved_call_has_an_id_that_can_name_a_request() -> None:
    longest = SavedCall("x" * MAX_ID_LENGTH, "tools/call", None, 0)
    following().streams.check(AttachCall(CallId(2), longest, SEED), CONFIG.ack_interval)
    too_long = SavedCall("x" * (MAX_ID_LENGTH + 1), "tools/call", None, 0)
    refused(AttachCall(CallId(2), too_long, SEED), "the saved id is too long for a request")


def test_nobody_can_have_what_nobody_was_given() -> None:
    refused(TakeMessages(CallId(1), 3), "nobody was given a message of that position")


@pytest.mark.parametrize("answer", [Response("other", {}), Response(1, {})])
def test_an_answer_has_the_id_of_its_question(answer: Response) -> None:
    refused(AnswerAsk(CallId(1), "1", answer), "an answer must have the id of its question")


@pytest.mark.rule("R4", "R13")
@pytest.mark.parametrize("key", ["mcpstreams/ack", "mcpstreams/key", "streamId"])
def test_an_answer_has_no_keys_of_ours_either(key: str) -> None:
    refused(AnswerAsk(None, "q", Response("q", {"_meta": {key: "mine"}})), NOT_YOURS)


def test_an_answer_that_json_can_not_carry_is_a_mistake() -> None:
    refused(AnswerAsk(None, "q", Response("q", {"a": math.nan})), NOT_JSON)


@pytest.mark.rule("Q7h")
def test_time_does_not_go_back() -> None:
    talk = following()
    before = talk.streams.snapshot(talk.now)
    with pytest.raises(LocalProtocolError, match=r"\Athe time must be a number of seconds, and must not go back\Z"):
        talk.streams.handle(CancelCall(CallId(1)), talk.now - CONFIG.ack_interval - 1.0)
    assert talk.streams.snapshot(talk.now) == before


LATE: list[Callable[[Conversation], list[str]]] = [
    lambda talk: talk.cut(1),
    lambda talk: talk.take(2),
    lambda talk: talk.cancel(),
    lambda talk: talk.answer("q1"),
    lambda talk: talk.accepts(1),
]


@pytest.mark.rule("R13")
@pytest.mark.parametrize("order", LATE)
def test_what_only_comes_late_is_no_mistake(order: Callable[[Conversation], list[str]]) -> None:
    talk = following()
    talk.link_down()
    talk.wait(1_000.0)
    assert talk.state() is None
    assert order(talk) == []
