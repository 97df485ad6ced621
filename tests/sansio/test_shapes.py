"""An input is what it is declared to be, or it is refused before anything else (rule R13)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

import attrs
import pytest

from mcpstreams_sansio.connections import ConnectionLost, Framing
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.http.messages import HTTPRequest
from mcpstreams_sansio.ids import ConnectionId, Secret, StreamId
from mcpstreams_sansio.shapes import check_shape, check_time, members_of
from mcpstreams_sansio.wire.converter import Position, Seconds
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject, Response
from tests.wording import whole


@attrs.frozen
class Everything:
    """A field of each kind that an input may have."""

    text: str = "text"
    name: StreamId = StreamId("name")
    number: ConnectionId = ConnectionId(1)
    position: Position = 0
    seconds: Seconds | None = None
    flag: bool = False
    data: bytes = b""
    member: Framing = Framing.LINES
    secret: Secret = Secret("secret")
    either: str | int = 1
    answer: Response | ErrorResponse = Response(1, {})
    params: JSONObject | None = None
    several: frozenset[str] = frozenset()
    pairs: tuple[tuple[bytes, bytes], ...] = ()
    request: HTTPRequest = HTTPRequest(b"GET", b"/mcp", ())


KINDS = frozenset({Everything})
LONE_SURROGATE = "\ud800"
TOO_LARGE = 10**640


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", "ü\u2028"),
        ("number", -1),
        ("number", TOO_LARGE - 1),
        ("position", 2**80),
        ("seconds", 0),
        ("seconds", 0.5),
        ("either", "1"),
        ("answer", ErrorResponse(None, 1, "failed", data=[1])),
        ("params", {"a": object()}),  # what is in it, only writing it can tell
        ("params", MappingProxyType({})),
        ("several", frozenset({"a", "b"})),
        ("pairs", ((b"a", b"b"), (b"c", b"d"))),
    ],
)
def test_what_fits_passes(name: str, value: object) -> None:
    check_shape(Everything(**{name: value}), KINDS)  # type: ignore[arg-type]  # the type of one field or another


@pytest.mark.rule("R13")
@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("text", b"secret", "text must be text that UTF-8 can carry"),
        ("text", LONE_SURROGATE, "text must be text that UTF-8 can carry"),
        ("name", None, "name must be text that UTF-8 can carry"),
        ("number", "secret", "number must be an integer that JSON can carry"),
        ("number", True, "number must be an integer that JSON can carry"),
        ("number", TOO_LARGE, "number must be an integer that JSON can carry"),
        ("position", -1, "position must be a position"),
        ("position", 1.0, "position must be a position"),
        ("seconds", -0.5, "seconds must be a number of seconds"),
        ("seconds", math.nan, "seconds must be a number of seconds"),
        ("seconds", math.inf, "seconds must be a number of seconds"),
        ("seconds", 10**400, "seconds must be a number of seconds"),
        ("seconds", True, "seconds must be a number of seconds or nothing"),
        ("flag", 1, "flag must be true or false"),
        ("data", "secret", "data must be bytes"),
        ("member", "lines", "member must be a Framing"),
        ("secret", "secret", "secret must be a Secret"),
        ("secret", Secret(b"secret"), "secret.value must be text that UTF-8 can carry"),  # type: ignore[arg-type]  # the mistake itself
        ("either", None, "either must be text that UTF-8 can carry or an integer that JSON can carry"),
        ("answer", "secret", "answer must be a Response or an ErrorResponse"),
        ("answer", Response(1, None), "answer.result must be an object"),  # type: ignore[arg-type]  # the mistake itself
        ("answer", Response([], {}), "answer.id must be text that UTF-8 can carry or an integer that JSON can carry"),  # type: ignore[arg-type]  # the mistake itself
        ("params", ["secret"], "params must be an object or nothing"),
        ("several", {"a"}, "several must be a frozenset"),
        ("several", frozenset({1}), "several, each of it must be text that UTF-8 can carry"),
        ("pairs", [], "pairs must be a tuple"),
        ("pairs", ((b"a",),), "pairs, each of it must be a tuple of 2"),
        ("pairs", ((b"a", "secret"),), "pairs, each of it, each of it must be bytes"),
        ("request", "secret", "request must be an HTTPRequest"),
    ],
)
def test_what_does_not_fit_is_named_and_not_shown(name: str, value: object, fault: str) -> None:
    with pytest.raises(LocalProtocolError, match=whole(f"Everything.{fault}")):
        check_shape(Everything(**{name: value}), KINDS)  # type: ignore[arg-type]  # the mistake itself


@pytest.mark.rule("R13")
@pytest.mark.parametrize(
    ("value", "kind"),
    [("secret", "str"), (None, "NoneType"), (Everything, "type"), (ConnectionLost(ConnectionId(1)), "ConnectionLost")],
)
def test_what_is_no_input_at_all_is_refused(value: object, kind: str) -> None:
    with pytest.raises(LocalProtocolError, match=whole(f"{kind} is no input")):
        check_shape(value, KINDS)


def test_a_field_that_nobody_can_check_is_a_mistake_of_ours() -> None:
    @attrs.frozen
    class Odd:
        field: list[int]

    with pytest.raises(TypeError, match=r"\Aan input holds a list\[int\]\Z"):
        check_shape(Odd([]), frozenset({Odd}))


@pytest.mark.rule("R13", "Q7h")
@pytest.mark.parametrize("now", [0.5, math.nan, math.inf, 2.0**41, 10**400, "1", None, 1j])
def test_what_is_no_moment_or_past_is_refused(now: object) -> None:
    with pytest.raises(LocalProtocolError, match=r"\Athe time must be a number of seconds, and must not go back\Z"):
        check_time(now, 1.0)


@pytest.mark.parametrize("now", [1, 1.0, 5])
def test_time_may_stand_still_or_go_on(now: float) -> None:
    check_time(now, 1.0)


def test_a_union_has_members() -> None:
    assert members_of(int | str | Mapping) == {int, str, Mapping}
