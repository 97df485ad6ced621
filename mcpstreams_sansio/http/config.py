"""Every limit and every choice of the HTTP front."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, final

import attrs

from mcpstreams_sansio.validators import at_least_one, positive

LOOPBACK_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
"""What a server that listens on loopback is called by those who mean it."""


def _absolute(_: object, field: attrs.Attribute[str], value: str) -> None:
    if not value.startswith("/"):
        raise ValueError(f"{field.name} must begin with a slash")


def _lower(hosts: Iterable[str] | None) -> frozenset[str] | None:
    return None if hosts is None else frozenset(host.lower() for host in hosts)


@final
@attrs.frozen(kw_only=True)
class HTTPConfig:
    """Choices and limits of `HTTPServer`. Seconds are floats; sizes are bytes.

    Raises:
        ValueError: A field is outside its range; the text names the field.
    """

    path: str = attrs.field(default="/mcp", validator=_absolute)
    """The one endpoint (rule H1)."""
    allowed_hosts: frozenset[str] | None = attrs.field(default=LOOPBACK_HOSTS, converter=_lower)
    """Host names, without port, under which the server may be addressed; None allows any (case Q1). IPv6 addresses
    stand in brackets."""
    allowed_origins: frozenset[str] = attrs.field(factory=frozenset)
    """Origins beyond those of the allowed hosts that may send requests, as `https://example.org` (rule H2)."""
    max_body_bytes: int = attrs.field(default=4 * 2**20, validator=at_least_one)
    """Size of a request's body; more is answered 413 (rule H8)."""
    max_sessions: int = attrs.field(default=10_000, validator=at_least_one)
    """Sessions; above it the one that has been idle for longest ends, or none begins if all are in use (rule R16)."""
    max_sessions_per_principal: int = attrs.field(default=1_000, validator=at_least_one)
    """The same for each principal, or for each address where there is no principal: nobody ends the sessions of others
    by opening too many (rules R16, R25). Where a proxy hides the addresses of all, they are one."""
    session_idle: float = attrs.field(default=1_800.0, validator=positive)
    """Seconds without an open exchange after which a session ends (rule R16)."""
