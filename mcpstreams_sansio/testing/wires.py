"""What is on its way between two machines, in both directions, first in first out.

A wire is one connection: a multiplexed one that carries everything, or one exchange of HTTP. Each end learns for itself
that it is broken, early, late or never: that is what makes connections half-open.
"""

from __future__ import annotations

import enum
import functools
from typing import Self, TypeAlias, final

import attrs

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.ids import ConnectionId
from mcpstreams_sansio.server.effects import BodyKind
from mcpstreams_sansio.server.inputs import Scope
from mcpstreams_sansio.testing.names import Text, text_of


@enum.unique
class End(enum.Enum):
    """What one side knows of a wire."""

    UNAWARE = "unaware"
    """It has not heard of it yet: the request of an exchange is still on its way."""
    OPEN = "open"
    FAREWELL = "farewell"
    """It has written its last; what is on its way still arrives."""
    GONE = "gone"
    """It has closed, or has been told that it is lost: nothing reaches it, nothing comes from it."""


@final
@attrs.frozen
class Post:
    """What a client sends: one encoded message, or with HTTP no message and only a cursor."""

    message: bytes | None = attrs.field(repr=False)
    cursor: str | None = None
    """The header `Last-Event-ID`."""


@final
@attrs.frozen
class Head:
    """The head of an HTTP response."""

    body: BodyKind
    status: int
    retry_after: float | None = None


@final
@attrs.frozen
class Chunk:
    """One message, or one frame of an event stream, as the server wrote it."""

    data: bytes = attrs.field(repr=False)


@final
@attrs.frozen
class Close:
    """The server ended the response, or the connection, in good order."""


Down: TypeAlias = Head | Chunk | Close
"""What a server sends."""
InFlight: TypeAlias = Post | Down
"""What either side sends."""


@final
@attrs.frozen
class Wire:
    """One connection, with what is in flight on it."""

    name: str
    home: str
    """Whose client is at its other end."""
    framing: Framing
    client_id: ConnectionId
    """How the client's machine calls it."""
    server_id: ConnectionId | None = None
    """How the server's machine calls it; None as long as it has not heard of it."""
    scope: Scope | None = None
    """Where the client was at home when it began it."""
    client: End = End.OPEN
    server: End = End.UNAWARE
    up: tuple[Post, ...] = ()
    down: tuple[Down, ...] = ()
    opening: Post | None = None
    """What began the exchange, once it has arrived: its answer depends on that."""
    body: BodyKind | None = None
    """What the response turned out to be, once its head is written."""
    writing: bool = False
    """The server's machine waits for the report of a write."""
    paused: bool = False
    """The client reads nothing for now."""

    def post(self, post: Post) -> Self:
        """The client sends; into nothing if nobody is there any more."""
        return self if self.server is End.GONE else attrs.evolve(self, up=(*self.up, post))

    def write(self, *items: Down) -> Self:
        """The server sends; into nothing if nobody listens any more."""
        return self if self.client is End.GONE else attrs.evolve(self, down=(*self.down, *items))

    def begin_body(self, head: Head) -> Self:
        """The server sends the head of its response."""
        return attrs.evolve(self.write(head), body=head.body)

    def heard(self, server_id: ConnectionId, opening: Post) -> Self:
        """The server learns that the exchange exists."""
        return attrs.evolve(self, server=End.OPEN, server_id=server_id, opening=opening)

    def arrived_up(self) -> tuple[Post, Self]:
        """Take the oldest thing that the client sent."""
        return self.up[0], attrs.evolve(self, up=self.up[1:])

    def arrived_down(self) -> tuple[Down, Self]:
        """Take the oldest thing that the server sent."""
        return self.down[0], attrs.evolve(self, down=self.down[1:])

    def lost_for_client(self, stragglers: bool) -> Self:
        """The client has closed, or was told: nothing reaches it. Stragglers: what it sent may still arrive."""
        return attrs.evolve(self, client=End.GONE, down=(), up=self.up if stragglers else ())

    def lost_for_server(self) -> Self:
        """The server was told: nothing reaches it. What it wrote may still arrive, and then that it closed."""
        down = self.down if self.down[-1:] == (Close(),) or self.client is End.GONE else (*self.down, Close())
        return attrs.evolve(self, server=End.GONE, up=(), down=down, writing=False)

    @functools.cached_property
    def text(self) -> Text:
        """All but its name, which matters to no machine."""
        return text_of(self._content())

    def _content(self) -> tuple[object, ...]:
        return (
            self.home,
            self.framing,
            self.client_id,
            self.server_id,
            self.scope,
            self.client,
            self.server,
            tuple([(post.message, post.cursor) for post in self.up]),
            self.down,
            self.opening,
            self.body,
            self.writing,
            self.paused,
        )

    @property
    def over(self) -> bool:
        """Nothing can happen on it any more."""
        return self.client is End.GONE and (
            self.server is End.GONE
            or (self.server is End.UNAWARE and not self.up)
            or (self.server is End.FAREWELL and not self.writing)
        )

    @property
    def quiet(self) -> bool:
        """Nothing is on its way that arrives by itself."""
        return (self.paused or not self.down) and (not self.up or self.client is End.GONE) and not self.writing
