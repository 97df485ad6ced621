"""What stands in the bytes on a wire, read once for all worlds that share them."""

from __future__ import annotations

import functools
from typing import Final, final

import attrs

from mcpstreams_sansio.framing.sse import SSEDecoder
from mcpstreams_sansio.ids import StreamId
from mcpstreams_sansio.wire.jsonrpc import Message, Notification, decode_message
from mcpstreams_sansio.wire.streams import STREAM_CREATE, STREAM_END, read_create, read_end
from mcpstreams_sansio.wire.tags import read_tag

_REMEMBERED: Final = 65_536
"""How many different frames are read only once."""


@final
@attrs.frozen
class Frame:
    """One message of a server, or one event of its event stream."""

    message: Message | None
    """None for priming, `retry` and keep-alives."""
    event_id: str | None = None
    retry_ms: int | None = None
    stream_id: StreamId | None = None
    """The stream that the message says it belongs to."""
    sequence: int | None = None
    """Its position there."""
    payload: bytes | None = attrs.field(default=None, repr=False)
    """The message as it was encoded, whatever stands around it."""

    @property
    def is_create(self) -> bool:
        """It announces a stream, and may hold a token."""
        return isinstance(self.message, Notification) and self.message.method == STREAM_CREATE

    @property
    def is_end(self) -> bool:
        """It is the last message of its stream."""
        return isinstance(self.message, Notification) and self.message.method == STREAM_END


@functools.lru_cache(_REMEMBERED)
def read_message(data: bytes) -> Message:
    """Read one message. It is shared, so nobody may change it."""
    return decode_message(data)


@functools.lru_cache(_REMEMBERED)
def read_plain(data: bytes) -> Frame:
    """Read one message that stands for itself."""
    return _frame(data)


@functools.lru_cache(_REMEMBERED)
def read_event(data: bytes) -> Frame:
    """Read one frame of an event stream: a whole event, a lone `retry`, or a comment."""
    decoder = SSEDecoder()
    decoder.receive_data(data)
    event = decoder.next_event()
    if event is None:
        return Frame(None, retry_ms=decoder.retry_ms)
    if not event.data:
        return Frame(None, event.id or None, event.retry_ms)
    return attrs.evolve(_frame(event.data.encode()), event_id=event.id or None, retry_ms=event.retry_ms)


def _frame(data: bytes) -> Frame:
    message = decode_message(data)
    tag = read_tag(message)
    if tag is not None:
        return Frame(message, stream_id=tag.stream_id, sequence=tag.sequence, payload=data)
    if isinstance(message, Notification) and message.method == STREAM_CREATE:
        return Frame(message, stream_id=read_create(message.params).stream_id, payload=data)
    if isinstance(message, Notification) and message.method == STREAM_END:
        return Frame(message, stream_id=read_end(message.params).stream_id, payload=data)
    return Frame(message, payload=data)
