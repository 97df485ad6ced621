"""Replay that reached the wrong party or the wrong stream (group A: over HTTP, by cursor)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.framing.event_ids import event_id
from mcpstreams_sansio.ids import StreamId
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Notification, Request
from mcpstreams_sansio.wire.refusals import Reason
from tests.sansio.serving import MARKED, STREAMS, Seen, Serving

CALL = Request(1, "tools/call", {"name": "work"})
CAPABILITIES = pytest.mark.parametrize("capabilities", [{}, STREAMS, MARKED])


def progress(seen: Seen) -> list[object]:
    """Return what was reported on an exchange."""
    reports = [m.params for m in seen.messages if isinstance(m, Notification) and m.method == "notifications/progress"]
    return [report["progress"] for report in reports if report is not None]


@CAPABILITIES
@pytest.mark.rule("R17", "Q13", "H25")
def test_a1_a_cursor_of_another_session_is_refused_before_any_byte(capabilities: JSONObject) -> None:
    one = Serving()
    sessions = [one.begin(capabilities), one.begin(capabilities)]
    exchanges = [one.post(CALL, session) for session in sessions]
    a, b = (call.stream_id for call in one.calls)
    one.notify(a, 1)
    one.notify(b, 2)
    cursors = [exchange.cursor for exchange in exchanges]
    for exchange in exchanges:
        one.lose(exchange)
    one.notify(a, 3)
    one.notify(b, 4)
    foreign = one.get(sessions[1], cursors[0])
    unknown = one.get(sessions[1], event_id(StreamId("unknown"), 1).encode())
    assert (foreign.status, foreign.reason) == (400, Reason.INVALID_CURSOR.value)
    assert foreign.body == unknown.body, "what is another's looks like what is nobody's"
    assert progress(one.get(sessions[1], cursors[1])) == [4]
    assert progress(one.get(sessions[0], cursors[0])) == [3]


@pytest.mark.rule("R25", "Q13")
def test_a1_neither_does_another_principal_get_a_byte() -> None:
    one = Serving()
    alice, bob = one.begin(principal="alice"), one.begin(principal="bob")
    exchange = one.post(CALL, alice, principal="alice")
    cursor = exchange.cursor
    assert one.get(alice, cursor, principal="bob").status == 404
    assert one.get(bob, cursor, principal="bob").status == 400
    assert exchange.over is None


@pytest.mark.rule("Q13")
def test_a3_a_cursor_names_its_stream_whole() -> None:
    one = Serving()
    session = one.begin({})
    exchange = one.post(CALL, session)
    name, _, position = exchange.cursor.decode().rpartition("_")
    for stream in ("", name[:-1], name[1:], name + "x", name + ":x", name.swapcase(), "%" + name):
        seen = one.get(session, f"{stream}_{position}".encode())
        assert (seen.status, seen.reason) == (400, Reason.INVALID_CURSOR.value)
    assert exchange.over is None


@CAPABILITIES
@pytest.mark.rule("H25", "H26", "R17")
def test_a4_a_cursor_brings_back_its_own_stream_and_what_follows_of_it(capabilities: JSONObject) -> None:
    one = Serving()
    session = one.begin(capabilities)
    exchange, other = one.post(CALL, session), one.post(Request(2, "tools/call", {"name": "other"}), session)
    p, g = (call.stream_id for call in one.calls)
    one.notify(p, 1)
    cursor = exchange.cursor
    one.notify(g, 10)
    one.notify(p, 2)
    one.notify(g, 20)
    one.notify(p, 3)
    one.lose(exchange)
    again = one.get(session, cursor)
    assert progress(again) == [2, 3]
    one.notify(p, 4)
    one.notify(g, 30)
    assert progress(again) == [2, 3, 4]
    assert progress(other) == [10, 20, 30]


@pytest.mark.rule("Q13")
@pytest.mark.parametrize("cursor", [b"nope", b"nope_0", b"nope_1", b"0", b"_0", b"-1"])
def test_a5_an_unknown_cursor_replays_nothing(cursor: bytes) -> None:
    one = Serving()
    session = one.begin({})
    one.lose(one.post(CALL, session))
    one.notify(one.call.stream_id, 1)
    seen = one.get(session, cursor)
    assert (seen.status, len(seen.messages), seen.reason) == (400, 1, Reason.INVALID_CURSOR.value)


@pytest.mark.rule("Q5c", "Q13")
def test_a5_a_cursor_above_the_newest_message_replays_nothing() -> None:
    one = Serving()
    session = one.begin({})
    one.lose(one.post(CALL, session))
    seen = one.get(session, event_id(one.call.stream_id, 1).encode())
    assert (seen.status, seen.reason) == (400, Reason.INVALID_CURSOR.value)
