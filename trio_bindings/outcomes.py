"""What becomes of a call where it has no result, each with a type of its own (rule R27).

* `NoResultError`, never raised itself: the call has no result.

  * `CallFailedError`: the server answered with an error.
  * `CallLostError`: the call ran, and its result is lost.
  * `OutcomeUnknownError`: nobody can tell whether the call ran.
  * `CallNotRunError`: the call certainly did not run.
  * `CallCancelledError`: this side cancelled it.
"""

from __future__ import annotations

from mcpstreams_sansio.client.effects import (
    CallCancelled,
    CallFailed,
    CallLost,
    CallNotRun,
    CallResult,
    Doubt,
    NotRun,
    Outcome,
    OutcomeUnknown,
)
from mcpstreams_sansio.client.failures import NOTHING_SAID, Failure, Said
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject
from mcpstreams_sansio.wire.refusals import Reason


def explained(what: str, failure: Failure | None, said: Said) -> str:
    """Return what happened, why, and what the server said of it: `client failed: handshake refused (403: not here)`."""
    reason = what if failure is None else f"{what}: {failure.value}"
    return f"{reason} ({said})" if said != NOTHING_SAID else reason


class NoResultError(Exception):
    """A call has no result."""


class CallFailedError(NoResultError):
    """The server answered the call with an error."""

    def __init__(self, error: ErrorResponse) -> None:
        super().__init__(error.message)
        self.error = error


class CallLostError(NoResultError):
    """The call ran, and its result cannot be had any more."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class OutcomeUnknownError(NoResultError):
    """The call may or may not have run; it was not sent again to find out."""

    def __init__(self, doubt: Doubt, failure: Failure | None = None, said: Said = NOTHING_SAID) -> None:
        super().__init__(explained(doubt.value, failure, said))
        self.doubt = doubt
        self.failure = failure
        self.said = said


class CallNotRunError(NoResultError):
    """The call certainly did not run: it may be made again."""

    def __init__(self, why: NotRun, failure: Failure | None = None, said: Said = NOTHING_SAID) -> None:
        super().__init__(explained(why.value, failure, said))
        self.why = why
        self.failure = failure
        self.said = said


class CallCancelledError(NoResultError):
    """The call was cancelled on this side."""

    def __init__(self) -> None:
        super().__init__("the call was cancelled")


def result_of(outcome: Outcome) -> JSONObject:
    """Return the result of a call.

    Raises:
        NoResultError: There is none; the type says why.
    """
    match outcome:
        case CallResult(result=result):
            return result
        case CallFailed(error=error):
            raise CallFailedError(error)
        case CallLost(reason=reason):
            raise CallLostError(reason)
        case OutcomeUnknown(doubt, failure, said):
            raise OutcomeUnknownError(doubt, failure, said)
        case CallNotRun(why, failure, said):
            raise CallNotRunError(why, failure, said)
        case CallCancelled():
            raise CallCancelledError
