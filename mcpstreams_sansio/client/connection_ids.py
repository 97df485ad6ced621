"""Names for what a client opens: connections and exchanges."""

from __future__ import annotations

from typing import Self, final

import attrs

from mcpstreams_sansio.ids import ConnectionId


@final
@attrs.define(eq=False)
class ConnectionIds:
    """Rising numbers, none of them twice; so one number tells an id that was never given from one that is over (R13).

    A client's streams and its front share one of these.
    """

    _next: int

    def next(self) -> ConnectionId:
        """Return an id that was never given."""
        given = ConnectionId(self._next)
        self._next += 1
        return given

    def skip(self, connection_id: ConnectionId) -> None:
        """Note an id that somebody else gave."""
        self._next = max(self._next, connection_id + 1)

    def were_given(self, connection_id: ConnectionId) -> bool:
        """Return whether this id was given before."""
        return connection_id < self._next

    def fork(self) -> Self:
        """Return an independent copy."""
        return type(self)(self._next)
