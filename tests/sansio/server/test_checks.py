"""What is wrong whatever the time is refused by an exception, and then nothing has changed (rule R13)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mcpstreams_sansio.connections import ConnectionLost, EndOfFile, Framing, Written
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.ids import ConnectionId, Digest, Entropy, Secret, StreamId
from mcpstreams_sansio.server.calls import CallPolicy, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.inputs import (
    Accept,
    AckReceived,
    AnswerReceived,
    AskPeer,
    CallReceived,
    CancelledReceived,
    CancelReceived,
    ConnectionOpened,
    CursorReceived,
    LogWritten,
    OpenStream,
    PeerHeard,
    PollReceived,
    Reply,
    Respond,
    ResumeReceived,
    Scope,
    SendMessage,
    StreamsInput,
)
from mcpstreams_sansio.wire.jsonrpc import MAX_ID_LENGTH, ErrorResponse, Notification, Request, Response
from mcpstreams_sansio.wire.streams import ResumeInterval
from tests.sansio.server.conversation import ASK, DRAFT, KEY, MARKER, Conversation, token_of
from tests.wording import whole

NEVER = ConnectionId(1_000)
HERE = ConnectionId(0)
S1, S2, S3, ANSWERED, GONE, TAGGED = map(StreamId, ("s1", "s2", "s3", "answered", "gone", "tagged"))
LONE_SURROGATE = "\ud800"
LONG_ID = "x" * (MAX_ID_LENGTH + 1)
TOKEN = token_of("s3")
CALL = Request(3, "tools/call")
ANNOUNCED = CallPolicy(StreamKind.ANNOUNCED)
NOTHING = Response(7, {})


def call(
    stream_id: StreamId = S3,
    token: Secret = TOKEN,
    policy: CallPolicy = ANNOUNCED,
    key: Secret | None = None,
    digest: Digest | None = None,
) -> CallReceived:
    return CallReceived(HERE, stream_id, CALL, DRAFT, policy, token, key, digest)


def note(params: dict[str, object]) -> SendMessage:
    return SendMessage(S1, Notification("notifications/message", params))  # type: ignore[arg-type]  # the mistake itself


def ends(stream_id: StreamId, request_id: int, result: object) -> Respond:
    return Respond(stream_id, Response(request_id, result))  # type: ignore[arg-type]  # the mistake itself


WRONG: dict[str, dict[str, StreamsInput]] = {
    "there never was such a connection": {
        "a connection that never was is lost": ConnectionLost(NEVER),
        "a connection that never was is heard": PeerHeard(NEVER),
        "a connection that never was is half closed": EndOfFile(NEVER, Entropy(b"a seed of sixteen bytes")),
        "a connection that never was has written": Written(NEVER),
        "a reply on a connection that never was": Reply(NEVER, NOTHING),
        "an acceptance on a connection that never was": Accept(NEVER),
        "a call on a connection that never was": CallReceived(NEVER, S3, CALL, DRAFT, ANNOUNCED, TOKEN),
        "a resume on a connection that never was": ResumeReceived(NEVER, 1, S1, TOKEN),
        "a cursor on a connection that never was": CursorReceived(NEVER, S1, 0),
        "a poll on a connection that never was": PollReceived(NEVER, 1, S1, TOKEN),
        "an acknowledgement on a connection that never was": AckReceived(NEVER, S1, 1),
        "an answer on a connection that never was": AnswerReceived(NEVER, NOTHING),
        "a cancellation on a connection that never was": CancelReceived(NEVER, 1, S1, TOKEN),
        "a notice of cancellation on a connection that never was": CancelledReceived(NEVER, 1),
    },
    "a connection id must be higher than every one before it": {
        "a connection id that was used": ConnectionOpened(HERE, Framing.LINES, Scope("again")),
    },
    "a stream id was used before": {
        "a stream id that was used": call(S1),
        "a stream id that is remembered": call(GONE),
    },
    "a stream id must not be empty": {
        "a stream without an id": call(StreamId("")),
    },
    "a stream id is too long for an event id": {
        "a stream id that no event id can hold": call(StreamId("s" * 5_000)),
    },
    "CallReceived.stream_id must be text that UTF-8 can carry": {
        "a stream id that is no text": call(StreamId(LONE_SURROGATE)),
    },
    "CallReceived.fresh_token.value must be text that UTF-8 can carry": {
        "a token that is no text": call(token=Secret(LONE_SURROGATE)),
        "a token that is no text, for a stream that has none": call(
            token=Secret(LONE_SURROGATE), policy=CallPolicy(StreamKind.FLEETING)
        ),
    },
    "NaN and infinity are not JSON": {
        "an interval that JSON cannot carry": call(
            policy=CallPolicy(StreamKind.ANNOUNCED, interval=ResumeInterval(extra={"of": float("nan")}))
        ),
        "a reply that JSON cannot carry": Reply(HERE, Response(1, {"of": float("inf")})),
        "a message that JSON cannot carry": note({"of": float("nan")}),
        "a question that JSON cannot carry": AskPeer(S1, "q9", ASK, {"of": float("nan")}),
        "a response that JSON cannot carry": Respond(S1, Response(7, {"of": float("nan")})),
        "an answer that JSON cannot carry": AnswerReceived(HERE, Response("q1", {"of": float("nan")})),
        "a message for a stream that never was, that JSON cannot carry": SendMessage(
            StreamId("never was"), Notification("notifications/message", {"of": float("nan")})
        ),
    },
    "a key and the digest of its call belong together": {
        "a key without a digest": call(key=Secret(KEY)),
        "a digest without a key": call(digest=Digest(b"digest")),
    },
    "in _meta, streamId and what begins with mcpstreams/ are not the application's": {
        "a message with our own metadata": note({"_meta": {"mcpstreams/seq": 1}}),
        "a message that names its stream": note({"_meta": {"streamId": "s2"}}),
        "a response with our own metadata": Respond(S1, Response(7, {"_meta": {"mcpstreams/seq": 1}})),
    },
    "_meta is an object": {
        "a message whose metadata is no object": note({"_meta": 1}),
    },
    "this method is sent by the package itself, never by an application": {
        "an end of its stream": SendMessage(S1, Notification("notifications/stream/end", {"streamId": "s1"})),
        "a question that is ours to ask": AskPeer(S1, "q9", "stream/poll"),
    },
    "the call was answered before": {
        "a message after the response": SendMessage(ANSWERED, Notification("notifications/message")),
        "a question after the response": AskPeer(ANSWERED, "q9", ASK),
        "a second response": Respond(ANSWERED, Response(9, {})),
        "a stream for a call that was answered": OpenStream(ANSWERED, TOKEN),
    },
    "the id of an ask names a question that is still open": {
        "a question under an id that is in use": AskPeer(S1, "q1", ASK),
        "a question under the same id on another stream": AskPeer(S2, "q1", ASK),
    },
    "a response must have the id of its request": {
        "a response under another id": Respond(S1, Response(8, {})),
        "a response under an id of another type": Respond(S1, Response("7", {})),
        "an error under another id": Respond(S1, ErrorResponse(None, 1, "failed")),
    },
    "Respond.outcome.result must be an object": {
        "a response without a result": ends(S1, 7, None),
        "a response without a result, where it would be tagged": ends(TAGGED, 11, None),
        "a response whose result is no object": ends(S1, 7, "text"),
        "a response whose result is no object, where it would be tagged": ends(TAGGED, 11, "text"),
    },
    "OpenStream.fresh_token.value must be text that UTF-8 can carry": {
        "a stream whose token is no text": OpenStream(S2, Secret(LONE_SURROGATE)),
    },
    "SendMessage.message.params must be an object or nothing": {
        "a message whose params are no object": note([1]),  # type: ignore[arg-type]  # the mistake itself
    },
    "the id of a request is too long": {
        "a call under an id that is too long": CallReceived(HERE, S3, Request(LONG_ID, "m"), DRAFT, ANNOUNCED, TOKEN),
        "a resume under an id that is too long": ResumeReceived(HERE, LONG_ID, S1, TOKEN),
        "a poll under an id that is too long": PollReceived(HERE, LONG_ID, S1, TOKEN),
        "a cancellation under an id that is too long": CancelReceived(HERE, LONG_ID, S1, TOKEN),
    },
    "CursorReceived.after must be a position": {
        "a cursor below 0": CursorReceived(HERE, S1, -1),
    },
    "no such batch is being written": {
        "a batch that is not being written": LogWritten(1),
    },
}


@pytest.fixture
def talk() -> Conversation:
    """Return a conversation in which a question will have timed out at 600, and keep-alives will be due."""
    talk = Conversation(StreamsConfig())
    line = talk.connect()
    line.call(7, "s1")
    line.call(8, "s2", kind=StreamKind.FLEETING)
    line.call(9, "answered")
    line.call(10, "gone")
    line.call(11, "tagged", peer=MARKER)
    talk.ask("q1", "s1")
    talk.respond("answered")
    line.cancelled(10)
    return talk


@pytest.mark.rule("R13")
@pytest.mark.parametrize(
    ("event", "words"),
    [pytest.param(event, words, id=case) for words, cases in WRONG.items() for case, event in cases.items()],
)
def test_a_mistake_of_the_caller_changes_nothing_and_processes_no_deadline(
    talk: Conversation, event: StreamsInput, words: str
) -> None:
    before = talk.machine.snapshot(talk.now)
    due = talk.machine.next_deadline()
    with pytest.raises(LocalProtocolError, match=whole(words)):
        talk.machine.handle(event, talk.now + 10_000)
    assert talk.machine.snapshot(talk.now) == before
    assert talk.machine.next_deadline() == due
    talk.say(1)
    assert talk.clients[HERE].heard()[-1] == "progress 1"


@pytest.mark.rule("R13", "Q7h")
@pytest.mark.parametrize("now", [599.0, float("nan")])
def test_time_does_not_go_back(talk: Conversation, now: float) -> None:
    talk.wait(600)
    before = talk.machine.snapshot(talk.now)
    with pytest.raises(LocalProtocolError, match=r"\Athe time must be a number of seconds, and must not go back\Z"):
        talk.machine.handle(ConnectionLost(HERE), now)
    assert talk.machine.snapshot(talk.now) == before


LATE: dict[str, Callable[[Conversation], object]] = {
    "a write is reported": lambda talk: talk.submit(Written(HERE)),
    "its peer is heard": lambda talk: talk.submit(PeerHeard(HERE)),
    "it is lost again": lambda talk: talk.submit(ConnectionLost(HERE)),
    "its peer hangs up": lambda talk: talk.clients[HERE].hang_up(),
    "its peer calls": lambda talk: talk.clients[HERE].call(11, "s4"),
    "its peer resumes": lambda talk: talk.clients[HERE].resume(),
    "its peer sends a cursor": lambda talk: talk.clients[HERE].get(1),
    "its peer polls": lambda talk: talk.clients[HERE].poll(),
    "its peer acknowledges": lambda talk: talk.clients[HERE].ack(1),
    "its peer answers": lambda talk: talk.clients[HERE].answer(),
    "its peer cancels": lambda talk: talk.clients[HERE].cancel(),
    "its peer sends a notice": lambda talk: talk.clients[HERE].cancelled(7),
    "it is replied to": lambda talk: talk.reply(talk.clients[HERE], NOTHING),
    "something is accepted there": lambda talk: talk.accept(talk.clients[HERE]),
}


@pytest.mark.rule("R13")
@pytest.mark.parametrize("happens", LATE.values(), ids=LATE.keys())
def test_a_late_report_of_a_connection_that_is_gone_changes_nothing(
    talk: Conversation, happens: Callable[[Conversation], object]
) -> None:
    talk.clients[HERE].lose()
    before = talk.machine.snapshot(talk.now)
    count = len(talk.effects)
    happens(talk)
    assert talk.machine.snapshot(talk.now) == before
    assert len(talk.effects) == count


@pytest.mark.rule("R13")
def test_an_order_for_a_stream_that_is_gone_is_refused_by_an_effect(talk: Conversation) -> None:
    talk.application()
    talk.say(1, stream="gone")
    talk.ask("q9", "gone")
    talk.respond("gone")
    talk.release("gone")
    talk.open("gone")
    talk.withdraw("q9", "gone")
    talk.say(1, stream="never was")
    refused = "refused gone: cancelled"
    assert talk.application() == [
        refused,
        refused,
        "failed q9: stream gone",
        refused,
        refused,
        refused,
        "refused never was: stream_not_found",
    ]
