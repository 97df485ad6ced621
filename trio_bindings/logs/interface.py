"""What a log has to do for a server whose streams outlive its process (rules R3, R9, R11)."""

from __future__ import annotations

from typing import Protocol

from mcpstreams_sansio.server.records import LogRecord


class StreamLog(Protocol):
    """Keeps records. A server without one keeps its streams in memory, and they end with the process."""

    async def append(self, records: tuple[LogRecord, ...]) -> None:
        """Make records durable, all of them, in order. The next batch comes after this one is done (rule R11).

        Raises:
            OSError: They are not durable, and nothing more can be: the server accepts nothing new from now on (R9).
        """
        ...
