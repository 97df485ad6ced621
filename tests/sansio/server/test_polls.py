"""A poll's flags, held against what a resume would really bring (rules Q8, R8)."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.connections import Framing, Write
from mcpstreams_sansio.ids import ConnectionId, Principal, RequestId, StreamId
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.inputs import ConnectionOpened, ResumeReceived, Scope
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Request, Response, decode_message
from tests.sansio.server.conversation import MARKER, Client, Conversation, token_of
from tests.sansio.server.words import gist

S1 = StreamId("s1")


@attrs.define(eq=False)
class Life:
    """A call that goes on while its client comes and goes, and somebody who polls."""

    talk: Conversation
    client: Client
    poller: Client
    count: int = 0
    open: set[RequestId] = attrs.field(factory=set)
    """The questions that nobody has answered."""

    def say(self) -> None:
        if self.working:
            self.count += 1
            self.talk.say(self.count)

    def ask(self) -> None:
        if self.working:
            self.count += 1
            self.open.add(f"q{self.count}")
            self.talk.ask(f"q{self.count}")

    def answer(self) -> None:
        self.open.discard(f"q{self.count}")
        self.poller.answer(f"q{self.count}")

    def withdraw(self) -> None:
        self.open.discard(f"q{self.count}")
        self.talk.withdraw(f"q{self.count}")

    def respond(self) -> None:
        if self.working:
            self.talk.respond()

    def fail(self) -> None:
        if self.working:
            self.talk.fail()

    def report_an_error(self) -> None:
        if self.working:
            self.talk.respond(result={"isError": True})

    def cut(self) -> None:
        if self.client.open:
            self.client.lose()

    def come_back(self) -> None:
        self.cut()
        self.count += 1
        self.client = self.talk.connect(Framing.MESSAGES, principal="ann")
        self.client.resume(f"resume {self.count}", attempt=f"a.{self.count}")

    def acknowledge(self) -> None:
        log = self.talk.machine._registry.streams[S1].log
        self.poller.ack((log.confirmed + log.sent + 1) // 2, token=token_of("s1"))

    @property
    def working(self) -> bool:
        return self.talk.state() in (StreamState.LIVE, StreamState.DETACHED)

    def would_get(self) -> list[Request | Response | ErrorResponse | str]:
        """Return what a resume without a cursor would bring besides `create`, `end` and its own result."""
        fork, new = self.talk.machine.fork(), ConnectionId(1_000)
        fork.handle(ConnectionOpened(new, Framing.MESSAGES, Scope("new"), Principal("ann")), self.talk.now)
        effects = fork.handle(ResumeReceived(new, "resume", S1, token_of("s1")), self.talk.now)
        chunks = [chunk for effect in effects if isinstance(effect, Write) for chunk in effect.chunks]
        messages = [decode_message(chunk) for chunk in chunks]
        return [
            gist(message) if not isinstance(message, Request | Response | ErrorResponse) else message
            for message in messages
            if gist(message) not in ("create", "end", "result resume")
        ]


STEPS = [
    Life.say,
    Life.say,
    Life.ask,
    Life.answer,
    Life.withdraw,
    Life.respond,
    Life.fail,
    Life.report_an_error,
    Life.cut,
    Life.come_back,
    Life.acknowledge,
]


def reports_an_error(message: object) -> bool:
    is_result = isinstance(message, Response) and message.result.get("isError") is True
    return is_result or isinstance(message, ErrorResponse)


@pytest.mark.rule("Q8b", "Q8c", "R8")
@given(steps=st.lists(st.sampled_from(STEPS), max_size=25), max_stream_bytes=st.sampled_from([1_000, 100_000]))
def test_a_poll_says_of_a_detached_stream_what_a_resume_would_bring(
    steps: list[Callable[[Life], None]], max_stream_bytes: int
) -> None:
    talk = Conversation(StreamsConfig(max_stream_bytes=max_stream_bytes, max_write_bytes=10**6, keepalive=None))
    client = talk.connect(Framing.MESSAGES, principal="ann")
    life = Life(talk, client, talk.connect(Framing.MESSAGES, principal="ann"))
    client.call("call", peer=MARKER, attempt="a.0")
    for step in steps:
        if talk.state() is not StreamState.GONE:
            step(life)
    if talk.state() is StreamState.GONE:
        assert life.poller.poll() == "completed"
        return
    life.cut()
    brought = life.would_get()
    if not life.working:
        life.open.clear()
    expected = [
        "live" if life.working else "completed",
        *(["pending"] if brought else []),
        *(["request"] if any(isinstance(message, Request) and message.id in life.open for message in brought) else []),
        *(["error"] if any(map(reports_an_error, brought)) else []),
    ]
    assert life.poller.poll() == " ".join(expected)


# --------------------------------------------------------------------------------------------------- while it goes on


@pytest.mark.rule("Q8b", "R8")
def test_what_its_connection_was_given_is_not_pending() -> None:
    talk = Conversation()
    line, poller = talk.connect(), talk.connect()
    line.call()
    assert poller.poll() == "live"
    talk.say(1)
    assert poller.poll() == "live"
    line.reads = False
    talk.say(2, 3)
    assert poller.poll() == "live pending"
    line.lose()
    assert poller.poll() == "live pending", "for all that anybody knows"


@pytest.mark.rule("Q8c")
def test_an_error_that_its_client_has_is_not_pending() -> None:
    talk = Conversation()
    line, poller = talk.connect(), talk.connect()
    line.call(peer=MARKER)
    talk.fail()
    assert poller.poll() == "completed pending error"
    line.ack(1)
    assert poller.poll() == "completed pending error"
    line.ack(2)
    assert poller.poll() == "completed"


@pytest.mark.rule("Q8b", "R10")
def test_what_was_dropped_for_room_is_not_pending() -> None:
    talk = Conversation(StreamsConfig(max_total_bytes=2_000, keep_bytes=1))
    first, second = talk.connect(), talk.connect()
    first.call(1, "s1")
    talk.say(1, stream="s1", size=1_500)
    first.lose()
    assert second.poll("s1") == "live pending"
    second.call(2, "s2")
    talk.say(2, stream="s2", size=100)
    second.call(3, "s3")
    assert second.poll("s1") == "live"
