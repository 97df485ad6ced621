"""How a stream begins, loses its client and ends (rules P8, Q7, R2, R15)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.server.calls import BodyPolicy, Peer, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import BodyKind
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.wire.jsonrpc import MAX_ID_LENGTH, Response
from mcpstreams_sansio.wire.streams import ResumeInterval
from tests.sansio.server.conversation import KEY, MARKER, STOCK, Conversation, Way
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
def test_a_client_that_is_not_primed_needs_an_event_before_it_is_let_go() -> None:
    talk = Conversation()
    exchange = talk.exchange(primes=False)
    exchange.call(peer=STOCK)
    talk.release()
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
