"""One message per line: the framing of stdio and of every other plain byte stream.

What a line says is none of this module's business. A peer that sends headers before its messages sends lines that are
no JSON, and is told so by whoever reads them (case O6).

Spec: MCP 2025-11-25, Transports, stdio.
"""

from __future__ import annotations

import copy
import enum
from typing import final

from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.framing.limits import MAX_LINE_SIZE
from mcpstreams_sansio.framing.splitter import LineSplitter


class _State(enum.Enum):
    OPEN = "more bytes may come"
    ENDED = "the peer has said all that it will say"
    TORN = "and the last of it, which was taken, had no line end"


@final
class LineDecoder:
    r"""Cuts a peer's bytes into lines.

    A line ends with LF or CR LF (case O8). Empty lines carry no message and are passed over: they are what a doubled
    line end leaves behind, and an error in answer would be noise. A line that is too long is reported in its place and
    costs nothing but itself (case O4).

    The decoder holds one unfinished line of at most `max_line_size` bytes, and the lines that were received and not
    taken. Take all of them before receiving more, and the whole stays within one read.

    Args:
        max_line_size: Bytes of a line, its LF not counted, a CR before it counted; at least 1.

    Raises:
        ValueError: The size is less than 1.
    """

    def __init__(self, *, max_line_size: int = MAX_LINE_SIZE) -> None:
        self._lines = LineSplitter(max_line_size)
        self._state = _State.OPEN

    @property
    def max_line_size(self) -> int:
        """The limit that it was made with."""
        return self._lines.max_line_size

    def receive_data(self, data: bytes) -> None:
        """Add bytes from the peer.

        Args:
            data: Any number of bytes, cut anywhere. None at all do nothing.

        Raises:
            LocalProtocolError: After `receive_eof`. The decoder is unchanged.
        """
        if self._state is not _State.OPEN:
            raise LocalProtocolError("no data can follow the end")
        self._lines.receive_data(data)

    def receive_eof(self) -> None:
        """Say that the peer has ended its side in good order. Said again, it changes nothing.

        A last line without its end then counts as a line, since programs forget it easily (`printf ... | server`). That
        is safe: an object that was cut short lacks its closing brace, so it is never mistaken for a message. After a
        connection was lost, do not call this, and the fragment is never seen.
        """
        if self._state is _State.OPEN:
            self._state = _State.ENDED

    def next_line(self) -> bytes | None:
        """Return the next line without its end; `None` if there is none yet, or after `receive_eof` none any more.

        Raises:
            FrameTooLargeError: The next line is longer than `max_line_size`. It is raised once for that line; the
                lines after it can be taken.
        """
        while (line := self._lines.next_line()) is not None:
            if content := line.removesuffix(b"\r"):
                return content
        if self._state is _State.ENDED and (fragment := self._lines.take_unfinished().removesuffix(b"\r")):
            self._state = _State.TORN
            return fragment
        return None

    @property
    def torn(self) -> bool:
        """Whether the line that was taken last had no line end.

        What is then no JSON was most likely cut short, by whatever made a loss look like an end in good order: its
        sender said something sensible, and can do nothing with an error for half of it.
        """
        return self._state is _State.TORN

    def fork(self) -> LineDecoder:
        """Return an independent copy."""
        other = copy.copy(self)
        other._lines = self._lines.fork()
        return other

    def snapshot(self) -> tuple[object, ...]:
        """Return a hashable value, equal for decoders that will behave alike, provided that every line was taken."""
        return self._state, self._lines.snapshot()


def encode_line(payload: bytes) -> bytes:
    r"""Frame one message.

    Args:
        payload: An encoded message. It holds no line end of any kind, as `encode_message` makes it.

    Raises:
        LocalProtocolError: The payload is empty, or has an LF or a CR in it; the peer would read something else.

    Wire: `{"jsonrpc":"2.0",...}\n`
    """
    if not payload:
        raise LocalProtocolError("an empty line carries no message")
    if b"\n" in payload or b"\r" in payload:
        raise LocalProtocolError("a line end inside a message would cut it")
    return payload + b"\n"
