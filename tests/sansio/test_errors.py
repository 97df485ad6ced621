"""Whose fault a failure is, and how to answer it."""

from __future__ import annotations

import copy

import pytest

from mcpstreams_sansio.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    LocalProtocolError,
    ProtocolError,
    RemoteProtocolError,
)
from tests.wording import whole


def test_the_codes_are_those_of_json_rpc() -> None:
    codes = (PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR)
    assert codes == (-32700, -32600, -32601, -32602, -32603)


def test_neither_side_is_to_blame_for_a_bare_protocol_error() -> None:
    words = "ProtocolError is abstract: raise LocalProtocolError or RemoteProtocolError"
    with pytest.raises(TypeError, match=whole(words)):
        ProtocolError("whose fault?")


@pytest.mark.parametrize("error", [LocalProtocolError("wrong call"), RemoteProtocolError("wrong bytes")])
def test_both_faults_are_caught_by_the_common_base(error: ProtocolError) -> None:
    with pytest.raises(ProtocolError, match=whole(str(error))):
        raise error


def test_one_fault_is_never_mistaken_for_the_other() -> None:
    assert not issubclass(LocalProtocolError, RemoteProtocolError)
    assert not issubclass(RemoteProtocolError, LocalProtocolError)


def test_a_subclass_keeps_whose_fault_it_is() -> None:
    class StreamFullError(LocalProtocolError):
        pass

    with pytest.raises(LocalProtocolError, match=r"\Athe stream is full\Z"):
        raise StreamFullError("the stream is full")


def test_the_text_is_the_message_and_nothing_else() -> None:
    assert str(LocalProtocolError("id used twice")) == "id used twice"
    assert str(RemoteProtocolError("not an object", error_code=PARSE_ERROR, http_status=413)) == "not an object"


def test_an_unusable_message_is_an_invalid_request_unless_said_otherwise() -> None:
    error = RemoteProtocolError("not an object")
    assert (error.error_code, error.http_status) == (INVALID_REQUEST, 400)


def test_the_answer_to_give_travels_with_the_error() -> None:
    error = RemoteProtocolError("body too large", error_code=PARSE_ERROR, http_status=413)
    assert (error.error_code, error.http_status) == (PARSE_ERROR, 413)


def test_a_copy_of_an_error_still_knows_the_answer() -> None:
    error = copy.copy(RemoteProtocolError("body too large", error_code=PARSE_ERROR, http_status=413))
    assert (str(error), error.error_code, error.http_status) == ("body too large", PARSE_ERROR, 413)


def test_an_error_names_the_request_only_where_its_id_was_read() -> None:
    assert RemoteProtocolError("params must be an object", request_id="7").request_id == "7"
    assert RemoteProtocolError("not an object").request_id is None
