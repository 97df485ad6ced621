"""Events that a client did not get to see (group H: what comes off the wire)."""

from __future__ import annotations

from collections.abc import Sequence

from mcpstreams_sansio.framing.sse import SSEDecoder
from tests.sansio.framing.chunking import assert_same_every_way


def data_of_events(pieces: Sequence[bytes]) -> list[str]:
    decoder = SSEDecoder()
    found = []
    for piece in pieces:
        decoder.receive_data(piece)
        while (event := decoder.next_event()) is not None:
            found.append(event.data)
    return found


def test_h8_several_events_in_one_chunk_are_several_events() -> None:
    assert_same_every_way(data_of_events, b"data: 1\n\ndata: 2\n\ndata: 3\n\n", ["1", "2", "3"], begun=b"data: 4\n")


def test_h8_one_event_in_several_chunks_is_one_event() -> None:
    wire = b"id: 7\ndata: one event\n\n"
    for first in range(len(wire)):
        for second in range(first, len(wire)):
            assert data_of_events([wire[:first], wire[first:second], wire[second:]]) == ["one event"]
