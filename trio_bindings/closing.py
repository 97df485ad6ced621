"""How streams end."""

from __future__ import annotations

import contextlib
from typing import Final

import trio

LINGER_SECONDS: Final = 1.0
"""How long the peer may take to close its side after ours: closing at once could destroy what it has yet to read."""

STREAM_FAILURES: Final = (trio.BrokenResourceError, trio.ClosedResourceError)
"""What a stream raises once it is of no use any more, whoever ended it."""


async def close_politely(stream: trio.abc.Stream) -> None:
    """Say that nothing more comes, give the peer the time to hear it, and close. A broken stream is just closed."""
    try:
        with trio.move_on_after(LINGER_SECONDS), contextlib.suppress(*STREAM_FAILURES):
            if isinstance(stream, trio.abc.HalfCloseableStream):
                await stream.send_eof()
                while await stream.receive_some():
                    continue
            else:
                await stream.aclose()
    finally:
        await trio.aclose_forcefully(stream)
