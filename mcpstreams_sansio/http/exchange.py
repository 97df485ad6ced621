"""The exchanges of a client: the request that begins each, what has come of it so far, and when it is given up."""

from __future__ import annotations

import enum
from typing import Final, Self, final

import attrs

from mcpstreams_sansio.client.connection_ids import ConnectionIds
from mcpstreams_sansio.client.inputs import PathRefused
from mcpstreams_sansio.connections import DropConnection, DropReason
from mcpstreams_sansio.deadlines import Deadlines
from mcpstreams_sansio.http.bodies import Body, IgnoredBody
from mcpstreams_sansio.http.messages import (
    BODY_HEADERS,
    SESSION_HEADER,
    Headers,
    HTTPRequest,
    SendRequest,
    check_sendable,
)
from mcpstreams_sansio.ids import ConnectionId, RequestId, Secret
from mcpstreams_sansio.wire.revisions import REVISIONS, Revision

_JSON: Final = b"application/json"
_EVENTS: Final = b"text/event-stream"
_CREDENTIAL: Final = 12
"""Bytes from which on a word in a header is taken for one."""

_VERSION_HEADERS: Final = frozenset(
    rules.version_header.lower().encode() for rules in REVISIONS.values() if rules.version_header is not None
)
OWN_HEADERS: Final = _VERSION_HEADERS | BODY_HEADERS | {SESSION_HEADER, b"accept", b"last-event-id"}
"""Headers that the protocol itself puts into requests, where it wants them."""


def _sendable(_: object, field: attrs.Attribute[Headers], headers: Headers) -> None:
    check_sendable(field.name, headers, OWN_HEADERS)


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
    SETTLED = "settled"
    """Nothing: what was asked is answered, and whatever the body still brings means nothing."""


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
@attrs.define(eq=False)
class Exchanges:
    """The exchanges of one client that are not over.

    Args:
        connection_ids: Where the ids of those come from that the client begins by itself.
    """

    connection_ids: ConnectionIds
    _open: dict[ConnectionId, Exchange] = attrs.field(factory=dict)
    _deadlines: Deadlines[ConnectionId] = attrs.field(factory=Deadlines)
    _notices: set[ConnectionId] = attrs.field(factory=set)
    _settled: dict[ConnectionId, None] = attrs.field(factory=dict)
    """Those of them that have done their work, in that order."""

    @property
    def all_settled(self) -> bool:
        """Whether nothing is still to be heard of any of them."""
        return len(self._settled) == len(self._open)

    @property
    def notifying(self) -> int:
        """How many carry a notification of the application that was not accepted yet."""
        return len(self._notices)

    def get(self, connection_id: ConnectionId) -> Exchange | None:
        """Return an exchange, unless it is over."""
        return self._open.get(connection_id)

    def begin(
        self, errand: Errand, request: HTTPRequest, session: Session | None, connection_id: ConnectionId | None = None
    ) -> tuple[Exchange, SendRequest]:
        """Begin an exchange; return it, and what begins it outside."""
        chosen = self.connection_ids.next() if connection_id is None else connection_id
        exchange = Exchange(chosen, errand, None if session is None else session.session_id)
        self._open[chosen] = exchange
        if errand is Errand.NOTICE:
            self._notices.add(chosen)
        return exchange, SendRequest(chosen, request)

    def give_until(self, exchange: Exchange, deadline: float) -> None:
        """Give an exchange up at this moment, unless it is given another one."""
        self._deadlines.set(exchange.connection_id, deadline)

    def let_be(self, connection_id: ConnectionId) -> None:
        """Give an exchange as much time as it takes."""
        self._deadlines.clear(connection_id)

    def settle(self, exchange: Exchange, deadline: float, most: int) -> list[DropConnection]:
        """Let an answered exchange come to its end, so that its connection can serve again; but not for ever.

        Args:
            exchange: The one that has done its work.
            deadline: When it is given up.
            most: How many of these there may be; beyond it the oldest is broken off.
        """
        exchange.errand, exchange.body = Errand.SETTLED, IgnoredBody()
        self.give_until(exchange, deadline)
        self._notices.discard(exchange.connection_id)
        self._settled[exchange.connection_id] = None
        return [] if len(self._settled) <= most else self.drop(next(iter(self._settled)), DropReason.FINISHED)

    def forget(self, exchange: Exchange) -> None:
        """An exchange is over."""
        self._open.pop(exchange.connection_id, None)
        self._notices.discard(exchange.connection_id)
        self._settled.pop(exchange.connection_id, None)
        self._deadlines.clear(exchange.connection_id)

    def drop(self, connection_id: ConnectionId, reason: DropReason) -> list[DropConnection]:
        """Break an exchange off, unless it is over."""
        exchange = self._open.get(connection_id)
        if exchange is None:
            return []
        self.forget(exchange)
        return [DropConnection(connection_id, reason)]

    def drop_all(self) -> list[DropConnection]:
        """Break every exchange off."""
        return [drop for connection_id in list(self._open) for drop in self.drop(connection_id, DropReason.FINISHED)]

    def next_deadline(self) -> float | None:
        """Return when the first one is given up."""
        return self._deadlines.next()

    def pop_due(self, now: float) -> Exchange | None:
        """Return an exchange that is to be given up, if there is one."""
        connection_id = self._deadlines.pop_due(now)
        return None if connection_id is None else self._open[connection_id]

    def fork(self, connection_ids: ConnectionIds) -> Self:
        """Return an independent copy that takes its ids from elsewhere."""
        copies = {key: attrs.evolve(each, body=each.body.fork()) for key, each in self._open.items()}
        return type(self)(connection_ids, copies, self._deadlines.fork(), self._notices.copy(), self._settled.copy())

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return a hashable value, equal for exchanges that will be treated alike; times are relative to `now`."""
        exchanges = tuple(
            (each.connection_id, each.errand, each.session_id, each.request_id, each.body.snapshot(), each.refused)
            for each in self._open.values()
        )
        return (exchanges, tuple(self._settled), self._deadlines.snapshot(now))


@final
@attrs.frozen
class Endpoint:
    """Where the requests of a client go (rule H1).

    Raises:
        ValueError: `headers` cannot be sent, or are the protocol's own.
    """

    target: bytes = attrs.field(repr=False)
    """Path and query, in which some services want a secret."""
    headers: Headers = attrs.field(default=(), repr=False, validator=_sendable)
    """What stands in each request besides the protocol's own, names in lower case: authorization, for example."""

    @property
    def credentials(self) -> tuple[str, ...]:
        """What in its headers is long enough to be guessed by nobody: not to be shown, wherever it comes from."""
        words = [word for name, value in self.headers if name.lower() != b"host" for word in value.split()]
        return tuple(word.decode("latin-1") for word in words if len(word) >= _CREDENTIAL)

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
