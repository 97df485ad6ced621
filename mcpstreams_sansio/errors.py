"""Whose fault it is, and how to answer.

* `ProtocolError`, never raised itself

  * `LocalProtocolError`: this side's caller broke the contract of a machine or codec.
  * `RemoteProtocolError`: bytes or messages of the peer are unusable.

A refusal that the protocol foresees (unknown stream, wrong token, a call too early, ...) is neither: it is
an effect that carries the reply (rule R13).
"""

from __future__ import annotations

from typing import Final

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603


class ProtocolError(Exception):
    """Base of both protocol errors; catch it to handle either."""

    def __init__(self, message: str) -> None:
        if type(self) is ProtocolError:
            raise TypeError("ProtocolError is abstract: raise LocalProtocolError or RemoteProtocolError")
        super().__init__(message)


class LocalProtocolError(ProtocolError):
    """The caller on this side asked for something that is wrong whatever the time.

    Nothing has changed: the machine or codec is in the state in which it was before the call (rule R13).
    """


class RemoteProtocolError(ProtocolError):
    """The peer sent something that cannot be used.

    The text names what was wrong and never repeats the offending value, so that it is safe to log and to send.

    Args:
        message: What was wrong.
        error_code: The JSON-RPC error code with which to answer.
        http_status: The HTTP status with which to answer where the message came in a request body.
        request_id: The JSON-RPC id of the unusable request, where it could still be read; `None` where there is
            nothing that such an answer could name.
    """

    def __init__(
        self,
        message: str,
        *,
        error_code: int = INVALID_REQUEST,
        http_status: int = 400,
        request_id: str | int | None = None,
    ) -> None:
        super().__init__(message)
        self.error_code = error_code
        self.http_status = http_status
        self.request_id = request_id
