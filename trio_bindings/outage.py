"""What the log says of a server that is not reached: whoever waits for it may wait for long."""

from __future__ import annotations

import enum
import logging
from typing import final

from mcpstreams_sansio.client.config import ClientConfig

_logger = logging.getLogger("trio_bindings")


@enum.unique
class _Standing(enum.Enum):
    REACHED = enum.auto()
    """The server was reached, or was not tried for yet."""
    MISSED = enum.auto()
    """Attempts fail one after another, and the log says so."""


@final
class Outage:
    """Warns of the first of several attempts that fail one after another, and says when one succeeds again.

    Args:
        config: Says how long a call waits.
    """

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        self._standing = _Standing.REACHED
        self._cause: Exception | None = None

    def note(self, error: Exception) -> None:
        """Remember why an attempt fails. One that was answered, but not as a handshake is, has no such reason."""
        self._cause = error

    def go_on(self) -> None:
        """Note that an attempt has failed."""
        _logger.log(
            logging.WARNING if self._standing is _Standing.REACHED else logging.DEBUG,
            "the server was not reached: %s; each call waits for it for %g seconds (patience)",
            "no handshake came about" if self._cause is None else _text_of(self._cause),
            self._config.patience,
        )
        self._standing, self._cause = _Standing.MISSED, None

    def end(self) -> None:
        """Note that the server was reached."""
        if self._standing is _Standing.MISSED:
            _logger.info("the server was reached")
        self._standing, self._cause = _Standing.REACHED, None


def _text_of(error: Exception) -> str:
    """Return what an error says, and what caused it, in one line."""
    errors = [each for each in (error, error.__cause__) if each is not None]
    return ": ".join(dict.fromkeys(str(each) or type(each).__name__ for each in errors))
