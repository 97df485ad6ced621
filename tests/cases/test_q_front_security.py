"""Doors that stood open (group Q)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.server.effects import StopCall, StreamDetached
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Message, Notification, Request, Response
from mcpstreams_sansio.wire.refusals import Reason
from tests.sansio.serving import EVENTS, HOST, STREAMS, Seen, Serving, encoded, initialize, with_usual

CALL = Request(1, "tools/call", {"name": "work"})


def knock(one: Serving, session: bytes, *headers: tuple[bytes, bytes]) -> list[Seen]:
    """Send every kind of request with these headers, each of which would be served without them."""
    ref: JSONObject = {"streamId": "s", "resumeToken": "t"}
    messages: list[Message] = [
        Request(9, "ping"),
        Request(9, "stream/poll", ref),
        Request(9, "stream/resume", ref),
        Notification("notifications/x"),
        Response("ask", {}),
    ]
    return [
        *(one.post(message, session, *headers) for message in messages),
        one.post(initialize({}), None, *headers),
        one.get(session, None, *headers),
        one.get(session, b"s_1", *headers),
        one.delete(session, *headers),
    ]


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    "header",
    [
        (b"origin", b"http://evil.example"),
        (b"origin", b"null"),
        (b"origin", b""),
        (b"Origin", b"http://localhost.evil.example"),
        (b"host", b"evil.example"),
        (b"host", b"localhost.evil.example:8000"),
        (b"host", b"localhost:8000@evil.example"),
    ],
)
def test_q1_a_page_of_somebody_else_is_refused_whatever_it_sends(header: tuple[bytes, bytes]) -> None:
    one = Serving()
    session = one.begin(STREAMS)
    assert {seen.status for seen in knock(one, session, header)} == {403}
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    "header",
    [
        (b"origin", b"http://localhost:3000"),
        (b"origin", b"http://[::1]"),
        (b"host", b"127.0.0.1:8000"),
        (b"host", b"[::1]:8000"),
        (b"HOST", b"LOCALHOST"),
    ],
)
def test_q1_and_one_of_this_machine_is_not(header: tuple[bytes, bytes]) -> None:
    one = Serving()
    assert 403 not in {seen.status for seen in knock(one, one.begin(STREAMS), header)}


@pytest.mark.rule("H33")
def test_q2_the_gate_is_the_same_for_every_method_and_every_message() -> None:
    one = Serving()
    session = one.begin(STREAMS, principal="alice")
    answered = knock(one, session)  # the same requests, from nobody in particular
    opened = [seen.status for seen in answered]
    assert opened == [404, 404, 404, 404, 404, 200, 404, 404, 404]
    assert one.post(Request("p", "ping"), session, principal="alice").status == 200


@pytest.mark.rule("H33", "R25", "P39")
def test_q3_the_id_of_a_session_gives_nobody_what_is_anothers() -> None:
    one = Serving()
    session = one.begin(STREAMS, principal="alice")
    exchange = one.post(CALL, session, principal="alice")
    own = one.begin(STREAMS, principal="mallory")
    stolen = [
        one.get(session, exchange.cursor, principal="mallory"),
        one.delete(session, principal="mallory"),
        one.post(Notification("notifications/cancelled", {"requestId": 1}), session, principal="mallory"),
        one.post(Request(2, "stream/resume", exchange.ref), session, principal="mallory"),
    ]
    assert {seen.status for seen in stolen} == {404}
    assert len({seen.body for seen in stolen}) == 1
    resumed = one.post(Request(2, "stream/resume", exchange.ref), own, principal="mallory")
    unknown = one.post(Request(2, "stream/resume", {"streamId": "x", "resumeToken": "y"}), own, principal="mallory")
    assert resumed.reason == Reason.STREAM_NOT_FOUND.value
    assert resumed.body == unknown.body, "a right token of somebody else is as good as none"
    assert one.get(own, exchange.cursor, principal="mallory").status == 400
    assert (exchange.over, one.heard(StopCall), one.heard(StreamDetached)) == (None, [], [])


@pytest.mark.rule("R25", "P39", "Q11c")
def test_q3_neither_does_a_token_on_another_connection() -> None:
    one = Serving()
    exchange = one.post(CALL, one.begin(STREAMS, principal="alice"), principal="alice")
    for principal in ("mallory", None):
        lines = one.greet(STREAMS, principal=principal)
        one.send(lines, Request(2, "stream/resume", exchange.ref))
        assert lines.reason == Reason.STREAM_NOT_FOUND.value
    lines = one.greet(STREAMS, principal="alice")
    one.send(lines, Request(2, "stream/resume", exchange.ref))
    assert lines.told == ["notifications/stream/create"]


def test_q5_a_cursor_in_the_address_is_no_cursor() -> None:
    one = Serving()
    session = one.begin({})
    exchange = one.post(CALL, session)
    headers = with_usual((HOST, EVENTS), session, ())
    target = b"/mcp?lastEventId=" + exchange.cursor
    assert one.request(b"GET", b"", *headers, target=target).status == 405
    assert exchange.over is None
    posted = one.request(
        b"POST", encoded(Request("p", "ping")), *headers, (b"content-type", b"application/json"), target=target
    )
    assert posted.status == 200
