"""The end of a server's process in a world: what is lost with it, what comes back, and what a key says of it."""

from __future__ import annotations

from collections.abc import Hashable

import attrs
import pytest

from mcpstreams_sansio.server.calls import Peer
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import WorkInterrupted
from mcpstreams_sansio.server.records import AnswerLogged, EntryLogged, StreamConfirmed, StreamOpened
from mcpstreams_sansio.server.recovery import read_records
from mcpstreams_sansio.testing import Action, StreamsWorld, Violation
from mcpstreams_sansio.testing.names import numbered, text_of
from mcpstreams_sansio.testing.server_side import carry_out
from mcpstreams_sansio.testing.state import State
from mcpstreams_sansio.testing.wires import End
from mcpstreams_sansio.testing.work import WorkState
from tests.model.ways import walked

DISK = "multiplexed marker messages=2 crashes=1 durable=1"


def work_in(world: StreamsWorld) -> tuple[WorkState, int, int, bool]:
    """Return how the one work stands: what it does, what it has sent and will send, and whether it was interrupted."""
    (work,) = world.state.works.values()
    return work.state, work.sent, work.messages, work.interrupted


# ----------------------------------------------------------------------------------------------------- what is lost


def test_nothing_crashes_before_there_is_anything_to_lose() -> None:
    assert "crash" not in [action.kind for action in StreamsWorld.parse(DISK).actions()]


def test_of_what_is_being_written_any_part_may_be_durable() -> None:
    world = walked(DISK, "call k1, connect, up c1, logged, send k1, send k1")
    assert [str(action) for action in world.actions() if action.kind == "crash"] == ["crash 0", "crash 1"]


def test_connections_and_sessions_end_and_what_was_written_still_arrives() -> None:
    world = walked("http marker crashes=1", "call k1, connect, up c1, crash 0")
    (wire,) = world.state.wires.values()
    assert (wire.server, world.state.sessions, len(wire.down) > 1) == (End.GONE, frozenset(), True)
    assert Action("down", "c1") in world.actions()


def test_a_request_that_is_still_on_its_way_comes_to_the_next_process() -> None:
    world = walked("http marker crashes=1", "call k1, connect, crash 0, up c1")
    assert "client <- path unsent" in world.effects() or Action("down", "c1") in world.actions()
    assert not world.state.works


def test_without_a_disk_the_next_process_knows_nothing_and_says_so() -> None:
    world = walked("multiplexed marker crashes=1", "call k1, connect, up c1, crash 0, down c1, down c1")
    assert work_in(world) == (WorkState.STOPPED, 0, 1, False)
    assert world.state.witness.opened == frozenset()
    assert not world.state.remembers


# ------------------------------------------------------------------------------------------------------ what comes back


@pytest.mark.parametrize(("kept", "sent"), [(0, 1), (1, 2)])
def test_work_goes_on_after_what_is_durable_of_it(kept: int, sent: int) -> None:
    world = walked(DISK, f"call k1, connect, up c1, logged, send k1, logged, send k1, crash {kept}")
    assert work_in(world) == (WorkState.RUNNING, sent, 2 - sent, True)


def test_work_that_had_answered_a_moment_ago_is_interrupted_too() -> None:
    world = walked("multiplexed marker messages=0 crashes=1 durable=1", "call k1, connect, up c1, logged, succeed k1")
    lost, kept = world.fork(), world.fork()
    lost.apply(Action("crash", "0"))
    kept.apply(Action("crash", "2"))
    assert work_in(lost)[0] is WorkState.RUNNING
    assert work_in(kept)[0] is WorkState.SUCCEEDED


def test_work_that_had_not_begun_is_begun_as_interrupted() -> None:
    world = walked(DISK, "call k1, connect, up c1, crash 1")
    assert work_in(world) == (WorkState.RUNNING, 0, 2, True)
    assert world.state.witness.executed == {1}


def test_interrupted_work_may_be_given_up_until_it_goes_on() -> None:
    world = walked(DISK, "call k1, connect, up c1, crash 1")
    given_up, gone_on = world.fork(), world.fork()
    given_up.apply(Action("give-up", "k1"))
    assert work_in(given_up)[0] is WorkState.GIVEN_UP
    gone_on.apply(Action("send", "k1"))
    assert Action("give-up", "k1") not in gone_on.actions()


def test_a_question_whose_answer_is_durable_is_not_waited_for() -> None:
    asking = walked(
        "multiplexed marker messages=0 asks=1 crashes=1 durable=1",
        "call k1, connect, up c1, logged, down c1, ask k1, logged, down c1, answer k1, up c1",
    )
    lost, kept = asking.fork(), asking.fork()
    lost.apply(Action("crash", "0"))
    kept.apply(Action("crash", "1"))
    assert work_in(lost)[0] is WorkState.ASKING
    assert work_in(kept)[0] is WorkState.RUNNING


# ------------------------------------------------------------------------------------------------------ what is checked


def interrupted(state: State) -> WorkInterrupted:
    """Return what the application is told after a crash of a server that remembers all but questions."""
    ((stream_id, work),) = state.arrived.items()
    return WorkInterrupted(stream_id, work.request_id, "tools/call", Peer(), 1 + len(state.disk.entries_of(stream_id)))


def test_a_durable_entry_that_does_not_come_back_is_seen() -> None:
    world = walked(DISK, "call k1, connect, up c1, logged, send k1, logged")
    with pytest.raises(Violation, match="nothing durable is lost"):
        carry_out(attrs.evolve(interrupted(world.state), produced=1), world.state)


def test_a_question_that_is_forgotten_is_seen() -> None:
    world = walked("multiplexed marker asks=1 crashes=1 durable=1", "call k1, connect, up c1, logged, ask k1, logged")
    with pytest.raises(Violation, match="a question is open or answered"):
        carry_out(interrupted(world.state), world.state)


# -------------------------------------------------------------------------------------------------------- what a key is


def of_kind(world: StreamsWorld, kind: type) -> int:
    return sum(isinstance(record, kind) for record in world.state.disk.records)


def test_worlds_that_differ_only_in_what_a_crash_would_leave_have_different_keys() -> None:
    """The machine knows that the client has the message; whether the disk does is another matter."""
    world = walked(
        DISK,
        "call k1, connect, up c1, logged, send k1, send k1, logged, logged, down c1, down c1, down c1, wait, up c1",
    )
    other = world.fork()
    batch = other.state.disk.batch
    assert batch is not None
    assert [type(record) for record in batch.records] == [StreamConfirmed]
    other.state.disk = attrs.evolve(other.state.disk, records=other.state.disk.records + batch.records)
    assert world.key() != other.key()
    for each in (world, other):
        each.state.left = attrs.evolve(each.state.left, crashes=0)
    assert world.key() == other.key(), "without a crash to come it makes no difference"


def whole_key(world: StreamsWorld) -> Hashable:
    """Return a key that holds what a crash would leave, whether something is being written or not."""
    recorded = read_records(world.state.disk.records, StreamsConfig().max_tokens)
    for stream in recorded.streams:
        stream.answers.clear()  # handed over, as soon as they were durable
    ordered, wires = world.state.texts()
    return numbered([*ordered, text_of(recorded)], wires)


@pytest.mark.parametrize(
    "setting",
    [
        "multiplexed marker messages=0 asks=1 crashes=1 durable=1",
        "multiplexed marker messages=0 cancels=1 crashes=1 durable=1",
        "http draft crashes=1 durable=1",
        "http stock crashes=1 durable=1",
    ],
)
def test_while_nothing_is_being_written_the_machine_says_what_a_crash_would_leave(setting: str) -> None:
    """So nothing of the disk need be in a key then: each key goes with one state of the disk, and no more."""
    start = StreamsWorld.parse(setting)
    seen, met = {start.key(): whole_key(start)}, 0
    waiting = [start]
    while waiting:
        world = waiting.pop()
        for action in world.actions():
            after = world.fork()
            after.apply(action)
            if not after.state.left.crashes:
                continue
            whole = whole_key(after)
            if (known := seen.setdefault(after.key(), whole)) is not whole:
                met += 1
                assert known == whole
            else:
                waiting.append(after)
    assert met > 20, "worlds with one key were met again and again"


def test_the_disk_keeps_what_it_is_asked_to() -> None:
    world = walked(DISK, "call k1, connect, up c1, logged, send k1, logged")
    assert (of_kind(world, StreamOpened), of_kind(world, EntryLogged), of_kind(world, AnswerLogged)) == (1, 1, 0)
