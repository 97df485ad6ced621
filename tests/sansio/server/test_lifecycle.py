"""How a stream begins, loses its client and ends (rules P8, Q7, R2, R15)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.ids import StreamId
from mcpstreams_sansio.server.calls import BodyPolicy, Peer, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import BodyKind, StartCall
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.wire.jsonrpc import MAX_ID_LENGTH, Notification, Response
from mcpstreams_sansio.wire.revisions import AfterLoss
from mcpstreams_sansio.wire.streams import ResumeInterval
from mcpstreams_sansio.wire.tags import Tag, read_tag
from tests.sansio.server.conversation import DRAFT, KEY, MARKER, STOCK, Conversation, Way, token_of
from tests.sansio.server.scenes import delivered_again

# ------------------------------------------------------------------------------------------------- not resumable


@pytest.mark.rule("Q7c", "R2")
def test_a_stream_that_can_not_be_resumed_is_over_once_its_end_was_written() -> None:
    talk = Conversation()
    client = talk.connect()
    client.call(interval=ResumeInterval(max=0))
    talk.say(1)
    talk.respond()
    assert client.heard() == ["create", "progress 1", "result 7", "end"]
    assert talk.state() is StreamState.GONE
    assert talk.observed() == ["s1 attached to 0", "s1 gone: finished"]


@pytest.mark.rule("Q7c", "Q8e")
def test_its_tombstone_is_polled_as_finished_and_never_expires_twice() -> None:
    talk = Conversation()
    client = talk.connect()
    client.call(interval=ResumeInterval(max=0))
    talk.respond()
    assert client.poll() == "completed"
    talk.wait(10_000)
    assert client.poll() == "error stream_not_found"


# -------------------------------------------------------------------------------------------------------- letting go


@pytest.mark.rule("H15", "H16", "Q2c")
def test_an_exchange_is_let_go_with_the_pause_after_which_to_come_back() -> None:
    talk = Conversation(StreamsConfig(retry_ms=500))
    exchange = talk.exchange()
    exchange.call()
    talk.release()
    assert exchange.heard() == ["0", "1 create", "retry 500"]
    assert exchange.way is Way.ENDED
    assert talk.state() is StreamState.DETACHED


@pytest.mark.rule("Q2c", "R15")
def test_a_resume_is_let_go_with_its_result_and_without_end() -> None:
    talk = Conversation()
    first, second = talk.connect(), talk.connect()
    first.call()
    first.lose()
    second.resume()
    talk.release()
    assert second.heard() == ["create", "result 9"]
    assert second.way is Way.OPEN
    assert talk.state() is StreamState.DETACHED


@pytest.mark.rule("Q2c")
def test_a_line_on_which_the_call_came_has_no_word_for_letting_go() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    talk.release()
    assert line.heard() == ["create"]
    assert talk.state() is StreamState.LIVE


@pytest.mark.rule("P9")
def test_an_exchange_is_not_let_go_before_create_was_written() -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=1))
    exchange = talk.exchange()
    exchange.reads = False
    exchange.call()
    talk.release()
    assert exchange.heard() == ["0"]
    exchange.take()
    talk.release()
    exchange.take()
    exchange.take()
    assert exchange.heard() == ["1 create", "retry 1000"]


@pytest.mark.rule("P9", "H15")
def test_an_undecided_exchange_is_primed_before_it_is_let_go() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(peer=STOCK, body=BodyPolicy.WHEN_NEEDED)
    talk.release()
    assert exchange.heard() == ["0", "retry 1000"]
    again = talk.exchange()
    again.get(after=0)
    talk.respond()
    assert again.heard() == ["0", "1 result 7"]


@pytest.mark.rule("P9", "H19")
@pytest.mark.parametrize("stops", [False, True])
def test_a_client_that_is_not_primed_needs_an_event_before_it_is_let_go(stops: bool) -> None:
    talk = Conversation()
    exchange = talk.exchange(primes=False)
    exchange.call(peer=STOCK)
    talk.drain() if stops else talk.release()
    assert exchange.way is Way.OPEN
    talk.say(1)
    talk.release()
    assert exchange.heard() == [":", "1 progress 1", "retry 1000"]


@pytest.mark.rule("R2")
def test_what_nothing_brings_back_is_not_let_go() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(peer=STOCK, kind=StreamKind.FLEETING)
    talk.release()
    talk.drain()
    talk.respond()
    assert exchange.heard() == [":", "- result 7"]
    assert exchange.way is Way.ENDED


# ------------------------------------------------------------------------------------------------ cancelled too early


@pytest.mark.rule("P37", "Q9b")
def test_nobody_is_told_the_end_of_what_was_never_announced() -> None:
    talk = Conversation()
    line = talk.connect()
    line.reads = False
    talk.reply(line, Response("p", {}))
    line.call()
    line.cancelled(7)
    line.take()
    assert line.heard() == ["result p"]
    assert talk.application() == ["start s1", "cancel s1: cancelled"]


@pytest.mark.rule("Q9b", "R18")
def test_a_cancelled_call_that_accepts_no_events_has_an_empty_answer() -> None:
    talk = Conversation()
    exchange, other = talk.exchange(), talk.exchange()
    exchange.call(peer=STOCK, kind=StreamKind.FLEETING, body=BodyPolicy.NEVER)
    other.cancelled(7)
    assert exchange.body is BodyKind.EMPTY
    assert exchange.way is Way.ENDED
    assert exchange.heard() == []


# ----------------------------------------------------------------------------------------------------------- run on


@pytest.mark.rule("R27", "R10")
def test_an_application_that_runs_on_is_no_longer_held_back() -> None:
    talk = Conversation(StreamsConfig(window=2))
    line = talk.connect()
    line.reads = False
    line.call(run_on=True)
    talk.say(1, 2)
    line.lose()
    talk.wait(600)
    assert talk.application() == ["start s1", "hold s1", "more s1"]
    talk.say(3)
    assert talk.application() == ["refused s1: abandoned"]


@pytest.mark.rule("R9", "P8")
def test_a_call_whose_client_is_lost_before_it_is_durable_starts_all_the_same() -> None:
    talk = Conversation(StreamsConfig(durable=True), prompt_disk=False)
    line = talk.connect()
    line.call()
    line.lose()
    assert talk.application() == []
    talk.sync()
    assert talk.application() == ["start s1"]
    other = talk.connect()
    other.resume()
    assert other.heard() == ["create"]


# ------------------------------------------------------------------------------------------- when it will be given up


@pytest.mark.rule("P32", "R27")
def test_it_is_known_when_the_work_will_be_cancelled_if_nobody_comes_back() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call(interval=ResumeInterval(max=60))
    assert talk.abandonment() is None
    talk.wait(5)
    line.lose()
    assert talk.abandonment() == 65
    talk.wait(10)
    other.poll()
    assert talk.abandonment() == 75
    other.resume()
    assert talk.abandonment() is None
    other.lose()
    talk.wait(59)
    assert (talk.abandonment(), talk.application()) == (75, ["start s1"])
    talk.wait(1)
    assert (talk.abandonment(), talk.application()) == (None, ["cancel s1: abandoned"])


@pytest.mark.rule("R2", "R27")
def test_a_silent_stream_is_given_up_after_a_time_of_its_own() -> None:
    talk = Conversation(StreamsConfig(silent_retention=20))
    exchange = talk.exchange()
    exchange.call(peer=STOCK)
    exchange.lose()
    assert talk.abandonment() == 20


@pytest.mark.rule("R27", "Q7e")
def test_nothing_is_known_of_work_that_runs_on_is_done_or_never_was() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(7, "s1", run_on=True)
    line.call(8, "s2")
    line.lose()
    talk.respond("s2")
    assert [talk.abandonment(stream) for stream in ("s1", "s2", "s3")] == [None, None, None]


@pytest.mark.rule("Q7d")
def test_of_a_call_that_is_over_no_more_is_kept_than_why() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call("x" * MAX_ID_LENGTH, peer=MARKER, key=KEY, attempt="a.1")
    line.cancel()
    [gone] = talk.machine._registry.streams.values()
    assert (gone.request_id, gone.peer, gone.attempts, gone.key_digest, gone.log.size) == (0, Peer(), {}, None, 0)
    assert line.poll() == "error cancelled"


@pytest.mark.rule("R15", "Q7e")
def test_a_stream_that_is_let_go_while_its_rest_is_written_is_kept_for_its_client_as_long_as_any_other() -> None:
    scene = delivered_again()
    scene.talk.release()
    assert scene.talk.state() is StreamState.COMPLETED
    scene.talk.wait(scene.talk.config.max_interval - 1.0)
    assert scene.talk.state() is StreamState.COMPLETED
    scene.talk.wait(1.0)
    assert scene.talk.state() is StreamState.GONE
    scene.client.heard()
    scene.client.resume(13)
    assert scene.client.heard() == ["error 13 expired"]


# ------------------------------------------------------------------------------------------- what the application hears


@pytest.mark.rule("R2", "R27")
def test_the_application_is_told_whether_its_client_can_come_back() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(1, "s1")
    line.call(2, "s2", kind=StreamKind.FLEETING)
    line.call(3, "s3", interval=ResumeInterval(max=0))
    started = [effect for effect in talk.effects if isinstance(effect, StartCall)]
    assert [(start.stream_id, start.resumable) for start in started] == [("s1", True), ("s2", False), ("s3", False)]


@pytest.mark.rule("D5", "P8")
def test_the_work_of_a_call_that_is_lost_for_good_stops_unless_its_revision_says_otherwise() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(1, "s1", peer=STOCK, after_loss=AfterLoss.CANCEL)
    line.call(2, "s2", peer=STOCK, after_loss=AfterLoss.RUN_ON)
    line.call(3, "s3", interval=ResumeInterval(max=0), after_loss=AfterLoss.RUN_ON)
    talk.application()
    line.lose()
    assert talk.application() == ["cancel s1: connection lost", "cancel s3: connection lost"]


# ----------------------------------------------------------------------------------------------------- how it is over


@pytest.mark.rule("P8", "R18")
def test_no_body_is_begun_where_nobody_is_left_to_read_it() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(peer=STOCK, kind=StreamKind.FLEETING, body=BodyPolicy.WHEN_NEEDED)
    exchange.lose()
    assert exchange.body is None


@pytest.mark.rule("R18", "R2")
def test_a_stream_whose_response_was_the_whole_body_is_over_since_nobody_has_a_cursor_of_it() -> None:
    talk = Conversation()
    exchange, other = talk.exchange(), talk.exchange()
    exchange.call(peer=STOCK, body=BodyPolicy.WHEN_NEEDED)
    talk.respond()
    assert exchange.body is BodyKind.JSON
    assert talk.observed()[-1] == "s1 gone: finished"
    other.get(0)
    assert other.heard() == ["error - invalid_cursor"]


@pytest.mark.rule("P35", "R1", "R4")
def test_the_end_of_a_complete_stream_has_its_number_and_the_same_bytes_whenever_it_is_told() -> None:
    talk = Conversation()
    first, second, third = talk.connect(), talk.connect(), talk.connect()
    first.call(peer=MARKER)
    talk.respond()
    second.ack(3, token=token_of("s1"))
    third.resume(attempt="a.1")
    assert (third.heard(), talk.observed()[-1]) == (["end", "result 9"], "s1 gone: finished")
    assert read_tag(first.messages[-1]) == Tag(StreamId("s1"), 3)
    assert third.chunks[0] == first.chunks[-1]


@pytest.mark.rule("P35", "Q9b")
def test_the_end_of_a_stream_that_was_cancelled_has_none() -> None:
    talk = Conversation()
    first, second = talk.connect(), talk.connect()
    first.call(peer=MARKER)
    second.cancel(11)
    assert first.messages[-1] == Notification("notifications/stream/end", {"streamId": "s1"})


@pytest.mark.rule("R21", "R4")
def test_who_is_on_the_way_when_another_client_has_it_all_is_told_the_end_by_its_number() -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=1))
    first, second = talk.connect(), talk.connect()
    first.call(peer=MARKER, key=KEY, attempt="a.1")
    talk.respond()
    first.lose()
    second.reads = False
    second.call(peer=MARKER, key=KEY, attempt="a.2", stream="s2")
    talk.connect().ack(3, token=token_of("s1"))
    second.reads = True
    second.take()
    assert second.heard() == ["create", "end"]
    assert read_tag(second.messages[-1]) == Tag(StreamId("s1"), 3)


@pytest.mark.rule("Q7e", "R27")
def test_who_stays_away_while_the_work_is_done_has_the_whole_time_from_then_on() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(interval=ResumeInterval(max=60))
    line.lose()
    talk.wait(50)
    talk.respond()
    talk.wait(59)
    assert talk.state() is StreamState.COMPLETED
    talk.wait(1)
    assert talk.state() is StreamState.GONE


@pytest.mark.rule("R5", "Q7d")
def test_nothing_is_due_for_a_stream_that_is_gone_but_that_it_is_forgotten() -> None:
    talk = Conversation(StreamsConfig(redelivery_window=10, tombstone_ttl=100, keepalive=None))
    line = talk.connect()
    line.call(peer=MARKER)
    talk.say(1)
    line.ack(2)
    line.cancelled(7)
    assert talk.machine.next_deadline() == 100


# ------------------------------------------------------------------------------------------------------------- create


@pytest.mark.rule("D1", "P5")
@pytest.mark.parametrize("peer", [DRAFT, MARKER])
@pytest.mark.parametrize(("config", "place"), [(StreamsConfig(), "stream"), (StreamsConfig(create_shape="flat"), None)])
def test_create_is_written_as_the_example_of_the_draft_or_as_its_schema(
    peer: Peer, config: StreamsConfig, place: str | None
) -> None:
    talk = Conversation(config)
    line = talk.connect()
    line.call(peer=peer)
    [create] = line.messages
    assert isinstance(create, Notification)
    assert create.params is not None
    fields = create.params if place is None else create.params[place]
    assert isinstance(fields, dict)
    assert fields["streamId"] == "s1"
    assert ("stream" in create.params) == (place is not None)
