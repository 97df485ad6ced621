"""The application at a client of a world: who waits for one call.

It has to see exactly what the work on that call says, and this is checked at once.
"""

from __future__ import annotations

import enum
import functools
from typing import Final, Self, final

import attrs

from mcpstreams_sansio.client.effects import (
    AskReceived,
    CallCancelled,
    CallFailed,
    CallFinished,
    CallResult,
    Doubt,
    GapFound,
    ItemReceived,
    OutcomeUnknown,
)
from mcpstreams_sansio.client.inputs import SavedCall
from mcpstreams_sansio.ids import RequestId
from mcpstreams_sansio.testing.conversation import FAILURE_CODE, call_name, is_interruption
from mcpstreams_sansio.testing.homes import FIRST
from mcpstreams_sansio.testing.names import Text, text_of
from mcpstreams_sansio.testing.properties import Violation
from mcpstreams_sansio.testing.stores import Store

DIED: Final = "died"
"""The outcome of a call whose caller has kept nothing of it, once its process has ended."""
_INTERRUPTED: Final = "interrupted"
"""What came of a call whose work nobody went on with."""


@enum.unique
class Guarantee(enum.Enum):
    """How often a caller sees a message."""

    EXACTLY_ONCE = "exactly once"
    AT_LEAST_ONCE = "at least once"
    AT_LEAST_ONCE_AFTER_A_GAP = "at least once, after a gap"
    """The caller was told that something is missing."""
    AT_MOST_ONCE = "at most once"
    """What another client with the same call has acknowledged may be missing, and then the caller is told."""
    AT_MOST_ONCE_AFTER_A_GAP = "at most once, after a gap"
    """The caller was told, and has seen nothing since."""

    @property
    def may_repeat(self) -> bool:
        """The caller may see what it has seen before."""
        return self in {Guarantee.AT_LEAST_ONCE, Guarantee.AT_LEAST_ONCE_AFTER_A_GAP}

    @property
    def may_skip(self) -> bool:
        """The caller was told that the next thing it sees may not be the next one."""
        return self in {Guarantee.AT_LEAST_ONCE_AFTER_A_GAP, Guarantee.AT_MOST_ONCE_AFTER_A_GAP}


_AFTER_A_GAP: Final = {
    Guarantee.AT_LEAST_ONCE: Guarantee.AT_LEAST_ONCE_AFTER_A_GAP,
    Guarantee.AT_MOST_ONCE: Guarantee.AT_MOST_ONCE_AFTER_A_GAP,
}
_AFTER_A_MESSAGE: Final = {Guarantee.AT_MOST_ONCE_AFTER_A_GAP: Guarantee.AT_MOST_ONCE}


@final
@attrs.frozen
class Caller:
    """The application at a client, waiting for one call."""

    number: int
    guarantee: Guarantee
    home: str = FIRST
    """Whose client it uses."""
    seen: int = 0
    """The highest number of a message of the work."""
    missed: frozenset[int] = frozenset()
    """Those up to there that it did not see: it was told of a gap."""
    told: int = 0
    """How many more are missing than those, by the gaps that it was told of."""
    position: int = 0
    """Of the last item."""
    taken: int = 0
    """Position up to which the machine was told that it has everything."""
    kept: int = 0
    """The highest number of a message up to `taken`."""
    asked: tuple[RequestId, ...] = ()
    """Every question that it was handed."""
    unanswered: tuple[RequestId, ...] = ()
    attempts: int = 0
    """How often its client has tried to reach the server about the call, since anything last went wrong."""
    cancelled: bool = False
    """It no longer wants the result."""
    saved: SavedCall | None = None
    """What brings the call back, while it is let go."""
    store: Store | None = None
    """Where it keeps the call beyond its process; None if it does not."""
    outcome: str | None = None
    """What came of the call, in a word."""

    @functools.cached_property
    def text(self) -> Text:
        """All of it, for the key of a world."""
        return text_of(self)

    @functools.cached_property
    def text_to_the_end(self) -> Text:
        """The same if its client's process ends no more: then nobody reads what its store holds."""
        if self.store is None:
            return self.text
        blank = attrs.evolve(self, store=attrs.evolve(self.store, kept=None))
        return text_of((blank, self.store.kept is None, self.may_keep))

    @property
    def name(self) -> str:
        """What transcripts call it."""
        return call_name(self.number) if self.home == FIRST else f"{call_name(self.number)}{self.home}"

    @property
    def dawdles(self) -> bool:
        """It was given something and has not come back."""
        return self.outcome is None and self.saved is None and self.taken < self.position

    @property
    def unread(self) -> int:
        """How many messages it was given, and has not taken, or not kept where it keeps its call."""
        kept = self.kept
        if self.store is not None:
            kept = 0 if self.store.kept is None else self.store.kept.seen
        return self.seen - kept - len([number for number in self.missed if number > kept])

    @property
    def has_its_answer(self) -> bool:
        """The call came to its end, and the caller has what came of it."""
        return self.outcome in {CallResult.__name__, CallFailed.__name__, _INTERRUPTED}

    @property
    def is_to_act(self) -> bool:
        """The call goes no further without it."""
        waits = self.store is not None and self.store.under_way is not None
        return bool(self.unanswered) or self.saved is not None or self.is_to_save or waits

    @property
    def is_to_save(self) -> bool:
        """It has something to keep: its call, as it was asked to, or the outcome."""
        store = self.store
        if store is None or not store.is_free or self.saved is not None:
            return False
        return store.due if self.outcome is None else self.outcome != DIED

    @property
    def may_keep(self) -> bool:
        """It has something that it does not keep yet, and was not asked to."""
        store = self.store
        if store is None or not store.is_free or self.saved is not None:
            return False
        if self.outcome is not None:
            return store.ending is not None
        return not store.due and (store.kept is None or store.kept.position < self.taken)

    def see(self, item: ItemReceived) -> Self:
        """See a message.

        Raises:
            Violation: It is not the next one.
        """
        self._check_open()
        number = (item.message.params or {}).get("progress")
        assert isinstance(number, int), "the work numbers what it sends"
        repeated = self.guarantee.may_repeat and number <= self.seen
        later = self.guarantee.may_skip and number > self.seen
        if number != self.seen + 1 and not repeated and not later:
            raise Violation("exactly once, in order", f"call {self.number} saw message {number} after {self.seen}")
        guarantee = _AFTER_A_MESSAGE.get(self.guarantee, self.guarantee)
        return attrs.evolve(
            self,
            seen=max(number, self.seen),
            missed=self.missed.union(range(self.seen + 1, number)),
            told=self.told - max(number - self.seen - 1, 0) if guarantee.may_skip else 0,
            position=self._next(item.position),
            guarantee=guarantee,
        )

    def miss(self, gap: GapFound) -> Self:
        """Be told that something is missing.

        Raises:
            Violation: The client's side can always tell what it has, so nothing need be missing.
        """
        self._check_open()
        if self.guarantee is Guarantee.EXACTLY_ONCE:
            raise Violation("nothing is missing", f"call {self.number} misses messages, and no log was ever full")
        guarantee = _AFTER_A_GAP.get(self.guarantee, self.guarantee)
        return attrs.evolve(self, guarantee=guarantee, told=self.told + gap.lost, position=gap.position)

    def consider(self, ask: AskReceived) -> Self:
        """See a question.

        Raises:
            Violation: It was handed over before (rule R24).
        """
        self._check_open()
        if ask.ask_id in self.asked:
            raise Violation("a question is handed over once", f"call {self.number} was asked the same twice")
        asked, unanswered = (*self.asked, ask.ask_id), (*self.unanswered, ask.ask_id)
        return attrs.evolve(self, asked=asked, unanswered=unanswered, position=max(ask.position, self.position))

    def answer(self) -> tuple[RequestId, Self]:
        """Answer the oldest open question."""
        return self.unanswered[0], attrs.evolve(self, unanswered=self.unanswered[1:])

    def withdraw(self, ask_id: RequestId) -> Self:
        """Forget a question that is no longer asked.

        Raises:
            Violation: The call is over, and with it all that was asked.
        """
        self._check_open()
        return attrs.evolve(self, unanswered=tuple(each for each in self.unanswered if each != ask_id))

    def has_seen(self, number: int) -> bool:
        """Return whether it saw a message of the work."""
        return number <= self.seen and number not in self.missed

    def may_see(self, number: int) -> bool:
        """Return whether a message of the work may still come to it."""
        return self.outcome is None and number > self.seen

    def take(self) -> Self:
        """Come back for more."""
        return attrs.evolve(self, taken=self.position, kept=self.seen)

    def let_go(self, saved: SavedCall) -> Self:
        """Keep what brings the call back. What was not taken comes again, and so does what was asked."""
        return attrs.evolve(self, saved=saved, seen=self.kept, position=self.taken, asked=(), unanswered=())

    def go_on(self) -> tuple[SavedCall, Self]:
        """Go on with the call."""
        assert self.saved is not None, "it was let go"
        return self.saved, attrs.evolve(self, saved=None)

    def crash(self) -> Self:
        """Lose all that is not kept: what was kept brings the call back, and the caller to where it was then."""
        store = self.store
        if store is None or store.done or self.outcome == DIED:
            return self
        if store.kept is None:
            return attrs.evolve(self, outcome=DIED, unanswered=(), saved=None, store=store.after_crash())
        kept = store.kept
        return attrs.evolve(
            self,
            seen=kept.seen,
            kept=kept.seen,
            position=kept.position,
            taken=kept.position,
            asked=kept.answered,
            unanswered=(),
            outcome=None,
            saved=kept.saved,
            store=store.after_crash(),
        )

    def cancel(self) -> Self:
        """Want the result no longer."""
        return attrs.evolve(self, cancelled=True)

    def finish(self, end: CallFinished, messages: int) -> Self:
        """See the end.

        Args:
            end: What came of the call.
            messages: How many the work sent.

        Raises:
            Violation: It had an end before; or it has its answer without all that came before it, or another's; or it
                is still asked something.
        """
        self._check_open()
        if self.unanswered:
            raise Violation("no question outlives its call", f"call {self.number} is over, and asks its caller")
        match end.outcome:
            case CallResult(result=result):
                self._check_all(messages)
                if result.get("number") != self.number:
                    raise Violation("each has its own answer", f"call {self.number} has the answer to another call")
            case OutcomeUnknown(doubt=Doubt.INTERRUPTED):
                self._check_all(messages)
            case CallFailed(error=error):
                self._check_all(messages)
                if error.code != FAILURE_CODE and not is_interruption(error):
                    text = f"call {self.number} failed with {error.code}, which its work never said"
                    raise Violation("each has its own answer", text)
            case CallCancelled() if not self.cancelled:
                raise Violation("nothing unasked", f"call {self.number} is over as cancelled, which it never was")
            case _:
                pass
        missed = self.missed.union(range(self.seen + 1, messages + 1)) if self.guarantee.may_skip else self.missed
        word = _INTERRUPTED if end.outcome == OutcomeUnknown(Doubt.INTERRUPTED) else type(end.outcome).__name__
        return attrs.evolve(self, outcome=word, missed=missed, told=0, position=end.position)

    def _check_all(self, messages: int) -> None:
        if self.seen != messages and not self.guarantee.may_skip:
            text = f"call {self.number} has its answer and saw {self.seen} of {messages} messages"
            raise Violation("nothing is missing", text)

    def _check_open(self) -> None:
        if self.outcome is not None:
            raise Violation("one end, and nothing after it", f"something came for call {self.number} after its end")

    def _next(self, position: int) -> int:
        if position <= self.position and not self.guarantee.may_repeat:
            raise Violation("positions rise", f"call {self.number} was at {self.position} and is at {position}")
        return max(position, self.position)
