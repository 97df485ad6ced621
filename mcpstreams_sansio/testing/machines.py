"""Machines as worlds hold them: each moment of one is shared by all worlds that came to it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Final, Generic, Protocol, Self, TypeAlias, TypeVar, final

import attrs

from mcpstreams_sansio.testing.names import HORIZON, Text, text_of
from mcpstreams_sansio.testing.properties import Violation

EventT_contra = TypeVar("EventT_contra", contravariant=True)
EffectT_co = TypeVar("EffectT_co", covariant=True)
EventT = TypeVar("EventT")
EffectT = TypeVar("EffectT")


class Machine(Protocol[EventT_contra, EffectT_co]):
    """What both sides' machines have in common."""

    @property
    def open_calls(self) -> int:
        """How many calls it holds that are not over."""

    def handle(self, event: EventT_contra, now: float) -> Sequence[EffectT_co]:
        """Take an input; return what is to be done."""

    def next_deadline(self) -> float | None:
        """Say when it wants to be woken."""

    def fork(self) -> Self:
        """Return an independent copy."""

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return what decides its future, with times relative to `now`."""


_REMEMBERED: Final = 65_536
"""How many steps of a machine are remembered, at least; up to as many again are still there from before."""

_Step: TypeAlias = "tuple[Shared[EventT, EffectT], Hashable, float]"
"""A moment of a machine, an input, and the time."""
_Outcome: TypeAlias = "tuple[Shared[EventT, EffectT], Sequence[EffectT]]"


@final
@attrs.define(eq=False)
class _Steps(Generic[EventT, EffectT]):
    """The last steps of the machines of one side, in all worlds that come from the same start."""

    _recent: dict[_Step[EventT, EffectT], _Outcome[EventT, EffectT]] = attrs.field(factory=dict)
    _older: dict[_Step[EventT, EffectT], _Outcome[EventT, EffectT]] = attrs.field(factory=dict)

    def find(self, step: _Step[EventT, EffectT]) -> _Outcome[EventT, EffectT] | None:
        """Return the outcome of a step, if it is remembered."""
        return self._recent.get(step) or self._older.get(step)

    def remember(self, step: _Step[EventT, EffectT], outcome: _Outcome[EventT, EffectT]) -> None:
        """Remember a step; from time to time, forget all that is older than the last many."""
        if len(self._recent) == _REMEMBERED:
            self._older, self._recent = self._recent, {}
        self._recent[step] = outcome


@final
@attrs.define(eq=False)
class Shared(Generic[EventT, EffectT]):
    """A machine at one moment, held by every world that came to it: it is never changed, only followed.

    Most orders of events lead a machine through the same moments, while something else in the world differs. So what
    follows from an input is worked out once, and remembered for a while.
    """

    _machine: Machine[EventT, EffectT]
    _steps: _Steps[EventT, EffectT] = attrs.field(factory=_Steps)
    _text: Text | None = None
    """Its snapshot, as of `_text_time`; None if nobody has asked for it."""
    _text_time: float = 0.0

    def handle(self, event: EventT, now: float) -> tuple[Self, Sequence[EffectT]]:
        """Tell the machine; return its next moment, and what is to be done."""
        step = (self, _recognisable(event), now)
        outcome = self._steps.find(step)
        if outcome is None:
            machine = self._machine.fork()
            effects = tuple(machine.handle(event, now))
            outcome = type(self)(machine, self._steps), effects
            self._steps.remember(step, outcome)
        return outcome

    def next_deadline(self) -> float | None:
        """Say when the machine wants to be woken."""
        return self._machine.next_deadline()

    def rests(self, now: float) -> bool:
        """Return whether no call is open, and the machine waits for no moment that ever comes."""
        deadline = self.next_deadline()
        return not self._machine.open_calls and (deadline is None or deadline - now >= HORIZON)

    def text(self, now: float) -> Text:
        """Return the machine's snapshot as text, the same for equal ones."""
        text = self._text
        if text is None or self._text_time != now:
            text = self._text = text_of(self._machine.snapshot(now))
            self._text_time = now
        return text


def is_due(deadline: float | None, now: float) -> bool:
    """Return whether the moment has come for which a machine waits, if it waits for one."""
    return deadline is not None and deadline <= now


def check_due(machine: Shared[EventT, EffectT], now: float) -> None:
    """Check that a machine which has heard something has done what was due, however late it was woken.

    What it has heard may be a reason to be woken at once.

    Raises:
        Violation: It still waits for a moment that is over.
    """
    deadline = machine.next_deadline()
    if deadline is not None and deadline < now:
        raise Violation("what is due is done", f"a machine still waits for a moment {now - deadline} s ago")


def _recognisable(event: object) -> Hashable:
    """Return what is the same for equal inputs, and for them only: the text, if JSON in one keeps it from hashing."""
    try:
        hash(event)
    except TypeError:
        return text_of(event)
    return event
