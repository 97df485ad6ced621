"""The requests that a client's front makes (rules H4-H7, H20, H24, H30-H32)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.http.exchange import OWN_HEADERS, Endpoint, Errand, Exchange, Session
from mcpstreams_sansio.ids import ConnectionId, Secret
from mcpstreams_sansio.wire.revisions import Revision

ENDPOINT = Endpoint(b"/mcp?x=1", ((b"authorization", b"Bearer secret"),))
SESSION = Session(Secret("session-1"), Revision.R2025_11_25, marker=True)


@pytest.mark.rule("H7", "H6")
def test_a_message_is_posted_as_json_and_accepts_both_answers() -> None:
    request = ENDPOINT.post(b"{}", None)
    assert (request.method, request.target, request.body) == (b"POST", b"/mcp?x=1", b"{}")
    assert dict(request.headers) == {
        b"authorization": b"Bearer secret",
        b"accept": b"application/json, text/event-stream",
        b"content-type": b"application/json",
    }


@pytest.mark.rule("H4", "H31")
def test_in_a_session_every_request_names_it_and_the_revision() -> None:
    for request in (ENDPOINT.post(b"{}", SESSION), ENDPOINT.get(SESSION, "e1"), ENDPOINT.delete(SESSION)):
        headers = dict(request.headers)
        assert headers[b"mcp-session-id"] == b"session-1"
        assert headers[b"mcp-protocol-version"] == b"2025-11-25"


def test_the_oldest_revision_has_no_header_for_itself() -> None:
    oldest = Session(None, Revision.R2025_03_26, marker=False)
    assert {b"mcp-protocol-version", b"mcp-session-id"}.isdisjoint(dict(ENDPOINT.post(b"{}", oldest).headers))


@pytest.mark.parametrize(
    "header",
    [
        (b"x", b"a\nb"),
        (b"x", b"a\r\nevil: 1"),
        (b"x", b"\0"),
        (b"x", b" a"),
        (b"x", b"a\t"),
        (b"x y", b"a"),
        (b"x:", b"a"),
        (b"", b"a"),
        (b"X", b"a"),
        ("é".encode(), b"a"),
    ],
)
def test_a_header_that_would_break_every_request_is_refused_at_once(header: tuple[bytes, bytes]) -> None:
    with pytest.raises(ValueError, match="headers") as refused:
        Endpoint(b"/mcp", (header,))
    assert "evil" not in str(refused.value)


@pytest.mark.parametrize("name", sorted(OWN_HEADERS))
def test_a_header_of_the_protocol_is_not_for_others(name: bytes) -> None:
    with pytest.raises(ValueError, match=name.decode()):
        Endpoint(b"/mcp", ((name, b"5"),))


@pytest.mark.parametrize("value", [b"", b"a b\tc", "é".encode(), b"\xff"])
def test_whatever_else_can_stand_in_a_header_may(value: bytes) -> None:
    assert (b"x-any", value) in Endpoint(b"/mcp", ((b"x-any", value),)).post(b"{}", None).headers


def test_whatever_a_request_says_by_itself_is_its_own() -> None:
    plain = Endpoint(b"/mcp")
    requests = [plain.post(b"{}", SESSION, "e1"), plain.get(SESSION, "e1"), plain.delete(SESSION)]
    assert {name for request in requests for name, _ in request.headers} <= OWN_HEADERS


@pytest.mark.rule("P22", "H24", "H20")
def test_a_cursor_stands_in_a_header_whatever_the_method() -> None:
    get = ENDPOINT.get(SESSION, "é_1")
    assert (get.method, get.body) == (b"GET", b"")
    assert dict(get.headers)[b"accept"] == b"text/event-stream"
    assert dict(get.headers)[b"last-event-id"] == "é_1".encode()
    assert dict(ENDPOINT.post(b"{}", SESSION, "e1").headers)[b"last-event-id"] == b"e1"


@pytest.mark.rule("H32")
def test_a_session_is_ended_by_a_delete() -> None:
    request = ENDPOINT.delete(SESSION)
    assert (request.method, request.body) == (b"DELETE", b"")


@pytest.mark.rule("Q11b")
def test_no_secret_shows_itself() -> None:
    exchange = Exchange(ConnectionId(1), Errand.REQUEST, SESSION.session_id)
    shown = repr((ENDPOINT, SESSION, exchange, ENDPOINT.post(b"{}", SESSION)))
    assert "session-1" not in shown
    assert "Bearer" not in shown
