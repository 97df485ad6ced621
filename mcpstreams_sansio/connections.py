"""What happens on a connection, whichever side of it we are.

A *connection* is one delivery path: a byte stream, a WebSocket, or one HTTP exchange. Both machines take the inputs
and give the effects below, so one driver serves both. The driver's duties are few (rule R26): carry out every effect
in the order given, report each outstanding `Write` once it is done, and say what it learns.
"""

from __future__ import annotations

import enum
from typing import TypeAlias, final

import attrs

from mcpstreams_sansio.ids import ConnectionId, Entropy


@enum.unique
class Framing(enum.Enum):
    """How messages stand on a connection."""

    LINES = "lines"
    """One message, one line: stdio and every byte stream (rule M26)."""

    MESSAGES = "messages"
    """One message, one chunk: WebSocket and whatever keeps boundaries by itself."""

    HTTP = "http"
    """One HTTP exchange: its body is one JSON message or an event stream, decided by what comes first (rule R18)."""


@final
@attrs.frozen
class BytesReceived:
    """The peer sent bytes, cut anywhere; on a `MESSAGES` connection, exactly one message."""

    connection_id: ConnectionId
    data: bytes = attrs.field(repr=False)
    entropy: Entropy
    """Unguessable bytes for the ids and tokens that these bytes may make necessary."""


@final
@attrs.frozen
class EndOfFile:
    """The peer will send nothing more; what it was sent may still reach it."""

    connection_id: ConnectionId
    entropy: Entropy
    """As for `BytesReceived`: the end may complete a last line."""


@final
@attrs.frozen
class Written:
    """The outstanding `Write` of this connection was handed to the transport. It says nothing about arrival (R5)."""

    connection_id: ConnectionId


@final
@attrs.frozen
class ConnectionLost:
    """The connection is gone in both directions, for whatever reason. A second report changes nothing (R13)."""

    connection_id: ConnectionId


@final
@attrs.frozen
class DeadlineReached:
    """The time that `next_deadline` named has come; early or late is harmless."""


@final
@attrs.frozen
class Write:
    """Hand these bytes to the transport, in order, then report `Written`.

    At most one is outstanding on each connection: that is back-pressure, coalescing and stall detection in one
    mechanism (rule R11). On a `MESSAGES` connection each chunk is one message.
    """

    connection_id: ConnectionId
    chunks: tuple[bytes, ...] = attrs.field(repr=False)


@final
@attrs.frozen
class EndWriting:
    """Nothing more will be written: end the HTTP response, or close the connection in good order."""

    connection_id: ConnectionId


@enum.unique
class DropReason(enum.Enum):
    """Why a connection is not worth keeping."""

    STALLED = "stalled"
    """It accepted nothing for `stall_timeout`; its streams stay resumable (rule R11)."""

    FLOODED = "flooded"
    """Its peer asks for replies and does not read them: more than `max_reply_bytes` wait."""

    SILENT = "silent"
    """Nothing (or no handshake) came for so long that the peer must be gone (rule R15)."""

    UNREADABLE = "unreadable"
    """What it sends cannot be cut into frames any more."""

    FINISHED = "finished"
    """Nothing more is wanted from it."""


@final
@attrs.frozen
class DropConnection:
    """Close the connection now, whatever is still unwritten; no report is needed."""

    connection_id: ConnectionId
    reason: DropReason


ConnectionEffect: TypeAlias = Write | EndWriting | DropConnection
