"""The explorer meets every state, finds what was planted, by the shortest way, and says what it did not see."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.testing import (
    Action,
    Always,
    Counterexample,
    Eventually,
    Explorer,
    Sometimes,
    digest,
    explore,
)
from tests.model.toys import Courier, Maze, except_for

DIAMOND = {"start": {"left": "a", "right": "b"}, "a": {"on": "end"}, "b": {"on": "end", "back": "start"}}
LADDER = {str(n): {"up": str(n + 1), "stay": str(n)} for n in range(100)} | {"start": {"up": "0"}}

DELIVERED = Eventually[Courier]("everything arrives", Courier.done, except_for("lose"))


def at_end(maze: Maze) -> bool:
    return maze.node == "end"


ENDS = Eventually[Maze]("it ends", at_end, except_for("fault"))


# ------------------------------------------------------------------------------------------------ what is met


def test_each_state_is_met_once_however_many_ways_lead_to_it() -> None:
    report = explore(Maze(DIAMOND))
    assert report.ok
    assert report.complete
    assert report.statistics.states == 4
    assert report.statistics.transitions == 5
    assert report.statistics.waiting == 0


def test_a_state_in_which_less_can_happen_is_not_met_again() -> None:
    report = explore(Maze({"start": {"walk": "a", "pay": "a"}, "a": {"pay": "b", "toil": "b"}}))
    assert report.statistics.states == 4, "b twice: neither is the better one"
    assert report.statistics.transitions == 4


def test_a_state_in_which_more_can_happen_is_another_one() -> None:
    report = explore(Maze({"start": {"pay": "a", "walk": "a"}, "a": {"walk": "b"}}))
    assert report.statistics.states == 5, "a and b twice: the better one of each was met later"
    assert explore(Maze({"start": {"pay": "a"}, "a": {"pay": "start"}})).statistics.states == 2


def test_what_makes_no_difference_when_it_happens_happens_at_once() -> None:
    slippery = Maze({"start": {"on": "ice"}, "shore": {"on": "x"}}, slides={"ice": "shore"}, forbidden="x")
    report = explore(slippery)
    assert report.counterexample == Counterexample("stays out", "it is in x", (Action("on"), Action("on")))
    assert explore(Maze({"b": {"on": "c"}}, slides={"start": "b"})).statistics.states == 2


def test_the_depth_is_the_longest_of_the_shortest_ways() -> None:
    assert explore(Maze(DIAMOND)).statistics.depth == 2
    assert explore(Maze(LADDER)).statistics.depth == 101
    assert explore(Maze({})).statistics.depth == 0


def test_a_search_goes_on_to_its_end() -> None:
    corridor = {str(n): {"on": str(n + 1)} for n in range(2_500)} | {"start": {"on": "0"}}
    assert explore(Maze(corridor)).statistics.states == 2_502


def test_a_world_is_left_as_it_was() -> None:
    maze = Maze(DIAMOND)
    explore(maze)
    assert maze.node == "start"


def test_the_same_states_are_met_with_digests_as_with_whole_keys() -> None:
    start = Courier(messages=3, losses=2)
    assert explore(start, key_digest=digest).statistics == explore(start).statistics


def test_a_digest_tells_keys_apart_and_has_16_bytes() -> None:
    assert len(digest(("a", 1))) == 16
    assert digest(("a", 1)) == digest(("a", 1))
    assert len({digest(key) for key in [("a", 1), ("a", "1"), ("a1",), "a", b"a", None, 1.0, 1]}) == 8


def test_it_is_moved_on_in_pieces_and_says_how_far_it_is() -> None:
    explorer = Explorer(Maze(LADDER))
    assert explorer.advance(10)
    assert explorer.statistics().depth == 9
    assert explorer.statistics().waiting == 1
    assert not explorer.report().complete
    while explorer.advance(7):
        pass
    assert not explorer.advance(1)
    assert explorer.report() == explore(Maze(LADDER))


# ------------------------------------------------------------------------------------------------ always


def test_a_broken_check_is_shown_by_the_shortest_way() -> None:
    maze = Maze({"start": {"long": "a", "short": "x"}, "a": {"on": "b"}, "b": {"on": "x"}}, forbidden="x")
    assert explore(maze).counterexample == Counterexample("stays out", "it is in x", (Action("short"),))


def test_a_broken_first_state_needs_no_way() -> None:
    report = explore(Maze(DIAMOND, forbidden="start"))
    assert report.counterexample == Counterexample("stays out", "it is in start", ())
    assert not report.complete


def test_a_question_of_the_run_is_asked_in_every_state() -> None:
    def in_b(maze: Maze) -> str | None:
        return "it is in b" if maze.node == "b" else None

    report = explore(Maze(DIAMOND), [Always("not b", in_b)])
    assert report.counterexample == Counterexample("not b", "it is in b", (Action("right"),))


def test_what_nobody_foresaw_is_a_counterexample_too() -> None:
    found = explore(Maze(DIAMOND, trap="back")).counterexample
    assert found is not None
    assert found.property_name == "nothing raises"
    assert found.text == "ZeroDivisionError: a slip"
    assert found.path == (Action("right"), Action("back"))
    assert isinstance(found.cause, ZeroDivisionError)


def test_a_planted_fault_in_a_protocol_is_found_by_the_shortest_way() -> None:
    assert explore(Courier(messages=2, losses=1)).ok
    found = explore(Courier(messages=2, losses=1, deduplicates=False)).counterexample
    assert found is not None
    assert found.property_name == "exactly once, in order"
    assert [str(action) for action in found.path] == ["send", "send", "deliver", "deliver"]


# ------------------------------------------------------------------------------------------------ sometimes


def test_what_happened_is_counted_and_can_be_shown() -> None:
    explorer = Explorer(Maze(DIAMOND), [Sometimes("went back")])
    while explorer.advance(100):
        pass
    assert explorer.report().goals == {"went left": 1, "went right": 1, "went on": 2, "went back": 1}
    assert explorer.path_to("went back") == (Action("right"), Action("back"))
    assert explorer.report().ok


def test_what_should_have_happened_and_did_not_is_missing() -> None:
    report = explore(Courier(messages=1, losses=0), [Sometimes("lost one")])
    assert report.missing == ("lost one",)
    assert report.counterexample is None
    assert not report.ok


def test_there_is_no_way_to_what_did_not_happen() -> None:
    with pytest.raises(KeyError):
        Explorer(Maze(DIAMOND)).path_to("went up")


# ------------------------------------------------------------------------------------------------ eventually


def test_a_world_that_always_can_end_passes() -> None:
    assert explore(Maze(DIAMOND), [ENDS]).ok
    assert explore(Courier(messages=3, losses=3), [DELIVERED]).ok


def test_a_deadlock_is_found() -> None:
    maze = Maze({"start": {"on": "a"}, "a": {"good": "end", "bad": "hangs"}})
    assert explore(maze).ok
    report = explore(maze, [ENDS])
    assert report.complete
    assert report.counterexample == Counterexample(
        "it ends", "it is out of reach from here on", (Action("on"), Action("bad"))
    )


def test_a_circle_that_nothing_leads_out_of_is_found() -> None:
    maze = Maze({"start": {"good": "end", "bad": "a"}, "a": {"on": "b"}, "b": {"on": "c"}, "c": {"on": "a"}})
    found = explore(maze, [ENDS]).counterexample
    assert found is not None
    assert found.path == (Action("bad"),)


def test_a_circle_that_can_be_left_is_none() -> None:
    assert explore(Maze({"start": {"on": "a"}, "a": {"round": "start", "out": "end"}}), [ENDS]).ok


def test_a_fault_is_no_way_out() -> None:
    found = explore(Maze({"start": {"on": "a"}, "a": {"fault": "end", "on": "a"}}), [ENDS]).counterexample
    assert found is not None
    assert found.path == ()


def test_a_client_that_stops_trying_is_found() -> None:
    found = explore(Courier(messages=2, losses=1, gives_up=True), [DELIVERED]).counterexample
    assert found is not None
    assert [str(action) for action in found.path] == ["send", "lose"]


def test_what_is_broken_is_shown_before_what_is_out_of_reach() -> None:
    maze = Maze({"start": {"on": "a"}, "a": {"on": "x"}}, forbidden="x")
    found = explore(maze, [ENDS]).counterexample
    assert found is not None
    assert found.property_name == "stays out"


# ------------------------------------------------------------------------------------------------ incomplete


def test_a_search_that_met_its_limit_is_incomplete() -> None:
    report = explore(Maze(LADDER), max_states=50)
    assert report.ok
    assert not report.complete
    assert report.statistics.states == 50


def test_a_limit_that_is_not_met_changes_nothing() -> None:
    assert explore(Maze(LADDER), max_states=102) == explore(Maze(LADDER))


def test_what_lies_beyond_the_limit_may_be_anything() -> None:
    assert explore(Maze(LADDER), [ENDS]).counterexample is not None
    assert explore(Maze(LADDER), [ENDS], max_states=50).counterexample is None


def test_a_deadlock_before_the_limit_is_found_all_the_same() -> None:
    maze = Maze({"start": {"stop": "hangs", "up": "0"}} | {key: LADDER[key] for key in LADDER if key != "start"})
    found = explore(maze, [ENDS], max_states=50).counterexample
    assert found is not None
    assert found.path == (Action("stop"),)
