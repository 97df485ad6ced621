"""One multiplexed peer: its bytes, its handshake, and conversations cut at every place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from mcpstreams_sansio.connections import DropConnection, DropReason, EndWriting, Framing
from mcpstreams_sansio.errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import StreamDetached
from mcpstreams_sansio.server.machine import Server, ServerConfig
from mcpstreams_sansio.wire.jsonrpc import (
    ErrorResponse,
    Message,
    Notification,
    Request,
    Response,
    encode_message,
)
from mcpstreams_sansio.wire.refusals import Reason, read_refusal
from tests.sansio.framing.chunking import every_way
from tests.sansio.serving import IDENTITY, MARKED, STREAMS, Serving, initialize

PING = Request("p", "ping")
PONG = Response("p", {})
HANDSHAKE_FIRST = "the first request is initialize"
EVERY_FRAMING = pytest.mark.parametrize("framing", [Framing.LINES, Framing.MESSAGES])


def told(messages: Iterable[Message]) -> list[tuple[object, ...]]:
    """Return each message in short: id, code and words of an error, id of a result, method of anything else."""
    short: list[tuple[object, ...]] = []
    for message in messages:
        match message:
            case ErrorResponse():
                short.append((message.id, message.code, message.message))
            case Response():
                short.append((message.id,))
            case Request() | Notification():
                short.append((message.method,))
    return short


# ----------------------------------------------------------------------------------------------------------- handshake


@EVERY_FRAMING
@pytest.mark.rule("R12")
def test_the_handshake_comes_first(framing: Framing) -> None:
    one = Serving()
    seen = one.connect(framing)
    one.send(seen, Request(1, "tools/call"), Request("2", "stream/poll", {"streamId": "s", "resumeToken": "t"}))
    assert told(seen.take()) == [(1, INVALID_REQUEST, HANDSHAKE_FIRST), ("2", INVALID_REQUEST, HANDSHAKE_FIRST)]
    one.send(seen, initialize(STREAMS, 3), Request(4, "tools/call"))
    assert told(seen.messages)[0] == (3,)
    assert one.call.request == Request(4, "tools/call")


@EVERY_FRAMING
def test_before_the_handshake_a_ping_is_answered(framing: Framing) -> None:
    one = Serving()
    seen = one.connect(framing)
    one.send(seen, PING, PING)
    assert seen.messages == [PONG, PONG]


@EVERY_FRAMING
@pytest.mark.parametrize(
    "message",
    [
        Notification("notifications/initialized"),
        Notification("notifications/x"),
        Notification("notifications/cancelled", {"requestId": 1}),
        Notification("stream/resume", {"streamId": "s", "resumeToken": "t"}),
        Notification("initialize"),
        Response(1, {}),
        ErrorResponse(1, -1, "no"),
        ErrorResponse(None, -1, "no"),
    ],
)
def test_before_the_handshake_what_has_no_answer_means_nothing(framing: Framing, message: Message) -> None:
    one = Serving()
    seen = one.connect(framing)
    one.send(seen, message)
    assert (seen.messages, one.told) == ([], [])
    one.send(seen, message, PING)
    assert seen.messages == [PONG], "nor does it keep what comes behind it from being read"


@EVERY_FRAMING
def test_a_handshake_that_fails_leaves_nothing_and_another_may_follow(framing: Framing) -> None:
    one = Serving()
    seen = one.connect(framing)
    before = one.server.snapshot(0.0)
    one.send(seen, Request(1, "initialize", {"protocolVersion": "2025-11-25"}))
    assert told(seen.take()) == [(1, INVALID_PARAMS, "params.capabilities: missing; params.clientInfo: missing")]
    assert one.server.snapshot(0.0) == before
    one.send(seen, Request(2, "tools/call"))
    assert told(seen.take()) == [(2, INVALID_REQUEST, HANDSHAKE_FIRST)]
    one.send(seen, initialize({}, 3))
    assert told(seen.take()) == [(3,)]


@EVERY_FRAMING
def test_there_is_one_handshake(framing: Framing) -> None:
    one = Serving()
    seen = one.greet({}, framing=framing)
    one.send(seen, initialize(MARKED, 5), Request(6, "tools/call", {"_meta": {"mcpstreams/key": "k" * 22}}))
    assert told(seen.messages) == [(5, INVALID_REQUEST, "the handshake is done")]
    assert one.call.peer.streams is False, "what the first one settled still holds"


@EVERY_FRAMING
def test_calls_may_follow_the_handshake_without_waiting(framing: Framing) -> None:
    one = Serving()
    seen = one.connect(framing)
    one.send(seen, initialize({}, 1), Request(2, "tools/call"), Request(3, "tools/call"))
    for call in one.calls:
        one.respond(call)
    assert told(seen.messages) == [(1,), (2,), (3,)]


# --------------------------------------------------------------------------------------------------------------- bytes

NOT_JSON = "the text is not JSON"
NO_REQUEST_ID = "the id of a request must be a string of at most 1024 characters or an integer"
UNREADABLE = [
    (b"hello", (None, PARSE_ERROR, NOT_JSON)),
    (b"\xff\xfe", (None, PARSE_ERROR, "the text is not UTF-8")),
    (b"{", (None, PARSE_ERROR, NOT_JSON)),
    (b"[]", (None, INVALID_REQUEST, "a batch is not accepted")),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', (None, INVALID_REQUEST, "a batch is not accepted")),
    (b"1", (None, INVALID_REQUEST, "a message must be an object")),
    (b"{}", (None, INVALID_REQUEST, "jsonrpc must be 2.0")),
    (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', (1, INVALID_REQUEST, "jsonrpc must be 2.0")),
    (b'{"jsonrpc":"2.0","id":"x","method":"ping","params":[]}', ("x", INVALID_PARAMS, "params must be an object")),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', (None, INVALID_REQUEST, NO_REQUEST_ID)),
    (b'{"jsonrpc":"2.0","id":1.0,"method":"ping"}', (None, INVALID_REQUEST, NO_REQUEST_ID)),
    (b'{"jsonrpc":"2.0","id":1,"result":[]}', (None, INVALID_REQUEST, "a result must be an object")),
]


@EVERY_FRAMING
@pytest.mark.rule("R20")
@pytest.mark.parametrize("greeted", [True, False])
@pytest.mark.parametrize(("payload", "answer"), UNREADABLE)
def test_what_can_not_be_read_is_answered_and_costs_nothing_else(
    framing: Framing, greeted: bool, payload: bytes, answer: tuple[object, ...]
) -> None:
    one = Serving()
    seen = one.greet({}, framing=framing) if greeted else one.connect(framing)
    one.send(seen, PING, payload, PING)
    assert told(seen.messages) == [("p",), answer, ("p",)]


def test_a_line_that_is_too_long_is_answered_and_the_next_one_read() -> None:
    one = Serving(Server(ServerConfig(identity=IDENTITY, max_line_size=200)))
    seen = one.connect()
    one.send(seen, b"x" * 201, PING, b"y" * 200, PING)
    too_long = (None, PARSE_ERROR, "a line is longer than 200 bytes")
    assert told(seen.messages) == [too_long, ("p",), (None, PARSE_ERROR, NOT_JSON), ("p",)]


def test_so_is_a_message_that_travels_by_itself() -> None:
    one = Serving(Server(ServerConfig(identity=IDENTITY, max_line_size=200)))
    seen = one.connect(Framing.MESSAGES)
    ping = encode_message(PING)
    one.send(seen, b"x" * 201, PING, ping + b" " * (200 - len(ping)), ping + b" " * (201 - len(ping)))
    too_long = (None, PARSE_ERROR, "a message is longer than 200 bytes")
    assert told(seen.messages) == [too_long, ("p",), ("p",), too_long]


def test_no_error_repeats_what_could_not_be_read() -> None:
    one = Serving()
    seen = one.connect()
    one.send(seen, b"the token", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":"the token"}')
    assert b"token" not in seen.body


def test_empty_lines_say_nothing() -> None:
    one = Serving()
    seen = one.connect()
    assert one.feed(seen, b"\n\r\n\n") == []
    assert one.feed(seen, b"") == []


def test_a_last_line_may_lack_its_end() -> None:
    one = Serving()
    seen = one.connect()
    one.feed(seen, encode_message(PING))
    assert seen.chunks == []
    one.end(seen)
    assert seen.messages == [PONG]
    assert isinstance(seen.over, EndWriting)
    one.assert_at_rest()


@pytest.mark.rule("R20")
@pytest.mark.parametrize("greeted", [True, False])
def test_a_last_line_that_was_cut_short_is_not_answered_wherever_it_was_cut(greeted: bool) -> None:
    """Its client would take the error for an answer to the hello of which only half arrived, and give up for good."""
    line = encode_message(initialize({}, 3))
    for cut in range(1, len(line)):
        one = Serving()
        seen = one.greet({}) if greeted else one.connect()
        one.send(seen, PING)
        one.feed(seen, line[:cut])
        one.end(seen)
        assert told(seen.messages) == [("p",)]
        assert isinstance(seen.over, EndWriting)


@pytest.mark.parametrize(("payload", "answer"), [case for case in UNREADABLE if PARSE_ERROR not in case[1]])
def test_what_arrived_whole_is_answered_even_if_only_its_line_end_is_missing(
    payload: bytes, answer: tuple[object, ...]
) -> None:
    one = Serving()
    seen = one.connect()
    one.feed(seen, payload)
    one.end(seen)
    assert told(seen.messages) == [answer]


def test_a_whole_line_that_is_no_json_is_answered_although_the_end_follows() -> None:
    one = Serving()
    seen = one.connect()
    one.feed(seen, b"hello\n")
    one.end(seen)
    assert told(seen.messages) == [(None, PARSE_ERROR, NOT_JSON)]


def test_a_line_that_was_cut_off_says_nothing_when_its_connection_is_lost() -> None:
    one = Serving()
    seen = one.connect()
    one.feed(seen, encode_message(PING))
    one.lose(seen)
    assert seen.chunks == []
    one.assert_at_rest()


def test_on_a_connection_that_keeps_boundaries_the_end_completes_nothing() -> None:
    one = Serving()
    seen = one.connect(Framing.MESSAGES)
    one.feed(seen, encode_message(PING) + b"\n")
    one.end(seen)
    assert seen.messages == [PONG]
    assert isinstance(seen.over, EndWriting)


# -------------------------------------------------------------------------------------------------- whole conversations

CONVERSATION: list[Message | bytes] = [
    PING,
    Request("early", "tools/call"),
    initialize(MARKED, 0),
    Notification("notifications/initialized"),
    Request(1, "tools/call", {"name": "a", "_meta": {"mcpstreams/key": "k" * 22, "mcpstreams/attempt": "i.1"}}),
    b"\xff not JSON",
    Request("1", "tools/call", {"name": "b"}),
    Request(1, "tools/call", {"name": "c"}),
    Notification("notifications/x", {"a": "\u2028"}),
    Response("nobody asked", {}),
    PING,
]


def stream_of(message: Message) -> object:
    """Return the stream that a message is tagged with."""
    match message:
        case Request(params=holder) | Notification(params=holder) | Response(result=holder) if holder:
            meta = holder.get("_meta")
            return meta.get("streamId") if isinstance(meta, dict) else None
        case _:
            return None


def heard_in(pieces: Sequence[bytes]) -> list[object]:
    """Return what a peer hears, first outside its streams and then on each of them, and what the application is told.

    Replies may overtake entries that wait (rule R11), so where they stand depends on how much came at once.
    """
    one = Serving()
    seen = one.connect()
    for piece in pieces:
        one.feed(seen, piece)
    first, second = one.calls
    one.notify(first.stream_id, 1)
    one.respond(first)
    one.send(seen, Notification("notifications/cancelled", {"requestId": "1"}))
    one.end(seen)
    assert isinstance(seen.over, EndWriting)
    one.assert_at_rest()
    outside = [message for message in seen.messages if stream_of(message) is None]
    inside = [
        told(message for message in seen.messages if stream_of(message) == call.stream_id) for call in (first, second)
    ]
    return [
        told(outside),
        *inside,
        [type(effect).__name__ for effect in one.told],
        [call.request for call in one.calls],
    ]


@pytest.mark.rule("P6", "P11", "P36")
def test_a_conversation_is_the_same_however_its_bytes_are_cut() -> None:
    wire = b"".join((m if isinstance(m, bytes) else encode_message(m)) + b"\r\n" for m in CONVERSATION)
    expected = heard_in([wire])
    outside, first, second, effects, calls = expected
    assert outside == [
        ("p",),
        ("early", INVALID_REQUEST, HANDSHAKE_FIRST),
        (0,),
        (None, PARSE_ERROR, "the text is not UTF-8"),
        (1, INVALID_REQUEST, "the id of the stream's request is in use on this connection"),
        ("p",),
        ("notifications/stream/end",),
    ]
    create, end = ("notifications/stream/create",), ("notifications/stream/end",)
    assert first == [create, ("notifications/progress",), (1,), end]
    assert second == [create]
    assert effects == [
        "StreamAttached",
        "StartCall",
        "StreamAttached",
        "StartCall",
        "NotificationReceived",
        "StreamDetached",
        "StopCall",
        "StreamGone",
    ]
    assert calls == [Request(1, "tools/call", {"name": "a"}), Request("1", "tools/call", {"name": "b"})]
    for pieces in every_way(wire):
        assert heard_in(pieces) == expected, pieces


@pytest.mark.rule("R21", "R14", "W1")
def test_every_request_of_one_chunk_gets_a_stream_and_a_token_of_its_own() -> None:
    one = Serving()
    seen = one.greet(STREAMS)
    one.send(seen, *(Request(number, "tools/call") for number in range(20)))
    creates = [
        message.params["stream"] for message in seen.messages if isinstance(message, Notification) and message.params
    ]
    names = {create[name] for create in creates if isinstance(create, dict) for name in ("streamId", "resumeToken")}
    assert len(names) == 40
    assert len({call.stream_id for call in one.calls}) == 20


@EVERY_FRAMING
@pytest.mark.rule("Q11h", "W6")
def test_a_request_whose_id_is_too_long_to_be_kept_is_answered_without_it(framing: Framing) -> None:
    one = Serving()
    seen = one.greet(STREAMS, framing=framing)
    one.send(seen, b'{"jsonrpc":"2.0","id":"%s","method":"tools/call"}' % (b"x" * 100_000), PING)
    assert told(seen.messages) == [(None, INVALID_REQUEST, NO_REQUEST_ID), ("p",)]


# ---------------------------------------------------------------------------------------------------------- bad company


@EVERY_FRAMING
@pytest.mark.rule("Q11e")
def test_who_guesses_tokens_is_told_to_wait_and_loses_nothing_else(framing: Framing) -> None:
    one = Serving(Server(ServerConfig(identity=IDENTITY, streams=StreamsConfig(max_wrong_tokens=3))))
    seen = one.greet(STREAMS, framing=framing)
    guesses = [Request(n, "stream/poll", {"streamId": "s", "resumeToken": f"guess {n}"}) for n in range(5)]
    one.send(seen, *guesses, Request(5, "tools/call"))
    errors = [message for message in seen.messages if isinstance(message, ErrorResponse)]
    reasons = [refused.reason for refused in map(read_refusal, errors) if refused is not None]
    assert reasons == [Reason.STREAM_NOT_FOUND] * 3 + [Reason.TOO_EARLY] * 2
    assert [call.request.id for call in one.calls] == [5]
    assert seen.over is None


@EVERY_FRAMING
@pytest.mark.rule("R11")
def test_who_asks_on_and_reads_nothing_is_dropped(framing: Framing) -> None:
    one = Serving(Server(ServerConfig(identity=IDENTITY, streams=StreamsConfig(max_reply_bytes=1_000))))
    seen = one.greet(STREAMS, framing=framing)
    seen.slow = True
    for _ in range(100):
        one.send(seen, PING)
    assert seen.over == DropConnection(seen.connection_id, DropReason.FLOODED)
    assert len(seen.chunks) == 1
    one.assert_at_rest()


@pytest.mark.rule("R11", "Q11h")
def test_of_a_heap_of_nonsense_no_more_is_read_than_is_worth_an_answer() -> None:
    one = Serving(Server(ServerConfig(identity=IDENTITY, streams=StreamsConfig(max_reply_bytes=1_000))))
    seen = one.greet(STREAMS)
    peer = one.server._peers[seen.connection_id]
    one.feed(seen, b"x\n" * 100_000 + encode_message(Request(1, "tools/call")) + b"\n")
    assert seen.over == DropConnection(seen.connection_id, DropReason.FLOODED)
    assert peer.messages < 1_000
    assert one.calls == []
    one.assert_at_rest()


@pytest.mark.rule("Q7a")
def test_a_peer_is_there_as_long_as_bytes_come() -> None:
    one = Serving(Server(ServerConfig(identity=IDENTITY)))
    seen = one.greet(MARKED)
    one.send(seen, Request(1, "tools/call"))
    for _ in range(10):
        one.wait(40)
        one.feed(seen, b" ")  # a long line, slowly
    assert one.heard(StreamDetached) == []
    one.wait(60)
    assert seen.over == DropConnection(seen.connection_id, DropReason.SILENT)
    assert one.heard(StreamDetached) == [StreamDetached(one.call.stream_id)]
