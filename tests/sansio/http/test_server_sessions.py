"""Sessions at the server's front for HTTP: how they begin, whom they serve, and how they end."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import EndWriting
from mcpstreams_sansio.errors import INVALID_PARAMS, INVALID_REQUEST
from mcpstreams_sansio.http.checks import JSON_TYPE
from mcpstreams_sansio.http.config import HTTPConfig
from mcpstreams_sansio.http.messages import Headers
from mcpstreams_sansio.server.dispatch import NotificationReceived
from mcpstreams_sansio.server.effects import StartCall, StopCall, StopReason
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Notification, Request, Response
from tests.sansio.serving import STREAMS, Serving, initialize, serving

CALL = Request(1, "tools/call", {"name": "work"})
LIST = Request(2, "resources/list")
PING = Request("p", "ping")
NO_BODY: Headers = ()


@pytest.mark.rule("H30")
def test_initialize_opens_a_session_whose_id_stands_in_the_head() -> None:
    one = Serving()
    seen = one.post(initialize({}))
    assert (seen.status, seen.headers[b"content-type"]) == (200, JSON_TYPE)
    assert seen.answer.result["protocolVersion"] == "2025-11-25"
    session = seen.headers[b"mcp-session-id"]
    assert all(0x21 <= byte <= 0x7E for byte in session)
    assert len(session) >= 22
    assert b"mcp-session-id" not in one.post(PING, session).headers
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("H30")
def test_every_session_has_an_id_of_its_own() -> None:
    one = Serving()
    assert len({one.begin() for _ in range(5)}) == 5


@pytest.mark.parametrize(
    "params",
    [None, {}, {"protocolVersion": "2025-11-25", "capabilities": {"streams": 1}, "clientInfo": {}}],
)
def test_an_initialize_that_can_not_be_read_leaves_no_session(params: JSONObject | None) -> None:
    one = Serving()
    before = one.server.snapshot(0.0)
    seen = one.post(Request("i", "initialize", params))
    assert (seen.status, seen.refusal.id, seen.refusal.code) == (200, "i", INVALID_PARAMS)
    assert b"mcp-session-id" not in seen.headers
    one.assert_at_rest()
    assert one.server.snapshot(0.0) == before


def test_a_session_is_initialised_once() -> None:
    one = Serving()
    session = one.begin()
    for named in (session, b"unknown"):
        seen = one.post(initialize({}, 7), named)
        assert (seen.status, seen.refusal.id, seen.refusal.code) == (400, 7, INVALID_REQUEST)
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("H31")
def test_without_a_session_nothing_but_initialize_is_served() -> None:
    one = Serving()
    one.begin()
    exchanges = [one.post(PING), one.post(CALL), one.post(Notification("notifications/x")), one.post(Response(1, {}))]
    exchanges += [one.get(None), one.get(None, b"s_1"), one.delete(None)]
    assert {(seen.status, seen.refusal.id) for seen in exchanges} == {(400, None)}
    assert one.heard(StartCall) + one.heard(NotificationReceived) == []
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("H31", "H32", "H33")
@pytest.mark.parametrize("named", [b"unknown", b"", b"\xff", b"x" * 10_000])
def test_a_session_that_is_not_there_is_not_found(named: bytes) -> None:
    one = Serving()
    one.begin()
    exchanges = [one.post(PING, named), one.post(CALL, named), one.get(named), one.delete(named)]
    assert {seen.status for seen in exchanges} == {404}
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("H33", "R25")
@pytest.mark.parametrize("visitor", ["mallory", None])
def test_anothers_session_is_not_there_either(visitor: str | None) -> None:
    one = Serving()
    session = one.begin(principal="alice")
    call = one.post(CALL, session, principal="alice")
    absent = one.post(PING, b"unknown", principal=visitor)
    exchanges = [
        one.post(PING, session, principal=visitor),
        one.get(session, call.cursor, principal=visitor),
        one.delete(session, principal=visitor),
    ]
    assert {(seen.status, seen.body) for seen in exchanges} == {(404, absent.body)}
    assert one.post(PING, session, principal="alice").status == 200
    one.respond(one.call)
    assert call.told[-2:] == [1, "notifications/stream/end"], "its owner is not disturbed"


@pytest.mark.rule("H32", "R16")
def test_a_session_is_ended_by_its_client() -> None:
    one = Serving()
    session, other = one.begin(), one.begin()
    ended = one.delete(session)
    assert (ended.status, ended.head and ended.head.headers, ended.chunks) == (204, NO_BODY, [])
    assert isinstance(ended.over, EndWriting)
    assert [one.post(PING, session).status, one.get(session).status, one.delete(session).status] == [404] * 3
    assert one.post(PING, other).status == 200
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("R16", "P8")
def test_the_end_of_a_session_detaches_its_announced_streams_and_ends_its_silent_ones() -> None:
    one = Serving()
    session = one.begin(STREAMS)
    announced, silent = one.post(CALL, session), one.post(LIST, session)
    one.notify(one.calls[1].stream_id, 1)
    one.delete(session)
    for exchange in (announced, silent):
        assert isinstance(exchange.over, EndWriting)
        assert b"retry:" not in exchange.body, "nobody is asked to come back to a session that is over"
    assert one.heard(StopCall) == [StopCall(one.calls[1].stream_id, StopReason.SESSION_ENDED)]
    again = one.post(Request(9, "stream/resume", announced.ref), one.begin(STREAMS))
    one.respond(one.calls[0])
    assert again.told == ["notifications/stream/create", 1, "notifications/stream/end", 9]


@pytest.mark.rule("R16")
def test_a_session_that_nobody_uses_ends() -> None:
    one = serving(HTTPConfig(session_idle=60.0))
    session = one.begin()
    one.wait(59.0)
    assert one.post(PING, session).status == 200
    one.wait(59.0)
    assert one.post(PING, session).status == 200, "each exchange counts"
    one.wait(60.0)
    assert one.post(PING, session).status == 404
    one.assert_at_rest()


@pytest.mark.rule("R16")
def test_a_session_does_not_end_while_an_exchange_is_open_but_a_detached_stream_does_not_keep_it() -> None:
    one = serving(HTTPConfig(session_idle=60.0))
    session = one.begin(STREAMS)
    exchange = one.post(CALL, session)
    one.wait(300.0)
    assert one.post(PING, session).status == 200
    one.lose(exchange)
    one.wait(60.0)
    assert one.post(PING, session).status == 404
    assert one.heard(StopCall) == []


@pytest.mark.rule("R16")
def test_above_the_cap_the_session_that_has_been_idle_for_longest_ends() -> None:
    one = serving(HTTPConfig(max_sessions=2))
    first, second = one.begin(), one.begin()
    one.wait(1.0)
    one.post(PING, first)
    third = one.begin()
    assert [one.post(PING, session).status for session in (first, second, third)] == [200, 404, 200]
    one.assert_at_rest(sessions=2)


@pytest.mark.rule("R16")
def test_a_session_that_makes_room_ends_like_any_other() -> None:
    one = serving(HTTPConfig(max_sessions=1))
    one.lose(one.post(CALL, one.begin({})))
    assert one.begin({})
    assert one.heard(StopCall) == [StopCall(one.call.stream_id, StopReason.SESSION_ENDED)]


@pytest.mark.rule("R16", "H30")
def test_when_every_session_is_in_use_no_other_begins() -> None:
    one = serving(HTTPConfig(max_sessions=1))
    session = one.begin()
    exchange = one.post(CALL, session)
    refused = one.post(initialize({}))
    assert (refused.status, refused.headers[b"retry-after"]) == (503, b"5")
    assert b"mcp-session-id" not in refused.headers
    one.respond(one.call)
    assert isinstance(exchange.over, EndWriting)
    assert one.begin(), "now the session is idle and makes room"
    assert one.post(PING, session).status == 404
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("R16", "R25")
@pytest.mark.parametrize(
    "somebody",
    [{"principal": "mallory"}, {"address": "192.0.2.7"}, {}, {"principal": "mallory", "address": "192.0.2.7"}],
    ids=["principal", "address", "nobody", "principal at an address"],
)
def test_who_opens_too_many_sessions_ends_its_own(somebody: dict[str, str]) -> None:
    one = serving(HTTPConfig(max_sessions=100, max_sessions_per_principal=2))
    others = [
        ("alice", one.begin(principal="alice")),
        (None, one.begin(address="192.0.2.8")),
        ("192.0.2.7", one.begin(principal="192.0.2.7")),
    ]
    principal = somebody.get("principal")
    opened = [one.begin(**somebody) for _ in range(5)]  # type: ignore[arg-type]  # the names are those of arguments
    found = [one.post(PING, session, principal=principal).status for session in opened]
    assert found == [404, 404, 404, 200, 200]
    assert [one.post(PING, session, principal=owner).status for owner, session in others] == [200] * 3
    one.assert_at_rest(sessions=5)


@pytest.mark.rule("R25")
def test_the_quota_of_a_principal_is_the_same_wherever_it_comes_from() -> None:
    one = serving(HTTPConfig(max_sessions_per_principal=1))
    first = one.begin(principal="alice", address="192.0.2.1")
    second = one.begin(principal="alice", address="192.0.2.2")
    assert [one.post(PING, session, principal="alice").status for session in (first, second)] == [404, 200]


@pytest.mark.rule("R16", "R25")
def test_of_ones_own_sessions_the_one_that_has_been_idle_for_longest_ends() -> None:
    one = serving(HTTPConfig(max_sessions_per_principal=3))
    first, second, third = one.begin(), one.begin(), one.begin()
    one.post(PING, first)
    call = one.post(CALL, second)
    fourth = one.begin()
    assert [one.post(PING, session).status for session in (first, second, third, fourth)] == [200, 200, 404, 200]
    assert call.over is None


@pytest.mark.rule("R16", "R25")
def test_when_each_of_ones_own_sessions_is_in_use_no_other_begins_for_oneself_alone() -> None:
    one = serving(HTTPConfig(max_sessions_per_principal=1))
    session = one.begin(address="192.0.2.7")
    one.post(CALL, session)
    refused = one.post(initialize({}), address="192.0.2.7")
    assert (refused.status, refused.headers[b"retry-after"]) == (429, b"5")
    assert b"mcp-session-id" not in refused.headers
    assert one.begin(address="192.0.2.8")
    one.respond(one.call)
    assert one.begin(address="192.0.2.7"), "now it is idle and makes room"
    assert one.post(PING, session).status == 404


@pytest.mark.rule("R25")
@pytest.mark.parametrize("end", ["delete", "idle"])
def test_a_session_that_is_over_counts_no_more(end: str) -> None:
    one = serving(HTTPConfig(max_sessions_per_principal=1, session_idle=60.0))
    session = one.begin()
    if end == "delete":
        one.delete(session)
    else:
        one.wait(60.0)
    again = one.begin()
    assert one.post(PING, again).status == 200
    one.assert_at_rest(sessions=1)


def test_an_initialize_that_fails_ends_no_session() -> None:
    one = serving(HTTPConfig(max_sessions=1))
    session = one.begin()
    assert one.post(Request("i", "initialize")).refusal.code == INVALID_PARAMS
    assert one.post(PING, session).status == 200
