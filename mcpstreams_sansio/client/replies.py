"""What the server answers: to the call itself, and to the client's own requests about it."""

from __future__ import annotations

from typing import assert_never

from mcpstreams_sansio.client import cancelling, endings, recovery
from mcpstreams_sansio.client.calls import Call, Way
from mcpstreams_sansio.client.effects import Doubt, GapFound, UnclaimedMessage
from mcpstreams_sansio.client.failures import Said, heard
from mcpstreams_sansio.client.inputs import MessageReceived
from mcpstreams_sansio.client.ledger import Ledger
from mcpstreams_sansio.client.policy import OF_KNOWN_CALLS, VERDICTS, Verdict
from mcpstreams_sansio.client.positions import Place
from mcpstreams_sansio.client.recovery import Fate
from mcpstreams_sansio.client.table import DELIVERING, CallState
from mcpstreams_sansio.errors import RemoteProtocolError
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Response
from mcpstreams_sansio.wire.refusals import Reason, Refusal, read_refusal, read_refused_call
from mcpstreams_sansio.wire.streams import read_poll_result
from mcpstreams_sansio.wire.tags import read_tag


def receive(ledger: Ledger, event: MessageReceived, message: Response | ErrorResponse) -> None:
    """Bring an answer to whoever waits for it, by its id and its path alone (rule Q3b, case L1).

    A late answer to a request of this client is nobody's any more (case M2). One to a request that nobody made is
    reported.
    """
    if message.id in ledger.requests:
        call = ledger.calls[ledger.requests[message.id]]
        if call.path == event.connection_id:
            _receive_answer(ledger, call, message)
    elif message.id in ledger.errands:
        call = ledger.calls[ledger.errands[message.id]]
        if call.path == event.connection_id:
            _receive_reply(ledger, call, message)
    elif message.id is None and event.connection_id in ledger.exchanges:
        _receive_nameless(ledger, event, message)
    elif not ledger.is_own(message.id):
        ledger.effects.append(UnclaimedMessage(event.connection_id, message))


def _receive_nameless(ledger: Ledger, event: MessageReceived, message: Response | ErrorResponse) -> None:
    """An error without an id, on an exchange, is about the one thing that was sent there (rules H9, D2)."""
    call = ledger.call_of(event.connection_id)
    if call is None:
        return
    if call.errand is None and call.way is not Way.CURSOR:
        _receive_answer(ledger, call, message)
    else:
        _receive_reply(ledger, call, message)


def _receive_answer(ledger: Ledger, call: Call, message: Response | ErrorResponse) -> None:
    """The call is answered, or refused before it had a stream."""
    if call.state is CallState.CANCELLING:
        cancelling.confirm(ledger, call)
        return
    if call.state not in DELIVERING:
        return
    if isinstance(message, ErrorResponse) and (refusal := _refusal_of(call, message)) is not None:
        if call.way is not Way.RESUME:  # which hears of a takeover under its own id: else it was one before it (R14)
            _refused(ledger, call, refusal, message)
    else:
        _take_answer(ledger, call, message)


def _refusal_of(call: Call, message: ErrorResponse) -> Refusal | None:
    """Return why the server does not answer a keyed call.

    Once there is a stream an error is the application's own, but for the word that the call was taken over. That the
    work was interrupted is the application's word, however little of the stream this client has seen.
    """
    if not call.keyed:
        return None
    refusal = read_refused_call(message)
    if refusal is None or refusal.reason is Reason.INTERRUPTED:
        return None
    return refusal if call.stream is None or refusal.reason is Reason.SUPERSEDED else None


def _take_answer(ledger: Ledger, call: Call, message: Response | ErrorResponse) -> None:
    """Give the caller its answer if nothing is missing before it; what does not say so may have to be proved (R4)."""
    positions, sequence = call.positions, _sequence(call, message)
    place = positions.place(sequence)
    if place is Place.REPEATED:
        return
    if place is Place.BEYOND or (sequence is None and positions.received < positions.seen):
        recovery.pass_over(ledger, call, sequence)
    elif sequence is None and call.keyed and call.state is CallState.REATTACHING:
        recovery.await_proof(ledger, call, message)
    else:
        endings.respond(ledger, call, message)


def _sequence(call: Call, message: Response | ErrorResponse) -> int | None:
    """Return the position of an answer, if it says one: an error never does (rule R4)."""
    if not call.keyed or isinstance(message, ErrorResponse):
        return None
    try:
        tag = read_tag(message)
    except RemoteProtocolError:
        return None  # an answer is an answer, whatever its `_meta` is worth
    return None if tag is None else tag.sequence


def _receive_reply(ledger: Ledger, call: Call, message: Response | ErrorResponse) -> None:
    """A resume, a poll, a cursor or a cancellation is answered."""
    ledger.forget_errand(call)
    if call.state is CallState.CANCELLING:
        cancelling.receive_reply(ledger, call, message)
    elif isinstance(message, ErrorResponse):
        if call.state in DELIVERING or call.state is CallState.POLLING:
            _refused(ledger, call, read_refusal(message), message)
    elif call.state is CallState.POLLING:
        _polled(ledger, call, message)
    elif call.state in DELIVERING:
        _attachment_over(ledger, call)


def _attachment_over(ledger: Ledger, call: Call) -> None:
    """The result of a resume is the tail of its attachment: the stream was let go, or there was no room (rule R15)."""
    call.last_path = None
    recovery.lose(ledger, call, fate=Fate.RELEASED)


def _polled(ledger: Ledger, call: Call, message: Response) -> None:
    try:
        result = read_poll_result(message.result)
    except RemoteProtocolError:
        recovery.lose(ledger, call)
        return
    news = result.status == "completed" or result.pending_messages or result.has_request
    due = call.efforts.quiet_polls >= ledger.config.max_quiet_polls
    if (news or due) and ledger.link is not None and not call.is_crowded(ledger.config):
        call.efforts.in_vain -= 1
        recovery.attempt(ledger, call, Way.RESUME)
        return
    # The stream is alive: that is no attempt in vain, and no reason to ask more often.
    quiet = call.efforts.quiet_polls + 1
    call.efforts.progress()
    call.efforts.quiet_polls = quiet
    recovery.lose(ledger, call, fate=Fate.ANSWERED)


def _refused(ledger: Ledger, call: Call, refusal: Refusal | None, message: ErrorResponse) -> None:
    """The server refuses the call, or what would bring it back (rule Q10)."""
    said = heard(message.message, secrets=call.secrets)
    if refusal is None:
        endings.give_up(ledger, call, Doubt.REFUSED, said=said)
        return
    verdict = VERDICTS[refusal.reason]
    match verdict:
        case Verdict.FINAL:
            _refused_for_good(ledger, call, refusal.reason, said)
        case Verdict.LATER:
            recovery.lose(ledger, call, asked=refusal.retry_after, fate=Fate.NOT_TAKEN)
        case Verdict.GAP:
            _skip_gap(ledger, call, refusal)
        case Verdict.CURSOR:
            _drop_cursor(ledger, call)
        case Verdict.ATTACHED:
            _attached(ledger, call)
        case Verdict.SUPERSEDED:
            _superseded(ledger, call)
        case _:
            assert_never(verdict)


def _refused_for_good(ledger: Ledger, call: Call, reason: Reason, said: Said) -> None:
    """Time will not help. A request that is refused when it first comes certainly never ran, unless it was known."""
    if call.state is CallState.SENT and reason not in OF_KNOWN_CALLS:
        call.first_sent = None
        endings.give_up(ledger, call, Doubt.REFUSED, said=said)
    else:
        endings.refuse(ledger, call, reason)


def _attached(ledger: Ledger, call: Call) -> None:
    """The server delivers the call here already (rule Q6d). Said of a poll, which attaches nothing, it is no news."""
    if call.state in DELIVERING:
        recovery.contact(ledger, call)
    else:
        recovery.lose(ledger, call, fate=Fate.ANSWERED)


def _skip_gap(ledger: Ledger, call: Call, refusal: Refusal) -> None:
    """What the cursor asks for is gone: say so, and go on from what is left (rules R10, Q5c)."""
    if refusal.first_available is None or not call.keyed:
        endings.refuse(ledger, call, Reason.EVENTS_GONE)
        return
    missing = call.positions.jump(refusal.first_available, refusal.lost or 0)
    # Where nothing is missing, an acknowledgement overtook the resume: the present cursor says more than it did.
    if missing:
        call.efforts.progress()
        ledger.effects.append(GapFound(call.call_id, call.positions.received, missing))
    recovery.lose(ledger, call, fate=Fate.ANSWERED)


def _drop_cursor(ledger: Ledger, call: Call) -> None:
    """The cursor was not understood: without the event id the position in the body still stands (rules F3, Q13)."""
    if call.positions.header_cursor is None or call.way is not Way.RESUME:
        endings.refuse(ledger, call, Reason.INVALID_CURSOR)
        return
    call.positions.forget_cursor()
    recovery.lose(ledger, call, fate=Fate.ANSWERED)


def _superseded(ledger: Ledger, call: Call) -> None:
    """Another attempt has the call: if it may be one of our own that was late, come back once more (rules Q6b, R14)."""
    if call.efforts.unknown_fates:
        call.efforts.unknown_fates -= 1
        recovery.lose(ledger, call, fate=Fate.ANSWERED)
    else:
        endings.refuse(ledger, call, Reason.SUPERSEDED)
