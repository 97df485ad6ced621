"""The delivery rules R11 to R18: connections, and the five ways in which an attachment ends."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.server.calls import BodyPolicy, Peer, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import BodyKind, WriteLog
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.wire.refusals import Reason, Refusal, read_refusal
from tests.sansio.server.conversation import DRAFT, KEY, MARKER, STOCK, Client, Conversation, Way, token_of
from tests.sansio.server.words import gist


def messages(client: Client) -> list[str]:
    """Return every message that a client was sent, without the frames around it."""
    return [gist(message) for message in client.messages]


@pytest.mark.rule("R11")
def test_r11_one_write_and_one_batch_are_outstanding_whatever_is_said() -> None:
    talk = Conversation(StreamsConfig(durable=True), prompt_disk=False)
    line = talk.connect()
    line.reads = False
    line.call()
    for number in range(10):
        talk.say(number)
    assert [type(effect) for effect in talk.effects].count(WriteLog) == 1
    talk.sync()
    talk.sync()
    assert messages(line) == ["create"]


@pytest.mark.rule("R11")
def test_r11_a_connection_that_does_not_read_holds_up_no_other() -> None:
    talk = Conversation()
    slow, quick = talk.connect(), talk.connect()
    slow.reads = False
    slow.call(1, "s1")
    quick.call(2, "s2")
    talk.say(1, stream="s1")
    talk.say(1, stream="s2")
    assert messages(quick) == ["create", "progress 1"]


@pytest.mark.rule("R14")
def test_r14_a_late_attempt_never_takes_over_and_the_newest_always_does() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(peer=MARKER, attempt="a.1")
    second, third, fourth = (talk.connect() for _ in range(3))
    third.resume(9, attempt="a.3")
    second.resume(9, attempt="a.2")
    fourth.resume(9, attempt="b.1")
    third.resume(10, attempt="a.3")
    assert messages(line) == ["create", "error 7 superseded"]
    assert messages(second) == ["error 9 superseded"]
    assert messages(third) == ["create", "error 9 superseded", "error 10 superseded"]
    assert messages(fourth) == ["create"]


@pytest.mark.rule("R14")
def test_r14_a_refused_attempt_does_not_count() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(peer=MARKER, attempt="a.1")
    line.lose()
    other = talk.connect()
    other.resume(9, after=99, attempt="a.5")
    other.resume(10, attempt="a.2")
    assert messages(other) == ["error 9 invalid_cursor", "create"]


@pytest.mark.rule("R14", "Q3d")
def test_r14_every_request_that_waits_on_the_fenced_connection_is_told() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call(7, peer=MARKER, attempt="a.1")
    for number in (2, 3):
        line.resume(number, attempt=f"a.{number}")
    assert messages(line) == ["create", "create", "error 2 superseded", "create"], "7 is still to be answered here"
    other.resume(9, attempt="a.4")
    assert messages(line)[-2:] == ["error 3 superseded", "error 7 superseded"]
    talk.respond()
    assert messages(other) == ["create", "result 7", "end", "result 9"]


@pytest.mark.rule("R14")
def test_r14_what_was_answered_on_the_fenced_connection_is_not_answered_again() -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=1))
    line, other = talk.connect(), talk.connect()
    line.call(7, peer=MARKER, attempt="a.1")
    line.resume(8, after=1, attempt="a.2")
    line.reads = False
    talk.respond()
    line.ack(0)
    assert messages(line) == ["create", "result 7"], "and not yet the end"
    other.resume(9, after=1, attempt="a.3")
    line.reads = True
    line.take()
    assert messages(line) == ["create", "result 7", "error 8 superseded"]


@pytest.mark.rule("R14", "Q11h")
def test_r14_the_attempts_of_so_many_clients_are_remembered() -> None:
    talk = Conversation(StreamsConfig(max_instances=2))
    line = talk.connect()
    line.call(peer=MARKER, attempt="a.9")
    for number, instance in enumerate("bc"):
        line.resume(number, attempt=f"{instance}.1")
    assert messages(line)[-1] == "create"
    line.resume(10, attempt="b.1")
    assert messages(line)[-1] == "error 10 superseded"
    line.resume(11, attempt="a.1")
    assert messages(line)[-1] == "create"


@pytest.mark.rule("Q11h", "P40")
@pytest.mark.parametrize("peer", [MARKER, DRAFT])
def test_a_stream_is_attached_so_often_in_a_row_and_then_at_a_rate(peer: Peer) -> None:
    talk = Conversation(StreamsConfig(max_resumes=3, resume_interval=2.0, takeover_interval=0))
    talk.connect().call(7, peer=peer)
    talk.wait(0.5)
    others = [talk.connect() for _ in range(6)]
    for number, other in enumerate(others):
        if number == 5:
            talk.wait(2.0)
        other.resume(9, attempt=f"a.{number}" if peer.marker else None)
    answers = [messages(other)[0] for other in others]
    assert answers == ["create", "create", "create", "error 9 too_early", "error 9 too_early", "create"]
    others[-1].lose()
    late = talk.connect()
    late.resume(9, attempt="b.1" if peer.marker else None)
    assert read_refusal(late.error) == Refusal(Reason.TOO_EARLY, retry_after=2.0), "attached or not"
    assert late.poll() == "live", "to ask is no resume"
    talk.wait(6)
    for number in range(3):
        talk.connect().resume(9, attempt=f"c.{number}" if peer.marker else None)
    assert talk.observed()[-1] == "s1 attached to 10"


@pytest.mark.rule("Q11h", "R21")
def test_a_call_that_is_sent_again_and_again_counts_as_resumes_do() -> None:
    talk = Conversation(StreamsConfig(max_resumes=2, resume_interval=2.0))
    line = talk.connect()
    for number in range(4):
        line.call(7, f"s{number}", peer=MARKER, key=KEY, attempt=f"a.{number}", token=token_of("s0"))
    assert messages(line) == ["create", "create", "create", "error 7 too_early"]


@pytest.mark.rule("R15")
@pytest.mark.parametrize("framing", [Framing.LINES, Framing.HTTP])
@pytest.mark.parametrize("ending", ["finished", "released", "superseded", "cancelled", "lost"])
def test_r15_an_attachment_ends_in_one_of_five_ways_and_says_which(framing: Framing, ending: str) -> None:
    talk = Conversation()
    talk.connect(principal="ann").call()
    talk.wait(1)
    on_http = framing is Framing.HTTP
    client = talk.exchange(principal="ann") if on_http else talk.connect(principal="ann")
    client.resume(after=1)
    client.heard()
    talk.wait(1)
    match ending:
        case "finished":
            talk.respond()
        case "released":
            talk.release()
        case "superseded":
            talk.connect(principal="ann").resume(10)
        case "cancelled":
            (talk.exchange(principal="ann") if on_http else client).cancelled(9)
        case _:
            client.lose()
    told = {
        "finished": ["2 result 7", "3 end", "- result 9"] if on_http else ["result 7", "end", "result 9"],
        "released": ["retry 1000"] if on_http else ["result 9"],
        "superseded": ["retry 30000"] if on_http else ["error 9 superseded"],
        "cancelled": [],
        "lost": [],
    }
    assert client.heard() == told[ending]
    ended = on_http and ending != "lost"
    assert client.way is (Way.ENDED if ended else Way.LOST if ending == "lost" else Way.OPEN)
    attached = {"finished": StreamState.COMPLETED, "superseded": StreamState.LIVE}
    assert talk.state() is attached.get(ending, StreamState.DETACHED)


@pytest.mark.rule("R16")
def test_r16_when_a_session_ends_announced_streams_are_detached_and_silent_ones_go() -> None:
    talk = Conversation()
    announced, silent, fleeting, foreign = (talk.exchange(name) for name in "aaab")
    announced.call(1, "announced")
    silent.call(2, "silent", peer=STOCK)
    fleeting.call(3, "fleeting", peer=STOCK, kind=StreamKind.FLEETING, body=BodyPolicy.NEVER)
    foreign.call(4, "foreign", peer=STOCK)
    talk.application()
    talk.end_session("a")
    assert talk.application() == ["cancel silent: session ended", "cancel fleeting: session ended"]
    assert announced.heard() == ["0", "1 create"]
    assert silent.heard() == ["0"]
    assert [client.way for client in (announced, silent, fleeting, foreign)] == [*[Way.ENDED] * 3, Way.OPEN]
    assert [talk.state(name) for name in ("announced", "silent", "fleeting", "foreign")] == [
        StreamState.DETACHED,
        None,
        None,
        StreamState.LIVE,
    ]


@pytest.mark.rule("R16")
def test_r16_a_stream_that_waits_for_its_token_outlives_the_session_undisturbed() -> None:
    talk = Conversation()
    exchange = talk.exchange("a")
    exchange.call()
    exchange.lose()
    talk.observed()
    talk.end_session("a")
    assert talk.observed() == []
    assert talk.state() is StreamState.DETACHED


@pytest.mark.rule("R17", "Q12", "Q13")
@pytest.mark.parametrize("case", ["unknown", "foreign session", "foreign principal", "over", "fleeting", "too high"])
def test_r17_a_cursor_attaches_what_this_session_knows_and_all_else_looks_alike(case: str) -> None:
    talk = Conversation()
    exchange = talk.exchange("a", principal="ann")
    kind = StreamKind.FLEETING if case == "fleeting" else StreamKind.SILENT
    exchange.call(peer=STOCK, kind=kind)
    if case == "over":
        talk.exchange("a", principal="ann").cancelled(7)
    session = "b" if case == "foreign session" else "a"
    other = talk.exchange(session, principal="bob" if case == "foreign principal" else "ann")
    other.get(99 if case == "too high" else 0, "s2" if case == "unknown" else "s1")
    assert (other.body, messages(other)) == (BodyKind.JSON, ["error - invalid_cursor"])
    assert other.error.data == {"reason": "invalid_cursor"}


@pytest.mark.rule("R17", "Q13")
def test_r17_a_cursor_attaches_an_announced_stream_of_this_session_as_well() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call()
    exchange.lose()
    talk.respond()
    other = talk.exchange()
    other.get(1)
    assert other.heard() == ["1", "2 result 7", "3 end"]


@pytest.mark.rule("R18")
@pytest.mark.parametrize(
    ("first", "body"),
    [("response", BodyKind.JSON), ("message", BodyKind.EVENTS), ("question", BodyKind.EVENTS), (None, BodyKind.EVENTS)],
)
def test_r18_what_comes_first_within_its_time_decides_the_body(first: str | None, body: BodyKind) -> None:
    talk = Conversation(StreamsConfig(sse_after=0.25))
    exchange = talk.exchange()
    exchange.call(peer=STOCK, body=BodyPolicy.WHEN_NEEDED)
    talk.wait(0.24)
    assert exchange.body is None
    match first:
        case "response":
            talk.respond()
        case "message":
            talk.say(1)
        case "question":
            talk.ask()
        case _:
            talk.wait(0.01)
    assert exchange.body is body


@pytest.mark.rule("R18", "R1")
def test_r18_a_deadline_that_comes_with_the_response_comes_before_it() -> None:
    talk = Conversation(StreamsConfig(sse_after=0.25))
    exchange = talk.exchange()
    exchange.call(peer=STOCK, body=BodyPolicy.WHEN_NEEDED)
    talk.now = 0.25
    talk.respond()
    assert exchange.heard() == ["0", "1 result 7"]


@pytest.mark.rule("R18", "R2")
def test_r18_a_call_that_was_answered_as_json_is_over_since_no_cursor_was_given() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(peer=STOCK, body=BodyPolicy.WHEN_NEEDED)
    talk.respond()
    assert (exchange.body, exchange.heard(), exchange.way) == (BodyKind.JSON, ["result 7"], Way.ENDED)
    assert talk.state() is None
    assert talk.observed() == ["s1 attached to 0", "s1 gone: finished"]


@pytest.mark.rule("R18")
def test_r18_who_accepts_no_events_is_sent_the_response_alone() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(peer=STOCK, kind=StreamKind.SILENT, body=BodyPolicy.NEVER)
    talk.say(1)
    talk.ask("q1")
    talk.wait(100)
    talk.respond()
    assert (exchange.body, exchange.heard()) == (BodyKind.JSON, ["result 7"])
    assert talk.application() == ["start s1", "failed q1: unsupported"]
