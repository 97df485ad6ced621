"""What the server sends of its own accord: the messages of a call's stream, in order and once, whatever comes twice."""

from __future__ import annotations

from typing import Final, assert_never

from mcpstreams_sansio.client import acknowledging, cancelling, endings, questions, recovery, replies
from mcpstreams_sansio.client.calls import Call, KnownStream
from mcpstreams_sansio.client.effects import DuplicateDropped, ItemReceived, UnclaimedMessage
from mcpstreams_sansio.client.inputs import MessageReceived, PositionReceived, RetryReceived
from mcpstreams_sansio.client.ledger import Ledger
from mcpstreams_sansio.client.positions import Place
from mcpstreams_sansio.client.table import DELIVERING, SETTLED_FOR_CALLER, CallSignal, CallState
from mcpstreams_sansio.errors import RemoteProtocolError
from mcpstreams_sansio.ids import ConnectionId, RequestId
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Notification, Request, Response, is_request_id
from mcpstreams_sansio.wire.meta import read_window
from mcpstreams_sansio.wire.methods import CANCELLED, PING, PROGRESS
from mcpstreams_sansio.wire.progress import PROGRESS_TOKEN
from mcpstreams_sansio.wire.refusals import Reason
from mcpstreams_sansio.wire.streams import STREAM_CREATE, STREAM_END, StreamCreate, read_create, read_end
from mcpstreams_sansio.wire.tags import Tag, read_tag, stream_hint, untagged

_MILLISECONDS: Final = 1000


def receive(ledger: Ledger, event: MessageReceived) -> None:
    """Bring a message to where it belongs. What comes on a path that is over changes nothing (rule R13)."""
    path, message = event.connection_id, event.message
    if path not in ledger.exchanges and path != ledger.shared:
        return
    try:
        match message:
            case Response() | ErrorResponse():
                replies.receive(ledger, event, message)
            case Request():
                _receive_request(ledger, event, message)
            case Notification():
                _RECEIVERS.get(message.method, _receive_notification)(ledger, event, message)
            case _:
                assert_never(message)
    except RemoteProtocolError:
        # Its tag or its params are unusable, so whose it is cannot be told; nothing has changed.
        ledger.effects.append(UnclaimedMessage(path, message))


def receive_position(ledger: Ledger, event: PositionReceived) -> None:
    """An event without a message says where its path is (rules H13, H14)."""
    call = _delivered_by(ledger, event.connection_id)
    if call is not None:
        recovery.contact(ledger, call)
        if _event_id(ledger, event.connection_id, event.event_id) is not None:
            call.positions.note_cursor(event.event_id)


def receive_retry(ledger: Ledger, event: RetryReceived) -> None:
    """The server asks for a pause before the client comes back (rules H16, Q7g)."""
    call = _delivered_by(ledger, event.connection_id)
    if call is not None:
        recovery.contact(ledger, call)
        call.efforts.asked_pause = event.retry_ms / _MILLISECONDS


def _delivered_by(ledger: Ledger, path: ConnectionId) -> Call | None:
    """Return the call whose messages come on an exchange."""
    call = ledger.call_of(path)
    return call if call is not None and call.state in DELIVERING else None


def _event_id(ledger: Ledger, path: ConnectionId, event_id: str | None) -> str | None:
    """Return an event id, unless it is one of a session that is over (case C5)."""
    exchange = ledger.exchanges.get(path)
    return event_id if exchange is not None and exchange.session == ledger.session else None


def _is_late(call: Call, path: ConnectionId) -> bool:
    """Return whether a message comes on a path that is not its call's any more, or too late for its caller."""
    return call.path != path or call.state not in DELIVERING


def _owner(ledger: Ledger, path: ConnectionId, message: Request | Notification, tag: Tag | None) -> Call | None:
    """Return the call that a message belongs to: its exchange's, or on a shared connection the one that it names.

    A message of another stream is nobody's: what one stream says cannot reach another (rule Q11g). Neither is one
    without a tag where the stream's have one (rule R4).
    """
    call = ledger.call_of(path) if path in ledger.exchanges else _named(ledger, message)
    if call is None or not call.keyed:
        return call
    if tag is None or call.stream is None or call.stream.stream_id != tag.stream_id:
        return None
    return call


def _named(ledger: Ledger, message: Request | Notification) -> Call | None:
    stream_id = stream_hint(message)
    call_id = None if stream_id is None else ledger.streams.get(stream_id)
    if call_id is None and message.method == PROGRESS:
        token = (message.params or {}).get(PROGRESS_TOKEN)
        call_id = ledger.named_by(token) if is_request_id(token) else None
    return None if call_id is None else ledger.calls[call_id]


def _place(ledger: Ledger, call: Call, event: MessageReceived, tag: Tag | None) -> Place:
    """Return where a message stands in its call."""
    return call.positions.place(_sequence(call, tag), _event_id(ledger, event.connection_id, event.event_id))


def _sequence(call: Call, tag: Tag | None) -> int | None:
    """Return a message's own position; without the marker the client counts, whatever a peer writes."""
    return tag.sequence if tag is not None and call.keyed else None


def _is_next(ledger: Ledger, call: Call, event: MessageReceived, tag: Tag | None) -> bool:
    """Return whether a message is to be taken up now; otherwise all that follows from it is done."""
    if _is_late(call, event.connection_id):
        return False
    place = _place(ledger, call, event, tag)
    match place:
        case Place.REPEATED:
            _repeat(ledger, call, event, tag)
        case Place.BEYOND:
            recovery.pass_over(ledger, call, _sequence(call, tag))
        case Place.NEXT:
            recovery.contact(ledger, call)
            call.efforts.progress()
        case _:
            assert_never(place)
    return place is Place.NEXT


def _take_up(ledger: Ledger, call: Call, event: MessageReceived) -> int:
    """Take up a message that is no item, and let it be acknowledged: nobody has to come back for it (rules R6, R23)."""
    position = call.positions.take_up(_event_id(ledger, event.connection_id, event.event_id))
    call.unacked_bytes += event.size
    acknowledging.acknowledge(ledger, call)
    return position


def _repeat(ledger: Ledger, call: Call, event: MessageReceived, tag: Tag | None) -> None:
    """Drop what was received before, and note that the path has come so far."""
    recovery.contact(ledger, call)
    event_id = _event_id(ledger, event.connection_id, event.event_id)
    position = call.positions.repeat(_sequence(call, tag), event_id)
    ledger.effects.append(DuplicateDropped(call.call_id, position))


def _is_passed_over(ledger: Ledger, call: Call, event: MessageReceived, tag: Tag | None) -> bool:
    """Return whether there is no room for another item, and it was passed over: it comes again if it can (R23).

    What cannot come again is counted, and its position is used up: asking for it would be in vain, or not allowed, and
    lose the answer too (rule Q7c).
    """
    if call.state is not CallState.FULL:
        return False
    if tag is not None and call.repeatable:
        recovery.pass_over(ledger, call, tag.sequence)
        return True
    if event.connection_id == ledger.shared and isinstance(event.message, Notification):
        if call.keyed:
            _take_up(ledger, call, event)
        call.dropped += 1
        return True
    return False


def _receive_notification(ledger: Ledger, event: MessageReceived, message: Notification) -> None:
    tag = read_tag(message)
    call = _owner(ledger, event.connection_id, message, tag)
    if call is None:
        ledger.effects.append(UnclaimedMessage(event.connection_id, message))
    elif _is_next(ledger, call, event, tag) and not _is_passed_over(ledger, call, event, tag):
        plain = untagged(message)
        assert isinstance(plain, Notification), "taking a tag off changes no kind"
        event_id = _event_id(ledger, event.connection_id, event.event_id)
        position = call.positions.take_up_item(event.size, event_id)
        ledger.effects.append(ItemReceived(call.call_id, position, plain))
        recovery.check_room(ledger, call)


def _receive_cancelled(ledger: Ledger, event: MessageReceived, message: Notification) -> None:
    """A question is withdrawn (rule R24)."""
    tag = read_tag(message)
    call = _owner(ledger, event.connection_id, message, tag)
    ask_id = (message.params or {}).get("requestId")
    if call is None:
        if is_request_id(ask_id) and ask_id in ledger.loose_asks:
            questions.withdraw_loose(ledger, ask_id)
    elif _is_next(ledger, call, event, tag):
        _take_up(ledger, call, event)
        if is_request_id(ask_id) and call.asks.get(ask_id) is not None:
            questions.withdraw(ledger, call, ask_id)


def _receive_request(ledger: Ledger, event: MessageReceived, message: Request) -> None:
    """The server asks something. Sent again, it is known by its id, and by its position if it has one (rule Q4e)."""
    if message.method == PING:
        questions.pong(ledger, message)
        return
    tag = read_tag(message)
    call = _owner(ledger, event.connection_id, message, tag)
    if call is None and tag is None and ledger.link is not None:
        questions.receive_loose(ledger, message)
    elif call is None or _is_asked_elsewhere(ledger, call, message.id):
        ledger.effects.append(UnclaimedMessage(event.connection_id, message))
    elif not _is_late(call, event.connection_id):
        _receive_ask(ledger, call, event, message, tag)


def _is_asked_elsewhere(ledger: Ledger, call: Call, ask_id: RequestId) -> bool:
    """Return whether another call has a question of this id: an answer could not be told from the other's."""
    return ask_id in ledger.loose_asks or ledger.asks.get(ask_id, call.call_id) != call.call_id


def _receive_ask(ledger: Ledger, call: Call, event: MessageReceived, message: Request, tag: Tag | None) -> None:
    place = _place(ledger, call, event, tag)
    event_id = _event_id(ledger, event.connection_id, event.event_id)
    if place is Place.REPEATED:
        recovery.contact(ledger, call)
        questions.repeat(ledger, call, message, call.positions.repeat(_sequence(call, tag), event_id))
    elif place is Place.NEXT and call.asks.get(message.id) is not None:
        recovery.contact(ledger, call)
        if tag is not None and call.keyed:
            _take_up(ledger, call, event)
        questions.repeat(ledger, call, message, call.positions.received)
    elif _is_next(ledger, call, event, tag) and not _is_passed_over(ledger, call, event, tag):
        questions.receive(ledger, call, message, _take_up(ledger, call, event))


def _receive_create(ledger: Ledger, event: MessageReceived, message: Notification) -> None:
    """The call has a stream, or what is known of it has changed (rules P5, Q2g).

    After a cancellation it is learnt only to cancel by it, never to resume it (rule Q9d).
    """
    create = read_create(message.params)
    tag = read_tag(message)
    window = read_window(create.meta)
    call = _created_for(ledger, event.connection_id, create)
    if call is None or call.path != event.connection_id:
        return
    known = KnownStream(create.stream_id, create.resume_token) if call.stream is None else call.stream
    before = call.stream
    call.stream = KnownStream(
        create.stream_id,
        create.resume_token,
        create.resume_interval or known.interval,
        window or known.window,
    )
    ledger.streams[create.stream_id] = call.call_id
    if call.state in DELIVERING and _place(ledger, call, event, tag) is Place.REPEATED:
        recovery.contact(ledger, call)
    elif _is_next(ledger, call, event, tag):
        _take_up(ledger, call, event)
    if call.stored and call.stream != before and call.state not in SETTLED_FOR_CALLER:
        ledger.want_saved(call)


def _created_for(ledger: Ledger, path: ConnectionId, create: StreamCreate) -> Call | None:
    """Return the call whose stream is announced: the one of its request, else of its exchange, else of its id.

    A second stream for one call, or one that belongs to another call, is left alone (rules Q11f, Q11g).
    """
    if create.request_id is not None:
        call_id = ledger.requests.get(create.request_id)
        call = None if call_id is None else ledger.calls[call_id]
    elif path in ledger.exchanges:
        call = ledger.call_of(path)
    else:
        call_id = ledger.streams.get(create.stream_id)
        call = None if call_id is None else ledger.calls[call_id]
    if call is None or ledger.streams.get(create.stream_id, call.call_id) != call.call_id:
        return None
    return call if call.stream is None or call.stream.stream_id == create.stream_id else None


def _receive_end(ledger: Ledger, event: MessageReceived, message: Notification) -> None:
    """The stream is over: after the response as it should be, without one only if it was cancelled (Q3a, Q9b)."""
    end = read_end(message.params)
    tag = read_tag(message)
    call_id = ledger.streams.get(end.stream_id)
    call = None if call_id is None else ledger.calls[call_id]
    if call is None or call.path != event.connection_id:
        return
    if call.state is CallState.CANCELLING:
        cancelling.confirm(ledger, call)
    elif call.state is CallState.SETTLING:
        _end_answered(ledger, call, event, _sequence(call, tag))
    elif call.state in DELIVERING:
        _end_unanswered(ledger, call, event, tag)


def _end_answered(ledger: Ledger, call: Call, event: MessageReceived, sequence: int | None) -> None:
    """Check that nothing was missing before the response: `end` is exactly one above it (rule R4).

    The caller has its answer since then (rule Q3d), so a server that left something out before an error, which has no
    position of its own, is only reported; what it left out is not acknowledged.
    """
    if sequence is None or call.positions.place(sequence) is Place.NEXT:
        call.end = call.positions.take_up(None)
    else:
        call.end = sequence
        ledger.effects.append(UnclaimedMessage(event.connection_id, event.message))
    call.step(CallSignal.CONTACT)
    endings.settle(ledger, call)


def _end_unanswered(ledger: Ledger, call: Call, event: MessageReceived, tag: Tag | None) -> None:
    """The stream is over before its answer is here: the answer is held, or was passed over, or there is none."""
    sequence = _sequence(call, tag)
    if sequence is None or call.positions.place(sequence) is not Place.BEYOND:
        if _is_next(ledger, call, event, tag):
            # Behind a gap, the response was in it: another client has acknowledged it (rule R6).
            endings.refuse(ledger, call, Reason.FINISHED if call.positions.behind_gap else Reason.CANCELLED)
    elif call.unproven is not None and sequence == call.positions.received + 2:
        endings.respond(ledger, call, call.unproven)
        _end_answered(ledger, call, event, sequence)
    elif call.state is CallState.RECOVERING or _is_all_there_is(ledger, call, sequence):
        endings.refuse(ledger, call, Reason.FINISHED)  # of all that was asked for only this is left (rule Q9a)
    else:
        # What is missing before it ends with the response, which has no tag if it is an error.
        call.end = sequence
        recovery.pass_over(ledger, call, sequence - 2)


def _is_all_there_is(ledger: Ledger, call: Call, sequence: int) -> bool:
    """Return whether the same end has come before in place of what is missing, and was asked for anew since then.

    An exchange shows by its head that the server has the call, so whether anything but the end is left shows later.
    """
    return call.state is CallState.FOLLOWING and call.path in ledger.exchanges and call.end == sequence


_RECEIVERS: Final = {
    STREAM_CREATE: _receive_create,
    STREAM_END: _receive_end,
    CANCELLED: _receive_cancelled,
}
"""The notifications that mean something to the client itself; every other one is the application's."""
