"""Warnings about what a peer does, which must neither be missed nor fill the log."""

from __future__ import annotations

import logging
from typing import Final, final

MAX_WARNINGS: Final = 16
"""Different warnings of one kind that a server logs; whatever a peer makes up, there are no more."""

SHOWN: Final = 100
"""Characters of a peer's own words that a warning repeats."""

_logger = logging.getLogger("trio_bindings")


@final
class Once:
    """Logs each warning once, and only so many different ones."""

    def __init__(self) -> None:
        self._logged: set[tuple[str, str]] = set()

    def warn(self, text: str, said: bytes) -> None:
        """Log a warning, unless the same one, or as many as may be, were logged.

        Args:
            text: With one `%r`, for what the peer said.
            said: What the peer said. No secret; only its beginning is shown.
        """
        shown = said[:SHOWN].decode("latin-1")
        if (text, shown) not in self._logged and len(self._logged) < MAX_WARNINGS:
            self._logged.add((text, shown))
            _logger.warning(text, shown)
