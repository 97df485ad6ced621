"""What is made durable: enough to recover every stream after a crash, and never a token (rule R3)."""

from __future__ import annotations

import enum
from typing import TypeAlias, final

import attrs

from mcpstreams_sansio.ids import Digest, Principal, RequestId, StreamId
from mcpstreams_sansio.server.calls import CallPolicy, Peer
from mcpstreams_sansio.wire.refusals import Reason


@enum.unique
class EntryKind(enum.Enum):
    """What an entry of a log is; only a notification may ever be evicted unconfirmed (rule R10)."""

    CREATE = "create"
    """What announces the stream: the first entry of an announced one."""
    NOTIFICATION = "notification"
    """What the application tells the client."""
    ASK = "ask"
    """A question of the application to the client."""
    RESPONSE = "response"
    """The result of the call."""
    FAILURE = "failure"
    """A response that reports an error: an error of JSON-RPC, or a result with `isError` (rule Q8c)."""
    END = "end"
    """The last entry of an announced stream."""


@enum.unique
class Tags(enum.Enum):
    """Whether messages carry their sequence; fixed when the stream is opened (rule R4)."""

    NONE = "none"
    """The requester does not know our extension: nothing is added."""
    SEQUENCE = "sequence"
    """Each message with room for it names its stream and its position."""


@final
@attrs.frozen
class StreamOpened:
    """A stream exists. Stands for entry 1 of an announced one: the payload of `create` holds the token (rule R3)."""

    stream_id: StreamId
    request_id: RequestId
    method: str
    peer: Peer
    policy: CallPolicy
    tags: Tags
    principal: Principal | None
    token_digest: Digest = attrs.field(repr=False)
    key_digest: Digest | None = attrs.field(default=None, repr=False)
    call_digest: Digest | None = attrs.field(default=None, repr=False)


@final
@attrs.frozen
class StreamAnnounced:
    """A stream that was opened as another kind, and is empty, has become an announced one (rules R2, R18)."""

    stream_id: StreamId
    policy: CallPolicy
    tags: Tags
    token_digest: Digest = attrs.field(repr=False)


@final
@attrs.frozen
class EntryLogged:
    """One more entry, encoded once and for ever (rule R4)."""

    stream_id: StreamId
    sequence: int
    kind: EntryKind
    payload: bytes = attrs.field(repr=False)
    ask_id: str | None = None


@final
@attrs.frozen
class AskClosed:
    """A question was answered (`payload`) or withdrawn (no payload)."""

    stream_id: StreamId
    ask_id: str
    payload: bytes | None = attrs.field(default=None, repr=False)


@final
@attrs.frozen
class TokenAdded:
    """One more token opens this stream (rule R3)."""

    stream_id: StreamId
    token_digest: Digest = attrs.field(repr=False)


@final
@attrs.frozen
class StreamConfirmed:
    """The client has everything up to `through`."""

    stream_id: StreamId
    through: int


@final
@attrs.frozen
class StreamClosed:
    """The stream is gone, for this reason."""

    stream_id: StreamId
    reason: Reason


@final
@attrs.frozen
class KeyCancelled:
    """A call with this key was cancelled before it ever arrived (rule R21.6)."""

    key_digest: Digest = attrs.field(repr=False)


LogRecord: TypeAlias = (
    StreamOpened
    | StreamAnnounced
    | EntryLogged
    | AskClosed
    | TokenAdded
    | StreamConfirmed
    | StreamClosed
    | KeyCancelled
)
"""Everything that a durable log is asked to keep."""
