"""How far a client is with its session over HTTP."""

from __future__ import annotations

from typing import TypeAlias, final

import attrs

from mcpstreams_sansio.http.exchange import Session
from mcpstreams_sansio.ids import ConnectionId
from mcpstreams_sansio.wire.handshake import ServerHello


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


@final
@attrs.frozen
class Parting:
    """What was still to be said is on its way, then the session is ended."""

    until: float
    session: Session | None
    """What is still to be ended."""


Phase: TypeAlias = Down | Opening | Confirming | Up | Parting


def relative(phase: Phase, now: float) -> Phase:
    """Return a phase whose end, if it has one of its own, is counted from `now`."""
    return phase if isinstance(phase, Down | Up) else attrs.evolve(phase, until=phase.until - now)
