"""The body of one HTTP response, as a client reads it: nothing, one JSON message, or an event stream (rules H10, R20).

Priming, ids and `retry` are honoured whatever was negotiated. An event without data is never read as a message, and one
that is no message is reported and costs nothing else.

Spec: rules H10, H13, H14, H28, H29, R20; cases H6, J8, J9, and groups D and N of them.
"""

from __future__ import annotations

import copy
import enum
import hashlib
from collections.abc import Sequence
from typing import Self, TypeAlias, final

import attrs

from mcpstreams_sansio.client.effects import UnreadableReceived
from mcpstreams_sansio.client.inputs import MessageReceived, PathUnusable, PositionReceived, RetryReceived
from mcpstreams_sansio.errors import RemoteProtocolError
from mcpstreams_sansio.framing.event_ids import fits_header
from mcpstreams_sansio.framing.limits import FrameTooLargeError
from mcpstreams_sansio.framing.sse import SSEDecoder, SSEEvent
from mcpstreams_sansio.ids import ConnectionId
from mcpstreams_sansio.wire.jsonrpc import decode_message

BodyNews: TypeAlias = MessageReceived | PositionReceived | RetryReceived | UnreadableReceived | PathUnusable
"""What a body brings. After `PathUnusable` it brings nothing more."""


@enum.unique
class MediaType(enum.Enum):
    """What a body says that it is."""

    NONE = "none"
    JSON = "application/json"
    EVENTS = "text/event-stream"
    OTHER = "other"

    @classmethod
    def parse(cls, content_type: bytes | None) -> MediaType:
        """Read a Content-Type; its parameters do not count."""
        if content_type is None:
            return cls.NONE
        match content_type.partition(b";")[0].strip().lower():
            case b"application/json":
                return cls.JSON
            case b"text/event-stream":
                return cls.EVENTS
            case _:
                return cls.OTHER


@final
@attrs.define(eq=False)
class JSONBody:
    """One message, complete at the end of the body."""

    connection_id: ConnectionId
    max_size: int
    _data: bytearray = attrs.field(factory=bytearray, repr=False)

    def receive_data(self, data: bytes) -> Sequence[BodyNews]:
        """Add bytes; say if they are too many."""
        if len(self._data) + len(data) > self.max_size:
            return _unusable(self.connection_id, f"a JSON body is longer than {self.max_size} bytes")
        self._data += data
        return []

    def receive_eof(self) -> Sequence[BodyNews]:
        """Return the message, if there is one."""
        if not self._data:
            return []
        try:
            message = decode_message(bytes(self._data))
        except RemoteProtocolError as error:
            return _unusable(self.connection_id, str(error))
        return [MessageReceived(self.connection_id, message, size=len(self._data))]

    def fork(self) -> Self:
        """Return an independent copy."""
        return attrs.evolve(self, data=self._data.copy())

    def snapshot(self) -> tuple[object, ...]:
        """Return a hashable value, equal for bodies that will be read alike: of what has come it holds a digest."""
        return "JSON", hashlib.sha256(self._data).digest()


@final
@attrs.define(eq=False)
class EventsBody:
    """Messages as they come. What the end cuts off was never sent (rule H29)."""

    connection_id: ConnectionId
    _decoder: SSEDecoder
    _event_id: str = ""
    """The last event id that was told."""
    _retry_ms: int | None = None

    def receive_data(self, data: bytes) -> Sequence[BodyNews]:
        """Add bytes; return what they complete, and say if what they begin is too large."""
        self._decoder.receive_data(data)
        news: list[BodyNews] = []
        try:
            while (event := self._decoder.next_event()) is not None:
                self._note_retry(news)
                self._receive_event(event, news)
        except FrameTooLargeError as error:
            return [*news, *_unusable(self.connection_id, str(error))]
        self._note_retry(news)
        self._note_position(_usable(self._decoder.last_event_id), news)
        return news

    def receive_eof(self) -> Sequence[BodyNews]:
        """Return nothing: an event without its blank line is none (rule H28)."""
        return []

    def _receive_event(self, event: SSEEvent, news: list[BodyNews]) -> None:
        event_id = _usable(event.id or "")
        if not event.data:
            self._note_position(event_id, news)
            return
        data = event.data.encode()
        try:
            if event.event != "message":
                raise RemoteProtocolError("an event of unknown type")
            message = decode_message(data)
        except RemoteProtocolError as error:
            news.append(UnreadableReceived(self.connection_id, str(error)))
            self._note_position(event_id, news)
            return
        # An id stands for all events after it until another comes: only a new one is the event's own (case G10).
        own_id = event_id if event_id != self._event_id else None
        self._event_id = event_id
        news.append(MessageReceived(self.connection_id, message, own_id, len(data)))

    def _note_position(self, event_id: str, news: list[BodyNews]) -> None:
        if event_id != self._event_id:
            self._event_id = event_id
            news.append(PositionReceived(self.connection_id, event_id))

    def _note_retry(self, news: list[BodyNews]) -> None:
        retry_ms = self._decoder.retry_ms
        if retry_ms is not None and retry_ms != self._retry_ms:
            self._retry_ms = retry_ms
            news.append(RetryReceived(self.connection_id, retry_ms))

    def fork(self) -> Self:
        """Return an independent copy."""
        return attrs.evolve(self, decoder=copy.deepcopy(self._decoder))

    def snapshot(self) -> tuple[object, ...]:
        """Return a hashable value, equal for bodies that will be read alike."""
        return "events", self._event_id, self._retry_ms, self._decoder.snapshot()


@final
@attrs.frozen
class IgnoredBody:
    """Whatever comes means nothing: an acceptance has no body, and a refusal says all in its status."""

    def receive_data(self, _: bytes) -> Sequence[BodyNews]:
        """Return nothing."""
        return []

    def receive_eof(self) -> Sequence[BodyNews]:
        """Return nothing."""
        return []

    def fork(self) -> Self:
        """Return itself."""
        return self

    def snapshot(self) -> tuple[object, ...]:
        """Return a hashable value, the same for each."""
        return ("ignored",)


Body: TypeAlias = JSONBody | EventsBody | IgnoredBody


def _usable(event_id: str) -> str:
    """Return an event id, or none where it cannot stand in a header byte for byte (case C8)."""
    return event_id if fits_header(event_id) else ""


def _unusable(connection_id: ConnectionId, why: str) -> Sequence[BodyNews]:
    return [UnreadableReceived(connection_id, why), PathUnusable(connection_id)]
