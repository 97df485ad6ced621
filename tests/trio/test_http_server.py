"""Streamable HTTP on real sockets: what a stock client sees, written out byte by byte (rules R12, R18)."""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import ssl
from collections.abc import AsyncIterator
from typing import Self, final

import pytest
import trio
import trustme

from mcpstreams_sansio import Principal
from mcpstreams_sansio.http.config import HTTPConfig
from mcpstreams_sansio.http.messages import HTTPRefusal, HTTPRequest, find_header
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.machine import ServerConfig
from mcpstreams_sansio.wire.jsonrpc import JSONObject
from tests.trio.handlers import Waiting, echo
from tests.trio.peers import DRAFT, JSON, MARKED, STOCK
from trio_bindings.app import Call, Handler
from trio_bindings.h11_connection import HTTPLimits
from trio_bindings.http_server import serve_http
from trio_bindings.once import MAX_WARNINGS
from trio_bindings.server import LOOPBACK, RunningServer, new_identity


@final
class Exchange:
    """One response, read as far as a test wants."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self.buffer = b""
        self.head = b""

    @property
    def status(self) -> int:
        return int(self.head.split()[1])

    def header(self, name: bytes) -> bytes | None:
        lines = (line.partition(b":") for line in self.head.split(b"\r\n")[1:])
        return next((value.strip() for key, _, value in lines if key.lower() == name), None)

    async def until(self, mark: bytes) -> bytes:
        with trio.fail_after(5):
            while mark not in self.buffer:
                data = await self.stream.receive_some()
                assert data, self.buffer
                self.buffer += data
        found, _, self.buffer = self.buffer.partition(mark)
        return found

    async def begins(self) -> Exchange:
        self.head = await self.until(b"\r\n\r\n")
        return self

    async def chunk(self) -> bytes:
        """Return the next chunk; an empty one is the end of the body."""
        size = int(await self.until(b"\r\n"), 16)
        return (await self.exactly(size + 2))[:size]

    async def exactly(self, size: int) -> bytes:
        with trio.fail_after(5):
            while len(self.buffer) < size:
                self.buffer += await self.stream.receive_some()
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    async def body(self) -> bytes:
        if self.header(b"transfer-encoding") is None:
            return await self.exactly(int(self.header(b"content-length") or 0))
        body = b""
        while data := await self.chunk():
            body += data
        return body

    async def json(self) -> JSON:
        message: JSON = json.loads(await self.body())
        return message

    async def events(self) -> list[JSON]:
        """Return the messages of a whole event stream."""
        return messages_in(await self.body())


def messages_in(body: bytes) -> list[JSON]:
    lines = (line.removeprefix(b"data:").strip() for line in body.split(b"\n") if line.startswith(b"data:"))
    return [json.loads(line) for line in lines if line]


@final
class HTTPPeer:
    """A client that opens a connection for each exchange, unless told otherwise."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.session: bytes | None = None
        self.local_address: str | None = None
        self._streams: list[trio.SocketStream] = []

    async def connects(self) -> trio.SocketStream:
        stream = await trio.open_tcp_stream(LOOPBACK, self.port, local_address=self.local_address)
        self._streams.append(stream)
        return stream

    def request(self, method: str, body: bytes = b"", **headers: str) -> bytes:
        lines = [f"{method} /mcp HTTP/1.1", f"Host: {LOOPBACK}:{self.port}", f"Content-Length: {len(body)}"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        if self.session is not None:
            lines.append(f"Mcp-Session-Id: {self.session.decode()}")
        return "\r\n".join([*lines, "", ""]).encode() + body

    def posting(self, **message: object) -> bytes:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return self.request("POST", body, Content_Type="application/json", Accept="application/json, text/event-stream")

    async def posts(self, stream: trio.SocketStream | None = None, **message: object) -> Exchange:
        stream = stream or await self.connects()
        await stream.send_all(self.posting(**message))
        return await Exchange(stream).begins()

    async def initializes(self, capabilities: JSON) -> JSON:
        info = {"name": "bare", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info}
        exchange = await self.posts(id=0, method="initialize", params=params)
        self.session = exchange.header(b"mcp-session-id")
        answer = await exchange.json()
        accepted = await self.posts(method="notifications/initialized")
        assert accepted.status == 202
        result: JSON = answer["result"]
        return result

    async def __aenter__(self) -> Self:
        await trio.lowlevel.checkpoint()
        return self

    async def __aexit__(self, *error: object) -> None:
        for stream in self._streams:
            stream.socket.close()


@contextlib.asynccontextmanager
async def serving(handler: Handler, **options: object) -> AsyncIterator[tuple[RunningServer, HTTPPeer]]:
    async with trio.open_nursery() as nursery:
        server = await nursery.start(functools.partial(serve_http, handler, 0, **options))  # type: ignore[arg-type]  # checked when called
        with trio.fail_after(20):
            async with HTTPPeer(server.ports[0]) as peer:
                yield server, peer
        nursery.cancel_scope.cancel()


async def count(call: Call) -> JSONObject:
    for number in range(3):
        await call.progress(number)
    return {"content": []}


# -------------------------------------------------------------------------------------------------- a stock client


async def test_a_stock_client_shakes_hands_and_gets_a_session() -> None:
    async with serving(echo) as (_, peer):
        result = await peer.initializes(STOCK)
        assert result["protocolVersion"] == "2025-11-25"
        assert peer.session is not None


@pytest.mark.rule("R18")
async def test_a_tool_call_is_answered_by_events() -> None:
    async with serving(count) as (_, peer):
        await peer.initializes(STOCK)
        exchange = await peer.posts(id=1, method="tools/call", params={"_meta": {"progressToken": 7}})
        assert (exchange.status, exchange.header(b"content-type")) == (200, b"text/event-stream")
        messages = await exchange.events()
    assert [message["params"]["progress"] for message in messages[:-1]] == [0, 1, 2]
    assert messages[-1]["result"] == {"content": []}


@pytest.mark.rule("R18")
async def test_what_is_answered_at_once_is_answered_by_json() -> None:
    async with serving(echo) as (_, peer):
        await peer.initializes(STOCK)
        exchange = await peer.posts(id=1, method="tools/list", params={"a": 1})
        assert (exchange.status, exchange.header(b"content-type")) == (200, b"application/json")
        assert (await exchange.json())["result"] == {"a": 1}


async def test_an_answer_that_is_whole_says_how_long_it_is_and_comes_as_one_piece() -> None:
    async with serving(echo) as (_, peer):
        await peer.initializes(STOCK)
        stream = await peer.connects()
        await stream.send_all(peer.posting(id=1, method="tools/list"))
        head, _, body = (await stream.receive_some()).partition(b"\r\n\r\n")
        assert json.loads(body)["result"] == {}
        assert b"\r\ncontent-length: %d" % len(body) in head
        assert b"transfer-encoding" not in head.lower()


async def test_head_and_first_event_come_as_one_piece() -> None:
    started = trio.Event()

    async def wait(call: Call) -> JSONObject:
        started.set()
        await trio.sleep_forever()

    async with serving(wait) as (_, peer):
        await peer.initializes(DRAFT)
        stream = await peer.connects()
        await stream.send_all(peer.posting(id=1, method="tools/call", params={}))
        first = await stream.receive_some()
        assert first.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"notifications/stream/create" in first


async def test_a_question_is_answered_by_another_request() -> None:
    async def handler(call: Call) -> JSONObject:
        return await call.ask("sampling/createMessage")

    async with serving(handler) as (_, peer):
        await peer.initializes({"sampling": {}})
        exchange = await peer.posts(id=1, method="tools/call", params={})
        question: list[JSON] = []
        while not question:
            question = messages_in(await exchange.chunk())
        accepted = await peer.posts(id=question[0]["id"], result={"role": "assistant"})
        assert accepted.status == 202
        assert (await exchange.events())[-1]["result"] == {"role": "assistant"}


async def test_requests_follow_each_other_on_one_connection() -> None:
    async with serving(echo) as (_, peer):
        await peer.initializes(STOCK)
        stream = await peer.connects()
        for number in range(3):
            exchange = await peer.posts(stream, id=number, method="tools/list", params={"number": number})
            assert (await exchange.json())["result"] == {"number": number}


async def test_requests_may_be_sent_ahead() -> None:
    async with serving(echo) as (_, peer):
        await peer.initializes(STOCK)
        stream = await peer.connects()
        await stream.send_all(
            b"".join(peer.posting(id=number, method="tools/list", params={"number": number}) for number in range(3))
        )
        exchange = Exchange(stream)
        for number in range(3):
            await exchange.begins()
            assert (await exchange.json())["result"] == {"number": number}


async def test_a_session_can_be_ended() -> None:
    async with serving(echo) as (_, peer):
        await peer.initializes(STOCK)
        stream = await peer.connects()
        await stream.send_all(peer.request("DELETE"))
        exchange = await Exchange(stream).begins()
        assert exchange.status == 204
        exchange = await peer.posts(stream, id=1, method="tools/list")
        assert exchange.status == 404


@pytest.mark.rule("R16", "R25")
async def test_who_opens_too_many_sessions_ends_its_own_and_not_those_from_elsewhere() -> None:
    config = ServerConfig(identity=new_identity(), http=HTTPConfig(max_sessions_per_principal=1))
    async with serving(echo, config=config) as (_, here), HTTPPeer(here.port) as elsewhere:
        await here.initializes(STOCK)
        first = here.session
        elsewhere.local_address = "127.0.0.2"
        try:
            await elsewhere.initializes(STOCK)
        except OSError:
            pytest.skip("this machine has one loopback address only")
        assert (await here.posts(id=1, method="ping")).status == 200
        here.session = None
        await here.initializes(STOCK)
        second, here.session = here.session, first
        assert (await here.posts(id=1, method="ping")).status == 404
        here.session = second
        assert (await here.posts(id=1, method="ping")).status == 200
        assert (await elsewhere.posts(id=1, method="ping")).status == 200


# ------------------------------------------------------------------------------------------------------ refusals, sizes


@pytest.mark.rule("H8")
async def test_a_body_that_is_too_large_is_refused() -> None:
    config = ServerConfig(identity=new_identity(), http=HTTPConfig(max_body_bytes=1_000))
    async with serving(echo, config=config) as (_, peer):
        exchange = await peer.posts(id=1, method="initialize", params={"x": "y" * 2_000})
        assert exchange.status == 413


async def test_a_strange_host_is_refused() -> None:
    async with serving(echo) as (_, peer):
        stream = await peer.connects()
        await stream.send_all(b"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n")
        assert (await Exchange(stream).begins()).status == 403


@pytest.mark.parametrize(
    ("header", "value", "option"),
    [("Host", "mcp.example", "allowed_hosts"), ("Origin", "http://a.example", "allowed_origins")],
)
async def test_who_set_up_a_server_reads_under_which_name_it_is_not_served(
    header: str, value: str, option: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def is_refused(peer: HTTPPeer, value: str) -> None:
        stream = await peer.connects()
        host = b"" if header == "Host" else b"Host: localhost\r\n"
        secret = b"Authorization: Bearer of-alice\r\nMcp-Session-Id: of-alice\r\n"
        own = f"{header}: {value}\r\n".encode()
        await stream.send_all(b"POST /mcp HTTP/1.1\r\n" + host + own + secret + b"Content-Length: 0\r\n\r\n")
        assert (await Exchange(stream).begins()).status == 403

    async with serving(echo) as (_, peer):
        await is_refused(peer, value)
        await is_refused(peer, value)
        (record,) = caplog.records
        assert record.levelno == logging.WARNING
        assert repr(value) in record.getMessage()
        assert option in record.getMessage()
        for number in range(MAX_WARNINGS + 3):
            await is_refused(peer, f"{number}" + "x" * 1_000)
    assert len(caplog.records) == MAX_WARNINGS
    assert all(len(each.getMessage()) < 300 for each in caplog.records)
    assert "alice" not in caplog.text


ONE_MIB = 2**20

WRONG_HEADS = [(b"Origin: http://evil.example\r\n", 403), (b"Origin: null\r\n", 403), (b"Accept: image/png\r\n", 406)]


@pytest.mark.rule("H2")
@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize(("header", "status"), WRONG_HEADS)
@pytest.mark.parametrize("expect", [b"", b"Expect: 100-continue\r\n"], ids=["", "asks first"])
async def test_a_request_that_is_refused_for_its_head_is_refused_before_its_body(
    method: str, header: bytes, status: int, expect: bytes
) -> None:
    async with serving(echo) as (_, peer):
        stream = await peer.connects()
        head = peer.request(method, Content_Type="application/json", Accept="*/*").replace(b"Accept: */*\r\n", header)
        await stream.send_all(head.replace(b"Content-Length: 0", expect + b"Content-Length: %d" % ONE_MIB))
        exchange = await Exchange(stream).begins()
        assert exchange.status == status
        assert exchange.header(b"connection") == b"close"
        assert exchange.header(b"content-type") == b"application/json"


@pytest.mark.rule("H8")
@pytest.mark.parametrize("expect", [b"", b"Expect: 100-continue\r\n"], ids=["", "asks first"])
async def test_a_body_that_is_declared_too_large_is_refused_before_it_comes(expect: bytes) -> None:
    config = ServerConfig(identity=new_identity(), http=HTTPConfig(max_body_bytes=1_000))
    async with serving(echo, config=config) as (_, peer):
        stream = await peer.connects()
        head = peer.request("POST", Content_Type="application/json")
        await stream.send_all(head.replace(b"Content-Length: 0", expect + b"Content-Length: 1001"))
        exchange = await Exchange(stream).begins()
        assert (exchange.status, exchange.header(b"connection")) == (413, b"close")


@pytest.mark.rule("H8")
async def test_a_body_that_grows_too_large_is_refused_before_its_end() -> None:
    config = ServerConfig(identity=new_identity(), http=HTTPConfig(max_body_bytes=1_000))
    async with serving(echo, config=config) as (_, peer):
        stream = await peer.connects()
        head = peer.request("POST", Content_Type="application/json", Transfer_Encoding="chunked")
        await stream.send_all(head.replace(b"Content-Length: 0\r\n", b""))
        for _ in range(11):
            await stream.send_all(b"64\r\n" + b"x" * 100 + b"\r\n")
        exchange = await Exchange(stream).begins()
        assert (exchange.status, exchange.header(b"connection")) == (413, b"close")


async def test_a_body_that_never_ends_is_not_waited_for() -> None:
    async with serving(echo, limits=HTTPLimits(body_timeout=0.05)) as (_, peer):
        stream = await peer.connects()
        await stream.send_all(peer.posting(id=1, method="ping")[:-1])
        exchange = await Exchange(stream).begins()
        assert (exchange.status, exchange.header(b"connection")) == (408, b"close")


async def test_a_refused_request_that_is_all_here_leaves_its_connection_to_the_next() -> None:
    async with serving(echo) as (_, peer):
        await peer.initializes(STOCK)
        stream = await peer.connects()
        refused = peer.posting(id=1, method="ping").replace(b"Host", b"Origin: null\r\nHost", 1)
        await stream.send_all(refused + peer.posting(id=2, method="ping"))
        exchange = await Exchange(stream).begins()
        assert exchange.status == 403
        assert (await exchange.json())["error"]["message"] == "this origin is not allowed"
        assert (await (await exchange.begins()).json())["id"] == 2


async def send_without_reading(stream: trio.abc.Stream, data: bytes) -> bytes:
    """Send everything, whatever is said meanwhile, then return what was said."""
    await stream.send_all(data)
    with trio.fail_after(5):
        return bytes(await stream.receive_some())


async def test_a_client_that_reads_only_after_its_whole_body_still_finds_the_answer() -> None:
    async with serving(echo) as (_, peer):
        body = peer.request("POST", b"x" * 3 * ONE_MIB, Content_Type="text/plain")
        assert (await send_without_reading(await peer.connects(), body)).startswith(b"HTTP/1.1 415 ")


async def test_what_is_no_http_is_refused_and_harms_nobody_else() -> None:
    async with serving(echo) as (_, peer):
        stream = await peer.connects()
        await stream.send_all(b"\x16\x03\x01 nonsense\r\n\r\n")
        assert (await Exchange(stream).begins()).status == 400
        await peer.initializes(STOCK)


async def test_too_many_connections_are_closed_at_once_and_places_come_free(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(echo, max_connections=2) as (server, peer):
        streams = [await peer.connects() for _ in range(2)]
        refused = await peer.connects()
        with trio.fail_after(5):
            assert await refused.receive_some() == b""
        await streams[0].aclose()
        while not server._places:  # noqa: ASYNC110  # nothing says when the place of a socket is free
            await trio.sleep(0.01)
        exchange = await peer.posts(id=1, method="tools/list")
        assert exchange.status == 400
    assert "too many are open" in caplog.text


async def test_a_slow_head_is_not_waited_for() -> None:
    async with serving(echo, limits=HTTPLimits(head_timeout=0.05)) as (_, peer):
        stream = await peer.connects()
        await stream.send_all(b"POST /mcp HTTP/1.1\r\nHo")
        assert (await Exchange(stream).begins()).status == 408


# ------------------------------------------------------------------------------------------------------------- losses


@pytest.mark.rule("P8", "P15")
async def test_a_call_goes_on_over_a_loss_and_its_result_comes_in_another_exchange() -> None:
    handler = Waiting()
    async with serving(handler) as (server, peer):
        await peer.initializes(DRAFT)
        exchange = await peer.posts(id=1, method="tools/call", params={})
        messages: list[JSON] = []
        while not messages:
            messages = messages_in(await exchange.chunk())
        await exchange.stream.aclose()
        with trio.fail_after(5):  # nothing is written, and the loss is seen all the same (case J4)
            await server.driver.wait_without_connections()
        assert not handler.cancelled.is_set()
        handler.go_on.set()
        stream = messages[0]["params"]["stream"]
        names = {"streamId": stream["streamId"], "resumeToken": stream["resumeToken"]}
        resumed = await peer.posts(id=2, method="stream/resume", params=names)
        answers = {message["id"]: message["result"] for message in await resumed.events() if "result" in message}
    assert answers[1] == {"done": True}
    assert answers[2] == {}


async def test_a_reset_during_a_response_harms_nobody_else() -> None:
    handler = Waiting()
    async with serving(handler) as (server, peer):
        await peer.initializes(MARKED)
        exchange = await peer.posts(id=1, method="tools/call", params={})
        exchange.stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        await exchange.stream.aclose()
        with trio.fail_after(5):
            await server.driver.wait_without_connections()
        assert (await peer.posts(id=2, method="ping")).status == 200


async def test_a_client_that_stops_reading_is_dropped_and_its_call_goes_on() -> None:
    handler = Waiting()

    async def flood(call: Call) -> JSONObject:
        for _ in range(50):
            await call.notify("notifications/message", {"level": "info", "data": "x" * 100_000})
        return await handler(call)

    config = ServerConfig(identity=new_identity(), streams=StreamsConfig(stall_timeout=1.0))
    async with serving(flood, config=config) as (server, peer):
        await peer.initializes(MARKED)
        stream = await peer.connects()
        stream.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_RCVBUF, 4_096)
        await stream.send_all(peer.posting(id=1, method="tools/call", params={}))
        await handler.started.wait()
        with trio.fail_after(5):
            await server.driver.wait_without_connections()
        assert not handler.cancelled.is_set()


# ---------------------------------------------------------------------------------------------- the server as a whole


async def test_the_application_says_who_made_a_request() -> None:
    def authenticate(request: HTTPRequest) -> Principal | None:
        name = find_header(request.headers, b"x-user")
        return None if name is None else Principal(name.decode())

    async with serving(echo, authenticate=authenticate) as (_, peer):
        await peer.initializes(STOCK)
        stream = await peer.connects()
        await stream.send_all(peer.posting(id=1, method="tools/list"))
        assert (await Exchange(stream).begins()).status == 200
        other = await peer.connects()
        await other.send_all(peer.posting(id=1, method="tools/list").replace(b"Host", b"X-User: eve\r\nHost", 1))
        assert (await Exchange(other).begins()).status == 404, "another principal's session does not exist"


async def test_the_application_is_asked_by_the_head_alone_and_not_about_what_is_refused() -> None:
    asked: list[HTTPRequest] = []

    def authenticate(request: HTTPRequest) -> Principal | None:
        asked.append(request)
        return None

    async with serving(echo, authenticate=authenticate) as (_, peer):
        stream = await peer.connects()
        refused = peer.posting(id=1, method="ping").replace(b"Host", b"Origin: null\r\nHost", 1)
        await stream.send_all(refused)
        assert (await Exchange(stream).begins()).status == 403
        assert asked == []
        await peer.initializes(STOCK)
    assert [(request.method, request.body) for request in asked] == [(b"POST", b"")] * 2


async def test_whom_the_application_does_not_let_in_is_told_so_before_its_body_comes() -> None:
    def authenticate(request: HTTPRequest) -> Principal | HTTPRefusal:
        if find_header(request.headers, b"authorization") == b"Bearer alice's":
            return Principal("alice")
        return HTTPRefusal(401, "say who you are", ((b"www-authenticate", b"Bearer"),))

    async with serving(echo, authenticate=authenticate) as (_, peer):
        stream = await peer.connects()
        head = peer.request("POST", Content_Type="application/json", Expect="100-continue")
        await stream.send_all(head.replace(b"Content-Length: 0", b"Content-Length: 100"))
        exchange = await Exchange(stream).begins()
        assert (exchange.status, exchange.header(b"www-authenticate")) == (401, b"Bearer")
        assert exchange.header(b"connection") == b"close"
        other = await peer.connects()
        await other.send_all(
            peer.posting(id=1, method="ping").replace(b"Host", b"Authorization: Bearer alice's\r\nHost", 1)
        )
        assert (await Exchange(other).begins()).status == 400, "let in, and in no session"


async def test_a_refusal_may_have_a_status_that_has_no_name() -> None:
    async with serving(echo, authenticate=lambda _: HTTPRefusal(499, "no")) as (_, peer):
        assert (await peer.posts(id=1, method="ping")).status == 499


async def test_a_fault_while_authenticating_is_the_requests_alone(caplog: pytest.LogCaptureFixture) -> None:
    def authenticate(request: HTTPRequest) -> Principal | None:
        if find_header(request.headers, b"x-user") is not None:
            raise ZeroDivisionError("a fault of the application")
        return None

    async with serving(echo, authenticate=authenticate) as (_, peer):
        stream = await peer.connects()
        await stream.send_all(peer.request("DELETE", x_user="eve"))
        assert (await Exchange(stream).begins()).status == 500
        with trio.fail_after(5):
            assert await stream.receive_some() == b""
        await peer.initializes(STOCK)
    assert "a fault of the application" in caplog.text


async def test_a_drained_server_ends_its_exchanges_and_returns() -> None:
    handler = Waiting()
    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:  # it ends once `serve_http` has returned
            server: RunningServer = await nursery.start(serve_http, handler, 0)
            async with HTTPPeer(server.ports[0]) as peer:
                await peer.initializes(DRAFT)
                idle = await peer.connects()
                exchange = await peer.posts(id=1, method="tools/call", params={})
                await handler.started.wait()
                nursery.start_soon(server.drain)
                assert messages_in(await exchange.body())[0]["method"] == "notifications/stream/create"
                assert await idle.receive_some() == b""
    assert handler.cancelled.is_set()
    with pytest.raises(OSError, match="connect"):
        await trio.open_tcp_stream(LOOPBACK, server.ports[0])


async def test_cancelling_the_server_ends_everything() -> None:
    handler = Waiting()
    async with trio.open_nursery() as nursery:
        server: RunningServer = await nursery.start(serve_http, handler, 0)
        async with HTTPPeer(server.ports[0]) as peer:
            await peer.initializes(DRAFT)
            exchange = await peer.posts(id=1, method="tools/call", params={})
            await handler.started.wait()
            nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True), trio.fail_after(5), contextlib.suppress(trio.BrokenResourceError):
                while await exchange.stream.receive_some():
                    continue
    assert handler.cancelled.is_set()


@contextlib.asynccontextmanager
async def serving_tls() -> AsyncIterator[tuple[HTTPPeer, trio.SSLStream[trio.SocketStream]]]:
    authority = trustme.CA()
    ours, theirs = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("localhost").configure_cert(ours)
    authority.configure_trust(theirs)

    def wrap(stream: trio.SocketStream) -> trio.SSLStream[trio.SocketStream]:
        return trio.SSLStream(stream, ours, server_side=True, https_compatible=True)

    async with serving(echo, wrap_stream=wrap) as (_, peer):
        socket = await peer.connects()
        yield peer, trio.SSLStream(socket, theirs, server_hostname="localhost", https_compatible=True)


async def test_tls_is_a_wrapper_of_the_stream() -> None:
    async with serving_tls() as (peer, stream):
        for _ in range(3):
            await stream.send_all(peer.posting(id=1, method="ping"))
            answer = b""
            with trio.fail_after(5):
                while not answer.endswith(b"}"):
                    answer += await stream.receive_some()
            assert answer.startswith(b"HTTP/1.1 400 ")


async def test_a_body_that_nobody_wants_does_not_destroy_the_answer_over_tls_either() -> None:
    async with serving_tls() as (peer, stream):
        body = peer.request("POST", b"x" * 3 * ONE_MIB, Content_Type="text/plain")
        assert (await send_without_reading(stream, body)).startswith(b"HTTP/1.1 415 ")
