"""What becomes of a path: an exchange of HTTP that is taken, refused or over, and the link that comes and goes."""

from __future__ import annotations

from typing import Final

from mcpstreams_sansio.client import acknowledging, answering, cancelling, endings, questions, recovery
from mcpstreams_sansio.client.calls import Call, Way
from mcpstreams_sansio.client.effects import Doubt
from mcpstreams_sansio.client.failures import NOTHING_SAID, Failure, Said
from mcpstreams_sansio.client.inputs import (
    GivenUp,
    LinkDown,
    LinkGivenUp,
    LinkUp,
    PathAccepted,
    PathRefused,
    PathUnsent,
    PathUnusable,
)
from mcpstreams_sansio.client.ledger import Ledger, Role
from mcpstreams_sansio.client.policy import StatusVerdict, judge_status
from mcpstreams_sansio.client.recovery import Fate
from mcpstreams_sansio.client.table import UNSEEN, CallSignal, CallState
from mcpstreams_sansio.connections import ConnectionLost
from mcpstreams_sansio.ids import ConnectionId

_DOUBTS: Final = {GivenUp.FAILED: Doubt.CLIENT_FAILED, GivenUp.CLOSED: Doubt.CLIENT_CLOSED}
_PASSING: Final = frozenset({StatusVerdict.LATER, StatusVerdict.FAILED})


def link_up(ledger: Ledger, event: LinkUp) -> None:
    """Requests can be sent: whatever waited for that goes out now.

    Those that got nothing from the links before go first, or short links would serve the same calls each time.
    """
    if ledger.link is not None:
        take_link_down(ledger)
    ledger.link, ledger.server = event, event.server
    if event.shared is not None:
        ledger.connection_ids.skip(event.shared)
    for call in sorted(ledger.calls.values(), key=lambda call: -call.efforts.in_vain):
        if call.state is CallState.STRANDED:
            recovery.depart(ledger, call)
        elif call.state is CallState.CANCEL_DUE:
            cancelling.announce(ledger, call)
    if event.shared is None:
        for call in ledger.undecided():
            answering.send_waiting(ledger, call)
    acknowledging.flush(ledger)


def link_down(ledger: Ledger, _: LinkDown) -> None:
    """Nothing can be sent for now."""
    if ledger.link is not None:
        take_link_down(ledger)


def take_link_down(ledger: Ledger) -> None:
    """A shared connection takes every path with it; a session takes what event ids mean (rule R16, case C5)."""
    shared, ledger.link = ledger.shared, None
    ledger.held.clear()
    ledger.replies.clear()
    for ask_id in list(ledger.loose_asks):
        questions.withdraw_loose(ledger, ask_id)
    if shared is None:
        ledger.session += 1
        for call in ledger.calls.values():
            call.positions.forget_cursor()
        return
    for call in list(ledger.calls.values()):
        call.asks.lose_path(shared)
        if call.path == shared:
            call.path = None
            _lose_call(ledger, call)


def give_up(ledger: Ledger, event: LinkGivenUp) -> None:
    """No server will be reached any more: every caller gets its outcome now, and nothing is left open (case H2).

    What the server has to hear is sent a last time if that is possible, and is left to arrive: cancellations, answers
    and acknowledgements (rules R6, R22).
    """
    for call in list(ledger.calls.values()):
        if call.state is CallState.CANCEL_DUE and ledger.link is not None:
            cancelling.announce(ledger, call)
        if call.state is CallState.CANCELLING:
            cancelling.trust(ledger, call)
        elif call.state is not CallState.FINISHED:
            _give_up_call(ledger, call, _DOUBTS[event.why], event.failure, event.said)
    ledger.acks.accept()
    acknowledging.flush(ledger)
    link_down(ledger, LinkDown())
    ledger.exchanges.clear()
    ledger.answering.clear()
    ledger.acks.accept()


def lose(ledger: Ledger, event: ConnectionLost) -> None:
    """A path is over; of one that is over already, nothing follows (rule R13)."""
    if event.connection_id == ledger.shared:
        take_link_down(ledger)
    elif (call := _end(ledger, event.connection_id, arrived=False)) is not None:
        _lose_call(ledger, call)


def accept(ledger: Ledger, event: PathAccepted) -> None:
    """The server took what was sent on an exchange (rules H9, R24). One that carries no call is done with that."""
    call = ledger.call_of(event.connection_id)
    if call is None:
        _end(ledger, event.connection_id, arrived=True)
    elif call.state is CallState.CANCELLING:
        cancelling.confirm(ledger, call)
    elif call.state in UNSEEN:
        recovery.contact(ledger, call)


def refuse(ledger: Ledger, event: PathRefused) -> None:
    """The server refused an exchange by its status: what that means depends on what was sent (groups G and I)."""
    verdict = judge_status(event.status)
    call = _end(ledger, event.connection_id, arrived=verdict not in _PASSING)
    if call is not None:
        _refuse_call(ledger, call, verdict, event)


def take_back(ledger: Ledger, event: PathUnsent) -> None:
    """What was sent on an exchange was certainly not taken: it may go out again, with a key or without one."""
    call = _end(ledger, event.connection_id, arrived=False)
    if call is not None:
        _lose_call(ledger, call, fate=Fate.NOT_TAKEN)


def abandon(ledger: Ledger, event: PathUnusable) -> None:
    """What comes on an exchange cannot be read, and asking again would bring the same (cases G3, J8, J9)."""
    call = _end(ledger, event.connection_id, arrived=True)
    if call is not None:
        _give_up_call(ledger, call, Doubt.UNREADABLE)


def _end(ledger: Ledger, path: ConnectionId, *, arrived: bool) -> Call | None:
    """Close the books on an exchange.

    Args:
        ledger: Where it stands.
        path: The exchange.
        arrived: An answer or an acknowledgement on it need not be sent again.

    Returns:
        The call whose path it was, if it was one's.
    """
    call = ledger.call_of(path)
    exchange = ledger.exchanges.pop(path, None)
    ledger.answering.discard(path)
    if call is not None:
        call.path = None
    elif exchange is not None and exchange.role is Role.ACKS:
        (acknowledging.accepted if arrived else acknowledging.lost)(ledger)
    elif exchange is not None and arrived:
        answering.accepted(ledger, path, exchange)
    elif exchange is not None:
        answering.lost(ledger, path, exchange)
    return call


def _lose_call(ledger: Ledger, call: Call, fate: Fate = Fate.UNKNOWN, asked: float | None = None) -> None:
    if call.state is CallState.SETTLING:
        call.step(CallSignal.LOSS)
        endings.settle(ledger, call)
    elif call.state is CallState.CANCELLING:
        cancelling.retry(ledger, call)
    else:
        recovery.lose(ledger, call, fate=fate, asked=asked)


def _refuse_call(ledger: Ledger, call: Call, verdict: StatusVerdict, event: PathRefused) -> None:
    if verdict is StatusVerdict.LATER:
        _lose_call(ledger, call, Fate.NOT_TAKEN, event.retry_after)
    elif verdict is StatusVerdict.FAILED:
        _lose_call(ledger, call, Fate.UNKNOWN, event.retry_after)
    elif verdict is StatusVerdict.NOT_OFFERED and call.way is Way.CURSOR:
        call.positions.forget_cursor()
        _lose_call(ledger, call, Fate.ANSWERED)
    else:
        if call.state is CallState.SENT:
            call.first_sent = None
        _give_up_call(ledger, call, Doubt.REFUSED, said=Said(event.status))


def _give_up_call(
    ledger: Ledger, call: Call, doubt: Doubt, failure: Failure | None = None, said: Said = NOTHING_SAID
) -> None:
    if call.state is CallState.SETTLING:
        endings.finish(ledger, call)
    elif call.state in (CallState.CANCEL_DUE, CallState.CANCELLING):
        cancelling.confirm(ledger, call)
    else:
        endings.give_up(ledger, call, doubt, failure=failure, said=said)
