"""Server-sent events that were cut or glued together wrongly (group N)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.framing.sse import SSEDecoder, SSEEvent, encode_event, encode_payload
from mcpstreams_sansio.wire.jsonrpc import Notification, decode_message, encode_message
from tests.sansio.framing.chunking import assert_same_every_way


def data_of_events(pieces: Sequence[bytes]) -> list[str]:
    decoder = SSEDecoder()
    found = []
    for piece in pieces:
        decoder.receive_data(piece)
        while (event := decoder.next_event()) is not None:
            found.append(event.data)
    return found


# What some readers of lines take for line ends and the standard does not.
NO_LINE_ENDS = "\u2028\u2029\u0085\v\f\x1c\x1d\x1e"


@pytest.mark.rule("H28")
def test_n1_what_is_no_line_end_leaves_a_message_whole() -> None:
    wire = 'data: {"t":"a\u2028b\u0085c"}\n\n'.encode()
    assert_same_every_way(data_of_events, wire, ['{"t":"a\u2028b\u0085c"}'], begun=b'data: {"t":')
    for character in NO_LINE_ENDS:
        assert data_of_events([f"data: a{character}b\n\n".encode()]) == [f"a{character}b"]


def test_n1_our_messages_have_none_of_them_in_it_for_careless_readers_to_split() -> None:
    message = Notification("m", {"t": NO_LINE_ENDS, NO_LINE_ENDS: "t"})
    wire = encode_payload(encode_message(message))
    assert len(wire.decode().splitlines()) == 2  # the line of data and the blank one
    [data] = data_of_events([wire])
    assert decode_message(data.encode()) == message


LINE_ENDS = [b"\n", b"\r", b"\r\n"]


@pytest.mark.rule("H28")
@pytest.mark.parametrize("ends", list(itertools.product(LINE_ENDS, repeat=4)), ids=repr)
def test_n2_n4_line_ends_may_be_mixed_and_cut_anywhere(ends: tuple[bytes, ...]) -> None:
    first, second, third, blank = ends
    if (third, blank) == (b"\r", b"\n"):
        blank = b"\r\n"  # else the two would be one line end
    wire = b"data: a" + first + b"data: b" + second + b"data: c" + third + blank
    begun = b"data: d" if blank.endswith(b"\n") else b"\ndata: d"  # an LF after a CR belongs to it
    assert_same_every_way(data_of_events, wire + wire, ["a\nb\nc"] * 2, begun=begun)


def test_n2_an_event_need_not_wait_for_the_lf_that_may_follow_its_cr() -> None:
    decoder = SSEDecoder()
    decoder.receive_data(b"data: x\r\n\r")
    assert decoder.next_event() == SSEEvent("x", id="")
    decoder.receive_data(b"\n")
    assert decoder.next_event() is None
    decoder.receive_data(b"data: y\r\n\r\n")
    assert decoder.next_event() == SSEEvent("y", id="")


@pytest.mark.rule("H28")
def test_n3_a_byte_order_mark_in_front_is_no_part_of_the_first_field() -> None:
    assert data_of_events([b"", b"\xef", b"\xbb\xbfdata: x", b"", b"\n\n"]) == ["x"]
    assert_same_every_way(data_of_events, b"\xef\xbb\xbfdata: x\n\n", ["x"], begun=b"data: y\n")


def test_n3_a_byte_order_mark_further_on_is_data() -> None:
    wire = b"data: \xef\xbb\xbfx\n\n\xef\xbb\xbfdata: y\n\ndata: z\n\n"
    assert_same_every_way(data_of_events, wire, ["\ufeffx", "z"])


@pytest.mark.rule("H14", "H28")
@pytest.mark.parametrize(
    ("wire", "expected"),
    [
        (b"data:\n\n", [""]),
        (b"data\n\n", [""]),
        (b"data\ndata\n\n", ["\n"]),
        (b":\n\n", []),
        (b": data: x\n\n", []),
        (b"event: x\n\n", []),
        (b"data: x\n", []),
        (b"data: x", []),
        (b"data:  x\n\n", [" x"]),
        (b"data:x\n\n", ["x"]),
        (b"data:\tx\n\n", ["\tx"]),
        (b"data: x:y\n\n", ["x:y"]),
    ],
)
def test_n5_empty_data_is_an_event_and_a_comment_is_none(wire: bytes, expected: list[str]) -> None:
    assert_same_every_way(data_of_events, wire, expected)


@pytest.mark.parametrize("event_id", ["1\n2", "1\r2", "1\r\n2", "\n", "1\0"])
def test_n7_an_id_that_would_break_the_framing_is_refused(event_id: str) -> None:
    with pytest.raises(LocalProtocolError, match=r"\Aa line end or a NUL stands where the format cannot carry it\Z"):
        encode_event(SSEEvent("x", id=event_id))
    with pytest.raises(LocalProtocolError, match=r"\Aa line end or a NUL stands where the format cannot carry it\Z"):
        encode_payload(b"{}", event_id)


@pytest.mark.rule("H28")
def test_n7_a_received_id_with_nul_is_ignored() -> None:
    decoder = SSEDecoder()
    decoder.receive_data(b"id: 1\ndata: x\n\nid: 2\x00\ndata: y\n\n")
    assert [decoder.next_event(), decoder.next_event()] == [SSEEvent("x", id="1"), SSEEvent("y", id="1")]
