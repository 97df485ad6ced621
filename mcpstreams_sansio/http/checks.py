"""What a request must fulfil before anything of it counts: named checks in order, the first refusal wins.

Order: who may address this server at all, what was asked for, how much, in which form, in which revision (sections H.1
and H.2 of the rules). A refused request has changed nothing (case I7).

They need the head alone, but for the size of a body whose length was not declared. So they are made as soon as the head
is there, and the body of a request that is refused by then is never read (case Q1); and again on the whole request,
since who brings it may not have asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from mcpstreams_sansio.http.config import HTTPConfig
from mcpstreams_sansio.http.messages import HTTPRefusal, HTTPRequest, find_header
from mcpstreams_sansio.wire.revisions import find_revision

METHODS: Final = (b"POST", b"GET", b"DELETE")
ALLOW: Final = (b"allow", b"POST, DELETE")
"""What is offered where no source of a standalone GET stream is given (rules H20, R17)."""
JSON_TYPE: Final = b"application/json"
EVENTS_TYPE: Final = b"text/event-stream"

_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^][:/?#@\\\s]+)(?::[0-9]*)?")
"""A host name, or an IPv6 address in brackets, and perhaps a port: nothing else, so that no two readers differ."""
_REFUSING: Final = re.compile(rb"\s*q\s*=\s*0(\.0*)?\s*", re.IGNORECASE)
"""The parameter of a range in `Accept` that makes it say: anything but this."""
_MANY_DIGITS: Final = 19
"""A number of so many digits is above every limit, whatever follows."""


Check: TypeAlias = Callable[[HTTPRequest, HTTPConfig], HTTPRefusal | None]


def check_host(request: HTTPRequest, config: HTTPConfig) -> HTTPRefusal | None:
    """Host: a name that means this server, or a page elsewhere may have rebound its own name to it (case Q1)."""
    if config.allowed_hosts is None:
        return None
    name = _host_name((find_header(request.headers, b"host") or b"").decode("latin-1"))
    return None if name in config.allowed_hosts else HTTPRefusal(403, "this host name is not served")


def check_origin(request: HTTPRequest, config: HTTPConfig) -> HTTPRefusal | None:
    """Origin: absent, of an allowed host, or allowed by name (rule H2)."""
    origin = find_header(request.headers, b"origin")
    if origin is None:
        return None
    text = origin.decode("latin-1")
    hosts = config.allowed_hosts or frozenset()
    if text in config.allowed_origins or _origin_host(text) in hosts:
        return None
    return HTTPRefusal(403, "this origin is not allowed")


def check_path(request: HTTPRequest, config: HTTPConfig) -> HTTPRefusal | None:
    """Target: the one endpoint (rule H1)."""
    path = request.target.partition(b"?")[0].decode("latin-1")
    return None if path == config.path else HTTPRefusal(404, "there is nothing at this path")


def check_method(request: HTTPRequest, _: HTTPConfig) -> HTTPRefusal | None:
    """Method: POST, GET or DELETE."""
    return None if request.method in METHODS else HTTPRefusal(405, "this method is not offered", (ALLOW,))


def check_size(request: HTTPRequest, config: HTTPConfig) -> HTTPRefusal | None:
    """Body: within the limit, as it was declared and as it came (rule H8)."""
    size = max(_declared_size(request), len(request.body))
    return None if size <= config.max_body_bytes else HTTPRefusal(413, "the body is too large")


def check_accept(request: HTTPRequest, _: HTTPConfig) -> HTTPRefusal | None:
    """Accept: JSON or events for a POST, events for a GET; wildcards count, and so does no header (rules H7, H20)."""
    wanted = {b"POST": (JSON_TYPE, EVENTS_TYPE), b"GET": (EVENTS_TYPE,), b"DELETE": ()}[request.method]
    if not wanted or any(accepts(request, media_type) for media_type in wanted):
        return None
    return HTTPRefusal(406, "nothing that Accept names can be served")


def check_content_type(request: HTTPRequest, _: HTTPConfig) -> HTTPRefusal | None:
    """Content-Type: JSON, for a POST (rule H8)."""
    if request.method != b"POST":
        return None
    content_type = find_header(request.headers, b"content-type") or b""
    if content_type.partition(b";")[0].strip().lower() == JSON_TYPE:
        return None
    return HTTPRefusal(415, "the body must be application/json")


def check_revision(request: HTTPRequest, _: HTTPConfig) -> HTTPRefusal | None:
    """MCP-Protocol-Version: absent, or a revision that is served (rule H4)."""
    version = find_header(request.headers, b"mcp-protocol-version")
    if version is None or find_revision(version.decode("latin-1")) is not None:
        return None
    return HTTPRefusal(400, "this protocol version is not served")


CHECKS: Final[tuple[Check, ...]] = (
    check_host,
    check_origin,
    check_path,
    check_method,
    check_size,
    check_accept,
    check_content_type,
    check_revision,
)
"""In the order in which they are made."""


def first_refusal(request: HTTPRequest, config: HTTPConfig) -> HTTPRefusal | None:
    """Return why a request is not served, or None.

    Args:
        request: The whole request; or its head, with no body, before the body is read. If that is refused, so is the
            request, whatever the body is: it is handed to the machine as it stands.
        config: The limits and choices of the server.

    Spec: rules H1, H2, H4, H7, H8; case Q1.
    """
    for check in CHECKS:
        refusal = check(request, config)
        if refusal is not None:
            return refusal
    return None


def accepts(request: HTTPRequest, media_type: bytes) -> bool:
    """Return whether a request accepts a media type: by name, by wildcard, or by saying nothing.

    Of the ranges that cover it the closest counts, and with `q=0` that one excludes it. Preferences do not count.
    """
    values = [value for name, value in request.headers if name.lower() == b"accept"]
    if not values:
        return True
    ranges: dict[bytes, bool] = {}
    for part in b",".join(values).split(b","):
        name, *parameters = part.split(b";")
        key = name.strip().lower()
        ranges[key] = ranges.get(key, False) or not any(map(_REFUSING.fullmatch, parameters))
    main = media_type.partition(b"/")[0]
    return next((ranges[key] for key in (media_type, main + b"/*", b"*/*") if key in ranges), False)


def _declared_size(request: HTTPRequest) -> int:
    """Return what Content-Length says; 0 where it says nothing: whether it is well-formed is not the question here."""
    digits = (find_header(request.headers, b"content-length") or b"").strip().lstrip(b"0")
    if not digits.isdigit():
        return 0
    return int(digits[:_MANY_DIGITS])


def _host_name(authority: str) -> str | None:
    parts = _AUTHORITY.fullmatch(authority)
    return None if parts is None else parts[1].lower()


def _origin_host(origin: str) -> str | None:
    scheme, _, authority = origin.partition("://")
    return _host_name(authority) if scheme.lower() in ("http", "https") else None
