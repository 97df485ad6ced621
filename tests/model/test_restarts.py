"""The client's process ends, and another one goes on: that is met, and whatever is wrong with it is found (R23)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import attrs
import pytest

from mcpstreams_sansio.client import answering, application, calls, endings, positions, questions, streams
from mcpstreams_sansio.client.asks import Open, Outstanding
from mcpstreams_sansio.client.inputs import AnswerAsk, AttachCall, SavedCall
from mcpstreams_sansio.client.ledger import Ledger
from mcpstreams_sansio.testing import USUAL, Always, StreamsWorld, explore, format_transcript, record
from mcpstreams_sansio.testing.application import DIED, Caller
from tests.model.test_planted_bugs import Fault, search

# ------------------------------------------------------------------------------------------------------ what is met


def restored(caller: Caller, world: StreamsWorld) -> bool:
    """Say whether a caller has gone on from what it kept."""
    return not world.state.left.client_crashes and caller.saved is None and caller.outcome != DIED


MET: Mapping[str, Callable[[Caller, StreamsWorld], bool]] = {
    "a caller that was brought back has its result": (
        lambda caller, world: restored(caller, world) and caller.outcome == "CallResult"
    ),
    "it sees in the second process what was not kept in the first": (
        lambda caller, world: restored(caller, world) and caller.kept == 2 and caller.store is not None
    ),
    "a caller that kept nothing is gone": lambda caller, _: caller.outcome == DIED,
    "what a process was writing is lost with it": (
        lambda caller, world: not world.state.left.client_crashes and not world.state.left.slow_saves
    ),
    "the outcome came before the crash and was not kept": (
        lambda caller, world: caller.saved is not None and any(work.over for work in world.state.works.values())
    ),
}


@pytest.mark.parametrize("what", MET)
def test_the_searches_meet_it(what: str) -> None:
    def met(world: StreamsWorld) -> str | None:
        callers = world.state.callers.values()
        return "it is met" if any(MET[what](caller, world) for caller in callers) else None

    world = StreamsWorld.parse("multiplexed marker messages=2 client_crashes=1 slow_saves=1")
    found = explore(world, [Always(what, met)], max_states=20_000).counterexample
    assert found is not None
    assert found.property_name == what


# ---------------------------------------------------------------------------------------------------- planted faults


def saves_with(patch: pytest.MonkeyPatch, change: Callable[[calls.Call, SavedCall], SavedCall]) -> None:
    """Let every saved call differ from what it should be."""
    save = calls.Call.save
    patch.setattr(calls.Call, "save", lambda call, now: change(call, save(call, now)))


def tells_what_is_not_saved(patch: pytest.MonkeyPatch) -> None:
    """Cursor and acknowledgements say what was taken (rule R23)."""
    patch.setattr(positions.Positions, "told", positions.Positions.taken)


def tells_an_outcome_that_is_not_saved(patch: pytest.MonkeyPatch) -> None:
    """With its answer a call counts as done, before anybody has said that it is kept (rules R6, R23)."""
    settle = endings.settle

    def settle_at_once(ledger: Ledger, call: calls.Call) -> None:
        call.positions.conclude()
        settle(ledger, call)

    patch.setattr(endings, "settle", settle_at_once)


def saves_what_was_received(patch: pytest.MonkeyPatch) -> None:
    saves_with(patch, lambda call, saved: attrs.evolve(saved, taken=call.positions.received))


def takes_a_saved_call_for_one_that_never_went_out(patch: pytest.MonkeyPatch) -> None:
    """It is sent as a new one, under another key (rule R21, case H4)."""

    def attach(ledger: Ledger, event: AttachCall) -> None:
        unsent = attrs.evolve(event.saved, sent=False, key=None, instance=None)
        application.attach(ledger, attrs.evolve(event, saved=unsent))

    patch.setitem(streams._APPLY, AttachCall, attach)


def forgets_its_answers(patch: pytest.MonkeyPatch) -> None:
    saves_with(patch, lambda _, saved: attrs.evolve(saved, answers=()))


def answers_before_that_is_saved(patch: pytest.MonkeyPatch) -> None:
    """A second process may be asked again, and answer otherwise (rule R24)."""

    def answer(ledger: Ledger, event: AnswerAsk) -> None:
        call = None if event.call_id is None else ledger.calls.get(event.call_id)
        if call is not None and isinstance(call.asks.get(event.ask_id), Open):
            answering.send(ledger, call, event.ask_id, Outstanding(event.answer))

    assert streams._APPLY[AnswerAsk] is questions.answer
    patch.setitem(streams._APPLY, AnswerAsk, answer)


def counts_attempts_under_a_name_of_its_own(patch: pytest.MonkeyPatch) -> None:
    """A late attempt of the process before takes the call away from whoever brought it back (rule R14)."""
    saves_with(patch, lambda _, saved: attrs.evolve(saved, client=None))


def counts_on_from_the_last_attempt_that_was_saved(patch: pytest.MonkeyPatch) -> None:
    """So it gives a number a second time that the process before has given since (rule R14)."""
    saves_with(patch, lambda call, saved: attrs.evolve(saved, attempt=call.attempt))
    patch.setattr(calls.Call, "may_attempt", lambda _: True)


def forgets_the_ids_of_what_was_taken(patch: pytest.MonkeyPatch) -> None:
    """What was taken and not saved comes again, and only its event id tells that (rule R23)."""

    def forget_passed(at: positions.Positions) -> None:
        passed = min(at.taken, at._path)
        at._event_ids = {event_id: position for event_id, position in at._event_ids.items() if position > passed}

    patch.setattr(positions.Positions, "_forget_passed", forget_passed)


def presents_the_cursor_of_what_was_taken(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(positions.Positions, "told_cursor", property(lambda at: at.cursor or None))


CRASH = "multiplexed marker client_crashes=1"
ASKING = "multiplexed marker messages=0 asks=1 client_crashes=1"
LATE = "multiplexed marker messages=0 straggles=1 client_crashes=1"
BY_IDS = "http draft messages=2 cuts=1 client_crashes=1"

FAULTS = [
    Fault(tells_what_is_not_saved, CRASH, "nothing is missing", 16),
    Fault(tells_what_is_not_saved, "http marker client_crashes=1", "nothing is missing", 19),
    Fault(tells_an_outcome_that_is_not_saved, CRASH, "an answer in the end", 17),
    Fault(saves_what_was_received, "multiplexed marker client_crashes=1 slow_takes=1", "nothing is missing", 15),
    Fault(takes_a_saved_call_for_one_that_never_went_out, CRASH, "a call runs once", 9),
    Fault(forgets_its_answers, ASKING, "an answer arrives", 12),
    Fault(answers_before_that_is_saved, ASKING, "a question is answered once", 16),
    Fault(counts_attempts_under_a_name_of_its_own, LATE, "an answer in the end", 19),
    Fault(counts_on_from_the_last_attempt_that_was_saved, LATE, "an answer in the end", 15),
    Fault(forgets_the_ids_of_what_was_taken, BY_IDS, "exactly once, in order", 18),
    Fault(presents_the_cursor_of_what_was_taken, BY_IDS, "an answer in the end", 21),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.plant.__name__}-{fault.setting.split()[0]}")
def test_a_client_that_does_not_keep_its_word_is_found(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        fault.plant(patch)
        found = search(fault)
        assert found is not None
        shown = format_transcript(record(StreamsWorld.parse(fault.setting), found.path))
    assert (found.property_name, len(found.path)) == (fault.breaks, fault.steps), shown


SEARCHED = {each.setting for each in USUAL}
"""Where nothing is found: `test_runs` says so."""


@pytest.mark.parametrize("setting", sorted({fault.setting for fault in FAULTS} - SEARCHED))
def test_without_the_fault_nothing_is_found(setting: str) -> None:
    assert search(Fault(lambda _: None, setting, "", 0)) is None
