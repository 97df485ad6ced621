"""How answers get to the server: each until it has certainly arrived, and over HTTP a few at a time (rule R24).

Over HTTP each answer has an exchange of its own, so a server that asks without end would have the client open
connections without end. No more than `max_answering` carry answers at a time. What is above that waits: the answer of a
call with its question, every other one in a queue of `max_replies`, and what is above that is dropped.
"""

from __future__ import annotations

import attrs

from mcpstreams_sansio.client import policy
from mcpstreams_sansio.client.asks import Accepted, Answer, Outstanding
from mcpstreams_sansio.client.calls import Call
from mcpstreams_sansio.client.effects import ReplyDropped
from mcpstreams_sansio.client.ledger import Exchange, Ledger, Role, TimerKind
from mcpstreams_sansio.client.table import DELIVERING, SETTLED_FOR_CALLER
from mcpstreams_sansio.ids import ConnectionId, RequestId
from mcpstreams_sansio.wire.jsonrpc import Response
from mcpstreams_sansio.wire.meta import own_meta, with_meta


def reply(ledger: Ledger, answer: Answer) -> None:
    """Send an answer that belongs to no call, at most once; without a link nobody waits for it any more."""
    if ledger.link is None:
        return
    if ledger.can_answer:
        ledger.send(ledger.open_path(Role.ANSWER), answer)
    elif len(ledger.replies) < ledger.config.max_replies:
        ledger.replies.append(answer)
    else:
        ledger.effects.append(ReplyDropped(answer.id))


def send(ledger: Ledger, call: Call, ask_id: RequestId, ask: Outstanding) -> None:
    """Send an answer where it counts, or keep it until that is possible.

    On a shared connection that is the one which delivers the call; with HTTP any exchange of the session.
    """
    on_shared = call.state in DELIVERING and call.path is not None and call.path == ledger.shared
    if ledger.link is not None and (ledger.shared is None or on_shared):
        if ledger.can_answer:
            path = ledger.open_path(Role.ANSWER, call.call_id, ask_id)
            ledger.send(path, _signed(ledger, call, ask.answer))
            ask = attrs.evolve(ask, path=path)
        else:
            ledger.held[call.call_id, ask_id] = None
    call.asks.set(ask_id, ask)


def _signed(ledger: Ledger, call: Call, answer: Answer) -> Answer:
    """Let an answer name the token of its stream, so that it counts wherever it arrives; an error has no place for it.

    Else it would count only where the server delivers the call when it comes, which may be elsewhere by then.
    """
    if not ledger.server.marker or call.stream is None or not isinstance(answer, Response):
        return answer
    token = own_meta(resume_token=call.stream.resume_token)
    return attrs.evolve(answer, result=with_meta(answer.result, token) or {})


def send_waiting(ledger: Ledger, call: Call) -> None:
    """Send every answer of a call that waits for a path, asked again or not (rule R24)."""
    for ask_id, ask in call.asks.waiting():
        send(ledger, call, ask_id, ask)


def accepted(ledger: Ledger, path: ConnectionId, exchange: Exchange) -> None:
    """The server took an answer, or will never want it."""
    call, ask_id, ask = _carried(ledger, path, exchange)
    if call is not None and ask_id is not None and ask is not None:
        call.asks.set(ask_id, Accepted(ask.answer))
    _go_on(ledger)


def lost(ledger: Ledger, path: ConnectionId, exchange: Exchange) -> None:
    """The exchange with an answer broke: it goes again after a pause, since the server may wait for it in vain."""
    call, ask_id, ask = _carried(ledger, path, exchange)
    if call is not None and ask_id is not None and ask is not None:
        call.asks.lose_path(path)
        if ask.failures < ledger.config.max_attempts:
            ledger.wake(call, policy.back_off(ledger.config, ask.failures), TimerKind.ANSWERS)
        else:
            call.asks.set(ask_id, Accepted(ask.answer))
    _go_on(ledger)


def _go_on(ledger: Ledger) -> None:
    """An exchange with an answer is over: the next one may go, those of calls first."""
    while ledger.link is not None and ledger.can_answer and ledger.held:
        call_id, ask_id = next(iter(ledger.held))
        del ledger.held[call_id, ask_id]
        call = ledger.calls[call_id]
        ask = call.asks.get(ask_id)
        if call.state not in SETTLED_FOR_CALLER and isinstance(ask, Outstanding) and ask.path is None:
            send(ledger, call, ask_id, ask)
    while ledger.link is not None and ledger.can_answer and ledger.replies:
        ledger.send(ledger.open_path(Role.ANSWER), ledger.replies.popleft())


def _carried(
    ledger: Ledger, path: ConnectionId, exchange: Exchange
) -> tuple[Call | None, RequestId | None, Outstanding | None]:
    """Return what an exchange with an answer is about, as far as that answer is not under way elsewhere by now."""
    call = None if exchange.call_id is None else ledger.calls.get(exchange.call_id)
    ask = None if call is None or exchange.ask_id is None else call.asks.get(exchange.ask_id)
    return call, exchange.ask_id, ask if isinstance(ask, Outstanding) and ask.path == path else None
