"""Every order of what can happen, within bounds: both real machines, nothing left out, nothing left hanging.

Each of the usual worlds is searched to its end, as `mcpstreams check` does it. The searches run once, in two processes,
and each test asks something about all of them. With `--worlds=quick` the large worlds are left out, and the others are
searched in this process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import pytest

from mcpstreams_sansio.testing import HAPPENINGS, QUICK, USUAL, Configuration, Statistics
from trio_bindings.cli.searches import Ending, Found, Stop, search_all
from trio_bindings.cli.verdict import Verdict

Runs: TypeAlias = Mapping[Configuration, Found]


class Silent:
    """Nobody looks at how far it is."""

    def show(self, name: str, statistics: Statistics, seconds: float) -> None:
        pass

    def finish(self, found: Found) -> None:
        pass


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest) -> Runs:
    """Search every world, or every quick one."""
    quick = request.config.getoption("--worlds") == "quick"
    found = search_all(QUICK if quick else USUAL, None, 1 if quick else 2, Silent(), Stop())
    return {each.configuration: each for each in found}


@pytest.mark.rule("R13")
@pytest.mark.timeout(600)  # the first of these tests waits for all searches
@pytest.mark.parametrize("configuration", [pytest.param(each, id=each.name) for each in USUAL])
def test_no_order_breaks_a_promise_or_leaves_anybody_waiting(configuration: Configuration, runs: Runs) -> None:
    found = runs.get(configuration)
    if found is None:
        pytest.skip("a large world")
    if found.failure is not None:
        pytest.fail(f"{found.failure.broken}\n{found.failure.transcript}")
    assert found.complete


def test_the_searches_are_large_enough_to_mean_something(runs: Runs) -> None:
    states = sum(found.statistics.states for found in runs.values())
    assert states > (200_000 if runs.keys() == set(USUAL) else 25_000)


@pytest.mark.parametrize("happening", HAPPENINGS)
def test_it_was_met(happening: str, runs: Runs) -> None:
    assert any(happening in runs[each].goals for each in QUICK)


def test_all_that_can_happen_to_a_stream_and_to_a_call_was_met(runs: Runs) -> None:
    quick = Verdict([runs[each] for each in QUICK], len(QUICK), whole=True, ending=Ending.ALL_DONE, seconds=0.0)
    assert (quick.server_cells, quick.client_cells) == ([], [])
    assert quick.ok
