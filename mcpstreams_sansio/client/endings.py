"""How a call ends for its caller, exactly once, and how what is left of it is put in order afterwards."""

from __future__ import annotations

from typing import Final, TypeAlias

from mcpstreams_sansio.client import acknowledging
from mcpstreams_sansio.client.calls import Call, Permit
from mcpstreams_sansio.client.effects import (
    AskWithdrawn,
    CallFailed,
    CallFinished,
    CallLost,
    CallNotRun,
    CallResult,
    Doubt,
    GapFound,
    NotRun,
    Outcome,
    OutcomeUnknown,
    Unread,
)
from mcpstreams_sansio.client.failures import NOTHING_SAID, Failure, Said
from mcpstreams_sansio.client.inputs import SavedCall
from mcpstreams_sansio.client.ledger import Ledger
from mcpstreams_sansio.client.table import CallSignal
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Response
from mcpstreams_sansio.wire.refusals import Reason, read_refused_call
from mcpstreams_sansio.wire.tags import untagged

_CERTAINTIES: Final = {
    Doubt.REFUSED: NotRun.REFUSED,
    Doubt.CLIENT_FAILED: NotRun.CLIENT_FAILED,
    Doubt.CLIENT_CLOSED: NotRun.CLIENT_CLOSED,
}
"""What a doubt is for a call whose request certainly never arrived; for any other, `_why_not_out`."""

_Kept: TypeAlias = tuple[SavedCall | None, tuple[Unread, ...]]
"""What leads to the end of a call once more, and from where."""

_NOTHING_KEPT: Final[_Kept] = (None, ())


def respond(ledger: Ledger, call: Call, answer: Response | ErrorResponse) -> None:
    """Give the caller its answer: an implicit end, whatever still comes (rule Q3d)."""
    report_dropped(ledger, call)
    kept = _keep(ledger, call)
    call.end = None
    position = call.positions.take_up(None)
    outcome: Outcome
    if isinstance(answer, ErrorResponse):
        outcome = OutcomeUnknown(Doubt.INTERRUPTED) if _is_interruption(call, answer) else CallFailed(answer)
    else:
        plain = untagged(answer)
        assert isinstance(plain, Response), "taking a tag off changes no kind"
        outcome = CallResult(plain.result)
    tell(ledger, call, outcome, position, kept)
    call.step(CallSignal.RESPONSE)
    ledger.settling[call.call_id] = None
    ledger.wake(call, ledger.config.settle_timeout)
    settle(ledger, call)
    if len(ledger.settling) > ledger.config.max_settling:
        finish(ledger, ledger.calls[next(iter(ledger.settling))])


def _is_interruption(call: Call, error: ErrorResponse) -> bool:
    """Return whether an error says that a crash has cut the work short: none that one may try again after (case H4)."""
    refused = read_refused_call(error) if call.keyed else None
    return refused is not None and refused.reason is Reason.INTERRUPTED


def refuse(ledger: Ledger, call: Call, reason: Reason) -> None:
    """Tell the caller that the server cannot, or will not, give the result any more (rules P18, P34, Q6b)."""
    acknowledging.spare(ledger, call)
    tell(ledger, call, CallLost(reason), call.positions.received, _keep(ledger, call))
    call.step(CallSignal.REFUSAL)
    ledger.remove(call)


def give_up(
    ledger: Ledger, call: Call, doubt: Doubt, *, failure: Failure | None = None, said: Said = NOTHING_SAID
) -> None:
    """Tell the caller that nobody knows, or that the call certainly never ran (cases H1, H2, H4).

    Args:
        ledger: Where the call is.
        call: The call, which has no outcome.
        doubt: Why it is given up.
        failure: Why the server cannot be talked to, if that is it.
        said: What the server said of that, or of its refusal.
    """
    outcome: Outcome
    if call.first_sent is None:
        outcome = CallNotRun(_CERTAINTIES.get(doubt, _why_not_out(call)), failure, said)
    else:
        outcome = OutcomeUnknown(doubt, failure, said)
    tell(ledger, call, outcome, call.positions.received, _keep(ledger, call))
    call.step(CallSignal.GIVE_UP)
    ledger.remove(call)


def _why_not_out(call: Call) -> NotRun:
    """Return why a call never went out: its name at a server is known as soon as one was reached (rule R21)."""
    return NotRun.UNSAVED if call.permit is Permit.ASKED else NotRun.UNREACHED


def tell(ledger: Ledger, call: Call, outcome: Outcome, position: int, kept: _Kept = _NOTHING_KEPT) -> None:
    """Give the caller its outcome. Questions that are still open are nobody's any more."""
    ledger.effects += [AskWithdrawn(call.call_id, ask_id) for ask_id in call.asks.open()]
    ledger.effects.append(CallFinished(call.call_id, position, outcome, *kept))


def _keep(ledger: Ledger, call: Call) -> _Kept:
    return (ledger.save(call, ledger.now), call.positions.unread_items()) if call.stored else _NOTHING_KEPT


def settle(ledger: Ledger, call: Call) -> None:
    """Forget an answered call, if nothing of it is still to come.

    An exchange is left to its server, which ends it. Of a keyed call the end is awaited, and then that the application
    takes what it was given, and has it for good where it keeps the call: only then is all acknowledged, and the log of
    the server freed at once (rules R6, R23).
    """
    if call.path in ledger.exchanges:
        return
    if call.keyed and call.stream is not None:
        if call.path is not None and call.end is None:
            return
        ledger.leave(call)
        if call.positions.unread or call.stored:
            acknowledging.acknowledge(ledger, call)
            ledger.wake(call, ledger.config.linger)
            return
    finish(ledger, call)


def settle_late(ledger: Ledger, call: Call) -> None:
    """Stop waiting: for the end of the stream or the exchange first, for the application at last."""
    if call.path is None:
        finish(ledger, call)
        return
    ledger.leave(call)
    settle(ledger, call)


def finish(ledger: Ledger, call: Call) -> None:
    """Forget an answered call; what was taken of it is acknowledged at once (rule R6)."""
    acknowledging.acknowledge(ledger, call, at_once=True)
    call.step(CallSignal.SETTLED)
    ledger.remove(call)


def report_dropped(ledger: Ledger, call: Call) -> None:
    """Say how many messages were passed over that cannot come again (rule R10).

    The gap is an item: at the last of their positions if they had some, else at one of its own.
    """
    if call.dropped:
        position = call.positions.leave_gap() if call.keyed else call.positions.take_up_item(0, None)
        ledger.effects.append(GapFound(call.call_id, position, call.dropped))
        call.dropped = 0
