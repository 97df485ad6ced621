"""Servers on a byte stream that died too early, lived too long, or spoke in headers (group O: the whole server)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import EndWriting, Framing
from mcpstreams_sansio.errors import PARSE_ERROR
from mcpstreams_sansio.server.effects import StopCall
from mcpstreams_sansio.wire.jsonrpc import (
    ErrorResponse,
    JSONObject,
    Notification,
    Request,
    Response,
    encode_message,
)
from tests.sansio.framing.chunking import every_way
from tests.sansio.serving import MARKED, STREAMS, Serving, initialize

PING = Request("p", "ping")
FRAMINGS = pytest.mark.parametrize("framing", [Framing.LINES, Framing.MESSAGES])


@FRAMINGS
def test_o1_requests_that_came_before_the_end_are_answered_then_the_connection_ends(framing: Framing) -> None:
    one = Serving()
    seen = one.greet({}, framing=framing)
    one.send(seen, *(Request(number, "tools/call") for number in range(3)))
    effects = one.end(seen)
    assert EndWriting(seen.connection_id) not in effects
    for call in reversed(one.calls):
        one.respond(call)
    assert seen.told == [2, 1, 0]
    assert isinstance(seen.over, EndWriting)
    assert one.heard(StopCall) == []
    one.assert_at_rest()


def test_o1_so_is_a_request_whose_line_the_end_completes() -> None:
    one = Serving()
    seen = one.greet({})
    one.feed(seen, encode_message(Request(1, "tools/call")))
    one.end(seen)
    one.respond(one.call)
    assert seen.answer == Response(1, {"content": []})
    assert isinstance(seen.over, EndWriting)


@pytest.mark.parametrize("capabilities", [{}, STREAMS, MARKED], ids=["stock", "draft", "marker"])
def test_o1_who_writes_everything_at_once_and_only_reads_then_gets_everything(capabilities: JSONObject) -> None:
    one = Serving()
    seen = one.connect()
    one.send(seen, initialize(capabilities), Notification("notifications/initialized"), Request(1, "tools/call"))
    one.end(seen)
    one.notify(one.call.stream_id, 1)
    one.respond(one.call)
    first, last = ["notifications/stream/create"], ["notifications/stream/end"]
    told = [*first, "notifications/progress", 1, *last] if capabilities else ["notifications/progress", 1]
    assert seen.told == [0, *told]
    assert isinstance(seen.over, EndWriting)
    assert one.heard(StopCall) == []


@pytest.mark.rule("P8")
def test_o1_a_stream_that_can_be_resumed_outlives_who_no_longer_reads_either() -> None:
    one = Serving()
    seen, other = one.greet(STREAMS), one.greet(STREAMS)
    one.send(seen, Request(1, "tools/call"))
    one.end(seen)
    assert seen.over is None
    one.lose(seen)
    assert one.heard(StopCall) == []
    one.respond(one.call)
    one.send(other, Request("r", "stream/resume", seen.ref))
    assert other.told[-3:] == [1, "notifications/stream/end", "r"]


@FRAMINGS
@pytest.mark.parametrize("greeted", [True, False])
def test_o2_without_calls_the_end_of_one_side_is_the_end_of_both(framing: Framing, greeted: bool) -> None:
    one = Serving()
    seen = one.greet({}, framing=framing) if greeted else one.connect(framing)
    one.end(seen)
    assert isinstance(seen.over, EndWriting)
    one.assert_at_rest()
    assert one.server.next_deadline() is None


def test_o4_lines_that_are_no_messages_are_reported_and_the_next_message_is_served() -> None:
    wire = b"hello\n\xff\xfe\n{\n" + encode_message(PING) + b"\n"
    for pieces in every_way(wire):
        one = Serving()
        seen = one.connect()
        for piece in pieces:
            one.feed(seen, piece)
        *reports, answer = seen.messages
        assert [report.id for report in reports if isinstance(report, ErrorResponse)] == [None] * 3
        assert len(reports) == 3
        assert answer == Response("p", {})


def test_o6_a_peer_that_sends_headers_is_told_so_and_served_all_the_same() -> None:
    one = Serving()
    seen = one.connect()
    for message in (initialize({}, 1), PING):
        payload = encode_message(message)
        one.feed(seen, b"Content-Length: %d\r\n\r\n" % len(payload) + payload + b"\r\n")
    reports = [message for message in seen.messages if isinstance(message, ErrorResponse)]
    answers = [message for message in seen.messages if isinstance(message, Response)]
    assert [(report.id, report.code) for report in reports] == [(None, PARSE_ERROR)] * 2
    assert [answer.id for answer in answers] == [1, "p"]
    assert b"Content-Length" not in seen.body, "we send none, and repeat nothing"
