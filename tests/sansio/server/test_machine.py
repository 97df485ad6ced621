"""`Server` is one machine over every transport: its time, its mistakes of callers, its copies."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from mcpstreams_sansio.connections import (
    BytesReceived,
    ConnectionLost,
    DeadlineReached,
    DropConnection,
    DropReason,
    EndOfFile,
    EndWriting,
    Framing,
    Written,
)
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.http.config import HTTPConfig
from mcpstreams_sansio.http.messages import HTTPRequest, RequestReceived
from mcpstreams_sansio.ids import ConnectionId, Entropy
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import AskAnswered, Refused, StopCall, StopReason, StreamDetached, StreamGone
from mcpstreams_sansio.server.inputs import AskPeer, Drain, LogFailed, LogWritten, Respond, SendMessage
from mcpstreams_sansio.server.machine import PeerConnected, Server, ServerConfig, ServerInput
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Notification, Request, Response
from mcpstreams_sansio.wire.refusals import Reason
from mcpstreams_sansio.wire.streams import StreamRef, read_create, resume_request
from mcpstreams_sansio.wire.tags import read_tag
from tests.sansio.serving import IDENTITY, MARKED, STREAMS, Seen, Serving, initialize, serving
from tests.wording import whole

CALL = Request(1, "tools/call", {"name": "work"})
LIST = Request(1, "resources/list")
SEED = Entropy(b"a seed that no other input has")
NEVER = ConnectionId(1_000)
"""A connection that never was."""


# -------------------------------------------------------------------------------------------------------- one machine


@pytest.mark.rule("R12")
def test_one_machine_serves_every_transport_at_once() -> None:
    one = Serving()
    lines, messages = one.greet(), one.greet(framing=Framing.MESSAGES)
    session = one.begin()
    ping = Request("p", "ping")
    one.send(lines, ping)
    one.send(messages, ping)
    over_http = one.post(ping, session)
    assert [seen.answer for seen in (lines, messages, over_http)] == [Response("p", {})] * 3
    one.assert_at_rest(sessions=1, peers=[lines, messages])


@pytest.mark.rule("R12", "Q11c", "P15")
def test_a_stream_that_began_over_http_is_resumed_on_a_line() -> None:
    one = Serving()
    exchange = one.post(CALL, one.begin())
    create, *_ = exchange.messages
    assert isinstance(create, Notification)
    assert isinstance(create.params, dict)
    stream = create.params["stream"]
    assert isinstance(stream, dict)
    one.lose(exchange)
    one.respond(one.call)
    lines = one.greet()
    ref = {"streamId": stream["streamId"], "resumeToken": stream["resumeToken"]}
    one.send(lines, Request(2, "stream/resume", ref))
    assert lines.messages[-3:] == [
        Response(1, {"content": []}),
        Notification("notifications/stream/end", {"streamId": stream["streamId"]}),
        Response(2, {}),
    ]


@pytest.mark.rule("R24", "R25")
@pytest.mark.parametrize("shown", ["mcpstreams/resumeToken", "mcpstreams/key", "mcpstreams/other"])
def test_an_answer_proves_on_another_connection_that_it_comes_from_who_was_asked(shown: str) -> None:
    one = Serving()
    line, other = one.greet(MARKED), one.greet(MARKED, framing=Framing.MESSAGES)
    key = "a-key-that-nobody-guesses"
    one.send(line, Request(1, "tools/call", {"name": "work", "_meta": {"mcpstreams/key": key}}))
    one.submit(AskPeer(one.call.stream_id, "q1", "ping"))
    proof = {shown: key if shown == "mcpstreams/key" else line.created["resumeToken"]}
    one.send(other, Response("q1", {"text": "yes", "_meta": proof}))
    answered = AskAnswered(one.call.stream_id, "q1", Response("q1", {"text": "yes"}))
    assert one.heard(AskAnswered) == ([] if shown == "mcpstreams/other" else [answered])
    assert other.messages == []


def test_a_machine_tells_what_it_was_made_with() -> None:
    config = ServerConfig(identity=IDENTITY)
    assert Server(config).config is config


@pytest.mark.rule("R12")
def test_the_next_deadline_is_the_first_of_streams_and_sessions() -> None:
    one = serving(http=HTTPConfig(session_idle=100.0), streams=StreamsConfig(sse_after=0.25))
    assert one.server.next_deadline() is None
    session = one.begin()
    assert one.server.next_deadline() == 100.0
    one.post(LIST, session)
    assert one.server.next_deadline() == 0.25


@pytest.mark.rule("R12", "R27")
def test_a_machine_knows_when_the_work_on_a_call_will_be_cancelled() -> None:
    one = serving(streams=StreamsConfig(max_interval=100))
    line = one.greet()
    one.send(line, CALL)
    assert one.server.abandonment_of(one.call.stream_id) is None
    one.lose(line)
    assert one.server.abandonment_of(one.call.stream_id) == 100


# --------------------------------------------------------------------------------------------- mistakes of the caller


def some_life() -> tuple[Serving, Seen]:
    """Return a server with a session that is idle too long already, an undecided exchange, and a connection."""
    one = serving(http=HTTPConfig(session_idle=5.0))
    one.begin()
    lines = one.greet()
    one.send(lines, CALL)
    one.wait(1.0)
    one.post(LIST, one.begin())
    one.now += 60.0
    return one, lines


WRONG: dict[str, dict[str, Callable[[Serving], ServerInput]]] = {
    "an HTTP exchange begins with its request": {
        "an exchange without a request": lambda _: PeerConnected(NEVER, Framing.HTTP),
    },
    "a connection id must be higher than every one before it": {
        "an old id": lambda _: PeerConnected(ConnectionId(1), Framing.LINES),
        "the last id": lambda one: PeerConnected(ConnectionId(len(one.seen)), Framing.LINES),
        "a request under the last id": lambda one: RequestReceived(
            ConnectionId(len(one.seen)), HTTPRequest(b"GET", b"/mcp", ()), SEED
        ),
    },
    "there never was such a connection": {
        "bytes from nowhere": lambda _: BytesReceived(NEVER, b"x", SEED),
        "an end from nowhere": lambda _: EndOfFile(NEVER, SEED),
        "a loss of nothing": lambda _: ConnectionLost(NEVER),
        "a write to nowhere": lambda _: Written(NEVER),
    },
    "no such batch is being written": {
        "a batch that is not written": lambda _: LogWritten(1),
    },
    "a response must have the id of its request": {
        "a response to another request": lambda one: Respond(one.calls[0].stream_id, Response("another id", {})),
    },
    "in _meta, streamId and what begins with mcpstreams/ are not the application's": {
        "a key of ours": lambda one: SendMessage(
            one.calls[0].stream_id, Notification("n", {"_meta": {"mcpstreams/seq": 1}})
        ),
    },
}


@pytest.mark.rule("R13")
@pytest.mark.parametrize("late", [True, False], ids=["with deadlines due", "with none due"])
@pytest.mark.parametrize(
    ("wrong", "words"),
    [pytest.param(wrong, words, id=case) for words, cases in WRONG.items() for case, wrong in cases.items()],
)
def test_an_input_that_is_wrong_whatever_the_time_changes_nothing(
    wrong: Callable[[Serving], ServerInput], words: str, late: bool
) -> None:
    one, _ = some_life()
    if not late:
        one.submit(DeadlineReached())
        one.now += 0.001
    before, deadline = one.server.snapshot(0.0), one.server.next_deadline()
    undisturbed = one.server.fork()
    with pytest.raises(LocalProtocolError, match=whole(words)):
        one.server.handle(wrong(one), one.now + 0.001)
    assert one.server.snapshot(0.0) == before
    assert one.server.next_deadline() == deadline
    assert one.server.handle(DeadlineReached(), one.now) == undisturbed.handle(DeadlineReached(), one.now)


@pytest.mark.rule("R13")
def test_time_does_not_go_back() -> None:
    one, lines = some_life()
    one.submit(DeadlineReached())
    before = one.server.snapshot(0.0)
    with pytest.raises(LocalProtocolError, match=r"\Athe time must be a number of seconds, and must not go back\Z"):
        one.server.handle(BytesReceived(lines.connection_id, b"\n", SEED), one.now - 0.001)
    assert one.server.snapshot(0.0) == before


@pytest.mark.rule("R13")
@pytest.mark.parametrize("framing", [Framing.LINES, Framing.MESSAGES])
def test_no_data_follows_the_end(framing: Framing) -> None:
    one = Serving()
    seen = one.greet({}, framing=framing)
    one.send(seen, CALL)
    one.end(seen)
    before = one.server.snapshot(0.0)
    with pytest.raises(LocalProtocolError, match=r"\Ano data can follow the end\Z"):
        one.feed(seen, b"{}")
    assert one.server.snapshot(0.0) == before
    one.end(seen)  # said again, it changes nothing
    one.respond(one.call)
    assert seen.answer == Response(1, {"content": []})
    assert one.feed(seen, b"{}") == [], "a late report about a connection that is over"


@pytest.mark.rule("R13")
def test_what_comes_late_is_no_mistake() -> None:
    one = Serving()
    exchange = one.post(CALL, one.begin())
    one.respond(one.call)
    assert isinstance(exchange.over, EndWriting)
    assert one.submit(Written(exchange.connection_id)) == []
    assert one.lose(exchange) == []
    assert one.lose(exchange) == []
    assert one.feed(exchange, b"x") == []
    assert one.end(exchange) == []


# ----------------------------------------------------------------------------------------------------------- deadlines


@pytest.mark.rule("R13", "R18")
def test_a_loss_that_is_noticed_after_a_deadline_of_the_same_exchange_comes_before_it() -> None:
    one = Serving()
    exchange = one.post(LIST, one.begin())
    one.now += 1.0  # the response was to become an event stream long ago, but who would read it?
    one.lose(exchange)
    assert exchange.head is None
    one.wait(3_600.0)
    assert one.heard(StopCall) == [StopCall(one.call.stream_id, StopReason.ABANDONED)]
    one.assert_at_rest(sessions=0)


@pytest.mark.rule("R16")
def test_a_request_that_comes_after_its_sessions_end_does_not_revive_it() -> None:
    one = serving(http=HTTPConfig(session_idle=5.0))
    session = one.begin()
    one.now += 5.0
    assert one.post(LIST, session).status == 404
    one.assert_at_rest()


@pytest.mark.rule("R16")
def test_sessions_are_counted_after_what_is_due_has_been_done() -> None:
    one = serving(http=HTTPConfig(max_sessions=1), streams=StreamsConfig(stall_timeout=30.0))
    exchange = one.post(CALL, one.begin(), slow=True)
    one.now += 30.0  # the only session's only exchange has stalled, so the session is idle
    assert one.begin()
    assert exchange.over is not None
    assert len(one.server._http.sessions) == 1


# -------------------------------------------------------------------------------------------------- drain, log, orders


@pytest.mark.rule("R15")
def test_a_server_that_stops_takes_no_call_and_lets_go_of_its_connections() -> None:
    one = Serving()
    lines, session = one.greet(STREAMS), one.begin()
    exchange = one.post(CALL, session)
    one.submit(Drain())
    assert isinstance(lines.over, EndWriting)
    assert isinstance(exchange.over, EndWriting)
    assert b"retry: 1000\n\n" in exchange.body
    refused = one.post(Request(2, "tools/call", {"name": "work"}), session)
    assert (refused.status, refused.reason) == (503, Reason.DRAINING.value)
    assert one.post(Request(3, "ping"), session).answer == Response(3, {})
    assert one.heard(StopCall) == []


@pytest.mark.rule("R13")
def test_an_order_for_a_stream_that_is_gone_is_refused_and_not_raised() -> None:
    one = Serving()
    lines = one.greet()
    one.send(lines, CALL, Notification("notifications/cancelled", {"requestId": 1}))
    stream_id = one.call.stream_id
    assert one.heard(StreamGone) == [StreamGone(stream_id, Reason.CANCELLED)]
    one.notify(stream_id, 1)
    one.respond(one.call)
    assert one.heard(Refused) == [Refused(stream_id, Reason.CANCELLED)] * 2


@pytest.mark.rule("R9")
def test_a_call_starts_once_it_is_durable_and_none_starts_when_the_log_has_failed() -> None:
    one = serving(streams=StreamsConfig(durable=True))
    lines = one.greet()
    one.slow_disk = True
    one.send(lines, CALL)
    assert (one.calls, lines.messages) == ([], [])
    one.submit(LogWritten(one.batches[-1].write_id))
    assert [call.request for call in one.calls] == [CALL]
    one.submit(LogFailed("the disk is full"))
    lines.take()
    one.send(lines, Request(2, "tools/call"))
    assert lines.reason == Reason.LOG_FAILED.value
    assert len(one.calls) == 1


# ------------------------------------------------------------------------------------------------- forks and snapshots


def of_bytes(*fed: bytes, ended: bool = False) -> tuple[object, ...]:
    one = serving()
    lines = one.greet({})
    one.send(lines, CALL)
    for data in fed:
        one.feed(lines, data)
    if ended:
        one.end(lines)
    return one.server.snapshot(0.0)


def test_servers_that_have_read_something_else_look_different() -> None:
    looks = [of_bytes(), of_bytes(b"{"), of_bytes(b'{"'), of_bytes(ended=True)]
    assert len(set(looks)) == len(looks)
    assert of_bytes(b"{", b'"') == of_bytes(b'{"')


def of_exchanges(*requests: Request, capabilities: JSONObject = STREAMS, sessions: int = 1) -> tuple[object, ...]:
    """Return what a server looks like after these requests of the last of its sessions."""
    one = serving()
    session = [one.begin(capabilities) for _ in range(sessions)][-1]
    for request in requests:
        one.post(request, session)
    return one.server.snapshot(one.now)


@pytest.mark.rule("R12", "R13")
def test_servers_that_serve_something_else_over_http_look_different() -> None:
    other = Request(2, "resources/list")
    looks = [
        of_exchanges(),
        of_exchanges(capabilities={}),
        of_exchanges(capabilities=MARKED),
        of_exchanges(sessions=2),
        of_exchanges(LIST),
        of_exchanges(other),
        of_exchanges(CALL),
        of_exchanges(CALL, other),
    ]
    assert len(set(looks)) == len(looks)
    assert of_exchanges(Request(3, "ping"), CALL) == of_exchanges(Request(4, "ping"), CALL)


def of_handshake(*capabilities: JSONObject) -> tuple[object, ...]:
    one = serving()
    lines = one.connect()
    one.send(lines, *map(initialize, capabilities))
    return one.server.snapshot(0.0)


def test_servers_that_have_met_someone_else_look_different() -> None:
    assert len({of_handshake(), of_handshake({}), of_handshake(STREAMS), of_handshake(MARKED)}) == 4
    assert of_handshake(STREAMS, MARKED) == of_handshake(STREAMS), "the first handshake counts"


# ---------------------------------------------------------------------------------------------------------- strangers


@pytest.mark.rule("R12")
def test_a_peer_that_never_shakes_hands_is_dropped_in_time_and_one_that_did_is_not() -> None:
    one = Serving()
    guest, talker, stranger = one.greet(), one.connect(), one.connect()
    one.send(talker, Request("p", "ping"))
    one.wait(one.server.config.handshake_timeout)
    assert guest.over is None
    # A ping is no handshake.
    for seen in (talker, stranger):
        assert seen.over == DropConnection(seen.connection_id, DropReason.SILENT)
    one.wait(one.server.config.handshake_timeout)
    assert guest.over is None


def test_a_server_shows_what_it_holds() -> None:
    one = Serving()
    one.begin()
    one.send(one.greet(MARKED), CALL)
    assert repr(one.server) == "<Server peers=1 sessions=1 streams=1>"
    assert repr(one.server._streams) == "<ServerStreams connections=1 streams=1>"


def test_a_stranger_that_leaves_by_itself_is_not_waited_for() -> None:
    one = Serving()
    stranger = one.connect()
    one.submit(ConnectionLost(stranger.connection_id))
    assert one.server.next_deadline() is None


@pytest.mark.rule("R13", "R26")
def test_nothing_is_ordered_for_a_connection_that_has_just_ended_although_it_was_due() -> None:
    one = Serving()
    stranger = one.connect()
    one.now += 1_000.0
    assert one.lose(stranger) == []
    stalled = one.greet(MARKED)
    stalled.slow = True
    one.send(stalled, Request("p", "ping"))
    one.now += 1_000.0
    assert one.lose(stalled) == []
    call = one.greet(MARKED)
    one.send(call, Request(1, "tools/call", {"name": "work"}))
    one.now += 1_000.0
    assert [type(effect) for effect in one.lose(call)] == [StreamDetached]


# ------------------------------------------------------------------------------------------------------------ fairness


@pytest.mark.rule("R11")
def test_streams_that_are_resumed_by_one_chunk_share_the_first_write() -> None:
    one = serving(streams=StreamsConfig(max_write_bytes=2_000))
    lost = one.greet(MARKED)
    one.send(lost, *(Request(number, "tools/call", {"name": "work"}) for number in (1, 2)))
    creates = [read_create(message.params) for message in lost.take() if isinstance(message, Notification)]
    one.submit(ConnectionLost(lost.connection_id))
    for create in creates:
        for _ in range(8):
            one.submit(SendMessage(create.stream_id, Notification("notifications/message", {"pad": "x" * 400})))
    back = one.greet(MARKED)
    back.slow = True
    references = [StreamRef(create.stream_id, create.resume_token) for create in creates]
    one.send(back, *(resume_request(f"r{number}", reference) for number, reference in enumerate(references)))
    tags = [read_tag(message) for message in back.take()]
    assert {tag.stream_id for tag in tags if tag is not None} == {create.stream_id for create in creates}


# ------------------------------------------------------------------------------------------------- whoever brings seeds


@pytest.mark.rule("R13", "R12")
def test_a_seed_that_is_brought_twice_names_nothing_twice() -> None:
    class Careless(Serving):
        def entropy(self) -> Entropy:
            return SEED

    one = Careless()
    first, second = one.begin(), one.begin()
    assert first != second
    for session in (first, second):
        one.post(CALL, session)
    line = one.greet(MARKED)
    one.send(line, attrs.evolve(CALL, id=2))
    one.send(line, attrs.evolve(CALL, id=3))
    assert len({call.stream_id for call in one.calls}) == len(one.calls) == 4


@pytest.mark.rule("R13", "Q7h")
@pytest.mark.parametrize("now", [float("nan"), float("inf"), float("-inf"), None])
def test_at_a_moment_that_is_none_nothing_happens(now: object) -> None:
    one = Serving()
    before = one.server.snapshot(0.0)
    with pytest.raises(LocalProtocolError, match=r"\Athe time must be a number of seconds, and must not go back\Z"):
        one.server.handle(PeerConnected(ConnectionId(1), Framing.LINES), now)  # type: ignore[arg-type]  # may be none
    assert (one.server.snapshot(0.0), one.server.next_deadline()) == (before, None)


# ------------------------------------------------------------------------------------------------------ whose quotas


@pytest.mark.rule("R25")
def test_quotas_go_by_the_address_of_whoever_is_nobody_in_particular_on_every_transport() -> None:
    one = serving(streams=StreamsConfig(max_calls_per_principal=2))
    here, there = "192.0.2.1", "192.0.2.2"
    session, line = one.begin(address=here), one.greet(address=here)
    one.post(CALL, session, address=here)
    one.send(line, CALL, attrs.evolve(CALL, id=2))
    assert len(one.calls) == 2, "wherever in MCP it comes from"
    renewed = one.greet(address=here)
    one.send(renewed, CALL)
    assert renewed.reason == "too_many_streams"
    one.send(one.greet(address=there), CALL)
    one.send(one.greet(address=here, principal="alice"), CALL)
    assert len(one.calls) == 4
