"""How large a frame may become before it is refused, and how that refusal can be told from others."""

from __future__ import annotations

from typing import Final, final

from mcpstreams_sansio.errors import PARSE_ERROR, RemoteProtocolError

MAX_LINE_SIZE: Final = 4 * 2**20
"""Bytes of a line, unless a decoder is told otherwise: room for a message of 4 MiB."""

MAX_EVENT_SIZE: Final = 4 * 2**20
"""Bytes of the data of one server-sent event, unless a decoder is told otherwise."""


@final
class FrameTooLargeError(RemoteProtocolError):
    """The peer's frame exceeds a limit of this side. Asking for the same frame again would end the same way.

    The text names the limit. It was not read, so no request id is known.
    """

    def __init__(self, message: str, *, error_code: int = PARSE_ERROR, http_status: int = 413) -> None:
        super().__init__(message, error_code=error_code, http_status=http_status)
