"""What an error says, to the last letter: for `pytest.raises(..., match=whole(text))`."""

from __future__ import annotations

import re


def whole(text: str) -> str:
    """Return the pattern that this text matches, and no other."""
    return rf"\A{re.escape(text)}\Z"
