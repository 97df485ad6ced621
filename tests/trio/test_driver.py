"""The driver alone: a machine, a clock, effects in order, connections, and no task left over (rule R26)."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from mcpstreams_sansio import ConnectionId, LocalProtocolError
from mcpstreams_sansio.connections import (
    BytesReceived,
    ConnectionLost,
    DeadlineReached,
    DropConnection,
    DropReason,
    EndOfFile,
    EndWriting,
    Write,
    Written,
)
from mcpstreams_sansio.http.messages import SendHead
from tests.trio.machines import FakeDriver, FakeMachine, for_ever, settle
from trio_bindings.driver import MAX_COMMANDS, Connection


class Noted:
    """An effect that only tests know."""

    def __init__(self, number: int) -> None:
        self.number = number


# ------------------------------------------------------------------------------------------------------------- submit


@pytest.mark.rule("R26")
async def test_every_effect_is_carried_out_in_order_before_submit_returns() -> None:
    machine = FakeMachine(lambda event: [Noted(1), Noted(2), Noted(3)])
    noted: list[int] = []
    async with FakeDriver(machine) as driver:
        driver.route(Noted, lambda effect: noted.append(effect.number))
        driver.submit("go")
        assert noted == [1, 2, 3]


async def test_the_machine_hears_the_time_of_trio(autojump_clock: trio.testing.MockClock) -> None:
    machine = FakeMachine()
    async with FakeDriver(machine) as driver:
        driver.submit("first")
        await trio.sleep(2.5)
        driver.submit("second")
    assert machine.times[1] - machine.times[0] == pytest.approx(2.5)


async def test_an_effect_without_a_route_is_a_fault_of_the_driver() -> None:
    machine = FakeMachine(lambda event: [Noted(1)])
    async with FakeDriver(machine) as driver:
        with pytest.raises(KeyError):
            driver.submit("go")


@pytest.mark.rule("R13")
async def test_an_order_that_the_machine_refuses_is_the_callers_error_and_breaks_nothing() -> None:
    def script(event: object) -> list[object]:
        if event == "wrong":
            raise LocalProtocolError("wrong whatever the time")
        return []

    machine = FakeMachine(script)
    async with FakeDriver(machine) as driver:
        with pytest.raises(LocalProtocolError):
            driver.submit("wrong")
        driver.submit("right")
        await settle()


async def test_after_its_block_a_driver_takes_nothing_and_its_machine_hears_nothing() -> None:
    machine = FakeMachine()
    async with FakeDriver(machine) as driver:
        pass
    with pytest.raises(trio.ClosedResourceError):
        driver.submit("late")
    assert machine.heard == []


# ----------------------------------------------------------------------------------------------------------- deadline


async def test_the_machine_is_woken_at_its_deadline_and_not_before(autojump_clock: trio.testing.MockClock) -> None:
    machine = FakeMachine()
    async with FakeDriver(machine) as driver:
        machine.deadline = trio.current_time() + 10
        driver.submit("set")
        await trio.sleep(9.9)
        assert machine.all_heard(DeadlineReached) == []
        await trio.sleep(0.2)
        assert machine.all_heard(DeadlineReached) == [DeadlineReached()]


async def test_a_deadline_that_comes_nearer_wakes_the_machine_earlier(autojump_clock: trio.testing.MockClock) -> None:
    machine = FakeMachine()
    start = trio.current_time()
    async with FakeDriver(machine) as driver:
        machine.deadline = start + 100
        driver.submit("set")
        await settle()
        machine.deadline = start + 1
        driver.submit("nearer")
        await machine.hears(DeadlineReached)
    assert machine.times[-1] == pytest.approx(start + 1)


async def test_a_deadline_that_moves_away_or_goes_does_not_wake_the_machine(
    autojump_clock: trio.testing.MockClock,
) -> None:
    machine = FakeMachine()
    start = trio.current_time()
    async with FakeDriver(machine) as driver:
        machine.deadline = start + 1
        driver.submit("set")
        machine.deadline = start + 5
        driver.submit("later")
        await trio.sleep(4)
        machine.deadline = None
        driver.submit("never")
        await trio.sleep(1_000)
    assert machine.all_heard(DeadlineReached) == []


async def test_a_deadline_in_the_past_is_reported_at_once(autojump_clock: trio.testing.MockClock) -> None:
    machine = FakeMachine()
    start = trio.current_time()
    machine.deadline = start - 1
    async with FakeDriver(machine) as driver:
        driver.submit("set")
        await machine.hears(DeadlineReached)
        assert trio.current_time() == start


async def test_each_deadline_of_a_row_is_kept(autojump_clock: trio.testing.MockClock) -> None:
    machine = FakeMachine()
    start = trio.current_time()
    machine.deadline, machine.later = start + 1, iter([start + 2, start + 3])
    async with FakeDriver(machine) as driver:
        driver.submit("set")
        await trio.sleep(10)
    assert machine.times == pytest.approx([start, start + 1, start + 2, start + 3])


# -------------------------------------------------------------------------------------------------------------- block


async def test_an_exception_of_the_block_comes_out_as_it_is() -> None:
    async def run() -> None:
        async with FakeDriver(FakeMachine()) as driver:
            driver.nursery.start_soon(trio.sleep_forever)
            await settle()
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await run()


async def test_leaving_the_block_ends_every_task_in_it() -> None:
    ended = trio.Event()

    async def task() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.set()

    async with FakeDriver(FakeMachine()) as driver:
        driver.nursery.start_soon(task)
        await settle()
    assert ended.is_set()


async def test_a_task_that_fails_ends_the_block_and_is_not_hidden() -> None:
    async def task() -> None:
        await trio.lowlevel.checkpoint()
        raise RuntimeError("a fault in a task")

    async def run() -> None:
        async with FakeDriver(FakeMachine()) as driver:
            driver.nursery.start_soon(task)
            await trio.sleep_forever()

    with pytest.RaisesGroup(pytest.RaisesExc(RuntimeError, match="a fault in a task")):
        await run()


async def test_cancelling_around_the_block_leaves_it() -> None:
    with trio.CancelScope() as scope:
        async with FakeDriver(FakeMachine()):
            scope.cancel()
            await for_ever()
    assert scope.cancelled_caught


# -------------------------------------------------------------------------------------------------------- connections


def write(connection: Connection, *chunks: bytes) -> Write:
    return Write(connection.connection_id, chunks)


@pytest.mark.rule("R13")
async def test_no_connection_id_is_used_twice() -> None:
    async with FakeDriver(FakeMachine()) as driver:
        assert len({driver.new_connection_id() for _ in range(1_000)}) == 1_000


@pytest.mark.rule("R11")
async def test_a_writer_gets_head_writes_and_end_in_the_order_of_the_effects() -> None:
    machine = FakeMachine()
    async with FakeDriver(machine) as driver:
        driver.route(SendHead, driver.queue)
        connection = driver.add_connection(driver.new_connection_id())
        head, end = SendHead(connection.connection_id, 200, ()), EndWriting(connection.connection_id)
        machine.script = lambda event: [head, write(connection, b"a"), end]
        driver.submit("go")
        with driver.carry(connection):
            assert [await connection.next_command() for _ in range(3)] == [head, write(connection, b"a"), end]


@pytest.mark.rule("R11")
async def test_a_second_outstanding_write_is_a_fault_of_the_machine() -> None:
    machine = FakeMachine()
    async with FakeDriver(machine) as driver:
        connection = driver.add_connection(driver.new_connection_id())
        machine.script = lambda event: [write(connection, b"x")]
        for _ in range(MAX_COMMANDS):
            driver.submit("go")
        with pytest.raises(trio.WouldBlock):
            driver.submit("one too many")


async def test_what_a_connection_learns_is_told_under_its_name() -> None:
    machine = FakeMachine()
    async with FakeDriver(machine) as driver:
        connection = driver.add_connection(driver.new_connection_id())
        with driver.carry(connection):
            connection.received(b"abc")
            connection.received_eof()
            connection.written()
    received, end = machine.all_heard(BytesReceived)[0], machine.all_heard(EndOfFile)[0]
    assert (received.connection_id, received.data) == (connection.connection_id, b"abc")
    assert end.connection_id == connection.connection_id
    assert machine.heard == [
        received,
        end,
        Written(connection.connection_id),
        ConnectionLost(connection.connection_id),
    ]


@pytest.mark.rule("Q11a")
async def test_each_input_brings_a_seed_of_its_own() -> None:
    machine = FakeMachine()
    async with FakeDriver(machine) as driver:
        connection = driver.add_connection(driver.new_connection_id())
        for _ in range(100):
            connection.received(b"x")
    assert len({event.entropy.derive("name") for event in machine.all_heard(BytesReceived)}) == 100


@pytest.mark.rule("R13")
async def test_a_loss_is_reported_once() -> None:
    machine = FakeMachine()
    async with FakeDriver(machine) as driver:
        connection = driver.add_connection(driver.new_connection_id())
        with driver.carry(connection):
            connection.lost()
            connection.lost()
            connection.received(b"late")
            connection.received_eof()
            connection.written()
    assert machine.heard == [ConnectionLost(connection.connection_id)]


async def test_a_dropped_connection_ends_its_transport_and_reports_nothing() -> None:
    machine = FakeMachine()
    async with FakeDriver(machine) as driver:
        connection = driver.add_connection(driver.new_connection_id())
        machine.script = lambda event: [DropConnection(connection.connection_id, DropReason.STALLED)]
        with driver.carry(connection):
            driver.submit("drop it")
            await for_ever()
        await driver.wait_without_connections()
    assert machine.heard == ["drop it"]


async def test_a_connection_can_be_dropped_before_its_transport_starts() -> None:
    machine = FakeMachine()
    async with FakeDriver(machine) as driver:
        connection = driver.add_connection(driver.new_connection_id())
        machine.script = lambda event: [DropConnection(connection.connection_id, DropReason.FINISHED)]
        driver.submit("drop it")
        with driver.carry(connection):
            await for_ever()
    assert machine.heard == ["drop it"]


async def test_once_the_last_byte_is_queued_only_writing_and_loss_are_reported() -> None:
    machine = FakeMachine()
    async with FakeDriver(machine) as driver:
        connection = driver.add_connection(driver.new_connection_id())
        machine.script = lambda event: [EndWriting(connection.connection_id)] if event == "end" else []
        with driver.carry(connection):
            driver.submit("end")
            connection.received(b"late")
            connection.received_eof()
            connection.written()
        identity = connection.connection_id
    assert machine.heard == ["end", Written(identity), ConnectionLost(identity)]


async def test_a_transport_that_fails_is_a_loss_and_the_failure_comes_out() -> None:
    machine = FakeMachine()
    async with FakeDriver(machine) as driver:
        connection = driver.add_connection(driver.new_connection_id())
        with pytest.raises(OSError, match="transport"), driver.carry(connection):
            raise OSError("transport")
    assert machine.heard == [ConnectionLost(ConnectionId(1))]


async def test_one_can_wait_until_no_connection_is_left() -> None:
    async with FakeDriver(FakeMachine()) as driver:
        await driver.wait_without_connections()
        connections = [driver.add_connection(driver.new_connection_id()) for _ in range(2)]
        async with trio.open_nursery() as nursery:
            waiting = [trio.Event(), trio.Event()]

            async def wait(done: trio.Event) -> None:
                await driver.wait_without_connections()
                done.set()

            for event in waiting:
                nursery.start_soon(wait, event)
            await settle()
            with driver.carry(connections[0]):
                pass
            await settle()
            assert not any(event.is_set() for event in waiting)
            with driver.carry(connections[1]):
                pass
            await settle()
            assert all(event.is_set() for event in waiting)


# ------------------------------------------------------------------------------------------------------ tasks, shields


async def test_cancelled_from_outside_the_body_goes_first_and_the_tasks_after_it() -> None:
    order: list[str] = []

    async def task() -> None:
        try:
            await trio.sleep_forever()
        finally:
            order.append("task")

    with trio.CancelScope() as scope:
        async with FakeDriver(FakeMachine()) as driver:
            driver.start_soon(task)
            await settle()
            scope.cancel()
            try:
                await for_ever()
            finally:
                with trio.CancelScope(shield=True):
                    await settle()
                order.append("body")
    assert order == ["body", "task"]


async def test_a_task_started_while_leaving_is_cancelled_like_every_other() -> None:
    ran: list[str] = []

    async def first() -> None:
        try:
            await trio.sleep_forever()
        finally:
            driver.start_soon(second)

    async def second() -> None:
        ran.append("second")
        await trio.sleep_forever()

    with trio.fail_after(5):
        async with FakeDriver(FakeMachine()) as driver:
            driver.start_soon(first)
            await settle()
    assert ran == ["second"]


async def test_leaving_drops_every_connection_and_reports_none_of_them() -> None:
    machine = FakeMachine()
    async with FakeDriver(machine) as driver:
        connection = driver.add_connection(driver.new_connection_id())
        connection.wanted = trio.Event()

        async def carry() -> None:
            with driver.carry(connection), trio.CancelScope(shield=True):
                await connection.wanted.wait()

        driver.start_soon(carry)
        await settle()
    assert machine.heard == []


async def test_a_connection_is_found_until_its_transport_is_done() -> None:
    async with FakeDriver(FakeMachine()) as driver:
        connection = driver.add_connection(driver.new_connection_id())
        assert driver.connection(connection.connection_id) is connection
        with driver.carry(connection):
            pass
        assert driver.connection(connection.connection_id) is None
