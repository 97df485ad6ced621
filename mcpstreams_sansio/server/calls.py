"""Who calls, and how a call is served: what is settled when it arrives, and recorded with its stream."""

from __future__ import annotations

import enum
from typing import final

import attrs

from mcpstreams_sansio.wire.jsonrpc import JSONObject
from mcpstreams_sansio.wire.revisions import AfterLoss
from mcpstreams_sansio.wire.streams import ResumeInterval


@enum.unique
class StreamKind(enum.Enum):
    """What the requester of a stream can do after a loss; fixed when the stream is opened (rule R2)."""

    ANNOUNCED = "announced"
    """It declared `streams`: `create` and `end` are entries, and a token resumes it on any connection."""

    SILENT = "silent"
    """It did not, and was answered by events: only a cursor of the same HTTP session brings it back."""

    FLEETING = "fleeting"
    """Nothing brings it back: the log only holds what is not written yet."""


@enum.unique
class BodyPolicy(enum.Enum):
    """When the answer to an HTTP request becomes an event stream (rule R18)."""

    AT_ONCE = "at once"
    """As soon as the call is accepted: priming and `create` go out with the head."""

    WHEN_NEEDED = "when needed"
    """When anything but the response comes first, or nothing within `sse_after`."""

    NEVER = "never"
    """The requester accepts no event stream."""


@final
@attrs.frozen
class Peer:
    """What one side knows of the other once the handshake is done (rule R12)."""

    streams: bool = False
    """It declared `capabilities.streams` (rules P1, P2)."""

    marker: bool = False
    """It declared `mcpstreams/resumable-streams`: cursors, acknowledgements, attempts, keys."""

    capabilities: frozenset[str] = frozenset()
    """Names of the capabilities it declared; an `ask` for another one fails at once (rule R24)."""

    info: JSONObject | None = attrs.field(default=None, eq=False)
    """What it says of itself in `clientInfo`: `name`, `title` and `version`, cut to a length."""


@final
@attrs.frozen
class CallPolicy:
    """How one call is served, decided when it arrives (rule R18)."""

    kind: StreamKind
    body: BodyPolicy = BodyPolicy.AT_ONCE
    after_loss: AfterLoss = AfterLoss.CANCEL
    interval: ResumeInterval = ResumeInterval()
    """`max` 0 is not resumable; `max` absent takes the server's own limit (rule Q7c)."""
    run_on: bool = False
    """The work goes on although its stream was abandoned (rule R27)."""
