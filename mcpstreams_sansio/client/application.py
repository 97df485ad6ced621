"""What the application wants of its calls: make, attach, take, let go."""

from __future__ import annotations

from mcpstreams_sansio.client import acknowledging, cancelling, endings, recovery
from mcpstreams_sansio.client.calls import Call, KnownStream, Way
from mcpstreams_sansio.client.effects import CallFinished, CallNotRun, NotRun, ResumeReading
from mcpstreams_sansio.client.inputs import AttachCall, CancelCall, DetachCall, MakeCall, TakeMessages
from mcpstreams_sansio.client.ledger import Ledger
from mcpstreams_sansio.client.positions import Positions
from mcpstreams_sansio.client.recovery import Fate
from mcpstreams_sansio.client.table import SETTLED_FOR_CALLER, CallSignal, CallState
from mcpstreams_sansio.ids import CallId
from mcpstreams_sansio.wire.jsonrpc import is_request_id
from mcpstreams_sansio.wire.meta import meta_of, with_meta
from mcpstreams_sansio.wire.progress import PROGRESS_TOKEN


def make(ledger: Ledger, event: MakeCall) -> None:
    """Make a call: it goes out at once, or as soon as there is a link.

    Where the application names no progress token, the request's id is one: over a shared connection it is all by which
    the progress of a server without tags finds its call (rule Q4a).
    """
    request_id = f"{ledger.config.instance}-{event.call_id}"
    token = meta_of(event.params).get(PROGRESS_TOKEN, request_id)
    assert is_request_id(token), "an input is checked first"
    params = with_meta(event.params, {PROGRESS_TOKEN: token})
    _begin(ledger, Call(event.call_id, request_id, event.method, params, token, event.entropy))


def attach(ledger: Ledger, event: AttachCall) -> None:
    """Go on with a call that was saved: from what its application had taken then (rules R23, R27)."""
    saved = event.saved
    token = meta_of(saved.params).get(PROGRESS_TOKEN, saved.request_id)
    assert is_request_id(token), "an input is checked first"
    call = Call(
        event.call_id,
        saved.request_id,
        saved.method,
        saved.params,
        token,
        event.entropy,
        positions=Positions.at(saved.taken, saved.event_id),
        key=saved.key,
        instance=saved.instance,
        first_sent=ledger.now - saved.key_age if saved.sent else None,
        attempt=saved.attempt,
        acked=saved.taken,
        # It may be one that was let go here, whose connection goes on delivering it.
        last_path=ledger.shared,
    )
    if saved.stream_id is not None and saved.resume_token is not None:
        call.stream = KnownStream(saved.stream_id, saved.resume_token, saved.interval, saved.window)
    _begin(ledger, call)


def _begin(ledger: Ledger, call: Call) -> None:
    ledger.highest_call = call.call_id
    if ledger.open_calls >= ledger.config.max_calls:
        ledger.effects.append(CallFinished(call.call_id, 0, CallNotRun(NotRun.TOO_MANY_CALLS)))
        return
    ledger.add(call)
    recovery.depart(ledger, call)


def detach(ledger: Ledger, event: DetachCall) -> None:
    """Let go of a call without cancelling it. One that has its outcome is not there to be let go of (rule R27)."""
    call = _undecided(ledger, event.call_id)
    if call is not None:
        cancelling.detach(ledger, call)


def cancel(ledger: Ledger, event: CancelCall) -> None:
    """Cancel a call. One that has its outcome can not be cancelled any more (rule R22)."""
    call = _undecided(ledger, event.call_id)
    if call is not None:
        cancelling.cancel(ledger, call)


def take(ledger: Ledger, event: TakeMessages) -> None:
    """The application has what it was given: now the server may forget it, and more may come (rules R6, R23)."""
    call = ledger.calls.get(event.call_id)
    if call is None:
        return
    was_crowded = call.is_crowded(ledger.config)
    call.unacked_bytes += call.positions.take(event.through)
    if call.state is CallState.SETTLING:
        endings.settle(ledger, call)
        return
    acknowledging.acknowledge(ledger, call)
    if was_crowded and not call.is_crowded(ledger.config):
        _go_on(ledger, call)


def _go_on(ledger: Ledger, call: Call) -> None:
    """There is room again: read on, or attach again for what was passed over (rule R23)."""
    if call.state is CallState.WAITING:
        recovery.come_back_early(ledger, call)
    elif call.state is not CallState.FULL:
        return
    elif call.positions.seen <= call.positions.received:
        call.step(CallSignal.DRAINED)
        endings.report_dropped(ledger, call)
        if call.path is not None and call.path in ledger.exchanges:
            ledger.effects.append(ResumeReading(call.path))
    elif ledger.link is None or not call.repeatable:
        recovery.lose(ledger, call, fate=Fate.ANSWERED)
    else:
        recovery.attempt(ledger, call, Way.RESUME)


def _undecided(ledger: Ledger, call_id: CallId) -> Call | None:
    call = ledger.calls.get(call_id)
    return None if call is None or call.state in SETTLED_FOR_CALLER else call
