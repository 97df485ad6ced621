"""The draft's messages: its own examples to the letter, both shapes of `create`, and what is refused."""

from __future__ import annotations

import json

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.errors import INVALID_PARAMS, LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.ids import Secret, StreamId
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Notification, Request, Response, decode_message, encode_message
from mcpstreams_sansio.wire.streams import (
    STREAM_CREATE,
    STREAM_END,
    STREAM_POLL,
    STREAM_RESUME,
    CreateShape,
    PollResult,
    ResumeInterval,
    StreamCreate,
    StreamEnd,
    StreamRef,
    create_notification,
    end_notification,
    poll_request,
    poll_response,
    read_create,
    read_end,
    read_poll_result,
    read_ref,
    resume_request,
)
from tests.sansio.wire.json_values import OBJECTS, REQUEST_IDS, SECONDS, SECRETS, STREAM_IDS, unknown_members
from tests.wording import whole

# ------------------------------------------------------------------------------------------- the draft's own examples

STREAM_ID = StreamId("550e8400-e29b-41d4-a716-446655440000")
TOKEN = Secret("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9...")

CREATE_EXAMPLE = b"""{
  "jsonrpc": "2.0",
  "method": "notifications/stream/create",
  "params": {
    "stream": {
      "streamId": "550e8400-e29b-41d4-a716-446655440000",
      "resumeToken": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9...",
      "requestId": "1",
      "resumeInterval": {
        "min": 5,
        "max": 3600
      }
    }
  }
}"""

RESUME_EXAMPLE = b"""{
  "jsonrpc": "2.0",
  "method": "stream/resume",
  "params": {
    "streamId": "550e8400-e29b-41d4-a716-446655440000",
    "resumeToken": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9..."
  }
}"""

POLL_EXAMPLE = b"""{
  "jsonrpc": "2.0",
  "id": 2,
  "method": "stream/poll",
  "params": {
    "streamId": "550e8400-e29b-41d4-a716-446655440000",
    "resumeToken": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9..."
  }
}"""

POLL_RESULT_EXAMPLE = b"""{
  "jsonrpc": "2.0",
  "id": 2,
  "result": {
    "streamId": "550e8400-e29b-41d4-a716-446655440000",
    "status": "live",
    "pendingMessages": true,
    "hasRequest": false,
    "hasError": false
  }
}"""

END_EXAMPLE = b"""{
  "jsonrpc": "2.0",
  "method": "notifications/stream/end",
  "params": {
    "streamId": "550e8400-e29b-41d4-a716-446655440000"
  }
}"""

CREATE = StreamCreate(STREAM_ID, TOKEN, "1", ResumeInterval(5, 3600))
POLLED = PollResult(STREAM_ID, "live", pending_messages=True, has_request=False, has_error=False)


def compact(text: bytes) -> bytes:
    return json.dumps(json.loads(text), separators=(",", ":")).encode()


def notification(text: bytes) -> Notification:
    message = decode_message(text)
    assert isinstance(message, Notification)
    return message


@pytest.mark.rule("P5", "D1")
def test_the_example_of_create() -> None:
    message = notification(CREATE_EXAMPLE)
    assert message.method == STREAM_CREATE
    assert read_create(message.params) == CREATE
    assert encode_message(create_notification(CREATE)) == compact(CREATE_EXAMPLE)


@pytest.mark.rule("W7", "P15", "D2")
def test_the_example_of_resume_has_no_id_and_is_read_like_the_request() -> None:
    ref = StreamRef(STREAM_ID, TOKEN)
    message = notification(RESUME_EXAMPLE)
    assert message.method == STREAM_RESUME
    assert read_ref(message.params) == ref
    request = resume_request(9, ref)
    assert encode_message(request) == compact(RESUME_EXAMPLE).replace(b'"method"', b'"id":9,"method"')
    assert decode_message(encode_message(request)) == Request(9, STREAM_RESUME, message.params)


def test_the_example_of_poll() -> None:
    message = decode_message(POLL_EXAMPLE)
    assert isinstance(message, Request)
    assert (message.method, message.id) == (STREAM_POLL, 2)
    assert read_ref(message.params) == StreamRef(STREAM_ID, TOKEN)
    assert encode_message(poll_request(2, StreamRef(STREAM_ID, TOKEN))) == compact(POLL_EXAMPLE)


@pytest.mark.rule("P30", "P31")
def test_the_example_of_a_poll_result() -> None:
    message = decode_message(POLL_RESULT_EXAMPLE)
    assert isinstance(message, Response)
    assert read_poll_result(message.result) == POLLED
    assert encode_message(poll_response(2, POLLED)) == compact(POLL_RESULT_EXAMPLE)


def test_the_example_of_end() -> None:
    message = notification(END_EXAMPLE)
    assert message.method == STREAM_END
    assert read_end(message.params) == StreamEnd(STREAM_ID)
    assert encode_message(end_notification(StreamEnd(STREAM_ID))) == compact(END_EXAMPLE)


# --------------------------------------------------------------------------------------------- both shapes of `create`

FLAT: JSONObject = {
    "streamId": STREAM_ID,
    "resumeToken": TOKEN.reveal(),
    "requestId": "1",
    "resumeInterval": {"min": 5, "max": 3600},
}


@pytest.mark.rule("D1", "Q1", "T26")
def test_the_flat_shape_of_the_schema_is_read_and_can_be_written() -> None:
    assert read_create(FLAT) == CREATE
    assert create_notification(CREATE, "flat").params == FLAT


@pytest.mark.rule("D1")
def test_meta_stands_in_params_in_either_shape() -> None:
    create = attrs.evolve(CREATE, meta={"mcpstreams/seq": 1})
    assert create_notification(create, "wrapped").params == {"stream": FLAT, "_meta": {"mcpstreams/seq": 1}}
    assert create_notification(create, "flat").params == {**FLAT, "_meta": {"mcpstreams/seq": 1}}


creates = st.builds(
    StreamCreate,
    stream_id=STREAM_IDS,
    resume_token=SECRETS,
    request_id=st.none() | REQUEST_IDS,
    resume_interval=st.none()
    | st.builds(ResumeInterval, st.none() | SECONDS, st.none() | SECONDS, unknown_members("min", "max")),
    meta=st.none() | OBJECTS,
    extra=unknown_members("stream", "streamId", "resumeToken", "requestId", "resumeInterval"),
)


@pytest.mark.rule("D1", "W3", "W4")
@given(create=creates, shape=st.sampled_from(["wrapped", "flat"]))
def test_create_survives_the_wire_in_either_shape(create: StreamCreate, shape: CreateShape) -> None:
    message = notification(encode_message(create_notification(create, shape)))
    assert read_create(message.params) == create


@pytest.mark.rule("W3", "W4")
def test_a_stream_needs_neither_a_request_nor_an_interval() -> None:
    assert read_create({"streamId": "123", "resumeToken": "abc"}) == StreamCreate(StreamId("123"), Secret("abc"))
    assert read_create({"stream": {"streamId": "s", "resumeToken": "t", "resumeInterval": {}}}) == StreamCreate(
        StreamId("s"), Secret("t"), resume_interval=ResumeInterval()
    )


@pytest.mark.rule("T26", "D1")
@given(
    create=creates,
    beside=st.sets(st.sampled_from(["streamId", "resumeToken", "requestId", "resumeInterval"])),
)
def test_both_shapes_at_once_are_accepted_where_they_agree(create: StreamCreate, beside: set[str]) -> None:
    wrapped = create_notification(create).params
    flat = create_notification(create, "flat").params
    assert wrapped is not None
    assert flat is not None
    assert read_create({**wrapped, **{name: flat[name] for name in beside if name in flat}}) == create


@pytest.mark.rule("T26", "D1")
@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("streamId", "another"),
        ("resumeToken", "hush-hush"),
        ("requestId", 1),
        ("requestId", "01"),
        ("resumeInterval", {"min": 5}),
        ("resumeInterval", {"min": 5, "max": 3601}),
    ],
)
def test_shapes_that_disagree_are_refused_by_the_name_of_the_field(name: str, other: object) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        read_create({"stream": FLAT, **FLAT, name: other})  # type: ignore[dict-item]  # a JSON value, whichever it is
    assert str(caught.value) == f"params.{name}: not what params.stream.{name} says"
    assert caught.value.error_code == INVALID_PARAMS


@pytest.mark.rule("T26")
def test_what_only_one_shape_says_is_no_disagreement() -> None:
    bare: JSONObject = {"streamId": STREAM_ID, "resumeToken": TOKEN.reveal()}
    assert read_create({"stream": bare, **FLAT}) == CREATE
    assert read_create({"stream": FLAT, **bare}) == CREATE
    assert read_create({"stream": bare, **bare, "resumeInterval": {"min": 5.0}}).resume_interval == ResumeInterval(5)


@pytest.mark.rule("D1")
def test_what_nobody_knows_is_gathered_from_both_places() -> None:
    create = read_create(
        {
            "stream": {**FLAT, "a": 1, "both": "inside", "_meta": {"x": 1, "both": "inside"}},
            "b": 2,
            "both": "outside",
            "_meta": {"y": 2, "both": "outside"},
        }
    )
    assert create.extra == {"a": 1, "b": 2, "both": "inside"}
    assert create.meta == {"x": 1, "y": 2, "both": "outside"}
    assert read_create({"stream": {**FLAT, "_meta": {"x": 1}}}).meta == {"x": 1}


# ------------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.rule("D1")
@pytest.mark.parametrize(
    ("params", "text"),
    [
        (None, "params: missing"),
        ({}, "params.streamId: missing; params.resumeToken: missing"),
        ({"stream": None}, "params.stream: not an object"),
        ({"stream": {}}, "params.stream.streamId: missing; params.stream.resumeToken: missing"),
        ({**FLAT, "stream": {"streamId": STREAM_ID}}, "params.stream.resumeToken: missing"),
        ({**FLAT, "streamId": ""}, "params.streamId: not a non-empty string"),
        ({**FLAT, "resumeToken": 5}, "params.resumeToken: not a non-empty string"),
        ({**FLAT, "requestId": True}, "params.requestId: neither a string nor an integer"),
        ({**FLAT, "resumeInterval": 5}, "params.resumeInterval: not an object"),
        ({**FLAT, "resumeInterval": {"min": "5"}}, "params.resumeInterval.min: not a finite number"),
        ({"stream": {**FLAT, "resumeInterval": {"max": -1}}}, "params.stream.resumeInterval.max: negative"),
        ({"stream": FLAT, "requestId": 1.0}, "params.requestId: neither a string nor an integer"),
        ({**FLAT, "_meta": 1}, "params._meta: not an object"),
    ],
)
def test_a_create_that_cannot_be_used_is_refused_by_path(params: JSONObject | None, text: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        read_create(params)
    assert str(caught.value) == text
    assert caught.value.error_code == INVALID_PARAMS


@pytest.mark.rule("W6", "T25")
def test_a_request_id_keeps_its_type() -> None:
    numbered = read_create({**FLAT, "requestId": 1})
    assert numbered.request_id == 1
    assert read_create(FLAT).request_id == "1"
    assert numbered != CREATE


@pytest.mark.rule("W5")
@pytest.mark.parametrize("seconds", [0, 5, 0.25, 10**12])
def test_an_interval_is_passed_on_as_it_came(seconds: float) -> None:
    create = read_create({**FLAT, "resumeInterval": {"min": seconds}})
    params = create_notification(create, "flat").params
    assert params is not None
    assert json.dumps(params["resumeInterval"]) == json.dumps({"min": seconds})


@pytest.mark.parametrize("seconds", [-1, -0.5, float("nan"), float("inf")])
def test_no_interval_is_made_that_could_not_be_read(seconds: float) -> None:
    with pytest.raises(LocalProtocolError, match=r"\Amin of a resume interval is a finite number of at least 0\Z"):
        ResumeInterval(min=seconds)
    with pytest.raises(LocalProtocolError, match=r"\Amax of a resume interval is a finite number of at least 0\Z"):
        ResumeInterval(max=seconds)


@pytest.mark.rule("P15")
@pytest.mark.parametrize(
    ("params", "text"),
    [
        (None, "params: missing"),
        ({"streamId": "s"}, "params.resumeToken: missing"),
        ({"resumeToken": "t"}, "params.streamId: missing"),
        ({"streamId": 1, "resumeToken": "t"}, "params.streamId: not a non-empty string"),
        ({"streamId": "s", "resumeToken": ""}, "params.resumeToken: not a non-empty string"),
    ],
)
def test_a_stream_is_named_by_id_and_token_both(params: JSONObject | None, text: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        read_ref(params)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("params", "text"),
    [
        (None, "params: missing"),
        ({}, "params.streamId: missing"),
        ({"streamId": ""}, "params.streamId: not a non-empty string"),
        ({"stream": {"streamId": "s"}}, "params.streamId: missing"),
    ],
)
def test_an_end_names_its_stream(params: JSONObject | None, text: str) -> None:
    with pytest.raises(RemoteProtocolError, match=whole(text)):
        read_end(params)


def a_poll_result(**members: object) -> dict[str, object]:
    return {
        "streamId": "s",
        "status": "completed",
        "pendingMessages": False,
        "hasRequest": False,
        "hasError": False,
        **members,
    }


@pytest.mark.rule("W9", "P30")
@pytest.mark.parametrize("status", ["abandoned", "LIVE", "", None, 1, ["live"]])
def test_another_status_is_refused_clearly(status: object) -> None:
    with pytest.raises(RemoteProtocolError, match=r"\Aresult\.status: not one of live, completed\Z") as caught:
        read_poll_result(a_poll_result(status=status))  # type: ignore[arg-type]  # a JSON value, whichever it is
    assert str(caught.value) == "result.status: not one of live, completed"


@pytest.mark.rule("P31")
@pytest.mark.parametrize("name", ["pendingMessages", "hasRequest", "hasError"])
@pytest.mark.parametrize("value", [None, 0, 1, "true"])
def test_a_poll_says_yes_or_no(name: str, value: object) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        read_poll_result(a_poll_result(**{name: value}))  # type: ignore[arg-type]  # a JSON value, whichever it is
    assert str(caught.value) == f"result.{name}: not a boolean"


@pytest.mark.rule("W9")
def test_a_poll_result_of_the_older_draft_that_brings_messages_is_still_read() -> None:
    result = read_poll_result(a_poll_result(messages=[]))  # type: ignore[arg-type]  # a JSON value, whichever it is
    assert result.status == "completed"
    assert result.extra == {"messages": []}


# ------------------------------------------------------------------------------------------------------------- at large


refs = st.builds(StreamRef, STREAM_IDS, SECRETS, st.none() | OBJECTS, unknown_members("streamId", "resumeToken"))
ends = st.builds(StreamEnd, STREAM_IDS, st.none() | OBJECTS, unknown_members("streamId"))
poll_results = st.builds(
    PollResult,
    STREAM_IDS,
    st.sampled_from(["live", "completed"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.none() | OBJECTS,
    unknown_members("streamId", "status", "pendingMessages", "hasRequest", "hasError"),
)


@pytest.mark.rule("W2", "P15")
@given(ref=refs, request_id=REQUEST_IDS)
def test_id_and_token_are_handed_back_as_they_came(ref: StreamRef, request_id: str | int) -> None:
    for request in (resume_request(request_id, ref), poll_request(request_id, ref)):
        message = decode_message(encode_message(request))
        assert isinstance(message, Request)
        assert message.id == request_id
        assert read_ref(message.params) == ref


@given(end=ends, result=poll_results, request_id=REQUEST_IDS)
def test_end_and_poll_results_survive_the_wire(end: StreamEnd, result: PollResult, request_id: str | int) -> None:
    assert read_end(notification(encode_message(end_notification(end))).params) == end
    response = decode_message(encode_message(poll_response(request_id, result)))
    assert isinstance(response, Response)
    assert read_poll_result(response.result) == result


@pytest.mark.rule("Q11b", "P38")
def test_no_token_is_in_the_text_of_a_value() -> None:
    secret = "hush-hush-hush"
    values = [
        StreamCreate(StreamId("s"), Secret(secret), meta={"a": secret}, extra={"b": secret}),
        StreamRef(StreamId("s"), Secret(secret), meta={"a": secret}, extra={"b": secret}),
    ]
    assert not [value for value in values if secret in repr(value)]


def test_values_can_be_members_of_sets() -> None:
    interval = ResumeInterval(1, 2, {"a": []})
    assert {interval, ResumeInterval(1, 2, {"a": []})} == {interval}
