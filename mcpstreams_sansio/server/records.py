"""What is made durable: enough to recover every stream after a crash, and never a token (rule R3).

Another process reads them back by `Recover`. A log is asked for no more than to keep whole records in their order. A
crash may take the batch that is being written, or keep it, or keep some records from its beginning: nobody was told of
any of them (rule R9).

A log would grow for ever if it kept everything (case J7). Without harm to anybody it may drop

* an `EntryLogged` that is confirmed, or that is a notification which `EntriesDropped` names; but no question before
  what closes it is there (an answer, a withdrawal, the response), and no withdrawal before its question;
* every `StreamConfirmed` and `EntriesDropped` of a stream but the last, and every `TokenAdded` but the last
  `max_tokens`;
* each `AnswerLogged` of a stream once its response is there;
* of a stream that is closed all but `StreamOpened`, `StreamAnnounced`, `TokenAdded` and `StreamClosed`;
* those too, all at once, when `tombstone_ttl` has passed since it was closed, and if its call had a key, `key_ttl`
  since it was opened;
* `KeyCancelled` when `key_ttl` has passed.

Age is the business of a log, since the clock of a machine does not outlive its process: what a log still has begins its
time anew. One whose clock cannot be trusted keeps everything: a key that is forgotten too early may let its call run
twice (rule R21.4). What was reported written is never unwritten: a log that has lost records, or was taken back to an
older state, is another one, and gets another instance (rule R21.7).
"""

from __future__ import annotations

import enum
from typing import TypeAlias, final

import attrs

from mcpstreams_sansio.ids import Digest, Owner, Principal, RequestId, StreamId
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
    owner: Owner
    """Whose quotas it counts against: where there is no principal, nothing else says so (rule R25)."""
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
    """The question that it asks; or, of a notification, the question that it withdraws (rule R24)."""


@final
@attrs.frozen
class AnswerLogged:
    """A question was answered, by this."""

    stream_id: StreamId
    ask_id: str
    payload: bytes = attrs.field(repr=False)


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
class EntriesDropped:
    """Room was made: no notification up to `through` is kept any more, confirmed or not (rules R7, R10)."""

    stream_id: StreamId
    through: int


@final
@attrs.frozen
class StreamClosed:
    """The stream is gone, for this reason."""

    stream_id: StreamId
    reason: Reason
    produced: int
    """How many entries it had: who comes back to one that was delivered whole is told where it ended (rule Q9a)."""


@final
@attrs.frozen
class KeyCancelled:
    """A call with this key was cancelled before it ever arrived (rule R21.6)."""

    key_digest: Digest = attrs.field(repr=False)
    owner: Owner
    """Whose quotas it counts against (rule R25)."""


LogRecord: TypeAlias = (
    StreamOpened
    | StreamAnnounced
    | EntryLogged
    | AnswerLogged
    | TokenAdded
    | StreamConfirmed
    | EntriesDropped
    | StreamClosed
    | KeyCancelled
)
"""Everything that a durable log is asked to keep."""
