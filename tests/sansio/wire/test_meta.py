"""Our keys in `_meta`: put in, read strictly, kept from the application, and refused where it sets them itself."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.errors import INVALID_PARAMS, LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.ids import Secret, StreamId
from mcpstreams_sansio.wire.converter import unstructure
from mcpstreams_sansio.wire.jsonrpc import JSONObject, JSONValue
from mcpstreams_sansio.wire.marker import Ack, Attempt, Window
from mcpstreams_sansio.wire.meta import (
    check_application_meta,
    check_application_result,
    meta_of,
    own_meta,
    parse_call_key,
    read_acks,
    read_after,
    read_answer_token,
    read_attempt,
    read_window,
    with_meta,
    without_own_meta,
)
from tests.sansio.wire.json_values import OBJECTS, POSITIONS, SECRETS, STREAM_IDS, TEXT, VALUES
from tests.wording import whole

KEY = "k" * 22

keys = st.text("abcXYZ019_-", min_size=22, max_size=128).map(Secret)
attempts = st.builds(Attempt, st.text("abcXYZ019_-", min_size=1, max_size=9), st.integers(0, 99))
acks = st.lists(st.builds(Ack, STREAM_IDS, POSITIONS, st.none() | SECRETS), max_size=3).map(tuple)
application_keys = TEXT.filter(lambda key: key != "streamId" and not key.startswith("mcpstreams/"))
application_meta = st.dictionaries(application_keys, VALUES, min_size=1, max_size=3)
application_params = st.none() | st.builds(
    lambda members, meta: {**members, **({"_meta": meta} if meta else {})},
    st.dictionaries(TEXT, VALUES, min_size=1, max_size=3),
    st.none() | application_meta,
)


def refused(params: JSONObject) -> str:
    """Return what each reader says of params that all of them refuse."""
    texts = set()
    for read in (parse_call_key, read_attempt, read_after, read_acks):
        with pytest.raises(RemoteProtocolError, match=r"\Aparams\._meta: not an object\Z") as caught:
            read(params)
        assert caught.value.error_code == INVALID_PARAMS
        texts.add(str(caught.value))
    assert len(texts) == 1
    return texts.pop()


# ------------------------------------------------------------------------------------------------- in, and out again


@pytest.mark.rule("R21", "R14", "R6")
@given(
    params=application_params,
    key=st.none() | keys,
    attempt=st.none() | attempts,
    after=st.none() | POSITIONS,
    some=acks,
)
def test_what_a_client_adds_the_server_reads_and_the_application_never_sees(
    params: JSONObject | None, key: Secret | None, attempt: Attempt | None, after: int | None, some: tuple[Ack, ...]
) -> None:
    before = copy.deepcopy(params)
    sent = with_meta(params, own_meta(key=key, attempt=attempt, after=after, acks=some))
    assert parse_call_key(sent) == key
    assert read_attempt(sent) == attempt
    assert read_after(sent) == after
    assert read_acks(sent) == some
    assert without_own_meta(sent) == params == before


@pytest.mark.rule("R4", "R21")
def test_our_keys_have_these_names() -> None:
    acknowledged = Ack(StreamId("s"), 3)
    token = Secret("tok")
    assert own_meta(key=Secret(KEY), attempt=Attempt("i", 2), after=0, acks=(acknowledged,), resume_token=token) == {
        "mcpstreams/key": KEY,
        "mcpstreams/attempt": "i.2",
        "mcpstreams/after": 0,
        "mcpstreams/ack": [{"streamId": "s", "through": 3}],
        "mcpstreams/resumeToken": "tok",
    }


@pytest.mark.rule("R24", "R4")
@given(result=application_params, token=st.none() | SECRETS.filter(lambda secret: secret.reveal() != ""), key=keys)
def test_what_a_client_adds_to_an_answer_the_server_reads(
    result: JSONObject | None, token: Secret | None, key: Secret
) -> None:
    sent = with_meta(result, own_meta(key=key, resume_token=token)) or {}
    assert read_answer_token(sent) == token
    assert parse_call_key(sent, "result") == key
    assert without_own_meta(sent, "result") == result


def test_nothing_to_add_changes_nothing() -> None:
    assert own_meta() is None
    params: JSONObject = {"name": "t"}
    assert with_meta(params, own_meta()) is params
    assert with_meta(None, None) is None


@pytest.mark.parametrize("params", [None, {}, {"name": "t"}, {"_meta": {}}, {"_meta": {"progressToken": 1}}])
def test_a_message_without_our_keys_says_nothing(params: JSONObject | None) -> None:
    assert parse_call_key(params) is None
    assert read_attempt(params) is None
    assert read_after(params) is None
    assert read_acks(params) == ()


@pytest.mark.parametrize("meta", [None, [], "x", 5])
def test_meta_is_an_object(meta: JSONValue) -> None:
    assert refused({"_meta": meta}) == "params._meta: not an object"
    with pytest.raises(RemoteProtocolError, match=r"\Aresult\._meta: not an object\Z"):
        meta_of({"_meta": meta}, "result")


# ------------------------------------------------------------------------------------------------------- strict reading


@pytest.mark.rule("R21")
@pytest.mark.parametrize("key", ["k" * 22, "k" * 128, "AZaz09_-AZaz09_-AZaz09"])
def test_a_call_key_is_22_to_128_letters_digits_dashes_and_underscores(key: str) -> None:
    assert parse_call_key({"_meta": {"mcpstreams/key": key}}) == Secret(key)


@pytest.mark.rule("R21", "Q11b")
@pytest.mark.parametrize(
    "key",
    ["", "k" * 21, "k" * 129, "k" * 22 + "\n", "k" * 22 + "=", "k k" * 9, "é" * 22, "\u0661" * 22, None, 5, [KEY]],
)
def test_another_key_is_refused_and_not_repeated(key: JSONValue) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        parse_call_key({"_meta": {"mcpstreams/key": key}})
    text = "params._meta.mcpstreams/key: not a key of 22 to 128 letters, digits, '-' and '_'"
    assert str(caught.value) == text
    assert caught.value.error_code == INVALID_PARAMS


@pytest.mark.rule("R14")
@pytest.mark.parametrize("attempt", ["a", 1, None])
def test_another_attempt_is_refused(attempt: JSONValue) -> None:
    with pytest.raises(RemoteProtocolError, match=r"\Aparams\._meta\.mcpstreams/attempt: not <instance>\.<number>\Z"):
        read_attempt({"_meta": {"mcpstreams/attempt": attempt}})


@pytest.mark.rule("R1")
@pytest.mark.parametrize("after", [-1, 1.0, "1", True, None])
def test_a_cursor_is_a_position(after: JSONValue) -> None:
    with pytest.raises(RemoteProtocolError, match=r"\Aparams\._meta\.mcpstreams/after: not a position\Z") as caught:
        read_after({"_meta": {"mcpstreams/after": after}})
    assert str(caught.value) == "params._meta.mcpstreams/after: not a position"
    assert caught.value.error_code == INVALID_PARAMS


@pytest.mark.rule("R6")
@pytest.mark.parametrize(
    ("ack", "text"),
    [
        (None, "result._meta.mcpstreams/ack: not an array"),
        ({}, "result._meta.mcpstreams/ack: not an array"),
        (
            [{"streamId": "s", "through": 1}, {"streamId": "", "through": 1.5}],
            "result._meta.mcpstreams/ack[1].streamId: not a non-empty string; "
            "result._meta.mcpstreams/ack[1].through: not an integer",
        ),
    ],
)
def test_acknowledgements_are_read_strictly(ack: JSONValue, text: str) -> None:
    with pytest.raises(RemoteProtocolError, match=whole(text)):
        read_acks({"_meta": {"mcpstreams/ack": ack}}, "result")


@pytest.mark.rule("R6")
def test_create_announces_how_much_may_be_unacknowledged() -> None:
    window = Window(1000, 2**20)
    assert unstructure(window) == {"entries": 1000, "bytes": 2**20}
    assert read_window({"mcpstreams/window": unstructure(window), "mcpstreams/seq": 1}) == window
    assert read_window({"mcpstreams/seq": 1}) is None
    assert read_window(None) is None
    with pytest.raises(RemoteProtocolError, match=r"\Aparams\._meta\.mcpstreams/window\.bytes: missing\Z"):
        read_window({"mcpstreams/window": {"entries": 5}})


# ------------------------------------------------------------------------------------------------ what applications see


@pytest.mark.rule("R21", "R4")
def test_an_application_sees_its_own_meta_the_progress_token_and_the_hint() -> None:
    params: JSONObject = {
        "name": "t",
        "_meta": {
            "progressToken": 5,
            "streamId": "s",
            "com.example/trace": "x",
            "mcpstreams/key": KEY,
            "mcpstreams/attempt": "i.1",
            "mcpstreams/ack": [],
            "mcpstreams/after": 3,
            "mcpstreams/of-a-later-version": True,
        },
    }
    assert without_own_meta(params) == {
        "name": "t",
        "_meta": {"progressToken": 5, "streamId": "s", "com.example/trace": "x"},
    }
    assert params["_meta"] != {}


@pytest.mark.rule("R21")
@pytest.mark.parametrize(
    ("params", "seen"),
    [
        ({"name": "t", "_meta": {"mcpstreams/key": KEY}}, {"name": "t"}),
        ({"_meta": {"mcpstreams/key": KEY}}, None),
        ({"_meta": {}}, {"_meta": {}}),
        ({}, {}),
        (None, None),
    ],
)
def test_what_our_keys_alone_filled_goes_with_them(params: JSONObject | None, seen: JSONObject | None) -> None:
    assert without_own_meta(params) == seen


NOT_YOURS = "in _meta, streamId and what begins with mcpstreams/ are not the application's"


@pytest.mark.rule("R4")
@pytest.mark.parametrize("key", ["mcpstreams/seq", "mcpstreams/key", "mcpstreams/anything", "streamId"])
def test_an_application_does_not_set_our_keys(key: str) -> None:
    with pytest.raises(LocalProtocolError, match=whole(NOT_YOURS)):
        check_application_meta({"_meta": {"a": 1, key: "x"}})


@pytest.mark.rule("R4")
@given(meta=application_meta)
def test_an_application_may_set_every_other_key(meta: JSONObject) -> None:
    check_application_meta({"_meta": meta})
    check_application_meta({"_meta": {"mcpstreams": 1, "com.example/mcpstreams/": 2, "progressToken": 3}})


@given(holder=st.none() | OBJECTS)
def test_an_application_needs_no_meta(holder: JSONObject | None) -> None:
    check_application_meta(holder)


@pytest.mark.parametrize("holder", ["text", "", 5, 0, True, [{}], b"", object()])
def test_what_an_application_gives_is_an_object(holder: object) -> None:
    with pytest.raises(LocalProtocolError, match=r"\Aparams are an object, and so is a result\Z"):
        check_application_meta(holder)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (None, "a result is an object"),
        ("text", "params are an object, and so is a result"),
        ([], "params are an object, and so is a result"),
        ({"_meta": None}, "_meta is an object"),
        ({"_meta": {"streamId": "s"}}, NOT_YOURS),
    ],
)
def test_a_result_is_never_absent(result: object, words: str) -> None:
    with pytest.raises(LocalProtocolError, match=whole(words)):
        check_application_result(result)


def test_a_key_that_is_no_text_is_none_of_ours() -> None:
    check_application_meta({"_meta": {1: 2}})


@pytest.mark.parametrize("meta", [None, [], "x"])
def test_the_meta_of_an_application_is_an_object(meta: JSONValue) -> None:
    with pytest.raises(LocalProtocolError, match=r"\A_meta is an object\Z"):
        check_application_meta({"_meta": meta})
