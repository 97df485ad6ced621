"""What a peer wants of streams: calls, resumes, cursors, polls, acknowledgements, answers, cancellations.

Every refusal that the protocol foresees is a reply (rule R13). What is presented to open a stream is checked in one
place, `Registry.find`, and a failure never touches a timer (rule Q7b).
"""

from __future__ import annotations

from typing import final

import attrs

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.ids import RequestId, Secret, StreamId
from mcpstreams_sansio.server import attachments, lifecycle, replies
from mcpstreams_sansio.server.calls import BodyPolicy, StreamKind
from mcpstreams_sansio.server.effects import AskAnswered
from mcpstreams_sansio.server.inputs import (
    AckReceived,
    AnswerReceived,
    CallReceived,
    CancelledReceived,
    CancelReceived,
    CursorReceived,
    PollReceived,
    ResumeReceived,
)
from mcpstreams_sansio.server.keys import KeyEntry, key_digest
from mcpstreams_sansio.server.outbox import Connection
from mcpstreams_sansio.server.records import AnswerLogged, KeyCancelled, Tags
from mcpstreams_sansio.server.registry import Registry
from mcpstreams_sansio.server.stream import ByCall, ByCursor, ByResume, Origin, Stream
from mcpstreams_sansio.server.table import StreamSignal, StreamState
from mcpstreams_sansio.wire.jsonrpc import Response
from mcpstreams_sansio.wire.marker import Attempt
from mcpstreams_sansio.wire.refusals import Reason
from mcpstreams_sansio.wire.streams import PollResult, poll_response


@final
@attrs.frozen
class Claim:
    """What a connection presents to get a stream."""

    origin: Origin
    request_id: RequestId | None
    """The request that is answered if the claim is refused."""
    after: int | None
    attempt: Attempt | None
    fresh_token: Secret | None = None
    """For `create`, if it has to be made again (rule R3)."""


def receive_call(registry: Registry, event: CallReceived) -> None:
    """Open a stream for a new call, or attach to the one that a re-sent call has already (rule R21)."""
    path = registry.connections.get(event.connection_id)
    if path is None:
        return
    digest = None if event.key is None else key_digest(event.key, path.principal)
    entry = None if digest is None else registry.keys.find(digest, registry.now)
    if entry is not None:
        _receive_again(registry, path, event, entry)
        return
    kind, reason = _admission(registry, path, event)
    if reason is None:
        lifecycle.open_stream(registry, path, event, kind, digest)
    else:
        replies.refuse(registry, path, event.request.id, reason)


def _admission(registry: Registry, path: Connection, event: CallReceived) -> tuple[StreamKind, Reason | None]:
    """Return as what kind of stream a new call is served, and why it is not."""
    # Who is sent no event stream is given nothing to come back with (rule Q13).
    wanted = StreamKind.FLEETING if event.policy.body is BodyPolicy.NEVER else event.policy.kind
    if registry.in_use(path.scope, event.request.id):
        return wanted, Reason.ID_IN_USE
    if registry.refusing is not None:
        return wanted, registry.refusing
    if not registry.has_room_for_work(path.owner):
        return wanted, Reason.TOO_MANY_STREAMS
    if event.key is not None and not _has_room_for_key(registry, path):
        return wanted, Reason.TOO_MANY_KEYS
    if wanted is StreamKind.FLEETING or registry.has_room(path.owner):
        return wanted, None
    return StreamKind.FLEETING, None if event.key is None else Reason.TOO_MANY_STREAMS


def _receive_again(registry: Registry, path: Connection, event: CallReceived, entry: KeyEntry) -> None:
    request_id = event.request.id
    if entry.call_digest is not None and entry.call_digest != event.digest:
        replies.refuse(registry, path, request_id, Reason.KEY_CONFLICT)
        return
    stream = None if entry.stream_id is None else registry.streams.get(entry.stream_id)
    if registry.in_use(path.scope, request_id, by_other_than=stream):
        # Two answers under one id would come this way, and a cancellation would hit the wrong one.
        replies.refuse(registry, path, request_id, Reason.ID_IN_USE)
        return
    if stream is None or stream.state is StreamState.GONE:
        if stream is not None:
            stream.step(StreamSignal.ATTACH)
        replies.refuse(registry, path, request_id, entry.reason or Reason.EXPIRED)
        return
    _take_over(registry, path, stream, Claim(ByCall(), request_id, 0, event.attempt, event.fresh_token))


def receive_resume(registry: Registry, event: ResumeReceived) -> None:
    """Attach a stream to the connection of a `stream/resume` (rules P15-P19, Q6, Q9a, R8)."""
    path = registry.connections.get(event.connection_id)
    if path is None:
        return
    stream = _authorised(registry, path, event.request_id, event.stream_id, event.resume_token)
    if stream is None:
        return
    if stream.state is StreamState.GONE:
        stream.step(StreamSignal.ATTACH)
        _resume_gone(registry, path, stream, event.request_id)
        return
    reason = _resume_refusal(registry, path, stream, event)
    if reason is not None:
        replies.refuse(registry, path, event.request_id, reason)
        return
    after = event.header_after if event.after is None else event.after
    _take_over(registry, path, stream, Claim(ByResume(event.request_id), event.request_id, after, event.attempt))


def _resume_refusal(registry: Registry, path: Connection, stream: Stream, event: ResumeReceived) -> Reason | None:
    if event.request_id is not None and registry.in_use(path.scope, event.request_id):
        return Reason.ID_IN_USE
    if event.request_id == stream.request_id:
        # Both answers would come here, and nobody could tell which is which.
        return Reason.ID_IN_USE
    if registry.in_use(path.scope, stream.request_id, by_other_than=stream):
        return Reason.ID_IN_USE
    if not stream.resumable:
        return Reason.NOT_RESUMABLE
    if stream.attachment is not None and stream.attachment.connection_id == path.connection_id and not event.marker:
        return Reason.ALREADY_ATTACHED
    if not _is_cursor(event, stream):
        return Reason.INVALID_CURSOR
    return None


def _is_cursor(event: ResumeReceived, stream: Stream) -> bool:
    """Return whether what a resume says of a position can be true of a stream (rules R4, Q13)."""
    if event.after is None:
        return True
    return stream.tags is not Tags.NONE and event.header_after in (None, event.after)


def _resume_gone(registry: Registry, path: Connection, stream: Stream, request_id: RequestId | None) -> None:
    """Answer for a stream whose log is freed: one that was delivered whole has only its end left (rule Q9a)."""
    if stream.reason is not Reason.FINISHED:
        replies.refuse(registry, path, request_id, stream.reason or Reason.EXPIRED)
        return
    if path.framing is Framing.HTTP:
        path.body = BodyPolicy.AT_ONCE
    replies.tell(registry, path, lifecycle.farewell(stream, request_id))


def receive_cursor(registry: Registry, event: CursorReceived) -> None:
    """Attach a stream of this session to a GET with its cursor; foreign and unknown ones look alike (Q13, R17)."""
    path = registry.connections.get(event.connection_id)
    if path is None:
        return
    stream = registry.streams.get(event.stream_id)
    known = stream is not None and stream.state is not StreamState.GONE and stream.resumable
    if stream is None or not known or not _at_home(stream, path):
        replies.refuse(registry, path, None, Reason.INVALID_CURSOR)
        return
    _take_over(registry, path, stream, Claim(ByCursor(), None, event.after, None))


def _take_over(registry: Registry, path: Connection, stream: Stream, claim: Claim) -> None:
    """Attach in the order of R14: stale attempts and hasty takeovers are refused, then the cursor has to fit."""
    attempt, after = claim.attempt, claim.after
    if attempt is not None and not stream.supersedes(attempt.instance, attempt.number):
        replies.refuse(registry, path, claim.request_id, Reason.SUPERSEDED)
        return
    wait = _wait_for(registry, stream, attempt)
    if wait:
        replies.refuse(registry, path, claim.request_id, Reason.TOO_EARLY, retry_after=wait)
        return
    log = stream.log
    if after is not None and after > log.durable:
        replies.refuse(registry, path, claim.request_id, Reason.INVALID_CURSOR)
        return
    lost = _lost_above(stream, claim)
    if lost:
        first = log.first_available
        replies.refuse(registry, path, claim.request_id, Reason.EVENTS_GONE, first_available=first, lost=lost)
        return
    if attempt is not None:
        stream.note_attempt(attempt.instance, attempt.number, registry.config.max_instances)
    else:
        stream.last_takeover = registry.now
    stream.rested_at = max(stream.rested_at, registry.now) + registry.config.resume_interval
    # `end` is delivered again to whoever asks again, so a cursor never confirms it (rules P17, Q9a).
    last = log.produced - 1 if stream.complete and stream.announced else log.produced
    position = max(log.confirmed, log.first_available - 1) if after is None else after
    position = min(position, last)
    if claim.fresh_token is not None:
        lifecycle.renew_token(registry, stream, claim.fresh_token)
    attachments.attach(registry, stream, path, claim.origin, position)
    if after is not None and position > log.confirmed:
        lifecycle.confirm(registry, stream, position)


def _lost_above(stream: Stream, claim: Claim) -> int:
    """Return how many entries a claim asks for that are gone, where its client could do anything with the answer.

    Whoever has the token has `create`, which is dropped once it is confirmed. A re-sent call gets it again (rule R3),
    and has to: only with the token can its client say how far it is. It sees by the numbers that something is missing.
    """
    if claim.after is None or isinstance(claim.origin, ByCall):
        return 0
    known = 0 if isinstance(claim.origin, ByCursor) or not stream.announced else 1
    return stream.log.lost_after(max(claim.after, known))


def _wait_for(registry: Registry, stream: Stream, attempt: Attempt | None) -> float:
    """Return for how many seconds a stream cannot be had: all resumes have a rate, and stock takeovers an own one."""
    wait = stream.resume_wait(registry.config, registry.now)
    if attempt is None and stream.attachment is not None:
        return max(wait, stream.takeover_wait(registry.config.takeover_interval, registry.now))
    return wait


def receive_poll(registry: Registry, event: PollReceived) -> None:
    """Tell how a stream stands, from counters, without touching its delivery (rules P27-P31, Q6e, Q8)."""
    path = registry.connections.get(event.connection_id)
    if path is None:
        return
    stream = _authorised(registry, path, event.request_id, event.stream_id, event.resume_token)
    if stream is None:
        return
    stream.step(StreamSignal.POLL)
    if stream.state is StreamState.GONE and stream.reason is not Reason.FINISHED:
        replies.refuse(registry, path, event.request_id, stream.reason or Reason.EXPIRED)
        return
    gone = stream.state is StreamState.GONE
    if not gone:
        attachments.rearm(registry, stream)
    result = PollResult(
        stream.stream_id,
        "completed" if stream.complete or gone else "live",
        not gone and stream.has_pending_messages(),
        not gone and stream.has_pending_request(),
        not gone and stream.has_pending_error(),
    )
    replies.answer(registry, path, poll_response(event.request_id, result))


def receive_ack(registry: Registry, event: AckReceived) -> None:
    """Confirm what a client says it has, if it is entitled to say so (rule R6)."""
    path = registry.connections.get(event.connection_id)
    if path is None:
        return
    stream = registry.streams.get(event.stream_id)
    if event.resume_token is not None:
        stream = registry.find(event.stream_id, event.resume_token, path.principal)
    elif stream is not None and not _at_home(stream, path):
        stream = None
    if stream is not None and stream.announced and event.through <= stream.log.claimable:
        if stream.state is StreamState.GONE:
            stream.step(StreamSignal.ACK)
        else:
            lifecycle.confirm(registry, stream, event.through)


def receive_answer(registry: Registry, event: AnswerReceived) -> None:
    """Hand the first answer to a question to the application; every other one is taken and ignored (Q4b, Q4c, R24).

    Which one it was, nobody learns from what follows: it is the same, after the same comparisons.
    """
    path = registry.connections.get(event.connection_id)
    if path is None:
        return
    ask_id = event.answer.id
    stream_id = registry.asks.get(ask_id) if isinstance(ask_id, str) else None
    stream = None if stream_id is None else registry.streams[stream_id]
    entitled = _may_answer(registry, path, stream, event)
    if stream is not None and isinstance(ask_id, str) and entitled:
        stream.step(StreamSignal.ANSWER)
        del stream.asks[ask_id]
        registry.drop_ask(ask_id)
        registry.gate.record(AnswerLogged(stream.stream_id, ask_id, registry.encoded_reply(event.answer)))
        answered = AskAnswered(stream.stream_id, ask_id, event.answer)
        if registry.gate.admit(answered):
            registry.effects.append(answered)
    replies.accept(registry, path)


def _at_home(stream: Stream, path: Connection) -> bool:
    """Return whether a connection comes from where a stream is at home: its ids count there without a token."""
    return stream.scope == path.scope and stream.principal == path.principal


def _may_answer(registry: Registry, path: Connection, stream: Stream | None, event: AnswerReceived) -> bool:
    """Return whether an answer counts: from its principal, or without one from who was asked or can prove it (R24)."""
    shows_token = event.resume_token is not None and registry.opens(stream, event.resume_token)
    shows_key = event.key is not None and registry.names(stream, key_digest(event.key, path.principal))
    if stream is None or stream.principal != path.principal:
        return False
    return stream.principal is not None or stream.scope == path.scope or shows_token or shows_key


def receive_cancel(registry: Registry, event: CancelReceived) -> None:
    """Cancel by token, from anywhere, as often as it is said (rule R22)."""
    path = registry.connections.get(event.connection_id)
    if path is None:
        return
    stream = _authorised(registry, path, event.request_id, event.stream_id, event.resume_token)
    if stream is not None:
        lifecycle.cancel(registry, stream)
        replies.answer(registry, path, Response(event.request_id, {}))


def receive_cancelled(registry: Registry, event: CancelledReceived) -> None:
    """Cancel a call, or only a resume, by the id under which it came; or a call by its key (Q2f, Q9b, Q9e, R21.6)."""
    path = registry.connections.get(event.connection_id)
    if path is None:
        return
    if event.key is not None:
        _cancel_key(registry, path, event.key)
    elif event.request_id is not None:
        _cancel_id(registry, path, event.request_id)


def _cancel_id(registry: Registry, path: Connection, request_id: RequestId) -> None:
    resumed = registry.resumes.get((path.scope, request_id))
    named = resumed or registry.calls.get((path.scope, request_id))
    # Either table has an id only for where it counts; so it remains to be seen whether it is the same client's.
    if named is None or registry.streams[named].principal != path.principal:
        return
    if resumed is None:
        lifecycle.cancel(registry, registry.streams[named])
    else:
        lifecycle.leave(registry, registry.streams[named])


def _cancel_key(registry: Registry, path: Connection, key: Secret) -> None:
    digest = key_digest(key, path.principal)
    entry = registry.keys.find(digest, registry.now)
    if entry is not None:
        stream = None if entry.stream_id is None else registry.streams.get(entry.stream_id)
        if stream is not None:
            lifecycle.cancel(registry, stream)
    else:
        # The call itself may still be on its way: it must never start.
        registry.keys.cancel(digest, path.owner, registry.now)
        registry.gate.record(KeyCancelled(digest, path.owner))


def _has_room_for_key(registry: Registry, path: Connection) -> bool:
    """Return whether one more key may be remembered, in all and for this peer (rules R21.4, R25)."""
    config = registry.config
    known = registry.keys.count(path.owner, registry.now)
    return len(registry.keys) < config.max_keys and known < config.max_keys_per_principal


def _authorised(
    registry: Registry, path: Connection, request_id: RequestId | None, stream_id: StreamId, token: Secret
) -> Stream | None:
    """Return the stream that a token opens; refuse the request if it opens none, or came after too many that did not.

    Who has guessed too often is refused before anything is compared, or each refusal would tell of one token more
    (rule Q11e).
    """
    wait = registry.wrong_tokens.wait(path.scope, stream_id, registry.now)
    if wait is not None:
        replies.refuse(registry, path, request_id, Reason.TOO_EARLY, retry_after=wait)
        return None
    stream = registry.find(stream_id, token, path.principal)
    if stream is None:
        registry.wrong_tokens.note(path.scope, stream_id, registry.now)
        replies.refuse(registry, path, request_id, Reason.STREAM_NOT_FOUND)
    return stream
