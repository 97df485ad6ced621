"""A machine that forks of a world share until one of them changes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, Self, TypeVar

import attrs

from mcpstreams_sansio.testing.names import Text, text_of

EventT_contra = TypeVar("EventT_contra", contravariant=True)
EffectT_co = TypeVar("EffectT_co", covariant=True)
EventT = TypeVar("EventT")
EffectT = TypeVar("EffectT")


class Machine(Protocol[EventT_contra, EffectT_co]):
    """What both sides' machines have in common."""

    def handle(self, event: EventT_contra, now: float) -> Sequence[EffectT_co]:
        """Take an input; return what is to be done."""

    def next_deadline(self) -> float | None:
        """Say when it wants to be woken."""

    def fork(self) -> Self:
        """Return an independent copy."""

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return what decides its future, with times relative to `now`."""


@attrs.define(eq=False)
class Shared(Generic[EventT, EffectT]):
    """One world's hold on a machine: copied before it is changed, read as text once for each change."""

    _machine: Machine[EventT, EffectT]
    _own: bool = True
    """No other world holds it."""
    _text: Text | None = None
    """Its snapshot, as of `_text_time`; None if it was not taken since the last change."""
    _text_time: float = 0.0

    def handle(self, event: EventT, now: float) -> Sequence[EffectT]:
        """Tell the machine, or a copy of it if it is shared."""
        if not self._own:
            self._machine = self._machine.fork()
            self._own = True
        self._text = None
        return self._machine.handle(event, now)

    def next_deadline(self) -> float | None:
        """Say when the machine wants to be woken."""
        return self._machine.next_deadline()

    def text(self, now: float) -> Text:
        """Return the machine's snapshot as text, the same for equal ones."""
        text = self._text
        if text is None or self._text_time != now:
            text = self._text = text_of(self._machine.snapshot(now))
            self._text_time = now
        return text

    def fork(self) -> Self:
        """Return another world's hold on the same machine."""
        self._own = False
        return type(self)(self._machine, False, self._text, self._text_time)
