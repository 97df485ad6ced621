"""Ids of connections and exchanges rise, whoever gives them."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.client.connection_ids import ConnectionIds
from mcpstreams_sansio.ids import ConnectionId


@pytest.mark.rule("R13")
def test_no_id_is_given_twice() -> None:
    ids = ConnectionIds(5)
    assert [ids.next(), ids.next()] == [5, 6]
    assert ids.were_given(ConnectionId(6))
    assert not ids.were_given(ConnectionId(7))


def test_what_somebody_else_gave_is_not_given_again() -> None:
    ids = ConnectionIds(1)
    ids.skip(ConnectionId(9))
    assert ids.next() == 10
    ids.skip(ConnectionId(3))
    assert ids.next() == 11


def test_a_copy_counts_by_itself() -> None:
    ids = ConnectionIds(1)
    copy = ids.fork()
    assert ids.next() == copy.next() == 1
    ids.next()
    assert copy.next() == 2
