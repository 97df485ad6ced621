"""Questions of the server: handed to the application once, answered until the answer has certainly arrived.

A question that comes again is told by its id: an answered one gets the same answer again, an open one nothing, and only
an unknown one is handed over (rules Q4e, R24). Remembering is bounded; what is forgotten first is what was answered
longest ago.

Spec: rules Q4d, Q4e, R24, T20.
"""

from __future__ import annotations

from typing import Self, TypeAlias, assert_never, final

import attrs

from mcpstreams_sansio.ids import ConnectionId, Digest, RequestId
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Response, digest_of

Answer: TypeAlias = Response | ErrorResponse


@final
@attrs.frozen
class Open:
    """The application has it and has not answered."""


@final
@attrs.frozen
class Unsaved:
    """Answered; the answer goes out once the application has it where it outlives its process (rules R23, R24)."""

    answer: Answer = attrs.field(repr=False)


@final
@attrs.frozen
class Outstanding:
    """Answered; whether the answer has arrived is not known."""

    answer: Answer = attrs.field(repr=False)
    path: ConnectionId | None = None
    """Where it is on its way; None while it waits for a path."""
    failures: int = 0
    """How often it was on its way in vain."""


@final
@attrs.frozen
class Accepted:
    """The server has the answer; it is kept for the case that the question was under way once more."""

    answer: Answer = attrs.field(repr=False)


@final
@attrs.frozen
class Withdrawn:
    """The server no longer wants an answer; the log may still hold the question, and replay it."""


Ask: TypeAlias = Open | Unsaved | Outstanding | Accepted | Withdrawn


@final
@attrs.define(eq=False)
class Asks:
    """The questions of one call, in the order in which they came."""

    _asks: dict[RequestId, Ask] = attrs.field(factory=dict)

    def get(self, ask_id: RequestId) -> Ask | None:
        """Return what is known of a question."""
        return self._asks.get(ask_id)

    def set(self, ask_id: RequestId, ask: Ask) -> None:
        """Note how a question stands."""
        self._asks[ask_id] = ask

    def __len__(self) -> int:
        return len(self._asks)

    def longest_answered(self) -> RequestId | None:
        """Return the question that can best be forgotten: one that is settled, else one whose answer is on its way.

        Never one whose answer waits for a path: asked again, it would be answered with something else (rule T20).
        """
        settled = [ask_id for ask_id, ask in self._asks.items() if isinstance(ask, Accepted | Withdrawn)]
        under_way = [key for key, ask in self._asks.items() if isinstance(ask, Outstanding) and ask.path is not None]
        return next(iter(settled + under_way), None)

    def remove(self, ask_id: RequestId) -> None:
        """Forget a question."""
        del self._asks[ask_id]

    def known(self) -> list[RequestId]:
        """Return every question that is remembered."""
        return list(self._asks)

    def open(self) -> list[RequestId]:
        """Return the questions that the application has not answered."""
        return [ask_id for ask_id, ask in self._asks.items() if isinstance(ask, Open)]

    def answers(self) -> tuple[Answer, ...]:
        """Return every answer that is remembered."""
        known = self._asks.values()
        return tuple(ask.answer for ask in known if isinstance(ask, Unsaved | Outstanding | Accepted))

    def waiting(self) -> list[tuple[RequestId, Outstanding]]:
        """Return the questions whose answer waits for a path."""
        return [(key, ask) for key, ask in self._asks.items() if isinstance(ask, Outstanding) and ask.path is None]

    def lose_path(self, path: ConnectionId) -> None:
        """The answers that were on their way on this path may not have arrived."""
        for ask_id, ask in self._asks.items():
            if isinstance(ask, Outstanding) and ask.path == path:
                self._asks[ask_id] = attrs.evolve(ask, path=None, failures=ask.failures + 1)

    def recall(self, path: ConnectionId) -> None:
        """The answers on this path went out before its server took the call up there, and may not have counted."""
        for ask_id, ask in self._asks.items():
            if isinstance(ask, Outstanding) and ask.path == path:
                self._asks[ask_id] = attrs.evolve(ask, path=None)

    def fork(self) -> Self:
        """Return an independent copy."""
        return type(self)(self._asks.copy())

    def snapshot(self) -> tuple[object, ...]:
        """Return a hashable value, equal for questions that will be treated alike; of an answer it holds a digest."""
        return tuple((ask_id, *_snapshot(ask)) for ask_id, ask in self._asks.items())


def content_of(answer: Response | ErrorResponse) -> Digest:
    """Return a digest of what an answer says, whichever question it answers."""
    return digest_of(attrs.evolve(answer, id=0))


def _snapshot(ask: Ask) -> tuple[object, ...]:
    match ask:
        case Outstanding(answer, path, failures):
            return "outstanding", content_of(answer), path, failures
        case Accepted(answer):
            return "accepted", content_of(answer)
        case Unsaved(answer):
            return "unsaved", content_of(answer)
        case Open() | Withdrawn():
            return (type(ask).__name__,)
        case _:
            assert_never(ask)
