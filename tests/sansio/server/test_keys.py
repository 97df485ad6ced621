"""The keys of calls: each is remembered for its time, as a digest that only its owner can meet (rule R21)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.ids import Digest, Principal, Secret, StreamId
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.keys import KeyEntry, Keys, key_digest
from mcpstreams_sansio.wire.refusals import Reason

ANN, BOB = ("principal", "ann"), ("principal", "bob")
FIRST, SECOND, THIRD, FOURTH = (key_digest(Secret(name * 22), None) for name in "1234")
CONFIG = StreamsConfig(key_ttl=10, max_cancelled_keys=3, max_cancelled_keys_per_principal=2)


def entry(stream: str, owner: tuple[str, str] = ANN) -> KeyEntry:
    return KeyEntry(owner, StreamId(stream), Digest(b"the call"))


@pytest.mark.rule("R21")
def test_a_key_of_one_principal_is_not_that_of_another_or_of_nobody() -> None:
    owners = [None, Principal(""), Principal("ann"), Principal("-"), Principal("+ann"), Principal("\ud800")]
    assert len({key_digest(Secret("k" * 22), owner) for owner in owners}) == len(owners)


@pytest.mark.rule("R21")
def test_what_is_stored_of_a_key_does_not_show_it() -> None:
    assert key_digest(Secret("k" * 22), None).count(b"k" * 22) == 0
    assert "the call" not in repr(entry("s1"))


@pytest.mark.rule("R21")
def test_a_key_is_known_until_its_time_is_over() -> None:
    keys = Keys(CONFIG)
    keys.add(FIRST, entry("s1"), now=0)
    keys.add(SECOND, entry("s2"), now=10)
    assert [keys.find(digest, 9.9) is not None for digest in (FIRST, SECOND)] == [True, True]
    assert [keys.find(digest, 10) is not None for digest in (FIRST, SECOND)] == [False, True]
    assert len(keys) == 1


@pytest.mark.rule("R21", "R25")
def test_keys_are_counted_for_each_owner() -> None:
    keys = Keys(CONFIG)
    keys.add(FIRST, entry("s1", ANN), now=0)
    keys.add(SECOND, entry("s2", BOB), now=10)
    assert [keys.count(owner, 0) for owner in (ANN, BOB, ("address", ""))] == [1, 1, 0]
    assert [keys.count(owner, 10) for owner in (ANN, BOB)] == [0, 1]


@pytest.mark.rule("R21")
def test_why_a_stream_is_gone_is_kept_with_its_key_if_that_is_known() -> None:
    keys = Keys(CONFIG)
    keys.add(FIRST, entry("s1"), now=0)
    keys.close(FIRST, Reason.CANCELLED)
    keys.close(SECOND, Reason.CANCELLED)
    found = keys.find(FIRST, 0)
    assert found is not None
    assert found.reason is Reason.CANCELLED
    assert keys.find(SECOND, 0) is None


def test_a_snapshot_holds_no_key_whose_time_is_over() -> None:
    keys, none = Keys(CONFIG), Keys(CONFIG)
    keys.add(FIRST, entry("s1"), now=0)
    assert keys.snapshot(9.9) != none.snapshot(9.9)
    assert keys.snapshot(10) == none.snapshot(10)


def cancelled(keys: Keys, now: float = 0) -> list[bool]:
    """Return which of the keys are known to be cancelled."""
    entries = [keys.find(digest, now) for digest in (FIRST, SECOND, THIRD, FOURTH)]
    assert all(found is None or found.stream_id is None for found in entries)
    return [found is not None and found.reason is Reason.CANCELLED for found in entries]


@pytest.mark.rule("R21", "R25")
def test_of_the_keys_that_somebody_cancelled_in_advance_the_oldest_is_forgotten_first() -> None:
    keys = Keys(CONFIG)
    for digest in (FIRST, SECOND, THIRD):
        keys.cancel(digest, ANN, now=0)
    keys.cancel(FOURTH, BOB, now=0)
    assert cancelled(keys) == [False, True, True, True]
    assert (len(keys), keys.count(ANN, 0), keys.count(BOB, 0)) == (0, 0, 0), "they take up no room of calls"


@pytest.mark.rule("R21", "Q11h")
def test_of_all_keys_that_were_cancelled_in_advance_the_oldest_is_forgotten_first() -> None:
    keys = Keys(CONFIG)
    for owner, digest in ((ANN, FIRST), (BOB, SECOND), (ANN, THIRD), (BOB, FOURTH)):
        keys.cancel(digest, owner, now=0)
    assert cancelled(keys) == [False, True, True, True]


@pytest.mark.rule("R21")
def test_a_cancellation_in_advance_is_known_as_long_as_a_key() -> None:
    keys = Keys(CONFIG)
    keys.cancel(FIRST, ANN, now=0)
    keys.cancel(SECOND, BOB, now=5)
    assert cancelled(keys, 9.9) == [True, True, False, False]
    assert cancelled(keys, 10) == [False, True, False, False]
    assert cancelled(keys, 15) == [False] * 4
    assert keys.snapshot(15) == Keys(CONFIG).snapshot(0)


def test_a_fork_remembers_for_itself() -> None:
    keys = Keys(CONFIG)
    keys.add(FIRST, entry("s1"), now=0)
    keys.cancel(THIRD, ANN, now=0)
    fork = keys.fork()
    before = fork.snapshot(0)
    assert before == keys.snapshot(0)
    keys.close(FIRST, Reason.EXPIRED)
    keys.add(SECOND, entry("s2"), now=0)
    keys.cancel(FOURTH, ANN, now=0)
    assert fork.snapshot(0) == before
    assert (fork.count(ANN, 0), keys.count(ANN, 0)) == (1, 2)


@pytest.mark.rule("R21", "R9")
def test_a_key_that_is_on_record_is_found_by_every_version_that_reads_the_log() -> None:
    digests = [key_digest(Secret("k" * 22), owner) for owner in (None, Principal("ann"))]
    assert [digest.hex() for digest in digests] == [
        "79017117ed0d50e3ffbe11af1c31c1925c4bf9389b7ec1f30620d7f27c56c922",
        "60f3e4b76dcf2993dacc7eb9342174ad0abca49be3f4478fefc7f7781d642c60",
    ]


@pytest.mark.rule("R21", "R25")
def test_who_goes_on_cancelling_in_advance_is_remembered_for_the_last_few() -> None:
    keys = Keys(CONFIG)
    for digest, known in (
        (FIRST, [True, False, False, False]),
        (SECOND, [True, True, False, False]),
        (THIRD, [False, True, True, False]),
        (FOURTH, [False, False, True, True]),
    ):
        keys.cancel(digest, ANN, now=0)
        assert cancelled(keys) == known
