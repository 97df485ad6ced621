"""What an application writes on the server's side: `async def handler(call)` (rule R27)."""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias, TypeVarTuple, assert_never, final

import attrs
import trio

from mcpstreams_sansio.errors import INTERNAL_ERROR
from mcpstreams_sansio.ids import RequestId, StreamId
from mcpstreams_sansio.server.calls import Peer
from mcpstreams_sansio.server.effects import AskAnswered, AskFailed, AskFailure, StartCall
from mcpstreams_sansio.server.inputs import AskPeer, OpenStream, ReleaseStream, SendMessage, ServerOrder, WithdrawAsk
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject, Notification, Response
from mcpstreams_sansio.wire.progress import progress_notification, progress_token
from mcpstreams_sansio.wire.streams import ResumeInterval
from trio_bindings.entropy import fresh_ask_id, fresh_token
from trio_bindings.errors import AskRejectedError, AskUnansweredError, CallError

ArgumentTs = TypeVarTuple("ArgumentTs")

SHOWN_OF_A_METHOD: Final = 60
"""Characters of its method that a call shows of itself."""

_logger = logging.getLogger("trio_bindings")


@attrs.define(eq=False)
class Question:
    """A question to the client that a handler waits for."""

    settled: trio.Event = attrs.field(factory=trio.Event)
    outcome: Response | ErrorResponse | AskFailure | None = None


@final
class Work:
    """What the server knows of one handler at work; `Call` is its face for the application."""

    def __init__(
        self,
        start: StartCall,
        submit: Callable[[ServerOrder], None],
        abandonment_of: Callable[[StreamId], float | None],
    ) -> None:
        self.start = start
        self.submit = submit
        self.abandonment_of = abandonment_of
        self.scope = trio.CancelScope()
        """Runs the handler; cancelled when nobody can receive its result any more."""
        self.room = trio.Event()
        """Set while the stream takes messages (rule R10)."""
        self.room.set()
        self.questions: dict[str, Question] = {}

    def hold(self) -> None:
        """Let the handler wait before it sends more."""
        self.room = trio.Event()

    def settle(self, effect: AskAnswered | AskFailed) -> None:
        """Give the handler the outcome of a question, unless it no longer waits for it."""
        if (question := self.questions.get(effect.ask_id)) is not None:
            question.outcome = effect.answer if isinstance(effect, AskAnswered) else effect.failure
            question.settled.set()


@final
class Call:
    """One request of a client, as the handler sees it. It stays valid on whatever connection the client comes back.

    The handler returns the result object, or raises `CallError`. It is cancelled when nobody can receive its result
    any more.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._stream_id = work.start.stream_id

    def __repr__(self) -> str:
        method = repr(self.method[:SHOWN_OF_A_METHOD])  # what a client sends may be long, and no text
        return f"<Call {method}: {'resumable' if self.resumable else 'not resumable'}>"

    @property
    def method(self) -> str:
        """What the client wants."""
        return self._work.start.request.method

    @property
    def params(self) -> JSONObject:
        """The arguments; empty where the request has none."""
        return self._work.start.request.params or {}

    @property
    def peer(self) -> Peer:
        """What the client said of itself."""
        return self._work.start.peer

    @property
    def resumable(self) -> bool:
        """Whether the call goes on when its connection is lost."""
        return self._work.start.resumable

    @property
    def deadline(self) -> float:
        """When the call is cancelled if its client stays away, on Trio's clock; `math.inf` while nothing threatens it.

        It is true of this moment: a loss of the connection sets it, a poll puts it off, and the client's return takes
        it away. It is `math.inf` for a call that runs on although its client never comes back.
        """
        moment = self._work.abandonment_of(self._stream_id)
        return math.inf if moment is None else moment

    async def notify(self, method: str, params: JSONObject | None = None) -> None:
        """Send the client a notification of this call, in order and, on a resumable call, exactly once.

        It returns as soon as the notification is kept for the client, connected or not. It waits while as much is kept
        as may be (rule R10).

        Raises:
            LocalProtocolError: It cannot be sent; nothing was.
        """
        await self._send(Notification(method, params))

    async def _send(self, message: Notification) -> None:
        await trio.lowlevel.checkpoint()
        while not self._work.room.is_set():
            await self._work.room.wait()
        self._work.submit(SendMessage(self._stream_id, message))

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Send progress, if the client asked for it.

        Args:
            progress: How far the work is; has to rise from one time to the next.
            total: Where it ends, if known.
            message: What is being done.
        """
        if (token := progress_token(self.params)) is None:
            await trio.lowlevel.checkpoint()
            return
        await self._send(progress_notification(token, progress, total, message))

    async def ask(self, method: str, params: JSONObject | None = None) -> JSONObject:
        """Ask the client something inside this call, and return its answer, whichever connection brings it.

        Leaving early, by cancellation, tells the client that no answer is wanted any more.

        Raises:
            AskRejectedError: The client answered with an error.
            AskUnansweredError: No answer came, and none will.
            LocalProtocolError: It cannot be asked; nothing was.
        """
        await trio.lowlevel.checkpoint()
        ask_id = fresh_ask_id()
        question = self._work.questions[ask_id] = Question()
        try:
            self._work.submit(AskPeer(self._stream_id, ask_id, method, params))
            await self._wait_for(question, ask_id)
        finally:
            del self._work.questions[ask_id]
        match question.outcome:
            case Response(result=result):
                return result
            case ErrorResponse() as error:
                raise AskRejectedError(error)
            case AskFailure() as failure:
                # If the call is over, and the question with it, the handler is cancelled: that comes first.
                await trio.lowlevel.checkpoint_if_cancelled()
                raise AskUnansweredError(failure)
            case None:
                raise AssertionError("a settled question has an outcome")
            case never:
                assert_never(never)

    async def _wait_for(self, question: Question, ask_id: str) -> None:
        try:
            await question.settled.wait()
        except trio.Cancelled:
            if not question.settled.is_set():
                self._work.submit(WithdrawAsk(self._stream_id, ask_id))
            raise

    def open_stream(self, interval: ResumeInterval | None = None) -> None:
        """Let the call survive a loss of its connection although its policy said nothing of that (rule R18).

        It has an effect before the first message only, and with a client that can come back.

        Args:
            interval: When the client may come back; by default, as the server's limits say.
        """
        self._work.submit(OpenStream(self._stream_id, fresh_token(), interval or ResumeInterval()))

    def release(self) -> None:
        """Let go of the connection, not of the call: the client comes back by itself, nothing is lost (rule H15)."""
        self._work.submit(ReleaseStream(self._stream_id))


Handler: TypeAlias = Callable[[Call], Awaitable[JSONObject]]
"""Serves every request that is the application's: `call.method` says what it is."""


async def outcome_of(
    request_id: RequestId, handler: Callable[[*ArgumentTs], Awaitable[JSONObject]], *arguments: *ArgumentTs
) -> Response | ErrorResponse:
    """Run a handler and return what to answer. An exception that is no `CallError` tells the peer nothing of itself."""
    try:
        return Response(request_id, await handler(*arguments))
    except Exception as error:
        if isinstance(cause := _only_cause(error), CallError):
            return ErrorResponse(request_id, cause.code, cause.message, cause.data)
        return internal_error(request_id, error)


async def outcome_within(
    scope: trio.CancelScope,
    request_id: RequestId,
    handler: Callable[[*ArgumentTs], Awaitable[JSONObject]],
    *arguments: *ArgumentTs,
) -> Response | ErrorResponse | None:
    """Run a handler in a scope and return what to answer; None if the scope was cancelled, so that nobody needs it.

    A handler that fails while it is cancelled harms nobody else: what the scope leaves of its group ends here.
    """
    outcome = None
    try:
        with scope:
            outcome = await outcome_of(request_id, handler, *arguments)
    except Exception as error:
        outcome = internal_error(request_id, error)
    return None if scope.cancel_called else outcome


def internal_error(request_id: RequestId, error: Exception) -> ErrorResponse:
    """Log a fault of the application and return the answer that hides it."""
    _logger.error("a handler failed", exc_info=error)
    return ErrorResponse(request_id, INTERNAL_ERROR, "Internal error")


def _only_cause(error: Exception) -> Exception:
    """Return the one exception that a nursery of the handler wrapped into a group, or into groups of groups."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
