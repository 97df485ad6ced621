"""Sessions: whose they are, how long they last, and which one has to make room."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.http.config import HTTPConfig
from mcpstreams_sansio.http.sessions import Session, Sessions
from mcpstreams_sansio.ids import Address, ConnectionId, Principal, Secret, owner_of
from mcpstreams_sansio.server.calls import Peer
from mcpstreams_sansio.server.identity import Negotiated
from mcpstreams_sansio.wire.revisions import Revision

IDLE = 100.0
STOCK = Negotiated(Peer(), Revision.R2025_11_25)
ALICE, BOB = Principal("alice"), Principal("bob")


def ids(*numbers: int) -> list[ConnectionId]:
    return [ConnectionId(number) for number in numbers]


def some_sessions(count: int, most: int = 10) -> tuple[Sessions, list[Session]]:
    """Return sessions that began one second after another, from 0 on."""
    sessions = Sessions(HTTPConfig(max_sessions=most, session_idle=IDLE))
    return sessions, [sessions.open(Secret(f"id {now}"), None, STOCK, float(now)) for now in range(count)]


def ended_by(sessions: Sessions, now: float) -> list[Session]:
    return list(iter(lambda: sessions.pop_idle(now), None))


@pytest.mark.rule("H31")
def test_a_session_is_found_by_its_id_and_by_no_other() -> None:
    sessions, [first, second] = some_sessions(2)
    assert sessions.find(Secret("id 0"), None) is first
    assert sessions.find(Secret("id 1"), None) is second
    assert sessions.find(Secret("id 2"), None) is None
    assert len(sessions) == 2


@pytest.mark.rule("H33", "R25")
@pytest.mark.parametrize("owner", [ALICE, BOB, None])
@pytest.mark.parametrize("visitor", [ALICE, BOB, None])
def test_a_session_is_there_for_its_principal_alone(owner: Principal | None, visitor: Principal | None) -> None:
    sessions = Sessions(HTTPConfig())
    session = sessions.open(Secret("id"), owner, STOCK, 0.0)
    assert sessions.find(Secret("id"), visitor) is (session if owner == visitor else None)


@pytest.mark.rule("Q11a")
def test_of_the_id_of_a_session_only_the_digest_is_kept() -> None:
    sessions, [session] = some_sessions(1)
    assert session.digest == Secret("id 0").digest()
    assert "id 0" not in repr(attrs.asdict(sessions))


@pytest.mark.rule("R16")
def test_every_session_has_a_scope_of_its_own() -> None:
    sessions, opened = some_sessions(3)
    sessions.end(opened[0])
    opened.append(sessions.open(Secret("id 0"), None, STOCK, 3.0))
    assert len({session.scope for session in opened}) == 4


@pytest.mark.rule("R16")
def test_a_session_without_an_open_exchange_ends_in_time() -> None:
    sessions, [first, second] = some_sessions(2)
    assert sessions.next_deadline() == IDLE
    assert ended_by(sessions, IDLE - 0.001) == []
    assert ended_by(sessions, IDLE) == [first]
    assert sessions.next_deadline() == IDLE + 1
    assert ended_by(sessions, IDLE + 1) == [second]
    assert (sessions.next_deadline(), len(sessions)) == (None, 0)


@pytest.mark.rule("R16")
def test_a_session_does_not_age_while_an_exchange_is_open_and_ages_anew_from_the_last_one_on() -> None:
    sessions, [session] = some_sessions(1)
    one, two = ids(1, 2)
    sessions.enter(session, one)
    sessions.enter(session, two)
    assert sessions.next_deadline() is None
    sessions.leave(session.digest, one, 500.0)
    assert sessions.next_deadline() is None
    sessions.leave(session.digest, two, 700.0)
    assert sessions.next_deadline() == 700.0 + IDLE


@pytest.mark.rule("H32")
def test_a_session_that_has_ended_is_not_found_and_its_exchanges_end_without_it() -> None:
    sessions, [session, other] = some_sessions(2)
    [one] = ids(1)
    sessions.enter(session, one)
    sessions.end(session)
    sessions.leave(session.digest, one, 5.0)
    sessions.end(session)
    assert sessions.find(Secret("id 0"), None) is None
    assert ended_by(sessions, 1_000.0) == [other]


@pytest.mark.rule("R16")
def test_the_session_that_has_been_idle_for_longest_makes_room() -> None:
    sessions, [first, second, third] = some_sessions(3, most=3)
    one, two = ids(1, 2)
    sessions.enter(first, one)
    sessions.leave(first.digest, one, 50.0)
    sessions.enter(second, two)
    assert [sessions.evict(), sessions.evict()] == [third, first]
    assert sessions.evict() is None, "the only one that is left has an open exchange"
    assert sessions.find(Secret("id 1"), None) is second


@pytest.mark.rule("R25")
def test_whose_quota_a_session_counts_against() -> None:
    here = Address("alice")
    assert owner_of(ALICE, here) == owner_of(ALICE, None) != owner_of(BOB, here)
    assert owner_of(None, here) not in (owner_of(ALICE, here), owner_of(None, None))


@pytest.mark.rule("R16", "R25")
def test_the_longest_idle_one_of_an_owner_makes_room_and_nobody_elses() -> None:
    sessions = Sessions(HTTPConfig(max_sessions_per_principal=3))
    of_bob = sessions.open(Secret("bob's"), BOB, STOCK, 0.0)
    first, second, third = (sessions.open(Secret(f"id {now}"), ALICE, STOCK, now) for now in (1.0, 2.0, 3.0))
    assert sessions.full_for(first.owner)
    assert not sessions.full_for(of_bob.owner)
    one, two = ids(1, 2)
    sessions.enter(first, one)
    sessions.leave(first.digest, one, 50.0)
    sessions.enter(second, two)
    assert [sessions.evict_of(first.owner), sessions.evict_of(first.owner)] == [third, first]
    assert sessions.evict_of(first.owner) is None, "the only one that is left has an open exchange"
    assert not sessions.full_for(first.owner)
    assert (len(sessions), sessions.find(Secret("bob's"), BOB)) == (2, of_bob)


@pytest.mark.rule("R25")
def test_an_owner_without_a_session_is_forgotten() -> None:
    sessions, [first, second] = some_sessions(2)
    sessions.end(first)
    assert sessions.evict() is second
    assert sessions._owned == {}
    assert sessions.evict_of(first.owner) is None


def test_it_is_full_with_as_many_sessions_as_it_may_hold() -> None:
    fullness = [some_sessions(count, most=3)[0].full for count in range(5)]
    assert fullness == [False, False, False, True, True]


def test_a_fork_is_independent_and_looks_the_same() -> None:
    sessions, [session, _] = some_sessions(2)
    [one] = ids(1)
    sessions.enter(session, one)
    before = sessions.snapshot(2.0)
    fork = sessions.fork()
    assert fork.snapshot(2.0) == before
    copied = fork.find(Secret("id 0"), None)
    assert copied is not None
    fork.leave(copied.digest, one, 3.0)
    fork.enter(copied, ConnectionId(2))
    fork.open(Secret("another"), None, STOCK, 4.0)
    ended_by(fork, 1_000.0)
    assert sessions.snapshot(2.0) == before
    sessions.end(session)
    assert fork.find(Secret("id 0"), None) is copied


@pytest.mark.rule("R25")
def test_a_fork_has_quotas_of_its_own() -> None:
    sessions, [session] = some_sessions(1)
    fork = sessions.fork()
    assert fork.evict_of(session.owner) is not None
    assert sessions.evict_of(session.owner) is session


@pytest.mark.parametrize(
    ("session_id", "principal", "negotiated"),
    [
        ("another", None, STOCK),
        ("id", ALICE, STOCK),
        ("id", None, Negotiated(Peer(streams=True), Revision.R2025_11_25)),
        ("id", None, Negotiated(Peer(), Revision.R2025_06_18)),
    ],
)
def test_sessions_that_behave_otherwise_look_otherwise(
    session_id: str, principal: Principal | None, negotiated: Negotiated
) -> None:
    one, other = Sessions(HTTPConfig()), Sessions(HTTPConfig())
    one.open(Secret("id"), None, STOCK, 0.0)
    other.open(Secret(session_id), principal, negotiated, 0.0)
    assert one.snapshot(0.0) != other.snapshot(0.0)


def test_times_of_a_snapshot_are_relative() -> None:
    early, late = Sessions(HTTPConfig()), Sessions(HTTPConfig())
    early.open(Secret("id"), None, STOCK, 0.0)
    late.open(Secret("id"), None, STOCK, 64.0)
    assert early.snapshot(16.0) == late.snapshot(80.0)
    assert early.snapshot(16.0) != late.snapshot(81.0)
