"""What follows when the log reports: the gate opens for what is durable, or closes for good (rule R9)."""

from __future__ import annotations

from typing import assert_never

from mcpstreams_sansio.server import lifecycle, production, replies, room
from mcpstreams_sansio.server.effects import AskAnswered, AskFailed, AskFailure, StartCall, StopReason, StreamGone
from mcpstreams_sansio.server.gate import CreateDurable, EntriesDurable, Gated, GateState, ReplyAllowed
from mcpstreams_sansio.server.inputs import LogFailed, LogWritten
from mcpstreams_sansio.server.registry import Registry
from mcpstreams_sansio.server.stream import Handler, Stream
from mcpstreams_sansio.server.table import StreamSignal, StreamState
from mcpstreams_sansio.wire.refusals import Reason


def written(registry: Registry, _: LogWritten) -> None:
    """Let through what waited for the batch that is durable now, in its order."""
    for gated in registry.gate.written():
        match gated:
            case EntriesDurable():
                production.make_durable(registry, gated)
            case CreateDurable():
                production.let_create_out(registry, gated)
            case ReplyAllowed():
                replies.let_out(registry, gated)
            case StartCall():
                lifecycle.start(registry, gated)
            case AskAnswered():
                _hand_over(registry, gated)
            case StreamGone():
                registry.effects.append(gated)
            case _:
                assert_never(gated)


def _hand_over(registry: Registry, answered: AskAnswered) -> None:
    """Hand an answer to the application, unless it does not wait for it any more."""
    stream = registry.streams.get(answered.stream_id)
    if stream is None or stream.handler is Handler.DONE:
        failure = AskFailed(answered.stream_id, answered.ask_id, AskFailure.STREAM_GONE)
        registry.effects.append(failure)
    else:
        registry.effects.append(answered)


def failed(registry: Registry, _: LogFailed) -> None:
    """Own up to a lost log: what was not durable never happened, what is stays readable, and nobody waits.

    A stream that is not complete will never be: its client gets what there is, then the reason. That much is said by
    this process only; another one that recovers the log knows no more than is durable.
    """
    if registry.gate.state is not GateState.GUARDING:
        return
    disappointed = registry.gate.fail()
    for stream in tuple(registry.streams.values()):
        if stream.state is not StreamState.GONE:
            _fall_back(registry, stream)
    for gated in disappointed:
        _disappoint(registry, gated)


def _disappoint(registry: Registry, gated: Gated) -> None:
    """Tell whoever waited for a record that it will never be durable."""
    match gated:
        case ReplyAllowed():
            replies.withdraw(registry, gated)
        case AskAnswered():
            registry.effects.append(AskFailed(gated.stream_id, gated.ask_id, AskFailure.STREAM_GONE))
        case StreamGone():
            registry.effects.append(gated)  # for as long as this process lives, it is
        case EntriesDurable() | CreateDurable() | StartCall():
            pass  # what becomes of the stream says it all
        case _:
            assert_never(gated)


def _fall_back(registry: Registry, stream: Stream) -> None:
    """Return a stream to what is durable of it."""
    production.let_create_out(registry, CreateDurable(stream.stream_id))
    lost = room.forget_undurable(registry, stream)
    if stream.handler is Handler.WAITING:
        _turn_away(registry, stream)
    elif lost or not stream.complete:
        production.fail(registry, stream, Reason.LOG_FAILED, StopReason.LOG_FAILED)


def _turn_away(registry: Registry, stream: Stream) -> None:
    """Refuse a call after all, whose stream nobody has heard of yet."""
    stream.step(StreamSignal.CANCEL)
    if stream.attachment is not None:
        path = registry.connections[stream.attachment.connection_id]
        replies.refuse(registry, path, stream.request_id, Reason.LOG_FAILED)
    lifecycle.close(registry, stream, Reason.LOG_FAILED, None)
