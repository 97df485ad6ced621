"""Two requests under one key are the same call exactly where method, id, params and progress token are the same."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.errors import RemoteProtocolError
from mcpstreams_sansio.wire.digest import call_digest
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Request, decode_message, encode_message
from tests.sansio.wire.json_values import OBJECTS, REQUEST_IDS, TEXT

PARAMS: JSONObject = {"name": "t", "arguments": {"a": [1, "1", None], "b": "é"}, "_meta": {"progressToken": 5}}
CALL = Request(7, "tools/call", PARAMS)


@pytest.mark.rule("R21")
@pytest.mark.parametrize(
    "other",
    [
        Request(8, "tools/call", PARAMS),
        Request("7", "tools/call", PARAMS),
        Request(7, "tools/list", PARAMS),
        Request(7, "tools/call", {**PARAMS, "name": "u"}),
        Request(7, "tools/call", {**PARAMS, "more": None}),
        Request(7, "tools/call", {**PARAMS, "arguments": {"a": [1, "1", None]}}),
        Request(7, "tools/call", {**PARAMS, "arguments": {"a": ["1", 1, None], "b": "é"}}),
        Request(7, "tools/call", {**PARAMS, "arguments": {"a": [True, "1", None], "b": "é"}}),
        Request(7, "tools/call", {**PARAMS, "arguments": {"a": [1, "1", 0], "b": "é"}}),
        Request(7, "tools/call", {**PARAMS, "arguments": {"a": [1, "1", False], "b": "é"}}),
        Request(7, "tools/call", {**PARAMS, "arguments": {"a": [1.5, "1", None], "b": "é"}}),
        Request(7, "tools/call", {**PARAMS, "arguments": {"a": [1, "1", None], "b": "e\u0301"}}),
        Request(7, "tools/call", {**PARAMS, "_meta": {"progressToken": 6}}),
        Request(7, "tools/call", {**PARAMS, "_meta": {"progressToken": "5"}}),
        Request(7, "tools/call", {**PARAMS, "_meta": {"progressToken": None}}),
        Request(7, "tools/call", {**PARAMS, "_meta": {}}),
        Request(7, "tools/call"),
    ],
)
def test_another_call_has_another_digest(other: Request) -> None:
    assert call_digest(other) != call_digest(CALL)


@pytest.mark.rule("R21")
def test_no_progress_token_is_not_null() -> None:
    assert call_digest(Request(7, "a", {"_meta": {"progressToken": None}})) != call_digest(
        Request(7, "a", {"_meta": {}})
    )


@pytest.mark.rule("R21")
@pytest.mark.parametrize(
    "other",
    [
        Request(7, "tools/call", {**PARAMS, "_meta": {"progressToken": 5, "mcpstreams/attempt": "i.2", "trace": "x"}}),
        Request(7, "tools/call", {name: PARAMS[name] for name in reversed(list(PARAMS))}),
        Request(7, "tools/call", {**PARAMS, "arguments": {"b": "é", "a": (1, "1", None)}}),
        Request(7, "tools/call", {**PARAMS, "arguments": {"b": "é", "a": [1.0, "1", None]}}),
        Request(7, "tools/call", PARAMS, {"vendor": "x"}),
    ],
)
def test_what_a_re_send_may_change_does_not_count(other: Request) -> None:
    assert call_digest(other) == call_digest(CALL)


@pytest.mark.rule("R21")
@given(request_id=REQUEST_IDS, method=TEXT, params=st.none() | OBJECTS)
def test_other_bytes_of_the_same_request_have_the_same_digest(
    request_id: str | int, method: str, params: JSONObject | None
) -> None:
    request = Request(request_id, method, params)
    again = json.dumps(json.loads(encode_message(request)), indent=1, ensure_ascii=True).encode()
    arrived = decode_message(again)
    assert isinstance(arrived, Request)
    assert call_digest(arrived) == call_digest(request)


@pytest.mark.rule("R21")
def test_numbers_that_a_float_cannot_hold_stay_apart() -> None:
    exact, rounded, large = (Request(1, "a", {"n": number}) for number in (2**53, 2.0**53, 2**53 + 1))
    assert len({call_digest(exact), call_digest(rounded), call_digest(large)}) == 3
    below, spelled = Request(1, "a", {"n": 2**53 - 1}), Request(1, "a", {"n": 2.0**53 - 1})
    assert call_digest(below) == call_digest(spelled)


def test_no_params_are_empty_params() -> None:
    assert (
        call_digest(Request(1, "a")) == call_digest(Request(1, "a", {})) == call_digest(Request(1, "a", {"_meta": {}}))
    )


def test_meta_is_an_object() -> None:
    with pytest.raises(RemoteProtocolError, match=r"\Aparams\._meta: not an object\Z"):
        call_digest(Request(1, "a", {"_meta": 5}))
