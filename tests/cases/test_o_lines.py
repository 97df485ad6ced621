"""Byte streams on which one bad line, or a foreign framing, cost more than itself (group O: what the codecs do)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mcpstreams_sansio.errors import PARSE_ERROR, LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.framing.lines import LineDecoder, encode_line
from mcpstreams_sansio.wire.jsonrpc import Message, Notification, Request, decode_message, encode_message
from tests.sansio.framing.chunking import assert_same_every_way

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def messages_and_reports(pieces: Sequence[bytes]) -> list[Message | int]:
    """Return each message of a byte stream, and in place of a line that is none the code of the error."""
    decoder = LineDecoder(max_line_size=100)
    found: list[Message | int] = []
    for piece in pieces:
        decoder.receive_data(piece)
        while True:
            try:
                line = decoder.next_line()
                if line is None:
                    break
                found.append(decode_message(line))
            except RemoteProtocolError as error:
                found.append(error.error_code)
    return found


def test_o4_a_line_that_is_no_message_costs_nothing_but_itself() -> None:
    wire = b"hello\n\xff\xfe\n{\n" + PING + b"\n"
    expected = [PARSE_ERROR, PARSE_ERROR, PARSE_ERROR, Request(1, "ping")]
    assert_same_every_way(messages_and_reports, wire, expected, begun=PING)


def test_o4_a_line_that_is_too_long_costs_nothing_but_itself() -> None:
    wire = PING + b"\n" + b"x" * 250 + b"\n" + PING + b"\n"
    expected = [Request(1, "ping"), PARSE_ERROR, Request(1, "ping")]
    assert_same_every_way(messages_and_reports, wire, expected, begun=PING)


def test_o6_our_frames_have_no_header() -> None:
    assert encode_line(encode_message(Request(1, "ping"))) == PING + b"\n"


def test_o6_a_peer_that_sends_headers_is_told_so_and_its_messages_are_read() -> None:
    wire = b"Content-Length: 40\r\n\r\n" + PING + b"\r\n"
    assert_same_every_way(messages_and_reports, wire, [PARSE_ERROR, Request(1, "ping")], begun=b"Content-Length: 40\r")


@pytest.mark.parametrize("text", ["a\nb", "\n", "\r\n", "\r", "a\r\r\nb\u2028\u2029\u0085"])
def test_o7_no_line_end_of_any_kind_is_ever_inside_a_message(text: str) -> None:
    message = Notification(text, {text: [text]}, {text: text})
    line = encode_line(encode_message(message))
    assert line.count(b"\n") == 1
    assert b"\r" not in line
    assert len(line.decode().splitlines()) == 1
    assert decode_message(line) == message


def test_o7_a_message_with_a_line_end_inside_is_not_framed() -> None:
    with pytest.raises(LocalProtocolError, match=r"\Aa line end inside a message would cut it\Z"):
        encode_line(b'{"jsonrpc":"2.0",\n"method":"ping"}')


def test_o8_lines_may_end_as_on_windows() -> None:
    wire = PING + b"\r\n" + PING + b"\n" + PING + b"\r\n"
    assert_same_every_way(messages_and_reports, wire, [Request(1, "ping")] * 3, begun=PING + b"\r")
