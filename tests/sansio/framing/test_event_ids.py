"""An event id names a stream and a position in it, in exactly one way."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.errors import INVALID_PARAMS, LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.framing.event_ids import MAX_EVENT_ID_LENGTH, MAX_SEQUENCE, event_id, parse_event_id
from mcpstreams_sansio.ids import StreamId

VISIBLE = "".join(map(chr, range(0x21, 0x7F)))

stream_ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=100).map(StreamId)
sequences = st.integers(0, MAX_SEQUENCE)


@pytest.mark.parametrize(
    ("stream_id", "sequence", "text"),
    [
        ("s1", 0, "s1_0"),
        ("s1", 42, "s1_42"),
        ("a_b", 1, "a_b_1"),
        ("_", 1, "__1"),
        ("s_1", 2, "s_1_2"),
        ("100%", 1, "100%25_1"),
        ("é", 1, "%C3%A9_1"),
        ("a b\n", 1, "a%20b%0A_1"),
        ("\0", 1, "%00_1"),
        ("\ufffd", 1, "%EF%BF%BD_1"),
        ("s1", MAX_SEQUENCE, "s1_9007199254740991"),
    ],
)
@pytest.mark.rule("R1", "H23")
def test_a_position_of_a_stream_has_one_spelling(stream_id: str, sequence: int, text: str) -> None:
    assert event_id(StreamId(stream_id), sequence) == text
    assert parse_event_id(text) == (stream_id, sequence)


def test_visible_ascii_is_written_as_it_is() -> None:
    stream_id = VISIBLE.replace("%", "")
    assert event_id(StreamId(stream_id), 7) == f"{stream_id}_7"
    assert event_id(StreamId(stream_id + "é"), 7) == f"{stream_id}%C3%A9_7"


@given(stream_ids, sequences)
def test_every_position_is_found_again(stream_id: StreamId, sequence: int) -> None:
    text = event_id(stream_id, sequence)
    assert set(text) <= set(VISIBLE)
    assert parse_event_id(text) == (stream_id, sequence)


@given(st.text() | st.text("%_019aAcC3é") | st.from_regex(r"\A(%[0-9A-Fa-f]{2}|[a_]){1,8}_[0-9]{1,17}\Z"))
def test_whatever_is_accepted_is_the_one_spelling_of_its_position(text: str) -> None:
    with contextlib.suppress(RemoteProtocolError):
        stream_id, sequence = parse_event_id(text)
        assert stream_id
        assert event_id(stream_id, sequence) == text


MALFORMED = {
    "empty": "",
    "no separator": "s1",
    "no position": "s1_",
    "no stream": "_1",
    "negative": "s1_-1",
    "signed": "s1_+1",
    "leading zero": "s1_01",
    "two zeros": "s1_00",
    "not decimal": "s1_1a",
    "digits that are not ASCII": "s1_\u0661",
    "underscore between digits is a name without a stream": "_1_",
    "beyond the highest position": f"s1_{MAX_SEQUENCE + 1}",
    "absurd digits": "s1_" + "9" * 100,
    "NUL": "s\x001_1",
    "space": "s 1_1",
    "space in front": " s1_1",
    "space behind": "s1_1 ",
    "line end behind": "s1_1\n",
    "tab": "s\t1_1",
    "DEL": "s\x7f_1",
    "not ASCII": "é_1",
    "lone surrogate": "\ud800_1",
    "escape that needs none": "%61_1",
    "escape of a separator": "a%5Fb_1",
    "lower-case escape": "%c3%a9_1",
    "escape cut short": "a%C_1",
    "percent sign alone": "a%_1",
    "escape that is none": "a%zz_1",
    "escape of no text": "a%FF_1",
    "escape of a surrogate": "%ED%A0%80_1",
    "overlong escape": "%C0%AF_1",
}


@pytest.mark.rule("Q12")
@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_what_is_no_event_id_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(RemoteProtocolError, match=r"\Aan event id is malformed\Z") as caught:
        parse_event_id(text)
    assert caught.value.error_code == INVALID_PARAMS
    assert caught.value.__context__ is None


@pytest.mark.rule("Q12")
def test_an_event_id_has_a_greatest_length() -> None:
    longest = StreamId("x" * (MAX_EVENT_ID_LENGTH - 2))
    text = event_id(longest, 1)
    assert len(text) == MAX_EVENT_ID_LENGTH
    assert parse_event_id(text) == (longest, 1)
    with pytest.raises(LocalProtocolError, match=r"\Aa stream id is too long for an event id\Z"):
        event_id(longest, 10)
    with pytest.raises(RemoteProtocolError, match=r"\Aan event id is too long\Z") as caught:
        parse_event_id(text + "0")
    assert caught.value.error_code == INVALID_PARAMS


NO_TEXT = "a stream id must be text that UTF-8 can carry"
OUT_OF_RANGE = "a position is not between 0 and MAX_SEQUENCE"


@pytest.mark.parametrize(
    ("stream_id", "sequence", "words"),
    [
        ("", 1, "a stream id must not be empty"),
        ("\ud800", 1, NO_TEXT),
        ("é\udfff", 1, NO_TEXT),
        ("s1", -1, OUT_OF_RANGE),
        ("s1", MAX_SEQUENCE + 1, OUT_OF_RANGE),
    ],
)
def test_what_no_event_id_can_say_is_not_written(stream_id: str, sequence: int, words: str) -> None:
    with pytest.raises(LocalProtocolError, match=rf"\A{words}\Z"):
        event_id(StreamId(stream_id), sequence)
