"""What lies between two whole machines: connections as bytes that are under way, in each direction by themselves."""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Iterable
from typing import final

import attrs

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.http.messages import HTTPRequest, SendHead
from mcpstreams_sansio.ids import ConnectionId


@enum.unique
class End(enum.Enum):
    """What follows the bytes that are under way."""

    OPEN = "more of them"
    ENDED = "the end, in good order"
    BROKEN = "the loss of the connection"
    SILENT = "nothing, and nobody learns why"


@enum.unique
class Side(enum.Enum):
    """How a connection stands for one of the machines."""

    UNBORN = "it has not heard of it"
    OPEN = "open"
    FAREWELL = "it writes nothing more, and what comes means nothing to it"
    GONE = "gone"


@final
@attrs.define(eq=False)
class Pipe:
    """One direction of a connection."""

    keeps_boundaries: bool
    """What was put in as one piece comes out as one."""
    end: End = End.OPEN
    size: int = 0
    """Bytes under way."""
    begun: bool = False
    """Something was put in."""
    pieces: deque[bytes] = attrs.field(factory=deque)
    """What is under way."""

    def put(self, pieces: Iterable[bytes]) -> None:
        """Take something along, unless nothing gets through any more."""
        self.begun = True
        if self.end is End.OPEN:
            for piece in pieces:
                self.pieces.append(piece)
                self.size += len(piece)

    def close(self) -> None:
        """Put nothing in any more, in good order."""
        if self.end is End.OPEN:
            self.end = End.ENDED

    def take(self, size: int) -> bytes:
        """Return what arrives next: so many bytes at most, or the next piece where each arrives whole."""
        if self.keeps_boundaries:
            taken = self.pieces.popleft()
        else:
            whole = b"".join(self.pieces)
            taken, rest = whole[:size], whole[size:]
            self.pieces = deque([rest] if rest else [])
        self.size -= len(taken)
        return taken

    def cut(self, after: int, end: End) -> None:
        """Lose everything behind so many bytes; nothing can be put in any more."""
        kept: deque[bytes] = deque()
        for piece in self.pieces:
            if len(piece) <= after:
                kept.append(piece)
            elif not self.keeps_boundaries and after:
                kept.append(piece[:after])
            after -= min(after, len(piece))
            if not after:
                break
        self.pieces, self.size, self.end = kept, sum(map(len, kept)), end


@final
@attrs.define(eq=False)
class Wire:
    """One connection, or one exchange of HTTP."""

    client_id: ConnectionId
    framing: Framing
    up: Pipe
    """From the client to the server."""
    down: Pipe
    request: HTTPRequest | None = None
    """What begins an exchange: it arrives whole or not at all, since the fronts stand above HTTP/1.1."""
    head: SendHead | None = None
    """The head of a response, until it has arrived."""
    server_id: ConnectionId | None = None
    """What the server calls it, once it has heard of it."""
    client: Side = Side.OPEN
    server: Side = Side.UNBORN
    connected: bool = False
    """The client was told that a multiplexed connection is there."""
    client_writes: bool = False
    """A write of the client is outstanding."""
    server_writes: bool = False
    paused: bool = False
    """The client reads nothing of it for now."""
    events: bool = False
    """Its response is an event stream."""

    @property
    def over(self) -> bool:
        """Nothing comes of it any more, for anybody."""
        return self.client is Side.GONE and self.server is Side.GONE

    @property
    def brings_up(self) -> bool:
        """Whether the server is still to hear something of it."""
        if self.server is Side.UNBORN:
            return True
        return self.server is Side.OPEN and (self.up.size > 0 or self.up.end in (End.ENDED, End.BROKEN))

    @property
    def brings_down(self) -> bool:
        """Whether the client is still to hear something of it."""
        if self.client is not Side.OPEN or self.paused or self.server is Side.UNBORN:
            return False
        return self.head is not None or self.down.size > 0 or self.down.end in (End.ENDED, End.BROKEN)


def multiplexed(client_id: ConnectionId, framing: Framing) -> Wire:
    """Return a connection that the client wants opened."""
    whole = framing is Framing.MESSAGES
    return Wire(client_id, framing, Pipe(whole), Pipe(whole))


def exchange(client_id: ConnectionId, request: HTTPRequest) -> Wire:
    """Return an exchange that the client begins."""
    return Wire(client_id, Framing.HTTP, Pipe(keeps_boundaries=False), Pipe(keeps_boundaries=False), request)
