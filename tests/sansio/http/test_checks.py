"""What a request must fulfil before anything of it counts: each check, and that the first refusal wins."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.http.checks import (
    CHECKS,
    EVENTS_TYPE,
    JSON_TYPE,
    Check,
    accepts,
    check_accept,
    check_content_type,
    check_host,
    check_method,
    check_origin,
    check_path,
    check_revision,
    check_size,
    first_refusal,
)
from mcpstreams_sansio.http.config import LOOPBACK_HOSTS, HTTPConfig
from mcpstreams_sansio.http.messages import HTTPRefusal, HTTPRequest, find_header
from mcpstreams_sansio.wire.revisions import Revision

CONFIG = HTTPConfig()
ANY_HOST = HTTPConfig(allowed_hosts=None)


def request(method: bytes = b"POST", **headers: str) -> HTTPRequest:
    """Return a request with these headers; an underscore stands for a hyphen."""
    named = tuple((name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in headers.items())
    return HTTPRequest(method, b"/mcp", named)


def status_of(found: HTTPRefusal | None) -> int | None:
    return None if found is None else found.status


# ---------------------------------------------------------------------------------------------------- host and origin


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "LocalHost:1", "127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:8000", "[::1]:"]
)
def test_a_server_on_loopback_is_addressed_by_the_names_of_loopback(host: str) -> None:
    assert check_host(request(host=host), CONFIG) is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "localhost:80@evil.example",
        "localhost:evil",
        "localhost/",
        "localhost, evil.example",
        "local host",
        "::1",
        "[::1",
        "[::1]evil.example",
        "[::2]",
        "[localhost]",
        "127.0.0.2",
        "",
        ":8000",
        "\xe9",
    ],
)
def test_a_server_on_loopback_is_not_addressed_by_any_other_name(host: str) -> None:
    assert status_of(check_host(request(host=host), CONFIG)) == 403


def test_a_request_without_a_host_is_addressed_to_nobody() -> None:
    assert status_of(check_host(request(), CONFIG)) == 403


def test_a_server_may_be_addressed_by_any_name_if_it_says_so() -> None:
    assert check_host(request(host="evil.example"), ANY_HOST) is None
    assert check_host(request(), ANY_HOST) is None


def test_the_names_of_a_server_are_written_as_one_likes() -> None:
    config = HTTPConfig(allowed_hosts=frozenset({"MCP.Example.org", "[FE80::1]"}))
    assert check_host(request(host="mcp.example.ORG:443"), config) is None
    assert check_host(request(host="[fe80::1]"), config) is None
    assert status_of(check_host(request(host="localhost"), config)) == 403


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost",
        "https://localhost:3000",
        "HTTP://LOCALHOST",
        "http://127.0.0.1:5173",
        "http://[::1]",
        "http://[::1]:80",
    ],
)
def test_pages_of_the_server_itself_may_send_requests(origin: str) -> None:
    assert check_origin(request(origin=origin), CONFIG) is None


@pytest.mark.rule("H2")
def test_who_is_no_browser_has_no_origin() -> None:
    assert check_origin(request(), CONFIG) is None
    assert check_origin(request(), ANY_HOST) is None


@pytest.mark.rule("H2")
@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "",
        "localhost",
        "//localhost",
        "file://localhost",
        "file://",
        "http://",
        "http://localhost.evil.example",
        "http://localhost@evil.example",
        "http://evil.example#@localhost",
        "http://evil.example\\@localhost",
        "http://localhost/page",
        "http://[::1",
        "http://[::1]evil.example",
        "http://localhost:80:90",
        " http://localhost",
        "http://\xe9",
    ],
)
def test_pages_of_others_may_not(origin: str) -> None:
    assert status_of(check_origin(request(origin=origin), CONFIG)) == 403
    assert status_of(check_origin(request(origin=origin), ANY_HOST)) == 403


@pytest.mark.rule("H2")
def test_origins_are_allowed_by_name_to_the_letter() -> None:
    allowed = frozenset({"https://app.example.org", "null", "vscode-webview://panel"})
    config = HTTPConfig(allowed_hosts=None, allowed_origins=allowed)
    for origin in allowed:
        assert check_origin(request(origin=origin), config) is None
    for origin in ("https://app.example.org:444", "http://app.example.org", "http://localhost"):
        assert status_of(check_origin(request(origin=origin), config)) == 403


# ------------------------------------------------------------------------------------------- path, method, size, form


@pytest.mark.rule("H1")
@pytest.mark.parametrize(
    ("target", "status"),
    [
        (b"/mcp", None),
        (b"/mcp?lastEventId=x_1", None),
        (b"/mcp?", None),
        (b"/", 404),
        (b"/mcp/", 404),
        (b"/MCP", 404),
        (b"*", 404),
        (b"", 404),
        (b"/mcp\xff", 404),
    ],
)
def test_there_is_one_endpoint(target: bytes, status: int | None) -> None:
    assert status_of(check_path(HTTPRequest(b"POST", target, ()), CONFIG)) == status


@pytest.mark.rule("H1")
def test_the_endpoint_is_where_the_configuration_says() -> None:
    config = HTTPConfig(path="/a/b")
    assert check_path(HTTPRequest(b"POST", b"/a/b", ()), config) is None
    assert status_of(check_path(HTTPRequest(b"POST", b"/mcp", ()), config)) == 404


@pytest.mark.rule("H1", "H20")
@pytest.mark.parametrize("method", [b"PUT", b"PATCH", b"HEAD", b"OPTIONS", b"post", b"", b"CONNECT"])
def test_another_method_is_not_offered_and_the_answer_says_which_are(method: bytes) -> None:
    refused = check_method(request(method), CONFIG)
    assert refused is not None
    assert (refused.status, refused.headers) == (405, ((b"allow", b"POST, DELETE"),))


@pytest.mark.rule("H1")
@pytest.mark.parametrize("method", [b"POST", b"GET", b"DELETE"])
def test_three_methods_are_known(method: bytes) -> None:
    assert check_method(request(method), CONFIG) is None


@pytest.mark.rule("H8")
def test_a_body_has_a_largest_size() -> None:
    config = HTTPConfig(max_body_bytes=10)
    assert check_size(attrs.evolve(request(), body=b"x" * 10), config) is None
    assert status_of(check_size(attrs.evolve(request(), body=b"x" * 11), config)) == 413


@pytest.mark.rule("H8")
@pytest.mark.parametrize(
    ("declared", "status"),
    [
        ("0", None),
        ("10", None),
        ("0000000000000000000000000000010", None),
        ("11", 413),
        (" 11 ", 413),
        ("1" + "0" * 5_000, 413),
        ("", None),
        ("-11", None),
        ("+11", None),
        ("11, 11", None),
        ("eleven", None),
        ("\xb2\xb2", None),
    ],
)
def test_a_body_is_too_large_by_its_own_account(declared: str, status: int | None) -> None:
    config = HTTPConfig(max_body_bytes=10)
    assert status_of(check_size(request(content_length=declared), config)) == status


@pytest.mark.rule("H8")
def test_a_body_that_says_less_of_itself_than_it_is_gains_nothing() -> None:
    lying = attrs.evolve(request(content_length="1"), body=b"x" * 11)
    assert status_of(check_size(lying, HTTPConfig(max_body_bytes=10))) == 413


@pytest.mark.rule("H7", "H20")
@pytest.mark.parametrize(
    ("accept", "json", "events"),
    [
        ("application/json, text/event-stream", True, True),
        ("text/event-stream;q=0.9,application/json ; q=0.1", True, True),
        ("Application/JSON", True, False),
        ("TEXT/EVENT-STREAM", False, True),
        ("*/*", True, True),
        ("text/html, */*;q=0.1", True, True),
        ("application/*", True, False),
        ("text/*", False, True),
        ("text/*, */*;q=0", False, True),
        ("*/*, text/event-stream;q=0", True, False),
        ("*/*, text/event-stream ; Q = 0.000 ", True, False),
        ("text/event-stream;q=0, text/event-stream", False, True),
        ("application/json;profile=x;q=0", False, False),
        ("application/json;q=0.001", True, False),
        ("text/html", False, False),
        ("application/jsonp, text/event-streams", False, False),
        ("", False, False),
        (",;,", False, False),
    ],
)
def test_what_is_accepted_is_said_by_name_or_by_wildcard(accept: str, json: bool, events: bool) -> None:
    asked = request(accept=accept)
    assert (accepts(asked, JSON_TYPE), accepts(asked, EVENTS_TYPE)) == (json, events)
    assert status_of(check_accept(asked, CONFIG)) == (None if json or events else 406)
    assert status_of(check_accept(attrs.evolve(asked, method=b"GET"), CONFIG)) == (None if events else 406)
    assert check_accept(attrs.evolve(asked, method=b"DELETE"), CONFIG) is None


@pytest.mark.rule("H7")
def test_who_does_not_say_what_it_accepts_accepts_everything() -> None:
    assert accepts(request(), JSON_TYPE)
    assert accepts(request(), EVENTS_TYPE)


@pytest.mark.rule("H7")
def test_what_is_accepted_may_be_said_in_several_headers() -> None:
    asked = HTTPRequest(b"POST", b"/mcp", ((b"Accept", b"application/json"), (b"accept", b"text/event-stream")))
    assert accepts(asked, JSON_TYPE)
    assert accepts(asked, EVENTS_TYPE)


@pytest.mark.rule("H8")
@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", None),
        ("application/json; charset=utf-8", None),
        ("Application/Json;charset=UTF-8", None),
        (" application/json ", None),
        ("text/plain", 415),
        ("application/json-rpc", 415),
        ("application/x-www-form-urlencoded", 415),
        ("text/plain; application/json", 415),
        ("", 415),
    ],
)
def test_what_is_posted_is_json(content_type: str, status: int | None) -> None:
    assert status_of(check_content_type(request(content_type=content_type), CONFIG)) == status


@pytest.mark.rule("H8")
def test_only_what_is_posted_has_a_type() -> None:
    assert status_of(check_content_type(request(b"POST"), CONFIG)) == 415
    assert check_content_type(request(b"GET"), CONFIG) is None
    assert check_content_type(request(b"DELETE"), CONFIG) is None


@pytest.mark.rule("H4")
@pytest.mark.parametrize("revision", Revision)
def test_every_revision_that_is_served_may_be_named(revision: Revision) -> None:
    assert check_revision(request(mcp_protocol_version=revision.value), CONFIG) is None


@pytest.mark.rule("H4")
def test_a_request_may_leave_its_revision_to_the_session() -> None:
    assert check_revision(request(), CONFIG) is None


@pytest.mark.rule("H4")
@pytest.mark.parametrize(
    "version", ["2024-11-05", "2026-07-28", "1", "", "2025-11-25 ", "2025-11-25,2025-06-18", "\xff"]
)
def test_a_revision_that_is_not_served_is_refused(version: str) -> None:
    assert status_of(check_revision(request(mcp_protocol_version=version), CONFIG)) == 400


# -------------------------------------------------------------------------------------------------------------- order

ALL_WRONG = HTTPRequest(
    b"PUT",
    b"/",
    (
        (b"host", b"evil.example"),
        (b"origin", b"null"),
        (b"accept", b"image/png"),
        (b"content-type", b"text/plain"),
        (b"mcp-protocol-version", b"1"),
    ),
    b"y" * 11,
)


def with_header(asked: HTTPRequest, name: bytes, value: bytes) -> HTTPRequest:
    """Return the request with another value for a header."""
    return attrs.evolve(asked, headers=tuple((key, value if key == name else old) for key, old in asked.headers))


def test_the_first_refusal_wins() -> None:
    config = HTTPConfig(max_body_bytes=10)
    mended = [
        (403, ALL_WRONG),
        (403, one := with_header(ALL_WRONG, b"host", b"localhost")),
        (404, two := with_header(one, b"origin", b"http://localhost")),
        (405, three := attrs.evolve(two, target=b"/mcp")),
        (413, four := attrs.evolve(three, method=b"POST")),
        (406, five := attrs.evolve(four, body=b"x")),
        (415, six := with_header(five, b"accept", b"*/*")),
        (400, seven := with_header(six, b"content-type", b"application/json")),
        (None, with_header(seven, b"mcp-protocol-version", b"2025-11-25")),
    ]
    assert [status_of(first_refusal(asked, config)) for _, asked in mended] == [status for status, _ in mended]
    assert len(mended) == len(CHECKS) + 1, "each check is there once"


@pytest.mark.rule("H2", "H8")
@pytest.mark.parametrize("body", [b"", b"x", b"x" * 11])
def test_a_request_that_is_refused_for_its_head_is_refused_whatever_its_body(body: bytes) -> None:
    config = HTTPConfig(max_body_bytes=10)
    sound = HTTPRequest(
        b"POST", b"/mcp", ((b"host", b"localhost"), (b"accept", b"*/*"), (b"content-type", b"application/json"))
    )
    heads = [
        attrs.evolve(sound, headers=(*sound.headers, (b"origin", b"null"))),
        attrs.evolve(sound, headers=(*sound.headers, (b"content-length", b"11"))),
        attrs.evolve(sound, headers=(*sound.headers, (b"mcp-protocol-version", b"1"))),
        with_header(sound, b"host", b"evil.example"),
        with_header(sound, b"accept", b"image/png"),
        with_header(sound, b"content-type", b"text/plain"),
        attrs.evolve(sound, method=b"PUT"),
        attrs.evolve(sound, target=b"/"),
    ]
    assert first_refusal(sound, config) is None
    for head in heads:
        assert first_refusal(head, config) is not None
        assert first_refusal(attrs.evolve(head, body=body), config) is not None


@pytest.mark.rule("H5")
def test_the_names_of_headers_mind_no_case() -> None:
    headers = ((b"HOST", b"localhost"), (b"Accept", b"*/*"), (b"Content-TYPE", b"application/json"))
    assert first_refusal(HTTPRequest(b"POST", b"/mcp", headers), CONFIG) is None
    assert status_of(first_refusal(HTTPRequest(b"POST", b"/mcp", (*headers, (b"ORIGIN", b"null"))), CONFIG)) == 403
    assert find_header(((b"Mcp-Session-Id", b"1"), (b"MCP-SESSION-ID", b"2")), b"mcp-session-id") == b"1"
    assert find_header((), b"mcp-session-id") is None


@pytest.mark.parametrize("check", CHECKS)
def test_no_refusal_repeats_what_was_refused(check: Check) -> None:
    refused = check(attrs.evolve(ALL_WRONG, method=b"POST"), HTTPConfig(max_body_bytes=10))
    if refused is None:  # the method is the one thing that had to be mended for the others to be looked at
        assert check is check_method
        return
    for value in (b"evil", b"null", b"image", b"text/plain", b"yy"):
        assert value not in repr(refused).encode()


@pytest.mark.parametrize("status", [0, 200, 302, 399, 600])
def test_what_is_no_refusal_can_not_be_used_as_one(status: int) -> None:
    with pytest.raises(ValueError, match="status"):
        HTTPRefusal(status, "no")


@pytest.mark.parametrize(
    "header",
    [(b"www-authenticate", b"a\r\nb: c"), (b"WWW-Authenticate", b"Bearer"), (b"a b", b"c"), (b"content-length", b"5")],
)
def test_a_refusal_has_no_header_that_would_break_its_answer(header: tuple[bytes, bytes]) -> None:
    with pytest.raises(ValueError, match="headers"):
        HTTPRefusal(401, "no", (header,))


# ------------------------------------------------------------------------------------------------------ configuration


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("path", "mcp"),
        ("path", ""),
        ("max_body_bytes", 0),
        ("max_sessions", 0),
        ("max_sessions", -1),
        ("max_sessions_per_principal", 0),
        ("session_idle", 0.0),
        ("session_idle", -1.0),
        ("session_idle", float("inf")),
        ("session_idle", float("nan")),
    ],
)
def test_a_choice_outside_its_range_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(ValueError, match=name):
        HTTPConfig(**{name: value})  # type: ignore[arg-type]  # the point is what attrs makes of it


def test_by_default_a_server_is_for_this_machine_alone() -> None:
    assert HTTPConfig().allowed_hosts == LOOPBACK_HOSTS == {"localhost", "127.0.0.1", "[::1]"}
    assert HTTPConfig().allowed_origins == frozenset()
