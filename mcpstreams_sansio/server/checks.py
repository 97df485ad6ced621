"""What is wrong with an input whatever the time: found before anything changes (rule R13)."""

from __future__ import annotations

from mcpstreams_sansio.connections import ConnectionLost, EndOfFile, Written
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.ids import StreamId
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
    PollReceived,
    Reply,
    Respond,
    ResumeReceived,
    SendMessage,
    StreamsInput,
)
from mcpstreams_sansio.server.registry import Registry
from mcpstreams_sansio.server.stream import Stream, encode_entry
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject, Message, Request, Response
from mcpstreams_sansio.wire.meta import check_application_meta

_ON_A_CONNECTION = (
    ConnectionLost,
    EndOfFile,
    Written,
    Reply,
    Accept,
    CallReceived,
    ResumeReceived,
    CursorReceived,
    PollReceived,
    AckReceived,
    AnswerReceived,
    CancelReceived,
    CancelledReceived,
)

Prepared = tuple[StreamId, int, bytes]
"""A stream, the number of its next entry, and that entry's bytes: encoding may fail, so it is done here."""


def check(registry: Registry, event: StreamsInput) -> Prepared | None:
    """Refuse what only a mistake of the caller can explain; return the bytes of the entry that the input adds.

    Raises:
        LocalProtocolError: Nothing has changed.
    """
    match event:
        case SendMessage():
            return _prepare(registry, event.stream_id, event.message, event.message.params)
        case AskPeer():
            if event.ask_id in registry.asks:
                raise LocalProtocolError("the id of an ask was used before")
            ask = Request(event.ask_id, event.method, event.params)
            return _prepare(registry, event.stream_id, ask, event.params)
        case Respond():
            return _prepare_response(registry, event.stream_id, event.outcome)
        case _:
            _check_arrival(registry, event)
            return None


def _check_arrival(registry: Registry, event: StreamsInput) -> None:
    if isinstance(event, _ON_A_CONNECTION) and event.connection_id > registry.highest_connection:
        raise LocalProtocolError("there never was such a connection")
    match event:
        case ConnectionOpened() if event.connection_id <= registry.highest_connection:
            raise LocalProtocolError("a connection id must be higher than every one before it")
        case CallReceived() if event.stream_id in registry.streams:
            raise LocalProtocolError("a stream id was used before")
        case CallReceived() if (event.key is None) != (event.digest is None):
            raise LocalProtocolError("a key and the digest of its call belong together")
        case LogWritten() if event.write_id != registry.gate.outstanding:
            raise LocalProtocolError("no such batch is being written")
        case _:
            pass


def _prepare(registry: Registry, stream_id: StreamId, message: Message, holder: JSONObject | None) -> Prepared | None:
    check_application_meta(holder)
    stream = _producing(registry, stream_id)
    if stream is None:
        return None
    sequence = stream.log.produced + 1
    return stream_id, sequence, encode_entry(stream, message, sequence)


def _prepare_response(registry: Registry, stream_id: StreamId, outcome: Response | ErrorResponse) -> Prepared | None:
    stream = _producing(registry, stream_id)
    if stream is not None and (type(outcome.id), outcome.id) != (type(stream.request_id), stream.request_id):
        raise LocalProtocolError("a response must have the id of its request")
    return _prepare(registry, stream_id, outcome, outcome.result if isinstance(outcome, Response) else None)


def _producing(registry: Registry, stream_id: StreamId) -> Stream | None:
    """Return the stream if the application may still add to it; None if time or the peer took that away."""
    stream = registry.streams.get(stream_id)
    if stream is None or stream.reason is not None:
        return None
    if stream.complete:
        raise LocalProtocolError("the call was answered before")
    return stream
