"""Who delivers a stream: attaching a connection, and the five ways in which that ends (rule R15)."""

from __future__ import annotations

from collections import deque
from enum import Enum, unique
from typing import assert_never

import attrs

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.ids import RequestId
from mcpstreams_sansio.server import flow
from mcpstreams_sansio.server.calls import BodyPolicy, StreamKind
from mcpstreams_sansio.server.effects import BeginBody, BodyKind, StreamAttached, StreamDetached
from mcpstreams_sansio.server.outbox import Connection, Phase
from mcpstreams_sansio.server.registry import ConnectionTimer, Registry, StreamTimer
from mcpstreams_sansio.server.stream import (
    Attachment,
    ByCursor,
    ByResume,
    Handler,
    Origin,
    Stream,
    attachment_of,
)
from mcpstreams_sansio.server.table import StreamSignal
from mcpstreams_sansio.wire.jsonrpc import Response, encode_message
from mcpstreams_sansio.wire.refusals import Reason, refusal


@unique
class Ending(Enum):
    """How an attachment ended."""

    FINISHED = "finished"
    """The last entry was written."""
    RELEASED = "released"
    """The server let go; the client comes back by itself."""
    SUPERSEDED = "superseded"
    """A newer connection took over."""
    CANCELLED = "cancelled"
    """The client cancelled the resume, not the call (rule Q2f)."""
    LOST = "lost"
    """The connection is gone: nobody can be told anything."""


def attach(registry: Registry, stream: Stream, path: Connection, origin: Origin, position: int) -> None:
    """Deliver a stream on this connection from now on, from `position` onwards; whoever did so before is fenced.

    Questions that nobody answered and that the client already has come first, as repeats (rules Q4d, R24); a plain
    cursor gets only what follows it.
    """
    if stream.attachment is not None:
        if isinstance(origin, ByResume) and path.connection_id == stream.attachment.connection_id:
            origin = attrs.evolve(origin, owes_call=stream.attachment.origin.owes_call)
        end(registry, stream, Ending.SUPERSEDED, successor=path)
    stream.step(StreamSignal.ATTACH)
    repeats = (
        deque[str]()
        if isinstance(origin, ByCursor)
        else deque(ask_id for ask_id, ask in stream.asks.items() if ask.sequence <= position)
    )
    hold(registry, stream, path, Attachment(path.connection_id, origin, position, repeats))
    registry.deadlines.clear((StreamTimer.ABANDON, stream.stream_id))
    if path.framing is Framing.HTTP:
        path.body = BodyPolicy.AT_ONCE
        if stream.handler is not Handler.WAITING:
            decide(registry, path)


def hold(registry: Registry, stream: Stream, path: Connection, attachment: Attachment) -> None:
    """Tie a stream and a connection together, in every table."""
    stream.attachment = attachment
    registry.bind(stream, path.scope)
    path.attached[stream.stream_id] = None
    path.make_ready(stream.stream_id)
    if isinstance(attachment.origin, ByResume) and attachment.origin.request_id is not None:
        registry.resumes[path.scope, attachment.origin.request_id] = stream.stream_id
    if (
        registry.config.keepalive is not None
        and (ConnectionTimer.KEEPALIVE, path.connection_id) not in registry.deadlines
    ):
        registry.set_timer((ConnectionTimer.KEEPALIVE, path.connection_id), registry.config.keepalive)
    registry.touch(path.connection_id)
    registry.effects.append(StreamAttached(stream.stream_id, path.connection_id))
    flow.resume_application(registry, stream)


def decide(registry: Registry, path: Connection) -> None:
    """Decide what the body of an HTTP exchange is, or when (rule R18)."""
    match path.body:
        case BodyPolicy.AT_ONCE:
            open_events(registry, path)
        case BodyPolicy.WHEN_NEEDED:
            registry.set_timer((ConnectionTimer.DECIDE, path.connection_id), registry.config.sse_after)
        case BodyPolicy.NEVER:
            pass
        case never:
            assert_never(never)


def open_events(registry: Registry, path: Connection) -> None:
    """Make the body of an HTTP exchange an event stream; it begins by saying where it stands (rules R1, H13)."""
    if path.phase is not Phase.UNDECIDED or path.body is BodyPolicy.NEVER:
        return
    path.phase = Phase.EVENTS
    registry.effects.append(BeginBody(path.connection_id, BodyKind.EVENTS))
    registry.deadlines.clear((ConnectionTimer.DECIDE, path.connection_id))
    # Something goes out with the head in any case, so that no proxy holds it back (cases R1, R3).
    stream = registry.streams[path.first_attached()] if path.attached else None
    if path.primes and stream is not None and stream.resumable:
        path.prime(stream.stream_id, attachment_of(stream).position)
    else:
        path.keep_alive()
    registry.touch(path.connection_id)


def end(registry: Registry, stream: Stream, ending: Ending, successor: Connection | None = None) -> None:
    """Untie a stream from its connection, and tell the client there what it has to know.

    The result of a resume is the tail of the attachment: it queues up behind the last entry (rule R15).
    """
    attachment, unanswered = attachment_of(stream), stream.unanswered
    path = registry.connections[attachment.connection_id]
    untie(registry, stream)
    if ending is Ending.LOST:
        return
    registry.touch(path.connection_id)
    resume_id = attachment.origin.request_id if isinstance(attachment.origin, ByResume) else None
    match ending:
        case Ending.SUPERSEDED:
            moved = attachment.origin.owes_call and successor is not path
            _fence(registry, path, stream, [resume_id, stream.request_id if moved and unanswered else None])
            # On the same connection the call's own answer still comes this way, and what was answered is not again.
            if moved and path.framing is not Framing.HTTP:
                registry.forget_origin(stream, path.scope)
        case Ending.RELEASED if path.framing is Framing.HTTP:
            path.ask_to_retry(registry.config.retry_ms)
        case Ending.FINISHED | Ending.RELEASED if resume_id is not None:
            path.reply(encode_message(Response(resume_id, {})))
        case _:
            pass
    if path.framing is Framing.HTTP:
        end_body(registry, path)


def untie(registry: Registry, stream: Stream) -> None:
    """Take a stream and its connection apart, in every table, and tell nobody."""
    attachment = attachment_of(stream)
    stream.attachment = None
    registry.may_yield(stream)
    path = registry.connections[attachment.connection_id]
    path.forget(stream.stream_id)
    if isinstance(attachment.origin, ByResume) and attachment.origin.request_id is not None:
        registry.resumes.pop((path.scope, attachment.origin.request_id), None)


def _fence(registry: Registry, path: Connection, stream: Stream, waiting: list[RequestId | None]) -> None:
    """Tell a client that another connection has its stream now (rule R14).

    On a connection of its own there is no need for words to a client without attempt numbers: it is asked to come
    back, and not too soon. One with attempt numbers would take the stream over again, and the other one from it, in
    turns; so it is told by a refusal of whatever waits there, as on a connection that carries everything.
    """
    if path.framing is Framing.HTTP and not stream.peer.marker:
        path.ask_to_retry(registry.config.takeover_retry_ms)
        return
    for request_id in waiting:
        if request_id is not None:
            path.reply(encode_message(refusal(request_id, Reason.SUPERSEDED)))


def end_body(registry: Registry, path: Connection) -> None:
    """End the body of an HTTP exchange behind what waits: an event stream, or nothing for who accepts no events."""
    registry.touch(path.connection_id)
    if path.phase is Phase.UNDECIDED and path.has_replies:
        return  # the one message that there is will be the body
    open_events(registry, path)
    if path.phase is Phase.UNDECIDED:
        path.phase = Phase.ACCEPTED
    else:
        path.end()


def await_client(registry: Registry, stream: Stream) -> None:
    """Start the time within which the client has to come back, or to ask (rules P32, P33, Q7a, Q7e)."""
    registry.effects.append(StreamDetached(stream.stream_id))
    flow.resume_application(registry, stream)
    rearm(registry, stream)


def rearm(registry: Registry, stream: Stream) -> None:
    """Start the abandonment timer anew at its full length: never while attached, never by a failure (rule Q7b)."""
    if stream.attachment is not None:
        return
    if stream.policy.kind is StreamKind.SILENT:
        registry.set_timer((StreamTimer.ABANDON, stream.stream_id), registry.config.silent_retention)
    else:
        longest = stream.policy.interval.max
        registry.set_timer(
            (StreamTimer.ABANDON, stream.stream_id), registry.config.max_interval if longest is None else longest
        )
