"""`Server`: the one machine that a driver owns, over every transport at once (rule R12).

It holds the streams, a front for each multiplexed peer, and the front for HTTP with its sessions. Fronts only
translate: what they make of a peer's bytes goes through `ServerStreams.handle` like every other input.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias, cast, final

import attrs

from mcpstreams_sansio.connections import (
    BytesReceived,
    ConnectionEffect,
    ConnectionLost,
    DeadlineReached,
    DropConnection,
    DropReason,
    EndOfFile,
    EndWriting,
    Framing,
    Written,
)
from mcpstreams_sansio.deadlines import Deadlines
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.framing.limits import MAX_LINE_SIZE
from mcpstreams_sansio.framing.lines import LineDecoder
from mcpstreams_sansio.http.config import HTTPConfig
from mcpstreams_sansio.http.messages import RequestReceived, SendHead
from mcpstreams_sansio.http.server import FrontInput, HTTPServer
from mcpstreams_sansio.http.sessions import Sessions
from mcpstreams_sansio.ids import Address, ConnectionId, Principal, StreamId
from mcpstreams_sansio.peer.server import ServerPeer
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.dispatch import NotificationReceived
from mcpstreams_sansio.server.effects import (
    AskAnswered,
    AskFailed,
    BeginBody,
    HoldMessages,
    Refused,
    SendMore,
    StartCall,
    StopCall,
    StreamAttached,
    StreamDetached,
    StreamGone,
    StreamsEffect,
    WorkInterrupted,
    WriteLog,
)
from mcpstreams_sansio.server.identity import Negotiated, ServerIdentity
from mcpstreams_sansio.server.inputs import (
    ConnectionOpened,
    Drain,
    LogFailed,
    LogWritten,
    PeerHeard,
    Recover,
    Scope,
    ScopeEnded,
    ServerOrder,
    StreamsInput,
)
from mcpstreams_sansio.server.policies import StreamPolicies
from mcpstreams_sansio.server.stream import Reading
from mcpstreams_sansio.server.streams import ServerStreams
from mcpstreams_sansio.shapes import check_shape, check_time, members_of


@final
@attrs.frozen
class PeerConnected:
    """A multiplexed connection was accepted. Its id is higher than every one before it (rule R13)."""

    connection_id: ConnectionId
    framing: Framing
    """`LINES` or `MESSAGES`; HTTP comes as `RequestReceived`."""
    principal: Principal | None = None
    address: Address | None = None
    """Whose quotas count what it asks for, if nobody was authenticated; what has none counts as one peer's (R25)."""


ServerInput: TypeAlias = (
    PeerConnected
    | RequestReceived
    | BytesReceived
    | EndOfFile
    | ConnectionLost
    | Written
    | ServerOrder
    | LogWritten
    | LogFailed
    | Recover
    | Drain
    | DeadlineReached
)
"""Everything that a server can be told: what happens outside, time, and what its application orders."""

_INPUTS: Final = members_of(ServerInput)

ServerEffect: TypeAlias = (
    ConnectionEffect
    | SendHead
    | WriteLog
    | StartCall
    | WorkInterrupted
    | StopCall
    | AskAnswered
    | AskFailed
    | HoldMessages
    | SendMore
    | Refused
    | StreamAttached
    | StreamDetached
    | StreamGone
    | NotificationReceived
)
"""Everything that a server can want done, or report."""


@final
@attrs.frozen(kw_only=True)
class ServerConfig:
    """Everything that can be chosen about a server.

    Raises:
        ValueError: Streams outlive the process by what `identity` says, and by what `streams` says have no log.
    """

    identity: ServerIdentity
    """What it says of itself, its instance above all."""
    streams: StreamsConfig = StreamsConfig()
    """Limits and times of its streams."""
    http: HTTPConfig = HTTPConfig()
    """Choices and limits of HTTP."""
    policies: StreamPolicies = StreamPolicies()
    """How each method, or each tool, is served."""
    max_line_size: int = attrs.field(default=MAX_LINE_SIZE, validator=attrs.validators.ge(1))
    """Bytes of one message of a multiplexed peer; a longer one is answered with an error and passed over."""
    handshake_timeout: float = attrs.field(default=30.0, validator=attrs.validators.gt(0))
    """Seconds within which a multiplexed peer has to finish its handshake; one that does not is dropped."""

    def __attrs_post_init__(self) -> None:
        if self.identity.durable and not self.streams.durable:
            raise ValueError("identity.durable needs streams.durable: without a log nothing outlives the process")


@final
class Server:
    """A server's streams and the fronts of all its transports.

    Args:
        config: Who it is, its limits and its times.
    """

    def __init__(self, config: ServerConfig) -> None:
        self._config = config
        self._streams = ServerStreams(config.streams)
        self._peers: dict[ConnectionId, ServerPeer] = {}
        self._strangers: Deadlines[ConnectionId] = Deadlines()
        self._http = HTTPServer(config.http, config.identity, config.streams, config.policies, Sessions(config.http))
        self._now = float("-inf")

    @property
    def config(self) -> ServerConfig:
        """What it was made with."""
        return self._config

    def __repr__(self) -> str:
        return f"<Server peers={len(self._peers)} sessions={len(self._http.sessions)} streams={self._streams.alive}>"

    def handle(self, event: ServerInput, now: float) -> list[ServerEffect]:
        """Apply one input.

        Args:
            event: What happened, or what the application orders.
            now: Seconds of any clock that never goes back.

        Returns:
            What is to be done, in order.

        Raises:
            LocalProtocolError: The input is wrong whatever the time. Nothing has changed, deadlines included (R13).
        """
        check_time(now, self._now)
        check_shape(event, _INPUTS)
        deadline = self.next_deadline()
        due = deadline is not None and deadline <= now
        self._check(event, due=due)
        effects: list[ServerEffect] = []
        lost = isinstance(event, ConnectionLost)  # nothing that is due may be ordered for it any more
        if lost:
            self._apply(self._inputs(event, now), now, effects)
        if due:
            self._catch_up(now, effects)
        if not lost:
            self._apply(self._inputs(event, now), now, effects)
        self._now = now
        return effects

    def _check(self, event: ServerInput, *, due: bool) -> None:
        """Refuse what is wrong whatever the time, before a front or a deadline changes anything."""
        self._check_beginning(event)
        match event:
            case PeerConnected(framing=Framing.HTTP):
                raise LocalProtocolError("an HTTP exchange begins with its request")
            case PeerConnected() | RequestReceived():
                if event.connection_id <= self._streams.highest_connection:
                    raise LocalProtocolError("a connection id must be higher than every one before it")
            case BytesReceived():
                if event.connection_id > self._streams.highest_connection:
                    raise LocalProtocolError("there never was such a connection")
                peer = self._peers.get(event.connection_id)
                if peer is not None and peer.reading is Reading.ENDED:
                    raise LocalProtocolError("no data can follow the end")
            case _ if due:
                self._streams.check(event)
            case _:
                pass  # The streams refuse it by themselves, and nothing comes before them.

    def _check_beginning(self, event: ServerInput) -> None:
        """Refuse to recover later, or to begin without where clients are told that streams outlive it (rule R21.7)."""
        begins, recovers = self._now == float("-inf"), isinstance(event, Recover)
        if recovers and not begins:
            raise LocalProtocolError("a machine recovers before anything else, or not at all")
        if begins and not recovers and self._config.identity.durable:
            raise LocalProtocolError("a server whose streams outlive it begins with what its log holds")

    def _catch_up(self, now: float, effects: list[ServerEffect]) -> None:
        """Do what is due, so that a front meets the same sessions and exchanges however late the wake-up comes."""
        while (session := self._http.sessions.pop_idle(now)) is not None:
            self._apply([ScopeEnded(session.scope)], now, effects)
        while (connection_id := self._strangers.pop_due(now)) is not None:
            dropped = DropConnection(connection_id, DropReason.SILENT)
            effects.append(dropped)
            self._forget(dropped, now)
            self._apply([ConnectionLost(connection_id)], now, effects)
        self._apply([DeadlineReached()], now, effects)

    def _inputs(self, event: ServerInput, now: float) -> Iterable[FrontInput | StreamsInput]:
        """Return what an input is to the streams."""
        match event:
            case PeerConnected():
                return [self._connect(event, now)]
            case RequestReceived():
                return self._http.receive(event, now)
            case BytesReceived():
                return self._read(event)
            case EndOfFile():
                return itertools.chain(self._read(event), [event])
            case ConnectionLost():
                self._forget(event, now)
                return [event]
            case _:
                return [event]

    def _read(self, event: BytesReceived | EndOfFile) -> Iterator[FrontInput | StreamsInput]:
        """Read what a peer sent, one message after another, for as long as it is worth an answer."""
        peer = self._peers.get(event.connection_id)
        if peer is None:
            return
        peer.receive(event)
        yield PeerHeard(event.connection_id)
        while (received := peer.next_inputs(event.entropy)) is not None:
            yield from received
            if not self._streams.serves(event.connection_id):
                return
        if isinstance(peer.state, Negotiated):
            self._strangers.clear(event.connection_id)

    def _connect(self, event: PeerConnected, now: float) -> ConnectionOpened:
        config = self._config
        self._strangers.set(event.connection_id, now + config.handshake_timeout)
        self._peers[event.connection_id] = ServerPeer(
            event.connection_id,
            event.framing,
            config.identity,
            config.streams,
            config.policies,
            LineDecoder(max_line_size=config.max_line_size),
        )
        scope = Scope(f"connection {event.connection_id}")
        return ConnectionOpened(event.connection_id, event.framing, scope, event.principal, address=event.address)

    def _apply(self, inputs: Iterable[FrontInput | StreamsInput], now: float, effects: list[ServerEffect]) -> None:
        """Apply inputs as they come, and keep what the application hears in its place between their effects."""
        for is_heard, group in itertools.groupby(inputs, lambda event: isinstance(event, NotificationReceived)):
            if is_heard:
                effects += cast("Iterable[NotificationReceived]", group)
            else:
                made = self._streams.handle_all(cast("Iterable[StreamsInput]", group), now)
                effects += [self._translate(effect, now) for effect in made]

    def _translate(self, effect: StreamsEffect, now: float) -> ServerEffect:
        """Return what an effect of the streams is to the driver; take notice of connections that end."""
        match effect:
            case BeginBody():
                return self._http.head(effect)
            case EndWriting() | DropConnection():
                self._forget(effect, now)
                return effect
            case _:
                return effect

    def _forget(self, event: ConnectionLost | EndWriting | DropConnection, now: float) -> None:
        self._peers.pop(event.connection_id, None)
        self._strangers.clear(event.connection_id)
        self._http.close(event, now)

    def next_deadline(self) -> float | None:
        """Return when `DeadlineReached` is due, on the clock of `now`; None if nothing waits for time."""
        deadlines = (self._streams.next_deadline(), self._http.sessions.next_deadline(), self._strangers.next())
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def abandonment_of(self, stream_id: StreamId) -> float | None:
        """Return when the work on a call will be cancelled unless its client comes back or asks (rules P32, R27).

        Args:
            stream_id: The stream of the call.

        Returns:
            A moment on the clock of `now`. A poll puts it off, and a return takes it away. None while a connection
            delivers the stream, where the work runs on although abandoned, and where no work is left.
        """
        return self._streams.abandonment_of(stream_id)

    def fork(self) -> Server:
        """Return an independent copy: for explorers, and for asking what an input would do."""
        other = copy.copy(self)
        other._streams = self._streams.fork()
        other._peers = {connection_id: peer.fork() for connection_id, peer in self._peers.items()}
        other._strangers = self._strangers.fork()
        other._http = self._http.fork()
        return other

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return a hashable value, equal for machines that will behave alike from `now` on."""
        return (
            self._streams.snapshot(now),
            tuple(peer.snapshot() for peer in self._peers.values()),
            self._strangers.snapshot(now),
            self._http.snapshot(now),
        )
