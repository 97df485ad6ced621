"""The application at the server of a world: the work on one call.

It sends messages numbered from 1, may ask, and answers or fails. What it does is counted.
"""

from __future__ import annotations

import enum
import functools
from typing import Final, Self, final

import attrs

from mcpstreams_sansio.ids import RequestId, StreamId
from mcpstreams_sansio.testing.conversation import message
from mcpstreams_sansio.testing.names import Text, text_of
from mcpstreams_sansio.testing.properties import Violation
from mcpstreams_sansio.wire.jsonrpc import JSONValue, Notification


@enum.unique
class WorkState(enum.Enum):
    """How the work on a call stands."""

    RUNNING = "running"
    HELD = "held"
    """It was told to wait before it sends more."""
    ASKING = "asking"
    """It waits for an answer."""
    ASKING_AND_HELD = "asking and held"
    """It waits for an answer, and is then to wait before it sends more."""
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    """It was told to stop, or ended with its process."""
    GIVEN_UP = "given up"
    """It was interrupted, and nobody goes on with it."""


CREATE: Final = 1
"""The position of `create`, before all that work says."""
_ANSWERED: Final = {WorkState.SUCCEEDED, WorkState.FAILED, WorkState.GIVEN_UP}
_OVER: Final = {*_ANSWERED, WorkState.STOPPED}
_HELD: Final = {WorkState.RUNNING: WorkState.HELD, WorkState.ASKING: WorkState.ASKING_AND_HELD}
_NOT_HELD: Final = {held: state for state, held in _HELD.items()}


@final
@attrs.frozen
class Work:
    """The application at the server, working on one call."""

    number: int
    """Which call."""
    stream_id: StreamId
    request_id: RequestId
    progress_token: JSONValue = attrs.field(hash=False)
    """What its messages carry."""
    messages: int
    """How many are still to be sent."""
    asks: int
    """How many questions are still to be asked."""
    state: WorkState = WorkState.RUNNING
    sent: int = 0
    asked: int = 0
    withdrawn: int = 0
    """How many of its questions nobody has answered in time."""
    ask_id: str | None = None
    """The question that is open."""
    interrupted: bool = False
    """It is to be gone on with in another process, and nothing was done there so far."""

    @functools.cached_property
    def text(self) -> Text:
        """All of it, for the key of a world."""
        return text_of(self)

    @property
    def may_respond(self) -> bool:
        """All is said and asked."""
        return self.state is WorkState.RUNNING and not self.messages and not self.asks

    @property
    def has_answered(self) -> bool:
        """It has answered its call."""
        return self.state in _ANSWERED

    @property
    def failed(self) -> bool:
        """Its answer is an error."""
        return self.state in {WorkState.FAILED, WorkState.GIVEN_UP}

    @property
    def last_entry(self) -> int:
        """Where the last thing stands that it has said, in an announced stream: behind `create`, before `end`."""
        return CREATE + self.sent + self.asked + self.withdrawn + self.has_answered

    @property
    def asking(self) -> bool:
        """A question is open."""
        return self.state in {WorkState.ASKING, WorkState.ASKING_AND_HELD}

    @property
    def over(self) -> bool:
        """It does nothing more."""
        return self.state in _OVER

    def send(self) -> tuple[Notification, Self]:
        """Send the next message."""
        sent = self.sent + 1
        after = attrs.evolve(self, messages=self.messages - 1, sent=sent, interrupted=False)
        return message(sent, self.progress_token), after

    def ask(self, ask_id: str) -> Self:
        """Ask, and wait."""
        return attrs.evolve(
            self,
            asks=self.asks - 1,
            asked=self.asked + 1,
            ask_id=ask_id,
            state=WorkState.ASKING,
            interrupted=False,
        )

    def answered(self, ask_id: str) -> Self:
        """Go on: the answer has come, or never will.

        Raises:
            Violation: Nothing was asked, or it was answered before (rule R24).
        """
        if not self.asking or self.ask_id != ask_id:
            raise Violation("a question is answered once", f"the work on call {self.number} waits for no such answer")
        after = WorkState.RUNNING if self.state is WorkState.ASKING else WorkState.HELD
        return attrs.evolve(self, ask_id=None, state=after)

    def withdraw(self, ask_id: str) -> Self:
        """Go on without an answer: its client is told that none is wanted any more.

        Raises:
            Violation: Nothing was asked, or it was answered before (rule R24).
        """
        return attrs.evolve(self.answered(ask_id), withdrawn=self.withdrawn + 1)

    def interrupt(self, sent: int, asked: int, withdrawn: int, ask_id: str | None) -> Self:
        """Be gone on with in another process, after what is durable of it.

        Args:
            sent: How many of its messages are.
            asked: How many of its questions are.
            withdrawn: How many of these are withdrawn.
            ask_id: That of them which is open.
        """
        return attrs.evolve(
            self,
            messages=self.messages + self.sent - sent,
            asks=self.asks + self.asked - asked,
            sent=sent,
            asked=asked,
            withdrawn=withdrawn,
            ask_id=ask_id,
            state=WorkState.RUNNING if ask_id is None else WorkState.ASKING,
            interrupted=True,
        )

    def hold(self) -> Self:
        """Wait before sending more."""
        return self.become(_HELD.get(self.state, self.state))

    def go_on(self) -> Self:
        """Wait no longer than for an answer."""
        return self.become(_NOT_HELD.get(self.state, self.state))

    def become(self, state: WorkState) -> Self:
        """Go over to another state."""
        return attrs.evolve(self, state=state)
