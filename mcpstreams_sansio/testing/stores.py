"""What a caller keeps of its call where it outlives the client's process (rule R23)."""

from __future__ import annotations

from typing import Self, final

import attrs

from mcpstreams_sansio.client.inputs import SavedCall
from mcpstreams_sansio.ids import RequestId


@final
@attrs.frozen
class Kept:
    """What brings the call back, and in one transaction with it what the caller made of the call."""

    saved: SavedCall
    seen: int
    """The highest number of a message of the work that was dealt with."""
    position: int
    """Of the last item that was."""

    @property
    def answered(self) -> tuple[RequestId, ...]:
        """The questions to which an answer is kept."""
        return tuple(answer.id for answer in self.saved.answers if answer.id is not None)


@final
@attrs.frozen
class Outcome:
    """What came of the call: with it nothing else is needed any more."""


@final
@attrs.frozen
class Store:
    """Where one caller keeps its call."""

    kept: Kept | None = None
    """What is there: it outlives the process."""
    under_way: Kept | Outcome | None = None
    """What is being written."""
    ending: Kept | None = None
    """What leads to the end of the call once more, if that was told and may be kept in place of the outcome."""
    due: bool = False
    """The machine wants the call to be saved."""
    done: bool = False
    """The outcome is there, and nothing else is needed any more."""

    @property
    def waits(self) -> bool:
        """The call goes no further before something is written."""
        return self.due or self.under_way is not None

    @property
    def is_free(self) -> bool:
        """Something more may be written."""
        return not self.done and self.under_way is None

    def write(self, what: Kept | Outcome) -> Self:
        """Begin to write."""
        return attrs.evolve(self, under_way=what, due=False, ending=None)

    def written(self) -> Self:
        """It is written."""
        match self.under_way:
            case Kept() as kept:
                return attrs.evolve(self, kept=kept, under_way=None)
            case _:
                return attrs.evolve(self, under_way=None, done=True)

    def after_crash(self) -> Self:
        """Return what the next process finds."""
        return attrs.evolve(self, under_way=None, ending=None, due=False)
