"""Deliberate faults in the real machines: each is found, and by the shortest way there is.

A model check that never fails proves nothing. Each fault is one that an implementation could have; how it is found, and
how long its shortest counterexample is, is written down beside it, so that a change which hides a fault from the search
is seen.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from mcpstreams_sansio import testing
from mcpstreams_sansio.testing import (
    DEEP,
    SETTLES,
    USUAL,
    Report,
    StreamsWorld,
    Violation,
    digest,
    explore,
    format_transcript,
    record,
)
from tests.model.planted.fault import Fault, Found
from tests.model.planted.faults import FAULTS
from tests.spec.case_ids import CASES
from tests.spec.rule_ids import RULES
from tests.spec.surrounding_ids import SURROUNDINGS

ENOUGH = 20_000
"""States within which every fault is found."""

ALL = [fault for faults in FAULTS.values() for fault in faults]
SEARCHES = [(fault, found) for fault in ALL for found in fault.found]
SETTINGS = sorted({found.setting for _, found in SEARCHES} - {each.setting for each in (*USUAL, *DEEP)})
"""Where nothing may be found. The other ones are among the worlds that have a name."""


def search(setting: str) -> Report:
    return explore(StreamsWorld.parse(setting), [SETTLES], max_states=ENOUGH, key_digest=digest)


@pytest.mark.parametrize(
    ("fault", "found"), SEARCHES, ids=[f"{fault.name}-{found.setting.replace(' ', '-')}" for fault, found in SEARCHES]
)
def test_a_planted_fault_is_found(fault: Fault, found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        fault.plant(patch)
        counterexample = search(found.setting).counterexample
        assert counterexample is not None
        shown = format_transcript(record(StreamsWorld.parse(found.setting), counterexample.path))
    assert (counterexample.property_name, len(counterexample.path)) == (found.broken, found.steps), shown


@pytest.mark.parametrize("setting", SETTINGS)
def test_without_the_fault_nothing_is_found(setting: str) -> None:
    report = search(setting)
    assert report.complete
    assert report.counterexample is None


def test_nearly_all_are_found_by_a_property() -> None:
    by_property = [fault for fault in ALL if all(found.broken != "nothing raises" for found in fault.found)]
    assert len(ALL) >= 100
    assert len(ALL) - len(by_property) <= 4


def test_no_fault_is_there_twice() -> None:
    assert len({fault.name for fault in ALL}) == len({fault.text for fault in ALL}) == len(ALL)


@pytest.mark.parametrize("fault", ALL, ids=lambda fault: fault.name)
def test_a_fault_says_what_is_wrong_and_where_that_is_ruled_out(fault: Fault) -> None:
    kind, known = fault.cites.split()
    assert known in {"rule": RULES | SURROUNDINGS, "case": CASES}[kind]
    assert fault.text.endswith(".")
    assert [found.setting for found in fault.found] == [
        StreamsWorld.parse(found.setting).setting() for found in fault.found
    ]


def test_every_property_is_broken_by_some_fault() -> None:
    """A property that no fault breaks may be one that nothing can break."""
    rooms = Path(testing.__file__).parent.rglob("*.py")
    calls = [node for room in rooms for node in ast.walk(ast.parse(room.read_text())) if isinstance(node, ast.Call)]
    names = {ast.literal_eval(call.args[0]) for call in calls if is_named_violation(call)}
    assert len(names) > 40, "or they are not seen here"
    assert names <= {found.broken for _, found in SEARCHES}


def is_named_violation(call: ast.Call) -> bool:
    return ast.unparse(call.func) == Violation.__name__ and isinstance(call.args[0], ast.Constant)
