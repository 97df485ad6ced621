"""What the server asks inside a call, and the answers, which are sent until they have certainly arrived (rule R24)."""

from __future__ import annotations

import attrs

from mcpstreams_sansio.client import acknowledging, policy
from mcpstreams_sansio.client.asks import Accepted, Answer, Open, Outstanding, Withdrawn
from mcpstreams_sansio.client.calls import Call
from mcpstreams_sansio.client.effects import AskReceived, AskWithdrawn, DuplicateDropped
from mcpstreams_sansio.client.inputs import AnswerAsk
from mcpstreams_sansio.client.ledger import Exchange, Ledger, Role, TimerKind
from mcpstreams_sansio.client.table import DELIVERING
from mcpstreams_sansio.errors import INTERNAL_ERROR
from mcpstreams_sansio.ids import ConnectionId, RequestId
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Request, Response
from mcpstreams_sansio.wire.tags import untagged


def receive(ledger: Ledger, call: Call, request: Request, event_id: str | None) -> None:
    """Take up a question that comes next in a call; with no room for it, answer that.

    It is no item that has to be taken: unanswered, it comes again whatever the cursor says (rule Q4d).
    """
    position = call.positions.take_up(event_id)
    if call.must_acknowledge():  # the server may let its application wait for room, and nothing else comes to take
        acknowledging.acknowledge(ledger, call, at_once=True)
    if _make_room(ledger, call):
        _hand_over(ledger, call, request, position)
    else:
        _refuse(ledger, request.id)


def repeat(ledger: Ledger, call: Call, request: Request, position: int) -> None:
    """A question comes again: answered, it gets the same answer; open, nothing; unknown, it is handed over (Q4e).

    An answer under way on the connection that repeats the question will be heard behind it. One on an exchange of its
    own may have come before the server knew that it counts there, so it goes again.
    """
    match call.asks.get(request.id):
        case None if _make_room(ledger, call):
            _hand_over(ledger, call, request, position)
            return
        case None:
            _refuse(ledger, request.id)
        case Outstanding(answer=again, path=path) if path is None or path != ledger.shared:
            _send_answer(ledger, call, request.id, Outstanding(again))
        case Accepted(answer=again):
            _send_answer(ledger, call, request.id, Outstanding(again))
        case _:
            pass
    ledger.effects.append(DuplicateDropped(call.call_id, position))


def withdraw(ledger: Ledger, call: Call, ask_id: RequestId) -> None:
    """The server no longer wants an answer; the application is told, unless it has answered."""
    if isinstance(call.asks.get(ask_id), Open):
        ledger.effects.append(AskWithdrawn(call.call_id, ask_id))
    call.asks.set(ask_id, Withdrawn())


def receive_loose(ledger: Ledger, request: Request) -> None:
    """Hand over a question that belongs to no call. Its answer goes once: nothing says whether it is still wanted.

    The link is up. One that comes after it is lost, on an exchange that goes on, could not be answered any more.
    """
    if request.id in ledger.loose_asks or request.id in ledger.asks:
        return
    if len(ledger.loose_asks) >= ledger.config.max_asks:
        _refuse(ledger, request.id)
        return
    ledger.loose_asks[request.id] = None
    ledger.effects.append(AskReceived(None, request.id, 0, request.method, request.params))


def pong(ledger: Ledger, request: Request) -> None:
    """Answer a `ping`: it is nobody else's business (case K4)."""
    if ledger.link is not None:
        ledger.send(ledger.open_path(Role.ANSWER), Response(request.id, {}))


def withdraw_loose(ledger: Ledger, ask_id: RequestId) -> None:
    """Nobody wants an answer to a question that belongs to no call: it was withdrawn, or its connection is gone."""
    del ledger.loose_asks[ask_id]
    ledger.effects.append(AskWithdrawn(None, ask_id))


def answer(ledger: Ledger, event: AnswerAsk) -> None:
    """Send the application's answer; one to a question that nobody asks any more is dropped."""
    if event.call_id is None:
        if event.ask_id in ledger.loose_asks:
            del ledger.loose_asks[event.ask_id]
            ledger.send(ledger.open_path(Role.ANSWER), event.answer)
        return
    call = ledger.calls.get(event.call_id)
    if call is not None and isinstance(call.asks.get(event.ask_id), Open):
        _send_answer(ledger, call, event.ask_id, Outstanding(event.answer))


def send_waiting(ledger: Ledger, call: Call) -> None:
    """Send every answer of a call that waits for a path, asked again or not (rule R24)."""
    for ask_id, ask in call.asks.waiting():
        _send_answer(ledger, call, ask_id, ask)


def accepted(ledger: Ledger, path: ConnectionId, exchange: Exchange) -> None:
    """The server took an answer, or will never want it."""
    call, ask_id, ask = _carried(ledger, path, exchange)
    if call is not None and ask_id is not None and ask is not None:
        call.asks.set(ask_id, Accepted(ask.answer))


def lost(ledger: Ledger, path: ConnectionId, exchange: Exchange) -> None:
    """The exchange with an answer broke: it goes again after a pause, since the server may wait for it in vain."""
    call, ask_id, ask = _carried(ledger, path, exchange)
    if call is None or ask_id is None or ask is None:
        return
    call.asks.lose_path(path)
    if ask.failures < ledger.config.max_attempts:
        ledger.wake(call, policy.back_off(ledger.config, ask.failures), TimerKind.ANSWERS)
    else:
        call.asks.set(ask_id, Accepted(ask.answer))


def _carried(
    ledger: Ledger, path: ConnectionId, exchange: Exchange
) -> tuple[Call | None, RequestId | None, Outstanding | None]:
    """Return what an exchange with an answer is about, as far as that answer is not under way elsewhere by now."""
    call = None if exchange.call_id is None else ledger.calls.get(exchange.call_id)
    ask = None if call is None or exchange.ask_id is None else call.asks.get(exchange.ask_id)
    return call, exchange.ask_id, ask if isinstance(ask, Outstanding) and ask.path == path else None


def _hand_over(ledger: Ledger, call: Call, request: Request, position: int) -> None:
    call.asks.set(request.id, Open())
    ledger.asks[request.id] = call.call_id
    plain = untagged(request)
    assert isinstance(plain, Request), "taking a tag off changes no kind"
    ledger.effects.append(AskReceived(call.call_id, request.id, position, request.method, plain.params))


def _send_answer(ledger: Ledger, call: Call, ask_id: RequestId, ask: Outstanding) -> None:
    """Send an answer where it counts, or keep it until that is possible.

    On a shared connection that is the one which delivers the call; with HTTP any exchange of the session.
    """
    on_shared = call.state in DELIVERING and call.path is not None and call.path == ledger.shared
    if ledger.link is not None and (ledger.shared is None or on_shared):
        path = ledger.open_path(Role.ANSWER, call.call_id, ask_id)
        ledger.send(path, ask.answer)
        ask = attrs.evolve(ask, path=path)
    call.asks.set(ask_id, ask)


def _make_room(ledger: Ledger, call: Call) -> bool:
    if len(call.asks) < ledger.config.max_asks:
        return True
    forgotten = call.asks.longest_answered()
    if forgotten is None:
        return False
    _forget(ledger, call, forgotten)
    return True


def _forget(ledger: Ledger, call: Call, ask_id: RequestId) -> None:
    call.asks.remove(ask_id)
    del ledger.asks[ask_id]


def _refuse(ledger: Ledger, ask_id: RequestId) -> None:
    """Answer, once and without remembering it, that there is no room for a question."""
    if ledger.link is not None:
        ledger.send(ledger.open_path(Role.ANSWER), _no_room(ask_id))


def _no_room(ask_id: RequestId) -> Answer:
    return ErrorResponse(ask_id, INTERNAL_ERROR, "too many questions are open")
