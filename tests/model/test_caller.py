"""What a caller must see, and what shows that it does not."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client.effects import (
    AskReceived,
    CallCancelled,
    CallFailed,
    CallFinished,
    CallResult,
    GapFound,
    ItemReceived,
    Outcome,
)
from mcpstreams_sansio.client.inputs import SavedCall
from mcpstreams_sansio.ids import CallId
from mcpstreams_sansio.testing import Violation
from mcpstreams_sansio.testing.caller import Caller, Guarantee
from mcpstreams_sansio.testing.conversation import failure, message, success
from mcpstreams_sansio.testing.stores import Kept, Store
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse

K1 = CallId(1)
EXACT = Caller(1, Guarantee.EXACTLY_ONCE)
LEAST = Caller(1, Guarantee.AT_LEAST_ONCE)


def item(number: int, position: int | None = None) -> ItemReceived:
    return ItemReceived(K1, number + 1 if position is None else position, message(number, "p"))


def end(outcome: Outcome, position: int = 9) -> CallFinished:
    return CallFinished(K1, position, outcome)


def test_messages_are_seen_once_and_in_order() -> None:
    seen = EXACT.see(item(1)).see(item(2))
    assert (seen.seen, seen.position) == (2, 3)
    for wrong in (item(2, 9), item(4), item(1, 9)):
        with pytest.raises(Violation, match="exactly once, in order"):
            seen.see(wrong)


def test_positions_rise() -> None:
    with pytest.raises(Violation, match="positions rise"):
        EXACT.see(item(1, 2)).see(item(2, 2))


def test_without_cursors_a_message_may_be_repeated_and_none_may_be_missing() -> None:
    seen = LEAST.see(item(1, 2)).see(item(2, 3)).see(item(1, 2))
    assert (seen.seen, seen.position) == (2, 3)
    with pytest.raises(Violation, match="exactly once, in order"):
        seen.see(item(4))


def test_an_answer_is_the_call_s_own_and_comes_after_everything() -> None:
    seen = EXACT.see(item(1))
    assert seen.finish(end(CallResult(success(7, 1).result)), 1).outcome == "CallResult"
    assert seen.finish(end(CallFailed(failure(7, 1))), 1).outcome == "CallFailed"
    with pytest.raises(Violation, match="nothing is missing"):
        seen.finish(end(CallResult(success(7, 1).result)), 2)
    with pytest.raises(Violation, match="nothing is missing"):
        seen.finish(end(CallFailed(failure(7, 1))), 2)
    with pytest.raises(Violation, match="its own answer"):
        seen.finish(end(CallResult(success(7, 2).result)), 1)
    with pytest.raises(Violation, match="its work never said"):
        seen.finish(end(CallFailed(ErrorResponse(7, -32600, "a newer attachment has the stream"))), 1)


def test_nothing_comes_after_the_end() -> None:
    over = EXACT.finish(end(CallResult(success(7, 1).result)), 0)
    with pytest.raises(Violation, match="after its end"):
        over.see(item(1))
    with pytest.raises(Violation, match="after its end"):
        over.finish(end(CallResult(success(7, 1).result)), 0)
    with pytest.raises(Violation, match="after its end"):
        over.consider(AskReceived(K1, "ask-00001", 3, "x", None))


@pytest.mark.rule("R23")
def test_what_is_not_taken_is_unread_and_where_a_call_is_kept_what_is_not_kept() -> None:
    seen = EXACT.see(item(1)).see(item(2))
    assert (EXACT.unread, seen.unread, seen.take().unread, seen.take().see(item(3)).unread) == (0, 2, 0, 1)
    assert attrs.evolve(seen, missed=frozenset({2})).unread == 1
    kept = Kept(SavedCall("a-1", "tools/call", {}, 2), seen=1, position=2)
    assert attrs.evolve(seen.take(), store=Store()).unread == 2
    assert attrs.evolve(seen.take(), store=Store(kept)).unread == 1


def test_a_question_is_handed_over_once() -> None:
    asked = EXACT.consider(AskReceived(K1, "ask-00001", 2, "x", None))
    ask_id, answered = asked.answer()
    assert ask_id == "ask-00001"
    assert answered.unanswered == ()
    assert asked.withdraw("ask-00001").unanswered == ()
    with pytest.raises(Violation, match="no question outlives its call"):
        asked.finish(end(CallCancelled()), 0)
    with pytest.raises(Violation, match="one end, and nothing after it"):
        asked.withdraw("ask-00001").cancel().finish(end(CallCancelled()), 0).withdraw("ask-00001")
    for caller in (asked, answered):
        with pytest.raises(Violation, match="handed over once"):
            caller.consider(AskReceived(K1, "ask-00001", 3, "x", None))


def test_what_another_client_has_acknowledged_may_be_missing_once_that_was_told() -> None:
    shared = Caller(1, Guarantee.AT_MOST_ONCE)
    with pytest.raises(Violation, match="exactly once, in order"):
        shared.see(item(2))
    with pytest.raises(Violation, match="positions rise"):
        shared.see(item(1)).see(item(2, 2))
    with pytest.raises(Violation, match="nothing is missing"):
        shared.finish(end(CallResult(success(7, 1).result)), 1)
    behind = shared.miss(GapFound(CallId(1), 4, 3)).see(item(4, 5))
    for wrong in (item(4, 6), item(6, 6)):
        with pytest.raises(Violation, match="exactly once, in order"):
            behind.see(wrong)
    assert shared.miss(GapFound(CallId(1), 4, 3)).finish(end(CallResult(success(7, 1).result)), 3).has_its_answer


def test_what_a_gap_tells_of_is_remembered_until_a_message_comes_from_behind_it() -> None:
    gap = GapFound(K1, 4, 2)
    shared = Caller(1, Guarantee.AT_MOST_ONCE).miss(gap).miss(gap)
    assert (shared.told, shared.see(item(4, 5)).told) == (4, 0)
    assert shared.finish(end(CallResult(success(7, 1).result)), 3).told == 0
    least = LEAST.miss(gap).see(item(1))
    assert (least.told, least.see(item(3)).told, least.see(item(3)).see(item(1)).told) == (2, 1, 1)


def test_a_message_may_come_to_a_caller_that_is_open_and_not_past_it() -> None:
    assert EXACT.may_see(1)
    assert not EXACT.see(item(1)).may_see(1)
    assert not attrs.evolve(EXACT, outcome="CallResult").may_see(1)
