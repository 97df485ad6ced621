"""What a peer is told that is no entry of a stream: it waits for no entry, and it waits for the records (R9, R15).

A refusal, a poll's result, an acceptance or the end of a stream tells of what was recorded before it, if only that
something is not there. So all of them take one way, in one order: a connection holds them back until everything
recorded so far is durable, and if it never will be, whoever asked is told that instead.
"""

from __future__ import annotations

from typing import assert_never

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.ids import RequestId
from mcpstreams_sansio.server import attachments
from mcpstreams_sansio.server.gate import ReplyAllowed
from mcpstreams_sansio.server.outbox import Acceptance, Answer, Connection, Farewell, Phase, RefusalStatus, Telling
from mcpstreams_sansio.server.registry import Registry
from mcpstreams_sansio.wire.jsonrpc import Response, encode_message
from mcpstreams_sansio.wire.refusals import Reason, refusal


def answer(registry: Registry, path: Connection, response: Response) -> None:
    """Answer a request with a result."""
    tell(registry, path, Answer(encode_message(response), response.id))


def refuse(
    registry: Registry,
    path: Connection,
    request_id: RequestId | None,
    reason: Reason,
    *,
    first_available: int | None = None,
    lost: int | None = None,
    retry_after: float | None = None,
) -> None:
    """Answer a request with a refusal. Without an id it is told only where the transport can (rule D2)."""
    if request_id is not None or path.framing is Framing.HTTP:
        error = refusal(request_id, reason, first_available=first_available, lost=lost, retry_after=retry_after)
        tell(registry, path, Answer(encode_message(error), request_id, RefusalStatus(reason, retry_after)))


def accept(registry: Registry, path: Connection) -> None:
    """Accept what has no answer: of that only an HTTP exchange hears anything (rule H9)."""
    if path.framing is Framing.HTTP:
        tell(registry, path, Acceptance())


def tell(registry: Registry, path: Connection, telling: Telling) -> None:
    """Tell a peer something once everything recorded so far is durable."""
    if registry.gate.admit(ReplyAllowed(path.connection_id)):
        _say(registry, path, telling)
        return
    path.hold_back(telling)
    registry.touch(path.connection_id)  # what is held back may be more than a connection may hold


def let_out(registry: Registry, allowed: ReplyAllowed) -> None:
    """Say what was held back longest on a connection: the records that it tells of are durable."""
    path = registry.connections[allowed.connection_id]
    _say(registry, path, path.next_held())


def withdraw(registry: Registry, allowed: ReplyAllowed) -> None:
    """Own up, in place of what was held back longest on a connection: the records that it tells of are lost."""
    path = registry.connections[allowed.connection_id]
    match path.next_held():
        case Answer(request_id=request_id):
            refuse(registry, path, request_id, Reason.LOG_FAILED)
        case Acceptance():
            refuse(registry, path, None, Reason.LOG_FAILED)
        case Farewell(request_id=request_id):
            if request_id is not None:
                refuse(registry, path, request_id, Reason.LOG_FAILED)
            _say(registry, path, Farewell((), None))
        case never:
            assert_never(never)


def _say(registry: Registry, path: Connection, telling: Telling) -> None:
    match telling:
        case Answer(payload, _, refused):
            path.refusal = refused
            path.reply(payload)
        case Acceptance():
            if path.phase is Phase.UNDECIDED:
                path.phase = Phase.ACCEPTED
        case Farewell(payloads):
            if path.framing is Framing.HTTP:
                attachments.end_body(registry, path)
            for payload in payloads:
                path.reply(payload)
        case never:
            assert_never(never)
    registry.touch(path.connection_id)
