"""The table of a call: what it promises, read off the data."""

from __future__ import annotations

import ast
import inspect

import pytest

from mcpstreams_sansio.client import calls, link
from mcpstreams_sansio.client.link import LINK_TABLE, LinkSignal, LinkState
from mcpstreams_sansio.client.table import CALL_TABLE, DELIVERING, SETTLED_FOR_CALLER, CallSignal, CallState
from mcpstreams_sansio.tables import Forbidden, Transition
from tests.spec.citations import citations

S, X = CallState, CallSignal

WAYS_TO_AN_OUTCOME = {X.RESPONSE, X.REFUSAL, X.GIVE_UP, X.CANCEL, X.DETACH}
OPEN_STATES = set(CallState) - SETTLED_FOR_CALLER


def targets(state: CallState) -> set[CallState]:
    cells = (CALL_TABLE[state, signal] for signal in CallSignal)
    return {cell.target for cell in cells if isinstance(cell, Transition)}


def test_every_state_can_be_reached_from_the_first() -> None:
    reached, waiting = {S.STRANDED}, [S.STRANDED]
    while waiting:
        found = targets(waiting.pop()) - reached
        reached |= found
        waiting += found
    assert reached == set(CallState)


def test_nothing_leads_out_of_the_end() -> None:
    assert all(isinstance(CALL_TABLE[S.FINISHED, signal], Forbidden) for signal in CallSignal)


@pytest.mark.parametrize("state", sorted(OPEN_STATES), ids=lambda state: state.name)
def test_h2_every_open_state_can_be_given_up_cancelled_and_let_go_of(state: CallState) -> None:
    assert CALL_TABLE[state, X.GIVE_UP] == Transition(S.FINISHED, CALL_TABLE[state, X.GIVE_UP].why)
    assert CALL_TABLE[state, X.CANCEL] == Transition(S.CANCEL_DUE, CALL_TABLE[state, X.CANCEL].why)
    assert CALL_TABLE[state, X.DETACH] == Transition(S.FINISHED, CALL_TABLE[state, X.DETACH].why)


@pytest.mark.rule("Q3d", "P25", "Q9c")
def test_who_has_an_outcome_gets_no_other_and_follows_nothing_any_more() -> None:
    for state in SETTLED_FOR_CALLER:
        assert targets(state) <= SETTLED_FOR_CALLER
        assert all(isinstance(CALL_TABLE[state, signal], Forbidden) for signal in WAYS_TO_AN_OUTCOME)


def test_an_answer_comes_on_a_path_that_delivers() -> None:
    for state in CallState:
        assert isinstance(CALL_TABLE[state, X.RESPONSE], Transition) == (state in DELIVERING)
        assert isinstance(CALL_TABLE[state, X.SETTLED], Transition) == (state in SETTLED_FOR_CALLER - {S.FINISHED})


@pytest.mark.rule("R22")
def test_m8_a_cancelled_call_goes_out_for_nothing_but_its_cancellation() -> None:
    assert targets(S.CANCEL_DUE) == {S.CANCEL_DUE, S.CANCELLING, S.FINISHED}
    assert targets(S.CANCELLING) == {S.CANCEL_DUE, S.FINISHED}


@pytest.mark.parametrize("table", [CALL_TABLE, LINK_TABLE])
def test_every_way_that_is_open_says_why(table: dict[object, Transition[CallState] | Forbidden]) -> None:
    for cell in table.values():
        assert cell.why == cell.why.strip()
        assert len(cell.why) > 3


def test_most_transitions_of_a_call_name_their_rules() -> None:
    transitions = [cell for cell in CALL_TABLE.values() if isinstance(cell, Transition)]
    with_rule = [cell for cell in transitions if list(citations(cell.why))]
    assert len(with_rule) / len(transitions) > 0.85


@pytest.mark.parametrize("module", [calls, link])
def test_only_step_changes_a_state(module: object) -> None:
    tree = ast.parse(inspect.getsource(module))  # type: ignore[arg-type]  # a module is what a parameter cannot say
    assigning = [
        function.name
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Attribute) and target.attr == "state" for target in node.targets)
    ]
    assert assigning == ["step"]


def test_a_link_that_failed_or_was_closed_never_opens_again() -> None:
    for state in (LinkState.FAILED, LinkState.CLOSING, LinkState.CLOSED):
        assert isinstance(LINK_TABLE[state, LinkSignal.OPEN], Forbidden)


def test_a_link_can_be_closed_in_every_state_before() -> None:
    for state in (LinkState.DOWN, LinkState.OPENING, LinkState.UP, LinkState.FAILED):
        cell = LINK_TABLE[state, LinkSignal.CLOSE]
        assert isinstance(cell, Transition)
        assert cell.target is LinkState.CLOSING
