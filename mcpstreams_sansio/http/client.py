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

from mcpstreams_sansio.client.config import SIGNS_OF_LIFE, ClientConfig
from mcpstreams_sansio.client.connection_ids import ConnectionIds
from mcpstreams_sansio.client.effects import (
    LeavePath,
    PathEffect,
    PauseReading,
    ReadAgain,
    ResumeReading,
    SendOnPath,
    ServerConnected,
)
from mcpstreams_sansio.client.failures import NOTHING_SAID, Failure, Said, heard
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
from mcpstreams_sansio.errors import RemoteProtocolError
from mcpstreams_sansio.framing.sse import SSEDecoder
from mcpstreams_sansio.http.bodies import Body, BodyNews, EventsBody, IgnoredBody, JSONBody, MediaType
from mcpstreams_sansio.http.exchange import Endpoint, Errand, Exchange, Exchanges, Session
from mcpstreams_sansio.http.messages import SESSION_HEADER, HeadReceived, SendRequest, find_header
from mcpstreams_sansio.http.phases import Confirming, Down, Opening, Parting, Phase, Up, relative
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
_MAX_LOSSES: Final = 1
"""Sessions that may be lost in a row: a server that restarts loses one; who forgets each at once is left (case I2)."""
_SESSION_ID: Final = re.compile(rb"[!-~]+")


@final
@attrs.define(eq=False)
class HTTPClient:
    """The front of one server that is reached by HTTP.

    Args:
        config: Limits and times.
        endpoint: Where requests go.
        hello: What the client says of itself in each handshake.
        exchanges: Where it keeps its exchanges; none has begun.
    """

    _config: ClientConfig
    _endpoint: Endpoint
    _hello: ClientHello
    _exchanges: Exchanges
    _phase: Phase = Down()
    _handshakes: int = 0
    _losses: int = 0
    """Sessions that the server has forgotten since it last accepted something in one (case I2)."""

    # ------------------------------------------------------------------------------------------------- coming, going

    def open(self, now: float) -> Sequence[HTTPOutput]:
        """Begin a session (rule H31)."""
        self._handshakes += 1
        hello_id = f"{self._config.instance}-link.{self._handshakes}"
        request = encode_message(initialize_request(hello_id, self._hello))
        exchange, sent = self._exchanges.begin(Errand.INITIALIZE, self._endpoint.post(request, None), None)
        self._phase = Opening(now + self._config.handshake_timeout, exchange.connection_id, hello_id)
        return [sent]

    def close(self, now: float) -> Sequence[HTTPOutput]:
        """Let what is on its way arrive, then end the session, if there is one (rules R27, H32)."""
        phase = self._phase
        dropped: Sequence[HTTPOutput] = []
        if isinstance(phase, Opening | Confirming):
            dropped = self._exchanges.drop(phase.connection_id, DropReason.FINISHED)
        session = phase.session if isinstance(phase, Up) else None
        self._phase = Parting(now + self._config.close_timeout, session)
        return [*dropped, *self._go_on_parting()]

    def send(self, effect: PathEffect, now: float) -> Sequence[HTTPOutput]:
        """Do for the streams what they want done on a path; what they send, they send only while the link is up."""
        match effect:
            case SendOnPath():
                return self._send(effect, now)
            case ReadAgain(connection_id=connection_id, last_event_id=last_event_id):
                session = self._session()
                request = self._endpoint.get(session, last_event_id)
                _, sent = self._exchanges.begin(Errand.REQUEST, request, session, connection_id)
                return [sent]
            case LeavePath():
                return self._exchanges.drop(effect.connection_id, DropReason.FINISHED)
            case PauseReading():
                self._exchanges.let_be(effect.connection_id)
                return [effect]
            case ResumeReading():
                exchange = self._exchanges.get(effect.connection_id)
                assert exchange is not None, "of one that is over the streams know it"
                self._watch(exchange, now)
                return [effect]
            case _:
                assert_never(effect)

    def expect(self, now: float, *, something: bool) -> None:
        """Nothing: each exchange has a time of its own."""

    def flush(self, now: float) -> Sequence[HTTPOutput]:
        """Return nothing: nothing waits, each message has an exchange of its own."""
        return []

    @property
    def can_notify(self) -> bool:
        """Whether a notification of the application can go out, for all that the link is up."""
        return self._exchanges.notifying < self._config.max_notifying

    def notify(self, notification: Notification, now: float) -> Sequence[HTTPOutput]:
        """Send a notification of the application; the link is up."""
        session = self._session()
        request = self._endpoint.post(encode_message(notification), session)
        exchange, sent = self._exchanges.begin(Errand.NOTICE, request, session)
        self._give_time(exchange, now)
        return [sent]

    def _send(self, effect: SendOnPath, now: float) -> Sequence[HTTPOutput]:
        session = self._session()
        request = self._endpoint.post(encode_message(effect.message), session, effect.last_event_id)
        errand = Errand.REQUEST if isinstance(effect.message, Request) else Errand.MESSAGE
        exchange, sent = self._exchanges.begin(errand, request, session, effect.connection_id)
        if isinstance(effect.message, Request):
            exchange.request_id = effect.message.id
        else:
            self._give_time(exchange, now)
        return [sent]

    def _session(self) -> Session:
        assert isinstance(self._phase, Up), "nothing is sent while the link is down"
        return self._phase.session

    # ------------------------------------------------------------------------------------------------------- receiving

    def receive(self, event: HTTPEvent, now: float) -> Sequence[HTTPOutput]:
        """Return what an event means; what is reported of an exchange that is over means nothing (rule R13)."""
        exchange = self._exchanges.get(event.connection_id)
        return [] if exchange is None else [*self._receive(exchange, event, now), *self._go_on_parting()]

    def _receive(self, exchange: Exchange, event: HTTPEvent, now: float) -> Sequence[HTTPOutput]:
        match event:
            case HeadReceived():
                return self._receive_head(exchange, event, now)
            case BytesReceived():
                self._watch(exchange, now)
                return self._read(exchange, exchange.body.receive_data(event.data), now)
            case EndOfFile():
                return [*self._read(exchange, exchange.body.receive_eof(), now), *self._end(exchange)]
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
            return self._hopeless(Failure.UNAUTHORIZED, Said(head.status))
        return self._receive_refusal(exchange, head, now)

    def _receive_success(self, exchange: Exchange, head: HeadReceived, now: float) -> Sequence[HTTPOutput]:
        accepted = PathAccepted(exchange.connection_id)
        errand = exchange.errand
        match errand:
            case Errand.INITIALIZE:
                return self._expect_hello(exchange, head)
            case Errand.INITIALIZED:
                return self._finish_handshake(exchange, now)
            case Errand.REQUEST:
                self._prove(exchange)
                return [accepted, *self._expect_answer(exchange, head, now)]
            case Errand.MESSAGE | Errand.NOTICE:
                self._prove(exchange)
                dropped = self._settle(exchange, now)
                return [*dropped, accepted] if errand is Errand.MESSAGE else dropped
            case Errand.DELETE:
                return self._part()
            case Errand.SETTLED:
                return []
            case _:
                assert_never(errand)

    def _expect_answer(self, exchange: Exchange, head: HeadReceived, now: float) -> Sequence[HTTPOutput]:
        """Read the body as what it says that it is; one that cannot hold the answer is no answer (case G3)."""
        media_type = MediaType.parse(find_header(head.headers, b"content-type"))
        if media_type is MediaType.OTHER:
            dropped = self._exchanges.drop(exchange.connection_id, DropReason.UNREADABLE)
            return [*dropped, PathUnusable(exchange.connection_id)]
        exchange.body = self._body(exchange.connection_id, media_type)
        if media_type is MediaType.NONE:
            self._give_time(exchange, now)
        else:
            self._watch(exchange, now)
        return []

    def _body(self, connection_id: ConnectionId, media_type: MediaType) -> Body:
        size = self._config.max_event_size
        if media_type is MediaType.EVENTS:
            return EventsBody(connection_id, SSEDecoder(max_line_size=size, max_event_size=size))
        return JSONBody(connection_id, size) if media_type is MediaType.JSON else IgnoredBody()

    def _read(self, exchange: Exchange, news: Sequence[BodyNews], now: float) -> Sequence[HTTPOutput]:
        """Pass on what a body brings; after something that cannot be read nothing more of it counts (cases J8, J9)."""
        if exchange.refused is not None:
            return self._explain(exchange, exchange.refused, news)
        if exchange.errand is Errand.INITIALIZE:
            return self._read_hello(exchange, news, now)
        if any(isinstance(each, PathUnusable) for each in news):
            return [*news, *self._exchanges.drop(exchange.connection_id, DropReason.UNREADABLE)]
        return news

    def _end(self, exchange: Exchange) -> Sequence[HTTPOutput]:
        """The body is complete, and was read."""
        if self._exchanges.get(exchange.connection_id) is None:
            return []
        return self._over(exchange, ConnectionLost(exchange.connection_id))

    def _over(self, exchange: Exchange, told: ConnectionLost | PathUnsent) -> Sequence[HTTPOutput]:
        """Nothing more comes of an exchange."""
        self._exchanges.forget(exchange)
        errand = exchange.errand
        match errand:
            case Errand.INITIALIZE | Errand.INITIALIZED:
                return self._fail_handshake(exchange)
            case Errand.REQUEST if exchange.refused is not None:
                return [exchange.refused]
            case Errand.REQUEST | Errand.MESSAGE:
                return [told]
            case Errand.NOTICE | Errand.SETTLED:
                return []
            case Errand.DELETE:
                return self._part()
            case _:
                assert_never(errand)

    # -------------------------------------------------------------------------------------------------------- handshake

    def _expect_hello(self, exchange: Exchange, head: HeadReceived) -> Sequence[HTTPOutput]:
        """Read the server's hello as what it says that it is; the head may name the new session (rule H30)."""
        media_type = MediaType.parse(find_header(head.headers, b"content-type"))
        session_id = find_header(head.headers, SESSION_HEADER)
        if media_type in (MediaType.NONE, MediaType.OTHER) or not _SESSION_ID.fullmatch(session_id or b"-"):
            return self._hopeless(Failure.NO_MCP)
        exchange.body = self._body(exchange.connection_id, media_type)
        exchange.session_id = None if session_id is None else Secret(session_id.decode("ascii"))
        return []

    def _read_hello(self, exchange: Exchange, news: Sequence[BodyNews], now: float) -> Sequence[HTTPOutput]:
        """Read the server's hello; whatever else comes before it says nothing to a client that has no call."""
        phase = self._phase
        assert isinstance(phase, Opening), "the exchange of `initialize` ends with its phase"
        for each in news:
            match each:
                case PathUnusable():
                    return self._hopeless(Failure.NO_MCP)
                case MessageReceived(message=ErrorResponse(message=message)):
                    return self._hopeless(Failure.HANDSHAKE_REFUSED, self._heard(exchange, message))
                case MessageReceived(message=Response(id=phase.hello_id, result=result)):
                    try:
                        server = read_server_hello(result)
                    except RemoteProtocolError:
                        return self._hopeless(Failure.NO_MCP)
                    return self._meet(exchange, phase, server, now)
                case _:
                    pass
        return []

    def _meet(self, exchange: Exchange, phase: Opening, server: ServerHello, now: float) -> Sequence[HTTPOutput]:
        """Confirm the handshake in the name of the new session, whose answer says that it is there (case G10)."""
        revision = find_revision(server.protocol_version)
        if revision is None:
            return self._hopeless(Failure.UNSUPPORTED_VERSION)
        dropped = self._settle(exchange, now)
        session = Session(exchange.session_id, revision, server.marker is not None)
        confirmation = self._endpoint.post(encode_message(Notification(INITIALIZED)), session)
        confirming, sent = self._exchanges.begin(Errand.INITIALIZED, confirmation, session)
        self._phase = Confirming(phase.until, confirming.connection_id, session, server)
        return [*dropped, sent]

    def _finish_handshake(self, exchange: Exchange, now: float) -> Sequence[HTTPOutput]:
        phase = self._phase
        assert isinstance(phase, Confirming), "the exchange of the confirmation ends with its phase"
        dropped = self._settle(exchange, now)
        self._phase = Up(phase.session)
        return [*dropped, ServerConnected(phase.server), LinkUp(None, traits_of(phase.server))]

    # --------------------------------------------------------------------------------------------------------- refusals

    def _receive_refusal(self, exchange: Exchange, head: HeadReceived, now: float) -> Sequence[HTTPOutput]:
        """A status that is no success; of a request that is refused for good the body may say why (rule H9)."""
        verdict = judge_status(head.status)
        passing = verdict in (StatusVerdict.LATER, StatusVerdict.FAILED)
        if exchange.errand is Errand.INITIALIZE or exchange.errand is Errand.INITIALIZED:
            return self._receive_handshake_refusal(exchange, head, now, passing=passing)
        if head.status == _NOT_FOUND and exchange.session_id is not None:
            return self._lose_session(exchange)
        refused = PathRefused(exchange.connection_id, head.status, _retry_after(head))
        if exchange.errand is Errand.REQUEST and not passing and _says_why(head):
            return self._read_refusal(exchange, refused, now)
        dropped = self._exchanges.drop(exchange.connection_id, DropReason.FINISHED)
        return dropped if exchange.errand is Errand.NOTICE else [*dropped, refused]

    def _read_refusal(self, exchange: Exchange, refused: PathRefused, now: float) -> Sequence[HTTPOutput]:
        exchange.refused = refused
        exchange.body = JSONBody(exchange.connection_id, self._config.max_event_size)
        self._give_time(exchange, now)
        return []

    def _receive_handshake_refusal(
        self, exchange: Exchange, head: HeadReceived, now: float, *, passing: bool
    ) -> Sequence[HTTPOutput]:
        if head.status == _NOT_FOUND and exchange.session_id is not None:
            self._losses += 1
            if self._losses > _MAX_LOSSES:
                return self._hopeless(Failure.SESSION_LOST, Said(head.status))
        elif not passing and _says_why(head):
            return self._read_refusal(exchange, PathRefused(exchange.connection_id, head.status), now)
        elif not passing:
            return self._hopeless(Failure.HANDSHAKE_REFUSED, Said(head.status))
        self._phase = Down()
        return [*self._exchanges.drop(exchange.connection_id, DropReason.FINISHED), LinkFailed()]

    def _explain(self, exchange: Exchange, refused: PathRefused, news: Sequence[BodyNews]) -> Sequence[HTTPOutput]:
        """The body of a refusal: an error of JSON-RPC about the request says more than the status does."""
        match news:
            case []:
                return []
            case _ if exchange.errand is not Errand.REQUEST:
                return self._fail_handshake(exchange, news)
            case [MessageReceived(message=ErrorResponse(id=request_id))] if request_id in (None, exchange.request_id):
                self._exchanges.forget(exchange)
                return [*news, ConnectionLost(exchange.connection_id)]
            case _:
                return [*self._exchanges.drop(exchange.connection_id, DropReason.FINISHED), refused]

    def _lose_session(self, exchange: Exchange) -> Sequence[HTTPOutput]:
        """404 in a session: it is over, nothing sent in it was looked at. It is renewed, but not for ever (case I2)."""
        told: list[HTTPOutput] = [*self._exchanges.drop(exchange.connection_id, DropReason.FINISHED)]
        unsent = [] if exchange.errand is Errand.NOTICE else [PathUnsent(exchange.connection_id)]
        match self._phase:
            case Up(session=session) if session.session_id == exchange.session_id:
                self._losses += 1
                if self._losses > _MAX_LOSSES:
                    return [*told, *unsent, *self._hopeless(Failure.SESSION_LOST, Said(_NOT_FOUND))]
                self._phase = Down()
                told.append(LinkDown())
            case Parting(until=until, session=Session(session_id=exchange.session_id)):
                self._phase = Parting(until, None)
            case _:
                pass
        return [*told, *unsent]

    def _fail_handshake(self, exchange: Exchange, news: Sequence[BodyNews] = ()) -> Sequence[HTTPOutput]:
        """The exchange of a handshake is over: there is no link, and none to be had if it was refused for good."""
        if exchange.refused is None:
            self._phase = Down()
            return [LinkFailed()]
        match news:
            case [MessageReceived(message=ErrorResponse(message=message))]:
                said = self._heard(exchange, message)
            case _:
                said = Said(exchange.refused.status)
        return self._hopeless(Failure.HANDSHAKE_REFUSED, said)

    def _heard(self, exchange: Exchange, message: str) -> Said:
        """Return what a server said of its refusal, but for what it was sent as a credential (rule Q11b)."""
        credentials = self._endpoint.credentials
        if exchange.session_id is not None:
            credentials = (*credentials, exchange.session_id.reveal())
        return heard(message, None if exchange.refused is None else exchange.refused.status, secrets=credentials)

    def _hopeless(self, failure: Failure, said: Said = NOTHING_SAID) -> Sequence[HTTPOutput]:
        if isinstance(self._phase, Parting):
            return self._part()
        self._phase = Down()
        return [*self._exchanges.drop_all(), LinkHopeless(failure, said)]

    # --------------------------------------------------------------------------------------------------------- parting

    def _go_on_parting(self) -> Sequence[HTTPOutput]:
        """Once all that was to be said has been heard, end the session; without one, that is all."""
        phase = self._phase
        if not isinstance(phase, Parting) or not self._exchanges.all_settled:
            return []
        if phase.session is None or phase.session.session_id is None:
            return self._part()
        self._phase = Parting(phase.until, None)
        _, sent = self._exchanges.begin(Errand.DELETE, self._endpoint.delete(phase.session), phase.session)
        return [sent]

    def _part(self) -> Sequence[HTTPOutput]:
        self._phase = Down()
        return [*self._exchanges.drop_all(), FrontClosed()]

    # ------------------------------------------------------------------------------------------------------------ time

    def next_deadline(self) -> float | None:
        """Return when `wake` is due."""
        due, phase = self._exchanges.next_deadline(), self._phase
        if isinstance(phase, Down | Up):
            return due
        return phase.until if due is None else min(phase.until, due)

    def wake(self, now: float) -> Sequence[HTTPOutput]:
        """Do what is due."""
        told: list[HTTPOutput] = []
        match self._phase:
            case (Opening() | Confirming()) as phase if now >= phase.until:
                exchange = self._exchanges.get(phase.connection_id)
                assert exchange is not None, "a handshake ends with its exchange"
                told += self._exchanges.drop(phase.connection_id, DropReason.SILENT)
                told += self._fail_handshake(exchange)
            case Parting(until=until) if now >= until:
                return self._part()
            case _:
                pass
        while (exchange := self._exchanges.pop_due(now)) is not None:
            told += self._exchanges.drop(exchange.connection_id, DropReason.SILENT)
            told += self._over(exchange, ConnectionLost(exchange.connection_id))
        return [*told, *self._go_on_parting()]

    def _watch(self, exchange: Exchange, now: float) -> None:
        """Expect a server with the marker to show that it is there: by keep-alives, or by coming to an end (R15)."""
        phase, keepalive = self._phase, self._config.keepalive
        if not isinstance(phase, Up) or not phase.session.marker:
            return
        if isinstance(exchange.body, JSONBody):
            self._give_time(exchange, now)
        elif isinstance(exchange.body, EventsBody) and keepalive is not None:
            self._exchanges.give_until(exchange, now + keepalive * SIGNS_OF_LIFE)

    def _give_time(self, exchange: Exchange, now: float) -> None:
        self._exchanges.give_until(exchange, now + self._config.reply_timeout)

    def _settle(self, exchange: Exchange, now: float) -> Sequence[HTTPOutput]:
        return self._exchanges.settle(exchange, now + self._config.reply_timeout, self._config.max_ending)

    def _prove(self, exchange: Exchange) -> None:
        """Note that the server serves the session, if it is the present one in which it has accepted something."""
        if isinstance(self._phase, Up) and self._phase.session.session_id == exchange.session_id:
            self._losses = 0

    # ------------------------------------------------------------------------------------------------------------ books

    def fork(self, connection_ids: ConnectionIds) -> Self:
        """Return an independent copy that takes its ids from elsewhere."""
        return attrs.evolve(self, exchanges=self._exchanges.fork(connection_ids))

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return a hashable value, equal for fronts that will behave alike; times are relative to `now`."""
        return (
            relative(self._phase, now),
            self._handshakes,
            self._losses,
            self._exchanges.snapshot(now),
        )


def _says_why(head: HeadReceived) -> bool:
    return MediaType.parse(find_header(head.headers, b"content-type")) is MediaType.JSON


def _retry_after(head: HeadReceived) -> float | None:
    """Return Retry-After in seconds; a date there is no concern of a machine without a calendar."""
    value = find_header(head.headers, b"retry-after")
    if value is None or not re.fullmatch(rb"[0-9]{1,9}", value.strip()):
        return None
    return float(value)
