"""What goes over an HTTP exchange, above HTTP/1.1 bytes: shared by the server's front and the client's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias, final

import attrs

from mcpstreams_sansio.ids import Address, ConnectionId, Entropy, Principal
from mcpstreams_sansio.wire.revisions import NEWEST, REVISIONS

Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]
"""Names in lower case, values as they came, in order."""

SESSION_HEADER: Final = REVISIONS[NEWEST].session_header.lower().encode()
"""Every revision spells it the same, but for case (rule H5)."""


def find_header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    """Return the first value of a header, or None. Names are case-insensitive (rule H5)."""
    for key, value in headers:
        if key.lower() == name:
            return value
    return None


@final
@attrs.frozen
class HTTPRequest:
    """One request: its body is complete, since MCP bounds it and one message is one body (rule H6).

    At a server the body of a request that is refused for its head is left unread: `checks.first_refusal` says so.
    """

    method: bytes
    target: bytes = attrs.field(repr=False)
    headers: Headers = attrs.field(repr=False)
    body: bytes = attrs.field(default=b"", repr=False)


@final
@attrs.frozen
class HTTPRefusal:
    """A request that is not served, and how that is said.

    Raises:
        ValueError: `status` is none of a refusal.
    """

    status: int = attrs.field(validator=[attrs.validators.ge(400), attrs.validators.lt(600)])
    why: str
    """One sentence, which the peer reads."""
    headers: Headers = attrs.field(default=(), repr=False)
    """What the head says besides the usual: `www-authenticate`, `retry-after` and the like."""


@final
@attrs.frozen
class RequestReceived:
    """Server: an exchange begins. Its id was never used before."""

    connection_id: ConnectionId
    request: HTTPRequest
    entropy: Entropy
    principal: Principal | None = None
    address: Address | None = None
    """Whose quota the request counts against if nobody was authenticated; what has none counts as one peer."""
    refusal: HTTPRefusal | None = None
    """Why the application lets nobody in with this request; the body may be unread then."""


@final
@attrs.frozen
class SendHead:
    """Server: send the head of the response. With `EMPTY` body `EndWriting` follows at once."""

    connection_id: ConnectionId
    status: int
    headers: Headers = attrs.field(repr=False)


@final
@attrs.frozen
class SendRequest:
    """Client: begin an exchange with this request under this id, and report what comes of it."""

    connection_id: ConnectionId
    request: HTTPRequest


@final
@attrs.frozen
class HeadReceived:
    """Client: the head of the response is here; the body follows as `BytesReceived`, then `EndOfFile` or a loss."""

    connection_id: ConnectionId
    status: int
    headers: Headers = attrs.field(repr=False)
