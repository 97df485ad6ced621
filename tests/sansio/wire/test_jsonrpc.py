"""Messages are read as JSON-RPC 2.0 says and MCP narrows it, and written so that they can be read."""

from __future__ import annotations

import contextlib
import json
from typing import get_args

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.errors import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    LocalProtocolError,
    RemoteProtocolError,
)
from mcpstreams_sansio.wire.jsonrpc import (
    MAX_ID_LENGTH,
    ErrorResponse,
    JSONObject,
    Message,
    Notification,
    Request,
    Response,
    decode_message,
    digest_of,
    encode_message,
    error_response,
    is_request_id,
)
from tests.sansio.wire.json_texts import NOT_JSON, WITHOUT_ONE_MEANING
from tests.sansio.wire.test_strict_json import exactly, short, texts, values
from tests.wording import whole


def refusal(text: bytes) -> RemoteProtocolError:
    with pytest.raises(RemoteProtocolError) as caught:
        decode_message(text)
    return caught.value


ID = "a string of at most 1024 characters or an integer"
REQUEST_ID = f"the id of a request must be {ID}"
RESPONSE_ID = f"the id of a response must be {ID}"
ERROR_ID = f"the id of an error must be null, {ID}"

# ------------------------------------------------------------------------------------- reading


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"ping"}', Request(1, "ping")),
        (b'{"jsonrpc":"2.0","id":"1","method":"ping","params":{}}', Request("1", "ping", {})),
        (b'{"jsonrpc":"2.0","id":"","method":""}', Request("", "")),
        (b'{"jsonrpc":"2.0","id":-1,"method":"ping"}', Request(-1, "ping")),
        (b'{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}', Request(9007199254740993, "ping")),
        (b'{"method":"ping","params":{"a":[1]},"id":0,"jsonrpc":"2.0"}', Request(0, "ping", {"a": [1]})),
        (b' {"jsonrpc": "2.0", "id": 1, "method": "ping"}\r\n', Request(1, "ping")),
        (b'{"jsonrpc":"2.0","method":"a/b"}', Notification("a/b")),
        (b'{"jsonrpc":"2.0","method":"a/b","params":{"c":null}}', Notification("a/b", {"c": None})),
        (b'{"jsonrpc":"2.0","id":1,"result":{}}', Response(1, {})),
        (b'{"jsonrpc":"2.0","id":"x","result":{"a":1}}', Response("x", {"a": 1})),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}', ErrorResponse(1, -1, "m")),
        (b'{"jsonrpc":"2.0","id":"1","error":{"code":1,"message":"m","data":[0]}}', ErrorResponse("1", 1, "m", [0])),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}', ErrorResponse(None, PARSE_ERROR, "m")),
        (b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"m","data":null}}', ErrorResponse(None, PARSE_ERROR, "m")),
    ],
    ids=short,
)
def test_a_message_is_read(text: bytes, message: Message) -> None:
    assert decode_message(text) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"m","x":1}', Request(1, "m", None, {"x": 1})),
        (b'{"x":{"y":2},"jsonrpc":"2.0","method":"m"}', Notification("m", None, {"x": {"y": 2}})),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"params":[]}', Response(1, {}, {"params": []})),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","y":2},"x":1}',
         ErrorResponse(1, 1, "m", None, {"x": 1}, {"y": 2})),
    ],
    ids=short,
)  # fmt: skip  # one line for each text and one for its meaning
def test_what_json_rpc_does_not_name_is_kept_and_written_again(text: bytes, message: Message) -> None:
    assert decode_message(text) == message
    assert json.loads(encode_message(message)) == json.loads(text)


@pytest.mark.rule("W6")
def test_ids_keep_their_json_type() -> None:
    number = decode_message(b'{"jsonrpc":"2.0","id":1,"result":{}}')
    string = decode_message(b'{"jsonrpc":"2.0","id":"1","result":{}}')
    assert number != string
    assert (encode_message(number), encode_message(string)) == (
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":"1","result":{}}',
    )


@pytest.mark.rule("W6")
@pytest.mark.parametrize("id_text", ["null", "true", "false", "1.0", "1.5", "1e0", "{}", "[]", "[1]", '{"id":1}'])
def test_only_strings_and_integers_are_ids(id_text: str) -> None:
    for rest, words in (('"method":"ping"', REQUEST_ID), ('"result":{}', RESPONSE_ID)):
        error = refusal(f'{{"jsonrpc":"2.0","id":{id_text},{rest}}}'.encode())
        assert (error.error_code, error.request_id, str(error)) == (INVALID_REQUEST, None, words)
    if id_text != "null":
        error = refusal(f'{{"jsonrpc":"2.0","id":{id_text},"error":{{"code":1,"message":"m"}}}}'.encode())
        assert str(error) == ERROR_ID


@pytest.mark.rule("W6")
@pytest.mark.parametrize(
    ("value", "expected"),
    [(0, True), (-1, True), ("", True), ("1", True), (True, False), (False, False), (1.0, False), (None, False)],
)
def test_a_request_id_is_told_from_other_values(value: object, expected: bool) -> None:
    assert is_request_id(value) is expected


@pytest.mark.rule("R20")
@pytest.mark.parametrize(
    "text",
    [
        b"[]",
        b"[1]",
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
        b'[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":1,"result":{}}]',
    ],
    ids=short,
)
def test_an_array_of_messages_is_refused(text: bytes) -> None:
    error = refusal(text)
    assert (error.error_code, error.http_status, error.request_id) == (INVALID_REQUEST, 400, None)
    assert str(error) == "a batch is not accepted"


NOT_2 = "jsonrpc must be 2.0"
NOT_ONE = "a message must have exactly one of method, result and error"
NO_ERROR = "an error must have an integer code and a message"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"1", "a message must be an object"),
        (b"null", "a message must be an object"),
        (b"true", "a message must be an object"),
        (b'"ping"', "a message must be an object"),
        (b"{}", NOT_2),
        (b'{"jsonrpc":"2.0"}', NOT_ONE),
        (b'{"jsonrpc":"2.0","id":1}', NOT_ONE),
        (b'{"jsonrpc":"2.0","method":1}', "method must be a string"),
        (b'{"jsonrpc":"2.0","method":null}', "method must be a string"),
        (b'{"jsonrpc":"2.0","method":1,"params":"x"}', "method must be a string"),
        (b'{"method":"ping"}', NOT_2),
        (b'{"jsonrpc":"1.0","method":"ping"}', NOT_2),
        (b'{"jsonrpc":2.0,"method":"ping"}', NOT_2),
        (b'{"jsonrpc":"2.00","method":"ping"}', NOT_2),
        (b'{"jsonrpc":null,"method":"ping"}', NOT_2),
        (b'{"jsonrpc":["2.0"],"method":"ping"}', NOT_2),
        (b'{"JSONRPC":"2.0","method":"ping"}', NOT_2),
        (b'{"jsonrpc":"2.0","method":"ping","params":[]}', "params must be an object"),
        (b'{"jsonrpc":"2.0","method":"ping","params":null}', "params must be an object"),
        (b'{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}', NOT_ONE),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', NOT_ONE),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","error":{"code":1,"message":"m"}}', NOT_ONE),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","result":{},"error":null}', NOT_ONE),
        (b'{"jsonrpc":"2.0","result":{}}', RESPONSE_ID),
        (b'{"jsonrpc":"2.0","id":1,"result":null}', "a result must be an object"),
        (b'{"jsonrpc":"2.0","id":1,"result":19}', "a result must be an object"),
        (b'{"jsonrpc":"2.0","id":1,"result":[]}', "a result must be an object"),
        (b'{"jsonrpc":"2.0","id":1,"error":null}', "an error must be an object"),
        (b'{"jsonrpc":"2.0","id":1,"error":"m"}', "an error must be an object"),
        (b'{"jsonrpc":"2.0","id":1,"error":{}}', NO_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}', NO_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}', NO_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"m"}}', NO_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1.0,"message":"m"}}', NO_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":true,"message":"m"}}', NO_ERROR),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":null}}', NO_ERROR),
    ],
    ids=short,
)
def test_json_that_is_no_message_is_an_invalid_request(text: bytes, words: str) -> None:
    error = refusal(text)
    assert (error.error_code, str(error)) == (INVALID_REQUEST, words)


@pytest.mark.parametrize("params", ["null", "[]", "[42, 23]", '"x"', "1", "true"])
def test_params_of_a_request_must_be_an_object(params: str) -> None:
    error = refusal(f'{{"jsonrpc":"2.0","id":"a","method":"subtract","params":{params}}}'.encode())
    assert (error.error_code, error.request_id, str(error)) == (INVALID_PARAMS, "a", "params must be an object")


@pytest.mark.parametrize("text", NOT_JSON, ids=short)
def test_a_text_that_is_no_json_is_a_parse_error(text: bytes) -> None:
    assert refusal(text).error_code == PARSE_ERROR


@pytest.mark.parametrize("text", WITHOUT_ONE_MEANING, ids=short)
def test_a_message_without_a_single_meaning_is_an_invalid_request(text: bytes) -> None:
    assert refusal(b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":' + text + b"}}").error_code == INVALID_REQUEST


# ------------------------------------------------------------------------------------- whom to answer


@pytest.mark.parametrize(
    ("text", "request_id", "code"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":5}', 7, INVALID_REQUEST),
        (b'{"id":"7","method":"m"}', "7", INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1,"a":2}}', 7, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":1e400}}', 7, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":' + b"9" * 5000 + b"}}", 7, INVALID_REQUEST),
        (rb'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":"\ud800"}}', 7, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":NaN}}', 7, PARSE_ERROR),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":"\xff"}}', 7, PARSE_ERROR),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","method":"n"}', 7, INVALID_REQUEST),
        # not read to the end, or not known whom it names
        (b'{"jsonrpc":"2.0","id":7,"method":"m"', None, PARSE_ERROR),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","params":' + b"[" * 200 + b"]" * 200 + b"}", None, PARSE_ERROR),
        (b'{"jsonrpc":"2.0","id":7,"id":8,"method":"m"}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"m"}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1e999,"method":"m"}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"m"}', None, PARSE_ERROR),
        (rb'{"jsonrpc":"2.0","id":"\ud800","method":"m"}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":"\xff","method":"m"}', None, PARSE_ERROR),
        # not a request
        (b'{"jsonrpc":"2.0","id":7}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","result":{}}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":7,"method":"m","error":{}}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":7,"result":{"a":1,"a":2}}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":7,"result":{},"result":{}}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":7,"error":{}}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","method":"m","params":[]}', None, INVALID_REQUEST),
        (b'[{"id":7,"method":"m"}]', None, INVALID_REQUEST),
    ],
    ids=short,
)  # fmt: skip  # a table
def test_a_refused_request_is_answered_by_its_id_where_that_can_be_trusted(
    text: bytes, request_id: str | int | None, code: int
) -> None:
    error = refusal(text)
    assert (error.request_id, error.error_code) == (request_id, code)
    assert type(error.request_id) is type(request_id)


def test_the_answer_to_a_refused_request_says_what_was_wrong() -> None:
    error = refusal(b'{"jsonrpc":"2.0","id":7,"method":"m","params":[]}')
    assert error_response(error, error.request_id) == ErrorResponse(7, INVALID_PARAMS, "params must be an object")
    assert error_response(error, None).id is None


@pytest.mark.parametrize(
    "text",
    [
        b'["s3cret"]',
        b'{"jsonrpc":"s3cret","id":"s3cret","method":"s3cret"}',
        b'{"jsonrpc":"2.0","id":["s3cret"],"method":"s3cret"}',
        b'{"jsonrpc":"2.0","id":1,"method":["s3cret"]}',
        b'{"jsonrpc":"2.0","id":1,"method":"s3cret","params":"s3cret"}',
        b'{"jsonrpc":"2.0","id":1,"result":"s3cret"}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":"s3cret","message":"s3cret"}}',
        b'{"s3cret":1,"s3cret":2}',
        b's3cret',
        b'{"a":"s3cret',
    ],
    ids=short,
)  # fmt: skip  # a table
def test_a_refusal_repeats_nothing_of_the_message(text: bytes) -> None:
    error = refusal(text)
    assert "s3cret" not in str(error)
    assert error.__context__ is None


# ------------------------------------------------------------------------------------- writing


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (
            Request(1, "tools/call", {"name": "é"}),
            '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"é"}}',
        ),
        (Request("1", "ping"), '{"jsonrpc":"2.0","id":"1","method":"ping"}'),
        (Notification("a/b", {}), '{"jsonrpc":"2.0","method":"a/b","params":{}}'),
        (Notification("a/b", extra={"x": 1}), '{"jsonrpc":"2.0","method":"a/b","x":1}'),
        (Response(1, {"a": (1, 2)}), '{"jsonrpc":"2.0","id":1,"result":{"a":[1,2]}}'),
        (Response(1, {}, {"params": 1}), '{"jsonrpc":"2.0","id":1,"result":{},"params":1}'),
        (ErrorResponse(1, -1, "m"), '{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"m"}}'),
        (ErrorResponse(None, -1, "m", 0), '{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":"m","data":0}}'),
    ],
    ids=short,
)
def test_a_message_is_written(message: Message, text: str) -> None:
    assert encode_message(message) == text.encode()


def untyped(message: Message, /, **changes: object) -> Message:
    """Change members to values that a type checker would not let through, as applications sometimes do."""
    return attrs.evolve(message, **changes)  # type: ignore[arg-type]  # that is the point


SURROGATE = "a string holds a lone surrogate, which UTF-8 cannot carry"
NAMED = "extra must not have members that JSON-RPC names"


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (untyped(Request(1, "m"), id=True), REQUEST_ID),
        (untyped(Request(1, "m"), id=1.0), REQUEST_ID),
        (untyped(Request(1, "m"), id=None), REQUEST_ID),
        (untyped(Request(1, "m"), method=b"m"), "method must be a string"),
        (untyped(Request(1, "m"), params=[1]), "params must be an object"),
        (untyped(Notification("m"), method=None), "method must be a string"),
        (untyped(Notification("m"), params="x"), "params must be an object"),
        (untyped(Response(1, {}), id=None), RESPONSE_ID),
        (untyped(Response(1, {}), id=False), RESPONSE_ID),
        (untyped(Response(1, {}), result=None), "a result must be an object"),
        (untyped(Response(1, {}), result=[]), "a result must be an object"),
        (untyped(ErrorResponse(1, 1, "m"), id=1.5), ERROR_ID),
        (untyped(ErrorResponse(1, 1, "m"), code=True), "the code of an error must be an integer"),
        (untyped(ErrorResponse(1, 1, "m"), code="1"), "the code of an error must be an integer"),
        (untyped(ErrorResponse(1, 1, "m"), message=None), "the message of an error must be a string"),
        (untyped(Request(1, "m"), params={"a": {1}}), "an object of type set is no JSON value"),
        (untyped(Request(1, "m"), params={1: 2}), "the key of an object is of type int, not a string"),
        (Request(1, "m", {"a": float("nan")}), "NaN and infinity are not JSON"),
        (Request("\ud800", "m"), SURROGATE),
        (Request(1, "\ud800"), SURROGATE),
        (Request(10**700, "m"), "an integer has more than 640 digits"),
        (Request(1, "m", None, {"id": 2}), NAMED),
        (Request(1, "m", None, {"params": {}}), NAMED),
        (Request(1, "m", None, {"result": {}}), NAMED),
        (Request(1, "m", None, {"error": {}}), NAMED),
        (Request(1, "m", None, {"jsonrpc": "2.0"}), NAMED),
        (Notification("m", None, {"id": 1}), NAMED),
        (Notification("m", None, {"params": {}}), NAMED),
        (Response(1, {}, {"method": "m"}), NAMED),
        (Response(1, {}, {"error": {}}), NAMED),
        (ErrorResponse(1, 1, "m", None, {"result": {}}), NAMED),
        (ErrorResponse(1, 1, "m", None, {}, {"data": 1}), NAMED),
        (ErrorResponse(1, 1, "m", None, {}, {"code": 1}), NAMED),
        (untyped(Request(1, "m"), extra="x"), "extra must be an object"),
        (untyped(Notification("m"), extra=5), "extra must be an object"),
        (untyped(Response(1, {}), extra=[1]), "extra must be an object"),
        (untyped(ErrorResponse(1, 1, "m"), error_extra=True), "extra must be an object"),
    ],
    ids=str,
)
def test_what_would_be_no_message_is_not_written(message: Message, fault: str) -> None:
    with pytest.raises(LocalProtocolError, match=whole(fault)):
        encode_message(message)


def test_a_message_does_not_show_what_it_carries() -> None:
    carried: JSONObject = {"resumeToken": "s3cret"}
    shown = [
        repr(Request(1, "m", carried, carried)),
        repr(Notification("m", carried, carried)),
        repr(Response(1, carried, carried)),
        repr(ErrorResponse(1, -1, "wrong", carried, carried, carried)),
    ]
    assert shown == [
        "Request(id=1, method='m')",
        "Notification(method='m')",
        "Response(id=1)",
        "ErrorResponse(id=1, code=-1, message='wrong')",
    ]


# ------------------------------------------------------------------------------------- both


ids = st.integers() | texts
objects = st.dictionaries(texts, values)
named = {"jsonrpc", "id", "method", "params", "result", "error", "code", "message", "data"}
extras = st.dictionaries(texts.filter(lambda name: name not in named), values, max_size=2)
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(Request, ids, texts, st.none() | objects, extras),
    st.builds(Notification, texts, st.none() | objects, extras),
    st.builds(Response, ids, objects, extras),
    st.builds(ErrorResponse, st.none() | ids, st.integers(), texts, values, extras, extras),
)


@given(messages)
def test_what_is_written_is_read_again(message: Message) -> None:
    text = encode_message(message)
    read = decode_message(text)
    assert type(read) is type(message)
    assert exactly(attrs.asdict(read)) == exactly(attrs.asdict(message))
    assert len(text.decode().splitlines()) == 1


@given(messages, st.data())
def test_a_message_that_is_cut_short_is_no_message(message: Message, data: st.DataObject) -> None:
    text = encode_message(message)
    end = data.draw(st.integers(0, len(text) - 1))
    assert refusal(text[:end]).error_code == PARSE_ERROR


@given(messages, st.data())
def test_whatever_becomes_of_a_message_the_only_error_is_the_peers(message: Message, data: st.DataObject) -> None:
    text = encode_message(message)
    begin, end = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=2)))
    other = data.draw(st.binary(max_size=3) | st.sampled_from([b"null", b"{}", b"[]", b'"', b"true", b'"id":1,']))
    with contextlib.suppress(RemoteProtocolError):
        read = decode_message(text[:begin] + other + text[end:])
        assert decode_message(encode_message(read)) == read


@pytest.mark.rule("Q11b")
def test_a_digest_tells_messages_apart_and_nothing_about_them() -> None:
    said: list[Message] = [Request(1, "x"), Request("1", "x"), Notification("x"), Notification("x", {"token": "t"})]
    assert len({digest_of(message) for message in said}) == len(said)
    assert all(digest_of(message) == digest_of(decode_message(encode_message(message))) for message in said)
    assert all(len(digest_of(message)) == 32 for message in said)


def test_there_are_four_kinds_of_message() -> None:
    assert set(get_args(Message)) == {Request, Notification, Response, ErrorResponse}


# ---------------------------------------------------------------------------------------------------- how long an id is


LONGEST = "x" * MAX_ID_LENGTH


@pytest.mark.rule("W6", "Q11h")
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"jsonrpc":"2.0","id":"%s","method":"m"}', REQUEST_ID),
        ('{"jsonrpc":"2.0","id":"%s","result":{}}', RESPONSE_ID),
        ('{"jsonrpc":"2.0","id":"%s","error":{"code":1,"message":"m"}}', ERROR_ID),
    ],
)
def test_an_id_has_a_length(text: str, words: str) -> None:
    message = decode_message((text % LONGEST).encode())
    assert encode_message(message) == (text % LONGEST).encode()
    error = refusal((text % f"{LONGEST}x").encode())
    assert (error.error_code, error.request_id, str(error)) == (INVALID_REQUEST, None, words)


@pytest.mark.rule("R13", "Q11h")
def test_a_longer_id_is_not_written() -> None:
    with pytest.raises(LocalProtocolError, match=whole(RESPONSE_ID)):
        encode_message(Response(f"{LONGEST}x", {}))
