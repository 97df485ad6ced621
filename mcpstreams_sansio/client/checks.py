"""What is wrong with an input whatever the time: found before anything changes (rule R13)."""

from __future__ import annotations

from mcpstreams_sansio.client.calls import Call
from mcpstreams_sansio.client.inputs import (
    AnswerAsk,
    AttachCall,
    CallSaved,
    CancelCall,
    ClientStreamsInput,
    DetachCall,
    MakeCall,
    MessageReceived,
    OutcomeSaved,
    PathAccepted,
    PathRefused,
    PathUnsent,
    PathUnusable,
    PositionReceived,
    RetryReceived,
    SavedCall,
    TakeMessages,
)
from mcpstreams_sansio.client.ledger import Ledger
from mcpstreams_sansio.client.table import SETTLED_FOR_CALLER
from mcpstreams_sansio.connections import ConnectionLost
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.framing.event_ids import fits_header
from mcpstreams_sansio.ids import CallId
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject, Request, Response, encode_message, is_request_id
from mcpstreams_sansio.wire.meta import check_application_meta, meta_of
from mcpstreams_sansio.wire.progress import PROGRESS_TOKEN
from mcpstreams_sansio.wire.reserved import check_application_method

_ON_A_PATH = (
    MessageReceived,
    PositionReceived,
    RetryReceived,
    PathAccepted,
    PathRefused,
    PathUnsent,
    PathUnusable,
    ConnectionLost,
)


def check(ledger: Ledger, event: ClientStreamsInput) -> None:
    """Refuse what only a mistake of the caller can explain.

    Raises:
        LocalProtocolError: Nothing has changed.
    """
    match event:
        case MakeCall():
            _check_new(ledger, event.call_id)
            _check_request(event.method, event.params)
        case AttachCall():
            _check_new(ledger, event.call_id)
            _check_saved(ledger, event.saved)
        case DetachCall() | CancelCall():
            _check_known(ledger, event.call_id)
        case TakeMessages():
            _check_take(ledger, event)
        case CallSaved() | OutcomeSaved():
            _check_report(ledger, event)
        case AnswerAsk():
            _check_answer_order(ledger, event)
        case _:
            if isinstance(event, _ON_A_PATH) and not ledger.connection_ids.were_given(event.connection_id):
                raise LocalProtocolError("there never was such a path")


def _check_new(ledger: Ledger, call_id: CallId) -> None:
    if call_id <= ledger.highest_call:
        raise LocalProtocolError("a call id must be higher than every one before it")


def _check_known(ledger: Ledger, call_id: CallId) -> None:
    if call_id > ledger.highest_call:
        raise LocalProtocolError("there never was such a call")


def _check_request(method: str, params: JSONObject | None) -> None:
    """Encode it once to see that it can be; what goes out later has only keys of ours added."""
    check_application_method(method)
    check_application_meta(params)
    encode_message(Request("", method, params))
    if not is_request_id(meta_of(params).get(PROGRESS_TOKEN, "")):
        raise LocalProtocolError("a progress token is a string or an integer")


def _check_saved(ledger: Ledger, saved: SavedCall) -> None:
    """Whoever kept it may have changed it."""
    _check_request(saved.method, saved.params)
    if not is_request_id(saved.request_id):
        raise LocalProtocolError("the saved id is too long for a request")
    if saved.request_id in ledger.requests or saved.stream_id in ledger.streams:
        raise LocalProtocolError("the saved call is followed already")
    if not fits_header(saved.event_id or ""):
        raise LocalProtocolError("the saved cursor cannot stand in a header")
    if ledger.may_become_own(saved.request_id):
        raise LocalProtocolError("a client that comes back needs an instance of its own")
    _check_saved_answers(ledger, saved)


def _check_saved_answers(ledger: Ledger, saved: SavedCall) -> None:
    ask_ids = {answer.id for answer in saved.answers}
    if len(ask_ids) < len(saved.answers) or len(ask_ids) > ledger.config.max_asks:
        raise LocalProtocolError("the saved call has too many answers, or two to one question")
    for answer in saved.answers:
        _check_answer(answer)
        if not is_request_id(answer.id) or answer.id in ledger.asks or answer.id in ledger.loose_asks:
            raise LocalProtocolError("a saved answer is to no question, or to that of another call")


def find_stored(ledger: Ledger, call_id: CallId) -> Call | None:
    """Return a call that is to be saved; None if it is over, which is no mistake of who asks (rule R13).

    Raises:
        LocalProtocolError: There never was such a call, or its application keeps nothing of it.
    """
    _check_known(ledger, call_id)
    call = ledger.calls.get(call_id)
    if call is None or call.state in SETTLED_FOR_CALLER:
        return None
    if not call.stored:
        raise LocalProtocolError("the call was not made to be stored")
    return call


def _check_report(ledger: Ledger, event: CallSaved | OutcomeSaved) -> None:
    """What comes late is no mistake (rule R13)."""
    _check_known(ledger, event.call_id)
    call = ledger.calls.get(event.call_id)
    if call is None or call.state in SETTLED_FOR_CALLER:
        return
    if isinstance(event, OutcomeSaved):
        raise LocalProtocolError("the call has no outcome yet")
    find_stored(ledger, event.call_id)
    if event.saved.request_id != call.request_id or event.saved.taken > call.positions.received:
        raise LocalProtocolError("that is not how the call was saved")


def _check_take(ledger: Ledger, event: TakeMessages) -> None:
    _check_known(ledger, event.call_id)
    call = ledger.calls.get(event.call_id)
    if call is not None and event.through > call.positions.received:
        raise LocalProtocolError("nobody was given a message of that position")


def _check_answer_order(ledger: Ledger, event: AnswerAsk) -> None:
    if event.call_id is not None:
        _check_known(ledger, event.call_id)
    if (type(event.answer.id), event.answer.id) != (type(event.ask_id), event.ask_id):
        raise LocalProtocolError("an answer must have the id of its question")
    _check_answer(event.answer)


def _check_answer(answer: Response | ErrorResponse) -> None:
    if isinstance(answer, Response):
        check_application_meta(answer.result)
    encode_message(answer)
