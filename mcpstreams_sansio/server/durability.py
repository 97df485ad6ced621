"""What follows when the log reports: the gate opens for what is durable, or closes for good (rule R9)."""

from __future__ import annotations

from typing import assert_never

from mcpstreams_sansio.server import lifecycle, paths, production
from mcpstreams_sansio.server.effects import AskAnswered, AskFailed, AskFailure, CancelCall, CancelReason, StartCall
from mcpstreams_sansio.server.gate import CreateDurable, EntriesDurable, GateState, ReplyAllowed
from mcpstreams_sansio.server.inputs import LogFailed, LogWritten
from mcpstreams_sansio.server.registry import Registry
from mcpstreams_sansio.server.stream import Handler
from mcpstreams_sansio.server.table import StreamState
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
                paths.allow_reply(registry, gated)
            case StartCall():
                lifecycle.start(registry, gated)
            case AskAnswered():
                _hand_over(registry, gated)
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
    """Accept nothing more. What is durable stays readable; what waited for the log never happens."""
    if registry.gate.state is not GateState.GUARDING:
        return
    registry.gate.fail()
    registry.refusing = Reason.LOG_FAILED
    for stream in registry.streams.values():
        if stream.state is StreamState.GONE:
            continue
        stream.reason = stream.reason or Reason.LOG_FAILED
        if stream.handler in (Handler.RUNNING, Handler.HELD):
            registry.effects.append(CancelCall(stream.stream_id, CancelReason.LOG_FAILED))
        stream.handler = Handler.DONE
