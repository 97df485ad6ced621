"""What the application adds to a stream: messages, questions, the response, and the back-pressure it meets."""

from __future__ import annotations

from typing import Final

from mcpstreams_sansio.ids import StreamId
from mcpstreams_sansio.server import attachments, flow, room
from mcpstreams_sansio.server.calls import BodyPolicy
from mcpstreams_sansio.server.effects import (
    AskFailed,
    AskFailure,
    Refused,
    StopReason,
)
from mcpstreams_sansio.server.gate import CreateDurable, EntriesDurable
from mcpstreams_sansio.server.inputs import AskPeer, Respond, SendMessage, WithdrawAsk
from mcpstreams_sansio.server.records import EntryKind, EntryLogged
from mcpstreams_sansio.server.registry import AskTimer, Registry
from mcpstreams_sansio.server.stream import Handler, OpenAsk, Stream, encode_entry
from mcpstreams_sansio.server.table import StreamSignal, StreamState
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Message, Notification, Request, Response
from mcpstreams_sansio.wire.methods import CANCELLED
from mcpstreams_sansio.wire.refusals import Reason, refusal
from mcpstreams_sansio.wire.streams import StreamEnd, end_notification

ASK_CAPABILITIES: Final = {
    "sampling/createMessage": "sampling",
    "elicitation/create": "elicitation",
    "roots/list": "roots",
}
"""What a client must have declared before it is asked (rule R24); other methods need nothing."""


def send_message(registry: Registry, event: SendMessage) -> None:
    """Log a notification of the application."""
    stream = _open(registry, event.stream_id, StreamSignal.MESSAGE)
    # A requester that accepts no events has no place for a notification (rule R18).
    if stream is not None and stream.policy.body is not BodyPolicy.NEVER:
        _add(registry, stream, EntryKind.NOTIFICATION, event.message, None)


def ask_peer(registry: Registry, event: AskPeer) -> None:
    """Log a question, if the client can be asked it (rule R24)."""
    stream = _open(registry, event.stream_id, StreamSignal.MESSAGE)
    if stream is None:
        registry.effects.append(AskFailed(event.stream_id, event.ask_id, AskFailure.STREAM_GONE))
        return
    needed = ASK_CAPABILITIES.get(event.method)
    unable = needed is not None and needed not in stream.peer.capabilities
    if unable or stream.policy.body is BodyPolicy.NEVER:
        registry.effects.append(AskFailed(stream.stream_id, event.ask_id, AskFailure.UNSUPPORTED))
    elif len(stream.asks) >= registry.config.max_asks:
        registry.effects.append(AskFailed(stream.stream_id, event.ask_id, AskFailure.TOO_MANY))
    else:
        _add(registry, stream, EntryKind.ASK, Request(event.ask_id, event.method, event.params), event.ask_id)


def withdraw_ask(registry: Registry, event: WithdrawAsk) -> None:
    """Expect no answer any more, and tell the client so; a question that is closed already is left alone (R24)."""
    stream = registry.streams.get(event.stream_id)
    if stream is not None and event.ask_id in stream.asks and stream.handler is not Handler.DONE:
        withdraw(registry, stream, event.ask_id)


def withdraw(registry: Registry, stream: Stream, ask_id: str) -> None:
    """Close a question and log that it is no longer wanted: it is not sent again, a late answer is ignored."""
    del stream.asks[ask_id]
    registry.drop_ask(ask_id)
    stream.step(StreamSignal.MESSAGE)
    _add(registry, stream, EntryKind.NOTIFICATION, Notification(CANCELLED, {"requestId": ask_id}), ask_id)


def close_asks(registry: Registry, stream: Stream) -> None:
    """Expect no answer to any question of a stream any more, and tell the application (rule R24)."""
    for ask_id in stream.asks:
        registry.effects.append(AskFailed(stream.stream_id, ask_id, AskFailure.STREAM_GONE))
        registry.drop_ask(ask_id)
    stream.asks.clear()


def respond(registry: Registry, event: Respond) -> None:
    """Log the response and, right behind it, `end` (rules P35, P36, Q3d)."""
    registry.end_work(event.stream_id)
    stream = _open(registry, event.stream_id, StreamSignal.RESPONSE)
    if stream is not None:
        _complete(registry, stream, event.outcome)


def _open(registry: Registry, stream_id: StreamId, signal: StreamSignal) -> Stream | None:
    stream = find_open(registry, stream_id)
    if stream is not None:
        stream.step(signal)
    return stream


def find_open(registry: Registry, stream_id: StreamId) -> Stream | None:
    """Return the stream that an order of the application is for, or refuse the order (rule R13)."""
    stream = registry.streams.get(stream_id)
    if stream is not None and stream.reason is None:
        return stream
    reason = None if stream is None else stream.reason
    registry.effects.append(Refused(stream_id, reason or Reason.STREAM_NOT_FOUND))
    return None


def _add(registry: Registry, stream: Stream, kind: EntryKind, message: Message, ask_id: str | None) -> None:
    payload = registry.encoded(stream, message)
    asked = ask_id if kind is EntryKind.ASK else None
    if not room.fits(registry, stream, len(payload)):
        if asked is not None:
            registry.effects.append(AskFailed(stream.stream_id, asked, AskFailure.STREAM_GONE))
        fail(registry, stream, Reason.LOG_FULL, StopReason.LOG_FULL)
        return
    sequence = append(registry, stream, kind, payload, ask_id)
    if asked is not None:
        expect_answer(registry, stream, asked, OpenAsk(sequence, payload))
    flow.resume_application(registry, stream)  # room may have been made for more than this entry
    flow.hold_application(registry, stream)


def expect_answer(registry: Registry, stream: Stream, ask_id: str, ask: OpenAsk) -> None:
    """Wait for the answer to a question, as long as it may take (rule R24)."""
    stream.asks[ask_id] = ask
    registry.asks[ask_id] = stream.stream_id
    registry.set_timer((AskTimer.ANSWER, ask_id), registry.config.ask_timeout)


def append(registry: Registry, stream: Stream, kind: EntryKind, payload: bytes, ask_id: str | None = None) -> int:
    """Add an entry to a stream's log; it is delivered once its record is durable. Return its number."""
    sequence = stream.log.append(kind, payload).sequence
    registry.total_bytes += len(payload)
    registry.may_yield(stream)
    if kind is not EntryKind.CREATE:
        registry.gate.record(EntryLogged(stream.stream_id, sequence, kind, payload, ask_id))
    entries = EntriesDurable(stream.stream_id, sequence)
    if registry.gate.admit(entries):
        make_durable(registry, entries)
    return sequence


def make_durable(registry: Registry, entries: EntriesDurable) -> None:
    """Let entries through the gate: whoever is attached has something to deliver (rule R9)."""
    stream = registry.streams.get(entries.stream_id)
    if stream is None or stream.state is StreamState.GONE:
        return
    stream.log.durable = entries.through
    _deliver(registry, stream)


def let_create_out(registry: Registry, create: CreateDurable) -> None:
    """Let `create` through the gate that was made again: its token is known for good (rules R3, R9)."""
    stream = registry.streams.get(create.stream_id)
    if stream is not None:
        stream.log.withheld = 0
        _deliver(registry, stream)


def _deliver(registry: Registry, stream: Stream) -> None:
    if stream.attachment is not None:
        registry.connections[stream.attachment.connection_id].make_ready(stream.stream_id)
        registry.touch(stream.attachment.connection_id)


def fail(registry: Registry, stream: Stream, reason: Reason, stop: StopReason) -> None:
    """Give up a stream whose log cannot take what it has to: the client gets what there is, then an error.

    Args:
        registry: Where it is found.
        stream: Its log holds more than it may, or nothing that comes will be durable (rules R10, R9).
        reason: What the client is told.
        stop: What the application is told, if it is still at it.
    """
    if stream.handler in (Handler.RUNNING, Handler.HELD):
        registry.stop_work(stream.stream_id, stop)
    if not stream.complete:
        stream.step(StreamSignal.RESPONSE)
    stream.reason = reason
    _complete(registry, stream, refusal(stream.request_id, reason))


def _complete(registry: Registry, stream: Stream, outcome: Response | ErrorResponse) -> None:
    close_asks(registry, stream)
    payload = registry.encoded(stream, outcome)
    if stream.reason is None and not room.fits(registry, stream, len(payload)):
        fail(registry, stream, Reason.LOG_FULL, StopReason.LOG_FULL)
        return
    stream.handler = Handler.DONE
    failed = isinstance(outcome, ErrorResponse) or outcome.result.get("isError") is True
    append(registry, stream, EntryKind.FAILURE if failed else EntryKind.RESPONSE, payload)
    if stream.announced:
        append_end(registry, stream)
    if stream.attachment is None:
        attachments.rearm(registry, stream)


def append_end(registry: Registry, stream: Stream) -> None:
    """Log `end` behind the response of an announced stream (rules P35, Q3d)."""
    last = end_notification(StreamEnd(stream.stream_id))
    append(registry, stream, EntryKind.END, encode_entry(stream, last, stream.log.produced + 1))
