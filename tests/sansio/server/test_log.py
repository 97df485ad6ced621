"""One stream's log: numbers, watermarks, and what may be forgotten (rules R1, R5, R7, R10)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.server.log import StreamLog
from mcpstreams_sansio.server.records import EntryKind

KINDS = {
    "c": EntryKind.CREATE,
    "n": EntryKind.NOTIFICATION,
    "a": EntryKind.ASK,
    "r": EntryKind.RESPONSE,
    "e": EntryKind.END,
}
SIZE = 10
"""Bytes of each entry."""


def log_of(kinds: str, sent: int = 0) -> StreamLog:
    """Return a log with one durable entry for each letter, of which some were sent."""
    log = StreamLog()
    for kind in kinds:
        log.append(KINDS[kind], b"x" * SIZE)
    log.durable = log.produced
    for sequence in range(1, sent + 1):
        log.mark_sent(sequence)
    return log


def kept(log: StreamLog) -> list[int]:
    return [sequence for sequence in range(1, log.produced + 1) if log.entry(sequence) is not None]


# ------------------------------------------------------------------------------------------------ numbers, watermarks


@pytest.mark.rule("R1")
def test_entries_count_from_one() -> None:
    log = StreamLog()
    assert [log.append(EntryKind.NOTIFICATION, b"").sequence for _ in range(3)] == [1, 2, 3]


@pytest.mark.rule("R1", "R9")
def test_what_follows_a_position_is_the_next_durable_entry() -> None:
    log = log_of("nnn")
    log.append(EntryKind.NOTIFICATION, b"")
    following = [log.next_after(position) for position in range(5)]
    assert [entry and entry.sequence for entry in following] == [1, 2, 3, None, None]


@pytest.mark.rule("R5", "Q5a")
def test_sending_confirms_nothing_and_confirming_says_that_it_was_sent() -> None:
    log = log_of("nnnn", sent=2)
    assert (log.confirmed, log.sent) == (0, 2)
    log.mark_sent(1)
    assert log.sent == 2
    assert log.confirm(3, now=0)
    assert (log.confirmed, log.sent) == (3, 3)


@pytest.mark.rule("R6")
def test_confirming_is_monotonic_and_idempotent() -> None:
    log = log_of("nnnn", sent=4)
    assert [log.confirm(through, now=0) for through in (2, 2, 1, 3)] == [True, False, False, True]
    assert log.confirmed == 3


# --------------------------------------------------------------------------------------------- what may be forgotten


@pytest.mark.rule("R3")
def test_create_is_dropped_as_soon_as_it_is_confirmed_since_it_holds_the_token() -> None:
    log = log_of("cnn", sent=3)
    log.confirm(1, now=0)
    assert kept(log) == [2, 3]
    assert log.size == 2 * SIZE


@pytest.mark.rule("R5")
def test_what_is_confirmed_may_be_dropped_whatever_it_is() -> None:
    log = log_of("carnn", sent=4)
    log.confirm(3, now=0)
    log.drop_confirmed(5)
    assert kept(log) == [4, 5]


@pytest.mark.rule("R7", "R10")
def test_of_what_was_sent_only_notifications_may_be_dropped_the_oldest_first() -> None:
    log = log_of("cannrn", sent=5)
    log.drop_for_room(5 * SIZE)
    assert kept(log) == [1, 2, 4, 5, 6]
    log.drop_for_room(0)
    assert kept(log) == [1, 2, 5, 6]
    assert log.first_available == 5


@pytest.mark.rule("R10")
def test_what_was_not_sent_is_never_dropped() -> None:
    log = log_of("nnn")
    log.drop_for_room(0)
    log.drop_confirmed(3)
    assert kept(log) == [1, 2, 3]


@pytest.mark.rule("R2")
def test_of_a_stream_that_nothing_brings_back_all_that_was_sent_is_dropped() -> None:
    log = log_of("canr", sent=3)
    log.forget_sent()
    assert kept(log) == [4]
    assert (log.confirmed, log.size) == (3, SIZE)


@pytest.mark.rule("R5")
def test_when_an_entry_was_confirmed_is_remembered_no_longer_than_the_entry() -> None:
    log = log_of("cnnn", sent=4)
    for through in (1, 2, 3):
        log.confirm(through, now=through)
    assert log.first_confirmation() == 2
    log.drop_for_room(SIZE)
    assert kept(log) == [4]
    assert log.first_confirmation() is None


# ---------------------------------------------------------------------------------------------------- what was lost


@pytest.mark.rule("Q5c", "R10")
def test_a_position_can_be_served_if_nothing_above_it_was_dropped() -> None:
    log = log_of("annann", sent=6)
    log.drop_for_room(3 * SIZE)
    assert kept(log) == [1, 4, 6]
    assert log.first_available == 6
    assert [log.lost_after(position) for position in range(7)] == [3, 3, 2, 1, 1, 0, 0]


@pytest.mark.rule("R3", "R21")
def test_create_can_be_put_back_and_then_nothing_is_lost() -> None:
    log = log_of("cnn", sent=3)
    log.confirm(1, now=0)
    assert log.lost_after(0) == 1
    log.restore_create(b"again")
    assert log.lost_after(0) == 0
    assert kept(log) == [1, 2, 3]


@pytest.mark.rule("R3", "R9")
def test_create_that_was_put_back_and_all_behind_it_wait_for_its_record() -> None:
    log = log_of("cnn", sent=3)
    log.confirm(1, now=0)
    log.restore_create(b"again")
    assert log.next_after(0) is None
    assert log.next_after(1) == log.entry(2)
    log.withheld = 0
    assert log.next_after(0) == log.entry(1)


@pytest.mark.rule("R3", "R10")
def test_create_put_back_does_not_bring_the_others_back() -> None:
    log = log_of("cnnn", sent=4)
    log.confirm(3, now=0)
    log.drop_confirmed(3)
    log.restore_create(b"again")
    assert (log.lost_after(0), log.first_available) == (2, 4)


@pytest.mark.rule("R3", "R10")
def test_create_put_back_is_the_first_one_available_and_goes_again_once_it_is_confirmed() -> None:
    log = log_of("cnn", sent=1)
    log.confirm(1, now=0)
    log.restore_create(b"again")
    assert log.first_available == 1
    log.confirm(2, now=0)
    assert kept(log) == [2, 3]


@pytest.mark.rule("R5")
def test_what_was_confirmed_a_moment_ago_is_kept_for_its_window() -> None:
    log = log_of("nnn", sent=3)
    log.confirm(2, now=0)
    log.drop_aged(10, now=9)
    assert kept(log) == [1, 2, 3]
    log.drop_aged(10, now=10)
    assert kept(log) == [3]


@pytest.mark.rule("R7")
def test_so_much_is_kept_in_any_case() -> None:
    log = log_of("nnnn", sent=4)
    log.drop_for_room(0, least=2 * SIZE + 1)
    assert kept(log) == [2, 3, 4]


# -------------------------------------------------------------------------------------------------------------- sizes


@pytest.mark.rule("R6", "R7")
def test_a_log_knows_how_much_of_it_is_unsent_and_unconfirmed() -> None:
    log = log_of("cnnnnn", sent=4)
    assert (log.size, log.unsent_size, log.unconfirmed_size) == (60, 20, 60)
    log.confirm(2, now=0)
    assert (log.size, log.unsent_size, log.unconfirmed_size) == (50, 20, 40)
    log.drop_for_room(30)
    assert (kept(log), log.size, log.unconfirmed_size) == ([4, 5, 6], 30, 30)
    log.confirm(5, now=0)
    assert (log.size, log.unsent_size, log.unconfirmed_size) == (30, 10, 10)
    log.clear()
    assert (log.size, log.unsent_size, log.unconfirmed_size) == (0, 0, 0)


@pytest.mark.rule("R6", "R10")
def test_a_log_knows_how_much_there_is_above_a_position_whether_create_is_there_or_not() -> None:
    log = log_of("cnnn", sent=4)
    assert [log.size_above(position) for position in range(5)] == [40, 30, 20, 10, 0]
    log.confirm(1, now=0)
    assert [log.size_above(position) for position in range(5)] == [30, 30, 20, 10, 0]


def test_a_fork_is_another_log_with_the_same_entries() -> None:
    log = log_of("cnn", sent=2)
    log.confirm(2, now=0)
    fork = log.fork()
    assert fork.snapshot(0) == log.snapshot(0)
    log.drop_confirmed(2)
    assert (kept(log), kept(fork)) == ([3], [2, 3])
    assert (log.first_confirmation(), fork.first_confirmation()) == (None, 0)


@pytest.mark.rule("R5", "R9")
def test_after_a_restart_all_that_is_not_confirmed_may_have_been_sent_and_may_not() -> None:
    entries = [(sequence, EntryKind.NOTIFICATION, b"x" * SIZE) for sequence in (3, 4)]
    log = StreamLog.restored(entries, confirmed=2, gone=2, produced=4)
    assert (log.confirmed, log.sent, log.claimable, log.durable, log.produced) == (2, 2, 4, 4, 4)
    assert (log.first_available, log.size, log.unsent_size, log.unconfirmed_size) == (3, 20, 20, 20)
