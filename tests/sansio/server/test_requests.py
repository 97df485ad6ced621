"""What a peer wants of streams, and what it is refused (rules Q6, Q9, Q10, R6, R14, R21, R22, R24)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.ids import RequestId, Secret, StreamId
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import BodyKind
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.wire.revisions import AfterLoss
from tests.sansio.server.conversation import KEY, MARKER, STOCK, Conversation, token_of

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
