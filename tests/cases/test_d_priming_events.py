"""Priming events that were taken for messages (group D: what comes off the wire)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mcpstreams_sansio.framing.sse import SSEDecoder, SSEEvent, encode_event
from mcpstreams_sansio.wire.jsonrpc import Message, Response, decode_message
from tests.sansio.framing.chunking import assert_same_every_way

ANSWER = b'data: {"jsonrpc":"2.0","id":1,"result":{}}\n\n'


def followed(pieces: Sequence[bytes]) -> tuple[list[Message], str, int | None]:
    """Return what a client has after a stream: messages, cursor, and how long to wait."""
    decoder = SSEDecoder()
    messages = []
    for piece in pieces:
        decoder.receive_data(piece)
        while (event := decoder.next_event()) is not None:
            if event.data:
                messages.append(decode_message(event.data.encode()))
    return messages, decoder.last_event_id, decoder.retry_ms


@pytest.mark.rule("H14", "H29")
@pytest.mark.parametrize("data", [b"data:\n", b"data: \n", b"data\n", b""])
def test_d1_a_priming_event_gives_a_cursor_and_no_message(data: bytes) -> None:
    priming = b"id: 0\nretry: 3000\n" + data + b"\n"
    assert_same_every_way(followed, priming + ANSWER, ([Response(1, {})], "0", 3000), begun=b"id: 1\ndata:")


@pytest.mark.rule("H13", "H14")
def test_d1_our_priming_event_reaches_readers_that_need_a_data_line() -> None:
    wire = encode_event(SSEEvent("", id="s1_0", retry_ms=3000))
    assert wire == b"id: s1_0\nretry: 3000\ndata: \n\n"
    decoder = SSEDecoder()
    decoder.receive_data(wire)
    assert decoder.next_event() == SSEEvent("", id="s1_0", retry_ms=3000)
