"""A record is kept as a line that any later version still reads, and a line that is none is told apart (rule R9)."""

from __future__ import annotations

import typing
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.ids import Digest, Principal, StreamId
from mcpstreams_sansio.server.calls import BodyPolicy, CallPolicy, Peer, StreamKind
from mcpstreams_sansio.server.record_lines import decode_record, encode_record
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
from mcpstreams_sansio.wire.jsonrpc import Notification, encode_message
from mcpstreams_sansio.wire.refusals import Reason
from mcpstreams_sansio.wire.revisions import AfterLoss
from mcpstreams_sansio.wire.streams import ResumeInterval
from tests.wording import whole

S1 = StreamId("s1")
DIGEST = Digest(bytes(range(32)))
TEXT = b"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

LINES: Mapping[bytes, LogRecord] = {
    b'{"v":1,"stream_id":"s1","request_id":7,"method":"tools/call","peer":{"streams":true,"marker":true,'
    b'"capabilities":["roots","sampling"],"info":{"name":"it"}},"policy":{"kind":"announced","body":"when needed",'
    b'"after_loss":"run on","interval":{"min":1.5,"max":20},"run_on":true},"tags":"sequence","principal":"ann",'
    b'"owner":["principal","ann"],"token_digest":"%(t)s","key_digest":"%(t)s","call_digest":"%(t)s",'
    b'"record":"StreamOpened"}': StreamOpened(
        S1,
        7,
        "tools/call",
        Peer(True, True, frozenset({"sampling", "roots"}), {"name": "it"}),
        CallPolicy(
            StreamKind.ANNOUNCED, BodyPolicy.WHEN_NEEDED, AfterLoss.RUN_ON, ResumeInterval(1.5, 20), run_on=True
        ),
        Tags.SEQUENCE,
        Principal("ann"),
        ("principal", "ann"),
        DIGEST,
        DIGEST,
        DIGEST,
    ),
    b'{"v":1,"stream_id":"s1","request_id":"7","method":"ping","peer":{},"policy":{"kind":"silent"},"tags":"none",'
    b'"principal":null,"owner":["address",""],"token_digest":"%(t)s","record":"StreamOpened"}': StreamOpened(
        S1, "7", "ping", Peer(), CallPolicy(StreamKind.SILENT), Tags.NONE, None, ("address", ""), DIGEST
    ),
    b'{"v":1,"stream_id":"s1","policy":{"kind":"announced"},"tags":"none","token_digest":"%(t)s",'
    b'"record":"StreamAnnounced"}': StreamAnnounced(S1, CallPolicy(StreamKind.ANNOUNCED), Tags.NONE, DIGEST),
    b'{"v":1,"stream_id":"s1","sequence":2,"kind":"ask","payload":"{}","ask_id":"q1","record":"EntryLogged"}': (
        EntryLogged(S1, 2, EntryKind.ASK, b"{}", "q1")
    ),
    b'{"v":1,"stream_id":"s1","ask_id":"q1","payload":"{}","record":"AnswerLogged"}': AnswerLogged(S1, "q1", b"{}"),
    b'{"v":1,"stream_id":"s1","token_digest":"%(t)s","record":"TokenAdded"}': TokenAdded(S1, DIGEST),
    b'{"v":1,"stream_id":"s1","through":3,"record":"StreamConfirmed"}': StreamConfirmed(S1, 3),
    b'{"v":1,"stream_id":"s1","through":3,"record":"EntriesDropped"}': EntriesDropped(S1, 3),
    b'{"v":1,"stream_id":"s1","reason":"expired","produced":4,"record":"StreamClosed"}': (
        StreamClosed(S1, Reason.EXPIRED, 4)
    ),
    b'{"v":1,"key_digest":"%(t)s","owner":["address","192.0.2.1"],"record":"KeyCancelled"}': (
        KeyCancelled(DIGEST, ("address", "192.0.2.1"))
    ),
}
"""What version 1 wrote, and what it meant. Logs hold such lines: none of them may ever change its meaning."""


@pytest.mark.parametrize(("line", "record"), [(line % {b"t": TEXT}, record) for line, record in LINES.items()])
def test_what_was_written_once_is_read_for_ever(line: bytes, record: LogRecord) -> None:
    assert decode_record(line) == record
    assert decode_record(line + b"\n") == record
    assert encode_record(record) == line


def test_every_record_has_its_line() -> None:
    assert {type(record) for record in LINES.values()} == set(typing.get_args(LogRecord))


def test_what_a_peer_says_of_itself_is_kept_although_it_makes_no_difference() -> None:
    opened = decode_record(next(iter(LINES)) % {b"t": TEXT})
    assert isinstance(opened, StreamOpened)
    assert opened.peer.info == {"name": "it"}


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
PAYLOADS = TEXTS.map(lambda text: encode_message(Notification("n", {"text": text})))
DIGESTS = st.binary(min_size=32, max_size=32).map(Digest)
NUMBERS = st.integers(min_value=0)
STREAMS = TEXTS.filter(bool).map(StreamId)
OWNERS = st.tuples(st.sampled_from(["address", "principal"]), TEXTS)
RECORDS = st.one_of(
    st.builds(EntryLogged, STREAMS, NUMBERS, st.sampled_from(EntryKind), PAYLOADS, st.none() | TEXTS),
    st.builds(AnswerLogged, STREAMS, TEXTS, PAYLOADS),
    st.builds(TokenAdded, STREAMS, DIGESTS),
    st.builds(StreamConfirmed, STREAMS, NUMBERS),
    st.builds(StreamClosed, STREAMS, st.sampled_from(Reason), NUMBERS),
    st.builds(KeyCancelled, DIGESTS, OWNERS),
    st.builds(
        StreamOpened,
        STREAMS,
        st.integers() | TEXTS,
        TEXTS,
        st.builds(Peer, st.booleans(), st.booleans(), st.frozensets(TEXTS)),
        st.builds(
            CallPolicy,
            st.sampled_from(StreamKind),
            st.sampled_from(BodyPolicy),
            st.sampled_from(AfterLoss),
            st.builds(ResumeInterval, *[st.none() | st.floats(0, 1e9) | st.integers(0, 10**9)] * 2),
            st.booleans(),
        ),
        st.sampled_from(Tags),
        st.none() | TEXTS.map(Principal),
        OWNERS,
        DIGESTS,
        st.none() | DIGESTS,
        st.none() | DIGESTS,
    ),
)


@given(RECORDS)
def test_whatever_a_record_holds_comes_back_from_one_line(record: LogRecord) -> None:
    line = encode_record(record)
    assert b"\n" not in line
    assert decode_record(line) == record
    assert encode_record(decode_record(line)) == line


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"v":1,"record":"Stre', "no line of a log: the text is not JSON"),
        (b"[1]", "no line of a log: it names no version"),
        (b'{"record":"StreamConfirmed"}', "no line of a log: it names no version"),
        (b'{"v":true}', "no line of a log: it names no version"),
        (b'{"v":2,"record":"StreamConfirmed"}', "a line of a log of version 2, where 1 is read"),
        (b'{"v":1,"record":"SECRET"}', "no line of a log: it names no record"),
        (b'{"v":1,"record":["StreamConfirmed"]}', "no line of a log: it names no record"),
        (b'{"v":1,"record":"StreamConfirmed","stream_id":"SECRET"}', "no StreamConfirmed: through cannot be read"),
        (
            b'{"v":1,"record":"StreamConfirmed","stream_id":7,"through":true}',
            "no StreamConfirmed: stream_id, through cannot be read",
        ),
        (
            b'{"v":1,"record":"StreamConfirmed","stream_id":"s1","through":1,"SECRET":3}',
            "no StreamConfirmed: its fields cannot be read",
        ),
        (
            b'{"v":1,"record":"TokenAdded","stream_id":"s1","token_digest":"?"}',
            "no TokenAdded: token_digest cannot be read",
        ),
        (
            b'{"v":1,"record":"StreamClosed","stream_id":"s1","reason":"SECRET","produced":1}',
            "no StreamClosed: reason cannot be read",
        ),
        (
            b'{"v":1,"record":"StreamAnnounced","stream_id":"s1","policy":{"kind":"silent","interval":{"extra":7}},'
            b'"tags":"none","token_digest":""}',
            "no StreamAnnounced: policy cannot be read",
        ),
    ],
)
def test_what_is_no_line_is_refused_in_words_that_repeat_none_of_it(line: bytes, words: str) -> None:
    with pytest.raises(LocalProtocolError, match=whole(words)) as refused:
        decode_record(line)
    assert refused.value.__context__ is None, "what was caught holds the line"
