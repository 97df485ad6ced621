"""A frame that is too large is told from everything else that may be wrong with it."""

from __future__ import annotations

import copy

from mcpstreams_sansio.errors import PARSE_ERROR, RemoteProtocolError
from mcpstreams_sansio.framing.limits import MAX_EVENT_SIZE, MAX_LINE_SIZE, FrameTooLargeError


def test_too_large_is_the_peers_fault_and_has_its_own_http_status() -> None:
    error = FrameTooLargeError("a line is longer than 10 bytes")
    assert isinstance(error, RemoteProtocolError)
    assert (str(error), error.error_code, error.http_status) == ("a line is longer than 10 bytes", PARSE_ERROR, 413)
    assert error.request_id is None


def test_a_copy_is_still_too_large() -> None:
    error = copy.copy(FrameTooLargeError("a line is longer than 10 bytes"))
    assert isinstance(error, FrameTooLargeError)
    assert (str(error), error.http_status) == ("a line is longer than 10 bytes", 413)


def test_there_is_room_for_a_large_message_by_default() -> None:
    assert min(MAX_LINE_SIZE, MAX_EVENT_SIZE) >= 4 * 2**20
