"""All that a world of streams is made of, as data: two machines, the wires between them, the disk, the applications."""

from __future__ import annotations

import enum
import functools
from collections.abc import Hashable
from typing import Final, Self, TypeAlias, final

import attrs

from mcpstreams_sansio.client.effects import ClientStreamsEffect
from mcpstreams_sansio.client.inputs import ClientStreamsInput
from mcpstreams_sansio.ids import CallId, ConnectionId, Entropy, Secret, StreamId
from mcpstreams_sansio.server.effects import StreamsEffect
from mcpstreams_sansio.server.inputs import Scope, StreamsInput
from mcpstreams_sansio.testing.actions import Bounds, Peers, Transport, others
from mcpstreams_sansio.testing.caller import Caller, Guarantee
from mcpstreams_sansio.testing.conversation import call_name
from mcpstreams_sansio.testing.deliveries import Deliveries
from mcpstreams_sansio.testing.disk import Disk
from mcpstreams_sansio.testing.homes import Home
from mcpstreams_sansio.testing.machines import Shared
from mcpstreams_sansio.testing.names import (
    Text,
    connection_name,
    numbered,
    server_name,
    stream_name,
    text_of,
    token_name,
)
from mcpstreams_sansio.testing.promised import Promised
from mcpstreams_sansio.testing.wires import InFlight, Post, Wire
from mcpstreams_sansio.testing.witness import Witness
from mcpstreams_sansio.testing.work import Work
from mcpstreams_sansio.wire.refusals import Reason

MANY_BREAKS: Final = 5
"""Breaks in a row after which the pauses between the attempts may add up to more than a stream is kept."""


@enum.unique
class Role(enum.Enum):
    """What something that happened was to a machine."""

    SERVER_IS_TOLD = "server <-"
    SERVER_WANTS = "server ->"
    CLIENT_IS_TOLD = "client <-"
    CLIENT_WANTS = "client ->"


Happening: TypeAlias = StreamsInput | ClientStreamsInput | StreamsEffect | ClientStreamsEffect
"""One thing that a machine was told or wants done; the types of the two sides are different ones."""


@final
@attrs.define
class Counters:
    """How many fresh names were given; no two things of one world have the same."""

    calls: int = 0
    wires: int = 0
    connections: int = 0
    streams: int = 0
    scopes: int = 0
    asks: int = 0
    seeds: int = 0

    def fork(self) -> Self:
        """Return an independent copy."""
        return type(self)(self.calls, self.wires, self.connections, self.streams, self.scopes, self.asks, self.seeds)


@final
@attrs.define(eq=False)
class State:
    """Everything that a fork copies and a key is made of."""

    transport: Transport
    peers: Peers
    bounds: Bounds
    """What can happen in all."""
    left: Bounds
    """What can still happen."""
    server: Shared[StreamsInput, StreamsEffect]
    newborn: Shared[StreamsInput, StreamsEffect]
    """The machine of a server's process that has just begun."""
    spare: tuple[Home, ...]
    """Clients that have not come yet."""
    homes: dict[str, Home]
    """The clients, by their names."""
    disk: Disk = attrs.field(factory=Disk)
    wires: dict[str, Wire] = attrs.field(factory=dict)
    works: dict[StreamId, Work] = attrs.field(factory=dict)
    tokens: dict[StreamId, Secret] = attrs.field(factory=dict)
    """The first token of each stream, for those who come from elsewhere."""
    arrived: dict[StreamId, Work] = attrs.field(factory=dict)
    """What there is to do for each stream, as its call said."""
    callers: dict[CallId, Caller] = attrs.field(factory=dict)
    witness: Witness = attrs.field(factory=Witness)
    deliveries: Deliveries = attrs.field(factory=Deliveries)
    promised: Promised = attrs.field(factory=Promised)
    requests: dict[int, Post] = attrs.field(factory=dict)
    """What each call was sent as, for the first time."""
    counters: Counters = attrs.field(factory=Counters)
    sessions: frozenset[Scope] = frozenset()
    """The HTTP sessions that the server knows."""
    server_name: str = server_name(1)
    """What the server calls itself: another name whenever it has forgotten everything."""
    now: float = 0.0
    happened: list[tuple[Role, Happening]] = attrs.field(factory=list)
    """What the last action has led to, in order."""
    lost: list[InFlight] = attrs.field(factory=list)
    """What was on its way on a connection that broke in the last action."""
    departed: dict[ConnectionId, str] = attrs.field(factory=dict)
    """The wires that the last action has ended, by what the machines call them."""

    @property
    def guarantee(self) -> Guarantee:
        """What callers may rely on: without our extension event ids count within a session (rules R4, R8, case C5)."""
        sessions_end = self.bounds.sessions or self.bounds.crashes
        exact = self.tells_positions and (self.peers is Peers.MARKER or not sessions_end)
        if not exact:
            return Guarantee.AT_LEAST_ONCE
        return Guarantee.AT_MOST_ONCE if self.bounds.rivals or self.bounds.room else Guarantee.EXACTLY_ONCE

    @property
    def keeps_calls(self) -> bool:
        """Whether callers keep their calls where they outlive the client's process."""
        return self.bounds.client_crashes > 0

    @property
    def tells_positions(self) -> bool:
        """Whether messages say where they stand: by our tags, or by the ids of their events."""
        return self.peers is Peers.MARKER or self.transport is Transport.HTTP

    def fresh_stream(self) -> tuple[StreamId, Secret]:
        """Return the names of a new stream."""
        self.counters.streams += 1
        stream_id, token = stream_name(self.counters.streams), token_name(self.counters.streams)
        self.tokens[stream_id] = token
        return stream_id, token

    def fresh_connection(self) -> ConnectionId:
        """Return the id of a new connection: they rise."""
        self.counters.connections += 1
        return connection_name(self.counters.connections)

    def fresh_scope(self) -> Scope:
        """Return the name of a new session, or of a multiplexed connection as a scope."""
        self.counters.scopes += 1
        return Scope(f"scope-{self.counters.scopes:05}")

    def fresh_ask(self) -> str:
        """Return the id of a new question."""
        self.counters.asks += 1
        return f"ask-{self.counters.asks:05}"

    def fresh_entropy(self) -> Entropy:
        """Return a seed that was never used."""
        self.counters.seeds += 1
        return Entropy(b"%016d" % self.counters.seeds)

    def fresh_wire(self) -> str:
        """Return the name of a new wire."""
        self.counters.wires += 1
        return f"c{self.counters.wires}"

    def put(self, wire: Wire) -> None:
        """Keep a wire as it is now, unless nothing can happen on it any more."""
        if wire.over:
            self.wires.pop(wire.name, None)
            self.witness.forget(wire.name)
            self.departed[wire.client_id] = wire.name
            if wire.server_id is not None:
                self.departed[wire.server_id] = wire.name
        else:
            self.wires[wire.name] = wire

    def wire_of_server(self, connection_id: ConnectionId) -> Wire | None:
        """Return the wire that the server's machine calls so."""
        return next((wire for wire in self.wires.values() if wire.server_id == connection_id), None)

    def wire_of_client(self, connection_id: ConnectionId) -> Wire | None:
        """Return the wire that the client's machine calls so."""
        return next((wire for wire in self.wires.values() if wire.client_id == connection_id), None)

    def connection_called(self, connection_id: int) -> str:
        """Return the name of the wire that a machine calls so; a stranger's connection has none."""
        known = ConnectionId(connection_id)
        wire = self.wire_of_server(known) or self.wire_of_client(known)
        return self.departed.get(known, "elsewhere") if wire is None else wire.name

    def begin(self) -> None:
        """Forget what the action before has led to."""
        self.happened.clear()
        self.lost.clear()
        self.departed.clear()

    def call_id_of(self, target: str) -> CallId:
        """Return what the client's machine calls a call, by the call's name."""
        return next(call_id for call_id, caller in self.callers.items() if caller.name == target)

    def callers_of(self, number: int) -> list[Caller]:
        """Return all who wait for a call: one at most, unless other clients have taken it up."""
        return [caller for caller in self.callers.values() if caller.number == number]

    def reasons_of(self, number: int) -> set[Reason]:
        """Return why streams of a call are gone."""
        streams = [stream_id for stream_id, work in self.arrived.items() if work.number == number]
        return {self.witness.gone[stream_id] for stream_id in streams if stream_id in self.witness.gone}

    @property
    def unborn(self) -> list[StreamId]:
        """The streams that are open, and on which no work has begun."""
        return [stream_id for stream_id in self.deliveries.streams if stream_id not in self.works]

    @property
    def calls_made(self) -> int:
        """How many calls were made, whoever else has taken them up."""
        return len({caller.number for caller in self.callers.values()})

    def fresh_call(self) -> CallId:
        """Return the id of a call, for the client's machine: they rise."""
        self.counters.calls += 1
        return CallId(self.counters.calls)

    def work_on(self, target: str) -> Work:
        """Return the work on a call, by the call's name."""
        return next(work for work in self.works.values() if call_name(work.number) == target)

    @property
    def late(self) -> bool:
        """Whether something was slower than a timer: the network by itself, or by one break after another.

        A caller that takes nothing, so that the client's side stops reading, may be too slow as well.
        """
        bounds, left = self.bounds, self.left
        slow_caller = bounds.max_unread > 0 and left.slow_takes < bounds.slow_takes
        return left.hurries < bounds.hurries or slow_caller or bounds.breaks - left.breaks > MANY_BREAKS

    @property
    def lives(self) -> int:
        """How many processes of the server there were, this one included."""
        return 1 + self.bounds.crashes - self.left.crashes

    @property
    def remembers(self) -> bool:
        """Whether the server knows what it knew before it last crashed, if it ever did."""
        return self.lives == 1 or self.bounds.durable > 0

    def fork(self) -> Self:
        """Return an independent copy of everything that changes."""
        return type(self)(
            self.transport,
            self.peers,
            self.bounds,
            self.left,
            self.server,
            self.newborn,
            self.spare,
            self.homes.copy(),
            self.disk,
            self.wires.copy(),
            self.works.copy(),
            self.tokens.copy(),
            self.arrived.copy(),
            self.callers.copy(),
            self.witness.fork(),
            self.deliveries.fork(),
            self.promised.fork(),
            self.requests.copy(),
            self.counters.fork(),
            self.sessions,
            self.server_name,
            self.now,
        )

    def settled(self) -> bool:
        """Say whether every call was made and has its outcome, and nothing of it is left on either side."""
        outcomes = [caller.outcome for caller in self.callers.values()]
        return (
            self.calls_made == self.left.calls
            and None not in outcomes
            and all(work.over for work in self.works.values())
            and self.witness.opened <= self.witness.gone.keys()
            and all(home.machine.rests(self.now) for home in self.homes.values())
            and self.server.rests(self.now)
        )

    def key(self) -> Hashable:
        """Return the same for all states that differ only in the names of things and in the time of day.

        The machines come first: they name nearly all there is, in an order of their own. By what is named so, all
        else is sorted: in which order it came to be makes no difference any more.
        """
        return numbered(*self.texts())

    def texts(self) -> tuple[list[Text], list[Text]]:
        """Return what a key is made of: what has an order, and what has none."""
        ordered = [_text_of_others(self.left), self.server.text(self.now)]
        ordered += [home.machine.text(self.now) for home in self.homes.values()]
        ordered.append(self._text_of_rest())
        if self.left.crashes and self.left.durable:
            ordered += self._texts_of_the_past()
        unordered = [work.text for work in self.works.values()]
        last = not self.left.client_crashes
        unordered += [caller.text_to_the_end if last else caller.text for caller in self.callers.values()]
        unordered += [wire.text for wire in self.wires.values()]
        return ordered, unordered

    def _texts_of_the_past(self) -> list[Text]:
        """What a crash may bring back that the server's machine does not hold, if there is anything.

        That is what is not on the disk yet; and which call each stream is, of those whose work has not begun: after a
        crash it may begin as interrupted.
        """
        unborn = self.witness.opened - self.works.keys()
        if self.disk.batch is None and not unborn:
            return []
        numbers = tuple([(name, work.number) for name, work in self.arrived.items() if name in unborn])
        return [self.disk.text, text_of(numbers)]

    def _text_of_rest(self) -> Text:
        servers = {name: wire.server_id for name, wire in self.wires.items()}
        witness = self.witness
        return text_of(
            (
                len(self.homes),
                len(self.wires),
                len(self.works),
                len(self.callers),
                frozenset([(stream_id, self.tokens[stream_id]) for stream_id in (*self.works, *self.unborn)]),
                self.disk.batch is None,
                self.server_name,
                self.sessions,
                tuple([(home.scope, home.wire and self.wires[home.wire].client_id) for home in self.homes.values()]),
                frozenset(
                    [
                        (stream_id, each.confirmed, each.home, servers.get(each.wire or ""), each.position)
                        for stream_id, each in self.deliveries.streams.items()
                    ]
                ),
                frozenset([(servers.get(wire), ended) for wire, ended in witness.ended.items() if ended]),
                witness.unended,
                witness.opened,
                frozenset(witness.gone.items()),
                witness.executed,
                self.promised.cancelled,
                self.promised.acknowledged,
                tuple(self.requests.values()) if self.left.copies else (),
            )
        )


@functools.lru_cache(1_024)
def _text_of_others(left: Bounds) -> Text:
    """Return what is left of those bounds that say what does happen."""
    return text_of(others(left))
