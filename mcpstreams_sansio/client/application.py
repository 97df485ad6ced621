"""What the application wants of its calls: make, attach, take, let go."""

from __future__ import annotations

from mcpstreams_sansio.client import acknowledging, answering, cancelling, endings, questions, recovery
from mcpstreams_sansio.client.asks import Outstanding
from mcpstreams_sansio.client.calls import Call, Efforts, KnownStream, Permit, Way
from mcpstreams_sansio.client.effects import CallFinished, CallNotRun, NotRun, ResumeReading
from mcpstreams_sansio.client.inputs import (
    AttachCall,
    CallSaved,
    CancelCall,
    DetachCall,
    MakeCall,
    OutcomeSaved,
    TakeMessages,
)
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
    instance = ledger.config.instance
    call = Call(event.call_id, request_id, event.method, params, token, event.entropy, client=instance)
    if event.stored:
        call.positions.saved, call.permit, call.reserved = 0, Permit.UNASKED, 0
    _begin(ledger, call)


def attach(ledger: Ledger, event: AttachCall) -> None:
    """Go on with a call that was saved: from what its application had taken then (rules R23, R27).

    Where another client sent it, an attempt of that one may still be under way, and would be the newest (rule R14).
    """
    saved, own = event.saved, ledger.is_own(event.saved.request_id)
    token = meta_of(saved.params).get(PROGRESS_TOKEN, saved.request_id)
    assert is_request_id(token), "an input is checked first"
    call = Call(
        event.call_id,
        saved.request_id,
        saved.method,
        saved.params,
        token,
        event.entropy,
        positions=Positions.at(saved.taken, ledger.presentable(saved), stored=event.stored),
        efforts=Efforts(unknown_fates=int(saved.sent and not own)),
        key=saved.key,
        instance=saved.instance,
        first_sent=ledger.now - saved.key_age if saved.sent else None,
        attempt=saved.attempt,
        client=saved.client if event.stored and saved.client is not None else ledger.config.instance,
        reserved=saved.attempt if event.stored else None,
        acked=saved.taken,
        permit=Permit.UNASKED if event.stored else Permit.FREE,
        # It may be one that was let go here, whoever began it: its connection goes on delivering it.
        last_path=ledger.shared,
    )
    if saved.stream_id is not None and saved.resume_token is not None:
        call.stream = KnownStream(saved.stream_id, saved.resume_token, saved.interval, saved.window)
    for answer in saved.answers:
        assert answer.id is not None, "an input is checked first"
        call.asks.set(answer.id, Outstanding(answer))
    _begin(ledger, call)
    if call.call_id in ledger.calls:
        answering.send_waiting(ledger, call)


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
    """Cancel a call. One that has its outcome cannot be cancelled any more (rule R22)."""
    call = _undecided(ledger, event.call_id)
    if call is not None:
        cancelling.cancel(ledger, call)


def take(ledger: Ledger, event: TakeMessages) -> None:
    """The application has what it was given: now the server may forget it, and more may come (rules R6, R23)."""
    call = ledger.calls.get(event.call_id)
    if call is None:
        return
    was_crowded, was_due = call.is_crowded(ledger.config), call.must_be_saved(ledger.config)
    taken = call.positions.take(event.through)
    if not call.stored:
        call.unacked_bytes += taken
    elif not was_due and call.must_be_saved(ledger.config):
        ledger.want_saved(call)
    _make_room(ledger, call, was_crowded=was_crowded)


def note_saved(ledger: Ledger, event: CallSaved) -> None:
    """The application has it where it outlives its process: now the server may hear of it (rules R6, R21, R23, R24)."""
    call, saved = ledger.calls.get(event.call_id), event.saved
    if call is None:
        return
    was_crowded = call.is_crowded(ledger.config)
    call.unacked_bytes += call.positions.save(saved.taken, saved.event_id)
    if call.state not in SETTLED_FOR_CALLER:
        _let_go_out(ledger, call, event)
        if call.state is CallState.FINISHED:
            return
        if call.must_be_saved(ledger.config):
            ledger.want_saved(call)
    _make_room(ledger, call, was_crowded=was_crowded)


def note_outcome(ledger: Ledger, event: OutcomeSaved) -> None:
    """The application has all of a call for good: now the server may forget it (rules R6, R23)."""
    call = ledger.calls.get(event.call_id)
    if call is not None and call.state is CallState.SETTLING:
        call.positions.conclude()
        endings.settle(ledger, call)


def _let_go_out(ledger: Ledger, call: Call, event: CallSaved) -> None:
    """Send what waited for being saved: the answers that it has, and the call itself if it may go by what it says."""
    saved = event.saved
    questions.send_saved(ledger, call, [answer.id for answer in saved.answers])
    if call.permit is Permit.ASKED and saved.sent and (saved.key, saved.instance) == (call.key, call.instance):
        call.permit = Permit.GRANTED
    call.reserved = max(call.reserved or 0, saved.attempt)
    if call.state is CallState.STRANDED and ledger.link is not None:
        recovery.depart(ledger, call)


def _make_room(ledger: Ledger, call: Call, *, was_crowded: bool) -> None:
    """Something of a call was taken, or saved: that may be acknowledged, and more may come."""
    if call.state is CallState.SETTLING:
        endings.settle(ledger, call)
    else:
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
    elif ledger.link is None or not call.repeatable or not call.may_attempt():
        recovery.lose(ledger, call, fate=Fate.ANSWERED)
    else:
        recovery.attempt(ledger, call, Way.RESUME)


def _undecided(ledger: Ledger, call_id: CallId) -> Call | None:
    call = ledger.calls.get(call_id)
    return None if call is None or call.state in SETTLED_FOR_CALLER else call
