"""The server's front for HTTP: a request becomes inputs of `ServerStreams`, a body's beginning becomes a head.

Every exchange is a connection, also a refused one, so that all bodies take the one way out. What is refused before it
is dispatched has changed nothing (case I7).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Self, TypeAlias, assert_never, final

import attrs

from mcpstreams_sansio.connections import ConnectionLost, DropConnection, EndWriting, Framing
from mcpstreams_sansio.errors import INVALID_REQUEST, RemoteProtocolError
from mcpstreams_sansio.framing.event_ids import parse_event_id
from mcpstreams_sansio.http.checks import ALLOW, EVENTS_TYPE, JSON_TYPE, accepts, first_refusal
from mcpstreams_sansio.http.config import HTTPConfig
from mcpstreams_sansio.http.messages import SESSION_HEADER, Headers, HTTPRefusal, RequestReceived, SendHead, find_header
from mcpstreams_sansio.http.sessions import Session, Sessions
from mcpstreams_sansio.ids import ConnectionId, Digest, Owner, Secret, owner_of
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.dispatch import Circumstances, Routed, route
from mcpstreams_sansio.server.effects import BeginBody, BodyKind
from mcpstreams_sansio.server.identity import ServerIdentity, answer_initialize
from mcpstreams_sansio.server.inputs import Accept, ConnectionOpened, CursorReceived, Reply, Scope, ScopeEnded
from mcpstreams_sansio.server.policies import StreamPolicies
from mcpstreams_sansio.wire import handshake
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Message, Request, decode_message, error_response
from mcpstreams_sansio.wire.refusals import Reason, refusal
from mcpstreams_sansio.wire.revisions import REVISIONS

NOWHERE: Final = Scope("refused")
"""The scope of exchanges that belong to no session."""

STATUS_OF_REASON: Final = {Reason.TOO_EARLY: 429, Reason.DRAINING: 503}
"""Refusals of streams with a status of their own; every other one is 200 with an error in the body (Q10, R14)."""

RETRY_AFTER: Final[Headers] = ((b"retry-after", b"5"),)
JSON_HEADERS: Final[Headers] = ((b"content-type", JSON_TYPE),)
EVENTS_HEADERS: Final[Headers] = (
    (b"content-type", EVENTS_TYPE),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)

FrontInput: TypeAlias = Routed | ConnectionOpened | ScopeEnded | CursorReceived


@final
@attrs.frozen
class Exchange:
    """What the front has to remember of an exchange until its head is out, and of its session until it is over."""

    session: Digest | None = attrs.field(repr=False)
    json_status: int = 200
    """What the head says if the body is JSON."""
    empty_status: int = 202
    """What it says if there is no body."""
    headers: Headers = attrs.field(default=(), repr=False)
    """What it says besides the usual."""


@final
@attrs.define(eq=False)
class HTTPServer:
    """The rules of Streamable HTTP for a server, for the handshake revisions."""

    config: HTTPConfig
    identity: ServerIdentity
    streams: StreamsConfig
    policies: StreamPolicies
    sessions: Sessions
    exchanges: dict[ConnectionId, Exchange] = attrs.field(factory=dict)

    def receive(self, event: RequestReceived, now: float) -> Sequence[FrontInput]:
        """Return what a request means: the opening of its connection first, then what is asked for."""
        refused = first_refusal(event.request, self.config) or event.refusal
        if refused is not None:
            return self._refuse(event, refused)
        message: Message | None = None
        if event.request.method == b"POST":
            try:
                message = decode_message(event.request.body)
            except RemoteProtocolError as error:
                opened = self._open(event, None, json_status=error.http_status)
                return [*opened, Reply(event.connection_id, error_response(error, error.request_id))]
            if isinstance(message, Request) and message.method == handshake.INITIALIZE:
                return self._initialize(event, message, now)
        session = self._session(event)
        if isinstance(session, HTTPRefusal):
            return self._refuse(event, session)
        if message is not None:
            return self._dispatch(event, session, message)
        return self._get(event, session) if event.request.method == b"GET" else self._delete(event, session)

    def _initialize(self, event: RequestReceived, request: Request, now: float) -> Sequence[FrontInput]:
        if find_header(event.request.headers, SESSION_HEADER) is not None:
            error = ErrorResponse(request.id, INVALID_REQUEST, "a session is initialised once")
            return [*self._open(event, None, json_status=400), Reply(event.connection_id, error)]
        try:
            response, negotiated = answer_initialize(request, self.identity, self.streams)
        except RemoteProtocolError as error:
            return [*self._open(event, None), Reply(event.connection_id, error_response(error, request.id))]
        session_id = Secret(event.entropy.derive(f"session {event.connection_id}"))
        leaving = self._make_room(owner_of(event.principal, event.address))
        if isinstance(leaving, HTTPRefusal):
            return self._refuse(event, leaving)
        ended = [] if leaving is None else [ScopeEnded(leaving.scope)]
        session = self.sessions.open(session_id, event.principal, negotiated, now, event.address)
        opened = self._open(event, session, headers=((SESSION_HEADER, session_id.reveal().encode()),))
        return [*ended, *opened, Reply(event.connection_id, response)]

    def _make_room(self, owner: Owner) -> Session | HTTPRefusal | None:
        """Return the session that has to go for another one of this owner, or why none can (rules R16, R25)."""
        if self.sessions.full_for(owner):
            return self.sessions.evict_of(owner) or HTTPRefusal(429, "each of your sessions is in use", RETRY_AFTER)
        if self.sessions.full:
            return self.sessions.evict() or HTTPRefusal(503, "every session is in use", RETRY_AFTER)
        return None

    def _session(self, event: RequestReceived) -> Session | HTTPRefusal:
        """Return the session that a request names: none is 400, an unknown or foreign one 404 (rule H31, case Q3)."""
        named = find_header(event.request.headers, SESSION_HEADER)
        if named is None:
            return HTTPRefusal(400, "a session id is required")
        session = self.sessions.find(Secret(named.decode("latin-1")), event.principal)
        return HTTPRefusal(404, "there is no such session") if session is None else session

    def _dispatch(self, event: RequestReceived, session: Session, message: Message) -> Sequence[FrontInput]:
        status = 200 if isinstance(message, Request) else 400
        cursor = find_header(event.request.headers, b"last-event-id")
        at = Circumstances(
            event.connection_id,
            Framing.HTTP,
            session.negotiated.peer,
            session.negotiated.revision,
            self.policies,
            event.entropy,
            accepts_events=accepts(event.request, EVENTS_TYPE),
            last_event_id=None if cursor is None else cursor.decode("latin-1"),
        )
        return [*self._open(event, session, json_status=status), *route(message, at)]

    def _get(self, event: RequestReceived, session: Session) -> Sequence[FrontInput]:
        """Attach the stream that a cursor names; without one there is nothing to deliver here (rules R17, Q12)."""
        cursor = find_header(event.request.headers, b"last-event-id")
        if cursor is None:
            return self._refuse(event, HTTPRefusal(405, "no standalone stream is offered", (ALLOW,)), session)
        opened = self._open(event, session, json_status=400)
        try:
            stream_id, after = parse_event_id(cursor.decode("latin-1"))
        except RemoteProtocolError:
            return [*opened, Reply(event.connection_id, refusal(None, Reason.INVALID_CURSOR))]
        return [*opened, CursorReceived(event.connection_id, stream_id, after)]

    def _delete(self, event: RequestReceived, session: Session) -> Sequence[FrontInput]:
        """End the session; its announced streams stay (rules H32, R16)."""
        self.sessions.end(session)
        opened = self._open(event, None, empty_status=204)
        return [*opened, Accept(event.connection_id), ScopeEnded(session.scope)]

    def _refuse(
        self, event: RequestReceived, refused: HTTPRefusal, session: Session | None = None
    ) -> Sequence[FrontInput]:
        if event.request.method == b"HEAD":  # its answer is a head and never a body
            opened = self._open(event, session, empty_status=refused.status, headers=refused.headers)
            return [*opened, Accept(event.connection_id)]
        error = ErrorResponse(None, INVALID_REQUEST, refused.why)
        opened = self._open(event, session, json_status=refused.status, headers=refused.headers)
        return [*opened, Reply(event.connection_id, error)]

    def _open(
        self,
        event: RequestReceived,
        session: Session | None,
        *,
        json_status: int = 200,
        empty_status: int = 202,
        headers: Headers = (),
    ) -> Sequence[ConnectionOpened]:
        """Return the opening of an exchange's connection, and remember what its head will need."""
        digest, scope, primes = None, NOWHERE, False
        if session is not None:
            self.sessions.enter(session, event.connection_id)
            digest, scope = session.digest, session.scope
            primes = REVISIONS[session.negotiated.revision].primes
        self.exchanges[event.connection_id] = Exchange(digest, json_status, empty_status, headers)
        return [
            ConnectionOpened(event.connection_id, Framing.HTTP, scope, event.principal, primes, event.address),
        ]

    def head(self, begin: BeginBody) -> SendHead:
        """Return the head of an exchange whose body has been decided."""
        exchange = self.exchanges[begin.connection_id]
        usual: Headers
        match begin.body:
            case BodyKind.EVENTS:
                status, usual = 200, EVENTS_HEADERS
            case BodyKind.EMPTY:
                status, usual = exchange.empty_status, ()
            case BodyKind.JSON:
                status, usual = exchange.json_status, JSON_HEADERS
            case never:
                assert_never(never)
        headers = exchange.headers + usual
        if begin.reason is not None:
            status = STATUS_OF_REASON.get(begin.reason, status)
        if begin.retry_after is not None:
            headers += ((b"retry-after", str(math.ceil(begin.retry_after)).encode()),)
        return SendHead(begin.connection_id, status, headers)

    def close(self, event: ConnectionLost | EndWriting | DropConnection, now: float) -> None:
        """Note that an exchange is over."""
        exchange = self.exchanges.pop(event.connection_id, None)
        if exchange is not None and exchange.session is not None:
            self.sessions.leave(exchange.session, event.connection_id, now)

    def fork(self) -> Self:
        """Return an independent copy."""
        return attrs.evolve(self, sessions=self.sessions.fork(), exchanges=self.exchanges.copy())

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return a hashable value, equal for fronts that will behave alike."""
        return tuple(self.exchanges.items()), self.sessions.snapshot(now)
