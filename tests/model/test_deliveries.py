"""How far a stream is with its client, as a world makes it out: what is written twice or elsewhere is found."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.ids import ConnectionId, Digest, RequestId, Secret, StreamId, owner_of
from mcpstreams_sansio.server.calls import CallPolicy, Peer, StreamKind
from mcpstreams_sansio.server.inputs import CallReceived, CursorReceived, ResumeReceived, Scope, StreamsInput
from mcpstreams_sansio.server.records import LogRecord, StreamClosed, StreamConfirmed, StreamOpened, Tags, TokenAdded
from mcpstreams_sansio.testing import Violation
from mcpstreams_sansio.testing.deliveries import Deliveries, Delivery, place_of
from mcpstreams_sansio.testing.frames import Frame, read_event, read_plain
from mcpstreams_sansio.wire.jsonrpc import Notification, Request, Response
from mcpstreams_sansio.wire.refusals import Reason
from mcpstreams_sansio.wire.streams import STREAM_CREATE, STREAM_END

S1, S2 = StreamId("stream-00001"), StreamId("stream-00002")
C9, HOME = ConnectionId(1_000_009), Scope("scope-00001")
MESSAGE = Frame(Notification("notifications/progress"))
ASK = Frame(Request("ask-00001", "sampling/createMessage"))
MADE = Frame(Notification(STREAM_CREATE))
END = Frame(Notification(STREAM_END, {"streamId": S1}))


CALL = CallReceived(C9, S1, Request(7, "tools/call"), Peer(), CallPolicy(StreamKind.ANNOUNCED), Secret("token-00001"))


def resume(after: int | None) -> ResumeReceived:
    return ResumeReceived(C9, "r", S1, Secret("token-00001"), after)


def attached(after: int | None = 0, last: int = 9) -> Deliveries:
    made = Deliveries()
    made.attach(S1, "c1", HOME, resume(after), last)
    return made


@pytest.mark.rule("Q6g")
def test_an_entry_is_written_only_where_its_stream_is_attached() -> None:
    deliveries = attached()
    deliveries.write("c1", MESSAGE, S1, 2)
    deliveries.attach(S1, "c2", HOME, resume(1), 9)
    with pytest.raises(Violation, match="belongs to c2 and is written to c1"):
        deliveries.write("c1", MESSAGE, S1, 3)
    deliveries.write("c2", MESSAGE, S1, 2)
    with pytest.raises(Violation, match="belongs to nobody"):
        deliveries.write("c2", MESSAGE, S2, 2)


@pytest.mark.rule("Q6g", "R15")
def test_what_an_input_has_detached_is_still_written_with_it_and_nothing_more() -> None:
    deliveries = attached()
    deliveries.write("c1", MESSAGE, S1, 2)
    deliveries.detach(S1)
    deliveries.write("c1", MESSAGE, S1, 3)
    for wire, sequence, wrong in (("c2", 4, "belongs to nobody"), ("c1", 3, "once more")):
        with pytest.raises(Violation, match=wrong):
            deliveries.fork().write(wire, MESSAGE, S1, sequence)
    deliveries.rest()
    with pytest.raises(Violation, match="belongs to nobody and is written to c1"):
        deliveries.write("c1", MESSAGE, S1, 4)


def test_a_stream_that_is_over_has_only_its_end_left() -> None:
    deliveries = attached()
    deliveries.go(S1)
    deliveries.write("c1", MESSAGE, S1, 2)
    deliveries.rest()
    deliveries.write("c2", END, S1, 4)
    with pytest.raises(Violation, match="belongs to nobody"):
        deliveries.write("c1", MESSAGE, S1, 3)
    deliveries.go(S1)
    deliveries.detach(S1)
    assert deliveries == Deliveries()


@pytest.mark.rule("P24", "R24")
def test_an_entry_is_written_once_to_whoever_delivers_it_but_a_question_comes_again() -> None:
    deliveries = attached(after=2)
    for sequence in (1, 2):
        with pytest.raises(Violation, match=f"#{sequence} is written to c1 once more"):
            deliveries.write("c1", MESSAGE, S1, sequence)
    deliveries.write("c1", ASK, S1, 2)
    deliveries.write("c1", MESSAGE, S1, 4)
    assert deliveries.streams[S1].position == 4
    with pytest.raises(Violation, match="once more"):
        deliveries.write("c1", MESSAGE, S1, 4)


@pytest.mark.rule("R8")
@pytest.mark.parametrize(
    ("event", "position", "confirmed"),
    [
        (resume(None), 2, 2),
        (resume(1), 1, 2),
        (resume(3), 3, 3),
        (resume(6), 5, 5),
        (ResumeReceived(C9, "r", S1, Secret("token-00001"), header_after=4), 4, 4),
        (CursorReceived(C9, S1, 4), 4, 4),
        (CALL, 0, 2),
    ],
)
def test_a_stream_goes_on_behind_what_its_client_has(event: StreamsInput, position: int, confirmed: int) -> None:
    """Of the end no cursor says that it is there: it is told again."""
    deliveries = attached(after=2)
    deliveries.detach(S1)
    deliveries.attach(S1, "c2", HOME, event, 5)
    assert deliveries.streams[S1] == Delivery(confirmed, HOME, "c2", position)


def test_what_is_confirmed_stays_so() -> None:
    deliveries = attached(after=2)
    for through in (4, 3):
        deliveries.confirm(S1, through)
    deliveries.confirm(S2, 3)
    assert deliveries.streams == {S1: Delivery(4, HOME, "c1", 2)}


def test_who_says_nothing_of_its_place_is_counted_where_it_is_alone() -> None:
    deliveries = attached(after=None)
    for frame in (MADE, MESSAGE, ASK, END, Frame(Response(7, {})), Frame(None)):
        deliveries.count("c1", frame)
    deliveries.count("c2", MESSAGE)
    assert deliveries.streams[S1].position == 3
    deliveries.attach(S2, "c1", HOME, resume(None), 9)
    for _ in range(2):
        deliveries.count("c1", MESSAGE)
    assert [known.position for known in deliveries.streams.values()] == [None, None]
    deliveries.write("c1", MESSAGE, S1, 7)
    assert deliveries.streams[S1].position == 7


@pytest.mark.rule("R3")
def test_what_a_crash_leaves_begins_behind_create() -> None:
    deliveries = attached(after=None)
    deliveries.count("c1", MESSAGE)
    assert deliveries.streams[S1].position == 2


def opened(stream_id: StreamId) -> StreamOpened:
    request: RequestId = 1
    policy, owner = CallPolicy(StreamKind.ANNOUNCED), owner_of(None, None)
    return StreamOpened(stream_id, request, "tools/call", Peer(), policy, Tags.SEQUENCE, None, owner, Digest(b""))


def test_a_crash_leaves_what_is_on_record() -> None:
    deliveries = attached(after=4)
    records: list[LogRecord] = [opened(S1), StreamConfirmed(S1, 2), StreamConfirmed(S1, 3), TokenAdded(S1, Digest(b""))]
    deliveries.crash([*records, opened(S2), StreamClosed(S2, Reason.FINISHED, 3)])
    assert deliveries.streams == {S1: Delivery(3)}
    deliveries.crash(())
    assert deliveries.streams == {}


def test_an_entry_stands_where_its_tag_says_or_the_id_of_its_event() -> None:
    tagged = b'{"jsonrpc":"2.0","method":"x","params":{"_meta":{"streamId":"stream-00001","mcpstreams/seq":2}}}'
    untagged = b'{"jsonrpc":"2.0","method":"x"}'
    assert place_of(read_plain(tagged)) == (S1, 2)
    assert place_of(read_event(b"id: stream-00002_3\ndata: " + untagged + b"\n\n")) == (S2, 3)
    assert place_of(read_event(b"id: stream-00002_3\ndata:\n\n")) is None, "priming is no entry"
    assert place_of(read_plain(untagged)) is None
