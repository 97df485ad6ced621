"""Every input in every state of a call, and every other one after it: what the table rules out does not come.

What a server may say goes far beyond what it should, and so does what may be reported of paths. No guard may let any of
it through to a cell in which it makes no sense; and what the table allows is met, or this would prove nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import attrs
import pytest

from mcpstreams_sansio.client import calls
from mcpstreams_sansio.client.calls import Call
from mcpstreams_sansio.client.inputs import (
    AnswerAsk,
    CallSaved,
    CancelCall,
    ClientStreamsInput,
    DetachCall,
    GivenUp,
    LinkDown,
    LinkGivenUp,
    LinkUp,
    MessageReceived,
    OutcomeSaved,
    PathAccepted,
    PathRefused,
    PathUnsent,
    PathUnusable,
    PositionReceived,
    RetryReceived,
    ServerTraits,
    TakeMessages,
)
from mcpstreams_sansio.client.policy import VERDICTS
from mcpstreams_sansio.client.streams import ClientStreams
from mcpstreams_sansio.client.table import CALL_TABLE
from mcpstreams_sansio.connections import ConnectionLost, DeadlineReached
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.ids import ConnectionId, RequestId, Secret, StreamId
from mcpstreams_sansio.tables import Forbidden
from mcpstreams_sansio.testing import RecordedTable
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Message, Notification, Request, Response
from mcpstreams_sansio.wire.refusals import Reason, refusal
from mcpstreams_sansio.wire.streams import (
    PollResult,
    StreamCreate,
    StreamEnd,
    create_notification,
    end_notification,
    poll_response,
)
from mcpstreams_sansio.wire.tags import tagged
from tests.sansio.client.conversation import CONFIG, DRAFT, MARKER, Conversation, progress
from tests.sansio.client.situations import STATES, following, path_of, stranded
from tests.sansio.moments import go_everywhere

Moment: TypeAlias = tuple[ClientStreams, float]
"""A client at some time."""

STREAM: Final = StreamId("s1")
LATER: Final = ConnectionId(1_000)
"""A connection that comes after all others."""
INPUTS: Final = 2
"""How many of them come, one after another."""
REASONS: Final = {
    *({VERDICTS[reason]: reason for reason in Reason if reason in VERDICTS}.values()),
    *(Reason.INTERRUPTED, Reason.FINISHED),
}
"""One for each way in which they are understood."""
STATUSES: Final = (400, 404, 405, 429, 500)


def the_call(streams: ClientStreams) -> Call:
    """Return the only call that there is."""
    [call] = streams._ledger.calls.values()
    return call


def said(streams: ClientStreams) -> Iterator[Message]:
    """Yield what a server may say of the call: what is next, what was there before, what comes too early."""
    call = the_call(streams)
    next_one = call.positions.received + 1
    asked: list[RequestId] = [call.request_id] if call.errand is None else [call.request_id, call.errand]
    create = create_notification(StreamCreate(STREAM, Secret("token of s1"), call.request_id))
    placed: list[Message] = [
        create,
        progress(1, call.request_id),
        Request("q1", "sampling/createMessage", {}),
        end_notification(StreamEnd(STREAM)),
        Response(call.request_id, {}),
    ]
    for message in placed:
        yield message
        yield from (tagged(message, STREAM, where) for where in range(max(next_one - 1, 1), next_one + 2))
    yield tagged(Notification("notifications/cancelled", {"requestId": "q1"}), STREAM, next_one)
    for each in asked:
        yield ErrorResponse(each, 7, "no")
        for reason in REASONS:
            gone = {"first_available": next_one + 2, "lost": 1} if reason is Reason.EVENTS_GONE else {}
            yield refusal(each, reason, **gone)
    yield Response(asked[-1], {})
    yield poll_response(asked[-1], PollResult(STREAM, "live", False, False, False))
    yield poll_response(asked[-1], PollResult(STREAM, "completed", True, False, False))


def reported(streams: ClientStreams) -> Iterator[ClientStreamsInput]:
    """Yield what may be reported of the paths that there are, and of the latest one that there was."""
    ledger, call = streams._ledger, the_call(streams)
    for path in {ledger.shared, call.path, call.last_path, *ledger.exchanges} - {None}:
        assert path is not None
        for message in said(streams):
            yield MessageReceived(path, message, None if path == ledger.shared else f"e{call.positions.received}", 10)
        yield PositionReceived(path, "e1")
        yield RetryReceived(path, 50)
        yield PathAccepted(path)
        yield from (PathRefused(path, status) for status in STATUSES)
        yield PathUnsent(path)
        yield PathUnusable(path)
        yield ConnectionLost(path)


def ordered(streams: ClientStreams, now: float) -> Iterator[ClientStreamsInput]:
    """Yield what the application may order, and what may become of the link."""
    call = the_call(streams)
    name = call.call_id
    yield from (CancelCall(name), DetachCall(name), OutcomeSaved(name), AnswerAsk(name, "q1", Response("q1", {})))
    yield from (TakeMessages(name, through) for through in range(1, call.positions.received + 1))
    if call.stored and (saved := streams.save(name, now)) is not None:
        yield CallSaved(name, saved)
    yield from (LinkDown(), LinkUp(None, MARKER), LinkUp(LATER, MARKER), LinkUp(LATER, DRAFT), DeadlineReached())
    yield from (LinkGivenUp(each) for each in GivenUp)


def what_follows(moment: Moment) -> Iterator[Moment]:
    """Yield each moment that can come next."""
    streams, now = moment
    if not streams._ledger.calls:
        return
    inputs = [(event, now) for event in (*ordered(streams, now), *reported(streams))]
    if (deadline := streams.next_deadline()) is not None:
        inputs.append((DeadlineReached(), max(now, deadline)))
    for event, when in inputs:
        copy = streams.fork()
        try:
            copy.handle(event, when)
        except LocalProtocolError:
            continue  # a driver that makes this mistake is told so
        yield copy, when


def key(moment: Moment) -> object:
    """Return what decides the future."""
    streams, now = moment
    return streams.snapshot(now)


def detached_and_attached(talk: Conversation) -> None:
    """Let go of the call, and take it up again where its first attachment may still deliver."""
    talk.link_up()
    talk.call()
    talk.creates(path_of(talk))
    saved = talk.detach()
    talk.attach(saved)


def made_without_a_link(talk: Conversation) -> None:
    talk.call()


def kept(talk: Conversation) -> None:
    """Make a call that outlives its process."""
    talk.link_up()
    talk.call(stored=True)


def asking_first(talk: Conversation) -> None:
    """Be about to ask whether coming back is worth it, where an attachment may still deliver."""
    following(talk)
    talk.progresses(4, path_of(talk))
    talk.streams._ledger.config = attrs.evolve(CONFIG, poll_first=True)
    talk.wait(1.0)


def without_a_link(talk: Conversation) -> None:
    """Wait for one, to ask first."""
    stranded(talk)
    talk.streams._ledger.config = attrs.evolve(CONFIG, poll_first=True)


SITUATIONS: Final = (*STATES.values(), made_without_a_link, detached_and_attached, kept, asking_first, without_a_link)


def beginning(situation: Callable[[Conversation], None], http: bool, server: ServerTraits) -> Moment:
    talk = Conversation(http=http, server=server)
    situation(talk)
    return talk.streams, talk.now


@pytest.mark.rule("R13")
def test_h2_no_input_reaches_a_cell_that_is_ruled_out_and_every_other_cell_is_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = RecordedTable(CALL_TABLE)
    monkeypatch.setattr(calls, "CALL_TABLE", table)
    for http, server in itertools.product((False, True), (MARKER, DRAFT)):
        go_everywhere((beginning(each, http, server) for each in SITUATIONS), what_follows, key, INPUTS)
    assert table.unseen() == []
    assert [cell for cell in table.seen() if isinstance(CALL_TABLE[cell], Forbidden)] == []
