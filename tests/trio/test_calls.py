"""A call of a client: its items, its positions, its outcome, and every way to leave it (rules R23, R27)."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import attrs
import pytest
import trio

from mcpstreams_sansio import CallId, Entropy, LocalProtocolError
from mcpstreams_sansio.client.effects import (
    CallCancelled,
    CallDetached,
    CallFailed,
    CallFinished,
    CallLost,
    CallNotRun,
    CallResult,
    Doubt,
    GapFound,
    ItemReceived,
    NotRun,
    Outcome,
    OutcomeUnknown,
    SaveDue,
    Unread,
)
from mcpstreams_sansio.client.failures import Failure, Said
from mcpstreams_sansio.client.inputs import (
    AttachCall,
    CallSaved,
    CancelCall,
    DetachCall,
    MakeCall,
    OutcomeSaved,
    SavedCall,
    TakeMessages,
)
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Notification
from mcpstreams_sansio.wire.refusals import Reason
from tests.trio.machines import settle
from trio_bindings.calls import CallHandle, ClientCall, Gap, ToSave
from trio_bindings.outcomes import (
    CallCancelledError,
    CallFailedError,
    CallLostError,
    CallNotRunError,
    NoResultError,
    OutcomeUnknownError,
)

ID = CallId(7)
BEGIN = MakeCall(ID, "tools/call", {}, Entropy(b"x" * 32))
SAVED = SavedCall("id-7", "tools/call", {}, taken=0)
STORED = attrs.evolve(BEGIN, stored=True)
DONE = CallResult({"answer": 42})


class Session:
    """Stands for the session: hears what the call says to the machine."""

    def __init__(self, begin: MakeCall | AttachCall = BEGIN) -> None:
        self.heard: list[object] = []
        self.forgotten: list[CallId] = []
        self.call = ClientCall("tools/call", lambda _: begin, self.submit, self.save, self.forgotten.append)

    def submit(self, event: object) -> None:
        self.heard.append(event)
        if isinstance(event, DetachCall):
            self.call.end(CallDetached(ID, SAVED))

    def save(self, call_id: CallId) -> SavedCall:
        assert call_id == ID
        return attrs.evolve(SAVED, taken=max(self.taken(), default=0))

    def taken(self) -> list[int]:
        return [event.through for event in self.heard if isinstance(event, TakeMessages)]

    def gives(self, *positions: int) -> None:
        for position in positions:
            self.call.put(ItemReceived(ID, position, Notification("n", {"position": position})))

    def wants_saving(self) -> None:
        self.call.put(SaveDue(ID, SAVED))

    def loses(self, position: int, lost: int) -> None:
        self.call.put(GapFound(ID, position, lost))

    def finishes(
        self, position: int, outcome: Outcome = DONE, saved: SavedCall | None = None, unread: tuple[Unread, ...] = ()
    ) -> None:
        self.call.end(CallFinished(ID, position, outcome, saved, unread))


def message(position: int) -> Notification:
    return Notification("n", {"position": position})


@contextlib.asynccontextmanager
async def calling(begin: MakeCall | AttachCall = BEGIN) -> AsyncIterator[Session]:
    session = Session(begin)
    with trio.fail_after(5):
        async with session.call:
            yield session


async def test_entering_makes_the_call_and_leaving_forgets_it() -> None:
    async with calling() as session:
        assert session.heard == [BEGIN]
        session.finishes(0)
    assert session.forgotten == [ID]


async def test_iterating_gives_the_messages_in_order_and_ends_where_the_call_ends() -> None:
    async with calling() as session:
        session.gives(2, 3)
        session.finishes(4)
        assert [item async for item in session.call] == [message(2), message(3)]
        assert await session.call.result() == {"answer": 42}


async def test_iterating_waits_for_what_is_still_to_come() -> None:
    async with calling() as session, trio.open_nursery() as nursery:
        items: list[object] = []

        async def iterate() -> None:
            async for item in session.call:
                items.append(item)  # noqa: PERF401  # a test looks at the list while it grows

        nursery.start_soon(iterate)
        await settle()
        session.gives(2)
        await settle()
        assert items == [message(2)]
        session.finishes(3)


@pytest.mark.rule("R10")
async def test_what_is_lost_is_an_item_in_its_place() -> None:
    async with calling() as session:
        session.gives(2)
        session.loses(9, lost=6)
        session.gives(10)
        session.finishes(11)
        assert [item async for item in session.call] == [message(2), Gap(6), message(10)]


@pytest.mark.rule("R23")
async def test_a_message_is_taken_when_the_application_comes_back_and_not_before() -> None:
    async with calling() as session:
        session.gives(2, 3)
        await anext(session.call)
        assert session.taken() == []
        await anext(session.call)
        assert session.taken() == [2]
        session.finishes(4)
        with pytest.raises(StopAsyncIteration):
            await anext(session.call)
        assert session.taken() == [2, 3]


@pytest.mark.rule("R23")
async def test_asking_for_the_result_takes_and_discards_what_was_not_iterated() -> None:
    async with calling() as session, trio.open_nursery() as nursery:
        session.gives(2, 3)
        nursery.start_soon(session.call.result)
        await settle()
        assert session.taken() == [3]
        session.gives(4)
        await settle()
        assert session.taken() == [3, 4]
        session.finishes(6)
    assert session.taken() == [3, 4, 6]


@pytest.mark.rule("R23")
async def test_leaving_normally_takes_everything_of_a_call_that_has_ended() -> None:
    async with calling() as session:
        session.gives(2)
        session.finishes(4)
    assert session.heard[1:] == [TakeMessages(ID, 4)]


@pytest.mark.rule("R23")
async def test_leaving_by_an_exception_takes_nothing_more() -> None:
    session = Session()

    async def run() -> None:
        async with session.call:
            session.gives(2)
            await anext(session.call)
            session.finishes(4)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await run()
    assert session.taken() == []
    assert session.forgotten == [ID]


@pytest.mark.rule("R27", "R22")
async def test_leaving_early_cancels() -> None:
    async with calling() as session:
        session.gives(2)
        await anext(session.call)
    assert session.heard[1:] == [CancelCall(ID)]
    assert session.forgotten == [ID]


@pytest.mark.rule("R27", "R22")
async def test_being_cancelled_cancels_the_call() -> None:
    session = Session()
    with trio.move_on_after(0):
        async with session.call:
            await anext(session.call)
    async with Session().call as call:
        call.end(CallFinished(ID, 0, DONE))
    session = Session()
    with trio.CancelScope() as scope:
        async with session.call:
            scope.cancel()
            await anext(session.call)
    assert session.heard[1:] == [CancelCall(ID)]


@pytest.mark.rule("R27", "R23")
@pytest.mark.parametrize("error", [OSError("the disk is full"), KeyboardInterrupt()])
async def test_an_exception_lets_go_of_a_stored_call_and_does_not_cancel_it(error: BaseException) -> None:
    session = Session(STORED)

    async def run() -> None:
        async with session.call:
            session.gives(2)
            await anext(session.call)
            raise error

    with pytest.raises(type(error)):
        await run()
    assert session.heard[1:] == [DetachCall(ID)], "and what it was working on is not taken"
    assert session.forgotten == [ID]


@pytest.mark.rule("R27")
async def test_being_cancelled_lets_go_of_a_stored_call() -> None:
    session = Session(STORED)
    with trio.CancelScope() as scope:
        async with session.call:
            scope.cancel()
            await anext(session.call)
    assert session.heard[1:] == [DetachCall(ID)]


@pytest.mark.rule("R27", "R22")
async def test_leaving_early_without_an_exception_cancels_a_stored_call_too() -> None:
    async with calling(STORED) as session:
        session.gives(2)
        await anext(session.call)
    assert session.heard[1:] == [CancelCall(ID)]


@pytest.mark.rule("R27")
async def test_a_detached_call_is_not_cancelled_and_its_handle_brings_it_back() -> None:
    async with calling() as session:
        session.gives(2, 3)
        await anext(session.call)
        assert session.call.detach() == CallHandle(SAVED)
    assert session.heard[1:] == [TakeMessages(ID, 2), DetachCall(ID)]


@pytest.mark.rule("R23")
async def test_what_is_iterated_counts_as_dealt_with_when_a_call_is_saved() -> None:
    async with calling(STORED) as session:
        session.gives(2, 3)
        assert await anext(session.call) == message(2)
        assert session.taken() == []
        handle = session.call.save()
        assert handle == CallHandle(attrs.evolve(SAVED, taken=2))
        session.call.saved(handle)
        assert session.heard[1:] == [TakeMessages(ID, 2), CallSaved(ID, handle.saved)]
        session.finishes(4)


async def test_that_a_call_is_to_be_saved_is_an_item_and_comes_once() -> None:
    async with calling(STORED) as session:
        session.wants_saving()
        session.wants_saving()
        session.gives(2)
        session.finishes(3)
        assert [item async for item in session.call] == [ToSave(), message(2)]


@pytest.mark.rule("R23")
async def test_what_is_taken_after_the_end_is_saved_too_until_the_outcome_is() -> None:
    async with calling(STORED) as session:
        session.gives(2, 3)
        session.finishes(4, saved=attrs.evolve(SAVED, taken=1), unread=(Unread(2, 2, "e2"), Unread(3, 3, "e3")))
        assert session.call.save() == CallHandle(attrs.evolve(SAVED, taken=1))
        assert await anext(session.call) == message(2)
        assert session.call.save() == CallHandle(attrs.evolve(SAVED, taken=2, event_id="e2"))
        session.wants_saving()
        assert await session.call.result() == {"answer": 42}
        session.call.outcome_saved()
        assert session.heard[-1] == OutcomeSaved(ID)
        assert session.taken() == [2, 3, 4]


async def test_the_outcome_of_a_stored_call_is_not_waited_for_while_it_is_to_be_saved() -> None:
    async with calling(STORED) as session:
        with pytest.raises(LocalProtocolError, match="iterated to its end"):
            await session.call.outcome()


async def test_only_what_is_stored_is_saved_and_not_once_it_is_let_go() -> None:
    async with calling() as session:
        session.finishes(4)
        with pytest.raises(LocalProtocolError, match="if it is stored"):
            session.call.save()
    async with calling(STORED) as session:
        session.call.detach()
        with pytest.raises(LocalProtocolError, match="not detached"):
            session.call.save()
    with pytest.raises(LocalProtocolError, match="entered"):
        Session().call.save()


async def test_nothing_comes_of_a_detached_call() -> None:
    async with calling() as session:
        session.gives(2)
        session.call.detach()
        assert [item async for item in session.call] == []
        with pytest.raises(LocalProtocolError):
            await session.call.result()
        with pytest.raises(LocalProtocolError):
            session.call.detach()


async def test_a_call_that_has_ended_cannot_be_detached() -> None:
    async with calling() as session:
        session.finishes(2)
        with pytest.raises(LocalProtocolError):
            session.call.detach()
        assert await session.call.result() == {"answer": 42}


ERROR = ErrorResponse("id-7", -32000, "the tool failed")


@pytest.mark.rule("R27")
@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        (CallFailed(ERROR), CallFailedError),
        (CallLost(Reason.EXPIRED), CallLostError),
        (OutcomeUnknown(Doubt.CONNECTION_LOST), OutcomeUnknownError),
        (CallNotRun(NotRun.UNREACHED), CallNotRunError),
        (CallCancelled(), CallCancelledError),
    ],
)
async def test_each_outcome_without_a_result_is_an_exception_of_its_own(
    outcome: Outcome, error: type[NoResultError]
) -> None:
    async with calling() as session:
        session.finishes(2, outcome)
        assert await session.call.outcome() == outcome
        with pytest.raises(error):
            await session.call.result()


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (CallNotRunError(NotRun.UNREACHED), "unreached"),
        (CallNotRunError(NotRun.REFUSED, None, Said(413)), "refused (413)"),
        (
            CallNotRunError(NotRun.CLIENT_FAILED, Failure.HANDSHAKE_REFUSED, Said(403, "not here")),
            "client failed: handshake refused (403: not here)",
        ),
        (
            OutcomeUnknownError(Doubt.CLIENT_FAILED, Failure.UNAUTHORIZED, Said(401)),
            "client failed: unauthorized (401)",
        ),
        (OutcomeUnknownError(Doubt.REFUSED, None, Said(message="no such method")), "refused (no such method)"),
    ],
)
def test_an_outcome_says_what_is_known_of_its_cause(error: NoResultError, text: str) -> None:
    assert str(error) == text


async def test_the_result_may_be_asked_for_again() -> None:
    async with calling() as session:
        session.finishes(2)
        assert await session.call.result() == await session.call.result()


async def test_when_the_session_ends_nobody_waits_on() -> None:
    async with calling() as session:
        session.gives(2)
        session.call.cut()
        assert await anext(session.call) == message(2)
        with pytest.raises(trio.ClosedResourceError):
            await anext(session.call)
        with pytest.raises(trio.ClosedResourceError):
            await session.call.result()
    assert session.heard == [BEGIN]


async def test_a_call_that_was_not_entered_is_not_waited_for() -> None:
    call = Session().call
    with trio.fail_after(1):
        with pytest.raises(LocalProtocolError, match="before it is entered: `async with"):
            await call.result()
        with pytest.raises(LocalProtocolError, match="entered"):
            await call.outcome()
        with pytest.raises(LocalProtocolError, match="entered"):
            await anext(call)
        with pytest.raises(LocalProtocolError, match="entered"):
            call.detach()


async def test_a_call_that_could_not_be_sent_is_not_waited_for_either() -> None:
    def refuse(_: object) -> None:
        raise LocalProtocolError("no JSON")

    forgotten: list[CallId] = []
    call = ClientCall("tools/call", lambda _: BEGIN, refuse, lambda _: SAVED, forgotten.append)
    with pytest.raises(LocalProtocolError, match="no JSON"):
        await call.__aenter__()
    assert forgotten == [ID]
    with pytest.raises(LocalProtocolError, match="entered"), trio.fail_after(1):
        await call.result()


async def test_a_call_shows_what_it_is_and_how_it_stands() -> None:
    session = Session()
    call = session.call
    assert repr(call) == "<ClientCall tools/call: not entered, 0 unread>"
    async with call:
        session.gives(2, 3, 4)
        assert repr(call) == "<ClientCall tools/call: following, 3 unread>"
        await anext(call)
        session.finishes(5)
        assert repr(call) == "<ClientCall tools/call: CallResult, 2 unread>"
    async with calling() as session:
        session.call.detach()
        assert repr(session.call) == "<ClientCall tools/call: detached, 0 unread>"
    async with calling() as session:
        session.call.cut()
        assert repr(session.call) == "<ClientCall tools/call: session closed, 0 unread>"


async def test_an_outcome_outlives_its_session() -> None:
    async with calling() as session:
        session.finishes(2)
        session.call.cut()
        assert await session.call.result() == {"answer": 42}
