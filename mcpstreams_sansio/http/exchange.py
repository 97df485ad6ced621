"""One exchange as a client sees it: the request that begins it, and what has come of it so far."""

from __future__ import annotations

import enum
from typing import Final, final

import attrs

from mcpstreams_sansio.client.inputs import PathRefused
from mcpstreams_sansio.http.bodies import Body, IgnoredBody
from mcpstreams_sansio.http.messages import Headers, HTTPRequest
from mcpstreams_sansio.ids import ConnectionId, RequestId, Secret
from mcpstreams_sansio.wire.revisions import NEWEST, REVISIONS, Revision

SESSION_HEADER: Final = REVISIONS[NEWEST].session_header.lower().encode()
"""Every revision spells it the same, but for case (rule H5)."""

_JSON: Final = b"application/json"
_EVENTS: Final = b"text/event-stream"


@enum.unique
class Errand(enum.Enum):
    """What an exchange is for."""

    INITIALIZE = "initialize"
    INITIALIZED = "initialized"
    REQUEST = "request"
    """A request of the streams, or a cursor: its answer comes in the body, some time."""
    MESSAGE = "message"
    """A notification or an answer of the streams: accepted or not, at once."""
    NOTICE = "notice"
    """A notification of the application."""
    DELETE = "delete"


@final
@attrs.frozen
class Session:
    """What the handshake has settled (rules H4, H30, H31)."""

    session_id: Secret | None
    """None for a server without sessions."""
    revision: Revision
    marker: bool
    """The server sends keep-alives while a stream is attached (rule R15)."""


@final
@attrs.define(eq=False)
class Exchange:
    """An exchange that is not over."""

    connection_id: ConnectionId
    errand: Errand
    session_id: Secret | None
    """The session in whose name it was begun."""
    request_id: RequestId | None = None
    """The request that it carries."""
    body: Body = IgnoredBody()
    """How its answer is read; nothing counts before the head has come."""
    refused: PathRefused | None = None
    """What its status says, where that is no success and the body may say more."""


@final
@attrs.frozen
class Endpoint:
    """Where the requests of a client go (rule H1)."""

    target: bytes
    """Path and query."""
    headers: Headers = attrs.field(default=(), repr=False)
    """What stands in each request besides the protocol's own: authorization, for example."""

    def post(self, body: bytes, session: Session | None, last_event_id: str | None = None) -> HTTPRequest:
        """Return the request that carries one message (rules H6, H7)."""
        own = ((b"accept", _JSON + b", " + _EVENTS), (b"content-type", _JSON))
        return HTTPRequest(b"POST", self.target, (*own, *self._headers(session, last_event_id)), body)

    def get(self, session: Session, last_event_id: str) -> HTTPRequest:
        """Return the request that carries only a cursor (rules H20, H24)."""
        return HTTPRequest(b"GET", self.target, ((b"accept", _EVENTS), *self._headers(session, last_event_id)))

    def delete(self, session: Session) -> HTTPRequest:
        """Return the request that ends a session (rule H32)."""
        return HTTPRequest(b"DELETE", self.target, self._headers(session, None))

    def _headers(self, session: Session | None, last_event_id: str | None) -> Headers:
        headers = list(self.headers)
        if session is not None:
            version_header = REVISIONS[session.revision].version_header
            if version_header is not None:
                headers.append((version_header.lower().encode(), session.revision.encode()))
            if session.session_id is not None:
                headers.append((SESSION_HEADER, session.session_id.reveal().encode("latin-1")))
        if last_event_id is not None:
            headers.append((b"last-event-id", last_event_id.encode()))
        return tuple(headers)
