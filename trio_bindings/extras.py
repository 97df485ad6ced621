"""What is installed only if it is asked for, and how that is done."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

PACKAGES = frozenset({"click", "h11", "httpx2", "rich"})
"""What the extras bring."""


@contextlib.contextmanager
def extra(name: str) -> Iterator[None]:
    """Import in the block what an extra brings.

    Args:
        name: The extra.

    Raises:
        ModuleNotFoundError: It is not installed; the text says how to install it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in PACKAGES:
            raise
        text = f"{package} is not installed: pip install 'mcpstreams[{name}]' brings it"
        raise ModuleNotFoundError(text, name=package) from None
