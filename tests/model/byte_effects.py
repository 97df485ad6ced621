"""What becomes of the effects of both whole machines, in a world of bytes."""

from __future__ import annotations

import functools

import attrs

from mcpstreams_sansio.client.effects import (
    AskReceived,
    AskWithdrawn,
    CallDetached,
    CallFinished,
    ClientClosed,
    ClientFailed,
    GapFound,
    ItemReceived,
    OpenConnection,
    PauseReading,
    ResumeReading,
    UnreadableReceived,
)
from mcpstreams_sansio.client.machine import ClientEffect
from mcpstreams_sansio.connections import DropConnection, DropReason, EndWriting, Write
from mcpstreams_sansio.http.messages import SendHead, SendRequest
from mcpstreams_sansio.server.effects import (
    AskAnswered,
    AskFailed,
    HoldMessages,
    Refused,
    SendMore,
    StartCall,
    StopCall,
    StreamGone,
    WriteLog,
)
from mcpstreams_sansio.server.machine import ServerEffect
from mcpstreams_sansio.testing import Violation
from mcpstreams_sansio.testing.work import WorkState
from tests.model.byte_wires import Side, exchange, multiplexed
from tests.model.byte_world import EVENTS, ByteWorld, Setting

# ------------------------------------------------------------------------------------------------------- of the client


@functools.singledispatch
def of_client(effect: ClientEffect, world: ByteWorld) -> None:
    """Do what the client wants done; what is for observers alone leads to nothing."""


@of_client.register
def _open(effect: OpenConnection, world: ByteWorld) -> None:
    world.wires.append(multiplexed(effect.connection_id, world.setting.framing))


@of_client.register
def _request(effect: SendRequest, world: ByteWorld) -> None:
    request = attrs.evolve(effect.request, body=world.known(effect.request.body))
    world.wires.append(exchange(effect.connection_id, request))


@of_client.register
def _write_up(effect: Write, world: ByteWorld) -> None:
    wire = world.of_client(effect.connection_id)
    if wire.client_writes:
        raise Violation("one write is outstanding", "the client writes before the write before is done")
    wire.client_writes = True
    world.put(wire, wire.up, effect.chunks)


@of_client.register
def _end_up(effect: EndWriting, world: ByteWorld) -> None:
    world.of_client(effect.connection_id).up.close()


@of_client.register
def _drop_up(effect: DropConnection, world: ByteWorld) -> None:
    world.broken |= effect.reason is not DropReason.FINISHED
    world.lose_for_client(world.of_client(effect.connection_id))


@of_client.register
def _pause(effect: PauseReading, world: ByteWorld) -> None:
    world.of_client(effect.connection_id).paused = True


@of_client.register
def _read_on(effect: ResumeReading, world: ByteWorld) -> None:
    world.of_client(effect.connection_id).paused = False


@of_client.register
def _item(effect: ItemReceived, world: ByteWorld) -> None:
    world.people.see(effect)


@of_client.register
def _gap(effect: GapFound, world: ByteWorld) -> None:
    callers = world.people.callers
    callers[effect.call_id] = callers[effect.call_id].miss(effect)


@of_client.register
def _ask(effect: AskReceived, world: ByteWorld) -> None:
    world.people.consider(effect)


@of_client.register
def _withdrawn(effect: AskWithdrawn, world: ByteWorld) -> None:
    people = world.people
    if effect.call_id is None:
        people.loose = [each for each in people.loose if each != effect.ask_id]
    else:
        people.callers[effect.call_id] = people.callers[effect.call_id].withdraw(effect.ask_id)


@of_client.register
def _finished(effect: CallFinished, world: ByteWorld) -> None:
    world.people.finish(effect, late=world.late, broken=world.broken)


@of_client.register
def _detached(effect: CallDetached, world: ByteWorld) -> None:
    callers = world.people.callers
    callers[effect.call_id] = callers[effect.call_id].let_go(effect.saved)


@of_client.register
def _closed(_: ClientClosed, world: ByteWorld) -> None:
    world.closed = True


@of_client.register
def _unreadable(effect: UnreadableReceived, world: ByteWorld) -> None:
    if effect.connection_id not in world.torn:
        raise Violation("what arrives is what was sent", f"the client cannot read it: {effect}")


@of_client.register
def _failed(effect: ClientFailed, world: ByteWorld) -> None:
    if not world.late:  # so late that session after session has expired
        raise Violation("an answer in the end", f"the client gives up: {effect}")


# ------------------------------------------------------------------------------------------------------- of the server


@functools.singledispatch
def of_server(effect: ServerEffect, world: ByteWorld) -> None:
    """Do what the server wants done; what is for observers alone leads to nothing."""


@of_server.register
def _head(effect: SendHead, world: ByteWorld) -> None:
    wire = world.of_server(effect.connection_id)
    wire.head, wire.events = effect, (b"content-type", EVENTS) in effect.headers


@of_server.register
def _write_down(effect: Write, world: ByteWorld) -> None:
    wire = world.of_server(effect.connection_id)
    if wire.server_writes:
        raise Violation("one write is outstanding", "the server writes before the write before is done")
    wire.server_writes = True
    world.put(wire, wire.down, effect.chunks)


@of_server.register
def _end_down(effect: EndWriting, world: ByteWorld) -> None:
    wire = world.of_server(effect.connection_id)
    wire.server = Side.FAREWELL
    wire.down.close()


@of_server.register
def _drop_down(effect: DropConnection, world: ByteWorld) -> None:
    world.broken |= effect.reason is not DropReason.FINISHED
    world.lose_for_server(world.of_server(effect.connection_id))


@of_server.register
def _log(effect: WriteLog, world: ByteWorld) -> None:
    world.batches.append(effect)


@of_server.register
def _start(effect: StartCall, world: ByteWorld) -> None:
    world.people.start(effect)


@of_server.register
def _stop(effect: StopCall | Refused, world: ByteWorld) -> None:
    work = world.people.works[effect.stream_id]
    if not work.over:
        world.people.works[effect.stream_id] = work.become(WorkState.STOPPED)


@of_server.register
def _answered(effect: AskAnswered, world: ByteWorld) -> None:
    world.people.hear_answer(effect)


@of_server.register
def _not_answered(effect: AskFailed, world: ByteWorld) -> None:
    work = world.people.works[effect.stream_id]
    if not work.over:
        world.people.works[effect.stream_id] = work.answered(effect.ask_id)


@of_server.register
def _hold(effect: HoldMessages, world: ByteWorld) -> None:
    works = world.people.works
    works[effect.stream_id] = works[effect.stream_id].hold()


@of_server.register
def _send_more(effect: SendMore, world: ByteWorld) -> None:
    works = world.people.works
    works[effect.stream_id] = works[effect.stream_id].go_on()


@of_server.register
def _gone(effect: StreamGone, world: ByteWorld) -> None:
    world.people.witness.go(effect.stream_id, effect.reason)


def world_of(setting: Setting) -> ByteWorld:
    """Return a world in which nothing has happened yet."""
    return ByteWorld(setting, of_client, of_server)
