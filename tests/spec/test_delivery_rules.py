"""The delivery rules, one by one, as far as the server's streams carry them: each closes one way to lose a message."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import BodyKind, WriteLog
from mcpstreams_sansio.server.inputs import BodyPolicy, StreamKind
from mcpstreams_sansio.server.records import EntryLogged, StreamOpened
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.wire.meta import read_window
from mcpstreams_sansio.wire.revisions import AfterLoss
from mcpstreams_sansio.wire.tags import read_tag
from tests.sansio.server.conversation import (
    DRAFT,
    KEY,
    MARKER,
    STOCK,
    Client,
    Conversation,
    Way,
    gist,
    token_of,
)


def messages(client: Client) -> list[str]:
    """Return every message that a client was sent, without the frames around it."""
    return [gist(message) for message in client.messages]


# ------------------------------------------------------------------------------------------------------------ the log


@pytest.mark.rule("R1")
def test_r1_entries_count_from_one_and_a_cursor_is_the_last_that_the_client_has() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call()
    talk.say(1)
    exchange.lose()
    everything = ["0", "1 create", "2 progress 1"]
    for request_id, after in enumerate((0, 1, 2)):
        again = talk.exchange()
        again.resume(request_id, after=after)
        assert again.heard() == [str(after), *everything[after + 1 :]]
        again.lose()


@pytest.mark.rule("R1", "R15")
def test_r1_what_is_no_entry_has_no_number() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call()
    talk.ask("q1")
    exchange.lose()
    again = talk.exchange()
    again.resume(after=2)
    talk.wait(15)
    talk.respond()
    assert again.heard() == ["2", "- ask q1", ":", "3 result 7", "4 end", "- result 9"]


@pytest.mark.rule("R2")
def test_r2_the_kind_is_fixed_but_for_a_stream_that_is_still_empty() -> None:
    talk = Conversation()
    lines = [talk.connect() for _ in range(4)]
    lines[0].call(0, "empty", kind=StreamKind.FLEETING)
    lines[1].call(1, "begun", kind=StreamKind.FLEETING)
    lines[2].call(2, "unable", peer=STOCK)
    lines[3].call(3, "announced")
    talk.say(1, stream="begun")
    for stream in ("empty", "begun", "unable", "announced"):
        talk.open(stream)
    assert [messages(line) for line in lines] == [["create"], ["progress 1"], [], ["create"]]


@pytest.mark.rule("R2", "R18")
@pytest.mark.parametrize(
    ("setting", "body"),
    [("json", BodyPolicy.NEVER), ("crowded", BodyPolicy.AT_ONCE), ("detached", BodyPolicy.AT_ONCE)],
)
def test_r2_a_stream_is_not_announced_where_it_can_not_be_delivered_or_kept(setting: str, body: BodyPolicy) -> None:
    talk = Conversation(StreamsConfig(max_streams=1))
    exchange = talk.exchange()
    if setting == "crowded":
        talk.connect().call(1, "first")
    exchange.call(7, "s1", kind=StreamKind.SILENT if setting == "detached" else StreamKind.FLEETING, body=body)
    if setting == "detached":
        exchange.lose()
    talk.open("s1")
    talk.respond("s1")
    assert "create" not in messages(exchange)


@pytest.mark.rule("R2", "D5", "M3")
@pytest.mark.parametrize(
    ("after_loss", "told"), [(AfterLoss.CANCEL, ["cancel s1: connection lost"]), (AfterLoss.RUN_ON, [])]
)
def test_r2_what_a_loss_does_to_a_call_without_a_stream_is_the_revisions_choice(
    after_loss: AfterLoss, told: list[str]
) -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(peer=STOCK, after_loss=after_loss)
    line.lose()
    assert talk.application() == ["start s1", *told]
    talk.respond()
    assert talk.application() == ["refused s1: stream_not_found"]


@pytest.mark.rule("R3")
def test_r3_the_log_holds_digests_and_no_token() -> None:
    talk = Conversation(StreamsConfig(durable=True))
    line = talk.connect()
    line.call(peer=MARKER, key=KEY)
    talk.say(1)
    talk.respond()
    line.ack(4)
    opened = talk.records[0]
    assert isinstance(opened, StreamOpened)
    assert opened.token_digest == token_of("s1").digest()
    payloads = [record.payload for record in talk.records if isinstance(record, EntryLogged)]
    assert len(payloads) == 3
    assert not any(token_of("s1").reveal().encode() in payload or KEY.encode() in payload for payload in payloads)


@pytest.mark.rule("R4")
def test_r4_every_delivery_of_an_entry_is_the_same_to_the_byte() -> None:
    talk = Conversation()
    line = talk.connect(Framing.MESSAGES, principal="ann")
    line.call(peer=MARKER)
    talk.say(1)
    talk.ask("q1")
    talk.respond()
    again = talk.connect(Framing.MESSAGES, principal="ann")
    again.resume(attempt="a.1")
    assert again.chunks[:-1] == line.chunks
    exchange = talk.exchange(principal="ann")
    exchange.resume(10, attempt="a.2")
    data = [chunk.partition(b"data: ")[2].rstrip(b"\n") for chunk in exchange.chunks if b"data: {" in chunk]
    assert data[:-1] == line.chunks


@pytest.mark.rule("R5", "Q5a")
def test_r5_only_a_cursor_or_an_acknowledgement_confirms() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(peer=MARKER)
    talk.say(1, 2)
    line.poll()
    line.lose()
    log = talk.machine._registry.streams[line.create.stream_id].log
    assert (log.confirmed, log.sent, log.produced) == (0, 3, 3)
    other = talk.connect()
    other.resume(after=2, attempt="a.1")
    assert log.confirmed == 2
    other.ack(3)
    assert log.confirmed == 3


@pytest.mark.rule("R6")
def test_r6_create_says_how_much_may_be_unacknowledged() -> None:
    talk = Conversation(StreamsConfig(window=100, max_stream_bytes=5_000))
    line, other = talk.connect(), talk.connect()
    line.call(peer=MARKER)
    other.call(8, "s2", peer=DRAFT)
    window = read_window(line.create.meta)
    assert window is not None
    assert (window.entries, window.bytes) == (100, 2_500)
    assert other.create.meta is None


@pytest.mark.rule("R6")
def test_r6_an_acknowledgement_counts_where_the_stream_is_attached_or_with_its_token() -> None:
    talk = Conversation()
    line, other, exchange = talk.connect(), talk.connect(), talk.exchange()
    line.call(peer=MARKER)
    talk.say(1, 2, 3)
    log = talk.machine._registry.streams[line.create.stream_id].log
    for client, through, token, confirmed in (
        (other, 1, None, 0),
        (exchange, 1, None, 0),
        (other, 1, token_of("s2"), 0),
        (line, 1, None, 1),
        (other, 2, token_of("s1"), 2),
        (line, 1, None, 2),
        (line, 5, None, 2),
        (line, 4, None, 4),
    ):
        client.ack(through, token=token)
        assert log.confirmed == confirmed
    assert line.heard() == ["create", "progress 1", "progress 2", "progress 3"]


@pytest.mark.rule("R6", "Q7b")
def test_r6_an_acknowledgement_prolongs_life_as_a_poll_does() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(peer=MARKER)
    line.lose()
    other = talk.connect()
    for _ in range(3):
        talk.wait(599)
        other.ack(1, token=token_of("s1"))
    assert other.poll() == "live"


@pytest.mark.rule("R6")
@pytest.mark.parametrize("attached", [True, False])
def test_r6_once_its_end_is_acknowledged_a_completed_stream_is_freed(*, attached: bool) -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=1))
    line = talk.connect()
    line.call(peer=MARKER)
    talk.respond()
    other = talk.connect()
    if attached:
        other.reads = False
        other.resume(attempt="a.1")
    assert talk.machine._registry.total_bytes > 0
    talk.connect().ack(3, token=token_of("s1"))
    assert talk.state() is StreamState.GONE
    assert talk.machine._registry.total_bytes == 0
    if attached:
        other.reads = True
        other.take()
        assert messages(other) == ["create", "end", "result 9"]


@pytest.mark.rule("R7")
def test_r7_a_client_that_does_not_acknowledge_gets_it_once_or_learns_what_is_gone() -> None:
    talk = Conversation(StreamsConfig(max_total_bytes=8_000, keep_bytes=2_000))
    exchange = talk.exchange()
    exchange.call(peer=STOCK)
    talk.say(*range(1, 21), size=900)
    exchange.lose()
    near, far = talk.exchange(), talk.exchange()
    far.get(after=5)
    assert messages(far) == ["error - events_gone"]
    near.get(after=18)
    assert near.heard() == ["18", "19 progress 19", "20 progress 20"]


@pytest.mark.rule("R8")
@pytest.mark.parametrize("framing", [Framing.LINES, Framing.HTTP])
def test_r8_without_a_cursor_everything_comes_at_least_once_and_open_questions_too(framing: Framing) -> None:
    talk = Conversation()
    line = talk.connect(principal="ann")
    line.call()
    talk.say(1)
    talk.ask("q1")
    line.ack(3)
    talk.say(2)
    line.lose()
    other = talk.exchange(principal="ann") if framing is Framing.HTTP else talk.connect(principal="ann")
    other.resume()
    assert messages(other) == ["ask q1", "progress 2"]


@pytest.mark.rule("R9")
def test_r9_polls_and_acceptances_describe_what_is_durable() -> None:
    talk = Conversation(StreamsConfig(durable=True))
    line = talk.connect(principal="ann")
    line.call()
    talk.ask("q1")
    talk.prompt_disk = False
    talk.respond()
    poller = talk.exchange(principal="ann")
    assert poller.poll() is None
    talk.sync()
    assert messages(poller) == ["result poll 0"]


@pytest.mark.rule("R9", "R24")
def test_r9_an_answer_is_accepted_and_handed_over_once_it_is_durable() -> None:
    talk = Conversation(StreamsConfig(durable=True))
    line = talk.connect(principal="ann")
    line.call()
    talk.ask("q1")
    talk.prompt_disk = False
    exchange = talk.exchange(principal="ann")
    exchange.answer("q1")
    again = talk.exchange(principal="ann")
    again.answer("q1")
    assert (exchange.body, again.body, talk.application()) == (None, None, ["start s1"])
    talk.sync()
    assert (exchange.body, again.body, talk.application()) == (BodyKind.EMPTY, BodyKind.EMPTY, ["answered q1"])


@pytest.mark.rule("R10", "Q5f")
def test_r10_nothing_but_sent_notifications_is_ever_dropped_unconfirmed() -> None:
    talk = Conversation(StreamsConfig(max_total_bytes=4_000, keep_bytes=1, max_stream_bytes=50_000))
    line = talk.connect(principal="ann")
    line.call()
    talk.ask("q1")
    talk.say(*range(10), size=900)
    line.lose()
    talk.say(*range(10, 20), size=900)
    other = talk.connect(principal="ann")
    assert other.poll() == "live pending request"
    talk.respond()
    other.resume()
    expected = [*(f"progress {number}" for number in range(10, 20)), "result 7", "end", "result 9"]
    assert messages(other)[1:] == expected


# -------------------------------------------------------------------------------------------------------- connections


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


# -------------------------------------------------------------------------------------------------------------- calls


@pytest.mark.rule("R21")
@pytest.mark.parametrize("framing", [Framing.LINES, Framing.HTTP])
@pytest.mark.parametrize("lost", ["before create was read", "later"])
def test_r21_a_call_that_is_sent_again_is_executed_once(framing: Framing, lost: str) -> None:
    talk = Conversation()

    def reach() -> Client:
        return talk.exchange() if framing is Framing.HTTP else talk.connect()

    first = reach()
    first.call(peer=MARKER, key=KEY, attempt="a.1")
    if lost == "later":
        talk.say(1)
    first.lose()
    talk.respond()
    again = reach()
    again.call(peer=MARKER, key=KEY, attempt="a.2", stream="s2", token=token_of("fresh"))
    assert messages(again) == [*messages(first), "result 7", "end"]
    assert talk.application() == ["start s1"]
    assert again.create.resume_token == token_of("s1")


@pytest.mark.rule("R21")
def test_r21_a_known_key_under_another_call_is_a_conflict() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(7, "s1", peer=MARKER, key=KEY)
    line.call(8, "s2", peer=MARKER, key=KEY, digest=b"another call")
    assert messages(line) == ["create", "error 8 key_conflict"]
    assert line.error.code == -32602


@pytest.mark.rule("R21", "W6")
def test_r21_the_key_is_looked_up_before_the_id() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(7, "s1", peer=MARKER, key=KEY, attempt="a.1")
    line.call(7, "s2", peer=MARKER, key=KEY, attempt="a.2")
    talk.respond()
    assert messages(line) == ["create", "create", "result 7", "end"]


@pytest.mark.rule("R21")
@pytest.mark.parametrize(
    ("how", "reason"), [("cancelled", "cancelled"), ("abandoned", "abandoned"), ("acknowledged", "finished")]
)
def test_r21_a_call_whose_stream_is_gone_is_told_why_and_never_runs_again(how: str, reason: str) -> None:
    talk = Conversation(StreamsConfig(tombstone_ttl=10))
    line = talk.connect()
    line.call(peer=MARKER, key=KEY)
    match how:
        case "cancelled":
            line.cancelled(7)
        case "abandoned":
            line.lose()
            talk.wait(600)
        case _:
            talk.respond()
            line.ack(3)
    for number in range(2):
        other = talk.connect()
        other.call(peer=MARKER, key=KEY, stream=f"again {number}")
        assert messages(other) == [f"error 7 {reason}"]
        talk.wait(100)
    assert talk.state() is None
    assert [what for what in talk.application() if what.startswith("start")] == ["start s1"]


@pytest.mark.rule("R21")
def test_r21_a_key_is_remembered_for_its_time_and_none_is_forgotten_for_another() -> None:
    talk = Conversation(StreamsConfig(max_keys=2, key_ttl=1_000))
    line = talk.connect()
    line.call(1, "s1", peer=MARKER, key="1" * 22)
    talk.wait(500)
    line.call(2, "s2", peer=MARKER, key="2" * 22)
    talk.respond("s1")
    talk.respond("s2")
    line.call(3, "s3", peer=MARKER, key="3" * 22)
    assert messages(line)[-1] == "error 3 too_many_keys"
    talk.wait(500)
    line.call(3, "s3", peer=MARKER, key="3" * 22)
    assert messages(line)[-1] == "create"
    line.call(4, "s4", peer=MARKER, key="2" * 22, digest=b"another call")
    assert messages(line)[-1] == "error 4 key_conflict"


@pytest.mark.rule("R21", "R25")
def test_r21_nobody_meets_the_key_of_another_principal() -> None:
    talk = Conversation()
    ann, bob, nobody = talk.connect(principal="ann"), talk.connect(principal="bob"), talk.connect()
    for number, line in enumerate((ann, bob, nobody)):
        line.call(7, f"s{number}", peer=MARKER, key=KEY)
    assert talk.application() == ["start s0", "start s1", "start s2"]
    assert [messages(line) for line in (ann, bob, nobody)] == [["create"]] * 3


@pytest.mark.rule("R21")
@pytest.mark.parametrize("first", ["the call", "the cancellation"])
def test_r21_a_call_can_be_cancelled_by_its_key_even_before_it_comes(first: str) -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    if first == "the call":
        line.call(peer=MARKER, key=KEY)
        other.cancelled(key=KEY)
        other.cancelled(key=KEY)
        assert talk.application() == ["start s1", "cancel s1: cancelled"]
    else:
        other.cancelled(key=KEY)
        other.cancelled(key=KEY)
    line.call(peer=MARKER, key=KEY, stream="s2")
    assert messages(line)[-1] == "error 7 cancelled"
    assert talk.application() == []


@pytest.mark.rule("R22")
@pytest.mark.parametrize("state", ["live", "detached", "draining", "completed", "gone"])
def test_r22_a_token_cancels_from_anywhere_as_often_as_it_is_said(state: str) -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=1))
    line = talk.connect()
    line.call(peer=MARKER)
    line.reads = state != "draining"
    if state == "detached":
        line.lose()
    if state in ("draining", "completed", "gone"):
        talk.respond()
    if state == "gone":
        line.ack(3)
    other = talk.connect()
    for request_id in (11, 12):
        other.cancel(request_id)
    assert messages(other) == ["result 11", "result 12"]
    assert talk.state() is StreamState.GONE
    assert talk.machine._registry.total_bytes == 0


@pytest.mark.rule("R22", "R9")
def test_r22_a_cancellation_is_confirmed_once_it_is_durable() -> None:
    talk = Conversation(StreamsConfig(durable=True))
    line = talk.connect()
    line.call(peer=MARKER)
    talk.prompt_disk = False
    other = talk.connect()
    other.cancel()
    assert talk.application() == ["start s1", "cancel s1: cancelled"]
    assert messages(other) == []
    talk.sync()
    assert messages(other) == ["result 11"]


@pytest.mark.rule("R24")
def test_r24_a_question_has_an_end_and_then_is_not_wanted_any_more() -> None:
    talk = Conversation(StreamsConfig(ask_timeout=600))
    exchange = talk.exchange(principal="ann")
    exchange.call()
    talk.ask("q1")
    talk.wait(600)
    assert talk.application() == ["start s1", "failed q1: timed out"]
    talk.exchange(principal="ann").answer("q1")
    assert talk.application() == []
    assert messages(exchange) == ["create", "ask q1", "withdrawn q1"]


@pytest.mark.rule("R24")
def test_r24_a_question_that_was_withdrawn_is_not_asked_again_and_its_answer_ignored() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    talk.ask("q1")
    talk.withdraw("q1")
    talk.withdraw("q1")
    talk.withdraw("q1", "s2")
    line.answer("q1")
    assert talk.application() == ["start s1"]
    assert messages(line) == ["create", "ask q1", "withdrawn q1"]


@pytest.mark.rule("R24", "P12")
@pytest.mark.parametrize(
    ("method", "capability"),
    [("sampling/createMessage", "sampling"), ("elicitation/create", "elicitation"), ("roots/list", "roots")],
)
def test_r24_who_can_not_answer_is_not_asked(method: str, capability: str) -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    talk.ask("q1", method=method)
    talk.ask("q2", method="ping")
    unable = capability != "sampling"
    assert messages(line) == ["create", *([] if unable else ["ask q1"]), "ping q2"]
    assert talk.application() == ["start s1", *(["failed q1: unsupported"] if unable else [])]


@pytest.mark.rule("R24", "R25")
def test_r24_without_a_principal_an_answer_counts_only_from_where_it_was_asked() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call()
    talk.ask("q1")
    other.answer("q1")
    assert talk.application() == ["start s1"]
    other.resume()
    line.answer("q1")
    assert talk.application() == []
    other.answer("q1")
    assert talk.application() == ["answered q1"]


@pytest.mark.rule("R24")
def test_r24_within_a_session_it_counts_on_every_exchange() -> None:
    talk = Conversation()
    exchange, same, other = talk.exchange("a"), talk.exchange("a"), talk.exchange("b")
    exchange.call()
    talk.ask("q1")
    other.answer("q1")
    assert talk.application() == ["start s1"]
    same.answer("q1")
    assert talk.application() == ["answered q1"]


@pytest.mark.rule("R25")
@pytest.mark.parametrize("owner", ["ann", None])
@pytest.mark.parametrize("who", ["ann", "bob", None])
def test_r25_a_token_opens_a_stream_for_its_principal_and_no_principal_is_none(
    owner: str | None, who: str | None
) -> None:
    talk = Conversation()
    line, other = talk.connect(principal=owner), talk.connect(principal=who)
    line.call()
    other.resume()
    assert messages(other) == (["create"] if owner == who else ["error 9 stream_not_found"])


# ------------------------------------------------------------------------------------------------------ taken together


@attrs.define(eq=False)
class Follower:
    """A client that is cut again and again and comes back, with what it has or without saying so."""

    talk: Conversation
    says_what_it_has: bool
    client: Client
    got: dict[int, str] = attrs.field(factory=dict)
    said: int = 0
    attempts: int = 0

    def say(self) -> None:
        self.said += 1
        self.talk.say(self.said)

    def cut(self) -> None:
        if self.client.way is Way.OPEN:
            self.client.lose()

    def come_back(self) -> None:
        self.read()
        self.attempts += 1
        self.client = self.talk.connect(Framing.MESSAGES, principal="ann")
        self.client.reads = self.attempts % 3 != 0
        after = max(self.got, default=0) if self.says_what_it_has else None
        self.client.resume(f"resume {self.attempts}", after=after, attempt=f"a.{self.attempts}")

    def take(self) -> None:
        if self.client.outstanding is not None and self.client.way is Way.OPEN:
            self.client.take()

    def acknowledge(self) -> None:
        self.read()
        self.client.ack(max(self.got, default=0), token=token_of("s1"))

    def wait(self) -> None:
        self.talk.wait(1)

    def read(self) -> None:
        """Take up what has come: what came before is the same again."""
        for message in self.client.messages:
            tag = read_tag(message)
            if tag is not None:
                assert self.got.setdefault(tag.sequence, gist(message)) == gist(message)


STEPS = [Follower.say, Follower.cut, Follower.come_back, Follower.take, Follower.acknowledge, Follower.wait]


@pytest.mark.rule("R5", "R8", "Q5g")
@given(
    steps=st.lists(st.sampled_from(STEPS), max_size=30),
    says_what_it_has=st.booleans(),
    max_write_bytes=st.sampled_from([1, 200, 10_000]),
    redelivery_window=st.sampled_from([0.0, 1.5, 120.0]),
)
def test_however_a_client_is_cut_it_gets_everything_in_order(
    steps: list[Callable[[Follower], None]], max_write_bytes: int, redelivery_window: float, *, says_what_it_has: bool
) -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=max_write_bytes, redelivery_window=redelivery_window))
    client = talk.connect(Framing.MESSAGES, principal="ann")
    client.call(peer=MARKER, attempt="a.0")
    follower = Follower(talk, says_what_it_has, client)
    for step in steps:
        step(follower)
    talk.respond()
    follower.come_back()
    while follower.client.outstanding is not None:
        follower.client.take()
    follower.read()
    expected = ["create", *(f"progress {number}" for number in range(1, follower.said + 1)), "result 7", "end"]
    assert [follower.got[sequence] for sequence in sorted(follower.got)] == expected
