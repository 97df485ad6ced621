"""What a handler raises, and what can go wrong for it.

* `CallError`: raised *by* a handler, to answer a request with an error.
* `AskError`, never raised itself: `call.ask` has no result.

  * `AskRejectedError`: the client answered with an error.
  * `AskUnansweredError`: no answer came, and none will.

What a handler itself does wrong is a `LocalProtocolError` of the core.
"""

from __future__ import annotations

from mcpstreams_sansio.errors import METHOD_NOT_FOUND
from mcpstreams_sansio.server.effects import AskFailure
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONValue


class CallError(Exception):
    """Raise it in a handler to answer a request with an error.

    Args:
        code: JSON-RPC error code; an application's own lie outside -32768 to -32000.
        message: One sentence; the peer reads it.
        data: More about it, as JSON.
    """

    def __init__(self, code: int, message: str, data: JSONValue = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    @classmethod
    def method_not_found(cls) -> CallError:
        """Return the answer to a request for something that is not offered."""
        return cls(METHOD_NOT_FOUND, "Method not found")


class AskError(Exception):
    """A question to the client has no result."""


class AskRejectedError(AskError):
    """The client answered the question with an error."""

    def __init__(self, error: ErrorResponse) -> None:
        super().__init__(error.message)
        self.error = error


class AskUnansweredError(AskError):
    """No answer to the question came, and none will."""

    def __init__(self, failure: AskFailure) -> None:
        super().__init__(failure.value)
        self.failure = failure
