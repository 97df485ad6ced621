"""One call of a client, as its application sees it (rules R23, R27)."""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self, TypeAlias, final

import attrs
import trio

from mcpstreams_sansio.client.effects import CallDetached, CallFinished, GapFound, ItemReceived, Outcome, SaveDue
from mcpstreams_sansio.client.inputs import (
    AttachCall,
    CallSaved,
    CancelCall,
    ClientOrder,
    DetachCall,
    MakeCall,
    OutcomeSaved,
    SavedCall,
    TakeMessages,
)
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.ids import CallId
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Notification
from trio_bindings.outcomes import result_of


@final
@attrs.frozen
class Gap:
    """So many messages of the call, `lost`, are gone for good; the next item comes from after them (rule R10)."""

    lost: int
    """How many."""


@final
@attrs.frozen
class ToSave:
    """The call is to be saved now, by `ClientCall.save` (rule R23): only a call that is `stored` has such items."""


Item: TypeAlias = Notification | Gap | ToSave
"""What iterating a call gives."""


@final
@attrs.frozen
class CallHandle:
    """A call that was let go without being cancelled: `ClientSession.attach` goes on with it, here or elsewhere."""

    saved: SavedCall
    """The call as plain data, secrets included."""


@enum.unique
class _Cut(enum.Enum):
    """Why a call has neither an outcome nor a handle, and nothing to wait for."""

    NOT_ENTERED = enum.auto()
    SESSION_CLOSED = enum.auto()


_End: TypeAlias = CallFinished | CallHandle | _Cut


@final
class ClientCall:
    """A call inside its `async with` block: iterate it for its messages, then ask for its result.

    Coming back for the next message says that the one before is dealt with: the server may forget it. Leaving the block
    before the call has ended cancels it, unless it was detached. A call that is stored is let go of where an exception
    leaves the block, cancellation of the task and Ctrl-C among them: so do most processes end, and what was saved is to
    bring it back (rule R27).

    Args:
        method: What it asks for.
        begin: Gives the call a fresh id and returns the input that makes or attaches it.
        submit: The driver's `submit`.
        save: Asks the machine for what brings a call back.
        forget: Called once the application is done with the call.
    """

    def __init__(
        self,
        method: str,
        begin: Callable[[ClientCall], MakeCall | AttachCall],
        submit: Callable[[ClientOrder], None],
        save: Callable[[CallId], SavedCall | None],
        forget: Callable[[CallId], None],
    ) -> None:
        self.method = method
        self._begin = begin
        self._call_id = CallId(0)
        self._submit = submit
        self._save = save
        self._forget = forget
        self._waiting: deque[ItemReceived | GapFound | SaveDue] = deque()
        self._stored = False
        self._given = 0
        self._taken = 0
        self._end: _End | None = _Cut.NOT_ENTERED
        self._news = trio.lowlevel.ParkingLot()

    def __repr__(self) -> str:
        return f"<ClientCall {self.method}: {self._standing()}, {len(self._waiting)} unread>"

    def _standing(self) -> str:
        match self._end:
            case None:
                return "following"
            case CallFinished(outcome=outcome):
                return type(outcome).__name__
            case CallHandle():
                return "detached"
            case _Cut() as cut:
                return cut.name.lower().replace("_", " ")

    # ------------------------------------------------------------------------------------- what the session puts down

    def put(self, effect: ItemReceived | GapFound | SaveDue) -> None:
        """Add an item; how many may wait is the machine's limit (rule R23). What is to be saved is said once."""
        if not isinstance(effect, SaveDue) or not any(isinstance(waits, SaveDue) for waits in self._waiting):
            self._waiting.append(effect)
        self._news.unpark_all()

    def end(self, effect: CallFinished | CallDetached) -> None:
        """Note that nothing more comes: here is the outcome, or what brings the call back."""
        self._end = CallHandle(effect.saved) if isinstance(effect, CallDetached) else effect
        self._news.unpark_all()

    def cut(self) -> None:
        """Note that the session is over, and the call with it."""
        self._end = self._end or _Cut.SESSION_CLOSED
        self._news.unpark_all()

    # ----------------------------------------------------------------------------------------------------------- block

    async def __aenter__(self) -> Self:
        await trio.lowlevel.checkpoint()
        if self._end is not _Cut.NOT_ENTERED:
            raise LocalProtocolError("a call is made once")
        event = self._begin(self)
        self._call_id, self._end, self._stored = event.call_id, None, event.stored
        try:
            self._submit(event)
        except BaseException:
            self._end = _Cut.NOT_ENTERED
            self._forget(self._call_id)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            match self._end:
                case None if self._stored and error is not None:
                    self._submit(DetachCall(self._call_id))
                case None:
                    self._submit(CancelCall(self._call_id))
                case CallFinished(position=position) if error is None:
                    self._take(position)
                case _:
                    pass
        finally:
            self._forget(self._call_id)

    # ----------------------------------------------------------------------------------------------------------- items

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        """Return the next message, or the gap where messages are lost; it ends where the call ends.

        Raises:
            LocalProtocolError: The call was not entered, so there is nothing to wait for.
            trio.ClosedResourceError: The session is over.
        """
        self._take(self._given)
        await trio.lowlevel.checkpoint()
        while not self._waiting:
            match self._end:
                case None:
                    await self._news.park()
                case CallFinished() | CallHandle():
                    raise StopAsyncIteration
                case _Cut() as cut:
                    raise _reason(cut)
        effect = self._waiting.popleft()
        match effect:
            case SaveDue():
                return ToSave()
            case ItemReceived(message=message):
                self._given = effect.position
                return message
            case GapFound(lost=lost):
                self._given = effect.position
                return Gap(lost)

    def _take(self, through: int) -> None:
        if through > self._taken and not isinstance(self._end, CallHandle | _Cut):
            self._taken = through
            self._submit(TakeMessages(self._call_id, through))

    # --------------------------------------------------------------------------------------------------------- outcome

    async def outcome(self) -> Outcome:
        """Return how the call ended, once it has. What was not iterated is discarded.

        Raises:
            LocalProtocolError: The call was not entered; or it was detached: its outcome is for whoever attaches it; or
                it is stored and has not ended: it has to be saved while it is iterated.
            trio.ClosedResourceError: The session is over.
        """
        await trio.lowlevel.checkpoint()
        if self._stored and self._end is None:
            raise LocalProtocolError("a stored call is iterated to its end: it has to be saved meanwhile")
        while True:
            self._discard()
            match self._end:
                case None:
                    await self._news.park()
                case CallFinished(position=position, outcome=outcome):
                    self._take(position)
                    return outcome
                case CallHandle():
                    raise LocalProtocolError("a detached call has no outcome here")
                case _Cut() as cut:
                    raise _reason(cut)

    def _discard(self) -> None:
        while self._waiting:
            effect = self._waiting.popleft()
            if not isinstance(effect, SaveDue):
                self._given = effect.position
        self._take(self._given)

    async def result(self) -> JSONObject:
        """Return the result of the call, once it is there. What was not iterated is discarded.

        Raises:
            NoResultError: There is none; the type says why.
            LocalProtocolError: The call was not entered, or was detached.
            trio.ClosedResourceError: The session is over.
        """
        return result_of(await self.outcome())

    def detach(self) -> CallHandle:
        """Let go of the call without cancelling it; nothing more comes of it here.

        What was iterated counts as dealt with; what waits comes again wherever the call is attached.

        Raises:
            LocalProtocolError: The call was not entered, is over, or was detached before.
        """
        if self._end is _Cut.NOT_ENTERED:
            raise _reason(self._end)
        if self._end is not None:
            raise LocalProtocolError("a call can be detached once, and only before its end")
        self._take(self._given)
        self._waiting.clear()
        self._submit(DetachCall(self._call_id))
        return self._handle()

    def save(self) -> CallHandle:
        """Return what brings the call back in another process. What was iterated counts as dealt with.

        Keep it in one step with what was made of the messages, then say so by `saved`. Of one call keep the latest,
        until the outcome is kept.

        Raises:
            LocalProtocolError: The call was not entered, was detached, or is not stored.
        """
        self._take(self._given)
        match self._end:
            case None:
                return self._save_open()
            case CallFinished() as finished if (saved := finished.saved_after(self._given)) is not None:
                return CallHandle(saved)
            case CallFinished() | CallHandle():
                raise LocalProtocolError("a call is saved if it is stored, and as long as it was not detached")
            case _Cut() as cut:
                raise _reason(cut)

    def saved(self, handle: CallHandle) -> None:
        """Say that what `save` returned is kept where it outlives the process: until then nothing goes out.

        Raises:
            LocalProtocolError: `save` did not return it.
        """
        self._submit(CallSaved(self._call_id, handle.saved))

    def outcome_saved(self) -> None:
        """Say that the outcome is kept, so that the server may forget it; what `save` returned is of no use any more.

        Raises:
            LocalProtocolError: The call has no outcome yet.
        """
        self._submit(OutcomeSaved(self._call_id))

    def _save_open(self) -> CallHandle:
        saved = self._save(self._call_id)
        if saved is None:
            raise AssertionError("the machine tells of the end of a call at once")
        return CallHandle(saved)

    def _handle(self) -> CallHandle:
        if not isinstance(self._end, CallHandle):
            raise AssertionError("the machine answers DetachCall at once")
        return self._end


def _reason(cut: _Cut) -> Exception:
    """Return what an application is told that waits for something of a call."""
    match cut:
        case _Cut.NOT_ENTERED:
            return LocalProtocolError("nothing comes of a call before it is entered: `async with session.call(...)`")
        case _Cut.SESSION_CLOSED:
            return trio.ClosedResourceError()
