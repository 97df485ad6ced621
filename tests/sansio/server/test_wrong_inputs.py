"""Whatever is wrong with an input of a server is found before it changes anything (rule R13)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.connections import BytesReceived, ConnectionLost, DeadlineReached, EndOfFile, Framing, Written
from mcpstreams_sansio.http.messages import HTTPRequest, RequestReceived
from mcpstreams_sansio.ids import Address, ConnectionId, Digest, Entropy, Principal, Secret, StreamId
from mcpstreams_sansio.server.calls import CallPolicy, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.inputs import (
    Accept,
    AckReceived,
    AnswerReceived,
    AskPeer,
    CallReceived,
    CancelledReceived,
    CancelReceived,
    ConnectionOpened,
    CursorReceived,
    Drain,
    LogFailed,
    LogWritten,
    OpenStream,
    PeerHeard,
    PollReceived,
    Recover,
    ReleaseStream,
    Reply,
    Respond,
    ResumeReceived,
    Scope,
    ScopeEnded,
    SendMessage,
    StreamsInput,
    WithdrawAsk,
)
from mcpstreams_sansio.server.machine import PeerConnected, Server, ServerInput
from mcpstreams_sansio.server.records import LogRecord
from mcpstreams_sansio.server.streams import ServerStreams
from mcpstreams_sansio.shapes import members_of
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Request, Response
from mcpstreams_sansio.wire.marker import Attempt
from tests.sansio.mistakes import INTERVAL, NOTE, check, mistakes, told
from tests.sansio.server.conversation import ASK, KEY, MARKER, Conversation, token_of
from tests.sansio.server.test_recovery import full_log
from tests.sansio.serving import HOST, JSON, JSON_AND_EVENTS, MARKED, encoded, initialize, serving

LINE, SPARE, FRESH = ConnectionId(1), ConnectionId(2), ConnectionId(3)
S1, NEW = StreamId("s1"), StreamId("new")
SEED = Entropy(b"a seed that no other input has")


# ------------------------------------------------------------------------------------------------------- the streams

ON_STREAMS: tuple[StreamsInput, ...] = (
    ConnectionOpened(FRESH, Framing.LINES, Scope("scope"), Principal("ann"), False),
    PeerHeard(LINE),
    ConnectionLost(LINE),
    EndOfFile(LINE, SEED),
    ScopeEnded(Scope("connection 1")),
    Written(SPARE),
    Reply(SPARE, Response("p", {})),
    Accept(SPARE),
    CallReceived(
        SPARE,
        NEW,
        Request(1, "tools/call", {"name": "work"}),
        MARKER,
        CallPolicy(StreamKind.ANNOUNCED, interval=INTERVAL),
        token_of("new"),
        Secret(KEY),
        Digest(b"one call"),
        Attempt("a", 1),
    ),
    CallReceived(SPARE, NEW, Request(1, "tools/call"), MARKER, CallPolicy(StreamKind.SILENT), token_of("new")),
    ResumeReceived(SPARE, 9, S1, token_of("s1"), 1, 1, Attempt("a", 2), True),
    CursorReceived(SPARE, S1, 1),
    PollReceived(SPARE, 9, S1, token_of("s1")),
    AckReceived(LINE, S1, 1, token_of("s1")),
    AnswerReceived(LINE, Response("q1", {})),
    AnswerReceived(LINE, ErrorResponse("q1", 1, "no")),
    CancelReceived(SPARE, 9, S1, token_of("s1")),
    CancelledReceived(LINE, 7, Secret(KEY)),
    SendMessage(S1, NOTE),
    AskPeer(S1, "q2", ASK, {"messages": []}),
    WithdrawAsk(S1, "q1"),
    Respond(S1, Response(7, {"content": []})),
    Respond(S1, ErrorResponse(7, 1, "failed")),
    ReleaseStream(S1),
    OpenStream(StreamId("s2"), token_of("s2"), INTERVAL),
    LogWritten(4),
    LogFailed("no space left"),
    Drain(),
    DeadlineReached(),
)


def busy_streams() -> ServerStreams:
    """Return streams with a call that asks, one that has no stream yet, a batch being written, and a line to spare."""
    talk = Conversation(StreamsConfig(durable=True))
    talk.connect()
    line = talk.connect()
    talk.connect()
    line.call(7, "s1", peer=MARKER)
    line.call(8, "s2", peer=MARKER, kind=StreamKind.FLEETING)
    talk.ask("q1", "s1")
    talk.prompt_disk = False
    talk.say(1)
    assert talk.batch is not None
    talk.clients[LINE].reads = False
    return talk.machine


STREAMS = busy_streams()


def test_every_input_of_the_streams_is_spoiled() -> None:
    assert {type(event) for event in ON_STREAMS} | {Recover} == members_of(StreamsInput)


@pytest.mark.rule("R13")
@pytest.mark.parametrize("right", ON_STREAMS, ids=lambda event: type(event).__name__)
@given(data=st.data())
def test_streams_take_an_input_or_do_not_move(right: StreamsInput, data: st.DataObject) -> None:
    told(STREAMS.fork(), right, 20.0)
    check(STREAMS, right, *data.draw(mistakes(right)))


# ------------------------------------------------------------------------------------------------------- what was left

RECORDS = tuple(full_log())


def test_every_kind_of_record_is_spoiled() -> None:
    assert {type(record) for record in RECORDS} == members_of(LogRecord)


@pytest.mark.rule("R13")
@given(data=st.data())
def test_streams_recover_or_do_not_move(data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(RECORDS) - 1))
    wrong, now = data.draw(mistakes(RECORDS[place]))
    records = (*RECORDS[:place], wrong, *RECORDS[place + 1 :])
    check(ServerStreams(StreamsConfig(durable=True)), Recover(RECORDS), Recover(records), now)  # type: ignore[arg-type]  # that is the point


# ------------------------------------------------------------------------------------------------- the whole machine


def busy_server() -> tuple[Server, tuple[ServerInput, ...]]:
    """Return a server with a session and a line, and a call on each; and what it can be told next."""
    one = serving(streams=StreamsConfig(durable=True))
    session = one.begin(MARKED)
    over_http = one.post(Request(1, "tools/call"), session)
    line = one.greet(MARKED)
    one.send(line, Request(1, "tools/call"))
    first, second = (call.stream_id for call in one.calls)
    one.submit(AskPeer(first, "q1", ASK))
    one.slow_disk = True
    one.notify(second, 1)
    fresh = ConnectionId(len(one.seen) + 1)
    headers = (HOST, JSON_AND_EVENTS, JSON)
    in_session = (*headers, (b"mcp-session-id", session))
    call, hello = encoded(Request(2, "tools/call")), encoded(initialize(MARKED))
    return one.server, (
        PeerConnected(fresh, Framing.LINES, Principal("ann")),
        RequestReceived(fresh, HTTPRequest(b"POST", b"/mcp", in_session, call), SEED, None, Address("192.0.2.1")),
        RequestReceived(fresh, HTTPRequest(b"POST", b"/mcp", headers, hello), SEED),
        BytesReceived(line.connection_id, call + b"\n", SEED),
        EndOfFile(line.connection_id, SEED),
        ConnectionLost(over_http.connection_id),
        Written(line.connection_id),
        SendMessage(second, NOTE),
        AskPeer(second, "q2", ASK),
        WithdrawAsk(first, "q1"),
        Respond(second, Response(1, {})),
        ReleaseStream(first),
        OpenStream(second, token_of("s"), INTERVAL),
        LogWritten(one.batches[-1].write_id),
        LogFailed("no space left"),
        Drain(),
        DeadlineReached(),
    )


SERVER, ON_SERVER = busy_server()


def test_every_input_of_a_server_is_spoiled() -> None:
    assert {type(event) for event in ON_SERVER} | {Recover} == members_of(ServerInput)


@pytest.mark.rule("R13")
@pytest.mark.parametrize("right", ON_SERVER, ids=lambda event: type(event).__name__)
@given(data=st.data())
def test_a_server_takes_an_input_or_does_not_move(right: ServerInput, data: st.DataObject) -> None:
    told(SERVER.fork(), right, 20.0)
    check(SERVER, right, *data.draw(mistakes(right)))
