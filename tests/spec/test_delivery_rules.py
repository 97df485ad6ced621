"""The delivery rules, one by one, as far as the server's streams carry them: R1 to R10, the log."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.server.calls import BodyPolicy, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import BodyKind
from mcpstreams_sansio.server.records import EntryLogged, StreamOpened
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.wire.meta import read_window
from mcpstreams_sansio.wire.revisions import AfterLoss
from tests.sansio.server.conversation import DRAFT, KEY, MARKER, STOCK, Client, Conversation, token_of
from tests.sansio.server.words import gist


def messages(client: Client) -> list[str]:
    """Return every message that a client was sent, without the frames around it."""
    return [gist(message) for message in client.messages]


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
