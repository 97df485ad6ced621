"""Frames without bound, and bounds that kill honest frames (group J: what the codecs hold)."""

from __future__ import annotations

import contextlib
import tracemalloc
from collections.abc import Callable
from functools import partial

import pytest

from mcpstreams_sansio.framing.limits import FrameTooLargeError
from mcpstreams_sansio.framing.lines import LineDecoder
from mcpstreams_sansio.framing.sse import SSEDecoder

MIB = 2**20


def feed(decoder: LineDecoder | SSEDecoder, data: bytes) -> None:
    """Receive data and look whether there is a frame, as a driver does; there is none."""
    decoder.receive_data(data)
    frame = decoder.next_line() if isinstance(decoder, LineDecoder) else decoder.next_event()
    assert frame is None


def feed_often(decoder: LineDecoder | SSEDecoder, data: bytes, times: int) -> None:
    for _ in range(times):
        feed(decoder, data)


SSE_LINES = partial(SSEDecoder, max_line_size=MIB)
SSE_EVENTS = partial(SSEDecoder, max_event_size=MIB)
LINES = partial(LineDecoder, max_line_size=MIB)
ENDLESS = [
    pytest.param(SSE_LINES, b"x" * 1_000, "a line", id="a line that never ends"),
    pytest.param(SSE_LINES, b":" + b" " * 999, "a line", id="a comment that never ends"),
    pytest.param(SSE_EVENTS, b"data: x\n" * 125, "the data of an event", id="lines of data and no blank line"),
    pytest.param(SSE_EVENTS, b"data\n" * 200, "the data of an event", id="empty lines of data, no blank line"),
    pytest.param(LINES, b"x" * 1_000, "a line", id="a message that never ends"),
]


@pytest.mark.parametrize(("new_decoder", "piece", "name"), ENDLESS)
def test_j8_what_never_ends_is_refused_by_name_and_size(
    new_decoder: Callable[[], LineDecoder | SSEDecoder], piece: bytes, name: str
) -> None:
    with pytest.raises(FrameTooLargeError, match=rf"\A{name} is longer than 1048576 bytes\Z"):
        feed_often(new_decoder(), piece, times=10_000)


@pytest.mark.parametrize(("new_decoder", "piece", "name"), ENDLESS)
def test_j8_what_never_ends_is_never_held(
    new_decoder: Callable[[], LineDecoder | SSEDecoder], piece: bytes, name: str
) -> None:
    decoder = new_decoder()
    tracemalloc.start()
    try:
        for _ in range(10_000):  # ten megabytes, and more than the limit of any of these
            with contextlib.suppress(FrameTooLargeError):
                feed(decoder, piece)
        held, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < MIB / 8
    assert most < 4 * MIB


def test_j8_comments_may_go_on_for_ever() -> None:
    decoder = SSEDecoder(max_line_size=100, max_event_size=100)
    decoder.receive_data(b"data: x\n")
    for _ in range(10_000):
        decoder.receive_data(b": still here\n")
        assert decoder.next_event() is None
    decoder.receive_data(b"\n")
    event = decoder.next_event()
    assert event is not None
    assert event.data == "x"


def test_j9_an_event_of_two_mebibytes_passes_as_things_stand() -> None:
    decoder = SSEDecoder()
    data = b"x" * (2 * MIB)
    for begin in range(0, len(data), 2**16):
        decoder.receive_data((b"id: 1\ndata: " if not begin else b"") + data[begin : begin + 2**16])
        assert decoder.next_event() is None
    decoder.receive_data(b"\n\n")
    event = decoder.next_event()
    assert event is not None
    assert (event.data.encode(), event.id) == (data, "1")


def test_j9_a_line_of_two_mebibytes_passes_as_things_stand() -> None:
    decoder = LineDecoder()
    decoder.receive_data(b"x" * (2 * MIB) + b"\n")
    assert decoder.next_line() == b"x" * (2 * MIB)


def test_j9_an_event_that_is_too_large_does_not_move_the_cursor_that_would_ask_for_it_again() -> None:
    decoder = SSEDecoder(max_event_size=10)
    decoder.receive_data(b"id: 1\ndata: x\n\nid: 2\ndata: 0123456789\n\nid: 3\ndata: y\n\n")
    assert decoder.next_event() is not None
    for _ in range(2):  # nothing comes after it: whoever follows must stop, not go on as if nothing were missing
        with pytest.raises(FrameTooLargeError, match=r"\Athe data of an event is longer than 10 bytes\Z"):
            decoder.next_event()
    assert decoder.last_event_id == "1"
