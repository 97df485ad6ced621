"""How a call gets to its server, first and again: the way, the attempt, and the pause after a loss."""

from __future__ import annotations

import enum
from typing import Final, assert_never

from mcpstreams_sansio.client import acknowledging, answering, endings
from mcpstreams_sansio.client.calls import ATTEMPTS_AHEAD, Call, Permit, Way
from mcpstreams_sansio.client.effects import AttemptMade, Doubt, PauseReading, ReadAgain, Recovery
from mcpstreams_sansio.client.ledger import Ledger, Role
from mcpstreams_sansio.client.policy import find_way, least_pause, luck, pause, within_budget
from mcpstreams_sansio.client.table import UNSEEN, CallSignal, CallState
from mcpstreams_sansio.ids import ConnectionId, Secret
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Request, Response
from mcpstreams_sansio.wire.marker import Attempt
from mcpstreams_sansio.wire.meta import own_meta, with_meta
from mcpstreams_sansio.wire.streams import ResumeInterval, poll_request, resume_request


@enum.unique
class Fate(enum.Enum):
    """What is known of the attempt whose path is over."""

    UNKNOWN = "unknown"
    """It may have arrived, and may still arrive."""
    OVERDUE = "overdue"
    """The same, and the path is open: what was due on it has not come."""
    RELEASED = "released"
    """The server let its attachment go in good order (rule R15)."""
    ANSWERED = "answered"
    """The server has dealt with it otherwise: by a refusal, or by messages among which some are missing."""
    NOT_TAKEN = "not taken"
    """It certainly did not arrive, or was refused before anybody looked at the call."""


_UNKNOWN: Final = frozenset({Fate.UNKNOWN, Fate.OVERDUE})
_UNREPROACHED: Final = frozenset({Fate.UNKNOWN, Fate.RELEASED})
"""What a quiet call comes to through nobody's fault: nothing else speaks for a path that brought nothing."""

_RECOVERIES: Final = {Way.RESUME: Recovery.RESUME, Way.RESEND: Recovery.RESEND, Way.CURSOR: Recovery.CURSOR}


def depart(ledger: Ledger, call: Call) -> None:
    """Let a call go to its server, first or again; without a link it waits for one, within its budget."""
    if ledger.link is None:
        call.step(CallSignal.STRAND)
        ledger.wake(call, _patience_left(ledger, call))
        return
    way = find_way(call, ledger.server, ledger.config, ledger.now)
    if isinstance(way, Doubt):
        endings.give_up(ledger, call, way)
    elif not _may_go(ledger, call, way):
        call.step(CallSignal.STRAND)
        ledger.wake(call, _patience_left(ledger, call))
    elif way is Way.RESUME and (ledger.config.poll_first or call.is_crowded(ledger.config)):
        poll(ledger, call)
    else:
        attempt(ledger, call, way)


def attempt(ledger: Ledger, call: Call, way: Way) -> None:
    """Send what gets the call to its server; the link is up, and the call's path is a new one from here on."""
    if call.attempt:
        call.efforts.begin()
    call.attempt += 1
    if call.reserved == call.attempt + ATTEMPTS_AHEAD // 2:
        ledger.want_saved(call)
    if way in _RECOVERIES:
        ledger.effects.append(AttemptMade(call.call_id, _RECOVERIES[way]))
    ledger.leave(call)
    ledger.let_sleep(call)
    again = CallSignal.REATTACH if ledger.may_repeat(call) else CallSignal.RECOVER
    call.way = way
    call.path = call.last_path = ledger.open_path(Role.CALL, call.call_id)
    call.session = ledger.session
    call.positions.begin_path()
    _send_by(ledger, call, way, call.path)
    call.step(CallSignal.SEND if way is Way.SEND else again)
    if call.path == ledger.shared:
        call.efforts.path_since = ledger.now
        call.asks.recall(call.path)
        answering.send_waiting(ledger, call)
    elif way is not Way.SEND or call.keyed:
        # A server with the marker shows at once that it has a keyed call; another one may take its time (case H1).
        ledger.wake(call, ledger.config.reply_timeout)


def poll(ledger: Ledger, call: Call) -> None:
    """Ask whether coming back is worth it; where there is no room, this only keeps the stream alive (P27, P29)."""
    assert call.stream is not None, "only a known stream can be polled"
    call.efforts.begin()
    ledger.effects.append(AttemptMade(call.call_id, Recovery.POLL))
    call.path = ledger.open_path(Role.CALL, call.call_id)
    ledger.send(call.path, poll_request(ledger.expect_reply(call), call.stream.ref))
    call.step(CallSignal.POLL)
    ledger.wake(call, ledger.config.reply_timeout)


def contact(ledger: Ledger, call: Call) -> None:
    """The server shows on the call's path that it has the call.

    A call may come back although there is no room: a cursor alone keeps its stream alive. Then nothing more is read.
    """
    first = call.state in UNSEEN
    if first:
        call.efforts.asked_pause = None
        ledger.let_sleep(call)
    if call.efforts.path_since is None:
        call.efforts.path_since = ledger.now
    call.step(CallSignal.CONTACT)
    if first:
        check_room(ledger, call)


def check_room(ledger: Ledger, call: Call) -> None:
    """Stop reading for a call whose application has more than it takes; a shared connection is read on (rule R23)."""
    if not call.is_full(ledger.config):
        return
    if call.state is not CallState.FULL and call.path in ledger.exchanges:
        ledger.effects.append(PauseReading(call.path))
    call.step(CallSignal.OVERFLOW)


def lose(ledger: Ledger, call: Call, *, asked: float | None = None, fate: Fate = Fate.UNKNOWN) -> None:
    """The call's path delivers no more: come back after a pause, if there is a way and a budget for it.

    Args:
        ledger: Where the call is.
        call: The call, whose path may still be open: then it is left.
        asked: The pause that the server asks for, in seconds.
        fate: What is known of the attempt that led to the path.
    """
    efforts = call.efforts
    if call.state is CallState.SENT and fate is Fate.NOT_TAKEN:
        call.first_sent = None
    elif call.state in UNSEEN and fate in _UNKNOWN:
        efforts.unknown_fates += 1
    since = efforts.path_since
    if since is not None and ledger.now - since >= ledger.config.steady_after and fate in _UNREPROACHED:
        efforts.progress()
    efforts.path_since = None
    if efforts.stranded_at is None:
        efforts.stranded_at = ledger.now
    if asked is not None:
        efforts.asked_pause = asked
    ledger.leave(call)
    ledger.forget_errand(call)
    ledger.let_sleep(call)
    way = find_way(call, ledger.server, ledger.config, ledger.now)
    wait = _choose_pause(ledger, call)
    if isinstance(way, Doubt):
        endings.give_up(ledger, call, way)
    elif not within_budget(call, ledger.config, ledger.now, wait):
        endings.give_up(ledger, call, Doubt.OUT_OF_BUDGET)
    else:
        call.step(CallSignal.LOSS)
        ledger.wake(call, wait)


def pass_over(ledger: Ledger, call: Call, sequence: int | None) -> None:
    """A message came before one that is missing, so it cannot be taken up now (rule R4).

    Where the call is attached again on the connection that delivered it before, this may be an old message that was
    under way; then the missing ones are about to come. Otherwise the path has a gap, and another one may have none.
    """
    if sequence is not None:
        call.positions.pass_over(sequence)
    if call.state is CallState.REATTACHING:
        call.unproven = None
        ledger.wake_once(call, ledger.config.reply_timeout)
    elif call.state is not CallState.FULL:
        lose(ledger, call, fate=Fate.ANSWERED)


def await_proof(ledger: Ledger, call: Call, answer: Response | ErrorResponse) -> None:
    """Keep an answer that does not say where it stands, and may be an old one that was under way (rule R4).

    It counts if `end` comes exactly one above it. With anything else it was an old one, or the server left out `end`:
    then the new attachment brings the answer again, or its result leads to another that has nothing before it.
    """
    call.unproven = answer
    ledger.wake_once(call, ledger.config.reply_timeout)


def come_back_early(ledger: Ledger, call: Call) -> None:
    """End a pause that is there only because there was no room: as soon as the server allows."""
    ledger.wake(call, max(0.0, call.efforts.not_before - ledger.now))


def _choose_pause(ledger: Ledger, call: Call) -> float:
    efforts, config = call.efforts, ledger.config
    interval = ResumeInterval() if call.stream is None else call.stream.interval
    least = least_pause(config, interval, efforts.asked_pause)
    efforts.not_before = ledger.now + least
    fortune = luck(call.entropy, f"pause {call.attempt}.{efforts.in_vain}")
    return pause(config, interval, least, max(efforts.in_vain, efforts.quiet_polls), fortune)


def _patience_left(ledger: Ledger, call: Call) -> float:
    since = call.efforts.stranded_at
    if since is None:
        since = call.efforts.stranded_at = ledger.now
    return max(0.0, since + ledger.config.patience - ledger.now)


def _send_by(ledger: Ledger, call: Call, way: Way, path: ConnectionId) -> None:
    match way:
        case Way.SEND:
            _send_first(ledger, call, path)
        case Way.RESEND:
            _send_request(ledger, call, path)
        case Way.RESUME:
            _resume(ledger, call, path)
        case Way.CURSOR:
            assert call.positions.told_cursor is not None, "the way by a cursor needs one"
            ledger.effects.append(ReadAgain(path, call.positions.told_cursor))
        case _:
            assert_never(way)


def _may_go(ledger: Ledger, call: Call, way: Way) -> bool:
    """Return whether the call may go out this way now, or have it saved first.

    Its request is saved as sent, to this server under its key: else it would come back as one that was never sent, and
    might run a second time (rule R21). An attempt has a number that whoever brings it back is above (rule R14).
    """
    may = call.may_attempt()
    if way is Way.SEND and call.permit is not Permit.FREE:
        known = call.key, call.instance
        _name(ledger, call)
        if call.permit is not Permit.GRANTED or known != (call.key, call.instance):
            call.permit, may = Permit.ASKED, False
    if not may:
        ledger.want_saved(call)
    return may


def _name(ledger: Ledger, call: Call) -> None:
    """Give a call its name at the present server: one with the marker is given a key for it (rule R21)."""
    marker = ledger.server.marker
    call.key = Secret(call.entropy.derive("call key")) if marker else None
    call.instance = ledger.server.instance if marker else None


def _send_first(ledger: Ledger, call: Call, path: ConnectionId) -> None:
    """Send the request, which certainly never ran."""
    _name(ledger, call)
    call.first_sent = ledger.now
    _send_request(ledger, call, path)


def _send_request(ledger: Ledger, call: Call, path: ConnectionId) -> None:
    """Send the request; a re-send is the same request with another attempt number (rules R14, R21.2)."""
    extra = own_meta(key=call.key, attempt=_attempt(call)) if call.keyed else None
    ledger.send(path, Request(call.request_id, call.method, with_meta(call.params, extra)))


def _resume(ledger: Ledger, call: Call, path: ConnectionId) -> None:
    """Send `stream/resume` from what the application has; to a server with the marker the cursor says it (Q5b, R23)."""
    stream = call.stream
    assert stream is not None, "only a known stream can be resumed"
    request = resume_request(ledger.expect_reply(call), stream.ref)
    if call.keyed:
        after = call.positions.after
        extra = own_meta(attempt=_attempt(call), after=after)
        request = Request(request.id, request.method, with_meta(request.params, extra))
        call.acked, call.unacked_bytes = after, 0
        acknowledging.spare(ledger, call)
    header = call.positions.header_cursor if path in ledger.exchanges else None
    ledger.send(path, request, header)


def _attempt(call: Call) -> Attempt:
    return Attempt(call.client, call.attempt)
