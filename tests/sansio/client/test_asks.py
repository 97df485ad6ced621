"""What is remembered of the questions of one call (rule R24)."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client.asks import Accepted, Ask, Asks, Open, Outstanding, Unsaved, Withdrawn
from mcpstreams_sansio.ids import ConnectionId
from mcpstreams_sansio.wire.jsonrpc import Response

PATH = ConnectionId(3)
ANSWER = Response("q", {})


def test_only_open_questions_wait_for_the_application() -> None:
    asks = Asks()
    asks.set("open", Open())
    asks.set("answered", Outstanding(ANSWER))
    asks.set("accepted", Accepted(ANSWER))
    assert asks.open() == ["open"]
    assert asks.known() == ["open", "answered", "accepted"]
    assert len(asks) == 3


def test_an_answer_waits_for_a_path_until_it_is_on_one() -> None:
    asks = Asks()
    waiting, under_way = Outstanding(ANSWER), Outstanding(ANSWER, PATH)
    asks.set("waiting", waiting)
    asks.set("under way", under_way)
    assert asks.waiting() == [("waiting", waiting)]


@pytest.mark.rule("R24")
def test_a_lost_path_puts_only_its_own_answers_back() -> None:
    asks = Asks()
    asks.set("lost", Outstanding(ANSWER, PATH))
    asks.set("elsewhere", Outstanding(ANSWER, ConnectionId(4)))
    asks.set("accepted", Accepted(ANSWER))
    asks.lose_path(PATH)
    assert asks.waiting() == [("lost", Outstanding(ANSWER, None, failures=1))]


def test_what_was_answered_longest_ago_is_forgotten_first_and_an_open_one_never() -> None:
    asks = Asks()
    asks.set("open", Open())
    assert asks.longest_answered() is None
    asks.set("first", Accepted(ANSWER))
    asks.set("second", Accepted(ANSWER))
    assert asks.longest_answered() == "first"
    asks.remove("first")
    assert asks.longest_answered() == "second"
    assert asks.get("first") is None


@pytest.mark.rule("R24")
def test_an_answer_that_waits_for_a_path_is_never_forgotten() -> None:
    asks = Asks()
    asks.set("waiting", Outstanding(ANSWER))
    asks.set("under way", Outstanding(ANSWER, PATH))
    asks.set("accepted", Accepted(ANSWER))
    for forgotten in ("accepted", "under way"):
        assert asks.longest_answered() == forgotten
        asks.remove(forgotten)
    assert asks.longest_answered() is None


def test_the_ids_1_and_text_1_are_two_questions() -> None:
    asks = Asks()
    asks.set(1, Open())
    assert asks.get("1") is None


def test_a_copy_goes_its_own_way() -> None:
    asks = Asks()
    asks.set("q", Outstanding(ANSWER, PATH))
    copy = asks.fork()
    assert copy.snapshot() == asks.snapshot()
    copy.lose_path(PATH)
    assert copy.snapshot() != asks.snapshot()
    assert attrs.evolve(Outstanding(ANSWER, PATH)) == asks.get("q")


def test_questions_that_stand_otherwise_will_not_be_treated_alike() -> None:
    stands: list[Ask] = [Open(), Withdrawn(), Unsaved(ANSWER), Accepted(ANSWER), Outstanding(ANSWER)]
    snapshots = set()
    for ask in [*stands, Outstanding(ANSWER, PATH), Outstanding(ANSWER, failures=1), Accepted(Response("q", {"a": 1}))]:
        asks = Asks()
        asks.set("q", ask)
        snapshots.add(asks.snapshot())
    assert len(snapshots) == len(stands) + 3


def test_an_answer_shows_itself_to_nobody() -> None:
    assert "role" not in repr(Outstanding(Response("q", {"role": "user"})))
    assert "role" not in repr(Accepted(Response("q", {"role": "user"})))
