"""The extension's own values: attempts, acknowledgements, windows and what each side says with the marker."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.errors import INVALID_PARAMS, LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.ids import Secret, StreamId
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Notification, Request, decode_message, encode_message
from mcpstreams_sansio.wire.marker import (
    MARKER_ACK,
    MARKER_CANCEL,
    Ack,
    Attempt,
    ack_notification,
    cancel_request,
    read_ack_notification,
)
from mcpstreams_sansio.wire.streams import StreamRef, read_ref
from tests.sansio.wire.json_values import POSITIONS, SECRETS, STREAM_IDS
from tests.wording import whole

INSTANCES = st.text("abcXYZ019_-", min_size=1, max_size=128)
NUMBERS = st.integers(min_value=0, max_value=10**15 - 1)


@pytest.mark.rule("R14")
def test_an_attempt_is_written_as_instance_and_number() -> None:
    attempt = Attempt("b5-Q_", 12)
    assert str(attempt) == "b5-Q_.12"
    assert Attempt.parse("b5-Q_.12", "here") == attempt


@pytest.mark.rule("R14")
@given(instance=INSTANCES, number=NUMBERS)
def test_every_attempt_can_be_read_again(instance: str, number: int) -> None:
    attempt = Attempt(instance, number)
    assert Attempt.parse(str(attempt), "here") == attempt


@pytest.mark.rule("R14")
@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "a",
        "a.",
        ".1",
        "a.b",
        "a.-1",
        "a.+1",
        "a.1.5",
        "a.01",  # a second spelling of a.1
        "a. 1",
        "a.1\n",
        "a.\u0661",  # a digit, but none of ours
        "a b.1",
        "é.1",
        "a" * 129 + ".1",
        "a.1" + "0" * 15,
        None,
        5,
        1.5,
        ["a.1"],
    ],
)
def test_what_is_no_attempt_is_refused_without_repeating_it(text: object) -> None:
    with pytest.raises(RemoteProtocolError, match=r"\Ahere: not <instance>\.<number>\Z") as caught:
        Attempt.parse(text, "here")
    assert str(caught.value) == "here: not <instance>.<number>"
    assert caught.value.error_code == INVALID_PARAMS


@pytest.mark.parametrize("instance", ["", "a.b", "a b", "é", "a\n", "a" * 129])
def test_no_attempt_is_made_of_an_instance_that_could_not_be_read(instance: str) -> None:
    words = "instance of an attempt is 1 to 128 letters, digits, '-' and '_'"
    with pytest.raises(LocalProtocolError, match=whole(words)):
        Attempt(instance, 1)


@pytest.mark.parametrize("number", [-1, 10**15])
def test_no_attempt_is_made_of_a_number_that_could_not_be_read(number: int) -> None:
    with pytest.raises(LocalProtocolError, match=r"\Anumber of an attempt is from 0 to 999999999999999\Z"):
        Attempt("a", number)


acks = st.builds(Ack, STREAM_IDS, POSITIONS, st.none() | SECRETS)


@pytest.mark.rule("R6")
@given(some=st.lists(acks, max_size=4).map(tuple))
def test_acknowledgements_travel_alone_where_nothing_else_is_sent(some: tuple[Ack, ...]) -> None:
    message = decode_message(encode_message(ack_notification(some)))
    assert isinstance(message, Notification)
    assert message.method == MARKER_ACK == "notifications/mcpstreams/ack"
    assert read_ack_notification(message.params) == some


@pytest.mark.rule("R6", "R1")
def test_an_acknowledgement_names_stream_and_position_and_perhaps_the_token() -> None:
    params = ack_notification((Ack(StreamId("a"), 0), Ack(StreamId("b"), 7, Secret("t")))).params
    assert params == {"acks": [{"streamId": "a", "through": 0}, {"streamId": "b", "through": 7, "resumeToken": "t"}]}


@pytest.mark.rule("R6", "R1")
@pytest.mark.parametrize(
    ("params", "text"),
    [
        (None, "params: missing"),
        ({}, "params.acks: missing"),
        ({"acks": {"streamId": "s", "through": 1}}, "params.acks: not an array"),
        ({"acks": ["s"]}, "params.acks[0]: not an object"),
        ({"acks": [{"streamId": "s", "through": -1}]}, "params.acks[0].through: negative"),
        ({"acks": [{"streamId": "s", "through": True}]}, "params.acks[0].through: not an integer"),
        ({"acks": [{"streamId": "s"}]}, "params.acks[0].through: missing"),
        ({"acks": [{"through": 1}]}, "params.acks[0].streamId: missing"),
    ],
)
def test_what_is_no_acknowledgement_is_refused(params: JSONObject | None, text: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        read_ack_notification(params)
    assert str(caught.value) == text
    assert caught.value.error_code == INVALID_PARAMS


@pytest.mark.rule("R22")
def test_a_stream_is_cancelled_by_its_id_and_token() -> None:
    ref = StreamRef(StreamId("s"), Secret("t"))
    request = cancel_request(4, ref)
    assert request == Request(4, MARKER_CANCEL, {"streamId": "s", "resumeToken": "t"})
    assert MARKER_CANCEL == "mcpstreams/cancel"
    assert read_ref(request.params) == ref


@pytest.mark.rule("Q11b")
def test_no_token_is_in_the_text_of_an_acknowledgement() -> None:
    assert "hush" not in repr(Ack(StreamId("s"), 1, Secret("hush"), {"a": "hush"}))
