"""`ServerStreams` as one machine: total, atomic, repeatable, and never surprised by anything it is told (rule R13)."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Iterator

import pytest

from mcpstreams_sansio.connections import (
    ConnectionLost,
    DeadlineReached,
    Framing,
    Write,
    Written,
)
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.ids import ConnectionId, StreamId
from mcpstreams_sansio.server import streams as streams_module
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.inputs import (
    AckReceived,
    AnswerReceived,
    CancelledReceived,
    ConnectionOpened,
    Drain,
    LogFailed,
    Recover,
    Reply,
    ResumeReceived,
    Scope,
    SendMessage,
    StreamsInput,
)
from mcpstreams_sansio.server.recovery import Recorded
from mcpstreams_sansio.server.streams import ServerStreams
from mcpstreams_sansio.wire.jsonrpc import Notification, Response
from mcpstreams_sansio.wire.streams import ResumeInterval
from tests.sansio.server.conversation import KEY, MARKER, Conversation, token_of


def members(union: object) -> Iterator[type]:
    """Yield the classes of a union, as deep as it goes."""
    for member in typing.get_args(union):
        if isinstance(member, type):
            yield member
        else:
            yield from members(member)


INPUTS = sorted(members(StreamsInput), key=lambda member: member.__name__)


# ----------------------------------------------------------------------------------------------------------- dispatch


APPLIED = [Recorded if kind is Recover else kind for kind in INPUTS]
"""What is applied of each input: itself, but for a log what its records say, since only that is known to be sound."""


def test_every_input_has_its_function_and_nothing_else_has() -> None:
    assert set(streams_module._APPLY) == set(APPLIED)


@pytest.mark.parametrize("kind", APPLIED, ids=lambda kind: kind.__name__)
def test_the_function_of_an_input_takes_what_is_applied_of_it(kind: type[StreamsInput | Recorded]) -> None:
    function = streams_module._APPLY[kind]
    hints = typing.get_type_hints(function)
    _, event = inspect.signature(function).parameters
    assert hints[event] is kind
    assert hints["return"] is type(None)


# ---------------------------------------------------------------------------------------------------------- as a whole


def test_the_limits_it_was_made_with_can_be_asked() -> None:
    config = StreamsConfig(window=5)
    assert ServerStreams(config).config is config
    assert ServerStreams().config == StreamsConfig()


def test_it_knows_the_highest_connection_and_the_state_of_each_stream() -> None:
    talk = Conversation()
    assert talk.machine.highest_connection == -1
    talk.connect().call()
    assert talk.machine.highest_connection == 0
    assert (talk.state("s1"), talk.state("s2")) == (0, None)


def test_a_check_raises_what_handling_would_and_changes_nothing() -> None:
    talk = Conversation()
    talk.connect().call()
    before = talk.machine.snapshot(0)
    talk.machine.check(SendMessage(StreamId("s1"), Notification("notifications/message")))
    with pytest.raises(LocalProtocolError, match=r"\Athere never was such a connection\Z"):
        talk.machine.check(Written(ConnectionId(1)))
    assert talk.machine.snapshot(0) == before


@pytest.mark.rule("R13", "Q7h")
def test_a_late_wake_up_changes_nothing_and_an_early_one_does_nothing() -> None:
    punctual, late = (Conversation(StreamsConfig(keepalive=None, takeover_interval=0)) for _ in range(2))
    for talk in (punctual, late):
        talk.connect().call(interval=ResumeInterval(max=60))
        talk.clients[ConnectionId(0)].lose()
    for second in (10, 20, 60):
        punctual.now = second
        punctual.submit(DeadlineReached())
    late.now = 61
    punctual.now = 61
    for talk in (punctual, late):
        other = talk.connect()
        other.resume()
        assert other.heard() == ["error 9 abandoned"]
    assert punctual.effects == late.effects


def test_several_inputs_at_once_share_the_next_write() -> None:
    talk = Conversation()
    line = talk.connect()
    for number in range(3):
        line.call(number, f"s{number}")
    line.lose()
    talk.machine.handle(ConnectionOpened(ConnectionId(1), Framing.LINES, Scope("other")), 0)
    resumes = [ResumeReceived(ConnectionId(1), f"r{n}", StreamId(f"s{n}"), token_of(f"s{n}")) for n in range(3)]
    effects = talk.machine.handle_all(resumes, 0)
    [write] = [effect for effect in effects if isinstance(effect, Write)]
    assert len(write.chunks) == 3


def test_a_fork_goes_its_own_way() -> None:
    talk = Conversation(StreamsConfig(durable=True))
    line = talk.connect()
    line.call(peer=MARKER, key=KEY, attempt="a.1")
    talk.ask("q1")
    talk.say(1)
    before = talk.machine.snapshot(0)
    fork = talk.machine.fork()
    assert fork.snapshot(0) == before
    for event in (
        AnswerReceived(ConnectionId(0), Response("q1", {})),
        AckReceived(ConnectionId(0), StreamId("s1"), 2),
        CancelledReceived(ConnectionId(0), 7),
        ConnectionLost(ConnectionId(0)),
        Drain(),
        LogFailed("full"),
    ):
        fork.handle(event, 10)
    assert talk.machine.snapshot(0) == before
    assert fork.snapshot(0) != before


@pytest.mark.rule("R14")
def test_a_snapshot_forgets_a_takeover_that_hinders_nobody_any_more() -> None:
    talk = Conversation(StreamsConfig(keepalive=None, takeover_interval=5))
    line, other = talk.connect(), talk.connect()
    line.call()
    other.resume()
    snapshots = [talk.machine.snapshot(moment) for moment in (0, 4, 5, 2_000)]
    assert len(set(snapshots)) == 3
    assert snapshots[2] == snapshots[3]


@pytest.mark.rule("Q9e")
def test_a_snapshot_tells_which_of_two_calls_an_id_names() -> None:
    snapshots = []
    for order in (("s1", "s2"), ("s2", "s1")):
        talk = Conversation()
        for stream in ("s1", "s2"):
            talk.exchange().call(7, stream)
            talk.respond(stream)
        for stream in order:
            talk.exchange().resume(9, stream)
        snapshots.append(talk.machine.snapshot(0))
        talk.observed()
        talk.exchange().cancelled(7)
        assert talk.observed() == [f"{order[1]} gone: cancelled"]
    assert snapshots[0] != snapshots[1]


@pytest.mark.rule("R13")
def test_of_inputs_that_come_at_once_those_before_a_wrong_one_count() -> None:
    machine, other = ServerStreams(), ServerStreams()
    opened = ConnectionOpened(ConnectionId(1), Framing.LINES, Scope("a"))
    pong = Reply(ConnectionId(1), Response("p", {}))
    wrong = Reply(ConnectionId(2), Response("p", {}))
    with pytest.raises(LocalProtocolError, match=r"\Athere never was such a connection\Z"):
        machine.handle_all([opened, pong, wrong, pong], 0.0)
    assert machine.handle(DeadlineReached(), 0.0) == other.handle_all([opened, pong], 0.0) != []
    assert machine.snapshot(0.0) == other.snapshot(0.0)
