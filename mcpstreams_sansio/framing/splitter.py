"""Cutting a peer's bytes into lines without ever holding more of a line than is allowed.

Both framings are made of lines and differ in what they make of one, so this knows nothing of either.
"""

from __future__ import annotations

import copy
import enum
import hashlib
from collections import deque
from typing import final

import attrs

from mcpstreams_sansio.framing.limits import FrameTooLargeError


class _State(enum.Enum):
    KEEPING = "the unfinished line is kept"
    SKIPPING = "the unfinished line is too long: its rest is dropped"


@final
@attrs.define(repr=False, eq=False)
class LineSplitter:
    """Lines that end with LF, empty ones too, in the order of their bytes.

    A line longer than `max_line_size` becomes a `FrameTooLargeError` in its place, as soon as that is known; the lines
    before and after it are not touched. Beyond the lines that nobody has taken yet, it holds one unfinished line.

    Args:
        max_line_size: Bytes of a line, its LF not counted; at least 1.
    """

    max_line_size: int = attrs.field(validator=attrs.validators.ge(1))
    _state: _State = attrs.field(default=_State.KEEPING, init=False)
    _unfinished: bytearray = attrs.field(factory=bytearray, init=False)
    _finished: deque[bytes | FrameTooLargeError] = attrs.field(factory=deque, init=False)

    def receive_data(self, data: bytes) -> None:
        """Add bytes, cut anywhere."""
        rest, *more = data.split(b"\n")
        self._extend(rest)
        if more:
            self._finish()
            *whole, rest = more
            self._finished += [line if len(line) <= self.max_line_size else self._too_large() for line in whole]
            self._extend(rest)

    def next_line(self) -> bytes | None:
        """Return the next line without its LF, or `None` if more bytes are needed.

        Raises:
            FrameTooLargeError: The next line was too long. The one after it comes at the next call.
        """
        if not self._finished:
            return None
        line = self._finished.popleft()
        if isinstance(line, FrameTooLargeError):
            raise line
        return line

    def take_unfinished(self) -> bytes:
        """Return what has come of the line whose end has not; empty if that line is too long or has not begun."""
        line = bytes(self._unfinished)
        self._unfinished.clear()
        return line

    def fork(self) -> LineSplitter:
        """Return an independent copy."""
        other = copy.copy(self)
        other._unfinished = self._unfinished.copy()
        other._finished = self._finished.copy()
        return other

    def snapshot(self) -> tuple[object, ...]:
        """Return a hashable value, equal for splitters that will behave alike, provided that every line was taken.

        Of the unfinished line it holds a digest, since there may be a token in it (rule Q11b).
        """
        return self._state, hashlib.sha256(self._unfinished).digest()

    def _extend(self, piece: bytes) -> None:
        if self._state is _State.SKIPPING:
            return
        if len(self._unfinished) + len(piece) <= self.max_line_size:
            self._unfinished += piece
            return
        self._state = _State.SKIPPING
        self._unfinished.clear()
        self._finished.append(self._too_large())

    def _finish(self) -> None:
        if self._state is _State.KEEPING:
            self._finished.append(self.take_unfinished())
        self._state = _State.KEEPING

    def _too_large(self) -> FrameTooLargeError:
        return FrameTooLargeError(f"a line is longer than {self.max_line_size} bytes")
