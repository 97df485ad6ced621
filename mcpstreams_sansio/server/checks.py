"""What is wrong with an input whatever the time: found before anything changes (rule R13)."""

from __future__ import annotations

from typing import Final

from mcpstreams_sansio.connections import ConnectionLost, EndOfFile, Written
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.framing.event_ids import MAX_SEQUENCE, event_id
from mcpstreams_sansio.ids import RequestId, StreamId
from mcpstreams_sansio.server.calls import StreamKind
from mcpstreams_sansio.server.inputs import (
    Accept,
    AckReceived,
    AnswerReceived,
    AskPeer,
    CallReceived,
    CancelledReceived,
    CancelReceived,
    ConnectionOpened,
    CursorReceived,
    LogWritten,
    OpenStream,
    PeerHeard,
    PollReceived,
    Recover,
    Reply,
    Respond,
    ResumeReceived,
    SendMessage,
    StreamsInput,
)
from mcpstreams_sansio.server.recovery import Recorded, read_records
from mcpstreams_sansio.server.registry import Prepared, Registry
from mcpstreams_sansio.server.stream import Stream, encode_create, encode_entry
from mcpstreams_sansio.wire.jsonrpc import (
    ErrorResponse,
    JSONObject,
    Message,
    Request,
    Response,
    encode_message,
    is_request_id,
)
from mcpstreams_sansio.wire.meta import check_application_meta, check_application_result
from mcpstreams_sansio.wire.reserved import check_application_method
from mcpstreams_sansio.wire.streams import StreamCreate

SAID_BY_A_PEER: Final = (
    PeerHeard,
    CallReceived,
    ResumeReceived,
    CursorReceived,
    PollReceived,
    AckReceived,
    AnswerReceived,
    CancelReceived,
    CancelledReceived,
)
"""Whatever shows that the peer of a connection is there."""

_ON_A_CONNECTION: Final = (ConnectionLost, EndOfFile, Written, Reply, Accept, *SAID_BY_A_PEER)


def check(registry: Registry, event: StreamsInput) -> Prepared | Recorded | None:
    """Refuse what only a mistake of the caller can explain; return the bytes that the input adds, or what it recovers.

    Raises:
        LocalProtocolError: Nothing has changed.
    """
    match event:
        case SendMessage():
            check_application_method(event.message.method)
            return _prepare(registry, event.stream_id, event.message, event.message.params)
        case AskPeer():
            if event.ask_id in registry.asks:
                raise LocalProtocolError("the id of an ask names a question that is still open")
            check_application_method(event.method)
            ask = Request(event.ask_id, event.method, event.params)
            return _prepare(registry, event.stream_id, ask, event.params)
        case Respond():
            return _prepare_response(registry, event.stream_id, event.outcome)
        case OpenStream():
            return _prepare_announcement(registry, event)
        case Recover():
            return _read(registry, event)
        case _:
            _check_arrival(registry, event)
            return _prepare_arrival(registry, event)


def _read(registry: Registry, event: Recover) -> Recorded:
    if not registry.config.durable:
        raise LocalProtocolError("only a server with a durable log recovers anything")
    if registry.now > float("-inf"):
        raise LocalProtocolError("a machine recovers before anything else, or not at all")
    return read_records(event.records, registry.config.max_tokens)


def _check_arrival(registry: Registry, event: StreamsInput) -> None:
    if isinstance(event, _ON_A_CONNECTION) and event.connection_id > registry.highest_connection:
        raise LocalProtocolError("there never was such a connection")
    if not is_request_id(_asked(event) or ""):
        raise LocalProtocolError("the id of a request is too long")
    match event:
        case ConnectionOpened() if event.connection_id <= registry.highest_connection:
            raise LocalProtocolError("a connection id must be higher than every one before it")
        case CallReceived() if event.stream_id in registry.streams:
            raise LocalProtocolError("a stream id was used before")
        case CallReceived() if (event.key is None) != (event.digest is None):
            raise LocalProtocolError("a key and the digest of its call belong together")
        case LogWritten() if not registry.gate.awaits(event.write_id):
            raise LocalProtocolError("no such batch is being written")
        case _:
            pass


def _asked(event: StreamsInput) -> RequestId | None:
    """Return the id under which something is asked, if it has one."""
    match event:
        case CallReceived():
            return event.request.id
        case ResumeReceived() | PollReceived() | CancelReceived():
            return event.request_id
        case _:
            return None


def _prepare_arrival(registry: Registry, event: StreamsInput) -> Prepared | None:
    match event:
        case Reply():
            return Prepared(encode_message(event.message))
        case AnswerReceived():
            return Prepared(encode_message(event.answer))
        case CallReceived():
            event_id(event.stream_id, MAX_SEQUENCE)  # it raises: the events of the stream will need one
            if event.policy.kind is not StreamKind.ANNOUNCED:
                return None
            create = StreamCreate(event.stream_id, event.fresh_token, event.request.id, event.policy.interval)
            return Prepared(encode_create(registry.config, create, event.peer), event.stream_id, 1)
        case _:
            return None


def _prepare_announcement(registry: Registry, event: OpenStream) -> Prepared | None:
    stream = _producing(registry, event.stream_id)
    if stream is None:
        return None
    create = StreamCreate(event.stream_id, event.fresh_token, stream.request_id, event.interval)
    return Prepared(encode_create(registry.config, create, stream.peer), event.stream_id, 1)


def _prepare(registry: Registry, stream_id: StreamId, message: Message, holder: JSONObject | None) -> Prepared | None:
    check_application_meta(holder)
    stream = _producing(registry, stream_id)
    if stream is None:
        encode_message(message)  # what is wrong with it is wrong whether its stream is there or not
        return None
    sequence = stream.log.produced + 1
    return Prepared(encode_entry(stream, message, sequence), stream_id, sequence)


def _prepare_response(registry: Registry, stream_id: StreamId, outcome: Response | ErrorResponse) -> Prepared | None:
    stream = _producing(registry, stream_id)
    if stream is not None and (type(outcome.id), outcome.id) != (type(stream.request_id), stream.request_id):
        raise LocalProtocolError("a response must have the id of its request")
    if isinstance(outcome, Response):
        check_application_result(outcome.result)
    return _prepare(registry, stream_id, outcome, None)


def _producing(registry: Registry, stream_id: StreamId) -> Stream | None:
    """Return the stream if the application may still add to it; None if time or the peer took that away."""
    stream = registry.streams.get(stream_id)
    if stream is None or stream.reason is not None:
        return None
    if stream.complete:
        raise LocalProtocolError("the call was answered before")
    return stream
