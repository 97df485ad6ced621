"""The keys of calls: each is remembered for its time, as a digest that only its owner can meet (rule R21)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.ids import Digest, Principal, Secret, StreamId
from mcpstreams_sansio.server.keys import KeyEntry, Keys, key_digest
from mcpstreams_sansio.wire.refusals import Reason

ANN, BOB = ("principal", "ann"), ("principal", "bob")
FIRST, SECOND = (key_digest(Secret(name * 22), None) for name in "12")


def entry(stream: str, owner: tuple[str, str] = ANN) -> KeyEntry:
    return KeyEntry(owner, StreamId(stream), Digest(b"the call"))


@pytest.mark.rule("R21")
def test_a_key_of_one_principal_is_not_that_of_another_or_of_nobody() -> None:
    owners = [None, Principal(""), Principal("ann"), Principal("-"), Principal("+ann")]
    assert len({key_digest(Secret("k" * 22), owner) for owner in owners}) == len(owners)


@pytest.mark.rule("R21")
def test_what_is_stored_of_a_key_does_not_show_it() -> None:
    assert key_digest(Secret("k" * 22), None).count(b"k" * 22) == 0
    assert "the call" not in repr(entry("s1"))


@pytest.mark.rule("R21")
def test_a_key_is_known_until_its_time_is_over() -> None:
    keys = Keys()
    keys.add(FIRST, entry("s1"), until=10)
    keys.add(SECOND, entry("s2"), until=20)
    assert [keys.find(digest, 9.9) is not None for digest in (FIRST, SECOND)] == [True, True]
    assert [keys.find(digest, 10) is not None for digest in (FIRST, SECOND)] == [False, True]
    assert len(keys) == 1


@pytest.mark.rule("R21", "R25")
def test_keys_are_counted_for_each_owner() -> None:
    keys = Keys()
    keys.add(FIRST, entry("s1", ANN), until=10)
    keys.add(SECOND, entry("s2", BOB), until=20)
    assert [keys.count(owner, 0) for owner in (ANN, BOB, ("scope", "a"))] == [1, 1, 0]
    assert [keys.count(owner, 10) for owner in (ANN, BOB)] == [0, 1]


@pytest.mark.rule("R21")
def test_why_a_stream_is_gone_is_kept_with_its_key_if_that_is_known() -> None:
    keys = Keys()
    keys.add(FIRST, entry("s1"), until=10)
    keys.close(FIRST, Reason.CANCELLED)
    keys.close(SECOND, Reason.CANCELLED)
    found = keys.find(FIRST, 0)
    assert found is not None
    assert found.reason is Reason.CANCELLED
    assert keys.find(SECOND, 0) is None


def test_a_snapshot_holds_no_key_whose_time_is_over() -> None:
    keys, none = Keys(), Keys()
    keys.add(FIRST, entry("s1"), until=10)
    assert keys.snapshot(9.9) != none.snapshot(9.9)
    assert keys.snapshot(10) == none.snapshot(10)


def test_a_fork_remembers_for_itself() -> None:
    keys = Keys()
    keys.add(FIRST, entry("s1"), until=10)
    fork = keys.fork()
    before = fork.snapshot(0)
    assert before == keys.snapshot(0)
    keys.close(FIRST, Reason.EXPIRED)
    keys.add(SECOND, entry("s2"), until=10)
    assert fork.snapshot(0) == before
    assert (fork.count(ANN, 0), keys.count(ANN, 0)) == (1, 2)
