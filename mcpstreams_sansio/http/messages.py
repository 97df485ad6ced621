"""What goes over an HTTP exchange, above HTTP/1.1 bytes: shared by the server's front and the client's."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, TypeAlias, final

import attrs

from mcpstreams_sansio.ids import Address, ConnectionId, Entropy, Principal
from mcpstreams_sansio.wire.revisions import NEWEST, REVISIONS

Headers: TypeAlias = tuple[tuple[bytes, bytes], ...]
"""Names in lower case, values as they came, in order."""

SESSION_HEADER: Final = REVISIONS[NEWEST].session_header.lower().encode()
"""Every revision spells it the same, but for case (rule H5)."""


BODY_HEADERS: Final = frozenset({b"content-length", b"content-type", b"transfer-encoding"})
"""What says how a body is to be read."""

_HEADER_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+")
_HEADER_VALUE: Final = re.compile(rb"(?![ \t])[\t\x20-\x7e\x80-\xff]*(?<![ \t])")


def find_header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    """Return the first value of a header, or None. Names are case-insensitive (rule H5)."""
    for key, value in headers:
        if key.lower() == name:
            return value
    return None


def check_sendable(what: str, headers: Headers, reserved: frozenset[bytes]) -> None:
    """Refuse headers of an application that would break every message, or change what it says.

    Args:
        what: What holds them, for the text of the error.
        headers: Names in lower case.
        reserved: Names that the protocol uses itself.

    Raises:
        ValueError: One of them cannot be sent, or is reserved. The text repeats no value.
    """
    for name, value in headers:
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise ValueError(f"{what} holds a name or a value that cannot stand in a header")
        if name in reserved:
            raise ValueError(f"{what} holds one that is the protocol's own: {name.decode()}")


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


def _sendable(_: object, field: attrs.Attribute[Headers], headers: Headers) -> None:
    check_sendable(field.name, headers, BODY_HEADERS)


@final
@attrs.frozen
class HTTPRefusal:
    """A request that is not served, and how that is said.

    Raises:
        ValueError: `status` is none of a refusal, or `headers` cannot be sent or are those of the body.
    """

    status: int = attrs.field(validator=[attrs.validators.ge(400), attrs.validators.lt(600)])
    why: str
    """One sentence, which the peer reads."""
    headers: Headers = attrs.field(default=(), repr=False, validator=_sendable)
    """What the head says besides the usual, names in lower case: `www-authenticate`, `retry-after` and the like."""


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
