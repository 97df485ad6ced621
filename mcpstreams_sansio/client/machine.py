"""`Client`: the one machine that a driver owns, over a multiplexed transport or HTTP (rule R12).

It holds the streams, the front of its transport, and the link: it connects when something needs it, comes back after a
loss as long as something does, and gives every call its outcome whatever happens. Fronts only translate: what they make
of the server's bytes goes through `ClientStreams.handle` like every other input.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterable
from typing import Final, TypeAlias, final

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.effects import (
    AskReceived,
    CallEffect,
    CallFailed,
    CallFinished,
    CallResult,
    ClientClosed,
    ClientFailed,
    ItemReceived,
    LeavePath,
    NoticeDropped,
    NoticeReceived,
    OpenConnection,
    PauseReading,
    ReadAgain,
    ResumeReading,
    SendOnPath,
    ServerConnected,
    ServerDisconnected,
    ServerNotReached,
    UnclaimedMessage,
    UnreadableReceived,
)
from mcpstreams_sansio.client.fronts import FrontClosed, FrontNews, LinkFailed, LinkHopeless
from mcpstreams_sansio.client.inputs import (
    AttachCall,
    ClientOrder,
    ClientStreamsInput,
    CloseClient,
    ConnectFailed,
    GivenUp,
    LinkDown,
    LinkGivenUp,
    LinkUp,
    MakeCall,
    Notify,
    OpenClient,
    SavedCall,
    StreamsNews,
)
from mcpstreams_sansio.client.link import Demand, Link, LinkSignal, LinkState
from mcpstreams_sansio.client.streams import ClientStreams
from mcpstreams_sansio.connections import (
    ConnectionLost,
    DeadlineReached,
    DropConnection,
    EndWriting,
    Framing,
    Write,
)
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.http.client import HTTPClient, HTTPEvent
from mcpstreams_sansio.http.exchange import Endpoint, Exchanges
from mcpstreams_sansio.http.messages import SendRequest
from mcpstreams_sansio.ids import CallId
from mcpstreams_sansio.peer.client import ClientPeer, PeerEvent
from mcpstreams_sansio.shapes import check_shape, check_time, members_of
from mcpstreams_sansio.wire.handshake import (
    ClientHello,
    check_application_info,
    client_capabilities,
    initialize_request,
)
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Notification, digest_of, encode_message
from mcpstreams_sansio.wire.meta import check_application_meta
from mcpstreams_sansio.wire.reserved import check_application_method
from mcpstreams_sansio.wire.revisions import NEWEST

ConnectionInput: TypeAlias = PeerEvent | HTTPEvent
"""What a driver reports of a connection, or of an exchange."""

ClientInput: TypeAlias = ClientOrder | OpenClient | CloseClient | Notify | ConnectionInput | DeadlineReached
"""Everything that a client can be told."""

ConnectionOrder: TypeAlias = (
    OpenConnection | SendRequest | Write | EndWriting | DropConnection | PauseReading | ResumeReading
)
"""What a driver does with connections and exchanges."""

ClientEffect: TypeAlias = (
    ConnectionOrder
    | CallEffect
    | NoticeReceived
    | NoticeDropped
    | ServerConnected
    | ServerDisconnected
    | ServerNotReached
    | UnreadableReceived
    | ClientFailed
    | ClientClosed
)
"""Everything that a client can want done, or report."""

_INPUTS: Final = members_of(ClientInput)

FrontOutput: TypeAlias = FrontNews | ConnectionOrder

_OF_STREAMS: Final = ("notifications/stream/", "notifications/progress", "notifications/cancelled")
"""Notifications that mean nothing outside a call; late ones are for observers at most (rule Q9c)."""


@final
class Client:
    """A client's streams, the front of its transport, and its link.

    It connects for its first call, or when it is told to by `OpenClient`. After a loss it comes back as long as a call,
    a cancellation or a notification needs it, with pauses that grow while nothing comes of it.

    Args:
        config: Limits and times.
        transport: How messages stand on a connection; or where to send HTTP requests.
        client_info: What `initialize` says of the application: `name` and `version`, and what else there is to say.
        capabilities: What the application can do, as `initialize` has it; those of this package are added.

    Raises:
        LocalProtocolError: The capabilities are malformed, or declare what is declared here; `client_info` has no name
            or no version; or something is no JSON.
    """

    def __init__(
        self,
        config: ClientConfig,
        transport: Framing | Endpoint,
        client_info: JSONObject,
        capabilities: JSONObject | None = None,
    ) -> None:
        check_application_info(client_info)
        hello = ClientHello(NEWEST.value, client_capabilities(capabilities or {}), client_info)
        encode_message(initialize_request("", hello))
        self._streams = ClientStreams(config)
        self._link = Link(config)
        self._notices: deque[Notification] = deque()
        self._failed = LinkGivenUp(GivenUp.FAILED)  # what every call is told once the link has failed
        self._now = float("-inf")
        ids = self._streams.connection_ids
        self._front: ClientPeer | HTTPClient
        if isinstance(transport, Endpoint):
            self._front = HTTPClient(config, transport, hello, Exchanges(ids))
        elif transport is Framing.HTTP:
            raise LocalProtocolError("HTTP needs an endpoint")
        else:
            self._front = ClientPeer(config, transport, hello, ids)

    @property
    def config(self) -> ClientConfig:
        """The limits and times it was made with."""
        return self._streams.config

    @property
    def link_state(self) -> LinkState:
        """How the link to the server stands."""
        return self._link.state

    def __repr__(self) -> str:
        return f"<Client link={self.link_state} calls={self._streams.open_calls}>"

    def handle(self, event: ClientInput, now: float) -> list[ClientEffect]:
        """Apply one input.

        Args:
            event: What happened, or what the application wants.
            now: Seconds of any clock that never goes back.

        Returns:
            What is to be done, in order.

        Raises:
            LocalProtocolError: The input is wrong whatever the time. Nothing has changed, deadlines included (R13).
        """
        self._check(event, now)
        self._now = now
        effects: list[ClientEffect] = []
        if isinstance(event, ConnectionLost | ConnectFailed):  # nothing that is due may be ordered for it any more
            self._apply(event, effects)
            self._catch_up(effects)
        else:
            self._catch_up(effects)
            self._apply(event, effects)
        self._keep_link(effects)
        return effects

    def _check(self, event: ClientInput, now: float) -> None:
        check_time(now, self._now)
        check_shape(event, _INPUTS)
        match event:
            case MakeCall() | AttachCall() | Notify() | OpenClient() | CloseClient():
                if self._link.state in (LinkState.CLOSING, LinkState.CLOSED):
                    raise LocalProtocolError("the client was closed")
            case _:
                pass
        match event:
            case Notify():
                check_application_method(event.method)
                check_application_meta(event.params)
                encode_message(Notification(event.method, event.params))
            case _ if isinstance(event, ClientOrder):
                self._streams.check(event, now)
            case OpenClient() | CloseClient() | DeadlineReached():
                pass
            case _:
                if not self._streams.connection_ids.were_given(event.connection_id):
                    raise LocalProtocolError("there never was such a connection")
                self._check_transport(event)

    def _check_transport(self, event: ConnectionInput) -> None:
        kind = HTTPEvent if isinstance(self._front, HTTPClient) else PeerEvent
        if not isinstance(event, kind):
            raise LocalProtocolError("the transport of this client has no such events")

    def _catch_up(self, effects: list[ClientEffect]) -> None:
        """Do what is due, so that it comes before the input however late the wake-up comes."""
        deadline = self._front.next_deadline()
        if deadline is not None and deadline <= self._now:
            self._take(self._front.wake(self._now), effects)
        deadline = self._streams.next_deadline()
        if deadline is not None and deadline <= self._now:
            self._tell(DeadlineReached(), effects)

    def _apply(self, event: ClientInput, effects: list[ClientEffect]) -> None:
        match event:
            case _ if isinstance(event, ClientOrder):
                self._tell(event, effects)
                if self._link.state is LinkState.FAILED:
                    self._tell(self._failed, effects)
            case Notify():
                self._notify(Notification(event.method, event.params), effects)
            case OpenClient():
                self._link.demand = Demand.AT_ONCE
            case CloseClient():
                self._close(effects)
            case DeadlineReached():
                pass
            case _:
                self._take(self._receive(event), effects)

    def _receive(self, event: ConnectionInput) -> Iterable[FrontOutput]:
        front = self._front
        if isinstance(front, HTTPClient):
            assert isinstance(event, HTTPEvent), "an input is checked first"
            return front.receive(event, self._now)
        assert isinstance(event, PeerEvent), "an input is checked first"
        return front.receive(event, self._now)

    def _take(self, outputs: Iterable[FrontOutput], effects: list[ClientEffect]) -> None:
        """Do what follows from what a front says, in order, and all of it from one thing before the next."""
        for output in outputs:
            match output:
                case LinkUp():
                    self._link_up(output, effects)
                case LinkDown():
                    self._link.lose(self._now)
                    effects.append(ServerDisconnected())
                    self._tell(output, effects)
                case LinkFailed():
                    self._link.lose(self._now)
                    effects.append(ServerNotReached())
                case LinkHopeless():
                    self._fail(output, effects)
                case FrontClosed():
                    self._link.step(LinkSignal.PARTED)
                    effects.append(ClientClosed())
                case _ if isinstance(output, StreamsNews):
                    self._tell(output, effects)
                case _:
                    effects.append(output)

    def _tell(self, event: ClientStreamsInput, effects: list[ClientEffect]) -> None:
        """Tell the streams, and see to what they want done."""
        for effect in self._streams.handle(event, self._now):
            match effect:
                case SendOnPath() | ReadAgain() | LeavePath() | PauseReading() | ResumeReading():
                    self._take(self._front.send(effect, self._now), effects)
                case UnclaimedMessage(message=Notification(method, params)) if not method.startswith(_OF_STREAMS):
                    effects.append(NoticeReceived(method, params))
                case ItemReceived() | AskReceived() | CallFinished(outcome=CallResult() | CallFailed()):
                    self._link.bear_fruit()
                    effects.append(effect)
                case _:
                    effects.append(effect)

    # ------------------------------------------------------------------------------------------------------- the link

    def _keep_link(self, effects: list[ClientEffect]) -> None:
        """Connect if something needs it and it is time; write what this input has led to."""
        if self._link.state is LinkState.DOWN and self._needs_link() and self._now >= self._link.retry_at:
            self._link.step(LinkSignal.OPEN)
            self._take(self._front.open(self._now), effects)
        while self._notices and self._link.state is LinkState.UP and self._front.can_notify:
            self._take(self._front.notify(self._notices.popleft(), self._now), effects)
        self._front.expect(self._now, something=self._streams.needs_link)
        self._take(self._front.flush(self._now), effects)

    def _needs_link(self) -> bool:
        return self._link.demand is Demand.AT_ONCE or self._streams.needs_link or bool(self._notices)

    def _link_up(self, event: LinkUp, effects: list[ClientEffect]) -> None:
        self._link.step(LinkSignal.UP)
        self._tell(event, effects)

    def _fail(self, news: LinkHopeless, effects: list[ClientEffect]) -> None:
        """Give every call its outcome, and let everybody know why (case I6)."""
        self._link.step(LinkSignal.HOPELESS)
        self._failed = LinkGivenUp(GivenUp.FAILED, news.failure, news.said)
        self._tell(LinkDown(), effects)
        self._tell(self._failed, effects)
        self._drop_notices(effects)
        effects.append(ClientFailed(news.failure, news.said))

    def _close(self, effects: list[ClientEffect]) -> None:
        """Finish every call, so that what is taken is still acknowledged, then part from the server."""
        self._tell(LinkGivenUp(GivenUp.CLOSED), effects)
        self._drop_notices(effects)
        self._link.step(LinkSignal.CLOSE)
        self._take(self._front.close(self._now), effects)

    def _notify(self, notification: Notification, effects: list[ClientEffect]) -> None:
        """Let a notification wait for its turn; beyond the limit the oldest is dropped (rule R25)."""
        self._notices.append(notification)
        if self._link.state is LinkState.FAILED:
            self._drop_notices(effects)
        elif len(self._notices) > self.config.max_notices:
            effects.append(NoticeDropped(self._notices.popleft().method))

    def _drop_notices(self, effects: list[ClientEffect]) -> None:
        effects += [NoticeDropped(notice.method) for notice in self._notices]
        self._notices.clear()

    # ------------------------------------------------------------------------------------------------------------ time

    def next_deadline(self) -> float | None:
        """Return when `DeadlineReached` is due, on the clock of `now`; None if nothing waits for time."""
        deadlines = [self._streams.next_deadline(), self._front.next_deadline()]
        if self._link.state is LinkState.DOWN and self._needs_link():
            deadlines.append(self._link.retry_at)
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def save(self, call_id: CallId, now: float) -> SavedCall | None:
        """Return what brings a call back, as it stands now; once that is kept, say so by `CallSaved` (rule R23).

        `SaveDue` brings it along; this is for any other time.

        Returns:
            None for a call that has its outcome or was detached: `CallFinished` or `CallDetached` has what is to be
            kept, and may not have been dealt with yet (rule R13).

        Raises:
            LocalProtocolError: There never was such a call, or it was not made to be stored.
        """
        check_time(now, self._now)
        return self._streams.save(call_id, now)

    def fork(self) -> Client:
        """Return an independent copy: for explorers, and for asking what an input would do."""
        other = copy.copy(self)
        other._streams = self._streams.fork()
        other._front = self._front.fork(other._streams.connection_ids)
        other._link = self._link.fork()
        other._notices = self._notices.copy()
        return other

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return a hashable value, equal for machines that will behave alike from `now` on."""
        return (
            self._streams.snapshot(now),
            self._front.snapshot(now),
            self._link.snapshot(now),
            self._failed,
            tuple(digest_of(notice) for notice in self._notices),
        )
