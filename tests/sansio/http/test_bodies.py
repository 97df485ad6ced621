"""Bodies of HTTP responses as a client reads them (rules H10, H14, H28, H29)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.client.effects import UnreadableReceived
from mcpstreams_sansio.client.inputs import MessageReceived, PathUnusable, PositionReceived, RetryReceived
from mcpstreams_sansio.framing.sse import SSEDecoder
from mcpstreams_sansio.http.bodies import BodyNews, EventsBody, IgnoredBody, JSONBody, MediaType
from mcpstreams_sansio.ids import ConnectionId
from mcpstreams_sansio.wire.jsonrpc import Notification, Response

PATH = ConnectionId(3)
MESSAGE = b'{"jsonrpc":"2.0","method":"n"}'


def events(limit: int = 10_000) -> EventsBody:
    return EventsBody(PATH, SSEDecoder(max_line_size=limit, max_event_size=limit))


def gist(news: BodyNews) -> str:
    match news:
        case MessageReceived(event_id=event_id, size=size):
            return f"message at {event_id} of {size}"
        case PositionReceived(event_id=event_id):
            return f"position {event_id}"
        case RetryReceived(retry_ms=retry_ms):
            return f"retry {retry_ms}"
        case UnreadableReceived(why=why):
            return f"unreadable: {why}"
        case PathUnusable():
            return "unusable"


def read(data: bytes, body: EventsBody | None = None) -> list[str]:
    return [gist(news) for news in (events() if body is None else body).receive_data(data)]


@pytest.mark.parametrize(
    ("value", "media_type"),
    [
        (None, MediaType.NONE),
        (b"application/json", MediaType.JSON),
        (b"Application/JSON; charset=utf-8", MediaType.JSON),
        (b" text/event-stream ;x=y", MediaType.EVENTS),
        (b"text/plain", MediaType.OTHER),
        (b"application/json-seq", MediaType.OTHER),
        (b"", MediaType.OTHER),
    ],
)
def test_a_media_type_is_read_without_its_parameters(value: bytes | None, media_type: MediaType) -> None:
    assert MediaType.parse(value) is media_type


# ---------------------------------------------------------------------------------------------------------------- JSON


def test_a_json_body_is_one_message_at_its_end() -> None:
    body = JSONBody(PATH, 1_000)
    answer = b'{"jsonrpc":"2.0","id":1,"result":{}}'
    assert body.receive_data(answer[:10]) == []
    assert body.receive_data(answer[10:]) == []
    assert body.receive_eof() == [MessageReceived(PATH, Response(1, {}), size=len(answer))]


def test_an_empty_json_body_is_nothing() -> None:
    assert JSONBody(PATH, 10).receive_eof() == []


@pytest.mark.parametrize("data", [b"{", b"[]", b"<html>", b'{"jsonrpc":"2.0"}'])
def test_a_json_body_that_is_no_message_is_of_no_use(data: bytes) -> None:
    body = JSONBody(PATH, 1_000)
    body.receive_data(data)
    assert [gist(news).partition(":")[0] for news in body.receive_eof()] == ["unreadable", "unusable"]


def test_j8_a_json_body_has_a_limit() -> None:
    body = JSONBody(PATH, 10)
    assert body.receive_data(b"x" * 10) == []
    assert [gist(news) for news in body.receive_data(b"x")] == [
        "unreadable: a JSON body is longer than 10 bytes",
        "unusable",
    ]


# -------------------------------------------------------------------------------------------------------------- events


@pytest.mark.rule("H14", "H13", "R20")
@pytest.mark.parametrize("data_line", [b"data:\n", b"data: \n", b"data\n", b""])
def test_d1_an_event_without_data_is_a_position_and_no_message(data_line: bytes) -> None:
    wire = b"id: 0\nretry: 3000\n" + data_line + b"\n" + b"data: " + MESSAGE + b"\n\n"
    position = ["position 0", "message at None of 30"] if data_line else ["message at 0 of 30"]
    assert read(wire) == ["retry 3000", *position]


@pytest.mark.rule("H28")
def test_an_id_is_an_events_own_only_if_it_is_new() -> None:
    wire = b"id: 5\ndata: " + MESSAGE + b"\n\ndata: " + MESSAGE + b"\n\nid: 6\ndata: " + MESSAGE + b"\n\n"
    assert read(wire) == ["message at 5 of 30", "message at None of 30", "message at 6 of 30"]


def test_c7_an_empty_id_takes_the_cursor_back() -> None:
    assert read(b"id: 5\ndata: " + MESSAGE + b"\n\nid\ndata: " + MESSAGE + b"\n\n") == [
        "message at 5 of 30",
        "message at  of 30",
    ]


def test_c7_so_does_one_that_brings_no_message() -> None:
    assert read(b"id: 5\ndata: " + MESSAGE + b"\n\nid\n\n") == ["message at 5 of 30", "position "]


@pytest.mark.rule("H29")
def test_half_an_event_is_nothing() -> None:
    body = events()
    assert read(b"id: 5\nretry: 9\ndata: " + MESSAGE + b"\n", body) == []
    assert body.receive_eof() == []


def test_h8_events_may_come_together_or_in_pieces() -> None:
    wire = b"".join(b"id: %d\ndata: %s\n\n" % (number, MESSAGE) for number in (1, 2, 3))
    whole = read(wire)
    assert whole == [f"message at {number} of 30" for number in (1, 2, 3)]
    body = events()
    pieces = [text for number in range(len(wire)) for text in read(wire[number : number + 1], body)]
    assert pieces == whole


@pytest.mark.rule("H16")
def test_a_pause_counts_in_whatever_block_it_comes_and_the_last_word_holds() -> None:
    body = events()
    assert read(b"retry: 100\n\n", body) == ["retry 100"]
    assert read(b":\n\nretry: 100\n\n", body) == []
    assert read(b"retry: 200\n\nretry: 300\ndata: " + MESSAGE + b"\n\n", body) == ["retry 300", "message at None of 30"]


def test_h6_an_event_of_another_type_is_reported_and_moves_the_cursor() -> None:
    assert read(b"event: error\nid: 7\ndata: " + MESSAGE + b"\n\ndata: " + MESSAGE + b"\n\n") == [
        "unreadable: an event of unknown type",
        "position 7",
        "message at None of 30",
    ]


def test_an_event_that_is_no_message_is_reported_and_costs_nothing_else() -> None:
    told = read(b"id: 7\ndata: hello\n\nid: 8\ndata: " + MESSAGE + b"\n\n")
    assert told[0].startswith("unreadable: ")
    assert told[1:] == ["position 7", "message at 8 of 30"]


def test_j9_an_event_that_is_too_large_ends_the_body_and_names_the_size() -> None:
    told = read(b"data: " + MESSAGE + b"\n\ndata: " + b"x" * 200, events(100))
    assert told[0] == "message at None of 30"
    assert "100 bytes" in told[1]
    assert told[2:] == ["unusable"]


@pytest.mark.parametrize("event_id", ["has\ttab", " leading", "trailing ", "\x7f", "x" * 4_097])
def test_c8_an_id_that_can_not_stand_in_a_header_byte_for_byte_is_no_cursor(event_id: str) -> None:
    # One blank after the colon belongs to the format.
    assert read(b"id: " + event_id.encode() + b"\ndata: " + MESSAGE + b"\n\n") == ["message at None of 30"]


@pytest.mark.parametrize("event_id", ["s1_3", "é", "a b", "x" * 4_096, "!~"])
def test_c8_every_other_id_is_one(event_id: str) -> None:
    (news,) = events().receive_data(b"id: " + event_id.encode() + b"\ndata: " + MESSAGE + b"\n\n")
    assert news == MessageReceived(PATH, Notification("n"), event_id, 30)


# --------------------------------------------------------------------------------------------------------------- other


def test_a_body_that_means_nothing_brings_nothing() -> None:
    body = IgnoredBody()
    assert body.receive_data(b"x" * 10_000) == []
    assert body.receive_eof() == []
    assert body.fork() is body


def test_a_copy_goes_its_own_way() -> None:
    body = events()
    body.receive_data(b"data: {")
    copy = body.fork()
    assert [gist(n) for n in copy.receive_data(MESSAGE[1:] + b"\n\n")] == ["message at None of 30"]
    assert [gist(n) for n in body.receive_data(MESSAGE[1:] + b"\n\n")] == ["message at None of 30"]
    json_body = JSONBody(PATH, 1_000)
    json_body.fork().receive_data(b"garbage")
    assert json_body.receive_eof() == []
