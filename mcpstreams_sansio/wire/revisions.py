"""What each revision of the protocol means for streams: one table, so that no condition is scattered over the code.

Spec: rules D4, D5.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, final

import attrs


@enum.unique
class Revision(enum.StrEnum):
    """A revision of MCP that is served, as `protocolVersion` spells it. Later ones are greater."""

    R2025_03_26 = "2025-03-26"
    """The first with Streamable HTTP."""
    R2025_06_18 = "2025-06-18"
    """The first without arrays of messages, and with the revision in a header."""
    R2025_11_25 = "2025-11-25"
    """The first whose event streams are primed."""


NEWEST: Final = max(Revision)
"""What is offered to a client that asks for a revision which is not served."""


@enum.unique
class AfterLoss(enum.Enum):
    """What becomes of a call that no stream can bring back, once its connection is lost."""

    RUN_ON = "run on"
    """It goes on: a disconnection is no cancellation."""

    CANCEL = "cancel"
    """It is cancelled: nobody could ever receive its result."""


@final
@attrs.frozen
class RevisionRules:
    """One row of the table."""

    primes: bool
    """Event streams begin with an event without data; older clients try to read it as JSON (rule H19)."""

    after_loss_on_http: AfterLoss
    """A call without a resumable stream, whose exchange is lost (rule H12)."""

    after_loss_on_shared: AfterLoss
    """The same on a connection that carries everything: bytes, lines, WebSocket (rule R2)."""

    session_header: str
    """How it spells the header with the session id; reading minds no case (rule H5)."""

    version_header: str | None
    """How it spells the header with the negotiated revision, `None` where it has none (rule H4)."""


REVISIONS: Final[Mapping[Revision, RevisionRules]] = MappingProxyType(
    {
        Revision.R2025_03_26: RevisionRules(
            primes=False,
            after_loss_on_http=AfterLoss.RUN_ON,
            after_loss_on_shared=AfterLoss.CANCEL,
            session_header="Mcp-Session-Id",
            version_header=None,
        ),
        Revision.R2025_06_18: RevisionRules(
            primes=False,
            after_loss_on_http=AfterLoss.RUN_ON,
            after_loss_on_shared=AfterLoss.CANCEL,
            session_header="Mcp-Session-Id",
            version_header="MCP-Protocol-Version",
        ),
        Revision.R2025_11_25: RevisionRules(
            primes=True,
            after_loss_on_http=AfterLoss.RUN_ON,
            after_loss_on_shared=AfterLoss.CANCEL,
            session_header="MCP-Session-Id",
            version_header="MCP-Protocol-Version",
        ),
    }
)
"""The whole table: a row for each revision, a cell for each question in which they differ (rule D5)."""

_SERVED: Final = {revision.value: revision for revision in Revision}


def find_revision(protocol_version: str) -> Revision | None:
    """Return the revision of this name, `None` where it is not served."""
    return _SERVED.get(protocol_version)


def negotiate(requested: str) -> Revision:
    """Return what a server answers to the `protocolVersion` of `initialize`: that one if it is served, else the newest.

    Spec: MCP 2025-11-25, Lifecycle, version negotiation.
    """
    return find_revision(requested) or NEWEST
