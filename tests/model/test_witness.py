"""What is checked on every effect and byte of a server: each check finds what breaks it."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.ids import Digest, StreamId, owner_of
from mcpstreams_sansio.server.calls import CallPolicy, Peer, StreamKind
from mcpstreams_sansio.server.effects import WriteLog
from mcpstreams_sansio.server.records import (
    EntryKind,
    EntryLogged,
    KeyCancelled,
    LogRecord,
    StreamClosed,
    StreamOpened,
    Tags,
    TokenAdded,
)
from mcpstreams_sansio.testing import Violation
from mcpstreams_sansio.testing.disk import Disk
from mcpstreams_sansio.testing.frames import Frame, read_event, read_plain
from mcpstreams_sansio.testing.witness import Witness
from mcpstreams_sansio.wire.jsonrpc import encode_message
from mcpstreams_sansio.wire.refusals import Reason, refusal

S1, S2 = StreamId("stream-00001"), StreamId("stream-00002")
OPENED = StreamOpened(
    S1,
    1,
    "tools/call",
    Peer(),
    CallPolicy(StreamKind.ANNOUNCED),
    Tags.SEQUENCE,
    None,
    owner_of(None, None),
    Digest(b""),
)
MESSAGE = (
    b'{"jsonrpc":"2.0","method":"notifications/message","params":'
    b'{"_meta":{"streamId":"stream-00001","mcpstreams/seq":2}}}'
)
END = b'{"jsonrpc":"2.0","method":"notifications/stream/end","params":{"streamId":"stream-00001"}}'
CREATE = (
    b'{"jsonrpc":"2.0","method":"notifications/stream/create","params":'
    b'{"stream":{"streamId":"stream-00001","resumeToken":"token-00001"}}}'
)


def disk(*records: LogRecord) -> Disk:
    return Disk().begin(WriteLog(1, records)).complete()[1]


def write(witness: Witness, wire: str, data: bytes, on: Disk | None = None) -> None:
    witness.write(wire, read_plain(data), on)


def test_nothing_comes_after_end_unless_the_stream_is_attached_again() -> None:
    witness = Witness()
    witness.attach(S1, "c1")
    write(witness, "c1", END)
    for late in (END, MESSAGE):
        with pytest.raises(Violation, match="after its end"):
            write(witness.fork(), "c1", late)
    witness.attach(S1, "c1")
    write(witness, "c1", END)
    witness.forget("c1")
    write(witness, "c1", END)


def test_nothing_is_written_before_it_is_durable() -> None:
    witness = Witness()
    with pytest.raises(Violation, match="before it is durable"):
        write(witness, "c1", MESSAGE, disk(OPENED))
    with pytest.raises(Violation, match="before it is durable"):
        write(witness, "c1", MESSAGE, disk(EntryLogged(S1, 3, EntryKind.NOTIFICATION, b"")))
    write(
        witness,
        "c1",
        MESSAGE,
        disk(OPENED, EntryLogged(S1, 2, EntryKind.NOTIFICATION, b""), TokenAdded(S2, Digest(b""))),
    )


@pytest.mark.parametrize(
    "over", [StreamClosed(S1, Reason.CANCELLED, 2), EntryLogged(S1, 4, EntryKind.END, b"")], ids=["closed", "complete"]
)
def test_nor_is_the_end_of_a_stream(over: LogRecord) -> None:
    witness = Witness()
    other = StreamClosed(S2, Reason.CANCELLED, 2)
    with pytest.raises(Violation, match="the end of stream-00001 is written before it is durable"):
        write(witness, "c1", END, disk(OPENED, other, EntryLogged(S1, 3, EntryKind.RESPONSE, b"")))
    write(witness, "c1", END, disk(other, over))


def test_a_call_runs_once_and_not_before_its_record_is_durable() -> None:
    witness = Witness()
    with pytest.raises(Violation, match="before its record is durable"):
        witness.start(1, S1, disk())
    witness.start(1, S1, disk(OPENED))
    with pytest.raises(Violation, match="started again"):
        witness.start(1, S2, None)
    witness.start(2, S2, None)


def test_a_stream_ends_once() -> None:
    witness = Witness()
    witness.go(S1, Reason.FINISHED)
    with pytest.raises(Violation, match="a second time"):
        witness.go(S1, Reason.ABANDONED)


@pytest.mark.rule("P35")
def test_a_stream_that_was_announced_is_not_finished_without_its_end() -> None:
    witness = Witness()
    write(witness, "c1", CREATE)
    with pytest.raises(Violation, match="finished without its end"):
        witness.fork().go(S1, Reason.FINISHED)
    witness.fork().go(S1, Reason.ABANDONED)
    write(witness, "c1", END)
    witness.go(S1, Reason.FINISHED)
    Witness().go(S1, Reason.FINISHED)


def test_one_batch_is_written_at_a_time() -> None:
    with pytest.raises(Violation, match="one batch"):
        Disk().begin(WriteLog(1, ())).begin(WriteLog(2, ()))


def test_what_is_being_written_is_not_durable() -> None:
    writing = Disk().begin(WriteLog(7, (OPENED,)))
    assert not writing.started(S1)
    assert not writing.holds(S1, 1)
    number, written = writing.complete()
    assert number == 7
    assert written.started(S1)
    assert written.holds(S1, 1)
    assert not written.holds(S2, 1)


def test_the_parts_of_a_frame_are_read() -> None:
    event = read_event(b"id: stream-00001_2\ndata: " + MESSAGE + b"\n\n")
    assert (event.event_id, event.stream_id, event.sequence) == ("stream-00001_2", S1, 2)
    assert read_event(b"id: stream-00001_0\ndata:\n\n") == Frame(None, "stream-00001_0")
    assert read_event(b"retry: 30\n\n") == Frame(None, retry_ms=30)
    assert read_event(b":\n\n") == Frame(None)
    assert read_plain(CREATE).is_create
    assert read_plain(CREATE).stream_id == S1
    assert read_plain(END).is_end
    assert not read_plain(MESSAGE).is_end
    assert not read_plain(b'{"jsonrpc":"2.0","id":1,"result":{}}').is_create


@pytest.mark.rule("R9")
def test_a_refusal_tells_of_nothing_that_may_be_lost() -> None:
    told = encode_message(refusal(9, Reason.CANCELLED))
    with pytest.raises(Violation, match="cancelled is told before it is durable"):
        write(Witness(), "c1", told, disk(OPENED, StreamClosed(S1, Reason.EXPIRED, 2)))
    write(Witness(), "c1", told, disk(OPENED, StreamClosed(S1, Reason.CANCELLED, 2)))
    write(Witness(), "c1", told, disk(KeyCancelled(Digest(b"key"), owner_of(None, None))))
    write(Witness(), "c1", encode_message(refusal(9, Reason.TOO_EARLY)), disk())


def test_what_the_work_says_is_durable_before_it_goes_out_tagged_or_not() -> None:
    said = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}'
    frame = read_plain(said)
    Witness().write("c1", frame, disk(EntryLogged(S1, 2, EntryKind.NOTIFICATION, said)))
    Witness().write("c1", frame, None)
    with pytest.raises(Violation, match="what the work said is written before it is durable"):
        Witness().write("c1", frame, disk())
