"""Half-open connections of which it makes no difference any more whether the server notices that they are lost.

A client has lost its connection, and nothing that it sent is on its way. The server may learn of it at any moment, or
never; and as long as it delivers a stream there, or owes an answer, that moment matters. Afterwards all that is left is
one record to which nothing refers. In what order such records go would multiply the states of a search, and lead to the
same every time: so they go at once. Only a server that oversleeps has one thing less then that may wake it.
"""

from __future__ import annotations

import functools
from collections import Counter
from typing import Final

from mcpstreams_sansio.connections import ConnectionLost, Framing
from mcpstreams_sansio.ids import ConnectionId
from mcpstreams_sansio.server.effects import StreamsEffect
from mcpstreams_sansio.server.inputs import ConnectionOpened, Scope, StreamsInput
from mcpstreams_sansio.testing.machines import Shared
from mcpstreams_sansio.testing.names import connection_name
from mcpstreams_sansio.testing.server_side import tell_server
from mcpstreams_sansio.testing.state import State
from mcpstreams_sansio.testing.wires import End, Wire

_ANY: Final = connection_name(0)
_ANYWHERE: Final = Scope("scope-00000")


def notice_idle_losses(state: State) -> None:
    """Let the server notice each loss that changes nothing but that it is noticed."""
    for wire in tuple(state.wires.values()):
        if wire.client is End.GONE and wire.server is End.OPEN and not wire.up and _is_idle(state, wire):
            lost = ConnectionLost(_known(wire))
            state.put(wire.lost_for_server())
            tell_server(state, lost)


def _known(wire: Wire) -> ConnectionId:
    assert wire.server_id is not None, "the server has heard of it"
    return wire.server_id


def _is_idle(state: State, wire: Wire) -> bool:
    """Return whether all that the server loses with a connection is the record of one that is as good as new."""
    connection_id = _known(wire)
    try:
        after, effects = state.server.handle(ConnectionLost(connection_id), state.now)
    except Exception:  # a fault shows when the loss is noticed as an action of its own, which stays possible
        return False
    if effects:
        return False
    held, left = state.server.text(state.now), after.text(state.now)
    if held.template.replace(_idle_record(state.newborn, wire.framing), "", 1) != left.template:
        return False
    return Counter(held.names) - Counter(left.names) == Counter({connection_id: 1, wire.scope: 1})


@functools.lru_cache
def _idle_record(newborn: Shared[StreamsInput, StreamsEffect], framing: Framing) -> str:
    """Return what the server's machine holds of a connection on which nothing was said, as its snapshot writes it."""
    opened, _ = newborn.handle(ConnectionOpened(_ANY, framing, _ANYWHERE), 0.0)
    before, after = newborn.text(0.0).template, opened.text(0.0).template
    start = next(place for place, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1])
    return after[start : start + len(after) - len(before)]
