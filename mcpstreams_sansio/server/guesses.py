"""Wrong tokens: whoever presents too many for one stream is not listened to for a while (rule Q11e).

What counts is one stream and one scope. A client that asks for many streams that a restart has swept away guesses
nothing, and one who guesses keeps nobody else from a stream. An id that names no stream counts like any other, or who
asks could tell which ones do (rule Q10).
"""

from __future__ import annotations

from typing import Self, final

import attrs

from mcpstreams_sansio.copies import shallow_copy
from mcpstreams_sansio.framing.event_ids import MAX_EVENT_ID_LENGTH
from mcpstreams_sansio.ids import StreamId
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.inputs import Scope


@final
@attrs.frozen
class _Guesses:
    count: int
    until: float
    """When they are forgotten: `guess_memory` after the first of them."""


@final
@attrs.define(eq=False)
class WrongTokens:
    """The wrong tokens of the recent past, the longest remembered first."""

    config: StreamsConfig
    _guesses: dict[tuple[Scope, StreamId], _Guesses] = attrs.field(factory=dict)

    def __len__(self) -> int:
        return len(self._guesses)

    def wait(self, scope: Scope, stream_id: StreamId, now: float) -> float | None:
        """Return for how many seconds a scope cannot open a stream, whatever it presents; None if it can try."""
        guesses = self._guesses.get((scope, stream_id))
        if guesses is None or guesses.until <= now or guesses.count < self.config.max_wrong_tokens:
            return None
        return guesses.until - now

    def note(self, scope: Scope, stream_id: StreamId, now: float) -> None:
        """Count a wrong token. Beyond `max_suspects` pairs the longest remembered is forgotten."""
        if len(stream_id) > MAX_EVENT_ID_LENGTH:
            return  # no stream has such an id, and it is not worth its memory
        guesses = self._guesses.get((scope, stream_id))
        if guesses is not None and guesses.until > now:
            self._guesses[scope, stream_id] = attrs.evolve(guesses, count=guesses.count + 1)
            return
        self._guesses.pop((scope, stream_id), None)
        self._guesses[scope, stream_id] = _Guesses(1, now + self.config.guess_memory)
        if len(self._guesses) > self.config.max_suspects:
            del self._guesses[next(iter(self._guesses))]

    def fork(self) -> Self:
        """Return an independent copy."""
        copy = shallow_copy(self)
        copy._guesses = self._guesses.copy()
        return copy

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return a hashable value, equal for what will be judged alike."""
        return tuple(
            (scope, stream_id, guesses.count, guesses.until - now)
            for (scope, stream_id), guesses in self._guesses.items()
            if guesses.until > now
        )
