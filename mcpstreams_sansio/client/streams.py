"""`ClientStreams`: the calls of a client as one machine; each survives every disconnection that it can.

An input is checked, then due deadlines are processed, then the input is applied. Only the end of a path comes before
what is due, since nothing of that can be ordered for it any more.

The rooms beside this one do the work, all of them on one `Ledger`: `application` (what is wanted of calls), `recovery`
(how a call gets to its server), `delivery` and `replies` (what comes back), `questions`, `answering`, `cancelling`,
`acknowledging`, `exchanges` (what becomes of paths) and `endings`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Never, assert_never, final

from mcpstreams_sansio.client import (
    acknowledging,
    answering,
    application,
    cancelling,
    delivery,
    endings,
    exchanges,
    questions,
    recovery,
)
from mcpstreams_sansio.client.acks import Acks
from mcpstreams_sansio.client.calls import Call
from mcpstreams_sansio.client.checks import check, find_stored
from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.connection_ids import ConnectionIds
from mcpstreams_sansio.client.effects import ClientStreamsEffect, Doubt
from mcpstreams_sansio.client.inputs import (
    AnswerAsk,
    AttachCall,
    CallSaved,
    CancelCall,
    ClientStreamsInput,
    DetachCall,
    LinkDown,
    LinkGivenUp,
    LinkUp,
    MakeCall,
    MessageReceived,
    OutcomeSaved,
    PathAccepted,
    PathRefused,
    PathUnsent,
    PathUnusable,
    PositionReceived,
    RetryReceived,
    SavedCall,
    TakeMessages,
)
from mcpstreams_sansio.client.ledger import Ledger, Timer, TimerKind
from mcpstreams_sansio.client.recovery import Fate
from mcpstreams_sansio.client.table import SETTLED_FOR_CALLER, CallState
from mcpstreams_sansio.connections import ConnectionLost, DeadlineReached
from mcpstreams_sansio.ids import CallId, ConnectionId
from mcpstreams_sansio.shapes import check_shape, check_time, members_of

_INPUTS: Final = members_of(ClientStreamsInput)


@final
class ClientStreams:
    """The calls of one client, over one multiplexed connection after another or any number of HTTP exchanges.

    It knows nothing of bytes, handshakes or HTTP: whoever embeds it tells it what comes on which path, and carries out
    what it wants done. `Client` does so for MCP's transports.

    Args:
        config: Limits and times.
        first_connection_id: Lowest id that it may give to an exchange.
    """

    def __init__(self, config: ClientConfig, first_connection_id: ConnectionId = ConnectionId(1)) -> None:
        self._ledger = Ledger(config, Acks(config.max_acks), ConnectionIds(first_connection_id))

    @property
    def config(self) -> ClientConfig:
        """The limits and times it was made with."""
        return self._ledger.config

    def __repr__(self) -> str:
        return f"<ClientStreams calls={self.open_calls}>"

    @property
    def open_calls(self) -> int:
        """How many calls wait for their outcome, or cancellations for their server."""
        return self._ledger.open_calls

    @property
    def needs_link(self) -> bool:
        """Whether a call waits for its outcome, or a cancellation for its server."""
        return self.open_calls > 0

    @property
    def connection_ids(self) -> ConnectionIds:
        """Where its embedder has to take the ids of what it opens by itself."""
        return self._ledger.connection_ids

    def check(self, event: ClientStreamsInput, now: float) -> None:
        """Refuse what `handle` would refuse.

        Raises:
            LocalProtocolError: The input is wrong whatever the time. Nothing has changed.
        """
        check_time(now, self._ledger.now)
        check_shape(event, _INPUTS)
        check(self._ledger, event)

    def handle(self, event: ClientStreamsInput, now: float) -> list[ClientStreamsEffect]:
        """Apply one input.

        Args:
            event: What happened, or what the application wants.
            now: Seconds of any clock that never goes back.

        Returns:
            What is to be done, in order.

        Raises:
            LocalProtocolError: The input is wrong whatever the time. Nothing has changed, deadlines included (R13).
        """
        self.check(event, now)
        ledger = self._ledger
        ledger.now = now
        apply = _APPLY[type(event)]
        if isinstance(event, _ENDS):
            apply(ledger, event)  # type: ignore[arg-type]  # a test pairs each type with its function
        while (timer := ledger.deadlines.pop_due(now)) is not None:
            _wake(ledger, timer)
        if not isinstance(event, _ENDS):
            apply(ledger, event)  # type: ignore[arg-type]  # a test pairs each type with its function
        effects, ledger.effects = ledger.effects, []
        return effects

    def next_deadline(self) -> float | None:
        """Return when `DeadlineReached` is due, on the clock of `now`; None if nothing waits for time."""
        return self._ledger.deadlines.next()

    def state_of(self, call_id: CallId) -> CallState | None:
        """Return the state of a call, or None if it is unknown or over."""
        call = self._ledger.calls.get(call_id)
        return None if call is None else call.state

    def save(self, call_id: CallId, now: float) -> SavedCall | None:
        """Return what brings a call back, as it stands now; once that is kept, say so by `CallSaved` (rule R23).

        `SaveDue` brings it along; this is for any other time.

        Returns:
            None for a call that has its outcome or was detached: `CallFinished` or `CallDetached` has what is to be
            kept, and may not have been dealt with yet (rule R13).

        Raises:
            LocalProtocolError: There never was such a call, or it was not made to be stored.
        """
        check_time(now, self._ledger.now)
        call = find_stored(self._ledger, call_id)
        return None if call is None else self._ledger.save(call, now)

    def fork(self) -> ClientStreams:
        """Return an independent copy: for explorers, and for asking what an input would do."""
        other = ClientStreams.__new__(ClientStreams)
        other._ledger = self._ledger.fork()
        return other

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return a hashable value, equal for machines that will behave alike from `now` on."""
        return self._ledger.snapshot(now)


def _wake(ledger: Ledger, timer: Timer) -> None:
    kind, call_id = timer
    match kind:
        case TimerKind.ACKS:
            acknowledging.flush(ledger)
        case TimerKind.ANSWERS:
            call = ledger.calls[call_id]
            if call.state not in SETTLED_FOR_CALLER:
                answering.send_waiting(ledger, call)
        case TimerKind.CALL:
            _wake_call(ledger, ledger.calls[call_id])
        case _:
            assert_never(kind)


def _wake_call(ledger: Ledger, call: Call) -> None:
    match call.state:
        case CallState.STRANDED:
            endings.give_up(ledger, call, Doubt.OUT_OF_BUDGET)
        case CallState.WAITING:
            recovery.depart(ledger, call)
        case CallState.SENT | CallState.POLLING | CallState.RECOVERING | CallState.REATTACHING:
            recovery.lose(ledger, call, fate=Fate.OVERDUE)
        case CallState.CANCEL_DUE:
            cancelling.announce(ledger, call)
        case CallState.CANCELLING:
            cancelling.retry(ledger, call)
        case CallState.SETTLING:
            endings.settle_late(ledger, call)
        case _:
            raise AssertionError("no timer runs in this state")


def _note_time(_: Ledger, __: DeadlineReached) -> None:
    """What was due is done already."""


_ENDS: Final = LinkDown | ConnectionLost | PathRefused | PathUnsent | PathUnusable
"""What ends paths."""

_APPLY: Final[dict[type[ClientStreamsInput], Callable[[Ledger, Never], None]]] = {
    LinkUp: exchanges.link_up,
    LinkDown: exchanges.link_down,
    LinkGivenUp: exchanges.give_up,
    MessageReceived: delivery.receive,
    PositionReceived: delivery.receive_position,
    RetryReceived: delivery.receive_retry,
    PathAccepted: exchanges.accept,
    PathRefused: exchanges.refuse,
    PathUnsent: exchanges.take_back,
    PathUnusable: exchanges.abandon,
    ConnectionLost: exchanges.lose,
    MakeCall: application.make,
    AttachCall: application.attach,
    DetachCall: application.detach,
    TakeMessages: application.take,
    CallSaved: application.note_saved,
    OutcomeSaved: application.note_outcome,
    CancelCall: application.cancel,
    AnswerAsk: questions.answer,
    DeadlineReached: _note_time,
}
