"""What the server asks, inside a call or outside of any, and what the application answers (rules Q4d, Q4e, R24)."""

from __future__ import annotations

from collections.abc import Container

from mcpstreams_sansio.client import answering
from mcpstreams_sansio.client.asks import Accepted, Open, Outstanding, Unsaved, Withdrawn
from mcpstreams_sansio.client.calls import Call
from mcpstreams_sansio.client.effects import AskReceived, AskWithdrawn, DuplicateDropped
from mcpstreams_sansio.client.inputs import AnswerAsk
from mcpstreams_sansio.client.ledger import Ledger
from mcpstreams_sansio.errors import INTERNAL_ERROR
from mcpstreams_sansio.ids import RequestId
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Request, Response
from mcpstreams_sansio.wire.tags import untagged


def receive(ledger: Ledger, call: Call, request: Request, position: int) -> None:
    """Hand over a question that comes for the first time; with no room for it, answer that.

    It is no item that has to be taken: unanswered, it comes again whatever the cursor says (rule Q4d).
    """
    if _make_room(ledger, call):
        _hand_over(ledger, call, request, position)
    else:
        _refuse(ledger, request.id)


def repeat(ledger: Ledger, call: Call, request: Request, position: int) -> None:
    """A question comes again: answered, it gets the same answer; open, nothing; unknown, it is handed over (Q4e).

    An answer that went out behind the resume, on the connection that repeats the question, will be heard there. One on
    an exchange of its own may have come before the server knew that it counts there, so it goes again.
    """
    match call.asks.get(request.id):
        case None if _make_room(ledger, call):
            _hand_over(ledger, call, request, position)
            return
        case None:
            _refuse(ledger, request.id)
        case Outstanding(answer=again, path=path) if path is None or path != ledger.shared:
            answering.send(ledger, call, request.id, Outstanding(again))
        case Accepted(answer=again):
            answering.send(ledger, call, request.id, Outstanding(again))
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
    answering.reply(ledger, Response(request.id, {}))


def withdraw_loose(ledger: Ledger, ask_id: RequestId) -> None:
    """Nobody wants an answer to a question that belongs to no call: it was withdrawn, or its connection is gone."""
    del ledger.loose_asks[ask_id]
    ledger.effects.append(AskWithdrawn(None, ask_id))


def answer(ledger: Ledger, event: AnswerAsk) -> None:
    """Send the application's answer; one to a question that nobody asks any more is dropped."""
    if event.call_id is None:
        if event.ask_id in ledger.loose_asks:
            del ledger.loose_asks[event.ask_id]
            answering.reply(ledger, event.answer)
        return
    call = ledger.calls.get(event.call_id)
    if call is None or not isinstance(call.asks.get(event.ask_id), Open):
        return
    if call.stored:
        # Sent before it is saved, it might be given a second time and otherwise, by whoever brings the call back.
        call.asks.set(event.ask_id, Unsaved(event.answer))
        ledger.want_saved(call)
    else:
        answering.send(ledger, call, event.ask_id, Outstanding(event.answer))


def send_saved(ledger: Ledger, call: Call, ask_ids: Container[RequestId | None]) -> None:
    """Send the answers that waited for being saved (rules R23, R24)."""
    for ask_id in call.asks.known():
        ask = call.asks.get(ask_id)
        if isinstance(ask, Unsaved) and ask_id in ask_ids:
            answering.send(ledger, call, ask_id, Outstanding(ask.answer))


def _hand_over(ledger: Ledger, call: Call, request: Request, position: int) -> None:
    call.asks.set(request.id, Open())
    ledger.asks[request.id] = call.call_id
    plain = untagged(request)
    assert isinstance(plain, Request), "taking a tag off changes no kind"
    ledger.effects.append(AskReceived(call.call_id, request.id, position, request.method, plain.params))


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
    ledger.held.pop((call.call_id, ask_id), None)


def _refuse(ledger: Ledger, ask_id: RequestId) -> None:
    """Answer, once and without remembering it, that there is no room for a question."""
    answering.reply(ledger, ErrorResponse(ask_id, INTERNAL_ERROR, "too many questions are open"))
