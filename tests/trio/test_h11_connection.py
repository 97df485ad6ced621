"""HTTP/1.1 at the server: whole requests in, responses out, and a bound on everything that a peer can do."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import attrs
import pytest
import trio
import trio.testing
from trio.testing import MemoryReceiveStream, MemorySendStream

from mcpstreams_sansio.http.messages import HTTPRequest, find_header
from tests.trio.machines import settle
from trio_bindings.closing import LINGER_SECONDS
from trio_bindings.h11_connection import H11Connection, HTTPLimits, PeerGoneError

REQUEST = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\nbody"


class Peer:
    """The client's bare end."""

    def __init__(self, stream: trio.StapledStream[MemorySendStream, MemoryReceiveStream]) -> None:
        self.stream = stream

    async def sends(self, data: bytes) -> None:
        await self.stream.send_all(data)

    async def receives(self, until: bytes) -> bytes:
        received = b""
        with trio.fail_after(5):
            while not received.endswith(until):
                data = await self.stream.receive_some()
                assert data, received
                received += data
        return received

    async def receives_all(self) -> bytes:
        received = b""
        with trio.fail_after(5):
            while data := await self.stream.receive_some():
                received += data
        return received


@contextlib.asynccontextmanager
async def connected(max_body_bytes: int = 1_000, **limits: float) -> AsyncIterator[tuple[H11Connection, Peer]]:
    ours, theirs = trio.testing.memory_stream_pair()
    try:
        yield H11Connection(ours, max_body_bytes, HTTPLimits(**limits)), Peer(theirs)  # type: ignore[arg-type]  # sizes are whole
    finally:
        await trio.aclose_forcefully(ours)
        await trio.aclose_forcefully(theirs)


async def next_request(connection: H11Connection) -> HTTPRequest:
    with trio.fail_after(5):
        await connection.wait_for_request()
        head = await connection.read_head()
        return attrs.evolve(head, body=await connection.read_body())


async def next_head(connection: H11Connection) -> HTTPRequest:
    with trio.fail_after(5):
        await connection.wait_for_request()
        return await connection.read_head()


async def respond(connection: H11Connection, *chunks: bytes, status: int = 200) -> None:
    connection.begin_response(status, ())
    for chunk in chunks:
        await connection.send_body([chunk], is_last=False)
    await connection.end_response()


# ----------------------------------------------------------------------------------------------------------- requests


async def test_a_request_comes_whole_with_its_headers_in_lower_case() -> None:
    async with connected() as (connection, peer):
        await peer.sends(REQUEST)
        request = await next_request(connection)
    assert (request.method, request.target, request.body) == (b"POST", b"/mcp", b"body")
    assert find_header(request.headers, b"content-type") == b"application/json"


async def test_a_request_may_come_byte_by_byte() -> None:
    async with connected() as (connection, peer), trio.open_nursery() as nursery:

        async def dribble() -> None:
            for position in range(len(REQUEST)):
                await peer.sends(REQUEST[position : position + 1])
                await settle()

        nursery.start_soon(dribble)
        assert (await next_request(connection)).body == b"body"


async def test_a_chunked_body_comes_without_its_chunks() -> None:
    async with connected() as (connection, peer):
        await peer.sends(
            b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n"
        )
        assert (await next_request(connection)).body == b"body"


@pytest.mark.parametrize("surplus", [1, 5_000])
async def test_a_body_that_is_too_long_is_cut_just_above_the_limit(surplus: int) -> None:
    async with connected(max_body_bytes=100) as (connection, peer):
        length = 100 + surplus
        await peer.sends(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % length + b"x" * length)
        assert (await next_request(connection)).body == b"x" * 101


async def test_a_body_of_just_the_limit_is_whole_and_its_stream_goes_on() -> None:
    async with connected(max_body_bytes=4) as (connection, peer):
        await peer.sends(REQUEST)
        assert (await next_request(connection)).body == b"body"
        await respond(connection)
        assert connection.begin_next()


async def test_after_a_body_that_was_cut_the_stream_ends_and_the_response_says_so() -> None:
    async with connected(max_body_bytes=2) as (connection, peer):
        await peer.sends(REQUEST)
        await next_request(connection)
        await respond(connection, status=413)
        assert not connection.begin_next()
        assert b"connection: close" in (await peer.receives(b"\r\n\r\n")).lower()


async def test_a_peer_that_waits_to_be_asked_for_its_body_is_asked() -> None:
    async with connected() as (connection, peer), trio.open_nursery() as nursery:

        async def cautious() -> None:
            await peer.sends(b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
            await peer.receives(b"HTTP/1.1 100 \r\n\r\n")
            await peer.sends(b"body")

        nursery.start_soon(cautious)
        assert (await next_request(connection)).body == b"body"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 20 + b"\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/9.9.9\r\nHost: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 40_000, 431),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
    ],
    ids=["tls", "no host", "no version", "endless header", "two lengths", "unknown coding", "no chunk"],
)
async def test_what_is_no_request_is_refused_and_ends_the_stream(sent: bytes, status: int) -> None:
    async with connected() as (connection, peer):
        await peer.sends(sent)
        with pytest.raises(PeerGoneError):
            await next_request(connection)
        answer = await peer.receives(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 %d " % status)
        assert b"connection: close" in answer.lower()
        assert not connection.begin_next()


async def test_a_peer_that_leaves_before_during_or_after_a_request_is_gone() -> None:
    for length in range(len(REQUEST)):
        async with connected() as (connection, peer):
            await peer.sends(REQUEST[:length]) if length else None
            await peer.stream.send_eof()
            with pytest.raises(PeerGoneError):
                await next_request(connection)


async def test_a_stream_that_breaks_is_a_peer_that_left() -> None:
    async with connected() as (connection, peer):
        await peer.sends(REQUEST)
        await next_request(connection)
        await peer.stream.aclose()
        connection.begin_response(200, ())
        with pytest.raises(PeerGoneError):
            await connection.send_body([b"x"], is_last=False)


# ------------------------------------------------------------------------------------------- a body that nobody wants

HEAD, BODY = REQUEST[:-4], REQUEST[-4:]


async def test_a_head_is_there_before_its_body() -> None:
    async with connected() as (connection, peer):
        await peer.sends(HEAD)
        head = await next_head(connection)
        assert (head.method, head.target, head.body) == (b"POST", b"/mcp", b"")
        await peer.sends(BODY)
        assert await connection.read_body() == b"body"


@pytest.mark.parametrize(
    "sent",
    [
        REQUEST,
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n0\r\n\r\n",
        HEAD.replace(b"Host", b"Expect: 100-continue\r\nHost") + BODY,
    ],
    ids=["sized", "none", "chunked", "sent without being asked for"],
)
async def test_a_body_that_is_here_is_passed_over_and_its_stream_goes_on(sent: bytes) -> None:
    async with connected() as (connection, peer):
        await peer.sends(sent + REQUEST)
        await next_head(connection)
        connection.pass_over_body()
        await respond(connection, status=403)
        assert b"connection: close" not in (await peer.receives(b"\r\n\r\n")).lower()
        assert connection.begin_next()
        assert (await next_request(connection)).body == b"body"


@pytest.mark.parametrize(
    "sent",
    [
        HEAD,
        HEAD + BODY[:3],
        HEAD.replace(b"Host", b"Expect: 100-continue\r\nHost"),
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n",
    ],
    ids=["not begun", "sized", "waits to be asked", "chunked", "broken"],
)
async def test_a_body_that_is_not_here_is_not_asked_for_and_ends_the_stream(sent: bytes) -> None:
    async with connected() as (connection, peer):
        await peer.sends(sent)
        await next_head(connection)
        connection.pass_over_body()
        await respond(connection, status=403)
        answer = await peer.receives(b"\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert b"connection: close" in answer.lower()
        assert not connection.begin_next()


async def refused_early(connection: H11Connection, peer: Peer, sent: bytes) -> None:
    await peer.sends(sent)
    await next_head(connection)
    connection.pass_over_body()
    await respond(connection, status=403)


async def test_a_body_on_its_way_is_let_pass_to_its_end() -> None:
    async with connected() as (connection, peer), trio.open_nursery() as nursery:
        await refused_early(connection, peer, HEAD)
        passed = False

        async def let_pass() -> None:
            nonlocal passed
            await connection.let_body_pass()
            passed = True

        nursery.start_soon(let_pass)
        await peer.sends(BODY[:3])
        await settle()
        assert not passed
        await peer.sends(BODY[3:])
        await settle()
        assert passed


async def test_a_body_that_has_no_end_is_let_pass_for_a_while(autojump_clock: trio.testing.MockClock) -> None:
    async with connected() as (connection, peer), trio.open_nursery() as nursery:
        await refused_early(connection, peer, HEAD.replace(b"Length: 4", b"Length: 999999"))

        async def dribble() -> None:
            while True:
                await peer.sends(b"x")
                await trio.sleep(0.1)

        nursery.start_soon(dribble)
        start = trio.current_time()
        await connection.let_body_pass()
        assert trio.current_time() - start == pytest.approx(LINGER_SECONDS)
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("rest", [None, b"no chunk\r\n"], ids=["gone", "broken"])
async def test_a_body_is_not_waited_for_once_it_can_not_come(
    autojump_clock: trio.testing.MockClock, rest: bytes | None
) -> None:
    async with connected() as (connection, peer):
        chunked = HEAD.replace(b"Content-Length: 4", b"Transfer-Encoding: chunked")
        await refused_early(connection, peer, chunked)
        await (peer.stream.aclose() if rest is None else peer.sends(rest))
        start = trio.current_time()
        await connection.let_body_pass()
        assert trio.current_time() == start


# --------------------------------------------------------------------------------------------------------------- time


async def test_an_idle_peer_is_let_go(autojump_clock: trio.testing.MockClock) -> None:
    async with connected(idle_timeout=30) as (connection, _):
        start = trio.current_time()
        with pytest.raises(PeerGoneError):
            await connection.wait_for_request()
        assert trio.current_time() - start == pytest.approx(30)


@pytest.mark.parametrize("sent", [b"G", REQUEST[:30]])
async def test_a_head_that_comes_too_slowly_is_refused(autojump_clock: trio.testing.MockClock, sent: bytes) -> None:
    async with connected(head_timeout=3) as (connection, peer):
        await peer.sends(sent)
        await connection.wait_for_request()
        start = trio.current_time()
        with pytest.raises(PeerGoneError):
            await connection.read_head()
        assert trio.current_time() - start == pytest.approx(3)
        assert (await peer.receives(b"\r\n\r\n")).startswith(b"HTTP/1.1 408 ")


async def test_each_byte_does_not_buy_more_time(autojump_clock: trio.testing.MockClock) -> None:
    async with connected(head_timeout=3) as (connection, peer), trio.open_nursery() as nursery:

        async def dribble() -> None:
            for position in range(len(REQUEST)):
                await peer.sends(REQUEST[position : position + 1])
                await trio.sleep(1)

        nursery.start_soon(dribble)
        await connection.wait_for_request()
        with pytest.raises(PeerGoneError), trio.fail_after(3.5):
            await connection.read_head()
        nursery.cancel_scope.cancel()


async def test_a_body_that_comes_too_slowly_is_refused(autojump_clock: trio.testing.MockClock) -> None:
    async with connected(body_timeout=7) as (connection, peer):
        await peer.sends(REQUEST[:-1])
        assert (await next_head(connection)).method == b"POST"
        start = trio.current_time()
        with pytest.raises(PeerGoneError):
            await connection.read_body()
        assert trio.current_time() - start == pytest.approx(7)
        assert (await peer.receives(b"\r\n\r\n")).startswith(b"HTTP/1.1 408 ")


async def test_a_refusal_that_nobody_reads_does_not_hold_the_connection(
    autojump_clock: trio.testing.MockClock,
) -> None:
    ours, theirs = trio.testing.lockstep_stream_pair()
    async with ours, theirs:
        connection = H11Connection(ours, 10, HTTPLimits())
        async with trio.open_nursery() as nursery:
            nursery.start_soon(theirs.send_all, b"nonsense\r\n\r\n")
            await connection.wait_for_request()
            with pytest.raises(PeerGoneError), trio.fail_after(60):
                await connection.read_head()


# ---------------------------------------------------------------------------------------------------------- responses


async def test_the_head_goes_out_together_with_what_comes_next() -> None:
    async with connected() as (connection, peer):
        await peer.sends(REQUEST)
        await next_request(connection)
        connection.begin_response(200, ((b"content-type", b"text/event-stream"),))
        await connection.send_body([b": ", b"hello\n\n"], is_last=False)
        first = await peer.stream.receive_some()
        assert first.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"content-type: text/event-stream\r\n" in first.lower()
        assert b"transfer-encoding: chunked\r\n" in first.lower()
        assert first.endswith(b"\r\n\r\n9\r\n: hello\n\n\r\n")
        await connection.end_response()
        assert await peer.receives(b"0\r\n\r\n")


async def test_a_body_that_is_whole_goes_out_with_its_size() -> None:
    async with connected() as (connection, peer):
        await peer.sends(REQUEST)
        await next_request(connection)
        connection.begin_response(200, ())
        await connection.send_body([b"he", b"llo"], is_last=True)
        await connection.end_response()
        assert connection.begin_next()
        answer = await peer.stream.receive_some()
        assert answer.endswith(b"\r\ncontent-length: 5\r\n\r\nhello")


async def test_a_last_part_after_others_says_nothing_of_their_size() -> None:
    async with connected() as (connection, peer):
        await peer.sends(REQUEST)
        await next_request(connection)
        connection.begin_response(200, ())
        await connection.send_body([b"he"], is_last=False)
        await connection.send_body([b"llo"], is_last=True)
        await connection.end_response()
        answer = await peer.receives(b"0\r\n\r\n")
        assert b"content-length" not in answer.lower()
        assert answer.endswith(b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n")


@pytest.mark.parametrize(("status", "length"), [(202, b"content-length: 0\r\n"), (204, b"")])
async def test_a_response_without_a_body_says_so_or_never_has_one(status: int, length: bytes) -> None:
    async with connected() as (connection, peer):
        await peer.sends(REQUEST)
        await next_request(connection)
        await respond(connection, status=status)
        assert connection.begin_next()
        answer = (await peer.receives(b"\r\n\r\n")).lower()
        assert length in answer
        assert b"chunked" not in answer


async def test_a_response_is_dated() -> None:
    async with connected() as (connection, peer):
        await peer.sends(REQUEST)
        await next_request(connection)
        await respond(connection)
        assert b"\r\ndate: " in (await peer.receives(b"\r\n\r\n")).lower()


async def test_one_stream_carries_requests_sent_ahead_one_after_another() -> None:
    async with connected() as (connection, peer):
        await peer.sends(REQUEST * 3)
        for number in range(3):
            assert (await next_request(connection)).body == b"body"
            await respond(connection, b"%d" % number)
            assert connection.begin_next()
        answers = await peer.receives(b"2\r\n0\r\n\r\n")
        assert answers.count(b"HTTP/1.1 200 OK") == 3


async def test_a_peer_that_wants_no_more_gets_no_more() -> None:
    async with connected() as (connection, peer):
        await peer.sends(REQUEST.replace(b"Host", b"Connection: close\r\nHost"))
        await next_request(connection)
        await respond(connection)
        assert not connection.begin_next()


async def test_a_peer_of_http_1_0_is_answered_without_chunks_until_the_end_of_the_stream() -> None:
    async with connected() as (connection, peer):
        await peer.sends(b"GET / HTTP/1.0\r\n\r\n")
        await next_request(connection)
        await respond(connection, b"hello")
        assert not connection.begin_next()
        await trio.aclose_forcefully(connection._stream)
        assert (await peer.receives_all()).endswith(b"\r\n\r\nhello")


async def test_a_response_that_is_not_complete_ends_the_stream() -> None:
    async with connected() as (connection, peer):
        await peer.sends(REQUEST)
        await next_request(connection)
        connection.begin_response(200, ())
        await connection.send_body([b"x"], is_last=False)
        assert not connection.begin_next()


# ---------------------------------------------------------------------------------------------------- leaving silently


async def test_a_peer_that_leaves_during_its_response_is_noticed_although_nothing_is_written() -> None:
    async with connected() as (connection, peer):
        await peer.sends(REQUEST)
        await next_request(connection)
        await peer.stream.send_eof()
        with trio.fail_after(5):
            await connection.wait_until_gone()


async def test_what_a_peer_sends_ahead_is_no_leaving_and_is_kept() -> None:
    async with connected() as (connection, peer), trio.open_nursery() as nursery:
        await peer.sends(REQUEST)
        await next_request(connection)
        nursery.start_soon(connection.wait_until_gone)
        await peer.sends(REQUEST)
        await settle()
        nursery.cancel_scope.cancel()
        await respond_shielded(connection)
        assert connection.begin_next()
        with trio.CancelScope(shield=True):
            assert (await next_request(connection)).body == b"body"


async def respond_shielded(connection: H11Connection) -> None:
    with trio.CancelScope(shield=True):
        await respond(connection)


async def test_a_peer_that_sends_too_much_ahead_is_not_listened_to() -> None:
    ours, theirs = trio.testing.lockstep_stream_pair()
    async with ours, theirs, trio.open_nursery() as nursery:
        connection = H11Connection(ours, 10, HTTPLimits(max_ahead_bytes=1_000))
        nursery.start_soon(theirs.send_all, REQUEST)
        await next_request(connection)
        nursery.start_soon(connection.wait_until_gone)
        await settle()
        await theirs.send_all(b"x" * 10_000)
        with trio.move_on_after(0.1) as scope:
            await theirs.send_all(b"nobody takes this")
        assert scope.cancelled_caught
        nursery.cancel_scope.cancel()
