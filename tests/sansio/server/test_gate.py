"""Nothing that a record tells is told before the record is durable; without a log nothing waits (rules R9, R11)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.ids import ConnectionId, Digest, StreamId, owner_of
from mcpstreams_sansio.server.effects import AskAnswered, StartCall, StreamGone, WriteLog
from mcpstreams_sansio.server.gate import EntriesDurable, Gate, GateState, ReplyAllowed
from mcpstreams_sansio.server.records import KeyCancelled
from mcpstreams_sansio.wire.jsonrpc import Request, Response
from mcpstreams_sansio.wire.refusals import Reason
from tests.sansio.server.conversation import DRAFT

S1 = StreamId("s1")
FIRST, SECOND, THIRD = (KeyCancelled(Digest(name), owner_of(None, None)) for name in (b"1", b"2", b"3"))
ENTRIES = EntriesDurable(S1, 1)
REPLY = ReplyAllowed(ConnectionId(0))
START = StartCall(S1, Request(7, "tools/call", {"name": "work"}), DRAFT, resumable=True)
ANSWERED = AskAnswered(S1, "q1", Response("q1", {"text": "yes"}))
GONE = StreamGone(S1, Reason.CANCELLED)


def guarding() -> Gate:
    return Gate(GateState.GUARDING)


@pytest.mark.rule("R9")
def test_without_a_log_nothing_is_recorded_and_nothing_waits() -> None:
    gate = Gate(GateState.OPEN)
    gate.record(FIRST)
    assert gate.admit(ENTRIES)
    assert gate.next_batch() is None


@pytest.mark.rule("R9")
def test_what_follows_a_record_waits_for_it() -> None:
    gate = guarding()
    gate.record(FIRST)
    assert not gate.admit(ENTRIES)
    assert gate.next_batch() == WriteLog(1, (FIRST,))
    assert gate.written() == [ENTRIES]


@pytest.mark.rule("R9")
def test_what_is_durable_already_is_not_waited_for() -> None:
    gate = guarding()
    gate.record(FIRST)
    gate.next_batch()
    gate.written()
    assert gate.admit(REPLY)


@pytest.mark.rule("R9")
def test_what_comes_while_a_batch_is_written_waits_for_that_batch() -> None:
    gate = guarding()
    gate.record(FIRST)
    gate.next_batch()
    assert not gate.admit(REPLY)
    assert gate.written() == [REPLY]


@pytest.mark.rule("R11")
def test_one_batch_is_outstanding_and_the_next_takes_all_that_came_meanwhile() -> None:
    gate = guarding()
    gate.record(FIRST)
    assert gate.next_batch() == WriteLog(1, (FIRST,))
    gate.record(SECOND)
    gate.record(THIRD)
    assert gate.next_batch() is None
    assert [gate.awaits(number) for number in (0, 1, 2)] == [False, True, False]
    assert gate.written() == []
    assert gate.next_batch() == WriteLog(2, (SECOND, THIRD))


@pytest.mark.rule("R9")
def test_things_that_wait_come_out_in_order_and_with_their_own_batch() -> None:
    gate = guarding()
    gate.record(FIRST)
    gate.admit(START)
    gate.next_batch()
    gate.record(SECOND)
    gate.admit(ENTRIES)
    gate.admit(REPLY)
    assert gate.written() == [START]
    gate.next_batch()
    assert gate.written() == [ENTRIES, REPLY]


@pytest.mark.rule("R9", "R13")
def test_a_gate_that_has_failed_records_nothing_and_lets_nobody_wait() -> None:
    gate = guarding()
    gate.record(FIRST)
    gate.admit(START)
    gate.next_batch()
    gate.record(SECOND)
    gate.admit(REPLY)
    assert gate.fail() == [START, REPLY]
    assert gate.awaits(1)
    assert gate.written() == []
    gate.record(THIRD)
    assert gate.admit(REPLY)
    assert gate.next_batch() is None


def test_a_fork_waits_for_itself() -> None:
    gate = guarding()
    gate.record(FIRST)
    gate.admit(ENTRIES)
    fork = gate.fork()
    gate.next_batch()
    gate.written()
    assert fork.next_batch() == WriteLog(1, (FIRST,))
    assert fork.written() == [ENTRIES]


def test_a_snapshot_is_hashable_whatever_waits_and_says_what_does() -> None:
    snapshots = set()
    for waiting in (None, ENTRIES, REPLY, START, ANSWERED, GONE):
        gate = guarding()
        gate.record(FIRST)
        if waiting is not None:
            gate.admit(waiting)
        snapshots.add(gate.snapshot())
    assert len(snapshots) == 6


def test_a_snapshot_forgets_how_many_batches_there_were() -> None:
    fresh, used = guarding(), guarding()
    used.record(THIRD)
    used.next_batch()
    used.written()
    for gate in (fresh, used):
        gate.record(FIRST)
        gate.admit(START)
        gate.next_batch()
        gate.record(SECOND)
        gate.admit(ENTRIES)
    assert fresh.snapshot() == used.snapshot()


def test_no_reply_waits_on_a_connection_that_is_gone() -> None:
    gate = guarding()
    gate.record(FIRST)
    other = ReplyAllowed(ConnectionId(1))
    for each in (REPLY, other, START, REPLY):
        gate.admit(each)
    gate.forget(REPLY.connection_id)
    gate.next_batch()
    assert gate.written() == [other, START]
