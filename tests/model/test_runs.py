"""Every order of what can happen, within bounds: both real machines, nothing left out, nothing left hanging.

Each of the usual worlds is searched to its end. The searches run once, and each test asks something about all of them.
"""

from __future__ import annotations

import gc
from collections.abc import Mapping

import attrs
import pytest

from mcpstreams_sansio.client import calls
from mcpstreams_sansio.client.table import CALL_TABLE, CallSignal, CallState
from mcpstreams_sansio.server import stream
from mcpstreams_sansio.server.table import STREAM_TABLE, StreamSignal, StreamState
from mcpstreams_sansio.testing import (
    CLIENT_CELLS_BEYOND,
    HAPPENINGS,
    SERVER_CELLS_BEYOND,
    SETTLES,
    USUAL,
    RecordedTable,
    Report,
    StreamsWorld,
    digest,
    explore,
    format_transcript,
    record,
)


@attrs.frozen
class Runs:
    """What all searches together have found."""

    reports: Mapping[str, Report]
    server_cells: RecordedTable[StreamState, StreamSignal]
    client_cells: RecordedTable[CallState, CallSignal]


@pytest.fixture(scope="module")
def runs() -> Runs:
    """Search every world, and listen to the state tables meanwhile."""
    server_cells, client_cells = RecordedTable(STREAM_TABLE), RecordedTable(CALL_TABLE)
    # Worlds hold no circles, so there is nothing to collect in a million objects that stay.
    gc.disable()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(stream, "STREAM_TABLE", server_cells)
            patch.setattr(calls, "CALL_TABLE", client_cells)
            reports = {each.setting: explore(each.world(), [SETTLES], key_digest=digest) for each in USUAL}
    finally:
        gc.enable()
    return Runs(reports, server_cells, client_cells)


@pytest.mark.rule("R13")
@pytest.mark.timeout(600)  # the first of these tests waits for all searches
@pytest.mark.parametrize("setting", [pytest.param(each.setting, id=each.name) for each in USUAL])
def test_no_order_of_events_breaks_a_promise_or_leaves_anybody_waiting(setting: str, runs: Runs) -> None:
    report = runs.reports[setting]
    if report.counterexample is not None:
        shown = format_transcript(record(StreamsWorld.parse(setting), report.counterexample.path))
        pytest.fail(f"{report.counterexample.property_name}: {report.counterexample.text}\n{shown}")
    assert report.complete


def test_the_searches_are_large_enough_to_mean_something(runs: Runs) -> None:
    assert sum(report.statistics.states for report in runs.reports.values()) > 40_000


@pytest.mark.parametrize("happening", HAPPENINGS)
def test_it_was_met(happening: str, runs: Runs) -> None:
    assert any(happening in report.goals for report in runs.reports.values())


def test_nearly_all_that_can_happen_to_a_stream_was_met(runs: Runs) -> None:
    unseen = {f"{state.name}/{signal.name}" for state, signal in runs.server_cells.unseen()}
    assert unseen <= SERVER_CELLS_BEYOND


def test_nearly_all_that_can_happen_to_a_call_was_met(runs: Runs) -> None:
    unseen = {f"{state.name}/{signal.name}" for state, signal in runs.client_cells.unseen()}
    assert unseen == CLIENT_CELLS_BEYOND.keys()


@pytest.mark.parametrize("setting", ["multiplexed marker asks=1 cuts=1", "http stock asks=1 cuts=1 sessions=1"])
def test_a_search_that_remembers_whole_keys_finds_the_same_states(setting: str, runs: Runs) -> None:
    assert explore(StreamsWorld.parse(setting), [SETTLES]) == runs.reports[setting]
