"""Sessions that lived too long, or that nobody had asked for (group I: at the server)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.server.effects import StreamGone
from mcpstreams_sansio.wire.jsonrpc import Request
from tests.sansio.serving import EVENTS, HOST, STREAMS, Serving, initialize

CALL = Request(1, "tools/call", {"name": "work"})
PING = Request("p", "ping")


@pytest.mark.rule("H31")
@pytest.mark.parametrize(("session", "status"), [(b"stale", 404), (None, 400)])
def test_i1_a_stale_session_is_not_found_and_a_missing_one_is_a_bad_request(session: bytes | None, status: int) -> None:
    one = Serving()
    exchanges = [one.post(PING, session), one.get(session), one.get(session, b"s_1"), one.delete(session)]
    assert [seen.status for seen in exchanges] == [status] * 4


def test_i7_a_refused_request_creates_nothing() -> None:
    one = Serving()
    before = one.server.snapshot(0.0)
    one.get(None)
    one.get(b"stale", b"s_1")
    one.post(PING)
    one.post(initialize({}), b"stale")
    one.post(initialize({}), None, (b"origin", b"http://evil.example"))
    one.post(initialize({}), None, (b"accept", b"image/png"))
    one.request(b"GET", b"", HOST, EVENTS)
    one.assert_at_rest()
    assert one.server.snapshot(0.0) == before
    assert one.server.next_deadline() is None


@pytest.mark.rule("H32", "R16")
def test_i7_a_deleted_session_leaves_nothing() -> None:
    one = Serving()
    before = one.server.snapshot(0.0)
    for _ in range(3):
        session = one.begin({})
        one.lose(one.post(CALL, session))
        one.delete(session)
    one.assert_at_rest()
    assert len(one.heard(StreamGone)) == 3
    assert one.server.snapshot(0.0) == before


@pytest.mark.parametrize(
    "params", [None, {}, {"protocolVersion": 1, "capabilities": {}, "clientInfo": {}}, {"_meta": 1}]
)
def test_i8_a_failed_initialize_leaves_no_session(params: dict[str, int] | None) -> None:
    one = Serving()
    before = one.server.snapshot(0.0)
    seen = one.post(Request("i", "initialize", params))
    assert seen.refusal.id == "i"
    one.assert_at_rest()
    assert one.server.snapshot(0.0) == before


def test_i8_a_failed_initialize_on_a_line_leaves_no_handshake() -> None:
    one = Serving()
    lines = one.connect()
    one.send(lines, Request("i", "initialize", {}), CALL)
    assert one.calls == []
    one.send(lines, initialize(STREAMS), CALL)
    assert one.call.request == CALL
