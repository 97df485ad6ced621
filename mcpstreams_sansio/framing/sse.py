"""Server-sent events: the framing of streams over HTTP.

The decoder is the algorithm of the HTML standard with one addition: nothing of a block counts before its blank line has
come, neither its id (rule H29) nor its `retry`. What was half received is as good as never sent.

Spec: WHATWG HTML, section 9.2 (server-sent events). Rules H14, H28, H29.
"""

from __future__ import annotations

import enum
import hashlib
from typing import Final, final

import attrs

from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.framing.limits import MAX_EVENT_SIZE, MAX_LINE_SIZE, FrameTooLargeError
from mcpstreams_sansio.framing.splitter import LineSplitter

MAX_RETRY_MS: Final = 2**31 - 1
"""The longest `retry`, 24 days. A peer that asks for more is taken to ask for this."""

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


@final
@attrs.frozen
class SSEEvent:
    """One event: a message in `data`, or with empty data a priming event, which only moves the cursor (rule H14)."""

    data: str = attrs.field(repr=False)
    """Text; its lines are separated by LF. `repr` does not show it: there may be a token in it (rule Q11b)."""
    event: str = "message"
    """What type of event it is."""
    id: str | None = None
    """Where its receiver stands after it: always told when received, `""` for nowhere; `None` to send no id."""
    retry_ms: int | None = None
    """How long to wait before coming back, in milliseconds, if this event says so."""


class _Input(enum.Enum):
    OPEN = "more bytes may come"
    AFTER_CR = "the same, and an LF in front of them belongs to the CR before it"
    ENDED = "the peer has said all that it will say"


class _Output(enum.Enum):
    FIRST_LINE = "the next line is the first: it may begin with a byte order mark"
    LINES = "the next line is a later one"
    FAILED = "a limit was exceeded: nothing counts any more"


@attrs.define(repr=False, eq=False)
class _Block:
    """What the lines since the last blank one have said."""

    data: bytearray = attrs.field(factory=bytearray)
    """The values of its `data` lines, an LF after each."""
    event: bytes = b""
    id: bytes | None = None
    retry_ms: int | None = None


@final
class SSEDecoder:
    """Cuts a peer's bytes into events.

    Bytes that are not UTF-8 become U+FFFD. After a limit was exceeded the decoder is of no further use: the next bytes
    cannot be trusted to be what they seem, and to ask for the same event again would end the same way. From then on
    `next_event` raises that error every time (cases J8, J9).

    The decoder holds one unfinished line and one unfinished event, and the lines that were received and not taken. Call
    `next_event` until it returns `None` before receiving more, and the whole stays within the limits and one read.

    Args:
        max_line_size: Bytes of a line, its end not counted; at least 1.
        max_event_size: Bytes of the data of one event, one more counted for each line of it; at least 1.

    Raises:
        ValueError: A size is less than 1.
    """

    def __init__(self, *, max_line_size: int = MAX_LINE_SIZE, max_event_size: int = MAX_EVENT_SIZE) -> None:
        if max_event_size < 1:
            raise ValueError("max_event_size must be at least 1")
        self._max_event_size = max_event_size
        self._lines = LineSplitter(max_line_size)
        self._input = _Input.OPEN
        self._output = _Output.FIRST_LINE
        self._failure = ""
        self._block = _Block()
        self._last_event_id = ""
        self._retry_ms: int | None = None

    @property
    def last_event_id(self) -> str:
        """The cursor: what the blocks taken so far say with their ids; `""` at first, and after an empty `id` line.

        It keeps step with `next_event`, so it is never ahead of an event that nobody has seen. A block that is no event
        moves it too, a half-received one does not (rule H29).
        """
        return self._last_event_id

    @property
    def retry_ms(self) -> int | None:
        """How long to wait before coming back: the last word of the blocks taken so far, in milliseconds."""
        return self._retry_ms

    def receive_data(self, data: bytes) -> None:
        """Add bytes from the peer; after a failure they are dropped.

        Args:
            data: Any number of bytes, cut anywhere. None at all do nothing.

        Raises:
            LocalProtocolError: After `receive_eof`. The decoder is unchanged.
        """
        if self._input is _Input.ENDED:
            raise LocalProtocolError("no data can follow the end")
        if not data or self._output is _Output.FAILED:
            return
        if self._input is _Input.AFTER_CR:
            data = data.removeprefix(b"\n")
        self._input = _Input.AFTER_CR if data.endswith(b"\r") else _Input.OPEN
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._lines.receive_data(data)

    def receive_eof(self) -> None:
        """Say that nothing more will come. Said again, it changes nothing.

        A block without its blank line is no event and stays without effect (rules H28, H29).
        """
        self._input = _Input.ENDED

    def next_event(self) -> SSEEvent | None:
        """Return the next event that the standard dispatches, or `None` if more bytes are needed.

        An event with empty data is one of them (rule H14). A block without `data` lines is none, yet its id and its
        `retry` count (rule H28).

        Raises:
            FrameTooLargeError: A line or an event exceeds its limit. The events before it have been returned; the
                decoder has failed for good.
        """
        if self._output is _Output.FAILED:
            raise FrameTooLargeError(self._failure)
        try:
            while (line := self._next_line()) is not None:
                if line:
                    self._read_field(line)
                elif (event := self._end_block()) is not None:
                    return event
        except FrameTooLargeError as error:
            self._output = _Output.FAILED
            self._failure = str(error)
            self._block = _Block()
            raise
        return None

    def snapshot(self) -> tuple[object, ...]:
        """Return a hashable value, equal for decoders that will behave alike, provided that every event was taken.

        Of an unfinished event it holds digests, since there may be a token in it (rule Q11b).
        """
        block = self._block
        return (
            self._input,
            self._output,
            self._lines.snapshot(),
            hashlib.sha256(block.data).digest(),
            hashlib.sha256(block.event).digest(),
            None if block.id is None else hashlib.sha256(block.id).digest(),
            block.retry_ms,
            self._last_event_id,
            self._retry_ms,
        )

    def _next_line(self) -> bytes | None:
        line = self._lines.next_line()
        if line is not None and self._output is _Output.FIRST_LINE:
            self._output = _Output.LINES
            return line.removeprefix(_BYTE_ORDER_MARK)
        return line

    def _read_field(self, line: bytes) -> None:
        """Take up one line of a block; a comment is a field without a name, and unknown ones are passed over."""
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._add_data(value)
            case b"event":
                self._block.event = value
            case b"id" if b"\0" not in value:
                self._block.id = value
            case b"retry" if value.isdigit():  # of bytes: ASCII digits, and at least one
                self._block.retry_ms = _retry_ms(value)

    def _add_data(self, value: bytes) -> None:
        data = self._block.data
        if len(data) + len(value) >= self._max_event_size:
            raise FrameTooLargeError(f"the data of an event is longer than {self._max_event_size} bytes")
        data += value
        data += b"\n"

    def _end_block(self) -> SSEEvent | None:
        block, self._block = self._block, _Block()
        if block.id is not None:
            self._last_event_id = _text(block.id)
        if block.retry_ms is not None:
            self._retry_ms = block.retry_ms
        if not block.data:
            return None
        block.data.pop()
        return SSEEvent(_text(block.data), _text(block.event) or "message", self._last_event_id, block.retry_ms)


def encode_event(event: SSEEvent) -> bytes:
    r"""Frame one event. Decoding gives it again, but for an id of `None`.

    Raises:
        LocalProtocolError: The event has something in it that the format cannot carry: a CR anywhere, an LF in its id
            or its type, a NUL in its id, an empty type, a lone surrogate, a `retry_ms` outside 0 to `MAX_RETRY_MS`.

    Wire: `id: s1_0\nretry: 500\ndata: \n\n`. There is always a `data` line, since without one many a client never
        sees the id.

    Spec: rules H13, H14, H16; case N7.
    """
    lines = []
    if event.event != "message":
        if not event.event:
            raise LocalProtocolError("the type of an event must not be empty")
        lines.append(b"event: " + _encoded(event.event, without="\r\n"))
    if event.id is not None:
        lines.append(_id_line(event.id))
    if event.retry_ms is not None:
        if not 0 <= event.retry_ms <= MAX_RETRY_MS:
            raise LocalProtocolError("retry_ms is not between 0 and MAX_RETRY_MS")
        lines.append(b"retry: %d" % event.retry_ms)
    lines += [b"data: " + line for line in _encoded(event.data, without="\r").split(b"\n")]
    return b"\n".join(lines) + b"\n\n"


def encode_payload(payload: bytes, event_id: str | None = None) -> bytes:
    r"""Frame one message that is encoded already, so that it need not be decoded for it (rule R4).

    Args:
        payload: An encoded message, on one line; empty for a priming event.
        event_id: The id of the event; `None` for an event that is no place to resume from.

    Raises:
        LocalProtocolError: A line end in the payload, or an id that the format cannot carry.

    Wire: `id: s1_3\ndata: {"jsonrpc":"2.0",...}\n\n`
    """
    if b"\n" in payload or b"\r" in payload:
        raise LocalProtocolError("a line end inside a message would cut it")
    data = b"data: " + payload + b"\n\n"
    return data if event_id is None else _id_line(event_id) + b"\n" + data


def encode_comment(text: str = "") -> bytes:
    r"""Frame a comment, which keeps a silent connection alive and says nothing.

    Raises:
        LocalProtocolError: The text has a line end or a lone surrogate in it.

    Wire: `:\n\n`, or `: text\n\n`. The blank line is for readers that wait for one before they look.
    """
    return b": " + _encoded(text, without="\r\n") + b"\n\n" if text else b":\n\n"


def _retry_ms(digits: bytes) -> int:
    significant = digits.lstrip(b"0") or b"0"
    if len(significant) > len(str(MAX_RETRY_MS)):  # however many digits: turning millions of them into a number is slow
        return MAX_RETRY_MS
    return min(int(significant), MAX_RETRY_MS)


def _text(raw: bytes | bytearray) -> str:
    return raw.decode(errors="replace")


def _id_line(event_id: str) -> bytes:
    return b"id: " + _encoded(event_id, without="\r\n\0")


def _encoded(text: str, *, without: str) -> bytes:
    if any(character in text for character in without):
        raise LocalProtocolError("a line end or a NUL stands where the format cannot carry it")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise LocalProtocolError("a lone surrogate cannot be encoded") from None
