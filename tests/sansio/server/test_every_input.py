"""Every input in every state of a stream, and every other one after it: what the table rules out does not come.

Peers may say anything at any time, and the application may be late with everything that it orders. No guard may let any
of it through to a cell in which it makes no sense; and what the table allows is met, or this would prove nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Final, Self, final

import attrs
import pytest

from mcpstreams_sansio.connections import ConnectionLost, DeadlineReached, EndOfFile, Written
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.ids import ConnectionId, Digest, Entropy, Secret, StreamId
from mcpstreams_sansio.server import stream as module
from mcpstreams_sansio.server.calls import CallPolicy, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import StreamsEffect, WriteLog
from mcpstreams_sansio.server.inputs import (
    Accept,
    AckReceived,
    AnswerReceived,
    AskPeer,
    CallReceived,
    CancelledReceived,
    CancelReceived,
    CursorReceived,
    Drain,
    LogFailed,
    LogWritten,
    OpenStream,
    PollReceived,
    ReleaseStream,
    Respond,
    ResumeReceived,
    ScopeEnded,
    SendMessage,
    StreamsInput,
    WithdrawAsk,
)
from mcpstreams_sansio.server.stream import Stream
from mcpstreams_sansio.server.streams import ServerStreams
from mcpstreams_sansio.server.table import STREAM_TABLE, StreamState
from mcpstreams_sansio.tables import Forbidden
from mcpstreams_sansio.testing import RecordedTable
from mcpstreams_sansio.wire.jsonrpc import Request, Response
from mcpstreams_sansio.wire.marker import Attempt
from tests.sansio.moments import go_everywhere
from tests.sansio.server.conversation import ASK, DRAFT, KEY, MARKER, METHOD, Conversation, progress, token_of
from tests.sansio.server.scenes import (
    NEVER_AGAIN,
    USUALLY,
    Scene,
    asking,
    delivered_again,
    detached_asking,
    draining,
    live,
    resumed,
    silent,
)

S = StreamState

INPUTS: Final = 2
"""How many of them come, one after another."""
STREAM: Final = StreamId("s1")
OTHER: Final = StreamId("s2")
TOKEN: Final = token_of(STREAM)
ATTEMPTS: Final = (Attempt("a", 2), Attempt("b", 1))
ANNOUNCED: Final = CallPolicy(StreamKind.ANNOUNCED)
CALL: Final = Digest(b"the call")


@final
@attrs.frozen
class Moment:
    """A server at some time, and the batch of records that is being written."""

    server: ServerStreams
    now: float
    batch: int | None

    @classmethod
    def after(cls, server: ServerStreams, now: float, effects: list[StreamsEffect], batch: int | None) -> Self:
        """Return the moment after an input."""
        written = [effect.write_id for effect in effects if isinstance(effect, WriteLog)]
        return cls(server, now, written[-1] if written else batch)

    def key(self) -> object:
        """Return what decides the future."""
        return self.server.snapshot(self.now), self.batch


def said(path: ConnectionId, stream: Stream | None) -> Iterator[StreamsInput]:
    """Yield what the peer of a connection may say of the stream, and what may be reported of the connection."""
    produced = 0 if stream is None else stream.log.produced
    yield ResumeReceived(path, 9, STREAM, TOKEN)
    yield ResumeReceived(path, 9, STREAM, TOKEN, None, produced)
    yield from (ResumeReceived(path, 9, STREAM, TOKEN, produced, None, attempt, True) for attempt in ATTEMPTS)
    yield ResumeReceived(path, None, STREAM, TOKEN, None, 1)
    yield from (CursorReceived(path, STREAM, after) for after in (0, produced))
    yield PollReceived(path, 8, STREAM, TOKEN)
    for through in {1, produced - 1, produced}:
        if through > 0:
            yield AckReceived(path, STREAM, through, TOKEN)
            yield AckReceived(path, STREAM, through)
    yield AnswerReceived(path, Response("q1", {}))
    yield CancelReceived(path, 11, STREAM, TOKEN)
    yield from (CancelledReceived(path, asked) for asked in (7, 9))
    yield CallReceived(path, OTHER, Request(8, METHOD), DRAFT, ANNOUNCED, token_of(OTHER))
    yield CallReceived(path, OTHER, Request(7, METHOD), MARKER, ANNOUNCED, token_of(OTHER), Secret(KEY), CALL)
    yield from (ConnectionLost(path), EndOfFile(path, Entropy(b"the end of a file")), Written(path), Accept(path))


def ordered(stream: Stream | None) -> Iterator[StreamsInput]:
    """Yield what the application may order, and what may become of everything."""
    yield from (SendMessage(STREAM, progress(3)), AskPeer(STREAM, "q1", ASK), AskPeer(STREAM, "q2", ASK))
    yield from (WithdrawAsk(STREAM, "q1"), Respond(STREAM, Response(7, {})), ReleaseStream(STREAM))
    yield from (OpenStream(STREAM, TOKEN, NEVER_AGAIN), SendMessage(OTHER, progress(1, size=4_000)))
    yield from (Drain(), LogFailed("no space left"), DeadlineReached())
    if stream is not None and stream.scope is not None:
        yield ScopeEnded(stream.scope)


def inputs(moment: Moment) -> Iterator[tuple[StreamsInput, float]]:
    """Yield each input that can come next, and when."""
    registry = moment.server._registry
    stream = registry.streams.get(STREAM)
    for path in registry.connections:
        yield from ((event, moment.now) for event in said(path, stream))
    yield from ((event, moment.now) for event in ordered(stream))
    if moment.batch is not None:
        yield LogWritten(moment.batch), moment.now
    if (deadline := moment.server.next_deadline()) is not None:
        yield DeadlineReached(), max(moment.now, deadline)


def what_follows(moment: Moment) -> Iterator[Moment]:
    """Yield each moment that can come next."""
    for event, when in inputs(moment):
        server = moment.server.fork()
        try:
            effects = server.handle(event, when)
        except LocalProtocolError:
            continue  # a driver that makes this mistake is told so
        yield Moment.after(server, when, effects, None if isinstance(event, LogWritten) else moment.batch)


def keyed() -> Scene:
    """Let a call with a key run, whose work has asked something."""
    talk = Conversation(StreamsConfig(max_total_bytes=4_000))
    client = talk.connect(principal="ann")
    client.call(peer=MARKER, key=KEY, attempt="a.1")
    talk.ask()
    return Scene(talk, client, talk.connect(principal="ann"))


def restarted() -> Scene:
    """End the process in which a call ran, and come back from the log."""
    talk = Conversation(StreamsConfig(durable=True, max_total_bytes=4_000))
    talk.connect(principal="ann").call(peer=MARKER, key=KEY, attempt="a.1")
    talk.ask()
    talk.restart()
    return Scene(talk, talk.connect(principal="ann"), talk.connect(principal="ann"))


SITUATIONS: Final[tuple[Callable[[], Scene], ...]] = (
    *USUALLY.values(),
    *(asking, resumed, detached_asking, delivered_again, keyed, restarted),
    *(lambda: live(NEVER_AGAIN), lambda: draining(NEVER_AGAIN)),
    *(functools.partial(silent, state) for state in (S.LIVE, S.DETACHED, S.DRAINING, S.COMPLETED)),
)


def beginning(situation: Callable[[], Scene]) -> Moment:
    talk = situation().talk
    return Moment(talk.machine, talk.now, None if talk.batch is None else talk.batch.write_id)


@pytest.mark.rule("R13")
def test_no_input_reaches_a_cell_that_is_ruled_out_and_every_other_cell_is_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = RecordedTable(STREAM_TABLE)
    monkeypatch.setattr(module, "STREAM_TABLE", table)
    go_everywhere(map(beginning, SITUATIONS), what_follows, Moment.key, INPUTS)
    assert table.unseen() == []
    assert [cell for cell in table.seen() if isinstance(STREAM_TABLE[cell], Forbidden)] == []
