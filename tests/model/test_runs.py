"""Every order of what can happen, within bounds: both real machines, nothing left out, nothing left hanging.

Each world below is searched to its end. The searches run once, and each test asks something about all of them.
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
    SETTLES,
    RecordedTable,
    Report,
    StreamsWorld,
    digest,
    explore,
    format_transcript,
    record,
)

WORLDS = [
    "multiplexed marker messages=2 cuts=2",
    "multiplexed marker asks=1 cuts=1",
    "multiplexed marker asks=1 hurries=1",
    "multiplexed marker messages=0 cuts=1 hurries=2",
    "multiplexed marker cancels=1 straggles=1",
    "multiplexed marker messages=0 cancels=1 straggles=1 fades=1",
    "multiplexed marker messages=0 asks=1 cancels=1 slow_stops=1",
    "multiplexed marker cuts=1 hurries=1 durable=1",
    "multiplexed marker messages=0 cuts=1 cancels=1 durable=1",
    "multiplexed marker calls=2 messages=0 cuts=1",
    "multiplexed marker messages=2 cuts=1 slow_takes=2 max_unread=1",
    "multiplexed marker messages=0 cuts=1 detaches=1 releases=1",
    "multiplexed marker failures=1 detaches=1",
    "multiplexed marker messages=0 hurries=1 detaches=1",
    "multiplexed marker messages=0 cancels=1 detaches=2 poll_first=1",
    "multiplexed marker messages=3 cancels=1 slow_takes=3 max_unread=1",
    "multiplexed marker messages=2 detaches=1 slow_takes=2 max_unread=1",
    "multiplexed marker messages=0 cuts=1 slow_writes=2 polls=1",
    "multiplexed marker hurries=1 slow_writes=1 stalls=1",
    "multiplexed draft asks=1 cuts=1",
    "multiplexed stock messages=0 cuts=1",
    "multiplexed stock messages=3 cuts=1 slow_takes=3 max_unread=1",
    "http marker messages=2 cuts=1 slow_takes=1",
    "http marker messages=2 slow_takes=2 max_unread=1",
    "http marker hurries=1 slow_writes=1 stalls=1",
    "http marker asks=1 fades=1",
    "http marker messages=0 cuts=1 hurries=1 poll_first=1",
    "http marker messages=0 cuts=1 cancels=1 sessions=1",
    "http marker failures=1 cancels=1 releases=1 slow_stops=1",
    "http marker messages=0 failures=1 cancels=1 releases=1 polls=1 intrusions=1 slow_stops=1",
    "http marker messages=3 cuts=1 durable=1 window=2",
    "multiplexed marker cuts=1 rivals=1",
    "multiplexed marker messages=0 asks=1 rivals=1",
    "multiplexed marker messages=2 slow_takes=1 rivals=1",
    "http marker rivals=1",
    "http draft messages=2 cuts=2",
    "http draft messages=0 cuts=1 sessions=1 cancels=1",
    "http draft straggles=1 hurries=1",
    "http draft cuts=1 detaches=1",
    "http stock asks=1 cuts=1 sessions=1",
]

HAPPENINGS = [
    "client -> attempt made resume",
    "client -> attempt made resend",
    "client -> attempt made cursor",
    "client -> attempt made poll",
    "client -> attempt made cancel",
    "client -> duplicate dropped",
    "client -> ask withdrawn",
    "client -> call detached",
    "client -> pause reading",
    "client -> call finished CallResult",
    "client -> call finished CallFailed",
    "client -> call finished CallCancelled",
    "client -> call finished CallLost abandoned",
    "client -> call finished CallLost expired",
    "client -> call finished CallNotRun unreached",
    "client -> call finished OutcomeUnknown connection lost",
    "client -> call finished OutcomeUnknown out of budget",
    "client <- retry received",
    "client <- path refused",
    "client <- path unsent",
    "server -> ask answered",
    "server -> ask failed stream gone",
    "server -> ask failed timed out",
    "server -> begin body empty",
    "server -> stop call abandoned",
    "server -> stop call cancelled",
    "server -> stop call session ended",
    "server -> hold messages",
    "server -> send more",
    "server -> refused cancelled",
    "server -> stream gone abandoned",
    "server -> stream gone cancelled",
    "server -> stream gone expired",
    "server -> stream gone finished",
    "server -> write log",
    "refused: abandoned",
    "refused: cancelled",
    "refused: expired",
    "refused: stream_not_found",
    "refused: superseded",
]
"""What must have been met, or the searches prove less than they seem to."""


SERVER_CELLS_BEYOND = {
    "COMPLETED/EVICTION",
    "DRAINING/CANCEL",
    "DRAINING/CLOSING",
    "DRAINING/FINAL_LOSS",
    "DRAINING/FULL_ACK",
    "DRAINING/RELEASE",
}
"""What no world this small comes to."""

NOT_READ = "a wire that is not read brings nothing more here; a transport may have read ahead"
PATIENT = "a client is more patient than these networks are slow"

CLIENT_CELLS_BEYOND = {
    "FULL/OVERFLOW": NOT_READ,
    "FULL/RECOVER": NOT_READ,
    "FULL/REFUSAL": "nobody else here may take a call over, or cancel it",
    "POLLING/GIVE_UP": PATIENT,
    "REATTACHING/GIVE_UP": PATIENT,
}
"""The same for the client, and why. Each of them is met in the tests of its room."""


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
            reports = {
                setting: explore(StreamsWorld.parse(setting), [SETTLES], key_digest=digest) for setting in WORLDS
            }
    finally:
        gc.enable()
    return Runs(reports, server_cells, client_cells)


@pytest.mark.rule("R13")
@pytest.mark.timeout(600)  # the first of these tests waits for all searches
@pytest.mark.parametrize("setting", WORLDS)
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
