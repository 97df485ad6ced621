"""Server-sent events are read as the HTML standard says, and written so that every reader gets them."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Sequence

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.framing.limits import MAX_EVENT_SIZE, MAX_LINE_SIZE, FrameTooLargeError
from mcpstreams_sansio.framing.sse import (
    MAX_RETRY_MS,
    SSEDecoder,
    SSEEvent,
    encode_comment,
    encode_event,
    encode_payload,
)
from tests.sansio.framing.chunking import assert_same_every_way, pieces_of
from tests.sansio.framing.sse_streams import STREAMS, Stream

BEGUN = b"id: begun\nretry: 1\nevent: begun\ndata: begun\r"
"""Everything of a block but its blank line."""


def taken(decoder: SSEDecoder) -> list[SSEEvent]:
    events = []
    while (event := decoder.next_event()) is not None:
        events.append(event)
    return events


def decoded(pieces: Sequence[bytes]) -> list[SSEEvent]:
    """Return every event of a stream that comes in pieces and then ends."""
    decoder = SSEDecoder()
    events = []
    for piece in pieces:
        decoder.receive_data(piece)
        events += taken(decoder)
    decoder.receive_eof()
    return events + taken(decoder)


def read(pieces: Sequence[bytes]) -> Stream:
    """Return what came out of a stream, in the form of the table."""
    decoder = SSEDecoder()
    events = []
    for piece in pieces:
        decoder.receive_data(piece)
        events += taken(decoder)
    decoder.receive_eof()
    events += taken(decoder)
    rows = [(event.event, event.data, str(event.id)) for event in events]
    return Stream("", b"", rows, decoder.last_event_id, decoder.retry_ms)


@pytest.mark.rule("H28")
@pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name)
def test_a_stream_is_read_as_the_standard_says(stream: Stream) -> None:
    expected = attrs.evolve(stream, name="", wire=b"")
    whole = not stream.wire or stream.wire.endswith((b"\n\n", b"\r\n\r", b"\n\r", b"\r\r", b"\r\r\n", b"\r\n\r\n"))
    assert_same_every_way(read, stream.wire, expected, begun=BEGUN if whole else b"")


def by_the_book(wire: bytes) -> Stream:
    """Read a whole stream in the order of the standard's own sentences, as a second opinion."""
    text = wire.decode(errors="replace").removeprefix("\ufeff")
    events = []
    cursor, retry_ms = "", None
    data, event, new_cursor, new_retry_ms = "", "", cursor, retry_ms
    *lines, _unfinished = re.split("\r\n|\n|\r", text)
    for line in lines:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            cursor, retry_ms = new_cursor, new_retry_ms
            if data:
                events.append((event or "message", data.removesuffix("\n"), cursor))
            data, event = "", ""
        elif field == "data":
            data += value + "\n"
        elif field == "event":
            event = value
        elif field == "id" and "\0" not in value:
            new_cursor = value
        elif field == "retry" and re.fullmatch("[0-9]+", value):
            new_retry_ms = min(int(value), MAX_RETRY_MS)
    return Stream("", b"", events, cursor, retry_ms)


FRAGMENTS = [
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"data",
    b"data: x",
    b"id",
    b"id: 7",
    b"event: e",
    b"retry: 12",
    b":",
    b" ",
]
FRAGMENTS += [b"\xef\xbb\xbf", b"\x00", b"\xff", b"\xe2\x80", "\u2028".encode(), "😀".encode(), b"9", b"data:\n\n"]


@given(pieces_of(st.sampled_from(FRAGMENTS)))
def test_whatever_is_sent_is_read_as_the_standard_says(pieces: list[bytes]) -> None:
    assert read(pieces) == by_the_book(b"".join(pieces))


@given(pieces_of(st.binary()))
def test_no_bytes_are_an_error_of_ours(pieces: list[bytes]) -> None:
    decoder = SSEDecoder(max_line_size=20, max_event_size=20)
    for piece in pieces:
        decoder.receive_data(piece)
        with contextlib.suppress(FrameTooLargeError):
            taken(decoder)


# ------------------------------------------------------------------------------------- the cursor and its step


@pytest.mark.rule("H29")
def test_the_cursor_is_never_ahead_of_an_event_that_nobody_has_taken() -> None:
    decoder = SSEDecoder()
    decoder.receive_data(
        b"id: 1\nretry: 10\ndata: a\n\nid: 2\n\nid: 3\nretry: 30\ndata: c\n\nid: 4\n\nid: 5\ndata: e\n"
    )
    steps: list[tuple[str | None, str, int | None]] = [(None, decoder.last_event_id, decoder.retry_ms)]
    for _ in range(3):
        event = decoder.next_event()
        steps.append((event.data if event else None, decoder.last_event_id, decoder.retry_ms))
    assert steps == [(None, "", None), ("a", "1", 10), ("c", "3", 30), (None, "4", 30)]


@pytest.mark.rule("H29")
def test_a_half_received_block_leaves_cursor_and_wait_as_they_are() -> None:
    whole = b"id: 1\nretry: 10\ndata: a\n\n"
    half = b"id: 2\nretry: 20\ndata: b\n"
    for end in range(len(half) + 1):
        stream = read([whole, half[:end]])
        assert (stream.events, stream.last_event_id, stream.retry_ms) == ([("message", "a", "1")], "1", 10)


@pytest.mark.parametrize(
    ("digits", "retry_ms"),
    [
        (b"0", 0),
        (b"000", 0),
        (b"1000000000", 1_000_000_000),
        (b"2147483647", 2_147_483_647),
        (b"2147483648", MAX_RETRY_MS),
        (b"0000000000000010", 10),
        (b"9" * 5_000, MAX_RETRY_MS),
    ],
)
def test_a_pause_is_taken_as_it_is_up_to_the_longest(digits: bytes, retry_ms: int) -> None:
    assert [event.retry_ms for event in decoded([b"retry: " + digits + b"\ndata: a\n\n"])] == [retry_ms]


def test_an_event_tells_only_its_own_retry() -> None:
    events = decoded([b"retry: 10\ndata: a\n\ndata: b\n\nretry: 20\n\ndata: c\n\n"])
    assert [(event.data, event.retry_ms) for event in events] == [("a", 10), ("b", None), ("c", None)]


def test_after_the_end_no_data_is_taken_and_nothing_has_changed() -> None:
    decoder = SSEDecoder()
    decoder.receive_data(b"data: x\n\ndata: y\n")
    decoder.receive_eof()
    with pytest.raises(LocalProtocolError, match=r"\Ano data can follow the end\Z"):
        decoder.receive_data(b"\n")
    decoder.receive_eof()
    assert [event.data for event in taken(decoder)] == ["x"]
    assert taken(decoder) == []


# ------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    ("wire", "fault"),
    [
        (b"data: 0123456789abcd" + b"x", "a line is longer than 20 bytes"),
        (b":" + b"x" * 20, "a line is longer than 20 bytes"),
        (b"x" * 21 + b"\n", "a line is longer than 20 bytes"),
        (b"data: 12345678901\n", "the data of an event is longer than 11 bytes"),
        (b"data: 123\ndata: 1234\ndata: 123\n", "the data of an event is longer than 11 bytes"),
        (b"data\n" * 12, "the data of an event is longer than 11 bytes"),
    ],
)
def test_what_is_too_large_ends_the_stream_after_the_events_before_it(wire: bytes, fault: str) -> None:
    def events_then_fault(pieces: Sequence[bytes]) -> list[str]:
        decoder = SSEDecoder(max_line_size=20, max_event_size=11)
        found: list[str] = []
        try:
            for piece in pieces:
                decoder.receive_data(piece)
                while (event := decoder.next_event()) is not None:
                    found.append(event.data)
        except FrameTooLargeError as error:
            found.append(str(error))
        return found

    assert_same_every_way(events_then_fault, b"data: a\n\ndata: b\n\n" + wire, ["a", "b", fault])


def test_what_is_just_small_enough_is_read() -> None:
    decoder = SSEDecoder(max_line_size=20, max_event_size=11)
    decoder.receive_data(
        b"data: 1234567890\r\n\r\n:" + b"x" * 19 + b"\ndata: 123\ndata: 12\ndata: 12\n\n" + b"data\n" * 11
    )
    decoder.receive_data(b"\n")
    assert [event.data for event in taken(decoder)] == ["1234567890", "123\n12\n12", "\n" * 10]


def test_the_smallest_limit_of_an_event_lets_priming_events_through() -> None:
    decoder = SSEDecoder(max_event_size=1)
    decoder.receive_data(b"id: 1\ndata: \n\ndata: x\n")
    assert decoder.next_event() == SSEEvent("", id="1")
    with pytest.raises(FrameTooLargeError, match=r"\Athe data of an event is longer than 1 bytes\Z"):
        decoder.next_event()


def test_an_event_that_is_too_large_is_not_the_sum_of_those_before_it() -> None:
    decoder = SSEDecoder(max_event_size=5)
    decoder.receive_data(b"data: 1234\n\n" * 3)
    assert len(taken(decoder)) == 3


def test_a_decoder_that_has_failed_stays_failed() -> None:
    decoder = SSEDecoder(max_line_size=20)
    decoder.receive_data(b"id: 1\ndata: a\n\nid: 2\ndata: 0123456789abcdef\n")
    assert [decoder.next_event()] == [SSEEvent("a", id="1")]
    for more in (b"", b"\n\n", b"data: b\n\n", b"x" * 100):
        decoder.receive_data(more)
        with pytest.raises(FrameTooLargeError, match=r"\Aa line is longer than 20 bytes\Z"):
            decoder.next_event()
    decoder.receive_eof()
    with pytest.raises(FrameTooLargeError, match=r"\Aa line is longer than 20 bytes\Z"):
        decoder.next_event()
    assert (decoder.last_event_id, decoder.retry_ms) == ("1", None)


def test_there_is_room_for_a_large_event_by_default() -> None:
    data = "x" * (MAX_EVENT_SIZE - 1 - len("data: "))
    assert [event.data for event in decoded([b"data: " + data.encode() + b"\n\n"])] == [data]
    with pytest.raises(FrameTooLargeError, match=rf"\Aa line is longer than {MAX_LINE_SIZE} bytes\Z"):
        decoded([b"data: " + b"x" * MAX_LINE_SIZE])
    with pytest.raises(FrameTooLargeError, match=rf"\Athe data of an event is longer than {MAX_EVENT_SIZE} bytes\Z"):
        decoded([b"data: " + b"x" * (MAX_EVENT_SIZE // 2) + b"\n"] * 2)


@pytest.mark.parametrize("size", [0, -1])
def test_a_size_of_no_bytes_at_all_is_no_limit(size: int) -> None:
    with pytest.raises(ValueError, match=rf"\A'max_line_size' must be >= 1: {size}\Z"):
        SSEDecoder(max_line_size=size)
    with pytest.raises(ValueError, match=r"\Amax_event_size must be at least 1\Z"):
        SSEDecoder(max_event_size=size)


def seconds_to_read_byte_by_byte(size: int) -> float:
    decoder = SSEDecoder()
    begin = time.process_time()
    decoder.receive_data(b"data: ")
    for _ in range(size):
        decoder.receive_data(b"x")
        assert decoder.next_event() is None
    decoder.receive_data(b"\n\n")
    assert decoder.next_event() == SSEEvent("x" * size, id="")
    return time.process_time() - begin


def test_the_time_for_an_event_that_comes_byte_by_byte_grows_with_its_length_only() -> None:
    # Eight times the bytes: about eight times as long if each byte is looked at once, 64 times if all are each time.
    assert seconds_to_read_byte_by_byte(160_000) < 24 * seconds_to_read_byte_by_byte(20_000)


# ------------------------------------------------------------------------------------- writing


@pytest.mark.parametrize(
    ("event", "wire"),
    [
        (SSEEvent("x"), b"data: x\n\n"),
        (SSEEvent("x", id="s1_1"), b"id: s1_1\ndata: x\n\n"),
        (SSEEvent("x", "test", "1", 5), b"event: test\nid: 1\nretry: 5\ndata: x\n\n"),
        (SSEEvent("a\nb\n\nc"), b"data: a\ndata: b\ndata: \ndata: c\n\n"),
        (SSEEvent(" x"), b"data:  x\n\n"),
        (SSEEvent("é\u2028"), b"data: \xc3\xa9\xe2\x80\xa8\n\n"),
        (SSEEvent("", id=""), b"id: \ndata: \n\n"),
        (SSEEvent("", retry_ms=0), b"retry: 0\ndata: \n\n"),
        (SSEEvent("", retry_ms=MAX_RETRY_MS), b"retry: 2147483647\ndata: \n\n"),
    ],
)
def test_an_event_is_written(event: SSEEvent, wire: bytes) -> None:
    assert encode_event(event) == wire


@pytest.mark.rule("H13", "H14")
def test_a_priming_event_always_has_its_data_line() -> None:
    assert encode_event(SSEEvent("", id="s1_0")) == b"id: s1_0\ndata: \n\n"
    assert encode_payload(b"", "s1_0") == b"id: s1_0\ndata: \n\n"


CUT = "a line end or a NUL stands where the format cannot carry it"
SURROGATE = "a lone surrogate cannot be encoded"
OUT_OF_RANGE = "retry_ms is not between 0 and MAX_RETRY_MS"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (SSEEvent("a\rb"), CUT),
        (SSEEvent("a\r\nb"), CUT),
        (SSEEvent("\ud800"), SURROGATE),
        (SSEEvent("x", ""), "the type of an event must not be empty"),
        (SSEEvent("x", "a\nb"), CUT),
        (SSEEvent("x", "a\rb"), CUT),
        (SSEEvent("x", "\udfff"), SURROGATE),
        (SSEEvent("x", id="a\nb"), CUT),
        (SSEEvent("x", id="a\rb"), CUT),
        (SSEEvent("x", id="a\0b"), CUT),
        (SSEEvent("x", id="\ud800"), SURROGATE),
        (SSEEvent("x", retry_ms=-1), OUT_OF_RANGE),
        (SSEEvent("x", retry_ms=MAX_RETRY_MS + 1), OUT_OF_RANGE),
    ],
    ids=repr,
)
def test_what_the_format_cannot_carry_is_not_written(event: SSEEvent, words: str) -> None:
    with pytest.raises(LocalProtocolError, match=rf"\A{words}\Z"):
        encode_event(event)


line = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]))
events = st.builds(
    SSEEvent,
    st.lists(line).map("\n".join),
    st.just("message") | line.filter(bool),
    st.none() | line,
    st.none() | st.integers(0, MAX_RETRY_MS),
)


@given(st.lists(events))
def test_what_is_written_is_read(written: list[SSEEvent]) -> None:
    expected, cursor = [], ""
    for event in written:
        cursor = cursor if event.id is None else event.id
        expected.append(attrs.evolve(event, id=cursor))
    assert decoded([b"".join(map(encode_event, written))]) == expected


def test_an_encoded_message_is_framed_as_it_is() -> None:
    payload = '{"text":"é"}'.encode()
    assert encode_payload(payload) == b"data: " + payload + b"\n\n"
    assert encode_payload(payload, "s1_3") == encode_event(SSEEvent(payload.decode(), id="s1_3"))


@pytest.mark.parametrize(
    ("payload", "event_id", "words"),
    [
        (b"{\n}", None, "a line end inside a message would cut it"),
        (b"{}\r", None, "a line end inside a message would cut it"),
        (b"{}", "1\n", CUT),
        (b"{}", "\0", CUT),
    ],
)
def test_an_encoded_message_that_would_be_cut_is_not_framed(payload: bytes, event_id: str | None, words: str) -> None:
    with pytest.raises(LocalProtocolError, match=rf"\A{words}\Z"):
        encode_payload(payload, event_id)


def test_a_comment_says_nothing_and_ends_nothing() -> None:
    assert encode_comment() == b":\n\n"
    assert encode_comment("keep-alive") == b": keep-alive\n\n"
    assert encode_comment("data: x") == b": data: x\n\n"
    assert decoded([encode_comment(), encode_comment("data: x"), encode_event(SSEEvent("y"))]) == [SSEEvent("y", id="")]


@pytest.mark.parametrize(("text", "words"), [("a\nb", CUT), ("a\rb", CUT), ("\n", CUT), ("\ud800", SURROGATE)])
def test_a_comment_has_one_line(text: str, words: str) -> None:
    with pytest.raises(LocalProtocolError, match=rf"\A{words}\Z"):
        encode_comment(text)


@given(line.filter(bool))
def test_a_comment_is_any_line(text: str) -> None:
    assert encode_comment(text) == b": " + text.encode() + b"\n\n"


def test_what_an_event_carries_is_not_shown() -> None:
    assert repr(SSEEvent("token", id="s1_1")) == "SSEEvent(event='message', id='s1_1', retry_ms=None)"


@pytest.mark.rule("Q11b")
def test_decoders_with_equal_snapshots_go_on_alike_and_show_nothing_of_what_they_hold() -> None:
    def read_so_far(*pieces: bytes) -> SSEDecoder:
        decoder = SSEDecoder()
        for piece in pieces:
            decoder.receive_data(piece)
            assert decoder.next_event() is None
        return decoder

    begun = [b"", b"id: token", b"id: token\n", b"id: token\n\n", b"data: token", b"data: token\n", b"data: token\r"]
    begun += [b"event: token\n", b"retry: 5\n", b"retry: 5\n\n", b"id: o\n", b"data: o\n", b"event: o\n", b"retry: 6\n"]
    snapshots = [read_so_far(piece).snapshot() for piece in begun]
    assert len(set(snapshots)) == len(begun)
    assert [read_so_far(piece[:3], piece[3:]).snapshot() for piece in begun] == snapshots
    assert [piece for piece, shown in zip(begun, snapshots, strict=True) if "token" in repr(shown)] == [
        b"id: token\n\n"
    ]
