"""Why a server cannot be talked to, or refuses something, as far as a person can make use of it.

What a server says in its own words decides nothing (case I5). It is text of a stranger, so it is kept short and on one
line, and what this client has sent as a credential is taken out of it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Final, final

import attrs

MAX_SAID_LENGTH: Final = 200
"""Characters that are kept of what a server says about a refusal."""

_LEFT_OUT: Final = "..."


@enum.unique
class Failure(enum.Enum):
    """Why a client cannot talk to its server."""

    UNAUTHORIZED = "unauthorized"
    """401: credentials are missing or wrong (case I6)."""
    UNSUPPORTED_VERSION = "unsupported version"
    """The server insists on a revision that this client does not know."""
    HANDSHAKE_REFUSED = "handshake refused"
    """The server answers `initialize` with an error."""
    NO_MCP = "no MCP"
    """What answers does not speak this protocol."""
    SESSION_LOST = "session lost"
    """The server forgets each new session at once (case I2)."""


@final
@attrs.frozen
class Said:
    """What a server said when it refused; nothing, where it said nothing or was never reached."""

    status: int | None = None
    """Of HTTP."""
    message: str = ""
    """In its own words: one line of at most `MAX_SAID_LENGTH` characters."""

    def __str__(self) -> str:
        return ": ".join(part for part in (str(self.status or ""), self.message) if part)


NOTHING_SAID: Final = Said()


def heard(message: str, status: int | None = None, *, secrets: Iterable[str] = ()) -> Said:
    """Return what is kept of what a server said.

    Args:
        message: Its own words, whatever is in them.
        status: Of HTTP.
        secrets: What must not be shown, should the server repeat it (rule Q11b).
    """
    for secret in secrets:
        message = message.replace(secret, _LEFT_OUT)
    line = " ".join("".join(each if each.isprintable() else " " for each in message).split())
    if len(line) > MAX_SAID_LENGTH:
        line = line[: MAX_SAID_LENGTH - len(_LEFT_OUT)] + _LEFT_OUT
    return Said(status, line)
