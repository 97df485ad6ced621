"""What waits to be written on a client's connection (rule R11)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import EndWriting, Framing, Write
from mcpstreams_sansio.ids import ConnectionId
from mcpstreams_sansio.peer.outbox import Outbox

PATH = ConnectionId(1)


def outbox(*payloads: bytes, framing: Framing = Framing.MESSAGES) -> Outbox:
    made = Outbox(PATH, framing, max_write_bytes=10)
    for payload in payloads:
        made.put(payload)
    return made


@pytest.mark.rule("R11")
def test_a_write_takes_what_waits_up_to_its_size() -> None:
    waiting = outbox(b"12345", b"12345", b"1")
    assert waiting.next_write() == Write(PATH, (b"12345", b"12345"))
    assert waiting.waiting_bytes == 1
    assert waiting.next_write() is None
    waiting.written()
    assert waiting.next_write() == Write(PATH, (b"1",))


def test_one_message_may_exceed_the_size_of_a_write() -> None:
    waiting = outbox(b"1", b"x" * 50)
    assert waiting.next_write() == Write(PATH, (b"1",))
    waiting.written()
    assert waiting.next_write() == Write(PATH, (b"x" * 50,))


def test_lines_have_ends() -> None:
    assert outbox(b"{}", framing=Framing.LINES).next_write() == Write(PATH, (b"{}\n",))


def test_a_report_without_a_write_changes_nothing() -> None:
    waiting = outbox()
    waiting.written()
    assert waiting.empty
    assert waiting.next_write() is None


def test_nothing_is_written_after_the_end() -> None:
    waiting = outbox()
    assert waiting.end() == EndWriting(PATH)
    waiting.put(b"1")
    waiting.written()
    assert waiting.next_write() is None
    assert not waiting.empty


def test_a_copy_goes_its_own_way() -> None:
    waiting = outbox(b"1")
    copy = waiting.fork()
    assert copy.snapshot() == waiting.snapshot()
    copy.next_write()
    assert waiting.next_write() == Write(PATH, (b"1",))
