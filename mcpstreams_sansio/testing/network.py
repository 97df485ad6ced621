"""What can happen between the two sides: connections, deliveries, losses, the disk, time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

import attrs

from mcpstreams_sansio.client.inputs import (
    LinkDown,
    LinkUp,
    MessageReceived,
    PathAccepted,
    PathRefused,
    PathUnsent,
    PositionReceived,
    RetryReceived,
    ServerTraits,
)
from mcpstreams_sansio.connections import ConnectionLost, DeadlineReached, Framing, Written
from mcpstreams_sansio.server.effects import BodyKind
from mcpstreams_sansio.server.inputs import ConnectionOpened, LogWritten, ScopeEnded
from mcpstreams_sansio.testing.actions import Peers, Transport
from mcpstreams_sansio.testing.client_side import tell_client
from mcpstreams_sansio.testing.frames import Frame
from mcpstreams_sansio.testing.fronts import inputs_of
from mcpstreams_sansio.testing.homes import FIRST, Home
from mcpstreams_sansio.testing.machines import is_due
from mcpstreams_sansio.testing.names import FAR, HORIZON
from mcpstreams_sansio.testing.properties import Violation
from mcpstreams_sansio.testing.server_side import frame_of, tell_server
from mcpstreams_sansio.testing.state import State
from mcpstreams_sansio.testing.wires import Chunk, Close, End, Head, Wire

_NOT_FOUND: Final = 404
_SUCCESS: Final = range(200, 300)
_TOO_LATE: Final = 0.25
"""Seconds after which somebody is woken who oversleeps."""


def can_connect(state: State) -> Sequence[str | None]:
    """A client has no way to send."""
    return [_target(home) for home in state.homes.values() if home.scope is None]


def _target(home: Home) -> str | None:
    """Return how an action names a client; the only one there usually is needs no name."""
    return None if home.name == FIRST else home.name


def connect(state: State, name: str) -> None:
    """A handshake is done, over a new multiplexed connection or for a new HTTP session."""
    home = state.homes[name or FIRST]
    scope = state.fresh_scope()
    marker = state.peers is Peers.MARKER
    traits = ServerTraits(marker, state.server_name, FAR) if marker else ServerTraits()
    if state.transport is Transport.HTTP:
        state.sessions |= {scope}
        state.homes[home.name] = home.connected(scope, None)
        tell_client(state, home.name, LinkUp(None, traits))
        return
    connection_id, wire = state.fresh_connection(), state.fresh_wire()
    state.homes[home.name] = home.connected(scope, wire)
    state.put(Wire(wire, home.name, Framing.MESSAGES, connection_id, connection_id, scope, server=End.OPEN))
    tell_server(state, ConnectionOpened(connection_id, Framing.MESSAGES, scope))
    tell_client(state, home.name, LinkUp(connection_id, traits))


def with_posts(state: State) -> Sequence[str | None]:
    """Something that a client sent is on its way."""
    return [name for name, wire in state.wires.items() if wire.up]


def deliver_up(state: State, name: str) -> None:
    """The oldest thing that the client sent arrives."""
    post, wire = state.wires[name].arrived_up()
    connection_id = wire.server_id
    if connection_id is not None:
        state.put(wire)
    elif wire.scope not in state.sessions:
        refused = attrs.evolve(wire, server=End.FAREWELL)
        state.put(refused.write(Head(BodyKind.EMPTY, _NOT_FOUND), Close()))
        return
    else:
        connection_id = state.fresh_connection()
        state.put(wire.heard(connection_id, post))
        tell_server(state, ConnectionOpened(connection_id, wire.framing, wire.scope, primes=True))
    tell_server(state, *inputs_of(state, connection_id, wire.framing, post))


def with_chunks(state: State) -> Sequence[str | None]:
    """Something that the server wrote is on its way."""
    return [name for name, wire in state.wires.items() if wire.down and (not wire.paused or state.left.reads_ahead)]


def deliver_down(state: State, name: str) -> None:
    """The oldest thing that the server wrote arrives."""
    before = state.wires[name]
    item, wire = before.arrived_down()
    if before.paused:
        state.left = state.left.spend("reads_ahead")
    match item:
        case Head():
            _read_head(state, wire, item)
        case Chunk():
            state.put(wire)
            _read_frame(state, wire, frame_of(before, item.data), len(item.data))
        case Close():
            _lose(state, wire, stragglers=True)
        case unknown:
            assert_never(unknown)


def _read_head(state: State, wire: Wire, head: Head) -> None:
    if head.status in _SUCCESS:
        state.put(wire)
        tell_client(state, wire.home, PathAccepted(wire.client_id))
        return
    state.put(wire.lost_for_client(stragglers=False))
    if head.status != _NOT_FOUND:
        tell_client(state, wire.home, PathRefused(wire.client_id, head.status, head.retry_after))
        return
    tell_client(state, wire.home, PathUnsent(wire.client_id))
    home = state.homes[wire.home]
    if home.scope == wire.scope:
        state.homes[wire.home] = home.alone()
        tell_client(state, wire.home, LinkDown())


def _read_frame(state: State, wire: Wire, frame: Frame, size: int) -> None:
    if frame.retry_ms is not None:
        tell_client(state, wire.home, RetryReceived(wire.client_id, frame.retry_ms))
    if frame.message is not None:
        tell_client(state, wire.home, MessageReceived(wire.client_id, frame.message, frame.event_id, size))
    elif frame.event_id is not None:
        tell_client(state, wire.home, PositionReceived(wire.client_id, frame.event_id))


def with_write(state: State) -> Sequence[str | None]:
    """A write is outstanding."""
    return [name for name, wire in state.wires.items() if wire.writing]


def report_write(state: State, name: str) -> None:
    """The transport took the write."""
    wire = attrs.evolve(state.wires[name], writing=False)
    state.put(wire)
    assert wire.server_id is not None, "the server knows it"
    tell_server(state, Written(wire.server_id))


def _breakable(state: State) -> Sequence[str | None]:
    return [name for name, wire in state.wires.items() if wire.client is End.OPEN]


def can_cut(state: State) -> Sequence[str | None]:
    """A connection can break."""
    return _breakable(state) if state.left.cuts else []


def cut(state: State, name: str) -> None:
    """Everything on its way is lost, and the client is told."""
    state.left = state.left.spend("cuts")
    _lose(state, state.wires[name], stragglers=False)


def can_straggle(state: State) -> Sequence[str | None]:
    """A connection can break while something of the client is on its way."""
    return [n for n in _breakable(state) if n and state.wires[n].up] if state.left.straggles else []


def straggle(state: State, name: str) -> None:
    """The client is told of a loss; what it sent may still arrive."""
    state.left = state.left.spend("straggles")
    _lose(state, state.wires[name], stragglers=True)


def _lose(state: State, wire: Wire, stragglers: bool) -> None:
    state.lost += wire.down if stragglers else (*wire.up, *wire.down)
    state.put(wire.lost_for_client(stragglers))
    if wire.framing is Framing.HTTP:
        tell_client(state, wire.home, ConnectionLost(wire.client_id))
    else:
        state.homes[wire.home] = state.homes[wire.home].alone()
        tell_client(state, wire.home, LinkDown())


def can_fade(state: State) -> Sequence[str | None]:
    """The server can lose a connection first."""
    live = [name for name, wire in state.wires.items() if wire.server is End.OPEN and wire.client is End.OPEN]
    return live if state.left.fades else []


def fade(state: State, name: str) -> None:
    """The server is told of a loss; what it wrote still arrives."""
    state.left = state.left.spend("fades")
    _notice(state, name)


def can_notice(state: State) -> Sequence[str | None]:
    """The server does not know of a loss."""
    return [
        name
        for name, wire in state.wires.items()
        if wire.client is End.GONE and (wire.server is End.OPEN or wire.writing)
    ]


def _notice(state: State, name: str) -> None:
    wire = state.wires[name]
    state.lost += wire.up
    state.put(wire.lost_for_server())
    assert wire.server_id is not None, "the server knows it"
    tell_server(state, ConnectionLost(wire.server_id))


notice = _notice


def can_end_session(state: State) -> Sequence[str | None]:
    """An HTTP session can end."""
    return (
        [_target(home) for home in state.homes.values() if home.scope in state.sessions] if state.left.sessions else []
    )


def end_session(state: State, name: str) -> None:
    """The server ends a session; its client learns it when it next sends."""
    state.left = state.left.spend("sessions")
    ended = state.homes[name or FIRST].scope
    assert ended is not None, "only what is there can end"
    state.sessions -= {ended}
    tell_server(state, ScopeEnded(ended))


def can_log(state: State) -> Sequence[str | None]:
    """A batch is being written."""
    return [None] if state.disk.batch is not None else []


def log(state: State, _: str) -> None:
    """It is durable."""
    write_id, state.disk = state.disk.complete()
    tell_server(state, LogWritten(write_id))


def next_moment(state: State) -> float | None:
    """Return when something is due."""
    moments = [state.server.next_deadline()]
    moments += [home.machine.next_deadline() for home in state.homes.values()]
    return min((when for when in moments if when is not None), default=None)


def _somebody_waits(state: State) -> bool:
    """Return whether a machine waits for a moment that ever comes."""
    moment = next_moment(state)
    return moment is not None and moment - state.now < HORIZON


def _quiet(state: State) -> bool:
    """Return whether nothing happens by itself: nothing is on its way, the link is up, no caller is to act."""
    return (
        all(home.scope is not None for home in state.homes.values())
        and state.disk.batch is None
        and all(wire.quiet for wire in state.wires.values())
        and not any(caller.is_to_act for caller in state.callers.values())
    )


def can_wait(state: State) -> Sequence[str | None]:
    """Nothing else happens before the next moment for which a machine waits."""
    return [None] if _somebody_waits(state) and _quiet(state) else []


def wait(state: State, _: str) -> None:
    """Time passes to the next moment for which a machine waits."""
    moment = _moment(state)
    _check_early(state, moment)
    state.now = max(state.now, moment)
    if is_due(state.server.next_deadline(), state.now):
        tell_server(state, DeadlineReached())
    for home in list(state.homes.values()):
        if is_due(home.machine.next_deadline(), state.now):
            tell_client(state, home.name, DeadlineReached())


def _moment(state: State) -> float:
    moment = next_moment(state)
    assert moment is not None, "somebody waits"
    return moment


def _check_early(state: State, moment: float) -> None:
    """Check that a machine which is woken before its time does nothing, and is as it was.

    Where there is little room, a server makes some with whatever it hears.
    """
    if moment <= state.now or state.bounds.room:
        return
    early = (state.now + moment) / 2
    woken, effects = state.server.handle(DeadlineReached(), early)
    undisturbed = not effects and woken.text(early) == state.server.text(early)
    for home in state.homes.values():
        sleeper, told = home.machine.handle(DeadlineReached(), early)
        undisturbed &= not told and sleeper.text(early) == home.machine.text(early)
    if not undisturbed:
        raise Violation("early is no time", "a machine that is woken too early does what is not due")


def can_hurry(state: State) -> Sequence[str | None]:
    """Something could happen first, and time may overtake it."""
    return [None] if state.left.hurries and _somebody_waits(state) and not _quiet(state) else []


def hurry(state: State, _: str) -> None:
    """Time overtakes what is on its way."""
    state.left = state.left.spend("hurries")
    wait(state, "")


def can_oversleep(state: State) -> Sequence[str | None]:
    """Nothing else happens before a moment for which a machine waits, and nobody need wake it then."""
    if not state.left.oversleeps or not _somebody_waits(state) or not _quiet(state):
        return []
    return [None] if _moment(state) > state.now else []


def oversleep(state: State, _: str) -> None:
    """The moment passes, and nobody is woken: whatever a machine hears next, it does first what is due."""
    state.left = state.left.spend("oversleeps")
    state.now = _moment(state) + _TOO_LATE
