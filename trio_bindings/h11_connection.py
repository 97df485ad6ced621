"""HTTP/1.1 over one stream at the server: requests in, heads and body chunks out (h11 does the grammar).

What an MCP request means is the machine's business. Here is only what lies below it: syntax, sizes, time limits for a
peer that dawdles, and whether the stream can carry another exchange. Syntax errors are answered here, since no request
exists that a machine could answer.
"""

from __future__ import annotations

import contextlib
import email.utils
import http
import http.client
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, TypeVar, final

import attrs
import trio

from mcpstreams_sansio.http.messages import Headers, HTTPRequest
from trio_bindings.closing import LINGER_SECONDS, STREAM_FAILURES
from trio_bindings.extras import extra

with extra("http"):
    import h11

PartT = TypeVar("PartT")

REFUSAL_SECONDS: Final = 5.0
"""How long the answer to a broken request may take to get out."""


_NEVER_WITH_A_BODY: Final = frozenset({http.HTTPStatus.NO_CONTENT, http.HTTPStatus.NOT_MODIFIED})


@final
@attrs.frozen(kw_only=True)
class HTTPLimits:
    """How much, and how slowly, a peer may send. Sizes are bytes, times are seconds."""

    max_head_bytes: int = 32 * 2**10
    """Request line and headers together; more is answered 431."""
    max_ahead_bytes: int = 64 * 2**10
    """What may come after a request before its response is complete. Above it the peer is no longer listened to, so its
    leaving is noticed only by what is written to it."""
    head_timeout: float = 10.0
    """From the first byte of a request to the end of its headers."""
    body_timeout: float = 60.0
    """From the end of the headers to the end of the body."""
    idle_timeout: float = 75.0
    """Between two requests."""


class PeerGoneError(Exception):
    """The stream is of no use any more: closed, broken, or not worth waiting for."""


@final
class H11Connection:
    """One stream of a server, for one exchange after another.

    Args:
        stream: Read and written by nobody else from now on; closing it is left to its owner.
        max_body_bytes: A longer body is cut just above this size, so that the machine sees that it is too long.
        limits: What lies below the machine's own limits.
    """

    def __init__(self, stream: trio.abc.Stream, max_body_bytes: int, limits: HTTPLimits) -> None:
        self._stream = stream
        self._limits = limits
        self._max_body_bytes = max_body_bytes
        self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.max_head_bytes)
        self._head: h11.Response | None = None

    # -------------------------------------------------------------------------------------------------------- requests

    async def wait_for_request(self) -> None:
        """Return once the first byte of a request is there.

        Raises:
            PeerGoneError: The peer closed, or said nothing for `idle_timeout`.
        """
        await trio.lowlevel.checkpoint()
        with trio.move_on_after(self._limits.idle_timeout) as scope:
            while not self._bytes_ahead():
                await self._receive()
        if scope.cancelled_caught:
            raise PeerGoneError

    async def read_head(self) -> HTTPRequest:
        """Return the next request without its body, which waits to be read, or passed over.

        Raises:
            PeerGoneError: There is none: it broke off, came too slowly, or is no HTTP. Where an answer to that is
                possible, it was sent.
        """
        return await self._read(self._read_head, self._limits.head_timeout)

    async def read_body(self) -> bytes:
        """Return the body of the request. A peer that waits to be asked for it is asked.

        Raises:
            PeerGoneError: As for `read_head`.
        """
        return await self._read(self._read_body, self._limits.body_timeout)

    def pass_over_body(self) -> None:
        """Do without the body: what is here of it already is dropped, and what is not shall not come.

        So the stream can carry another exchange exactly if the body was all here, or there is none.
        """
        with contextlib.suppress(h11.RemoteProtocolError):
            while isinstance(self._h11.next_event(), h11.Data):
                continue

    async def _read(self, read: Callable[[], Awaitable[PartT]], seconds: float) -> PartT:
        """Read a part of a request, or say why not and give up."""
        try:
            with trio.fail_after(seconds):
                return await read()
        except h11.RemoteProtocolError as error:
            status = error.error_status_hint
        except trio.TooSlowError:
            status = http.HTTPStatus.REQUEST_TIMEOUT
        await self.refuse(status)
        raise PeerGoneError

    async def _read_head(self) -> HTTPRequest:
        event = await self._next_event()
        if not isinstance(event, h11.Request):
            raise PeerGoneError
        return HTTPRequest(event.method, event.target, tuple(event.headers))

    async def _read_body(self) -> bytes:
        if self._h11.they_are_waiting_for_100_continue:
            await self._send(self._encode(h11.InformationalResponse(status_code=100, headers=[])))
        body = bytearray()
        while len(body) <= self._max_body_bytes and isinstance(event := await self._next_event(), h11.Data):
            body += event.data
        return bytes(body[: self._max_body_bytes + 1])

    async def let_body_pass(self) -> None:
        """Give a peer that goes on sending a body which nobody wants the time to notice its answer.

        Closing at once on what is still coming could destroy the answer on its way.
        """
        with trio.move_on_after(LINGER_SECONDS), contextlib.suppress(PeerGoneError, h11.RemoteProtocolError):
            while self._h11.their_state is h11.SEND_BODY:
                await self._next_event()

    async def _next_event(self) -> object:
        while (event := self._h11.next_event()) is h11.NEED_DATA:
            await self._receive()
        return event

    async def wait_until_gone(self) -> None:
        """Return once the peer is gone (case J4). What it sends ahead is kept for `read_head`, within the limit."""
        try:
            while self._bytes_ahead() <= self._limits.max_ahead_bytes:
                await self._receive()
        except PeerGoneError:
            return
        await trio.sleep_forever()

    def _bytes_ahead(self) -> int:
        return len(self._h11.trailing_data[0])

    async def _receive(self) -> None:
        try:
            data = await self._stream.receive_some()
        except STREAM_FAILURES:
            raise PeerGoneError from None
        if not data:
            raise PeerGoneError
        self._h11.receive_data(bytes(data))

    # ------------------------------------------------------------------------------------------------------- responses

    def begin_response(self, status: int, headers: Headers) -> None:
        """Put the head before what comes next: both go out as one piece (case R1)."""
        added = [(b"date", email.utils.formatdate(usegmt=True).encode())]
        if self._h11.their_state is not h11.DONE:  # the rest of the request is still to come, and nobody will read it
            added.append((b"connection", b"close"))
        reason = http.client.responses.get(status, "").encode()
        self._head = h11.Response(status_code=status, headers=[*headers, *added], reason=reason)

    async def send_body(self, chunks: Iterable[bytes], *, is_last: bool) -> None:
        """Send a part of the body; one that is all of it goes out in one piece with a head that says its size.

        Raises:
            PeerGoneError: The stream broke.
        """
        data = b"".join(chunks)
        if is_last:
            self._declare_size(len(data))
        await self._send(self._encode_head() + self._encode(h11.Data(data=data)))

    async def end_response(self) -> None:
        """Complete the response. One without a body says so rather than send an empty chunk.

        Raises:
            PeerGoneError: The stream broke.
        """
        self._declare_size(0)
        await self._send(self._encode_head() + self._encode(h11.EndOfMessage()))

    def begin_next(self) -> bool:
        """Make ready for another exchange, and say whether there can be one on this stream."""
        if self._h11.our_state is not h11.DONE or self._h11.their_state is not h11.DONE:
            return False
        self._h11.start_next_cycle()
        return True

    def _declare_size(self, size: int) -> None:
        """Say in the head, unless it is out, how long the body is."""
        head = self._head
        if head is not None and head.status_code not in _NEVER_WITH_A_BODY:
            headers = [*head.headers, (b"content-length", b"%d" % size)]
            self._head = h11.Response(status_code=head.status_code, headers=headers, reason=head.reason)

    def _encode_head(self) -> bytes:
        head, self._head = self._head, None
        return b"" if head is None else self._encode(head)

    def _encode(self, event: h11.Event) -> bytes:
        return self._h11.send(event) or b""

    async def _send(self, data: bytes) -> None:
        try:
            await self._stream.send_all(data)
        except STREAM_FAILURES:
            raise PeerGoneError from None

    async def refuse(self, status: int) -> None:
        """Answer with a bare status what no machine will answer, if it can be answered still."""
        if self._h11.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            self.begin_response(status, ())
            with trio.move_on_after(REFUSAL_SECONDS), contextlib.suppress(PeerGoneError):
                await self.end_response()
