"""The client's front for a server that speaks Streamable HTTP: the session, and one exchange for each message.

It turns what comes on exchanges into inputs of `ClientStreams` and knows nothing of calls. When to begin a session is
not its business either. A status decides, never a wording (case I5).

Spec: MCP 2025-11-25, Transports. Rules H4-H11, H16, H24, H30-H32, R16, R20; groups C, D, G, I of the cases.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Self, TypeAlias, assert_never, final

import attrs

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.connection_ids import ConnectionIds
from mcpstreams_sansio.client.effects import (
    Failure,
    LeavePath,
    PathEffect,
    PauseReading,
    ReadAgain,
    ResumeReading,
    SendOnPath,
    ServerConnected,
)
from mcpstreams_sansio.client.fronts import FrontClosed, FrontNews, LinkFailed, LinkHopeless, traits_of
from mcpstreams_sansio.client.inputs import (
    ConnectFailed,
    LinkDown,
    LinkUp,
    MessageReceived,
    PathAccepted,
    PathRefused,
    PathUnsent,
    PathUnusable,
)
from mcpstreams_sansio.client.policy import StatusVerdict, judge_status
from mcpstreams_sansio.connections import BytesReceived, ConnectionLost, DropConnection, DropReason, EndOfFile
from mcpstreams_sansio.deadlines import Deadlines
from mcpstreams_sansio.errors import RemoteProtocolError
from mcpstreams_sansio.framing.sse import SSEDecoder
from mcpstreams_sansio.http.bodies import Body, BodyNews, EventsBody, IgnoredBody, JSONBody, MediaType
from mcpstreams_sansio.http.exchange import SESSION_HEADER, Endpoint, Errand, Exchange, Session
from mcpstreams_sansio.http.messages import HeadReceived, HTTPRequest, SendRequest, find_header
from mcpstreams_sansio.ids import ConnectionId, Secret
from mcpstreams_sansio.wire.handshake import (
    INITIALIZED,
    ClientHello,
    ServerHello,
    initialize_request,
    read_server_hello,
)
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Notification, Request, Response, encode_message
from mcpstreams_sansio.wire.revisions import find_revision

HTTPEvent: TypeAlias = HeadReceived | BytesReceived | EndOfFile | ConnectionLost | ConnectFailed
"""What a driver reports of an exchange."""

HTTPOutput: TypeAlias = FrontNews | SendRequest | DropConnection | PauseReading | ResumeReading

_SUCCESS: Final = range(200, 300)
_UNAUTHORIZED: Final = 401
_NOT_FOUND: Final = 404
_SESSION_ID: Final = re.compile(rb"[!-~]+")
_SIGNS_OF_LIFE: Final = 3
"""How many times `keepalive` a silent event stream is waited for."""


@final
@attrs.frozen
class Down:
    """There is no session."""


@final
@attrs.frozen
class Opening:
    """`initialize` is out."""

    until: float
    connection_id: ConnectionId
    hello_id: str


@final
@attrs.frozen
class Confirming:
    """`initialize` is answered, `notifications/initialized` is out: only now may others follow (case G10)."""

    until: float
    connection_id: ConnectionId
    session: Session
    server: ServerHello


@final
@attrs.frozen
class Up:
    """Messages can be sent."""

    session: Session
    proven: bool
    """The server has accepted something in this session: it did not forget it at once (case I2)."""


@final
@attrs.frozen
class Parting:
    """The session is being ended."""

    until: float


State: TypeAlias = Down | Opening | Confirming | Up | Parting


@final
@attrs.define(eq=False)
class HTTPClient:
    """The front of one server that is reached by HTTP.

    Args:
        config: Limits and times.
        endpoint: Where requests go.
        hello: What the client says of itself in each handshake.
        connection_ids: Where it takes the ids of its own exchanges from.
    """

    _config: ClientConfig
    _endpoint: Endpoint
    _hello: ClientHello
    _connection_ids: ConnectionIds
    _state: State = Down()
    _exchanges: dict[ConnectionId, Exchange] = attrs.field(factory=dict)
    _deadlines: Deadlines[ConnectionId] = attrs.field(factory=Deadlines)
    """When an exchange that owes an answer, or a sign of life, is given up."""
    _handshakes: int = 0

    # ------------------------------------------------------------------------------------------------- coming, going

    def open(self, now: float) -> Sequence[HTTPOutput]:
        """Begin a session (rule H31)."""
        self._handshakes += 1
        hello_id = f"{self._config.instance}-link.{self._handshakes}"
        request = encode_message(initialize_request(hello_id, self._hello))
        sent = self._begin(Errand.INITIALIZE, self._endpoint.post(request, None), None)
        self._state = Opening(now + self._config.handshake_timeout, sent.connection_id, hello_id)
        return [sent]

    def close(self, now: float) -> Sequence[HTTPOutput]:
        """End the session, if there is one (rule H32)."""
        state = self._state
        if not isinstance(state, Up) or state.session.session_id is None:
            return self._part()
        self._state = Parting(now + self._config.close_timeout)
        return [self._begin(Errand.DELETE, self._endpoint.delete(state.session), state.session)]

    def send(self, effect: PathEffect, now: float) -> Sequence[HTTPOutput]:
        """Do for the streams what they want done on a path; what they send, they send only while the link is up."""
        match effect:
            case SendOnPath():
                return self._send(effect, now)
            case ReadAgain():
                session = self._session()
                request = self._endpoint.get(session, effect.last_event_id)
                return [self._begin(Errand.REQUEST, request, session, effect.connection_id)]
            case LeavePath():
                return self._drop(effect.connection_id, DropReason.FINISHED)
            case PauseReading():
                self._deadlines.clear(effect.connection_id)
                return [effect]
            case ResumeReading():
                self._watch(effect.connection_id, now)
                return [effect]
            case _:
                assert_never(effect)

    def expect(self, now: float, *, something: bool) -> None:
        """Nothing: each exchange has a time of its own."""

    def flush(self, now: float) -> Sequence[HTTPOutput]:
        """Return nothing: nothing waits, each message has an exchange of its own."""
        return []

    def notify(self, notification: Notification, now: float) -> Sequence[HTTPOutput]:
        """Send a notification of the application; the link is up."""
        session = self._session()
        sent = self._begin(Errand.NOTICE, self._endpoint.post(encode_message(notification), session), session)
        self._deadlines.set(sent.connection_id, now + self._config.reply_timeout)
        return [sent]

    def _send(self, effect: SendOnPath, now: float) -> Sequence[HTTPOutput]:
        session = self._session()
        request = self._endpoint.post(encode_message(effect.message), session, effect.last_event_id)
        if isinstance(effect.message, Request):
            sent = self._begin(Errand.REQUEST, request, session, effect.connection_id)
            self._exchanges[effect.connection_id].request_id = effect.message.id
        else:
            sent = self._begin(Errand.MESSAGE, request, session, effect.connection_id)
            self._deadlines.set(effect.connection_id, now + self._config.reply_timeout)
        return [sent]

    def _begin(
        self, errand: Errand, request: HTTPRequest, session: Session | None, connection_id: ConnectionId | None = None
    ) -> SendRequest:
        chosen = self._connection_ids.next() if connection_id is None else connection_id
        self._exchanges[chosen] = Exchange(chosen, errand, None if session is None else session.session_id)
        return SendRequest(chosen, request)

    def _session(self) -> Session:
        assert isinstance(self._state, Up), "nothing is sent while the link is down"
        return self._state.session

    # ------------------------------------------------------------------------------------------------------- receiving

    def receive(self, event: HTTPEvent, now: float) -> Sequence[HTTPOutput]:
        """Return what an event means; what is reported of an exchange that is over means nothing (rule R13)."""
        exchange = self._exchanges.get(event.connection_id)
        if exchange is None:
            return []
        match event:
            case HeadReceived():
                return self._receive_head(exchange, event, now)
            case BytesReceived():
                self._watch(exchange.connection_id, now)
                return self._read(exchange, exchange.body.receive_data(event.data))
            case EndOfFile():
                return [*self._read(exchange, exchange.body.receive_eof()), *self._end(exchange)]
            case ConnectionLost():
                return self._over(exchange, ConnectionLost(exchange.connection_id))
            case ConnectFailed():
                return self._over(exchange, PathUnsent(exchange.connection_id))
            case _:
                assert_never(event)

    def _receive_head(self, exchange: Exchange, head: HeadReceived, now: float) -> Sequence[HTTPOutput]:
        if head.status in _SUCCESS:
            return self._receive_success(exchange, head, now)
        if exchange.errand is Errand.DELETE:
            return self._part()
        if head.status == _UNAUTHORIZED:
            return self._hopeless(Failure.UNAUTHORIZED)
        return self._receive_refusal(exchange, head, now)

    def _receive_success(self, exchange: Exchange, head: HeadReceived, now: float) -> Sequence[HTTPOutput]:
        errand = exchange.errand
        match errand:
            case Errand.INITIALIZE:
                return self._expect_hello(exchange, head)
            case Errand.INITIALIZED:
                return self._finish_handshake(exchange)
            case Errand.REQUEST:
                self._prove()
                return [PathAccepted(exchange.connection_id), *self._expect_answer(exchange, head, now)]
            case Errand.MESSAGE | Errand.NOTICE:
                self._prove()
                self._forget(exchange)
                return [PathAccepted(exchange.connection_id)] if errand is Errand.MESSAGE else []
            case Errand.DELETE:
                return self._part()
            case _:
                assert_never(errand)

    def _expect_answer(self, exchange: Exchange, head: HeadReceived, now: float) -> Sequence[HTTPOutput]:
        """Read the body as what it says that it is; one that can not hold the answer is no answer (case G3)."""
        media_type = MediaType.parse(find_header(head.headers, b"content-type"))
        if media_type is MediaType.OTHER:
            dropped = self._drop(exchange.connection_id, DropReason.UNREADABLE)
            return [*dropped, PathUnusable(exchange.connection_id)]
        exchange.body = self._body(exchange.connection_id, media_type)
        self._watch(exchange.connection_id, now)
        return []

    def _body(self, connection_id: ConnectionId, media_type: MediaType) -> Body:
        size = self._config.max_event_size
        if media_type is MediaType.EVENTS:
            return EventsBody(connection_id, SSEDecoder(max_line_size=size, max_event_size=size))
        return JSONBody(connection_id, size) if media_type is MediaType.JSON else IgnoredBody()

    def _read(self, exchange: Exchange, news: Sequence[BodyNews]) -> Sequence[HTTPOutput]:
        """Pass on what a body brings; after something that can not be read nothing more of it counts (J8, J9)."""
        if exchange.refused is not None:
            return self._explain(exchange, news)
        if exchange.errand is Errand.INITIALIZE:
            return self._read_hello(exchange, news)
        if any(isinstance(each, PathUnusable) for each in news):
            return [*news, *self._drop(exchange.connection_id, DropReason.UNREADABLE)]
        return news

    def _end(self, exchange: Exchange) -> Sequence[HTTPOutput]:
        """The body is complete, and was read."""
        if exchange.connection_id not in self._exchanges:
            return []
        return self._over(exchange, ConnectionLost(exchange.connection_id))

    def _over(self, exchange: Exchange, told: ConnectionLost | PathUnsent) -> Sequence[HTTPOutput]:
        """Nothing more comes of an exchange."""
        self._forget(exchange)
        errand = exchange.errand
        match errand:
            case Errand.INITIALIZE | Errand.INITIALIZED:
                self._state = Down()
                return [LinkFailed()]
            case Errand.REQUEST if exchange.refused is not None:
                return [exchange.refused]
            case Errand.REQUEST | Errand.MESSAGE:
                return [told]
            case Errand.NOTICE:
                return []
            case Errand.DELETE:
                return self._part()
            case _:
                assert_never(errand)

    # -------------------------------------------------------------------------------------------------------- handshake

    def _expect_hello(self, exchange: Exchange, head: HeadReceived) -> Sequence[HTTPOutput]:
        """Read the server's hello as what it says that it is; the head may name the session that it begins (H30)."""
        media_type = MediaType.parse(find_header(head.headers, b"content-type"))
        session_id = find_header(head.headers, SESSION_HEADER)
        if media_type in (MediaType.NONE, MediaType.OTHER) or not _SESSION_ID.fullmatch(session_id or b"-"):
            return self._hopeless(Failure.NO_MCP)
        exchange.body = self._body(exchange.connection_id, media_type)
        exchange.session_id = None if session_id is None else Secret(session_id.decode("ascii"))
        return []

    def _read_hello(self, exchange: Exchange, news: Sequence[BodyNews]) -> Sequence[HTTPOutput]:
        """Read the server's hello; whatever else comes before it says nothing to a client that has no call."""
        state = self._state
        assert isinstance(state, Opening), "the exchange of `initialize` ends with its phase"
        for each in news:
            match each:
                case PathUnusable():
                    return self._hopeless(Failure.NO_MCP)
                case MessageReceived(message=ErrorResponse()):
                    return self._hopeless(Failure.HANDSHAKE_REFUSED)
                case MessageReceived(message=Response(id=state.hello_id, result=result)):
                    try:
                        server = read_server_hello(result)
                    except RemoteProtocolError:
                        return self._hopeless(Failure.NO_MCP)
                    return self._meet(exchange, state, server)
                case _:
                    pass
        return []

    def _meet(self, exchange: Exchange, state: Opening, server: ServerHello) -> Sequence[HTTPOutput]:
        """Confirm the handshake in the name of the new session; its answer says that the session is there (G10)."""
        revision = find_revision(server.protocol_version)
        if revision is None:
            return self._hopeless(Failure.UNSUPPORTED_VERSION)
        self._forget(exchange)
        session = Session(exchange.session_id, revision, server.marker is not None)
        confirmation = self._endpoint.post(encode_message(Notification(INITIALIZED)), session)
        sent = self._begin(Errand.INITIALIZED, confirmation, session)
        self._state = Confirming(state.until, sent.connection_id, session, server)
        return [sent]

    def _finish_handshake(self, exchange: Exchange) -> Sequence[HTTPOutput]:
        state = self._state
        assert isinstance(state, Confirming), "the exchange of the confirmation ends with its phase"
        self._forget(exchange)
        self._state = Up(state.session, proven=False)
        return [ServerConnected(state.server), LinkUp(None, traits_of(state.server))]

    # --------------------------------------------------------------------------------------------------------- refusals

    def _receive_refusal(self, exchange: Exchange, head: HeadReceived, now: float) -> Sequence[HTTPOutput]:
        """A status that is no success; of a request that is refused for good the body may say why (rule H9)."""
        verdict = judge_status(head.status)
        passing = verdict in (StatusVerdict.LATER, StatusVerdict.FAILED)
        if exchange.errand is Errand.INITIALIZE or exchange.errand is Errand.INITIALIZED:
            return self._receive_handshake_refusal(exchange, head.status, passing=passing)
        if head.status == _NOT_FOUND and exchange.session_id is not None:
            return self._lose_session(exchange)
        refused = PathRefused(exchange.connection_id, head.status, _retry_after(head))
        media_type = MediaType.parse(find_header(head.headers, b"content-type"))
        if exchange.errand is Errand.REQUEST and not passing and media_type is MediaType.JSON:
            exchange.refused = refused
            exchange.body = JSONBody(exchange.connection_id, self._config.max_event_size)
            self._deadlines.set(exchange.connection_id, now + self._config.reply_timeout)
            return []
        dropped = self._drop(exchange.connection_id, DropReason.FINISHED)
        return dropped if exchange.errand is Errand.NOTICE else [*dropped, refused]

    def _receive_handshake_refusal(self, exchange: Exchange, status: int, *, passing: bool) -> Sequence[HTTPOutput]:
        if passing:
            self._state = Down()
            return [*self._drop(exchange.connection_id, DropReason.FINISHED), LinkFailed()]
        lost = exchange.errand is Errand.INITIALIZED and status == _NOT_FOUND
        return self._hopeless(Failure.SESSION_LOST if lost else Failure.HANDSHAKE_REFUSED)

    def _explain(self, exchange: Exchange, news: Sequence[BodyNews]) -> Sequence[HTTPOutput]:
        """The body of a refusal: an error of JSON-RPC about the request says more than the status does."""
        match news:
            case []:
                return []
            case [MessageReceived(message=ErrorResponse(id=request_id))] if request_id in (None, exchange.request_id):
                self._forget(exchange)
                return [*news, ConnectionLost(exchange.connection_id)]
            case _:
                assert exchange.refused is not None, "only a refusal is explained"
                return [*self._drop(exchange.connection_id, DropReason.FINISHED), exchange.refused]

    def _lose_session(self, exchange: Exchange) -> Sequence[HTTPOutput]:
        """404 in a session: it is over, and nothing sent in it was looked at. It is renewed, but not for ever (I2)."""
        told: list[HTTPOutput] = [*self._drop(exchange.connection_id, DropReason.FINISHED)]
        state = self._state
        if isinstance(state, Up) and state.session.session_id == exchange.session_id:
            if not state.proven:
                return [*told, *self._hopeless(Failure.SESSION_LOST)]
            self._state = Down()
            told.append(LinkDown())
        if exchange.errand is not Errand.NOTICE:
            told.append(PathUnsent(exchange.connection_id))
        return told

    def _hopeless(self, failure: Failure) -> Sequence[HTTPOutput]:
        if isinstance(self._state, Parting):
            return self._part()
        self._state = Down()
        return [*self._drop_all(), LinkHopeless(failure)]

    def _part(self) -> Sequence[HTTPOutput]:
        self._state = Down()
        return [*self._drop_all(), FrontClosed()]

    # ------------------------------------------------------------------------------------------------------------ time

    def next_deadline(self) -> float | None:
        """Return when `wake` is due."""
        due, state = self._deadlines.next(), self._state
        if isinstance(state, Down | Up):
            return due
        return state.until if due is None else min(state.until, due)

    def wake(self, now: float) -> Sequence[HTTPOutput]:
        """Do what is due."""
        told: list[HTTPOutput] = []
        match self._state:
            case (Opening() | Confirming()) as state if now >= state.until:
                self._state = Down()
                told += [*self._drop(state.connection_id, DropReason.SILENT), LinkFailed()]
            case Parting(until=until) if now >= until:
                return self._part()
            case _:
                pass
        while (connection_id := self._deadlines.pop_due(now)) is not None:
            exchange = self._exchanges[connection_id]
            told += self._drop(connection_id, DropReason.SILENT)
            told += self._over(exchange, ConnectionLost(connection_id))
        return told

    def _watch(self, connection_id: ConnectionId, now: float) -> None:
        """Expect signs of life on an event stream of a server that is known to send them (rule R15)."""
        keepalive, state = self._config.keepalive, self._state
        exchange = self._exchanges.get(connection_id)
        if exchange is None or not isinstance(exchange.body, EventsBody):
            return
        if keepalive is not None and isinstance(state, Up) and state.session.marker:
            self._deadlines.set(connection_id, now + keepalive * _SIGNS_OF_LIFE)

    # ------------------------------------------------------------------------------------------------------------ books

    def _prove(self) -> None:
        if isinstance(self._state, Up):
            self._state = Up(self._state.session, proven=True)

    def _forget(self, exchange: Exchange) -> None:
        self._exchanges.pop(exchange.connection_id, None)
        self._deadlines.clear(exchange.connection_id)

    def _drop(self, connection_id: ConnectionId, reason: DropReason) -> Sequence[HTTPOutput]:
        exchange = self._exchanges.get(connection_id)
        if exchange is None:
            return []
        self._forget(exchange)
        return [DropConnection(connection_id, reason)]

    def _drop_all(self) -> Sequence[HTTPOutput]:
        return [drop for exchange in list(self._exchanges) for drop in self._drop(exchange, DropReason.FINISHED)]

    def fork(self, connection_ids: ConnectionIds) -> Self:
        """Return an independent copy that takes its ids from elsewhere."""
        return attrs.evolve(
            self,
            connection_ids=connection_ids,
            exchanges={
                connection_id: attrs.evolve(exchange, body=exchange.body.fork())
                for connection_id, exchange in self._exchanges.items()
            },
            deadlines=self._deadlines.fork(),
        )

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return a hashable value, equal for fronts that will behave alike between two events; times are relative."""
        state = self._state
        until = None if isinstance(state, Down | Up) else state.until - now
        return (
            type(state).__name__,
            state.session if isinstance(state, Up | Confirming) else None,
            state.proven if isinstance(state, Up) else None,
            until,
            self._handshakes,
            tuple(
                (each.connection_id, each.errand, each.session_id, each.request_id, type(each.body).__name__)
                for each in self._exchanges.values()
            ),
            self._deadlines.snapshot(now),
        )


def _retry_after(head: HeadReceived) -> float | None:
    """Return Retry-After in seconds; a date there is no concern of a machine without a calendar."""
    value = find_header(head.headers, b"retry-after")
    if value is None or not re.fullmatch(rb"[0-9]{1,9}", value.strip()):
        return None
    return float(value)
