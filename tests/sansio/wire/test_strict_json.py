"""A JSON text has one meaning, or it is refused without being repeated."""

from __future__ import annotations

import contextlib
import enum
import json
import re
import time
import types
from collections import UserDict, UserList
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.errors import INVALID_REQUEST, PARSE_ERROR, LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.wire.strict_json import (
    MAX_DEPTH,
    MAX_DIGITS,
    JSONValue,
    decode_json,
    decode_refused_json,
    encode_json,
    is_text,
)
from tests.sansio.wire.json_texts import NOT_JSON, VALUES, WITHOUT_ONE_MEANING
from tests.wording import whole


def short(value: object) -> str:
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))[:40]


def nested(depth: int, inside: JSONValue = None) -> JSONValue:
    """Return arrays in objects in arrays, as deep as told, with something inside the innermost."""
    value = inside
    for level in range(depth):
        value = [value] if level % 2 else {"k": value}
    return value


def refusal(text: bytes) -> RemoteProtocolError:
    with pytest.raises(RemoteProtocolError) as caught:
        decode_json(text)
    return caught.value


# ------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize(("text", "value"), VALUES, ids=short)
def test_a_text_is_read(text: bytes, value: object) -> None:
    read = decode_json(text)
    assert (read, repr(read)) == (value, repr(value))  # `repr` tells 1, 1.0 and true apart


@pytest.mark.parametrize("text", NOT_JSON, ids=short)
def test_what_is_no_json_is_a_parse_error(text: bytes) -> None:
    assert refusal(text).error_code == PARSE_ERROR


@pytest.mark.parametrize("text", WITHOUT_ONE_MEANING, ids=short)
def test_json_that_may_be_read_in_two_ways_is_an_invalid_request(text: bytes) -> None:
    assert refusal(text).error_code == INVALID_REQUEST


@pytest.mark.parametrize("text", [*NOT_JSON, *WITHOUT_ONE_MEANING], ids=short)
def test_what_is_refused_is_refused_wherever_it_stands(text: bytes) -> None:
    refusal(b'{"a":[1,' + text + b',"b"]}')


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (b'["s3cret", \xff]', "the text is not UTF-8"),
        (b'["s3cret", }', "the text is not JSON"),
        (b'["s3cret", NaN]', "NaN and infinity are not JSON"),
        (b'["s3cret", 1e999]', "a number is too large"),
        (b'["s3cret", ' + b"7" * 5000 + b"]", "an integer has more than 640 digits"),
        (rb'["s3cret\ud800"]', "a string holds a lone surrogate"),
        (b'{"s3cret":1,"s3cret":2}', "an object has the same key twice"),
        (b'["s3cret",' * 129, "the text is nested more than 128 deep"),
    ],
)
def test_a_refusal_says_what_is_wrong_and_carries_nothing_of_the_text(text: bytes, fault: str) -> None:
    error = refusal(text)
    assert str(error) == fault
    assert error.__context__ is None
    assert error.__cause__ is None


def test_the_first_thing_wrong_decides() -> None:
    assert refusal(b'[{"a":1,"a":1},NaN').error_code == INVALID_REQUEST
    assert refusal(b'[NaN,{"a":1,"a":1}]').error_code == PARSE_ERROR


def test_a_text_may_be_as_deep_as_allowed() -> None:
    deepest = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert decode_json(deepest) == json.loads(deepest)
    beside_another = b"[[]," + deepest[1:]
    assert decode_json(beside_another) == json.loads(beside_another)
    for deeper in (b"[" + deepest + b"]", b"[[]," + deepest + b"]"):
        assert str(refusal(deeper)) == "the text is nested more than 128 deep"


@pytest.mark.parametrize(
    "text",
    [
        b"[" + b",".join([b"[[]]"] * 1_000) + b"]",
        b'{"a":[' + b",".join([b'{"k":[]}'] * 1_000) + b"]}",
        b'["' + b"[" * 1_000 + b'"]',
        rb'["\\","' + b"[" * 1_000 + rb"\"" + b"[" * 1_000 + b'"]',
        rb'["\\\\\"[[[' + b"{" * 1_000 + rb'\\"]',
        b"[" + b",".join([rb'"\\[\"[{"'] * 1_000) + b"]",
    ],
    ids=short,
)
def test_brackets_side_by_side_or_in_strings_are_not_deep(text: bytes) -> None:
    assert decode_json(text) == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        b'["' + b"]" * 1_000 + b'",' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"]",
        rb'["\\",' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"]",
        b"[],".join([b"["] * MAX_DEPTH) + b"[]" * 1_000,
        b'[{"a":' * 65 + b"1" + b"}]" * 65,
    ],
    ids=short,
)
def test_depth_is_not_hidden_by_strings_or_by_brackets_that_close(text: bytes) -> None:
    assert refusal(text).error_code == PARSE_ERROR


def test_a_text_that_asks_for_much_work_gets_little() -> None:
    size = 2**20
    for text in (
        b"[" * 200 + b'"' + rb"\"" * (size // 2),
        b"[" * size,
        (b"[" * 100 + b"]" * 100 + b",") * (size // 201),
        b"9" * size,
        b"1." + b"7" * size,
        b"1e" + b"7" * size,
        b'"' + rb"\ud800" * (size // 6),
        b'{"a":' * (size // 5),
    ):
        begin = time.process_time()
        with contextlib.suppress(RemoteProtocolError):
            decode_json(text)
        assert time.process_time() - begin < 5, short(text)  # in proportion it takes well below a second


@given(st.binary() | st.text().map(str.encode) | st.text('[]{}",:\\0123456789.eE+-ntfalsuNI \t').map(str.encode))
def test_whatever_comes_in_the_only_error_is_the_peers(text: bytes) -> None:
    with contextlib.suppress(RemoteProtocolError):
        value = decode_json(text)
        assert repr(value) == repr(json.loads(text))
        assert decode_json(encode_json(value)) == value
    decode_refused_json(text)


# ------------------------------------------------------------------------------------- reading once more


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"id":1,"a":NaN,"b":[-Infinity]}', {"id": 1, "a": None, "b": [None]}),
        (b'{"id":1,"a":1e400,"b":1.5}', {"id": 1, "a": None, "b": None}),
        (b'{"id":1,"a":' + b"9" * 641 + b"}", {"id": 1, "a": None}),
        (b'{"id":-' + b"9" * 640 + b',"a":NaN}', {"id": 1 - 10**640, "a": None}),
        (b'{"id":1,"a":1,"a":2,"b":{"c":1,"c":1}}', {"id": 1, "a": None, "b": {"c": None}}),
        (b'{"id":1,"id":1}', {"id": None}),
        (rb'{"id":1,"a":"\ud800"}', {"id": 1, "a": "\ud800"}),
        (b'{"id":1,"a":"\xff"}', {"id": 1, "a": "\udcff"}),
        (b'{"id":1', None),
        (b"", None),
        (b"{" * 129, None),
    ],
    ids=short,
)
def test_of_a_refused_text_what_can_be_trusted_is_read(text: bytes, value: object) -> None:
    refusal(text)
    assert decode_refused_json(text) == value


@pytest.mark.parametrize("text", NOT_JSON + WITHOUT_ONE_MEANING, ids=short)
def test_reading_once_more_raises_nothing(text: bytes) -> None:
    decode_refused_json(text)


@pytest.mark.parametrize(("value", "expected"), [("", True), ("a€😀\0", True), ("\ud800", False), ("a\udfff", False)])
def test_half_a_surrogate_pair_is_no_text(value: str, expected: bool) -> None:
    assert is_text(value) is expected


# ------------------------------------------------------------------------------------- writing


class Level(enum.IntEnum):
    HIGH = 3


class Name(enum.StrEnum):
    PING = "ping"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, b"null"),
        (True, b"true"),
        ("é😀", '"é😀"'.encode()),
        ({"a": [1, -2.5, None, {}]}, b'{"a":[1,-2.5,null,{}]}'),
        ((1, (2,)), b"[1,[2]]"),
        ("a\r\n\t\0\x1f\x7f", b'"a\\r\\n\\t\\u0000\\u001f\x7f"'),
        ({"\x85": "\u2028\u2029"}, rb'{"\u0085":"\u2028\u2029"}'),
        (r"\u2028", rb'"\\u2028"'),
        (10**640 - 1, b"9" * 640),
        (1 - 10**640, b"-" + b"9" * 640),
        (1e308, b"1e+308"),
        (Level.HIGH, b"3"),
        ({Name.PING: Name.PING}, b'{"ping":"ping"}'),
        (types.MappingProxyType({"a": 1}), b'{"a":1}'),
        ({"a": UserDict({"b": UserList([1, ()])})}, b'{"a":{"b":[1,[]]}}'),
        (range(3), b"[0,1,2]"),
    ],
    ids=short,
)
def test_a_value_is_written_on_one_line(value: JSONValue, text: bytes) -> None:
    assert encode_json(value) == text


CIRCLE: list[object] = []
CIRCLE += [CIRCLE, CIRCLE]

NO_NUMBER = "NaN and infinity are not JSON"
TOO_LONG = "an integer has more than 640 digits"
SURROGATE = "a string holds a lone surrogate, which UTF-8 cannot carry"
TOO_DEEP = "a value is nested more than 128 deep"


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({1: 2}, "the key of an object is of type int, not a string"),
        ({None: 2}, "the key of an object is of type NoneType, not a string"),
        ({"a": [{True: 2}]}, "the key of an object is of type bool, not a string"),
        (types.MappingProxyType({b"a": 1}), "the key of an object is of type bytes, not a string"),
        (float("nan"), NO_NUMBER),
        ([float("inf")], NO_NUMBER),
        ({"a": float("-inf")}, NO_NUMBER),
        (10**640, TOO_LONG),
        ([-(10**640)], TOO_LONG),
        pytest.param(10**5000, TOO_LONG, id="5001 digits"),
        ({"a": {1, 2}}, "an object of type set is no JSON value"),
        (b"a", "an object of type bytes is no JSON value"),
        ([bytearray(b"a")], "an object of type bytearray is no JSON value"),
        ([memoryview(b"a")], "an object of type memoryview is no JSON value"),
        (object(), "an object of type object is no JSON value"),
        (1j, "an object of type complex is no JSON value"),
        ("\ud800", SURROGATE),
        ({"a\udfff": 1}, SURROGATE),
        (nested(129), TOO_DEEP),
        ({"a": nested(128)}, TOO_DEEP),
        pytest.param(nested(10_000), TOO_DEEP, id="much deeper"),
        (CIRCLE, TOO_DEEP),
    ],
    ids=short,
)
def test_what_json_cannot_carry_is_not_written(value: JSONValue, fault: str) -> None:
    with pytest.raises(LocalProtocolError, match=whole(fault)):
        encode_json(value)


def test_a_value_may_be_as_deep_as_allowed() -> None:
    for inside in (None, 1, "x"):
        assert decode_json(encode_json(nested(MAX_DEPTH, inside))) == nested(MAX_DEPTH, inside)


def test_the_limit_of_digits_holds_in_every_interpreter() -> None:
    assert MAX_DIGITS <= 640  # the lowest limit that an interpreter can be given for turning text into integers


def exactly(value: object) -> object:
    """Return a value that is equal to another one's only if the types are equal too."""
    if isinstance(value, Mapping):
        return {key: exactly(member) for key, member in value.items()}
    if isinstance(value, list):
        return [exactly(item) for item in value]
    return type(value), repr(value)


texts = st.text(st.characters(exclude_categories=["Cs"]))
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
values: st.SearchStrategy[JSONValue] = st.recursive(
    st.none() | st.booleans() | numbers | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner)
)


@given(values)
def test_what_is_written_is_read_again(value: JSONValue) -> None:
    text = encode_json(value)
    assert exactly(decode_json(text)) == exactly(value)
    assert len(text.decode().splitlines()) == 1
