"""Any stream of Trio as a connection of lines: bytes both ways, every way to end, and nothing left behind."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest
import trio
import trio.testing

from mcpstreams_sansio.connections import (
    BytesReceived,
    ConnectionLost,
    DropConnection,
    DropReason,
    EndOfFile,
    EndWriting,
    Write,
    Written,
)
from tests.trio.machines import FakeDriver, FakeMachine, cancel_at_each_step, for_ever, settle
from trio_bindings.byte_stream import run_byte_stream
from trio_bindings.closing import LINGER_SECONDS
from trio_bindings.driver import Connection


class Ours:
    """A fake machine on one end of a stream, and what a test needs to steer it."""

    def __init__(self, machine: FakeMachine, driver: FakeDriver, connection: Connection) -> None:
        self.machine = machine
        self.connection = connection
        self._driver = driver

    def do(self, *effects: object) -> None:
        self.machine.script = lambda _: effects
        self._driver.submit("do")
        self.machine.script = lambda _: ()

    def write(self, *chunks: bytes) -> None:
        self.do(Write(self.connection.connection_id, chunks))

    def end(self) -> None:
        self.do(EndWriting(self.connection.connection_id))

    def drop(self) -> None:
        self.do(DropConnection(self.connection.connection_id, DropReason.STALLED))

    def bytes_heard(self) -> bytes:
        return b"".join(event.data for event in self.machine.all_heard(BytesReceived))


async def start(driver: FakeDriver, machine: FakeMachine, stream: trio.abc.Stream) -> Ours:
    connection = driver.add_connection(driver.new_connection_id())

    async def carry() -> None:
        with driver.carry(connection):
            await run_byte_stream(connection, stream)

    driver.nursery.start_soon(carry)
    await settle()
    return Ours(machine, driver, connection)


@contextlib.asynccontextmanager
async def two_ends(
    stream: trio.abc.Stream | None = None, peer: trio.abc.Stream | None = None
) -> AsyncIterator[tuple[Ours, trio.abc.Stream]]:
    """Carry our end of a stream with a fake machine, beside the peer's bare end."""
    if stream is None or peer is None:
        stream, peer = trio.testing.memory_stream_pair()
    try:
        async with FakeDriver(machine := FakeMachine()) as driver:
            yield await start(driver, machine, stream), peer
    finally:
        await trio.aclose_forcefully(peer)


async def receive_all(stream: trio.abc.ReceiveStream) -> bytes:
    received = bytearray()
    with trio.fail_after(5):
        while data := await stream.receive_some():
            received += data
    return bytes(received)


async def test_what_the_peer_sends_reaches_the_machine_whole_and_in_order() -> None:
    async with two_ends() as (ours, peer):
        for data in (b"{", b'"a":1', b"}\n"):
            await peer.send_all(data)
        await settle()
        assert ours.bytes_heard() == b'{"a":1}\n'


@pytest.mark.rule("R11")
async def test_a_write_goes_out_as_one_piece_and_is_then_reported() -> None:
    async with two_ends() as (ours, peer):
        ours.write(b"one\n", b"two\n")
        assert ours.machine.all_heard(Written) == []
        await ours.machine.hears(Written)
        assert await peer.receive_some() == b"one\ntwo\n"


@pytest.mark.rule("R11")
async def test_a_peer_that_reads_nothing_holds_back_the_report_and_nothing_else() -> None:
    async with two_ends(*trio.testing.lockstep_stream_pair()) as (ours, peer):
        ours.write(b"x" * 100)
        await settle()
        assert ours.machine.all_heard(Written) == []
        with trio.fail_after(5):
            await peer.send_all(b"ping\n")
        await settle()
        assert ours.bytes_heard() == b"ping\n"
        assert await peer.receive_some(1_000) == b"x" * 100
        await ours.machine.hears(Written)


async def test_the_end_of_the_peers_bytes_is_no_loss() -> None:
    async with two_ends() as (ours, peer):
        assert isinstance(peer, trio.StapledStream)
        await peer.send_eof()
        await ours.machine.hears(EndOfFile)
        ours.write(b"still answering\n")
        await ours.machine.hears(Written)
        assert ours.machine.all_heard(ConnectionLost) == []
        assert await peer.receive_some() == b"still answering\n"


async def test_a_stream_that_breaks_while_reading_is_a_loss() -> None:
    async with two_ends(*trio.testing.lockstep_stream_pair()) as (ours, peer):
        stream = peer
        assert isinstance(stream, trio.StapledStream)
        await trio.aclose_forcefully(stream.receive_stream)
        ours.write(b"x")
        await ours.machine.hears(ConnectionLost)
        assert ours.machine.all_heard(Written) == []


class Broken(trio.abc.Stream):
    """A stream that fails in a given way."""

    def __init__(self, error: type[Exception], sends: bool) -> None:
        self.error = error
        self.sends = sends
        self.closed = False

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await trio.lowlevel.checkpoint()
        if self.sends:
            await for_ever()
        raise self.error

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        await trio.lowlevel.checkpoint()
        raise self.error

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        self.closed = True
        await trio.lowlevel.checkpoint()


@pytest.mark.parametrize("error", [trio.BrokenResourceError, trio.ClosedResourceError])
@pytest.mark.parametrize("sends", [True, False], ids=["while sending", "while receiving"])
async def test_each_failure_of_a_stream_is_one_loss_and_no_exception(error: type[Exception], sends: bool) -> None:
    stream = Broken(error, sends)
    async with two_ends(stream, trio.testing.memory_stream_pair()[0]) as (ours, _):
        if sends:
            ours.write(b"x")
        await ours.machine.hears(ConnectionLost)
        await settle()
        assert stream.closed
    assert len(ours.machine.all_heard(ConnectionLost)) == 1


async def test_a_dropped_connection_is_closed_although_a_write_is_stuck() -> None:
    async with two_ends(*trio.testing.lockstep_stream_pair()) as (ours, peer):
        ours.write(b"stuck")
        await settle()
        ours.drop()
        await receive_all(peer)
        assert ours.machine.heard == ["do", "do"]


async def test_ending_lets_the_last_write_through_first() -> None:
    async with two_ends() as (ours, peer):
        identity = ours.connection.connection_id
        ours.do(Write(identity, (b"last\n",)), EndWriting(identity))
        assert await receive_all(peer) == b"last\n"


async def test_after_ending_the_stream_stays_until_the_peer_closes_too() -> None:
    async with two_ends() as (ours, peer):
        ours.end()
        assert await receive_all(peer) == b""
        await peer.send_all(b"still talking\n")
        await settle()
        assert ours.machine.all_heard(ConnectionLost) == []
        await peer.aclose()
        await ours.machine.hears(ConnectionLost)
        assert ours.bytes_heard() == b""


async def test_a_peer_that_does_not_close_is_not_waited_for_long(autojump_clock: trio.testing.MockClock) -> None:
    async with two_ends() as (ours, _):
        start = trio.current_time()
        ours.end()
        await ours.machine.hears(ConnectionLost)
        assert trio.current_time() - start == pytest.approx(LINGER_SECONDS)


class SilentlyClosing(Broken):
    """A stream that cannot be closed in one direction, and whose `aclose` takes its time."""

    async def receive_some(self, max_bytes: int | None = None) -> bytes:
        await for_ever()
        return b""

    async def aclose(self) -> None:
        try:
            await trio.sleep(100)
        finally:
            self.closed = True


async def test_a_stream_without_half_close_is_closed_whole_within_a_bound(
    autojump_clock: trio.testing.MockClock,
) -> None:
    stream = SilentlyClosing(trio.BrokenResourceError, sends=False)
    async with two_ends(stream, trio.testing.memory_stream_pair()[0]) as (ours, _):
        start = trio.current_time()
        ours.end()
        await ours.machine.hears(ConnectionLost)
        assert trio.current_time() - start <= 2 * LINGER_SECONDS
        assert stream.closed


async def test_leaving_the_driver_closes_every_stream() -> None:
    async with two_ends() as (_, peer):
        pass
    assert isinstance(peer, trio.StapledStream)
    with pytest.raises(trio.ClosedResourceError):
        await peer.send_all(b"x")


async def test_real_sockets_carry_megabytes_each_way() -> None:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listeners[0], FakeDriver(machine := FakeMachine()) as driver:
        peer = await trio.open_tcp_stream(*listeners[0].socket.getsockname())
        ours = await start(driver, machine, await listeners[0].accept())
        data = bytes(range(256)) * 8_192
        async with peer, trio.open_nursery() as nursery:
            nursery.start_soon(peer.send_all, data)
            ours.write(data)
            received = bytearray()
            with trio.fail_after(10):
                while len(received) < len(data):
                    received += await peer.receive_some()
        await machine.hears(EndOfFile)
        assert received == data
        assert ours.bytes_heard() == data


async def test_a_reset_socket_is_a_loss() -> None:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with listeners[0], FakeDriver(machine := FakeMachine()) as driver:
        peer = await trio.open_tcp_stream(*listeners[0].socket.getsockname())
        await start(driver, machine, await listeners[0].accept())
        peer.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        await peer.aclose()
        await machine.hears(ConnectionLost)
        assert machine.all_heard(EndOfFile) == []


async def test_cancelled_at_any_step_it_closes_its_stream_and_reports_one_loss() -> None:
    async def scenario() -> None:
        stream, peer = trio.testing.memory_stream_pair()
        heard: list[object] = []
        try:
            async with two_ends(stream, peer) as (ours, _):
                heard = ours.machine.heard
                await peer.send_all(b"hello\n")
                await ours.machine.hears(BytesReceived)
                ours.write(b"answer\n")
                await ours.machine.hears(Written)
                ours.end()
                await receive_all(peer)
                await peer.aclose()
                await ours.machine.hears(ConnectionLost)
        finally:
            assert len([event for event in heard if isinstance(event, ConnectionLost)]) <= 1
            with trio.CancelScope(shield=True), pytest.raises(trio.ClosedResourceError):
                await stream.send_all(b"x")

    assert await cancel_at_each_step(scenario) > 10
