"""The books of a client: whose id, path and moment it is."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.client.acks import Acks
from mcpstreams_sansio.client.calls import Call
from mcpstreams_sansio.client.connection_ids import ConnectionIds
from mcpstreams_sansio.client.effects import LeavePath
from mcpstreams_sansio.client.inputs import LinkUp, ServerTraits
from mcpstreams_sansio.client.ledger import Ledger, Role, TimerKind
from mcpstreams_sansio.client.table import CallSignal
from mcpstreams_sansio.ids import CallId, ConnectionId, Entropy
from tests.sansio.client.conversation import CONFIG


def ledger(shared: int | None = None) -> Ledger:
    made = Ledger(CONFIG, Acks(10), ConnectionIds(1), now=100.0)
    made.link = LinkUp(None if shared is None else ConnectionId(shared), ServerTraits())
    return made


def added(books: Ledger) -> Call:
    call = Call(CallId(1), "instance-1", "tools/call", None, "instance-1", Entropy(b"x" * 32))
    books.add(call)
    return call


def test_ids_of_this_client_are_known_by_how_they_begin() -> None:
    books = ledger()
    assert books.is_own("instance-7.1")
    assert not books.is_own("instance7")
    assert not books.is_own("other-1")
    assert not books.is_own(1)
    assert not books.is_own(None)


def test_over_http_every_path_is_a_new_one_and_belongs_to_its_call() -> None:
    books = ledger()
    call = added(books)
    call.path = books.open_path(Role.CALL, call.call_id)
    other = books.open_path(Role.ANSWER, call.call_id, "q1")
    assert (call.path, other) == (1, 2)
    assert books.call_of(call.path) is call
    assert books.call_of(other) is None, "an answer's exchange delivers nothing"
    books.leave(call)
    assert books.effects == [LeavePath(ConnectionId(1))]
    assert call.path is None


def test_on_a_shared_connection_there_is_one_path_and_it_is_never_left() -> None:
    books = ledger(shared=9)
    call = added(books)
    call.path = books.open_path(Role.CALL, call.call_id)
    assert call.path == books.open_path(Role.ACKS) == 9
    books.leave(call)
    assert books.effects == []


def test_only_the_latest_request_about_a_call_awaits_a_reply() -> None:
    books = ledger()
    call = added(books)
    first, second = books.expect_reply(call), books.expect_reply(call)
    assert books.errands == {second: call.call_id}
    assert first != second
    books.forget_errand(call)
    books.forget_errand(call)
    assert books.errands == {}


def test_a_moment_that_is_planned_is_not_moved_by_a_weaker_wish() -> None:
    books = ledger()
    call = added(books)
    timer = (TimerKind.CALL, call.call_id)
    books.wake_once(call, 5.0)
    books.wake_once(call, 50.0)
    assert books.deadlines.when(timer) == 105.0
    books.wake(call, 50.0)
    assert books.deadlines.when(timer) == 150.0
    books.let_sleep(call)
    books.wake_for_acks(5.0)
    books.wake_for_acks(9.0)
    assert books.deadlines.next() == 105.0
    books.wake_for_acks(1.0)
    assert books.deadlines.next() == 101.0
    books.stop_waking_for_acks()
    assert books.deadlines.next() is None


def test_a_path_that_is_abandoned_stays_open() -> None:
    books = ledger()
    call = added(books)
    call.path = path = books.open_path(Role.CALL, call.call_id)
    books.abandon_path(call)
    books.abandon_path(call)
    assert books.call_of(path) is None
    assert not books.effects
    assert not books.exchanges


def test_whether_the_session_knows_a_call_makes_a_difference() -> None:
    books, other = ledger(), ledger()
    added(books).session = books.session
    added(other)
    assert books.snapshot(100.0) != other.snapshot(100.0)


def test_what_is_removed_leaves_nothing_behind() -> None:
    books = ledger()
    call = added(books)
    call.path = books.open_path(Role.CALL, call.call_id)
    books.expect_reply(call)
    books.wake(call, 1.0)
    books.wake(call, 1.0, TimerKind.ANSWERS)
    with pytest.raises(AssertionError, match=r"\Aonly what is finished is forgotten\Z"):
        books.remove(call)
    call.step(CallSignal.GIVE_UP)
    books.remove(call)
    empty = ledger()
    empty.connection_ids.next()
    assert books.snapshot(100.0) == empty.snapshot(100.0)
