"""Which release this is: what either side says of itself where its application says nothing."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
"""The same as that of the distribution."""
