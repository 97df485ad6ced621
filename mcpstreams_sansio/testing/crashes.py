"""The end of the server's process, at any moment, and the beginning of the next one."""

from __future__ import annotations

from collections.abc import Sequence

from mcpstreams_sansio.server.inputs import Recover
from mcpstreams_sansio.testing.names import server_name
from mcpstreams_sansio.testing.server_side import tell_server
from mcpstreams_sansio.testing.state import State
from mcpstreams_sansio.testing.wires import End
from mcpstreams_sansio.testing.work import WorkState


def can_crash(state: State) -> Sequence[str]:
    """There is something to lose. Of the records that are being written any number may be durable."""
    if not state.left.crashes or not state.callers:
        return []
    batch = state.disk.batch
    return [str(kept) for kept in range(1 if batch is None else len(batch.records) + 1)]


def crash(state: State, kept: str) -> None:
    """All connections, sessions and work end with the process; what it wrote still arrives, as does what comes late.

    The next process is told what is on the disk; without one it knows nothing.
    """
    state.left = state.left.spend("crashes")
    state.disk = state.disk.crash(int(kept))
    state.witness.crash(state.disk.records)
    state.deliveries.crash(state.disk.records)
    state.promised.crash(state.disk.records)
    state.sessions = frozenset()
    for wire in tuple(state.wires.values()):
        if wire.server in {End.OPEN, End.FAREWELL}:
            state.put(wire.lost_for_server())
    for stream_id, work in state.works.items():
        if not work.over:
            state.works[stream_id] = work.become(WorkState.STOPPED)
    state.server = state.newborn
    if state.left.durable:
        tell_server(state, Recover(state.disk.records))
    else:
        state.server_name = server_name(state.lives)
