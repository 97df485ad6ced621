"""What a poll has to say, worked out from what its server heard and wrote (rules P27-P31, Q8, R8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mcpstreams_sansio.connections import Write
from mcpstreams_sansio.server.effects import StreamsEffect
from mcpstreams_sansio.server.inputs import PollReceived
from mcpstreams_sansio.testing.frames import read_message
from mcpstreams_sansio.testing.properties import Violation
from mcpstreams_sansio.testing.state import State
from mcpstreams_sansio.testing.work import CREATE, Work
from mcpstreams_sansio.wire.jsonrpc import Response
from mcpstreams_sansio.wire.refusals import Reason
from mcpstreams_sansio.wire.streams import PollResult, read_poll_result

_EITHER: Final = frozenset({False, True})


def check_polled(state: State, event: PollReceived, effects: Iterable[StreamsEffect]) -> None:
    """Check what somebody is told at once who polls, whoever it is. What has to wait tells of an earlier moment.

    Raises:
        Violation: It is not true.
    """
    for effect in effects:
        if isinstance(effect, Write) and effect.connection_id == event.connection_id:
            messages = [read_message(data) for data in effect.chunks if data.startswith(b"{")]
            for message in messages:
                if isinstance(message, Response) and message.id == event.request_id:
                    check_poll(state, read_poll_result(message.result))


def check_poll(state: State, result: PollResult) -> None:
    """Compare what a poll says with what the work has done, and with how far its client is.

    Raises:
        Violation: It is not true; or a crash could make it untrue (rule R9).
    """
    stream_id = result.stream_id
    work = state.works.get(stream_id) or state.arrived.get(stream_id)
    if work is None or state.witness.gone.get(stream_id, Reason.FINISHED) is not Reason.FINISHED:
        raise Violation("a poll tells the truth", f"{stream_id} is not there, and a poll finds it")
    if state.left.durable and not state.disk.holds(stream_id, work.last_entry):
        raise Violation("durable before told", f"a poll tells of {stream_id} what is not durable")
    if (result.status == "completed") != work.has_answered:
        raise Violation("a poll tells the truth", f"{result.status} is told of work that is {work.state.value}")
    if result.has_request != work.asking:
        raise Violation("a poll tells the truth", "what is told of open questions is wrong")
    if result.pending_messages not in _pending(state, work):
        told = "something more" if result.pending_messages else "nothing more"
        raise Violation("a poll tells the truth", f"{told} is told to be there, and that is wrong")
    # The answer is the last thing there is: if anything waits behind it, it waits.
    if result.has_error != (work.failed and result.pending_messages):
        raise Violation("a poll tells the truth", "what is told of an error is wrong")


def _pending(state: State, work: Work) -> frozenset[bool]:
    """Return what may be said of whether anything waits but `create` and `end` (rules Q8b, Q8d, R8).

    While a connection delivers the stream, that is what was not written there; else what is not confirmed. What is
    confirmed may be there still, or not (rule R5); and where room is bounded, so may notifications (rule R10).
    """
    delivery = state.deliveries.streams.get(work.stream_id)
    if delivery is None or work.asking:
        return frozenset({work.asking})
    has = delivery.confirmed if delivery.wire is None else delivery.position
    if has is None:
        return _EITHER
    if work.last_entry <= max(has, CREATE):
        return frozenset({False})
    may_be_gone = work.last_entry <= delivery.confirmed or (state.bounds.room > 0 and not work.has_answered)
    return _EITHER if may_be_gone else frozenset({True})
