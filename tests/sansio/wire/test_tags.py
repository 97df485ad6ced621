"""A message says which stream it belongs to and where it stands, and an application sees nothing of that."""

from __future__ import annotations

import copy
from typing import assert_never

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.errors import INVALID_PARAMS, RemoteProtocolError
from mcpstreams_sansio.ids import StreamId
from mcpstreams_sansio.wire.jsonrpc import (
    ErrorResponse,
    JSONObject,
    JSONValue,
    Message,
    Notification,
    Request,
    Response,
    decode_message,
    encode_message,
)
from mcpstreams_sansio.wire.tags import Tag, read_tag, stream_hint, tagged, untagged
from tests.sansio.wire.json_values import REQUEST_IDS, STREAM_IDS, TEXT, VALUES, unknown_members

S = StreamId("s")

application_keys = TEXT.filter(lambda key: key != "streamId" and not key.startswith("mcpstreams/"))
meta = st.dictionaries(application_keys, VALUES, min_size=1, max_size=3)
members = st.dictionaries(TEXT, VALUES, min_size=1, max_size=3)
filled = st.builds(lambda rest, own: {**rest, **({"_meta": own} if own else {})}, members, st.none() | meta)
envelopes = unknown_members("jsonrpc", "id", "method", "params", "result", "error")
requests = st.builds(Request, REQUEST_IDS, TEXT, st.none() | filled, envelopes)
notifications = st.builds(Notification, TEXT, st.none() | filled, envelopes)
responses = st.builds(Response, REQUEST_IDS, st.just({}) | filled, envelopes)
errors = st.builds(ErrorResponse, st.none() | REQUEST_IDS, st.integers(-40000, 0), TEXT, VALUES, envelopes)


def meta_on(message: Message) -> JSONValue:
    match message:
        case Request() | Notification():
            return (message.params or {}).get("_meta")
        case Response():
            return message.result.get("_meta")
        case ErrorResponse():
            return None
        case _:
            assert_never(message)


@pytest.mark.rule("R4", "Q4a")
@given(
    message=requests | notifications | responses,
    stream_id=STREAM_IDS,
    sequence=st.integers(1, 2**53),
    stream_id_key=st.sampled_from(["streamId", "mcpstreams/streamId"]),
)
def test_a_tag_travels_and_the_message_comes_out_as_it_was(
    message: Message, stream_id: StreamId, sequence: int, stream_id_key: str
) -> None:
    before = copy.deepcopy(message)
    arrived = decode_message(encode_message(tagged(message, stream_id, sequence, stream_id_key)))
    assert read_tag(arrived, stream_id_key) == Tag(stream_id, sequence)
    assert untagged(arrived, stream_id_key) == message == before


@pytest.mark.rule("R4", "Q4a")
@pytest.mark.parametrize(
    "message",
    [
        Notification("notifications/progress", {"progress": 1, "_meta": {"a": 1}}),
        Request("ask", "elicitation/create", {"message": "?", "_meta": {"a": 1}}),
        Response(7, {"content": [], "_meta": {"a": 1}}),
    ],
)
def test_stream_and_position_stand_beside_the_meta_of_the_application(message: Message) -> None:
    assert meta_on(tagged(message, S, 3)) == {"a": 1, "streamId": "s", "mcpstreams/seq": 3}
    assert meta_on(message) == {"a": 1}


@pytest.mark.rule("R4")
@pytest.mark.parametrize(
    ("message", "arrived"),
    [
        (Notification("notifications/roots/list_changed"), Notification("notifications/roots/list_changed")),
        (Notification("a", {}), Notification("a")),
        (Notification("a", {"_meta": {}}), Notification("a")),
        (Notification("a", {"b": 1, "_meta": {}}), Notification("a", {"b": 1})),
        (Response(1, {}), Response(1, {})),
        (Response(1, {"_meta": {}}), Response(1, {})),
    ],
)
def test_an_object_that_was_empty_and_one_that_was_not_there_are_the_same(message: Message, arrived: Message) -> None:
    assert untagged(tagged(message, S, 1)) == arrived


@pytest.mark.rule("R4")
@given(error=errors)
def test_an_error_response_carries_no_tag(error: ErrorResponse) -> None:
    assert tagged(error, S, 3) is error
    assert read_tag(error) is None
    assert untagged(error) is error
    assert stream_hint(error) is None


@pytest.mark.rule("R4")
@given(message=requests | notifications | responses)
def test_a_message_without_a_tag_stays_as_it_is(message: Message) -> None:
    assert read_tag(message) is None
    assert untagged(message) is message


@pytest.mark.rule("R1")
@pytest.mark.parametrize("sequence", [0, -1, 1.0, "1", True, None])
def test_a_sequence_is_a_number_from_one(sequence: JSONValue) -> None:
    with pytest.raises(RemoteProtocolError, match=r"\Aresult\._meta\.mcpstreams/seq: not a position\Z") as caught:
        read_tag(Response(1, {"_meta": {"streamId": "s", "mcpstreams/seq": sequence}}))
    assert str(caught.value) == "result._meta.mcpstreams/seq: not a position"
    assert caught.value.error_code == INVALID_PARAMS


@pytest.mark.rule("R4")
@pytest.mark.parametrize("stream", [{}, {"streamId": ""}, {"streamId": 5}, {"streamId": None}])
def test_a_sequence_has_a_stream(stream: JSONObject) -> None:
    with pytest.raises(RemoteProtocolError, match=r"\Aparams\._meta\.streamId: not a stream's id\Z") as caught:
        read_tag(Notification("a", {"_meta": {**stream, "mcpstreams/seq": 1}}))
    assert str(caught.value) == "params._meta.streamId: not a stream's id"
    assert caught.value.error_code == INVALID_PARAMS


@pytest.mark.parametrize("read", [read_tag, untagged, stream_hint])
def test_meta_is_an_object(read: object) -> None:
    assert callable(read)
    with pytest.raises(RemoteProtocolError, match=r"\Aparams\._meta: not an object\Z"):
        read(Notification("a", {"_meta": []}))


@pytest.mark.rule("W8", "Q4f")
@pytest.mark.parametrize(
    ("hint", "stream_id"),
    [("s", S), ("never-heard-of", StreamId("never-heard-of")), ("", None), (5, None), (None, None)],
)
def test_the_stream_that_a_request_is_made_on_is_a_hint_and_no_tag(hint: JSONValue, stream_id: StreamId | None) -> None:
    request = Request(1, "tools/call", {"name": "t", "_meta": {"streamId": hint}})
    assert stream_hint(request) == stream_id
    assert read_tag(request) is None
    assert untagged(request) is request


@pytest.mark.rule("W8")
def test_a_message_need_not_name_a_stream() -> None:
    assert stream_hint(Request(1, "ping")) is None
    assert stream_hint(Response(1, {})) is None
