"""Lines are cut out of bytes, and no line is ever held beyond its limit."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.framing.limits import FrameTooLargeError
from mcpstreams_sansio.framing.splitter import LineSplitter
from tests.sansio.framing.chunking import assert_same_every_way, pieces_of

TOO_LARGE = "a line is longer than 5 bytes"


def lines(pieces: Sequence[bytes], *, limit: int = 5) -> list[bytes | str]:
    """Return every line, and for a line that is too long the text of its error."""
    splitter = LineSplitter(limit)
    found: list[bytes | str] = []
    for piece in pieces:
        splitter.receive_data(piece)
        found += taken(splitter)
    return found


def taken(splitter: LineSplitter) -> list[bytes | str]:
    found: list[bytes | str] = []
    while True:
        try:
            line = splitter.next_line()
        except FrameTooLargeError as error:
            found.append(str(error))
        else:
            if line is None:
                return found
            found.append(line)


@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"a\n", [b"a"]),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\n\n\nb\n", [b"a", b"", b"", b"b"]),
        (b"a\rb\n", [b"a\rb"]),
        (b"a\r\n", [b"a\r"]),
        (b"12345\n", [b"12345"]),
        (b"123456\n", [TOO_LARGE]),
        (b"1234567890\n", [TOO_LARGE]),
        (b"a\n123456\nb\n", [b"a", TOO_LARGE, b"b"]),
        (b"123456\n1234567\n12345\n", [TOO_LARGE, TOO_LARGE, b"12345"]),
        (b"123456\n\n", [TOO_LARGE, b""]),
    ],
)
def test_a_line_ends_with_lf_and_may_be_as_long_as_allowed(wire: bytes, expected: list[bytes | str]) -> None:
    assert_same_every_way(lines, wire, expected, begun=b"x")


def test_too_long_is_known_before_the_line_ends() -> None:
    assert_same_every_way(lines, b"a\n123456", [b"a", TOO_LARGE])


def test_the_rest_of_a_line_that_is_too_long_is_not_kept() -> None:
    splitter = LineSplitter(5)
    splitter.receive_data(b"123456")
    for _ in range(10):
        splitter.receive_data(b"7" * 100)
    assert splitter.take_unfinished() == b""
    splitter.receive_data(b"8\nnext")
    assert taken(splitter) == [TOO_LARGE]
    assert splitter.take_unfinished() == b"next"


def test_what_is_unfinished_is_given_once() -> None:
    splitter = LineSplitter(5)
    splitter.receive_data(b"a\nbc")
    assert splitter.take_unfinished() == b"bc"
    assert splitter.take_unfinished() == b""
    assert taken(splitter) == [b"a"]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_line_of_no_bytes_at_all_is_no_limit(limit: int) -> None:
    with pytest.raises(ValueError, match=rf"\A'max_line_size' must be >= 1: {limit}\Z"):
        LineSplitter(limit)


def test_the_smallest_limit_is_one_byte() -> None:
    assert lines([b"a\n\nbc\nd\n"], limit=1) == [b"a", b"", "a line is longer than 1 bytes", b"d"]


def test_what_it_holds_is_not_shown() -> None:
    splitter = LineSplitter(100)
    splitter.receive_data(b"token\ntoken")
    assert "token" not in repr(splitter)


@given(pieces_of(st.sampled_from([b"\n", b"a", b"bc", b"1234", b"12345", b"123456"])))
def test_it_reads_what_splitting_all_at_once_would(pieces: list[bytes]) -> None:
    *whole, rest = b"".join(pieces).split(b"\n")
    expected: list[bytes | str] = [line if len(line) <= 5 else TOO_LARGE for line in whole]
    assert lines(pieces) == expected + ([TOO_LARGE] if len(rest) > 5 else [])
