"""The server's front for HTTP: from requests to heads and bodies, each exchange to its end."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import EndWriting
from mcpstreams_sansio.errors import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from mcpstreams_sansio.http.checks import EVENTS_TYPE, JSON_TYPE
from mcpstreams_sansio.http.config import HTTPConfig
from mcpstreams_sansio.http.messages import Headers, HTTPRefusal, HTTPRequest, RequestReceived
from mcpstreams_sansio.http.server import HTTPServer
from mcpstreams_sansio.http.sessions import Sessions
from mcpstreams_sansio.ids import ConnectionId, Entropy
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import StopCall, StopReason
from mcpstreams_sansio.server.inputs import AskPeer, Drain
from mcpstreams_sansio.server.policies import StreamPolicies
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject, Message, Notification, Request, Response
from mcpstreams_sansio.wire.refusals import Reason
from mcpstreams_sansio.wire.revisions import Revision
from tests.sansio.serving import (
    EVENTS,
    HOST,
    IDENTITY,
    JSON,
    JSON_AND_EVENTS,
    MARKED,
    STREAMS,
    Serving,
    encoded,
    initialize,
    serving,
)

CALL = Request(1, "tools/call", {"name": "work"})
LIST = Request(2, "resources/list")
PING = Request("p", "ping")
NO_BODY: Headers = ()


# --------------------------------------------------------------------------------------------------- who is not let in

UNKNOWN = HTTPRefusal(401, "say who you are", ((b"www-authenticate", b"Bearer"),))


@pytest.mark.rule("H33")
@pytest.mark.parametrize("method", [b"POST", b"GET", b"DELETE"])
def test_whom_the_application_does_not_let_in_is_told_so_whatever_it_wants(method: bytes) -> None:
    one = Serving()
    session = one.begin()
    headers: Headers = (HOST, JSON_AND_EVENTS, JSON, (b"mcp-session-id", session))
    seen = one.request(method, b"", *headers, refusal=UNKNOWN)
    assert (seen.status, seen.headers[b"www-authenticate"]) == (401, b"Bearer")
    assert (seen.refusal.id, seen.refusal.message) == (None, "say who you are")
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("H2")
def test_a_page_of_somebody_else_is_not_even_asked_who_it_is() -> None:
    one = Serving()
    headers: Headers = (HOST, JSON_AND_EVENTS, JSON, (b"origin", b"null"))
    assert one.request(b"POST", encoded(PING), *headers, refusal=UNKNOWN).status == 403


# ---------------------------------------------------------------------------------------------- what a POST is answered


@pytest.mark.rule("H9")
@pytest.mark.parametrize(
    "message",
    [
        Notification("notifications/initialized"),
        Notification("notifications/cancelled", {"requestId": "unknown"}),
        Notification("notifications/x", {"a": 1}),
        Notification("notifications/mcpstreams/ack", {"acks": [{"streamId": "s", "through": 1}]}),
        Response("nobody asked", {}),
        ErrorResponse("nobody asked", -1, "no"),
        ErrorResponse(None, -1, "no"),
    ],
)
def test_what_has_no_answer_is_accepted_without_a_body(message: Message) -> None:
    one = Serving()
    seen = one.post(message, one.begin(MARKED))
    assert (seen.status, seen.head and seen.head.headers, seen.chunks) == (202, NO_BODY, [])
    assert isinstance(seen.over, EndWriting)
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("H9")
@pytest.mark.parametrize(
    ("message", "code"),
    [
        (Notification("notifications/x", {"_meta": 1}), INVALID_PARAMS),
        (Notification("notifications/mcpstreams/ack", {"acks": 1}), INVALID_PARAMS),
        (Notification("notifications/cancelled", {"_meta": {"mcpstreams/key": "short"}}), INVALID_PARAMS),
        (Notification("stream/resume", {"streamId": "s"}), INVALID_PARAMS),
        (Notification("stream/resume", {"streamId": "s", "resumeToken": "t"}), INVALID_PARAMS),
        (Response("x", {"_meta": {"mcpstreams/ack": 1}}), INVALID_PARAMS),
    ],
)
def test_what_has_no_answer_and_can_not_be_accepted_is_an_error_without_an_id(message: Message, code: int) -> None:
    one = Serving()
    seen = one.post(message, one.begin(MARKED))
    assert (seen.status, seen.headers[b"content-type"]) == (400, JSON_TYPE)
    assert (seen.refusal.id, seen.refusal.code) == (None, code)
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("H6", "R20")
@pytest.mark.parametrize(
    ("body", "request_id", "code"),
    [
        (b"", None, PARSE_ERROR),
        (b"hello", None, PARSE_ERROR),
        (b"\xff\xfe", None, PARSE_ERROR),
        (b"\xef\xbb\xbf{", None, PARSE_ERROR),
        (b"[]", None, INVALID_REQUEST),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, INVALID_REQUEST),
        (encoded(PING) + b"\n" + encoded(PING), None, PARSE_ERROR),
        (b'{"jsonrpc":"2.0","id":3,"method":"ping","params":1}', 3, INVALID_PARAMS),
        (b'{"jsonrpc":"2.0","id":3,"result":1}', None, INVALID_REQUEST),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_a_body_is_one_message(body: bytes, request_id: int | None, code: int, named: bool) -> None:
    one = Serving()
    session = one.begin()
    seen = one.post(body, session if named else None)
    assert (seen.status, seen.refusal.id, seen.refusal.code) == (400, request_id, code)
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("H10")
def test_a_request_that_the_server_answers_itself_is_answered_with_json() -> None:
    one = Serving()
    session = one.begin()
    seen = one.post(PING, session)
    assert (seen.status, seen.head and seen.head.headers) == (200, ((b"content-type", JSON_TYPE),))
    assert seen.answer == Response("p", {})
    poll = one.post(Request(1, "stream/poll", one.post(CALL, session).ref), session)
    assert poll.headers[b"content-type"] == JSON_TYPE
    assert poll.answer.result["status"] == "live"


@pytest.mark.rule("H10", "H13", "R18")
def test_a_call_is_answered_by_events_at_once() -> None:
    one = Serving()
    exchange = one.post(CALL, one.begin(STREAMS))
    assert exchange.status == 200
    assert exchange.head is not None
    assert exchange.head.headers == (
        (b"content-type", EVENTS_TYPE),
        (b"cache-control", b"no-cache, no-transform"),
        (b"x-accel-buffering", b"no"),
    )
    assert exchange.events[0].data == ""
    assert exchange.cursors == [0, 1]
    assert exchange.created["requestId"] == 1
    one.notify(one.call.stream_id, 1)
    one.respond(one.call)
    assert exchange.told == ["notifications/stream/create", "notifications/progress", 1, "notifications/stream/end"]
    assert exchange.cursors == [0, 1, 2, 3, 4]
    assert isinstance(exchange.over, EndWriting)
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("R18")
def test_a_call_that_is_quick_is_answered_with_json() -> None:
    one = Serving()
    exchange = one.post(LIST, one.begin(STREAMS))
    assert exchange.head is None
    one.respond(one.call, {"resources": []})
    assert exchange.headers[b"content-type"] == JSON_TYPE
    assert exchange.answer == Response(2, {"resources": []})
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("R18", "R2")
@pytest.mark.parametrize("slow", [True, False])
def test_a_call_that_is_slow_or_has_something_to_say_is_answered_by_events(slow: bool) -> None:
    one = Serving()
    exchange = one.post(LIST, one.begin(STREAMS))
    if slow:
        one.wait(0.25)
    else:
        one.notify(one.call.stream_id, 1)
    assert exchange.headers[b"content-type"] == EVENTS_TYPE
    one.respond(one.call)
    assert exchange.told == ([] if slow else ["notifications/progress"]) + [2]
    one.assert_at_rest(sessions=1)


@pytest.mark.parametrize("accept", [b"application/json", b"application/*", b"text/event-stream;q=0, */*"])
def test_a_client_that_accepts_no_events_gets_none(accept: bytes) -> None:
    one = Serving()
    exchange = one.post(CALL, one.begin(STREAMS), (b"accept", accept))
    one.notify(one.call.stream_id, 1)
    one.wait(10.0)
    assert exchange.head is None
    one.respond(one.call)
    assert exchange.headers[b"content-type"] == JSON_TYPE
    assert exchange.answer == Response(1, {"content": []})
    one.assert_at_rest(sessions=1)


def test_a_client_that_accepts_anything_gets_events() -> None:
    one = Serving()
    exchange = one.post(CALL, one.begin(STREAMS), (b"accept", b"*/*"))
    assert exchange.created


@pytest.mark.rule("R22", "R21", "H12")
def test_a_loss_cancels_nothing() -> None:
    one = Serving()
    session = one.begin({})
    for message in (CALL, LIST):
        one.lose(one.post(message, session))
    one.wait(60.0)
    assert one.heard(StopCall) == []


@pytest.mark.rule("H35", "Q9b")
def test_a_call_is_cancelled_by_its_id_in_its_own_session_only() -> None:
    one = Serving()
    session = one.begin(STREAMS)
    exchange = one.post(CALL, session)
    cancelled = Notification("notifications/cancelled", {"requestId": 1})
    assert one.post(cancelled, one.begin(STREAMS)).status == 202
    assert one.heard(StopCall) == []
    assert one.post(cancelled, session).status == 202
    assert one.heard(StopCall) == [StopCall(one.call.stream_id, StopReason.CANCELLED)]
    assert exchange.told == ["notifications/stream/create", "notifications/stream/end"]
    one.assert_at_rest(sessions=1 + 1)


@pytest.mark.rule("R24", "Q4c", "H9")
def test_an_answer_is_posted_and_accepted_once() -> None:
    one = Serving()
    session = one.begin({"streams": {}, "elicitation": {}})
    exchange = one.post(CALL, session)
    one.submit(AskPeer(one.call.stream_id, "ask-1", "elicitation/create", {"message": "?"}))
    assert exchange.told[-1] == "elicitation/create"
    answers = [one.post(Response("ask-1", {"action": "accept"}), session) for _ in range(2)]
    assert [seen.status for seen in answers] == [202, 202]
    assert [effect for effect in one.told if type(effect).__name__ == "AskAnswered"][1:] == []


# ------------------------------------------------------------------------------------------------ refusals and statuses


@pytest.mark.rule("Q10")
def test_a_refusal_of_the_protocol_is_an_answer_like_any_other() -> None:
    one = Serving()
    session = one.begin(STREAMS)
    ref: JSONObject = {"streamId": "s", "resumeToken": "t"}
    for method in ("stream/poll", "stream/resume"):
        seen = one.post(Request(5, method, ref), session)
        assert (seen.status, seen.refusal.id, seen.reason) == (200, 5, Reason.STREAM_NOT_FOUND.value)
    assert one.post(Request(6, "stream/poll", {}), session).status == 200
    stock = one.post(Request(7, "stream/poll", ref), one.begin({}))
    assert (stock.status, stock.refusal.code) == (200, METHOD_NOT_FOUND)
    one.assert_at_rest(sessions=2)


@pytest.mark.rule("H34")
def test_a_request_under_an_id_that_is_in_use_is_refused_and_the_first_goes_on() -> None:
    one = Serving()
    session = one.begin(STREAMS)
    exchange = one.post(CALL, session)
    assert one.post(Request(1, "tools/call", {"name": "other"}), session).reason == Reason.ID_IN_USE.value
    assert one.post(Request("1", "tools/call"), session).created["requestId"] == "1"
    one.respond(one.calls[0])
    assert exchange.told[-2:] == [1, "notifications/stream/end"]
    assert one.post(CALL, session).created, "an id is free again once its request is answered"


@pytest.mark.rule("R14")
def test_who_takes_a_stream_over_again_at_once_is_told_when_to_come_back() -> None:
    one = serving(streams=StreamsConfig(takeover_interval=2.0, takeover_retry_ms=30_000))
    session = one.begin(STREAMS)
    first = one.post(CALL, session)
    second = one.post(Request(2, "stream/resume", first.ref), session)
    assert b"retry: 30000\n\n" in first.body
    assert isinstance(first.over, EndWriting)
    one.now += 0.5
    third = one.post(Request(3, "stream/resume", first.ref), session)
    assert (third.status, third.headers[b"retry-after"], third.reason) == (429, b"2", Reason.TOO_EARLY.value)
    by_cursor = one.get(session, first.cursor)
    assert (by_cursor.status, by_cursor.headers[b"retry-after"]) == (429, b"2")
    assert second.over is None


@pytest.mark.rule("R15")
def test_a_server_that_stops_refuses_calls_with_a_status_of_its_own() -> None:
    one = Serving()
    session = one.begin(STREAMS)
    one.submit(Drain())
    seen = one.post(CALL, session)
    assert (seen.status, seen.refusal.id, seen.reason) == (503, 1, Reason.DRAINING.value)


REFUSED: list[tuple[bytes, Headers, bytes, int]] = [
    (b"POST", ((b"host", b"evil.example"),), b"/mcp", 403),
    (b"POST", ((b"origin", b"http://evil.example"),), b"/mcp", 403),
    (b"POST", ((b"origin", b"null"),), b"/mcp", 403),
    (b"GET", ((b"origin", b"null"),), b"/mcp", 403),
    (b"DELETE", ((b"origin", b"null"),), b"/mcp", 403),
    (b"POST", (), b"/other", 404),
    (b"PUT", (), b"/mcp", 405),
    (b"POST", ((b"accept", b"image/png"),), b"/mcp", 406),
    (b"GET", ((b"accept", b"application/json"),), b"/mcp", 406),
    (b"POST", ((b"content-type", b"text/plain"),), b"/mcp", 415),
    (b"POST", ((b"mcp-protocol-version", b"2026-07-28"),), b"/mcp", 400),
    (b"DELETE", ((b"mcp-protocol-version", b"x"),), b"/mcp", 400),
]


@pytest.mark.rule("H2")
@pytest.mark.parametrize(("method", "headers", "target", "status"), REFUSED)
def test_a_request_that_fails_a_check_is_answered_and_changes_nothing(
    method: bytes, headers: Headers, target: bytes, status: int
) -> None:
    one = Serving()
    session = one.begin()
    before = one.server.snapshot(0.0)
    given = {name for name, _ in headers}
    usual = (HOST, EVENTS if method == b"GET" else JSON_AND_EVENTS, JSON, (b"mcp-session-id", session))
    kept = tuple(header for header in usual if header[0] not in given)
    seen = one.request(method, encoded(CALL), *kept, *headers, target=target)
    assert (seen.status, seen.headers[b"content-type"]) == (status, JSON_TYPE)
    assert (seen.refusal.id, seen.refusal.code) == (None, INVALID_REQUEST)
    assert isinstance(seen.over, EndWriting)
    assert one.server.snapshot(0.0) == before
    one.assert_at_rest(sessions=1)


@pytest.mark.parametrize(
    ("headers", "status", "answered"),
    [((HOST,), 405, ((b"allow", b"POST, DELETE"),)), (((b"host", b"evil.example"),), 403, ()), ((), 403, ())],
)
def test_the_answer_to_a_request_for_a_head_has_no_body(headers: Headers, status: int, answered: Headers) -> None:
    one = Serving()
    seen = one.request(b"HEAD", b"", *headers)
    assert (seen.status, seen.head and seen.head.headers, seen.chunks) == (status, answered, [])
    assert isinstance(seen.over, EndWriting)
    one.assert_at_rest()


@pytest.mark.rule("H8")
def test_a_body_that_is_too_large_is_refused_by_its_size() -> None:
    one = serving(HTTPConfig(max_body_bytes=400))
    session = one.begin()
    fits = Request(1, "ping", {"x": "y" * 300})
    assert one.post(fits, session).status == 200
    assert one.post(Request(1, "ping", {"x": "y" * 400}), session).status == 413


# ----------------------------------------------------------------------------------------------------------- revisions


@pytest.mark.rule("H19", "R20")
@pytest.mark.parametrize("revision", Revision)
@pytest.mark.parametrize("said", [None, *Revision])
def test_priming_is_what_the_session_negotiated_and_not_what_a_header_says(
    revision: Revision, said: Revision | None
) -> None:
    one = Serving()
    session = one.begin({}, revision=revision.value)
    headers = () if said is None else ((b"mcp-protocol-version", said.value.encode()),)
    exchange = one.post(CALL, session, *headers)
    primed = [event.id for event in exchange.events if not event.data]
    assert len(primed) == (1 if revision is Revision.R2025_11_25 else 0)
    assert exchange.body, "something goes out with the head in any case (R1)"
    one.respond(one.call)
    assert exchange.told == [1]
    assert exchange.cursors[-1] == 1


@pytest.mark.parametrize(("asked", "answered"), [("2025-06-18", "2025-06-18"), ("2026-07-28", "2025-11-25")])
def test_a_session_has_the_revision_that_was_negotiated(asked: str, answered: str) -> None:
    one = Serving()
    assert one.post(initialize({}, revision=asked)).answer.result["protocolVersion"] == answered


@pytest.mark.rule("H5")
def test_the_names_of_all_headers_mind_no_case() -> None:
    one = Serving()
    session = one.begin({})
    exchange = one.post(CALL, session)
    cursor = exchange.cursor
    one.lose(exchange)
    headers = ((b"HOST", b"localhost"), (b"ACCEPT", b"*/*"), (b"Mcp-Session-Id", session), (b"Last-Event-ID", cursor))
    assert one.request(b"GET", b"", *headers).status == 200
    posted = (*headers[:2], (b"Content-Type", b"application/json"), (b"MCP-SESSION-ID", session))
    assert one.request(b"POST", encoded(PING), *posted).status == 200


# ----------------------------------------------------------------------------------------------------------- snapshots


def front() -> HTTPServer:
    config = HTTPConfig()
    return HTTPServer(config, IDENTITY, StreamsConfig(), StreamPolicies(), Sessions(config))


def received(connection_id: int, body: bytes, method: bytes = b"POST") -> RequestReceived:
    asked = HTTPRequest(method, b"/mcp", (HOST, JSON, JSON_AND_EVENTS), body)
    return RequestReceived(ConnectionId(connection_id), asked, Entropy(b"the seed of this one input"))


def test_fronts_that_will_send_other_heads_look_different() -> None:
    fronts = [front() for _ in range(4)]
    fronts[1].receive(received(1, b"{}"), 0.0)
    fronts[2].receive(received(1, b"{}", b"PUT"), 0.0)
    fronts[3].receive(received(1, b"{}"), 0.0)
    looks = [one.snapshot(0.0) for one in fronts]
    assert len(set(looks[:3])) == 3
    assert looks[1] == looks[3]
