"""Each refusal has its code and its reason; what must not be told apart is the same to the byte."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.errors import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST, LocalProtocolError
from mcpstreams_sansio.ids import RequestId
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONValue, decode_message, encode_message
from mcpstreams_sansio.wire.refusals import Reason, Refusal, interrupted_error, read_refusal, read_refused_call, refusal
from tests.sansio.wire.json_values import POSITIONS, REQUEST_IDS, SECONDS, VALUES

ERRORS = {
    # what the request says cannot be served
    Reason.STREAM_NOT_FOUND: (INVALID_PARAMS, "there is no such stream for this token"),
    Reason.ABANDONED: (INVALID_PARAMS, "the stream was abandoned"),
    Reason.EXPIRED: (INVALID_PARAMS, "the stream is no longer kept"),
    Reason.CANCELLED: (INVALID_PARAMS, "the stream was cancelled"),
    Reason.FINISHED: (INVALID_PARAMS, "the stream was delivered completely"),
    Reason.NOT_RESUMABLE: (INVALID_PARAMS, "the stream cannot be resumed"),
    Reason.EVENTS_GONE: (INVALID_PARAMS, "messages after the cursor are no longer kept"),
    Reason.INVALID_CURSOR: (INVALID_PARAMS, "the cursor is no position of this stream"),
    Reason.ALREADY_ATTACHED: (INVALID_PARAMS, "the stream is attached to this connection already"),
    Reason.KEY_CONFLICT: (INVALID_PARAMS, "the key names another call"),
    # it cannot be served now, or here
    Reason.TOO_EARLY: (INVALID_REQUEST, "too early"),
    Reason.SUPERSEDED: (INVALID_REQUEST, "a newer attachment has the stream"),
    Reason.ID_IN_USE: (INVALID_REQUEST, "the id of the stream's request is in use on this connection"),
    Reason.TOO_MANY_STREAMS: (INVALID_REQUEST, "there is no room for another stream"),
    Reason.TOO_MANY_KEYS: (INVALID_REQUEST, "there is no room for another key"),
    Reason.DRAINING: (INVALID_REQUEST, "the server is stopping"),
    # it is the server's failure
    Reason.LOG_FULL: (INTERNAL_ERROR, "the stream holds more than it may; its call may have run"),
    Reason.LOG_FAILED: (INTERNAL_ERROR, "the log of the streams has failed; a call that had begun may have run"),
    Reason.INTERRUPTED: (INTERNAL_ERROR, "the server has restarted while it worked on the call, which may have run"),
}


def refuse(reason: Reason, request_id: RequestId | None = 9) -> ErrorResponse:
    if reason is Reason.EVENTS_GONE:
        return refusal(request_id, reason, first_available=7, lost=3)
    return refusal(request_id, reason)


@pytest.mark.rule("Q10")
@pytest.mark.parametrize("reason", Reason)
def test_each_reason_has_its_code_and_its_words_and_is_read_again(reason: Reason) -> None:
    error = refuse(reason)
    assert (error.id, (error.code, error.message)) == (9, ERRORS[reason])
    arrived = decode_message(encode_message(error))
    assert isinstance(arrived, ErrorResponse)
    read = read_refusal(arrived)
    assert read is not None
    assert read.reason is reason


@pytest.mark.rule("R21")
@pytest.mark.parametrize("reason", [Reason.LOG_FULL, Reason.LOG_FAILED, Reason.INTERRUPTED])
def test_who_can_only_read_the_text_is_told_that_a_call_may_have_run(reason: Reason) -> None:
    assert "may have run" in refuse(reason).message


@pytest.mark.rule("R21")
def test_a_call_whose_work_was_interrupted_is_answered_under_its_own_id() -> None:
    error = interrupted_error("c.1")
    assert (error.id, error.data) == ("c.1", {"reason": "interrupted"})
    refused = read_refused_call(error)
    assert refused is not None
    assert refused.reason is Reason.INTERRUPTED


@pytest.mark.rule("Q10")
def test_the_codes_that_later_revisions_reserve_are_not_used() -> None:
    assert {refuse(reason).code for reason in Reason}.isdisjoint(range(-32099, -31999))


@pytest.mark.rule("Q10", "T34")
def test_an_unknown_stream_a_wrong_token_and_another_principal_get_the_same_bytes() -> None:
    assert encode_message(refusal(9, Reason.STREAM_NOT_FOUND)) == (
        b'{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"there is no such stream for this token",'
        b'"data":{"reason":"stream_not_found"}}}'
    )


@pytest.mark.rule("R10")
def test_a_gap_says_where_it_goes_on_and_how_much_is_lost() -> None:
    error = refusal("r", Reason.EVENTS_GONE, first_available=7, lost=3)
    assert error.data == {"reason": "events_gone", "firstAvailable": 7, "lost": 3}
    assert read_refusal(error) == Refusal(Reason.EVENTS_GONE, first_available=7, lost=3)


@pytest.mark.rule("R10")
@pytest.mark.parametrize(
    ("reason", "first_available", "lost"),
    [
        (Reason.EVENTS_GONE, None, None),
        (Reason.EVENTS_GONE, 7, None),
        (Reason.EVENTS_GONE, None, 3),
        (Reason.EXPIRED, 7, 3),
        (Reason.EXPIRED, 7, None),
        (Reason.EXPIRED, None, 0),
    ],
)
def test_a_gap_is_told_with_events_gone_and_only_there(
    reason: Reason, first_available: int | None, lost: int | None
) -> None:
    with pytest.raises(LocalProtocolError, match=r"\Afirst_available and lost belong to events_gone, both of them\Z"):
        refusal(1, reason, first_available=first_available, lost=lost)


@pytest.mark.rule("Q10")
@pytest.mark.parametrize("reason", [Reason.TOO_EARLY, Reason.TOO_MANY_STREAMS, Reason.TOO_MANY_KEYS, Reason.DRAINING])
def test_what_passes_may_say_when_to_come_again(reason: Reason) -> None:
    error = refusal(1, reason, retry_after=2.5)
    assert error.data == {"reason": reason.value, "retryAfter": 2.5}
    assert read_refusal(error) == Refusal(reason, retry_after=2.5)


def test_what_does_not_pass_names_no_time() -> None:
    with pytest.raises(LocalProtocolError, match=r"\Acancelled does not pass: it has no retry_after\Z"):
        refusal(1, Reason.CANCELLED, retry_after=1)


@pytest.mark.rule("D2", "W7")
def test_a_resume_without_an_id_is_refused_without_one() -> None:
    assert encode_message(refusal(None, Reason.EXPIRED)).startswith(b'{"jsonrpc":"2.0","id":null,"error":')


@pytest.mark.rule("Q10")
@given(code=st.integers(-40000, 40000), text=st.text(max_size=9), request_id=st.none() | REQUEST_IDS)
def test_a_client_goes_by_the_reason_alone(code: int, text: str, request_id: RequestId | None) -> None:
    error = ErrorResponse(request_id, code, text, {"reason": "superseded", "more": 1})
    assert read_refusal(error) == Refusal(Reason.SUPERSEDED, extra={"more": 1})


@pytest.mark.rule("Q10")
@given(reason=st.sampled_from(Reason), code=st.integers(-40000, 40000), text=st.text(max_size=9))
def test_where_handlers_answer_too_the_code_has_to_be_the_reasons_own(reason: Reason, code: int, text: str) -> None:
    own = refusal(1, reason, first_available=7, lost=3) if reason is Reason.EVENTS_GONE else refusal(1, reason)
    assert read_refused_call(attrs.evolve(own, message=text)) == read_refusal(own)
    other = attrs.evolve(own, code=code)
    assert read_refused_call(other) == (read_refusal(own) if code == own.code else None)
    assert read_refused_call(attrs.evolve(own, data=None)) is None


@pytest.mark.rule("Q10")
@pytest.mark.parametrize(
    "data",
    [
        None,
        "expired",
        ["expired"],
        {},
        {"reason": None},
        {"reason": "EXPIRED"},
        {"reason": ["expired"]},
        {"reason": "events_gone", "firstAvailable": "7"},
        {"reason": "events_gone", "lost": -1},
        {"reason": "too_early", "retryAfter": "soon"},
    ],
)
def test_any_other_error_is_no_refusal(data: JSONValue) -> None:
    assert read_refusal(ErrorResponse(1, INVALID_PARAMS, "expired", data)) is None


@given(data=VALUES)
def test_no_error_of_a_peer_is_too_odd_to_be_read(data: JSONValue) -> None:
    assert read_refusal(ErrorResponse(1, 0, "", data)) is None


@given(first_available=POSITIONS, lost=POSITIONS, retry_after=SECONDS)
def test_details_survive_the_wire(first_available: int, lost: int, retry_after: float) -> None:
    for error, expected in [
        (
            refusal(1, Reason.EVENTS_GONE, first_available=first_available, lost=lost),
            Refusal(Reason.EVENTS_GONE, first_available, lost),
        ),
        (refusal(1, Reason.TOO_EARLY, retry_after=retry_after), Refusal(Reason.TOO_EARLY, retry_after=retry_after)),
    ]:
        arrived = decode_message(encode_message(error))
        assert isinstance(arrived, ErrorResponse)
        assert read_refusal(arrived) == expected
