"""Deliberate faults below the messages: each is found by cutting one conversation everywhere, and some by walking."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, run_state_machine_as_test

from mcpstreams_sansio.testing import Violation
from mcpstreams_sansio.wire.jsonrpc import JSONValue
from tests.model.byte_cuts import cut_everywhere
from tests.model.byte_walk import CONTENTS, ByteWalk
from tests.model.byte_world import Setting
from tests.model.planted import on_the_wire
from tests.model.planted.on_the_wire import FAULTS, ByteFault
from tests.spec.case_ids import CASES
from tests.spec.rule_ids import RULES
from tests.spec.surrounding_ids import SURROUNDINGS

ENOUGH = 300
"""Examples within which a walk finds what it cannot miss for long."""
SOON = [on_the_wire.unfinished_line_is_dropped, on_the_wire.line_end_at_the_begin_is_passed_over]


def walk(setting: Setting) -> None:
    """Walk through one world, in the same way each time; what is found is not made shorter."""

    class Walk(ByteWalk):
        @initialize(contents=CONTENTS, carried=st.booleans())
        def begin(self, contents: list[JSONValue], carried: bool) -> None:
            self.begin_in(setting, contents, carried)

    once = settings(
        max_examples=ENOUGH,
        stateful_step_count=50,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(Walk, settings=once)


def assert_found(fault: ByteFault, search: Callable[[Setting], None]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        fault.plant(patch)
        with pytest.raises(Violation) as caught:
            search(fault.setting)
    assert caught.value.property_name in fault.broken


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault: ByteFault) -> None:
    assert_found(fault, cut_everywhere)


@pytest.mark.parametrize("fault", SOON, ids=lambda fault: fault.name)
def test_a_walk_finds_it_too(fault: ByteFault) -> None:
    assert_found(fault, walk)


def test_no_fault_is_there_twice() -> None:
    assert len({fault.name for fault in FAULTS}) == len({fault.text for fault in FAULTS}) == len(FAULTS)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_says_what_is_wrong_and_where_that_is_ruled_out(fault: ByteFault) -> None:
    kind, known = fault.cites.split()
    assert known in {"rule": RULES | SURROUNDINGS, "case": CASES}[kind]
    assert fault.text.endswith(".")
