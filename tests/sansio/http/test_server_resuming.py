"""Coming back over HTTP: with a cursor, with a token, and with a cursor that does not fit."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import EndWriting
from mcpstreams_sansio.errors import INVALID_PARAMS
from mcpstreams_sansio.framing.event_ids import event_id
from mcpstreams_sansio.http.checks import EVENTS_TYPE
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.inputs import ReleaseStream
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Notification, Request
from mcpstreams_sansio.wire.refusals import Reason
from tests.sansio.serving import MARKED, STREAMS, Seen, Serving, serving

CALL = Request(1, "tools/call", {"name": "work"})
PING = Request("p", "ping")


@pytest.mark.rule("R17", "H20")
def test_a_get_without_a_cursor_is_not_offered() -> None:
    one = Serving()
    seen = one.get(one.begin())
    assert (seen.status, seen.headers[b"allow"]) == (405, b"POST, DELETE")
    assert isinstance(seen.over, EndWriting)
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("R17", "H24", "H25")
@pytest.mark.parametrize("capabilities", [{}, STREAMS, MARKED])
def test_a_get_with_a_cursor_goes_on_from_there(capabilities: JSONObject) -> None:
    one = Serving()
    session = one.begin(capabilities)
    exchange = one.post(CALL, session)
    stream_id = one.call.stream_id
    one.notify(stream_id, 1)
    one.lose(exchange)
    one.notify(stream_id, 2)
    seen = one.get(session, exchange.cursor)
    assert seen.headers[b"content-type"] == EVENTS_TYPE
    assert seen.events[0].id == exchange.events[-1].id, "it says where it stands first (Q5i)"
    assert seen.told == ["notifications/progress"]
    one.notify(stream_id, 3)
    one.respond(one.call)
    assert seen.told[:3] == ["notifications/progress", "notifications/progress", 1]
    assert seen.cursors[0] == exchange.cursors[-1]
    assert isinstance(seen.over, EndWriting)
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("H15", "H16", "R15")
def test_a_client_that_is_let_go_comes_back_and_gets_its_response() -> None:
    one = serving(streams=StreamsConfig(retry_ms=100))
    session = one.begin({})
    exchange = one.post(CALL, session)
    one.submit(ReleaseStream(one.call.stream_id))
    assert exchange.body.endswith(b"retry: 100\n\n")
    assert isinstance(exchange.over, EndWriting)
    one.respond(one.call)
    seen = one.get(session, exchange.cursor)
    assert seen.told == [1]


CURSOR_REFUSED = [b"nonsense", b"unknown_1", b"_1", b"", b"\xff_1", b"x" * 5_000 + b"_1"]


@pytest.mark.rule("Q13", "R17")
@pytest.mark.parametrize("cursor", CURSOR_REFUSED)
def test_a_cursor_of_nothing_is_a_bad_request_and_no_missing_session(cursor: bytes) -> None:
    one = Serving()
    session = one.begin({})
    seen = one.get(session, cursor)
    assert (seen.status, seen.refusal.id, seen.refusal.code) == (400, None, INVALID_PARAMS)
    assert seen.reason == Reason.INVALID_CURSOR.value
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("P15", "P22", "Q2b")
def test_a_resume_is_posted_and_its_result_comes_last() -> None:
    one = Serving()
    session = one.begin(STREAMS)
    exchange = one.post(CALL, session)
    one.notify(one.call.stream_id, 1)
    one.lose(exchange)
    resumed = one.post(Request(9, "stream/resume", exchange.ref), session, (b"last-event-id", exchange.cursor))
    one.respond(one.call)
    assert resumed.told == [1, "notifications/stream/end", 9]
    assert resumed.cursors == [2, 3, 4]
    assert resumed.events[-1].id == resumed.events[-2].id, "the result is no entry (Q2d)"
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("P22", "P24", "Q5c")
@pytest.mark.parametrize("by", ["POST", "GET"])
def test_a_cursor_in_the_header_goes_on_behind_a_gap_and_is_refused_before_it(by: str) -> None:
    one = serving(streams=StreamsConfig(max_stream_bytes=2_000, keep_bytes=1))
    session = one.begin(STREAMS)
    exchange = one.post(CALL, session)
    for number in range(40):
        one.notify(one.call.stream_id, number)
    one.lose(exchange)

    def come_back(position: int) -> Seen:
        cursor = event_id(one.call.stream_id, position).encode()
        if by == "GET":
            return one.get(session, cursor)
        return one.post(Request(9, "stream/resume", exchange.ref), session, (b"last-event-id", cursor))

    refused = come_back(1)
    assert isinstance(refused.refusal.data, dict)
    first, lost = (refused.refusal.data[name] for name in ("firstAvailable", "lost"))
    assert (refused.reason, lost) == (Reason.EVENTS_GONE.value, first - 2)
    assert come_back(first - 1).cursors == list(range(first - 1, 42))


@pytest.mark.rule("Q2a")
def test_a_resume_without_an_id_has_no_result() -> None:
    one = Serving()
    session = one.begin(STREAMS)
    exchange = one.post(CALL, session)
    one.lose(exchange)
    resumed = one.post(Notification("stream/resume", exchange.ref), session)
    one.respond(one.call)
    assert resumed.told == ["notifications/stream/create", 1, "notifications/stream/end"]
    assert isinstance(resumed.over, EndWriting)
    refused = one.post(Notification("stream/resume", {**exchange.ref, "resumeToken": "wrong"}), session)
    assert (refused.status, refused.refusal.id, refused.reason) == (400, None, Reason.STREAM_NOT_FOUND.value)
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("Q5c")
@pytest.mark.parametrize("cursor", [b"other_1", b"nonsense", b"\xe9"])
def test_a_resume_with_the_cursor_of_another_stream_is_refused_and_disturbs_nobody(cursor: bytes) -> None:
    one = Serving()
    session = one.begin(STREAMS)
    exchange = one.post(CALL, session)
    seen = one.post(Request(9, "stream/resume", exchange.ref), session, (b"last-event-id", cursor))
    assert (seen.status, seen.reason) == (200, Reason.INVALID_CURSOR.value)
    assert exchange.over is None


def test_a_cursor_beside_another_request_is_ignored() -> None:
    one = Serving()
    session = one.begin(STREAMS)
    exchange = one.post(CALL, session)
    cursor = (b"last-event-id", exchange.cursor)
    assert one.post(PING, session, cursor).status == 200
    assert one.post(Notification("notifications/x"), session, cursor).status == 202
    assert one.post(Request(2, "tools/call"), session, cursor).created["requestId"] == 2
    assert exchange.over is None
