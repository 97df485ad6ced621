"""From a peer's message to what it means for streams: the one place that knows the methods on the server's side.

Both fronts use it, so a method means the same on every transport. It changes nothing: it reads a message in its
circumstances and returns inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias, assert_never, final

import attrs

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.errors import METHOD_NOT_FOUND, RemoteProtocolError
from mcpstreams_sansio.framing.event_ids import parse_event_id
from mcpstreams_sansio.ids import ConnectionId, Entropy, RequestId, Secret, StreamId
from mcpstreams_sansio.server.calls import Peer
from mcpstreams_sansio.server.inputs import (
    Accept,
    AckReceived,
    AnswerReceived,
    CallReceived,
    CancelledReceived,
    CancelReceived,
    PollReceived,
    Reply,
    ResumeReceived,
)
from mcpstreams_sansio.server.policies import StreamPolicies, call_policy
from mcpstreams_sansio.wire import handshake, marker, methods
from mcpstreams_sansio.wire import streams as draft
from mcpstreams_sansio.wire.digest import call_digest
from mcpstreams_sansio.wire.jsonrpc import (
    ErrorResponse,
    JSONObject,
    Message,
    Notification,
    Request,
    Response,
    error_response,
    is_request_id,
)
from mcpstreams_sansio.wire.marker import Ack, read_ack_notification
from mcpstreams_sansio.wire.meta import (
    parse_call_key,
    read_acks,
    read_after,
    read_answer_token,
    read_attempt,
    without_own_meta,
)
from mcpstreams_sansio.wire.refusals import Reason, refusal
from mcpstreams_sansio.wire.revisions import Revision
from mcpstreams_sansio.wire.streams import read_ref

_NOT_NEGOTIATED: Final = "this method was not negotiated"


@final
@attrs.frozen
class Circumstances:
    """On what, from whom and with what a message came."""

    connection_id: ConnectionId
    framing: Framing
    peer: Peer
    revision: Revision
    policies: StreamPolicies
    entropy: Entropy
    number: int = 0
    """Which message of its connection this is, so that no other one is given the same ids, whatever the entropy."""
    accepts_events: bool = True
    """Whether an event stream can be the answer; always where messages travel by themselves."""
    last_event_id: str | None = None
    """The cursor in the header, which only means something beside `stream/resume` (rule P22)."""


@final
@attrs.frozen
class NotificationReceived:
    """A notification for the application: at most once, in no stream (rule R25)."""

    connection_id: ConnectionId
    method: str
    params: JSONObject | None = attrs.field(repr=False)


Routed: TypeAlias = (
    CallReceived
    | ResumeReceived
    | PollReceived
    | AckReceived
    | AnswerReceived
    | CancelReceived
    | CancelledReceived
    | Reply
    | Accept
    | NotificationReceived
)


def route(message: Message, at: Circumstances) -> Sequence[Routed]:
    """Return what a message of a peer means, acknowledgements that ride on it first (rule R6).

    What cannot be read is answered with an error under the request's id, and nothing else of it counts. Methods of the
    draft mean something to a peer that declared `streams`, our own methods and keys to one that declared the marker.
    """
    try:
        match message:
            case Request():
                return [*_acks(at, read_acks(_ours(message.params, at))), _request(message, at)]
            case Notification():
                return [*_acks(at, read_acks(_ours(message.params, at))), *_notification(message, at)]
            case Response():
                return _answer(message, at)
            case ErrorResponse():
                return [AnswerReceived(at.connection_id, message)]
            case never:
                assert_never(never)
    except RemoteProtocolError as error:
        return [_reply(at, error_response(error, message.id if isinstance(message, Request) else None))]


def _ours(holder: JSONObject | None, at: Circumstances) -> JSONObject | None:
    """Return where to look for keys of our extension: nowhere if the peer did not negotiate it."""
    return holder if at.peer.marker else None


def _reply(at: Circumstances, error: ErrorResponse) -> Reply | Accept:
    """Return an error as a reply; one without an id is told only where the transport has a place for it (rule D2)."""
    if error.id is None and at.framing is not Framing.HTTP:
        return Accept(at.connection_id)
    return Reply(at.connection_id, error)


def _acks(at: Circumstances, acks: Sequence[Ack]) -> list[AckReceived]:
    return [AckReceived(at.connection_id, ack.stream_id, ack.through, ack.resume_token) for ack in acks]


def _answer(message: Response, at: Circumstances) -> Sequence[Routed]:
    answer = attrs.evolve(message, result=without_own_meta(message.result, "result") or {})
    if not at.peer.marker:
        return [AnswerReceived(at.connection_id, answer)]
    token, key = read_answer_token(message.result), parse_call_key(message.result, "result")
    acks = _acks(at, read_acks(message.result, "result"))
    return [*acks, AnswerReceived(at.connection_id, answer, token, key)]


def _request(request: Request, at: Circumstances) -> Routed:
    match request.method:
        case methods.PING:
            return Reply(at.connection_id, Response(request.id, {}))
        case draft.STREAM_POLL if at.peer.streams:
            ref = read_ref(request.params)
            return PollReceived(at.connection_id, request.id, ref.stream_id, ref.resume_token)
        case draft.STREAM_RESUME if at.peer.streams:
            return _resume(request.params, request.id, at)
        case marker.MARKER_CANCEL if at.peer.marker:
            ref = read_ref(request.params)
            return CancelReceived(at.connection_id, request.id, ref.stream_id, ref.resume_token)
        case draft.STREAM_POLL | draft.STREAM_RESUME | marker.MARKER_CANCEL:
            return _reply(at, ErrorResponse(request.id, METHOD_NOT_FOUND, _NOT_NEGOTIATED))
        case _:
            return _call(request, at)


def _call(request: Request, at: Circumstances) -> CallReceived:
    key = parse_call_key(_ours(request.params, at))
    attempt = read_attempt(_ours(request.params, at))
    if key is not None:
        _require_events(at)
    seen = attrs.evolve(request, params=without_own_meta(request.params))
    policy = at.policies.find(seen, keyed=key is not None)
    return CallReceived(
        at.connection_id,
        StreamId(at.entropy.derive(f"stream {at.connection_id}.{at.number}")),
        seen,
        at.peer,
        call_policy(policy, at.peer, at.revision, at.framing, accepts_events=at.accepts_events),
        Secret(at.entropy.derive(f"token {at.connection_id}.{at.number}")),
        key,
        None if key is None else call_digest(request),
        attempt,
    )


def _resume(params: JSONObject | None, request_id: RequestId | None, at: Circumstances) -> Routed:
    ref = read_ref(params)
    attempt = read_attempt(_ours(params, at))
    _require_events(at)
    header_after = None
    try:
        after = read_after(_ours(params, at))
        if at.last_event_id is not None:
            stream_id, header_after = parse_event_id(at.last_event_id)
            if stream_id != ref.stream_id:
                # A cursor of another stream says nothing about this one, and must not confirm anything (rule T12).
                return _reply(at, refusal(request_id, Reason.INVALID_CURSOR))
    except RemoteProtocolError:
        return _reply(at, refusal(request_id, Reason.INVALID_CURSOR))
    return ResumeReceived(
        at.connection_id,
        request_id,
        ref.stream_id,
        ref.resume_token,
        after,
        header_after,
        attempt,
        at.peer.marker,
    )


def _require_events(at: Circumstances) -> None:
    """Refuse what is answered by a stream to a peer that accepts none (rules Q13, R21.1)."""
    if not at.accepts_events:
        raise RemoteProtocolError("this is answered by events, which Accept does not name")


def _notification(message: Notification, at: Circumstances) -> Sequence[Routed]:
    accepted = Accept(at.connection_id)
    match message.method:
        case draft.STREAM_RESUME if at.peer.streams:
            return [_resume(message.params, None, at)]
        case draft.STREAM_RESUME:
            return [_reply(at, ErrorResponse(None, METHOD_NOT_FOUND, _NOT_NEGOTIATED))]
        case methods.CANCELLED:
            named = (message.params or {}).get("requestId")
            request_id = named if is_request_id(named) else None
            key = parse_call_key(_ours(message.params, at))
            return [CancelledReceived(at.connection_id, request_id, key), accepted]
        case marker.MARKER_ACK if at.peer.marker:
            return [*_acks(at, read_ack_notification(message.params)), accepted]
        case handshake.INITIALIZED | marker.MARKER_ACK:
            return [accepted]
        case _:
            params = without_own_meta(message.params)
            return [NotificationReceived(at.connection_id, message.method, params), accepted]
