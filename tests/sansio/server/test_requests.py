"""What a peer wants of streams, and what it is refused (rules Q6, Q9, Q10, R6, R14, R21, R22, R24)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.ids import RequestId, Secret, StreamId
from mcpstreams_sansio.server.calls import BodyPolicy, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import BodyKind
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.wire.revisions import AfterLoss
from tests.sansio.server.conversation import DRAFT, KEY, MARKER, STOCK, Conversation, token_of

# ---------------------------------------------------------------------------------------------------- ids that clash


@pytest.mark.rule("W6", "R13")
def test_an_id_names_one_request_until_it_is_answered() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(7, "s1")
    line.call(7, "s2")
    line.call("7", "s3")
    assert line.heard() == ["create", "error 7 id_in_use", "create"]
    talk.respond("s1")
    line.call(7, "s4")
    assert line.heard() == ["result 7", "end", "create"]


def test_an_id_is_in_use_until_a_write_has_the_response() -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=1))
    line = talk.connect()
    line.reads = False
    line.call(7, "s1")
    talk.respond()
    line.call(7, "s2")
    line.take()
    line.take()
    assert line.heard() == ["create", "error 7 id_in_use", "result 7"]
    line.call(7, "s3")
    line.take()
    line.take()
    assert line.heard() == ["end", "create"]


@pytest.mark.rule("Q3c")
def test_a_resume_is_refused_where_the_id_of_its_call_is_in_use() -> None:
    talk = Conversation()
    first, second = talk.connect(), talk.connect()
    first.call(7, "s1")
    first.lose()
    second.call(7, "s2")
    second.resume(9, "s1")
    assert second.heard() == ["create", "error 9 id_in_use"]


@pytest.mark.rule("Q3c")
@pytest.mark.parametrize("request_id", [7, "9"])
def test_a_resume_is_refused_where_its_own_id_is_in_use(request_id: RequestId) -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(7, "s1")
    line.call("9", "s2")
    other = talk.connect()
    other.call(7, "s3")
    other.call(8, "s4")
    other.lose()
    line.resume(request_id, "s4")
    assert line.heard() == ["create", "create", f"error {request_id} id_in_use"]


@pytest.mark.rule("Q3c")
def test_a_resume_does_not_share_the_id_of_the_call_that_it_resumes() -> None:
    talk = Conversation()
    first, second = talk.connect(), talk.connect()
    first.call(7)
    first.lose()
    second.resume(7)
    assert second.heard() == ["error 7 id_in_use"]
    second.resume("7")
    talk.respond()
    assert second.heard() == ["create", "result 7", "end", "result 7"]


@pytest.mark.rule("Q3c")
def test_an_answer_that_is_delivered_again_makes_its_id_busy_again() -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=1))
    line = talk.connect()
    line.call(7, "s1")
    talk.respond("s1")
    line.call(7, "s2")
    talk.respond("s2")
    other = talk.connect()
    other.reads = False
    other.resume(8, "s1")
    other.resume(9, "s2")
    while other.outstanding is not None:
        other.take()
    assert other.heard() == ["create", "error 9 id_in_use", "result 7", "end", "result 8"]


# ------------------------------------------------------------------------------------------------------------ cursors


@pytest.mark.rule("R5", "R3", "Q5c")
def test_who_resumes_by_token_has_create_and_does_not_miss_it() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(peer=MARKER)
    talk.say(1, 2)
    line.ack(2)
    line.lose()
    other = talk.connect()
    other.resume(after=0, attempt="a.1")
    assert other.heard() == ["progress 1", "progress 2"]


@pytest.mark.rule("Q5c")
def test_who_has_only_a_cursor_misses_create() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(peer=MARKER)
    talk.say(1)
    talk.exchange().ack(2)
    exchange.lose()
    other = talk.exchange()
    other.get(after=0)
    assert other.heard() == ["error - events_gone"]


@pytest.mark.rule("R14", "R3")
def test_a_call_that_is_sent_again_too_late_gets_no_token() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(peer=MARKER, key=KEY, attempt="a.2")
    talk.say(1)
    line.ack(2)
    line.call(peer=MARKER, key=KEY, attempt="a.1", stream="s2", token=Secret("stale"))
    assert line.heard() == ["create", "progress 1", "error 7 superseded"]
    assert line.poll(token=Secret("stale")) == "error stream_not_found"


@pytest.mark.rule("R14", "R21")
def test_a_copy_of_the_latest_attempt_has_the_stream_if_nobody_else_has() -> None:
    """Something between the two may send a request twice, and give the client what comes of the second one only."""
    talk = Conversation()
    broken, line, late = talk.connect(), talk.connect(), talk.connect()
    broken.call(peer=MARKER, key=KEY, attempt="a.1")
    broken.lose()
    line.call(peer=MARKER, key=KEY, attempt="a.1", stream="s2")
    late.call(peer=MARKER, key=KEY, attempt="a.1", stream="s3")
    talk.respond("s1")
    assert line.heard() == ["create", "result 7", "end"]
    assert late.heard() == ["error 7 superseded"]


# ------------------------------------------------------------------------------------------------- who else is served


@pytest.mark.rule("Q3c", "R21")
def test_a_call_that_is_sent_again_is_refused_where_its_id_names_another_one() -> None:
    talk = Conversation()
    lost = talk.connect()
    lost.call(7, "s1", peer=MARKER, key=KEY, attempt="i.1")
    lost.lose()
    line = talk.connect()
    line.call(7, "s2")
    line.call(7, "s3", peer=MARKER, key=KEY, attempt="i.2")
    assert line.heard() == ["create", "error 7 id_in_use"]
    talk.respond("s2")
    line.call(7, "s4", peer=MARKER, key=KEY, attempt="i.3")
    talk.respond("s1")
    assert line.heard() == ["result 7", "end", "create", "result 7", "end"]


@pytest.mark.rule("R21", "R25")
def test_nobody_fills_the_keys_of_others() -> None:
    talk = Conversation(StreamsConfig(max_keys_per_principal=2))
    greedy, modest = talk.connect(principal="greedy"), talk.connect(principal="modest")
    for number in range(3):
        greedy.call(number, f"s{number}", peer=MARKER, key=f"{KEY}{number}", attempt="i.1")
    modest.call(7, "s7", peer=MARKER, key=KEY, attempt="j.1")
    assert greedy.heard() == ["create", "create", "error 2 too_many_keys"]
    assert modest.heard() == ["create"]
    talk.wait(talk.config.key_ttl)
    greedy.call(8, "s8", peer=MARKER, key=KEY, attempt="i.2")
    assert greedy.heard()[-1] == "create"


@pytest.mark.rule("R21")
def test_no_key_is_forgotten_for_another_however_many_there_are() -> None:
    talk = Conversation(StreamsConfig(max_keys=1, key_ttl=60))
    first, second = talk.connect(principal="ann"), talk.connect(principal="bob")
    first.call(7, "s1", peer=MARKER, key=KEY, attempt="a.1")
    second.call(7, "s2", peer=MARKER, key=KEY, attempt="b.1")
    second.call(8, "s3", peer=MARKER)
    assert second.heard() == ["error 7 too_many_keys", "create"]
    talk.wait(talk.config.key_ttl)
    second.call(9, "s4", peer=MARKER, key=KEY, attempt="b.2")
    assert second.heard()[-1] == "create"


@pytest.mark.rule("R21", "R25")
def test_who_cancels_what_never_comes_takes_nobodys_room_for_keys() -> None:
    talk = Conversation(StreamsConfig(max_keys=2, max_keys_per_principal=1, max_cancelled_keys_per_principal=2))
    for number in range(100):
        talk.connect().cancelled(key=f"{KEY}{number}")
    line = talk.connect()
    line.call(1, "s1", peer=MARKER, key=KEY, attempt="i.1")
    line.call(2, "s2", peer=MARKER, key=f"{KEY}99", attempt="i.1")
    line.call(3, "s3", peer=MARKER, key=f"{KEY}98", attempt="i.1")
    assert line.heard() == ["create", "error 2 cancelled", "error 3 cancelled"]


def test_work_that_outlives_its_connection_counts_until_it_answers() -> None:
    talk = Conversation(StreamsConfig(max_calls=2))
    for number in (1, 2):
        gone = talk.connect()
        gone.call(number, f"s{number}", peer=STOCK, after_loss=AfterLoss.RUN_ON)
        gone.lose()
    line = talk.connect()
    line.call(3, "s3", peer=STOCK)
    assert line.heard() == ["error 3 too_many_streams"]
    talk.respond("s1")
    line.call(4, "s4", peer=STOCK)
    assert talk.state("s4") is StreamState.LIVE


@pytest.mark.rule("R9", "R21")
def test_a_cancellation_is_accepted_once_it_is_durable() -> None:
    talk = Conversation(StreamsConfig(durable=True), prompt_disk=False)
    exchange = talk.exchange()
    exchange.cancelled(key=KEY)
    talk.accept(exchange)
    assert exchange.body is None
    talk.sync()
    assert exchange.body is BodyKind.EMPTY


@pytest.mark.rule("Q3c")
def test_two_resumes_that_wait_do_not_share_an_id() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call(1, "s1")
    line.call(2, "s2")
    line.lose()
    other.resume(9, "s1")
    other.resume(9, "s2")
    other.call(9, "s3")
    assert other.heard() == ["create", "error 9 id_in_use", "error 9 id_in_use"]
    talk.respond("s1")
    other.resume(9, "s2")
    assert other.heard() == ["result 1", "end", "result 9", "create"]


# --------------------------------------------------------------------------------------------------------- principals


@pytest.mark.rule("R25", "Q11c")
@pytest.mark.parametrize("who", ["bob", None])
def test_a_session_alone_entitles_nobody_but_its_principal(who: str | None) -> None:
    talk = Conversation()
    exchange, other = talk.exchange(principal="ann"), talk.exchange(principal=who)
    exchange.call(peer=MARKER)
    talk.say(1)
    other.ack(2)
    other.cancelled(7)
    assert talk.application() == ["start s1"]
    assert talk.machine._registry.streams[StreamId("s1")].log.confirmed == 0
    third, fourth = talk.exchange(principal="ann"), talk.exchange(principal=who)
    third.resume(9, attempt="a.1")
    fourth.cancelled(9)
    assert talk.state() is StreamState.LIVE
    also_ann = talk.exchange(principal="ann")
    also_ann.ack(2)
    also_ann.cancelled(9)
    assert talk.state() is StreamState.DETACHED
    also_ann.cancelled(7)
    assert talk.application() == ["cancel s1: cancelled"]


# --------------------------------------------------------------------------------------------------- what is gone stays


@pytest.mark.rule("R6", "P34", "Q9a")
@pytest.mark.parametrize("through", [1, 2, 3])
def test_what_is_acknowledged_of_a_stream_that_is_gone_changes_nothing(through: int) -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call(peer=MARKER)
    talk.say(1)
    other.cancel(11)
    assert talk.state() is StreamState.GONE
    other.ack(through, token=token_of("s1"))
    assert talk.state() is StreamState.GONE
    assert other.poll() == "error cancelled"
    other.resume(9)
    assert other.heard() == ["result 11", "error 9 cancelled"]


# ------------------------------------------------------------------------------------------------------------- quotas


@pytest.mark.rule("R25")
def test_a_call_whose_client_has_not_come_back_for_it_is_not_over() -> None:
    talk = Conversation(StreamsConfig(max_calls_per_principal=2))
    line = talk.connect(principal="ann")
    for number in (1, 2):
        line.call(number, f"s{number}")
        talk.respond(f"s{number}")
    line.call(3, "s3")
    assert line.heard()[-1] == "error 3 too_many_streams"
    line.ack(3, "s1", token_of("s1"))
    line.call(4, "s4")
    assert line.heard() == ["create"]


@pytest.mark.rule("R25")
def test_work_that_was_told_to_stop_is_over() -> None:
    talk = Conversation(StreamsConfig(max_calls=1))
    line = talk.connect()
    line.call(1, "s1")
    line.cancelled(1)
    line.call(2, "s2")
    assert line.heard() == ["create", "end", "create"]


@pytest.mark.rule("R10")
@pytest.mark.parametrize(("room", "heard"), [(0, ["create"]), (1, ["create", "create"])])
def test_there_is_no_room_once_the_logs_are_full_to_the_byte(room: int, heard: list[str]) -> None:
    talk = Conversation()
    line = talk.connect(Framing.MESSAGES)
    line.call()
    talk = Conversation(StreamsConfig(max_total_bytes=len(line.chunks[0]) + room))
    line = talk.connect(Framing.MESSAGES)
    line.call(7, "s1")
    line.call(8, "s2")
    assert line.heard() == heard


@pytest.mark.rule("Q13", "R18")
def test_who_accepts_no_events_is_given_nothing_to_come_back_with() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(kind=StreamKind.ANNOUNCED, body=BodyPolicy.NEVER)
    talk.respond()
    assert (exchange.body, exchange.heard()) == (BodyKind.JSON, ["result 7"])
    assert talk.state() is None


# ---------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.rule("R4", "Q13")
def test_a_position_counts_where_positions_were_given_and_body_and_header_agree() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call(1, "s1", peer=MARKER)
    line.call(2, "s2", peer=DRAFT)
    talk.say(1, stream="s1")
    talk.say(2, stream="s2")
    other.resume(7, "s1", after=1, header=2, attempt="a.1")
    other.resume(8, "s2", after=1, marker=True)
    assert other.heard() == ["error 7 invalid_cursor", "error 8 invalid_cursor"]
    other.resume(9, "s1", after=1, header=1, attempt="a.1")
    assert other.heard() == ["progress 1"]


@pytest.mark.rule("R14", "Q13")
def test_nobody_has_what_was_never_there() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call(peer=MARKER)
    talk.say(1)
    other.resume(after=3, attempt="a.1")
    assert other.heard() == ["error 9 invalid_cursor"]
    talk.say(2)
    assert line.heard() == ["create", "progress 1", "progress 2"]


@pytest.mark.rule("R14")
def test_a_client_without_numbers_waits_before_it_takes_over_and_one_with_them_does_not() -> None:
    talk = Conversation(StreamsConfig(takeover_interval=5))
    line, second, third = talk.connect(), talk.connect(), talk.connect()
    line.call()
    second.resume()
    talk.now = 2
    third.resume()
    assert third.heard() == ["error 9 too_early"]
    assert third.error.data == {"reason": "too_early", "retryAfter": 3}
    third.resume(10, attempt="a.1")
    assert third.heard() == ["create"]


@pytest.mark.rule("Q11h")
def test_a_stream_is_attached_so_often_in_a_row_and_then_at_its_rate() -> None:
    talk = Conversation(StreamsConfig(max_resumes=3, resume_interval=2))
    talk.connect().call(peer=MARKER)
    line = talk.connect()
    for number in range(1, 5):
        line.resume(number, attempt=f"a.{number}")
    refused = [text for text in line.heard() if text.startswith("error")]
    assert refused == ["error 1 superseded", "error 2 superseded", "error 4 too_early"]
    assert line.error.data == {"reason": "too_early", "retryAfter": 2}
    talk.now = 2
    line.resume(5, attempt="a.5")
    line.resume(6, attempt="a.6")
    assert [line.heard()[-1], talk.observed()[-1]] == ["error 6 too_early", "s1 attached to 1"]


@pytest.mark.rule("Q10", "Q11e")
def test_a_wrong_token_is_answered_where_it_was_presented_and_too_many_of_them_with_the_time_to_wait() -> None:
    talk = Conversation(StreamsConfig(max_wrong_tokens=2, guess_memory=60, keepalive=None))
    line = talk.connect()
    line.call()
    line.heard()
    line.cancel(11, token=Secret("wrong"))
    talk.now = 10
    line.cancel(12, token=Secret("wrong"))
    line.cancel(13)
    assert line.heard() == ["error 11 stream_not_found", "error 12 stream_not_found", "error 13 too_early"]
    assert line.error.data == {"reason": "too_early", "retryAfter": 50}
    talk.now = 60
    line.cancel(14)
    assert line.heard() == ["end", "result 14"]


# -------------------------------------------------------------------------------------------- what is delivered again


@pytest.mark.rule("P17", "Q9a")
def test_the_end_is_told_again_to_whoever_has_had_it() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call(peer=MARKER)
    talk.respond()
    other.resume(after=3, attempt="a.1")
    assert other.heard() == ["end", "result 9"]
    assert talk.state() is StreamState.COMPLETED


@pytest.mark.rule("Q5b", "R6")
def test_a_cursor_says_what_its_client_has() -> None:
    talk = Conversation(StreamsConfig(window=3))
    line, other = talk.connect(), talk.connect()
    line.call(peer=MARKER)
    talk.say(1, 2)
    line.lose()
    assert talk.application() == ["start s1", "hold s1"]
    other.resume(after=3, attempt="a.1")
    assert talk.application() == ["more s1"]
    assert talk.machine._registry.streams[StreamId("s1")].log.confirmed == 3


@pytest.mark.rule("R8", "Q5a")
def test_who_comes_back_without_a_cursor_after_something_was_dropped_has_confirmed_nothing() -> None:
    talk = Conversation(StreamsConfig(max_stream_bytes=4_000, keep_bytes=500))
    exchange = talk.exchange()
    exchange.call()
    for number in range(40):
        talk.say(number, size=100)
    exchange.lose()
    log = talk.machine._registry.streams[StreamId("s1")].log
    assert log.first_available > 2
    other = talk.exchange()
    other.resume()
    assert other.heard()[:2] == [
        f"{log.first_available - 1}",
        f"{log.first_available} progress {log.first_available - 2}",
    ]
    assert log.confirmed == 0
