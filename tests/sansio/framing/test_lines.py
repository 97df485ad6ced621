"""One message per line, for every byte stream."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.framing.limits import MAX_LINE_SIZE, FrameTooLargeError
from mcpstreams_sansio.framing.lines import LineDecoder, encode_line
from tests.sansio.framing.chunking import assert_same_every_way, pieces_of

TOO_LARGE = "a line is longer than 8 bytes"


def taken(decoder: LineDecoder) -> list[bytes | str]:
    """Return every line that can be taken, and for a line that is too long the text of its error."""
    found: list[bytes | str] = []
    while True:
        try:
            line = decoder.next_line()
        except FrameTooLargeError as error:
            found.append(str(error))
        else:
            if line is None:
                return found
            found.append(line)


def lines(pieces: Sequence[bytes]) -> list[bytes | str]:
    decoder = LineDecoder(max_line_size=8)
    found: list[bytes | str] = []
    for piece in pieces:
        decoder.receive_data(piece)
        found += taken(decoder)
    return found


def lines_to_the_end(pieces: Sequence[bytes]) -> list[bytes | str]:
    decoder = LineDecoder(max_line_size=8)
    for piece in pieces:
        decoder.receive_data(piece)
    decoder.receive_eof()
    return taken(decoder)


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        (b"", []),
        (b"a\n", [b"a"]),
        (b"a\r\n", [b"a"]),
        (b"a\nb\r\nc\n", [b"a", b"b", b"c"]),
        (b"\n\r\n\na\n\r\n\n", [b"a"]),
        (b"a\rb\n", [b"a\rb"]),
        (b"a\r\r\n", [b"a\r"]),
        (b" \n", [b" "]),
        (b"\xff\x00\n", [b"\xff\x00"]),
        (b"12345678\n1234567\r\n", [b"12345678", b"1234567"]),
        (b"a\n123456789\nb\n", [b"a", TOO_LARGE, b"b"]),
        (b"12345678\r\nb\n", [TOO_LARGE, b"b"]),
        (b"123456789\r\n\n987654321\nb\n", [TOO_LARGE, TOO_LARGE, b"b"]),
    ],
)
def test_lines_are_read(wire: bytes, expected: list[bytes | str]) -> None:
    assert_same_every_way(lines, wire, expected, begun=b"\rxyz")
    assert_same_every_way(lines_to_the_end, wire, expected)


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        (b"a\nb", [b"a", b"b"]),
        (b"a\nb\r", [b"a", b"b"]),
        (b"a\n\r", [b"a"]),
        (b"a", [b"a"]),
        (b"a\n123456789", [b"a", TOO_LARGE]),
        (b"123456789\nb", [TOO_LARGE, b"b"]),
    ],
)
def test_at_the_end_a_last_line_needs_no_line_end(wire: bytes, expected: list[bytes | str]) -> None:
    assert_same_every_way(lines_to_the_end, wire, expected)


@pytest.mark.parametrize(
    ("wire", "torn"),
    [(b"", False), (b"a\n", False), (b"a\n\r", False), (b"123456789", False), (b"a", True), (b"a\nb\r", True)],
)
def test_it_is_said_whether_the_last_line_had_an_end(wire: bytes, torn: bool) -> None:
    decoder = LineDecoder(max_line_size=8)
    decoder.receive_data(wire)
    decoder.receive_eof()
    seen = []
    while True:
        seen.append(decoder.torn)
        try:
            if decoder.next_line() is None:
                break
        except FrameTooLargeError:
            continue
    decoder.receive_eof()
    assert decoder.torn is torn
    assert decoder.fork().torn is torn
    assert not any(seen[:-1])


def test_without_the_end_an_unfinished_line_is_never_seen() -> None:
    assert_same_every_way(lines, b"a\nb", [b"a"])


def test_after_the_end_no_data_is_taken_and_nothing_has_changed() -> None:
    decoder = LineDecoder()
    decoder.receive_data(b"a\nb")
    decoder.receive_eof()
    with pytest.raises(LocalProtocolError, match=r"\Ano data can follow the end\Z"):
        decoder.receive_data(b"c\n")
    decoder.receive_eof()
    assert taken(decoder) == [b"a", b"b"]
    assert taken(decoder) == []


def test_a_line_has_room_for_a_large_message_by_default() -> None:
    decoder = LineDecoder()
    line = b"x" * MAX_LINE_SIZE
    decoder.receive_data(line + b"\n")
    assert decoder.next_line() == line
    decoder.receive_data(line + b"x\n")
    with pytest.raises(FrameTooLargeError, match=rf"\Aa line is longer than {MAX_LINE_SIZE} bytes\Z"):
        decoder.next_line()


def test_a_line_of_no_bytes_at_all_is_no_limit() -> None:
    with pytest.raises(ValueError, match=r"\A'max_line_size' must be >= 1: 0\Z"):
        LineDecoder(max_line_size=0)


def test_a_message_is_framed_by_one_line_end() -> None:
    assert encode_line(b"{}") == b"{}\n"


@pytest.mark.parametrize("payload", [b"\n", b"{\n}", b"{}\n", b"{\r}", b"{}\r", b"{\r\n}"])
def test_what_would_read_as_something_else_is_not_framed(payload: bytes) -> None:
    with pytest.raises(LocalProtocolError, match=r"\Aa line end inside a message would cut it\Z"):
        encode_line(payload)


def test_nothing_is_no_message() -> None:
    with pytest.raises(LocalProtocolError, match=r"\Aan empty line carries no message\Z"):
        encode_line(b"")


@given(st.lists(st.binary(min_size=1, max_size=8).filter(lambda payload: not set(payload) & set(b"\r\n"))))
def test_what_is_framed_is_read(payloads: list[bytes]) -> None:
    assert lines([b"".join(map(encode_line, payloads))]) == payloads


@given(pieces_of(st.sampled_from([b"\n", b"\r", b"\r\n", b"a", b"{}", b"1234567", b"12345678", b"123456789"])))
def test_it_reads_the_same_however_the_bytes_are_cut(pieces: list[bytes]) -> None:
    assert lines(pieces) == lines([b"".join(pieces)])
    assert lines_to_the_end(pieces) == lines_to_the_end([b"".join(pieces)])


def read_so_far(wire: bytes) -> LineDecoder:
    decoder = LineDecoder(max_line_size=8)
    decoder.receive_data(wire)
    taken(decoder)
    return decoder


def rest_of(decoder: LineDecoder, wire: bytes) -> list[bytes | str]:
    decoder.receive_data(wire)
    return taken(decoder)


@pytest.mark.parametrize("begun", [b"", b"{", b"{}\n{", b"123456789", b"1234\r"])
def test_a_fork_goes_on_from_where_it_was_made_and_changes_nothing_of_the_other(begun: bytes) -> None:
    decoder = read_so_far(begun)
    fork = decoder.fork()
    assert fork.snapshot() == decoder.snapshot()
    assert rest_of(fork, b"}\n{}\n") == rest_of(read_so_far(begun), b"}\n{}\n")
    assert decoder.snapshot() == read_so_far(begun).snapshot()
    fork.receive_eof()
    assert rest_of(decoder, b"}\n") == rest_of(read_so_far(begun), b"}\n")


def test_decoders_that_behave_alike_look_alike_and_others_do_not() -> None:
    states = [b"", b"{", b"[", b"123456789"]
    looks = [read_so_far(b"{}\n" + begun).snapshot() for begun in states]
    assert len(set(looks)) == len(states)
    assert looks == [read_so_far(begun).snapshot() for begun in states]
    ended = read_so_far(b"")
    ended.receive_eof()
    assert ended.snapshot() not in looks


@pytest.mark.rule("Q11b")
def test_a_snapshot_shows_nothing_of_an_unfinished_line() -> None:
    assert b"token" not in repr(read_so_far(b"a token").snapshot()).encode()


def seconds_to_read_byte_by_byte(size: int) -> float:
    decoder = LineDecoder()
    line = b"x" * size
    begin = time.process_time()
    for _ in range(size):
        decoder.receive_data(b"x")
        assert decoder.next_line() is None
    decoder.receive_data(b"\n")
    assert decoder.next_line() == line
    return time.process_time() - begin


def test_the_time_for_a_line_that_comes_byte_by_byte_grows_with_its_length_only() -> None:
    # Eight times the bytes: about eight times as long if each byte is looked at once, 64 times if all are each time.
    assert seconds_to_read_byte_by_byte(160_000) < 24 * seconds_to_read_byte_by_byte(20_000)
