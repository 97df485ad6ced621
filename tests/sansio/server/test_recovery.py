"""What records say in the end: the same without what a log may drop, and nothing where they contradict each other."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.framing.event_ids import MAX_SEQUENCE
from mcpstreams_sansio.ids import Address, Digest, StreamId, owner_of
from mcpstreams_sansio.server.calls import CallPolicy, Peer, StreamKind
from mcpstreams_sansio.server.keys import KeyEntry
from mcpstreams_sansio.server.records import (
    AnswerLogged,
    EntriesDropped,
    EntryKind,
    EntryLogged,
    KeyCancelled,
    LogRecord,
    StreamAnnounced,
    StreamClosed,
    StreamConfirmed,
    StreamOpened,
    Tags,
    TokenAdded,
)
from mcpstreams_sansio.server.recovery import Recorded, RecordedStream, read_records
from mcpstreams_sansio.wire.jsonrpc import Response, encode_message
from mcpstreams_sansio.wire.refusals import Reason
from tests.wording import whole

S1, S2 = StreamId("s1"), StreamId("s2")
OWNER = owner_of(None, None)
ANNOUNCED, FLEETING = CallPolicy(StreamKind.ANNOUNCED), CallPolicy(StreamKind.FLEETING)
YES = encode_message(Response("q1", {"text": "yes"}))
MAX_TOKENS = 4


def opened(stream_id: StreamId = S1, policy: CallPolicy = ANNOUNCED, key: bytes | None = None) -> StreamOpened:
    key_digest, call_digest = (None, None) if key is None else (Digest(key), Digest(b"the call"))
    return StreamOpened(
        stream_id, 7, "tools/call", Peer(), policy, Tags.SEQUENCE, None, OWNER, Digest(b"t1"), key_digest, call_digest
    )


def entry(
    sequence: int, kind: EntryKind = EntryKind.NOTIFICATION, ask_id: str | None = None, stream_id: StreamId = S1
) -> EntryLogged:
    return EntryLogged(stream_id, sequence, kind, b"entry %d" % sequence, ask_id)


def full_log() -> list[LogRecord]:
    """Return a log with every kind of record in it."""
    return [
        opened(key=b"k1"),
        entry(2),
        entry(3, EntryKind.ASK, "q1"),
        AnswerLogged(S1, "q1", YES),
        TokenAdded(S1, Digest(b"t2")),
        StreamConfirmed(S1, 2),
        KeyCancelled(Digest(b"k3"), OWNER),
        opened(S2, FLEETING, b"k2"),
        StreamAnnounced(S2, ANNOUNCED, Tags.NONE, Digest(b"t3")),
        entry(2, EntryKind.ASK, "q2", S2),
        entry(3, stream_id=S2),
        EntriesDropped(S2, 3),
        entry(4, EntryKind.RESPONSE),
        entry(5, EntryKind.END),
        StreamClosed(S1, Reason.EXPIRED, 11),
    ]


def read(*records: LogRecord) -> Recorded:
    return read_records(records, MAX_TOKENS)


def the_stream(*records: LogRecord) -> RecordedStream:
    [stream] = read(*records).streams
    return stream


# ----------------------------------------------------------------------------------------------- what is on record


@pytest.mark.rule("R3", "R4")
def test_a_stream_is_what_it_was_opened_as_with_every_entry_as_it_was_written() -> None:
    stream = the_stream(opened(), entry(2), entry(3))
    assert (stream.opened, stream.tokens, stream.produced) == (opened(), [Digest(b"t1")], 3)
    assert list(stream.entries.values()) == [entry(2), entry(3)]
    assert not stream.complete


@pytest.mark.rule("R2", "R18")
def test_a_stream_that_was_announced_later_is_what_it_became() -> None:
    stream = the_stream(opened(policy=FLEETING), StreamAnnounced(S1, ANNOUNCED, Tags.NONE, Digest(b"t3")))
    assert (stream.announced, stream.opened.tags, stream.tokens) == (True, Tags.NONE, [Digest(b"t3")])
    assert stream.produced == 1


@pytest.mark.rule("R2")
def test_what_was_never_announced_has_no_token_although_one_is_on_record() -> None:
    assert the_stream(opened(policy=FLEETING)).tokens == []


@pytest.mark.rule("R3")
def test_of_many_tokens_the_last_count() -> None:
    added = [TokenAdded(S1, Digest(b"n%d" % number)) for number in range(5)]
    assert the_stream(opened(), *added).tokens == [b"n1", b"n2", b"n3", b"n4"]


@pytest.mark.rule("R5")
def test_what_is_confirmed_is_over() -> None:
    stream = the_stream(opened(), entry(2), entry(3), StreamConfirmed(S1, 2))
    assert (stream.confirmed, list(stream.entries), stream.gone) == (2, [3], 2)


@pytest.mark.rule("R10")
def test_what_was_dropped_for_room_stays_dropped_and_nothing_else_does() -> None:
    stream = the_stream(opened(), entry(2), entry(3, EntryKind.ASK, "q1"), entry(4), entry(5), EntriesDropped(S1, 4))
    assert (list(stream.entries), stream.gone) == ([3, 5], 4)


@pytest.mark.rule("R24")
def test_a_question_is_open_until_it_is_answered_withdrawn_or_the_call_is() -> None:
    asked: list[LogRecord] = [
        opened(),
        entry(2, EntryKind.ASK, "q1"),
        entry(3, EntryKind.ASK, "q2"),
        StreamConfirmed(S1, 3),
    ]
    assert list(the_stream(*asked).asks) == ["q1", "q2"]
    answered = the_stream(*asked, AnswerLogged(S1, "q1", YES))
    assert (list(answered.asks), answered.answers) == (["q2"], {"q1": Response("q1", {"text": "yes"})})
    withdrawn = the_stream(*asked, entry(4, ask_id="q2"))
    assert (list(withdrawn.asks), withdrawn.answers) == (["q1"], {})
    complete = the_stream(*asked, AnswerLogged(S1, "q1", YES), entry(4, EntryKind.RESPONSE))
    assert (complete.asks, complete.answers, complete.complete) == ({}, {}, True)


@pytest.mark.rule("R21")
def test_a_key_is_known_with_its_call_and_with_why_the_stream_is_gone() -> None:
    recorded = read(opened(key=b"k1"), opened(S2, FLEETING, b"k2"), StreamClosed(S2, Reason.NOT_RESUMABLE, 11))
    assert recorded.keys == (
        (b"k1", KeyEntry(OWNER, S1, Digest(b"the call"))),
        (b"k2", KeyEntry(OWNER, S2, Digest(b"the call"), Reason.NOT_RESUMABLE)),
    )
    assert [stream.opened.stream_id for stream in recorded.streams] == [S1]


@pytest.mark.rule("R21")
def test_a_key_that_was_forgotten_and_came_again_names_its_new_call() -> None:
    recorded = read(opened(key=b"k1"), opened(S2, key=b"k1"), StreamClosed(S1, Reason.ABANDONED, 11))
    assert recorded.keys == ((b"k1", KeyEntry(OWNER, S2, Digest(b"the call"))),)


@pytest.mark.rule("R21")
def test_a_key_that_was_cancelled_before_its_call_is_known_by_its_owner() -> None:
    other = owner_of(None, Address("192.0.2.1"))
    recorded = read(
        KeyCancelled(Digest(b"k1"), OWNER), KeyCancelled(Digest(b"k2"), other), KeyCancelled(Digest(b"k1"), other)
    )
    assert recorded.cancelled == ((b"k2", other), (b"k1", other))


@pytest.mark.rule("Q7d")
def test_of_a_closed_stream_its_tokens_and_its_reason_are_left() -> None:
    stream = the_stream(*full_log()[:6], StreamClosed(S1, Reason.CANCELLED, 11))
    assert (stream.reason, stream.tokens) == (Reason.CANCELLED, [b"t1", b"t2"])
    assert (stream.entries, stream.asks, stream.answers) == ({}, {}, {})


# ------------------------------------------------------------------------------------ what a log has dropped meanwhile


@attrs.frozen
class Facts:
    """What a log knows of the one stream that it holds."""

    confirmed: int
    dropped: int
    answered: bool
    closed: bool

    def may_drop(self, record: LogRecord) -> bool:
        """Say whether a record may go without a look at the clock, if it is not the last of its kind."""
        match record:
            case EntryLogged(ask_id=None, kind=EntryKind.NOTIFICATION, sequence=sequence):
                return self.closed or sequence <= max(self.confirmed, self.dropped)
            case EntryLogged(ask_id=None, sequence=sequence):
                return self.closed or sequence <= self.confirmed
            case EntryLogged(sequence=sequence):
                return self.closed or (self.answered and sequence <= self.confirmed)
            case AnswerLogged():
                return self.closed or self.answered
            case _:
                return isinstance(record, StreamConfirmed | EntriesDropped)


def droppable(records: Sequence[LogRecord]) -> list[int]:
    """Return the places of the records that a log may drop."""
    facts = Facts(
        max((record.through for record in records if isinstance(record, StreamConfirmed)), default=0),
        max((record.through for record in records if isinstance(record, EntriesDropped)), default=0),
        any(isinstance(record, EntryLogged) and record.kind is EntryKind.RESPONSE for record in records),
        any(isinstance(record, StreamClosed) for record in records),
    )
    last = {type(record): place for place, record in enumerate(records)}
    counting = {last.get(StreamConfirmed), last.get(EntriesDropped)}
    return [
        place
        for place, record in enumerate(records)
        if facts.may_drop(record) and (facts.closed or place not in counting)
    ]


LIFE: list[LogRecord] = [
    opened(key=b"k1"),
    entry(2),
    entry(3, EntryKind.ASK, "q1"),
    entry(4),
    StreamConfirmed(S1, 2),
    EntriesDropped(S1, 4),
    AnswerLogged(S1, "q1", YES),
    entry(5, EntryKind.ASK, "q2"),
    entry(6),
    entry(7),
    EntriesDropped(S1, 6),
    StreamConfirmed(S1, 6),
    TokenAdded(S1, Digest(b"t2")),
    entry(8, ask_id="q2"),
    entry(9),
    StreamConfirmed(S1, 8),
    entry(10, EntryKind.RESPONSE),
    entry(11, EntryKind.END),
    StreamConfirmed(S1, 10),
    StreamClosed(S1, Reason.FINISHED, 11),
]


@pytest.mark.rule("R1", "R9", "R10")
@given(st.integers(1, len(LIFE)), st.data())
def test_a_log_says_the_same_without_what_it_may_drop(length: int, data: st.DataObject) -> None:
    kept = LIFE[:length]
    dropped = data.draw(st.sets(st.sampled_from([-1, *droppable(kept)])))
    remaining = [record for place, record in enumerate(kept) if place not in dropped]
    assert same(read(*remaining), read(*kept))


def same(one: Recorded, other: Recorded) -> bool:
    """Say whether the same was read."""
    return attrs.asdict(one) == attrs.asdict(other)


@pytest.mark.rule("R1")
def test_the_numbers_go_on_although_every_entry_was_dropped() -> None:
    stream = the_stream(opened(), StreamConfirmed(S1, 50))
    assert (stream.produced, stream.entries) == (50, {})


@pytest.mark.rule("R1")
def test_an_entry_may_stand_before_the_word_that_those_before_it_are_confirmed() -> None:
    stream = the_stream(opened(), entry(51), StreamConfirmed(S1, 50))
    assert (stream.produced, list(stream.entries)) == (51, [51])


# ------------------------------------------------------------------------------------------- what cannot be believed

NOT_THERE = "its stream was not opened, or was closed, before"
NOT_HIGHER = "there was an entry with this number, or a higher one, before"
NO_RECORD = "there is no record of such an entry"
ANSWERED = "its call was answered before"


@pytest.mark.rule("R9", "R13")
@pytest.mark.parametrize(
    ("records", "words"),
    [
        ([opened(), opened()], "record 1, StreamOpened, cannot be read: its stream was opened before"),
        ([entry(2)], f"record 0, EntryLogged, cannot be read: {NOT_THERE}"),
        ([StreamClosed(S1, Reason.EXPIRED, 11)], f"record 0, StreamClosed, cannot be read: {NOT_THERE}"),
        ([opened(), entry(2), entry(2)], f"record 2, EntryLogged, cannot be read: {NOT_HIGHER}"),
        ([opened(), entry(1)], f"record 1, EntryLogged, cannot be read: {NOT_HIGHER}"),
        (
            [opened(), entry(2), entry(4), StreamConfirmed(S1, 2)],
            "record 2, EntryLogged, cannot be read: the entry before it is missing",
        ),
        (
            [opened(), StreamClosed(S1, Reason.EXPIRED, 11), entry(2)],
            f"record 2, EntryLogged, cannot be read: {NOT_THERE}",
        ),
        (
            [opened(), StreamAnnounced(S1, ANNOUNCED, Tags.NONE, Digest(b""))],
            "record 1, StreamAnnounced, cannot be read: its stream was announced, or had an entry, before",
        ),
        (
            [opened(policy=FLEETING), entry(1), StreamAnnounced(S1, ANNOUNCED, Tags.NONE, Digest(b""))],
            "record 2, StreamAnnounced, cannot be read: its stream was announced, or had an entry, before",
        ),
        (
            [opened(), AnswerLogged(S1, "q1", b"{")],
            "record 1, AnswerLogged, cannot be read: it holds no answer",
        ),
        (
            [opened(), AnswerLogged(S1, "q1", b'{"jsonrpc":"2.0","method":"x"}')],
            "record 1, AnswerLogged, cannot be read: it holds no answer",
        ),
        ([opened(StreamId(""))], "record 0, StreamOpened, cannot be read: a stream id must not be empty"),
        ([opened(), entry(2, EntryKind.CREATE)], f"record 1, EntryLogged, cannot be read: {NO_RECORD}"),
        ([opened(), entry(2, EntryKind.ASK)], f"record 1, EntryLogged, cannot be read: {NO_RECORD}"),
        ([opened(), entry(2, EntryKind.RESPONSE), entry(3)], f"record 2, EntryLogged, cannot be read: {ANSWERED}"),
        (
            [opened(), entry(2, EntryKind.FAILURE), entry(3, EntryKind.RESPONSE)],
            f"record 2, EntryLogged, cannot be read: {ANSWERED}",
        ),
        (
            [opened(), entry(2, EntryKind.RESPONSE), entry(3, EntryKind.END), entry(4)],
            f"record 3, EntryLogged, cannot be read: {ANSWERED}",
        ),
    ],
)
def test_a_log_that_contradicts_itself_is_refused_where_it_does(records: list[LogRecord], words: str) -> None:
    with pytest.raises(LocalProtocolError, match=whole(words)):
        read(*records)


@pytest.mark.rule("R1", "R9")
@pytest.mark.parametrize(
    "record",
    [
        entry(MAX_SEQUENCE),
        StreamConfirmed(S1, MAX_SEQUENCE),
        EntriesDropped(S1, 10**18),
        StreamClosed(S1, Reason.FINISHED, MAX_SEQUENCE),
    ],
)
def test_a_number_that_no_entry_can_have_is_refused_where_it_stands(record: LogRecord) -> None:
    words = f"record 1, {type(record).__name__}, cannot be read: its stream would have more entries than it can"
    with pytest.raises(LocalProtocolError, match=whole(words)):
        read(opened(), record)


@pytest.mark.rule("R21")
def test_keys_are_known_in_the_order_in_which_their_calls_came() -> None:
    recorded = read(opened(key=b"k1"), opened(S2, key=b"k2"), opened(StreamId("s3"), key=b"k1"))
    assert [digest for digest, _ in recorded.keys] == [b"k2", b"k1"]
