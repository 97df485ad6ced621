"""Counts for each owner: what quotas go by (rule R25)."""

from __future__ import annotations

from mcpstreams_sansio.ids import Address, Principal, owner_of
from mcpstreams_sansio.server.tally import Tally

ANN = owner_of(Principal("ann"), Address("192.0.2.1"))
HERE = owner_of(None, Address("192.0.2.1"))


def test_each_owner_is_counted_and_who_has_nothing_is_forgotten() -> None:
    tally = Tally()
    for owner in (ANN, HERE, ANN):
        tally.add(owner)
    assert (tally.of(ANN), tally.of(HERE), len(tally)) == (2, 1, 2)
    tally.remove(HERE)
    assert (tally.of(ANN), tally.of(HERE), len(tally)) == (2, 0, 1)


def test_a_fork_counts_for_itself() -> None:
    tally = Tally()
    tally.add(ANN)
    fork = tally.fork()
    tally.add(ANN)
    assert (tally.of(ANN), fork.of(ANN)) == (2, 1)
    assert tally != fork
