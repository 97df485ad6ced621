"""How a stream begins, loses its client, and ends: what follows a signal of the table."""

from __future__ import annotations

import attrs

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.ids import Digest, RequestId, Secret
from mcpstreams_sansio.server import attachments, flow, production, replies, room
from mcpstreams_sansio.server.attachments import Ending
from mcpstreams_sansio.server.calls import BodyPolicy, StreamKind
from mcpstreams_sansio.server.effects import SendMore, StartCall, StopReason, StreamGone
from mcpstreams_sansio.server.gate import CreateDurable
from mcpstreams_sansio.server.inputs import CallReceived, OpenStream
from mcpstreams_sansio.server.keys import KeyEntry
from mcpstreams_sansio.server.outbox import Connection, Farewell
from mcpstreams_sansio.server.records import (
    EntryKind,
    StreamAnnounced,
    StreamClosed,
    StreamConfirmed,
    StreamOpened,
    Tags,
    TokenAdded,
)
from mcpstreams_sansio.server.registry import Registry
from mcpstreams_sansio.server.stream import (
    Attachment,
    ByCall,
    ByResume,
    Handler,
    Stream,
    attachment_of,
    encode_entry,
    tags_for,
)
from mcpstreams_sansio.server.table import StreamSignal, StreamState
from mcpstreams_sansio.wire.jsonrpc import Response, encode_message
from mcpstreams_sansio.wire.refusals import Reason
from mcpstreams_sansio.wire.revisions import AfterLoss
from mcpstreams_sansio.wire.streams import StreamEnd, end_notification


def open_stream(
    registry: Registry, path: Connection, call: CallReceived, kind: StreamKind, key_digest: Digest | None
) -> None:
    """Open the stream of a call that has just arrived; its handler starts once the record is durable (R9, R21.1).

    Args:
        registry: Where the stream will be found.
        path: The connection on which the call came: the stream's first attachment (rule Q6c).
        call: The request and everything decided about it.
        kind: Its policy's kind, or `FLEETING` where there is no room for more (rule R10).
        key_digest: Under what a re-send of the call will be found.
    """
    config = registry.config
    stream = Stream(
        call.stream_id,
        call.request.id,
        call.peer,
        attrs.evolve(call.policy, kind=kind),
        tags_for(call.peer) if kind is StreamKind.ANNOUNCED else Tags.NONE,
        path.principal,
        path.scope,
        path.scope,
        path.owner,
        key_digest=key_digest,
    )
    registry.add(stream)
    if call.attempt is not None:
        stream.note_attempt(call.attempt.instance, call.attempt.number, config.max_instances)
    if key_digest is not None:
        registry.keys.add(key_digest, KeyEntry(stream.owner, stream.stream_id, call.digest), registry.now)
    registry.gate.record(
        StreamOpened(
            stream.stream_id,
            stream.request_id,
            call.request.method,
            stream.peer,
            stream.policy,
            stream.tags,
            stream.principal,
            stream.owner,
            call.fresh_token.digest(),
            key_digest,
            call.digest,
        )
    )
    attachments.hold(registry, stream, path, Attachment(path.connection_id, ByCall(), 0))
    if stream.announced:
        stream.tokens.append(call.fresh_token.digest())
        production.append(registry, stream, EntryKind.CREATE, registry.encoded_create(stream, call.fresh_token))
    if path.framing is Framing.HTTP:
        path.body = stream.policy.body
    started = StartCall(stream.stream_id, call.request, stream.peer, stream.resumable)
    if registry.gate.admit(started):
        start(registry, started)


def announce(registry: Registry, event: OpenStream) -> None:
    """Make an empty stream an announced one, if its requester can do anything with that (rules P4, R2, R18)."""
    stream = production.find_open(registry, event.stream_id)
    if stream is None or stream.announced or not stream.peer.streams or stream.attachment is None:
        return
    if stream.log.produced or stream.policy.body is BodyPolicy.NEVER or not registry.has_room(stream.owner, counted=1):
        return
    stream.policy = attrs.evolve(stream.policy, kind=StreamKind.ANNOUNCED, interval=event.interval)
    stream.tags = tags_for(stream.peer)
    stream.tokens.append(event.fresh_token.digest())
    registry.gate.record(StreamAnnounced(stream.stream_id, stream.policy, stream.tags, event.fresh_token.digest()))
    production.append(registry, stream, EntryKind.CREATE, registry.encoded_create(stream, event.fresh_token))


def renew_token(registry: Registry, stream: Stream, token: Secret) -> None:
    """Make `create` deliverable again for a re-sent call, if its payload is gone (rule R3)."""
    if not stream.announced or stream.log.entry(1) is not None:
        return
    stream.tokens.append(token.digest())
    del stream.tokens[: -registry.config.max_tokens]
    payload = registry.encoded_create(stream, token)
    stream.log.restore_create(payload)
    registry.total_bytes += len(payload)
    registry.may_yield(stream)
    registry.gate.record(TokenAdded(stream.stream_id, token.digest()))
    create = CreateDurable(stream.stream_id)
    if registry.gate.admit(create):
        production.let_create_out(registry, create)


def start(registry: Registry, started: StartCall) -> None:
    """Let the application begin, unless the call was cancelled meanwhile (rule R9).

    The body of an HTTP response is not decided earlier: priming tells of a stream that has to be durable (rule P10).
    """
    stream = registry.streams.get(started.stream_id)
    if stream is None or stream.handler is not Handler.WAITING:
        return
    stream.handler = Handler.RUNNING
    if stream.attachment is not None:
        attachments.decide(registry, registry.connections[stream.attachment.connection_id])
    registry.begin_work(stream)
    registry.effects.append(started)


def lose(registry: Registry, stream: Stream) -> None:
    """Act on the loss of the connection that delivered a stream (rules P8, D5, Q7c)."""
    if stream.resumable:
        stream.step(StreamSignal.LOSS)
        attachments.end(registry, stream, Ending.LOST)
        attachments.await_client(registry, stream)
        return
    stream.step(StreamSignal.FINAL_LOSS)
    attachments.end(registry, stream, Ending.LOST)
    runs_on = stream.policy.kind is StreamKind.FLEETING and stream.policy.after_loss is AfterLoss.RUN_ON
    close(registry, stream, Reason.NOT_RESUMABLE, None if runs_on else StopReason.CONNECTION_LOST)


def release(registry: Registry, stream: Stream) -> None:
    """Let go of the connection of a stream, if the client can be told to come back (rules H15, Q2c).

    A multiplexed connection on which the call itself came has no word for it: it stays attached.
    """
    attachment = stream.attachment
    if attachment is None:
        stream.step(StreamSignal.RELEASE)
        return
    path = registry.connections[attachment.connection_id]
    told = path.framing is Framing.HTTP or isinstance(attachment.origin, ByResume)
    if told and _has_way_back(stream, path):
        if path.framing is Framing.HTTP:
            attachments.open_events(registry, path)
        stream.step(StreamSignal.RELEASE)
        attachments.end(registry, stream, Ending.RELEASED)
        attachments.await_client(registry, stream)


def let_go(registry: Registry, stream: Stream) -> None:
    """Release a stream before its connection is closed, which tells the client as well as a word would."""
    release(registry, stream)
    attachment = stream.attachment
    if attachment is not None and _has_way_back(stream, registry.connections[attachment.connection_id]):
        leave(registry, stream)


def _has_way_back(stream: Stream, path: Connection) -> bool:
    """Return whether the client that a connection serves holds what brings the stream back (rules P9, H15)."""
    attachment = attachment_of(stream)
    if not stream.resumable or not isinstance(attachment.origin, ByCall):
        return stream.resumable
    if stream.announced:
        return stream.log.sent > 0
    # The cursor of priming, which an undecided exchange can still be given, or that of any entry.
    return stream.handler is not Handler.WAITING and (path.primes or attachment.position > 0)


def leave(registry: Registry, stream: Stream) -> None:
    """Detach a stream whose resume was cancelled: the call goes on, nobody is told anything (rules Q2f, R15)."""
    stream.step(StreamSignal.RELEASE)
    attachments.end(registry, stream, Ending.CANCELLED)
    attachments.await_client(registry, stream)


def finish(registry: Registry, stream: Stream) -> None:
    """Act on the last entry having been put into a write: the attachment has done its work (rule R15)."""
    if stream.resumable:
        stream.step(StreamSignal.FINISH)
        attachments.end(registry, stream, Ending.FINISHED)
        attachments.await_client(registry, stream)
        return
    stream.step(StreamSignal.FINAL_FINISH)
    attachments.end(registry, stream, Ending.FINISHED)
    close(registry, stream, Reason.FINISHED, None)


def finish_as_json(registry: Registry, stream: Stream) -> None:
    """Act on a response that is the whole body: no cursor was ever given, so nothing can bring the stream back."""
    stream.policy = attrs.evolve(stream.policy, kind=StreamKind.FLEETING)
    finish(registry, stream)


def cancel(registry: Registry, stream: Stream) -> None:
    """Stop the work of a call: no response follows, only `end` to whoever is attached (rules Q9b, R22)."""
    if stream.state is StreamState.GONE:
        stream.step(StreamSignal.CANCEL)
        return
    stream.step(StreamSignal.CANCEL)
    close(registry, stream, Reason.CANCELLED, StopReason.CANCELLED)


def expire(registry: Registry, stream: Stream) -> None:
    """Give up a stream whose client neither came back nor asked in time (rules P32, Q7d, Q7e)."""
    live = stream.state is StreamState.DETACHED
    stream.step(StreamSignal.EXPIRY)
    close(
        registry,
        stream,
        Reason.ABANDONED if live else Reason.EXPIRED,
        None if stream.policy.run_on else StopReason.ABANDONED,
    )


def evict(registry: Registry, stream: Stream) -> None:
    """Forget a completed stream whose end was sent, or may have been, since others need the room (rule R10)."""
    stream.step(StreamSignal.EVICTION)
    close(registry, stream, Reason.EXPIRED, None)


def end_with_scope(registry: Registry, stream: Stream) -> None:
    """Act on the end of the session that a stream is bound to (rule R16)."""
    if stream.announced:
        if stream.attachment is not None:
            _leave_exchange(registry, stream)
        return
    stream.step(StreamSignal.CLOSING)
    close(registry, stream, Reason.EXPIRED, StopReason.SESSION_ENDED)


def _leave_exchange(registry: Registry, stream: Stream) -> None:
    """End the exchange of an announced stream without asking the client to retry: it is detached, never cancelled."""
    path = registry.connections[attachment_of(stream).connection_id]
    lose(registry, stream)
    attachments.end_body(registry, path)


def confirm(registry: Registry, stream: Stream, through: int) -> None:
    """Act on the client having everything up to `through` (rules R5, R6, Q5b)."""
    full = stream.complete and through == stream.log.produced
    stream.step(StreamSignal.FULL_ACK if full else StreamSignal.ACK)
    if full:
        close(registry, stream, Reason.FINISHED, None)
        return
    before = stream.log.size
    if stream.log.confirm(through, registry.now):
        registry.total_bytes += stream.log.size - before
        registry.may_yield(stream)
        registry.gate.record(StreamConfirmed(stream.stream_id, through))
        room.drop_aged(registry, stream)
        flow.resume_application(registry, stream)
    attachments.rearm(registry, stream)


def close(registry: Registry, stream: Stream, reason: Reason, stop: StopReason | None) -> None:
    """Free everything of a stream that is gone, and remember why (rules Q7d, R21.3).

    Args:
        registry: Where it is found.
        stream: Its state is `GONE` already.
        reason: What a later resume or poll is answered.
        stop: Why the application's work is stopped, if it is still at it; None lets it run on.
    """
    stream.reason = reason
    registry.gate.record(StreamClosed(stream.stream_id, reason, stream.log.produced))
    if stream.attachment is not None:
        _say_goodbye(registry, stream)
    production.close_asks(registry, stream)
    if stream.handler in (Handler.RUNNING, Handler.HELD) and stop is not None:
        registry.stop_work(stream.stream_id, stop)
    elif stream.handler is Handler.HELD:
        registry.effects.append(SendMore(stream.stream_id))
    stream.handler = Handler.DONE
    if stream.key_digest is not None:
        registry.keys.close(stream.key_digest, reason)
    registry.bury(stream)
    gone = StreamGone(stream.stream_id, reason)
    if registry.gate.admit(gone):
        registry.effects.append(gone)


def _say_goodbye(registry: Registry, stream: Stream) -> None:
    attachment, unanswered = attachment_of(stream), stream.unanswered
    path = registry.connections[attachment.connection_id]
    attachments.untie(registry, stream)
    unheard = path.framing is not Framing.HTTP and attachment.position == 0
    match attachment.origin:
        case ByCall() if unanswered and unheard and stream.reason is Reason.FINISHED:
            # Another client has it all. This one has not even heard of the stream, so only an answer tells it so.
            replies.refuse(registry, path, stream.request_id, Reason.FINISHED)
            return
        case ByResume(request_id):
            goodbye = farewell(stream, request_id)
        case ByCall() if unanswered:
            goodbye = attrs.evolve(farewell(stream, None), request_id=stream.request_id)
        case _:
            goodbye = farewell(stream, None)
    if goodbye.payloads or path.framing is Framing.HTTP:
        replies.tell(registry, path, goodbye)


def farewell(stream: Stream, resume_id: RequestId | None) -> Farewell:
    """Return what is told of a stream that is over: its end, and the result of a resume (rules P17, P35, Q9a, R15).

    The end of a stream that is complete has a place of its own, and the same bytes as ever (rule R4): so whoever does
    not have all that comes before it can tell that there was more.
    """
    payloads = []
    # Nobody is told the end of what was never announced to anybody (rule P37).
    if stream.announced and stream.log.claimable:
        end = end_notification(StreamEnd(stream.stream_id))
        whole = stream.reason is Reason.FINISHED
        payloads.append(encode_entry(stream, end, stream.log.produced) if whole else encode_message(end))
    if resume_id is not None:
        payloads.append(encode_message(Response(resume_id, {})))
    return Farewell(tuple(payloads), resume_id)
