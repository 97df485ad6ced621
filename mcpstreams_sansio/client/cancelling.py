"""Letting go of a call: cancelled, its caller is told at once and its server until it has confirmed; or only detached.

The request is cancelled by its id where that id is at home, by its stream's token anywhere else, by its key where only
that is known, and at a server that knows none of them after a resume (rule R22).

Spec: rules P25, Q2f, Q9, R21.6, R22, R27; group M of the cases.
"""

from __future__ import annotations

from mcpstreams_sansio.client import acknowledging, endings
from mcpstreams_sansio.client.calls import BY_CALL, Call
from mcpstreams_sansio.client.effects import AskWithdrawn, AttemptMade, CallCancelled, CallDetached, Recovery
from mcpstreams_sansio.client.ledger import Ledger, Role
from mcpstreams_sansio.client.policy import VERDICTS, Verdict, back_off
from mcpstreams_sansio.client.table import DELIVERING, CallSignal
from mcpstreams_sansio.ids import RequestId, Secret
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Message, Notification, Response
from mcpstreams_sansio.wire.marker import cancel_request
from mcpstreams_sansio.wire.meta import own_meta, with_meta
from mcpstreams_sansio.wire.methods import CANCELLED
from mcpstreams_sansio.wire.refusals import read_refusal
from mcpstreams_sansio.wire.streams import resume_request


def cancel(ledger: Ledger, call: Call) -> None:
    """The caller has its outcome; now the server has to hear of it (case M8: and nothing else goes out)."""
    at_home = call.state in DELIVERING and call.way in BY_CALL and call.path is not None and call.path == ledger.shared
    endings.tell(ledger, call, CallCancelled(), call.positions.received)
    ledger.leave(call)
    ledger.forget_errand(call)
    ledger.let_sleep(call)
    acknowledging.spare(ledger, call)
    call.step(CallSignal.CANCEL)
    call.cancel_until = ledger.now + ledger.config.cancel_patience
    call.efforts.in_vain = 0
    if at_home:
        _cancel_at_home(ledger, call)
    else:
        announce(ledger, call)


def announce(ledger: Ledger, call: Call) -> None:
    """Tell the server of a cancelled call, by what it can know it by; if there is nothing, that is all."""
    if call.first_sent is None or ledger.now >= call.cancel_until:
        confirm(ledger, call)
    elif ledger.link is None:
        call.step(CallSignal.STRAND)
        ledger.wake(call, call.cancel_until - ledger.now)
    elif call.keyed and call.stream is not None:
        _send(ledger, call, cancel_request(ledger.expect_reply(call), call.stream.ref))
    elif ledger.shared is None:
        _announce_in_session(ledger, call)
    else:
        _announce_on_connection(ledger, call)


def retry(ledger: Ledger, call: Call) -> None:
    """What told the server is lost, or was refused for now: tell it again, within the patience for it."""
    ledger.leave(call)
    ledger.forget_errand(call)
    call.step(CallSignal.LOSS)
    left = max(0.0, call.cancel_until - ledger.now)
    wait = left if ledger.link is None else back_off(ledger.config, call.efforts.in_vain)
    call.efforts.in_vain += 1
    ledger.wake(call, min(left, wait))


def receive_reply(ledger: Ledger, call: Call, message: Response | ErrorResponse) -> None:
    """The server has answered a cancellation: any answer confirms it, save one that asks for patience."""
    refusal = read_refusal(message) if isinstance(message, ErrorResponse) else None
    if refusal is not None and VERDICTS[refusal.reason] is Verdict.LATER:
        retry(ledger, call)
    else:
        confirm(ledger, call)


def confirm(ledger: Ledger, call: Call) -> None:
    """Nothing is left to be told: the server knows, or will find out by itself."""
    call.step(CallSignal.SETTLED)
    ledger.remove(call)


def trust(ledger: Ledger, call: Call) -> None:
    """Leave what tells the server to arrive, and do not wait for it."""
    ledger.abandon_path(call)
    confirm(ledger, call)


def detach(ledger: Ledger, call: Call) -> None:
    """Let go of a call so that it can be brought back: it is not cancelled, only no longer delivered here (Q2f)."""
    ledger.effects += [AskWithdrawn(call.call_id, ask_id) for ask_id in call.asks.open()]
    shared = ledger.shared
    if shared is not None and call.path == shared and call.state in DELIVERING and call.errand is not None:
        ledger.send(shared, _notice(call.errand))
    ledger.effects.append(CallDetached(call.call_id, ledger.save(call, ledger.now)))
    call.step(CallSignal.DETACH)
    ledger.remove(call)


def _cancel_at_home(ledger: Ledger, call: Call) -> None:
    """Cancel the request on the connection on which it went; of a stream with the marker `end` confirms it (P35)."""
    if call.keyed:
        _send_key(ledger, call)
    else:
        _send(ledger, call, _notice(call.request_id))
        confirm(ledger, call)


def _announce_in_session(ledger: Ledger, call: Call) -> None:
    """Over HTTP the id of a request is at home in its session, and the key anywhere; 202 confirms it (rule Q9e)."""
    if call.keyed or call.session == ledger.session:
        _send(ledger, call, _notice(call.request_id, call.key))
    else:
        confirm(ledger, call)


def _announce_on_connection(ledger: Ledger, call: Call) -> None:
    """On a new connection the id of a request means nothing: a key does, and an attachment makes it mean something."""
    if call.stream is not None and call.stream.resumable and not call.keyed:
        _send(ledger, call, resume_request(ledger.expect_reply(call), call.stream.ref))
        ledger.send(ledger.open_path(Role.CALL), _notice(call.request_id))
        return
    if call.keyed:
        _send_key(ledger, call)
    else:
        confirm(ledger, call)


def _send_key(ledger: Ledger, call: Call) -> None:
    """Cancel by the key on a connection: nothing accepts it there, so it is told again if that connection is lost."""
    _send(ledger, call, _notice(call.request_id, call.key))
    ledger.wake(call, call.cancel_until - ledger.now)


def _send(ledger: Ledger, call: Call, message: Message) -> None:
    ledger.effects.append(AttemptMade(call.call_id, Recovery.CANCEL))
    call.path = ledger.open_path(Role.CALL, call.call_id)
    ledger.send(call.path, message)
    call.step(CallSignal.RECOVER)
    ledger.wake(call, min(ledger.config.reply_timeout, call.cancel_until - ledger.now))


def _notice(request_id: RequestId, key: Secret | None = None) -> Notification:
    return Notification(CANCELLED, with_meta({"requestId": request_id}, own_meta(key=key)))
