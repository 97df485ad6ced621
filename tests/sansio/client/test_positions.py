"""Positions: what was received, what was taken, and the cursor between them (rules R1, R4, R23)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.client.effects import Unread
from mcpstreams_sansio.client.positions import Place, Positions


def received(*sizes: int) -> Positions:
    """Return positions after `create` and an item of each size, each with an event id."""
    positions = Positions()
    positions.take_up("e1")
    for number, size in enumerate(sizes, start=2):
        positions.take_up_item(size, f"e{number}")
    return positions


@pytest.mark.rule("R4", "Q5g")
def test_a_sequence_says_where_a_message_stands() -> None:
    positions = received(10, 10)
    assert [positions.place(sequence) for sequence in (1, 3, 4, 5)] == [
        Place.REPEATED,
        Place.REPEATED,
        Place.NEXT,
        Place.BEYOND,
    ]


@pytest.mark.rule("R23")
def test_taken_is_what_the_application_came_back_from() -> None:
    positions = received(10, 20, 30)
    assert (positions.received, positions.taken, positions.unread, positions.unread_bytes) == (4, 1, 3, 60)
    assert positions.take(3) == 30
    assert (positions.taken, positions.unread, positions.unread_bytes) == (3, 1, 30)
    assert positions.take(3) == 0, "taking twice is taking once"


def test_what_is_no_item_is_taken_with_what_comes_before_it() -> None:
    positions = received(10)
    assert positions.take_up("e3") == 3
    assert positions.taken == 1
    positions.take(2)
    assert positions.taken == 3


@pytest.mark.rule("P22")
def test_the_cursor_is_the_event_id_of_what_was_taken() -> None:
    positions = received(10, 10)
    assert positions.header_cursor == "e1"
    positions.take(2)
    assert positions.header_cursor == "e2"
    positions.take_up("e4")
    assert positions.header_cursor == "e2", "an item before it is unread"
    positions.take(3)
    assert positions.header_cursor == "e4"


def test_an_item_without_an_event_id_leaves_the_cursor_where_it_is() -> None:
    positions = received()
    positions.take_up_item(10, None)
    positions.take(2)
    assert (positions.taken, positions.header_cursor) == (2, "e1")


def test_without_a_sequence_a_known_event_id_tells_a_repetition() -> None:
    positions = received(10, 10)
    assert positions.place(None, "e2") is Place.REPEATED
    assert positions.place(None, "e1") is Place.REPEATED, "the cursor itself, from a server that replays inclusively"
    assert positions.place(None, "e4") is Place.NEXT
    assert positions.place(None, None) is Place.NEXT
    assert positions.repeat(None, "e3") == 3
    assert positions.repeat(2, None) == 2


def test_what_was_taken_before_the_cursor_is_forgotten() -> None:
    positions = received(10, 10)
    positions.take(3)
    assert positions.place(None, "e2") is Place.NEXT, "its path begins after the cursor, so it does not come again"


def test_priming_is_the_cursor_where_nothing_else_was_received() -> None:
    positions = Positions()
    positions.note_cursor("e0")
    assert positions.header_cursor == "e0"


def test_an_event_without_a_message_moves_the_cursor_past_what_was_received() -> None:
    positions = received(10)
    positions.note_cursor("later")
    assert positions.header_cursor == "e1"
    positions.take(2)
    assert positions.header_cursor == "later"


def test_the_priming_of_a_path_that_begins_again_says_nothing_of_what_was_received_beyond() -> None:
    positions = received(10, 10)
    positions.begin_path()
    positions.note_cursor("e1 in other words")
    assert positions.header_cursor == "e1 in other words"
    positions.repeat(None, "e2")
    positions.note_cursor("between")
    assert positions.header_cursor == "e1 in other words"
    positions.take(3)
    assert positions.header_cursor == "e3"


def test_c7_an_empty_event_id_takes_the_cursor_back() -> None:
    positions = received(10)
    positions.note_cursor("")
    positions.take(2)
    assert positions.header_cursor is None


def test_c5_a_forgotten_cursor_is_not_presented_and_tells_no_repetition() -> None:
    positions = received(10)
    positions.forget_cursor()
    assert positions.header_cursor is None
    assert positions.place(None, "e2") is Place.NEXT
    positions.take(2)
    assert positions.header_cursor is None


@pytest.mark.rule("R10")
def test_a_gap_counts_what_is_missing_here_and_is_taken_like_an_item() -> None:
    positions = received(10)
    assert positions.jump(first_available=6, lost=4) == 3
    assert (positions.received, positions.after) == (5, 5)
    assert positions.taken == 1
    positions.take(5)
    assert positions.taken == 5
    assert positions.place(6) is Place.NEXT


def test_what_is_gone_at_the_server_but_was_received_here_is_no_gap() -> None:
    positions = received(10, 10, 10)
    assert positions.jump(first_available=4, lost=2) == 0
    assert (positions.received, positions.taken, positions.after) == (4, 1, 3)
    assert positions.header_cursor is None, "the header would say less than the position in the body"


def test_a_gap_that_leads_no_further_is_none() -> None:
    positions = received(10)
    positions.take(2)
    assert positions.jump(first_available=3, lost=1) is None
    assert positions.jump(first_available=0, lost=1) is None


def test_what_is_gone_up_to_the_last_message_that_was_received_is_no_gap_either() -> None:
    positions = received(10, 10)
    assert positions.jump(first_available=4, lost=2) == 0
    assert (positions.received, positions.unread) == (3, 2), "no item is added"


def test_a_server_that_counts_nothing_lost_where_something_is_missing_is_not_believed() -> None:
    assert received().jump(first_available=4, lost=0) == 1


def test_a_call_that_goes_on_elsewhere_begins_with_what_was_taken() -> None:
    positions = Positions.at(7, "e7")
    assert (positions.received, positions.taken, positions.after, positions.header_cursor) == (7, 7, 7, "e7")
    assert positions.place(8) is Place.NEXT
    positions.take_up("e8")
    assert positions.told == 8, "nothing keeps it there unless that is said"


@pytest.mark.rule("R23")
def test_where_a_call_is_kept_its_server_is_told_what_is_saved() -> None:
    positions = Positions.at(7, "e7", stored=True)
    positions.take_up_item(10, "e8")
    assert positions.take(8) == 10
    assert (positions.taken, positions.told, positions.told_cursor, positions.unsaved_bytes) == (8, 7, "e7", 10)
    assert positions.save(8, "e8") == 10
    assert (positions.told, positions.told_cursor, positions.unsaved_bytes) == (8, "e8", 0)


def test_an_old_save_takes_nothing_back_and_one_of_the_same_position_may_name_it_anew() -> None:
    positions = Positions.at(7, "e7", stored=True)
    assert positions.save(6, "e6") == 0
    assert (positions.told, positions.told_cursor) == (7, "e7")
    assert positions.save(7, "e7 in other words") == 0
    assert (positions.told, positions.told_cursor) == (7, "e7 in other words")


def test_a_call_that_is_not_kept_does_not_become_one_by_being_saved() -> None:
    positions = Positions.at(7, "e7")
    assert positions.save(7, "e7") == 0
    positions.take_up("e8")
    assert positions.told == 8


@pytest.mark.rule("Q5g", "R23")
def test_what_stands_at_the_cursor_that_is_saved_is_known_when_it_comes_again() -> None:
    positions = Positions.at(7, "e7", stored=True)
    positions.take_up_item(10, "e8")
    positions.take(8)
    positions.begin_path()
    assert positions.place(None, "e7") is Place.REPEATED, "from a server that replays inclusively"
    assert positions.repeat(None, "e7") == 7


@pytest.mark.rule("R23")
def test_of_what_is_over_nothing_is_unread_or_unsaved() -> None:
    positions = Positions.at(7, "e7", stored=True)
    positions.take_up_item(10, "e8")
    positions.take_up_item(20, "e9")
    positions.take(8)
    positions.conclude()
    assert (positions.told, positions.unread, positions.unread_bytes) == (9, 0, 0)
    assert (positions.unsaved, positions.unsaved_bytes) == (0, 0)


def test_each_item_that_is_unread_says_where_the_call_stands_once_it_is_taken() -> None:
    positions = received(10)
    positions.take_up_item(10, None)
    positions.take_up("e4")
    positions.take_up_item(10, None)
    assert positions.unread_items() == (Unread(2, 2, "e2"), Unread(3, 4, "e4"), Unread(5, 5, "e4"))


@pytest.mark.rule("R10")
def test_a_gap_takes_no_room_in_bytes() -> None:
    positions = received(10)
    positions.take_up(None)
    assert positions.leave_gap() == 3
    assert (positions.unread, positions.unread_bytes) == (2, 10)
    assert positions.take(3) == 10
    assert positions.unread_bytes == 0


def test_what_was_passed_over_is_known_to_exist() -> None:
    positions = received(10)
    positions.pass_over(7)
    positions.pass_over(5)
    assert (positions.received, positions.seen) == (2, 7)


def test_a_copy_goes_its_own_way() -> None:
    positions = received(10, 10)
    copy = positions.fork()
    assert copy.snapshot() == positions.snapshot()
    copy.take(3)
    copy.take_up_item(1, "e4")
    assert positions.snapshot() == received(10, 10).snapshot()
    assert copy.snapshot() != positions.snapshot()


@pytest.mark.rule("R23", "R1")
@given(st.lists(st.sampled_from(["item", "other", "take", "jump", "path", "cursor"]), max_size=40), st.data())
def test_taken_never_passes_received_and_never_goes_back(steps: list[str], data: st.DataObject) -> None:
    positions, taken = Positions(), 0
    for number, step in enumerate(steps):
        match step:
            case "item":
                positions.take_up_item(data.draw(st.integers(0, 9)), data.draw(st.sampled_from([None, f"e{number}"])))
            case "other":
                positions.take_up(data.draw(st.sampled_from([None, f"e{number}"])))
            case "take":
                positions.take(data.draw(st.integers(0, positions.received)))
            case "jump":
                positions.jump(data.draw(st.integers(0, positions.received + 3)), 1)
            case "path":
                positions.begin_path()
            case _:
                positions.note_cursor(f"c{number}")
        assert taken <= positions.taken <= positions.received <= positions.seen
        assert positions.taken <= positions.after <= positions.received
        taken = positions.taken
        assert positions.unread_bytes >= 0


@pytest.mark.rule("Q5g", "R7")
def test_an_item_that_was_taken_after_the_resume_went_out_is_still_known_when_it_comes_again() -> None:
    positions = Positions()
    positions.take_up(None)
    for event_id in ("e2", "e3"):
        positions.take_up_item(1, event_id)
    positions.begin_path()
    positions.take(3)
    for event_id, position in (("e2", 2), ("e3", 3)):
        assert positions.place(None, event_id) is Place.REPEATED
        assert positions.repeat(None, event_id) == position
    assert positions.place(None, "e4") is Place.NEXT
