"""What the applications of a world of bytes do, and how such a world comes to rest."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from mcpstreams_sansio.client.inputs import AnswerAsk, AttachCall, CancelCall, CloseClient, DetachCall, MakeCall
from mcpstreams_sansio.client.link import LinkState
from mcpstreams_sansio.ids import CallId, StreamId
from mcpstreams_sansio.server.inputs import AskPeer, ReleaseStream, Respond, SendMessage
from mcpstreams_sansio.testing.caller import Caller
from mcpstreams_sansio.testing.conversation import ASK, METHOD
from mcpstreams_sansio.testing.work import Work, WorkState
from mcpstreams_sansio.wire.jsonrpc import JSONValue
from tests.model.byte_people import People
from tests.model.byte_wires import End
from tests.model.byte_world import ByteWorld

WHOLE: Final = 2**40
"""More bytes than are ever under way."""
STEPS_TO_SETTLE: Final = 5_000
"""More than any world of a walk needs."""

CallerDoes: TypeAlias = Callable[[ByteWorld, CallId, JSONValue], None]
WorkDoes: TypeAlias = Callable[[ByteWorld, StreamId, JSONValue], None]

# ------------------------------------------------------------------------------------------------------------- callers


def call(world: ByteWorld, content: JSONValue) -> None:
    """Somebody makes a call."""
    call_id = world.fresh_call()
    world.tell_client(MakeCall(call_id, METHOD, world.people.call(call_id, content), world.entropy()))


def answer(world: ByteWorld, call_id: CallId, content: JSONValue) -> None:
    """A caller answers its oldest question."""
    ask_id, world.people.callers[call_id] = world.people.callers[call_id].answer()
    world.tell_client(AnswerAsk(call_id, ask_id, world.people.answer(ask_id, content)))


def answer_loose(world: ByteWorld, content: JSONValue) -> None:
    """The oldest question that belongs to no call is answered, for whichever it is."""
    ask_id = world.people.loose.pop(0)
    world.tell_client(AnswerAsk(None, ask_id, world.people.answer(ask_id, content)))


def cancel(world: ByteWorld, call_id: CallId, _: JSONValue) -> None:
    """A caller no longer wants the result."""
    world.people.callers[call_id] = world.people.callers[call_id].cancel()
    world.tell_client(CancelCall(call_id))


def detach(world: ByteWorld, call_id: CallId, _: JSONValue) -> None:
    """A caller lets go of its call, and so of the connection that brought it."""
    world.broken = True
    world.tell_client(DetachCall(call_id))


def attach(world: ByteWorld, call_id: CallId, _: JSONValue) -> None:
    """A caller goes on with a call that it has let go, under another id."""
    saved, caller = world.people.callers.pop(call_id).go_on()
    call_id = world.fresh_call()
    world.people.callers[call_id] = caller
    world.tell_client(AttachCall(call_id, saved, world.entropy()))


def take(world: ByteWorld, call_id: CallId, _: JSONValue) -> None:
    """A caller comes back for more."""
    world.take(call_id)


def _wants_more(_: People, caller: Caller) -> bool:
    return caller.outcome is None and caller.saved is None and not caller.cancelled


CALLER_DOES: Final[Mapping[CallerDoes, Callable[[People, Caller], bool]]] = {
    answer: lambda _, caller: bool(caller.unanswered),
    take: lambda _, caller: caller.dawdles,
    cancel: _wants_more,
    # Only where it can tell afterwards what it has missed.
    detach: lambda people, caller: _wants_more(people, caller) and not people.guarantee.may_repeat,
    attach: lambda _, caller: caller.saved is not None,
}
"""What a caller can do, and when."""

# --------------------------------------------------------------------------------------------------------------- works


def send(world: ByteWorld, stream_id: StreamId, content: JSONValue) -> None:
    """Work sends a message."""
    world.tell_server(SendMessage(stream_id, world.people.send(stream_id, content)))


def ask(world: ByteWorld, stream_id: StreamId, content: JSONValue) -> None:
    """Work asks, and waits."""
    ask_id = f"ask-{len(world.people.asked)}-{'x' * 24}"
    world.tell_server(AskPeer(stream_id, ask_id, ASK, world.people.ask(stream_id, ask_id, content)))


def succeed(world: ByteWorld, stream_id: StreamId, content: JSONValue) -> None:
    """Work answers its call."""
    world.tell_server(Respond(stream_id, world.people.succeed(stream_id, content)))


def fail(world: ByteWorld, stream_id: StreamId, content: JSONValue) -> None:
    """Work answers its call with an error."""
    world.tell_server(Respond(stream_id, world.people.fail(stream_id, content)))


def release(world: ByteWorld, stream_id: StreamId, _: JSONValue) -> None:
    """Work lets go of the connection, not of the stream."""
    world.tell_server(ReleaseStream(stream_id))


def runs(work: Work) -> bool:
    """Say whether work waits for nothing."""
    return work.state is WorkState.RUNNING


WORK_DOES: Final[Mapping[WorkDoes, Callable[[Work], bool]]] = {
    send: runs,
    ask: runs,
    succeed: runs,
    fail: runs,
    release: lambda work: work.state is not WorkState.STOPPED,
}
"""What the work on a call can do, and when."""

# ---------------------------------------------------------------------------------------------------------------- rest


def is_under_way(world: ByteWorld) -> bool:
    """Say whether a machine is still to hear something of the other one."""
    return any(wire.brings_up or wire.brings_down for wire in world.wires)


def trickle(world: ByteWorld, sizes: Sequence[int], pieces: int) -> None:
    """Carry over what is under way in so many small pieces, on each wire in both directions, of these sizes in turn."""
    for size in itertools.islice(itertools.cycle(sizes), pieces):
        for wire in list(world.wires):
            if wire.brings_up:
                world.bring_up(wire, size)
            if wire.brings_down:
                world.bring_down(wire, size)


def carry(world: ByteWorld) -> bool:
    """Carry over everything that is under way, and all that this leads to; say whether there was anything."""
    carried = False
    for _ in range(STEPS_TO_SETTLE):
        if world.batches:
            world.log()
        elif up := next((wire for wire in world.wires if wire.brings_up), None):
            world.bring_up(up, WHOLE)
        elif down := next((wire for wire in world.wires if wire.brings_down), None):
            world.bring_down(down, WHOLE)
        else:
            return carried
        carried = True
    raise AssertionError(f"something is under way for ever: {world.wires}")


def finish_all(world: ByteWorld) -> None:
    """Let everybody do what is left to be done."""
    people = world.people
    for does in (attach, take, answer):
        for call_id, caller in list(people.callers.items()):
            if CALLER_DOES[does](people, caller):
                does(world, call_id, None)
    while people.loose:
        answer_loose(world, None)
    for stream_id, work in list(people.works.items()):
        if runs(work):
            succeed(world, stream_id, None)


def settle(world: ByteWorld) -> None:
    """Let nothing fail any more: every caller has its outcome, and both machines let go of everything.

    Raises:
        AssertionError: They do not.
    """
    for wire in world.wires:
        for pipe in (wire.up, wire.down):
            if pipe.end is End.SILENT:
                pipe.end = End.BROKEN
    run_until(world, lambda: has_settled(world))
    world.tell_client(CloseClient())
    run_until(world, lambda: world.closed and not world.wires)
    run_until(world, lambda: world.next_wait() is None)
    check_empty(world)


def run_until(world: ByteWorld, done: Callable[[], bool]) -> None:
    """Carry on, and let time pass where nothing else happens."""
    for _ in range(STEPS_TO_SETTLE):
        finish_all(world)
        carried = carry(world)
        if done():
            return
        if not carried:
            wait = world.next_wait()
            assert wait is not None, f"nothing happens any more: {world.people.callers} {world.wires}"
            world.wait(wait)
            world.wake()
    raise AssertionError(f"not settled: {world.people.callers} {world.people.works}")


def has_settled(world: ByteWorld) -> bool:
    """Say whether every caller has its outcome, and nothing of a call is left on either side."""
    people = world.people
    return (
        all(caller.outcome is not None for caller in people.callers.values())
        and all(work.over for work in people.works.values())
        and world.client._streams.open_calls == 0
        and world.server._streams.alive == 0
    )


def check_empty(world: ByteWorld) -> None:
    """Check that a client that was closed has left nothing behind, on either side."""
    server, registry = world.server, world.server._streams._registry
    assert world.client.link_state is LinkState.CLOSED
    assert world.client._streams._ledger.calls == {}
    assert (registry.streams, registry.connections, registry.asks) == ({}, {}, {})
    assert registry.total_bytes == 0
    assert (server._peers, server._http.exchanges, len(server._http.sessions)) == ({}, {}, 0)
