"""Cursors that were taken apart wrongly (group C: what the event id itself says)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.errors import LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.framing.event_ids import event_id, parse_event_id
from mcpstreams_sansio.framing.sse import SSEDecoder
from mcpstreams_sansio.ids import StreamId

NAMES = ["_GET_stream", "a_b", "__", "1_2", "é", "é" * 200, "x" * 200, "😀" * 200, "%41", "a:b", " ", "\0"]
NAMES += [chr(code) for code in range(0x21, 0x7F)]


@pytest.mark.rule("R1")
@pytest.mark.parametrize("name", NAMES)
def test_c2_whatever_the_streams_name_the_cursor_finds_it(name: str) -> None:
    for sequence in (0, 1, 10**9):
        assert parse_event_id(event_id(StreamId(name), sequence)) == (name, sequence)


def test_c2_two_positions_never_share_a_cursor() -> None:
    cursors = [event_id(StreamId(name), sequence) for name in NAMES for sequence in (0, 1, 2, 11)]
    assert len(set(cursors)) == len(cursors)


def test_c2_a_stream_without_a_name_is_refused_before_anyone_sees_its_cursor() -> None:
    with pytest.raises(LocalProtocolError, match=r"\Aa stream id must not be empty\Z"):
        event_id(StreamId(""), 1)


@pytest.mark.rule("Q12")
@pytest.mark.parametrize("text", ["", "_", "_0", "_1", "__", "%_1", "1", "_GET_stream"])
def test_c2_no_cursor_names_a_stream_without_a_name(text: str) -> None:
    with pytest.raises(RemoteProtocolError, match=r"\Aan event id is malformed\Z"):
        parse_event_id(text)


@pytest.mark.rule("H28")
def test_c7_an_empty_id_line_takes_the_cursor_back() -> None:
    decoder = SSEDecoder()
    decoder.receive_data(b"id: 5\ndata: x\n\nid\ndata: y\n\n")
    cursors = []
    while (event := decoder.next_event()) is not None:
        cursors.append((event.data, event.id, decoder.last_event_id))
    assert cursors == [("x", "5", "5"), ("y", "", "")]
