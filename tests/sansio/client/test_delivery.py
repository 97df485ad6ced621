"""What the server sends inside a call: in order, once, to its own application and to nobody else's."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.table import CallState
from mcpstreams_sansio.ids import RequestId, Secret, StreamId
from mcpstreams_sansio.wire.jsonrpc import JSONValue, Notification, Response
from mcpstreams_sansio.wire.marker import Window
from mcpstreams_sansio.wire.streams import ResumeInterval, StreamCreate, create_notification
from mcpstreams_sansio.wire.tags import tagged
from tests.sansio.client.conversation import CONFIG, DRAFT, Conversation, progress, request_id


def following(
    config: ClientConfig = CONFIG, *, http: bool = False, draft: bool = False, calls: int = 1
) -> Conversation:
    """Return a conversation in which each call has its stream."""
    talk = Conversation(http=http, config=config)
    if draft:
        talk.server = DRAFT
    talk.link_up()
    for number in range(1, calls + 1):
        talk.call()
        path = number if http else None
        if http:
            talk.accepts(number)
        talk.creates(path, number)
    return talk


# ------------------------------------------------------------------------------------------------- in order, and once


@pytest.mark.rule("P12", "P13", "R4")
def test_messages_come_in_order_without_their_tags() -> None:
    talk = following()
    assert talk.progresses(2) == ["1: progress 1 @2"]
    assert talk.progresses(3) == ["1: progress 2 @3"]
    assert talk.responds(4) == ["1: ends with result @4"]


@pytest.mark.rule("Q5g", "R4")
def test_what_was_received_before_is_dropped_by_its_sequence() -> None:
    talk = following()
    talk.progresses(2)
    assert talk.progresses(2) == ["1: drops @2"]
    assert talk.creates() == [], "create is no message of the application's"
    assert talk.progresses(3) == ["1: progress 2 @3"]


@pytest.mark.rule("R4")
def test_a_gap_is_a_lost_path_and_the_call_comes_back_from_before_it() -> None:
    talk = following()
    talk.progresses(2)
    talk.take(2)
    assert talk.progresses(4) == []
    assert talk.state() is CallState.WAITING
    assert talk.progresses(3) == [], "this path is its own no more"
    assert talk.wait(1.0) == ["1: tries resume", "c1 <- resume s1 after 2 #2"]
    assert talk.progresses(3) == ["1: progress 2 @3"]


@pytest.mark.rule("R14", "R4")
def test_old_messages_under_way_do_not_look_like_a_gap_of_the_new_attachment() -> None:
    talk = following()
    talk.progresses(3)
    talk.wait(1.0)
    assert talk.progresses(4) == []
    assert talk.fails(5) == [], "an error that was under way: messages before it are missing"
    assert talk.state() is CallState.REATTACHING
    assert talk.progresses(2) == ["1: progress 1 @2"]
    assert talk.progresses(3) == ["1: progress 2 @3"]


def test_an_attachment_that_really_has_a_gap_is_given_up_after_a_while() -> None:
    talk = following()
    talk.progresses(3)
    talk.wait(1.0)
    talk.progresses(4)
    talk.progresses(5)
    assert talk.wait(CONFIG.reply_timeout) == []
    assert talk.state() is CallState.WAITING


def test_over_http_a_gap_leaves_the_exchange() -> None:
    talk = following(http=True)
    assert talk.progresses(3, path=1) == ["leave c1"]
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 after 1 #2 at s1_1"]
    assert talk.progresses(2, path=1) == [], "the old path delivers late"
    assert talk.progresses(3, path=2) == ["leave c2"], "a fresh exchange has no old messages under way"


@pytest.mark.rule("R8")
def test_without_tags_the_client_counts_and_cannot_tell_what_comes_twice() -> None:
    talk = following(draft=True)
    assert talk.says(progress(1, request_id(1))) == ["1: progress 1 @2"]
    assert talk.says(progress(1, request_id(1))) == ["1: progress 1 @3"], "at least once, as documented"


@pytest.mark.rule("P24", "Q5g")
def test_without_tags_an_event_id_tells_what_comes_twice() -> None:
    talk = following(http=True, draft=True)
    talk.sends(progress(1), 2, path=1)
    talk.sends(progress(2), 3, path=1)
    talk.take(2)
    talk.cut(1)
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 at s1_2"]
    assert talk.sends(progress(1), 2, path=2) == ["1: drops @2"], "a replay that begins at the cursor itself"
    assert talk.sends(progress(2), 3, path=2) == ["1: drops @3"]
    assert talk.sends(progress(3), 4, path=2) == ["1: progress 3 @4"]


# ---------------------------------------------------------------------------------------------- to whom it belongs


@pytest.mark.rule("Q4a")
def test_a_tag_says_whose_message_it_is_on_a_shared_connection() -> None:
    talk = following(calls=2)
    assert talk.progresses(2, number=2) == ["2: progress 1 @2"]
    assert talk.progresses(2, number=1) == ["1: progress 1 @2"]


@pytest.mark.rule("Q3e", "Q4a")
def test_progress_without_a_tag_is_told_by_its_token() -> None:
    talk = Conversation(server=DRAFT)
    talk.link_up()
    talk.call()
    talk.call({"name": "tool", "_meta": {"progressToken": 7}})
    assert talk.says(progress(1, request_id(1))) == ["1: progress 1 @1"]
    assert talk.says(progress(1, 7)) == ["2: progress 1 @1"]
    assert talk.says(progress(1, "7")) == ["c1: stray progress 1"], "7 and text 7 are two tokens"


@pytest.mark.rule("Q4a")
@pytest.mark.parametrize("token", [None, True, 1.0, [], {}])
def test_a_progress_token_that_is_none_names_no_call(token: JSONValue) -> None:
    talk = Conversation(server=DRAFT)
    talk.link_up()
    talk.call({"name": "tool", "_meta": {"progressToken": 1}})
    strange = Notification("notifications/progress", {"progressToken": token, "progress": 1})
    assert talk.says(strange) == ["c1: stray progress 1"]


@pytest.mark.rule("P2", "R4")
def test_without_the_marker_a_tag_is_no_position_and_is_shown_to_nobody() -> None:
    talk = following(draft=True)
    assert talk.says(tagged(progress(1), StreamId("s1"), 9)) == ["1: progress 1 @2"]
    assert talk.says(tagged(Response(request_id(1), {}), StreamId("s1"), 9)) == ["1: ends with result @3"]


def test_of_two_calls_with_one_progress_token_the_first_hears_of_it() -> None:
    talk = Conversation(server=DRAFT)
    talk.link_up()
    for _ in (1, 2):
        talk.call({"name": "tool", "_meta": {"progressToken": 7}})
    assert talk.says(Response(request_id(2), {})) == ["2: ends with result @1"]
    assert talk.says(progress(1, 7)) == ["1: progress 1 @1"]


@pytest.mark.rule("Q3e", "Q4a")
def test_a_progress_token_names_the_call_that_goes_on_whichever_has_ended() -> None:
    talk = Conversation(server=DRAFT)
    talk.link_up()
    for _ in (1, 2):
        talk.call({"name": "tool", "_meta": {"progressToken": 7}})
    assert talk.says(Response(request_id(1), {})) == ["1: ends with result @1"]
    assert talk.says(progress(1, 7)) == ["2: progress 1 @1"]
    assert talk.says(Response(request_id(2), {})) == ["2: ends with result @2"]
    assert talk.says(progress(2, 7)) == ["c1: stray progress 2"]


@pytest.mark.rule("Q3e")
def test_an_answered_call_that_is_not_over_takes_no_progress_from_another() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call({"name": "tool", "_meta": {"progressToken": 7}})
    talk.creates()
    talk.progresses(2)
    talk.responds(3)
    assert talk.state() is CallState.SETTLING, "its message is not taken"
    talk.link_down()
    talk.server = DRAFT
    talk.link_up()
    talk.call({"name": "tool", "_meta": {"progressToken": 7}})
    assert talk.says(progress(1, 7)) == ["2: progress 1 @1"]


def test_a_message_without_a_tag_is_told_by_the_stream_that_it_hints_at() -> None:
    talk = following(draft=True, calls=2)
    hinting = Notification("notifications/message", {"data": 1, "_meta": {"streamId": "s2"}})
    assert talk.says(hinting) == ["2: notifications/message @2"]


def test_what_belongs_to_no_call_is_told_as_such() -> None:
    talk = following()
    announcement = Notification("notifications/tools/list_changed")
    assert talk.says(announcement) == ["c1: stray notifications/tools/list_changed"]


@pytest.mark.rule("Q11g")
def test_what_comes_on_one_stream_can_not_name_another() -> None:
    talk = following(http=True, calls=2)
    forged = tagged(progress(1), StreamId("s2"), 2)
    assert talk.says(forged, path=1) == ["c1: stray progress 1"]
    assert talk.progresses(2, path=2, number=2) == ["2: progress 1 @2"]


@pytest.mark.rule("R4")
def test_in_a_stream_with_tags_a_message_without_one_is_no_part_of_it() -> None:
    talk = following(http=True)
    assert talk.says(progress(1), path=1) == ["c1: stray progress 1"]


@pytest.mark.parametrize(
    "meta",
    [
        {"mcpstreams/seq": 0, "streamId": "s1"},
        {"mcpstreams/seq": True, "streamId": "s1"},
        {"mcpstreams/seq": "2", "streamId": "s1"},
        {"mcpstreams/seq": 2},
    ],
)
def test_a_tag_that_is_none_changes_nothing(meta: dict[str, bool | int | str]) -> None:
    talk = following()
    assert talk.says(Notification("notifications/message", {"_meta": meta})) == ["c1: stray notifications/message"]
    assert talk.progresses(2) == ["1: progress 1 @2"]


def test_what_comes_on_a_path_that_is_over_changes_nothing() -> None:
    talk = following()
    talk.link_down()
    talk.link_up()
    assert talk.says(tagged(progress(1), StreamId("s1"), 2), path=1) == []


# ------------------------------------------------------------------------------------------------------------- create


@pytest.mark.rule("P7", "P8")
def test_create_is_what_brings_the_call_back() -> None:
    talk = following()
    talk.link_down()
    talk.link_up()
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 after 1 #2"]


@pytest.mark.rule("P26", "W4")
def test_create_says_when_to_come_back() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.creates(interval=ResumeInterval(min=5))
    talk.link_down()
    talk.link_up()
    assert talk.wait(4.9) == []
    assert talk.wait(0.1) == ["1: tries resume", "c2 <- resume s1 after 1 #2"]


def test_a_later_create_of_the_same_stream_brings_a_new_token_and_changes_no_position() -> None:
    talk = following()
    talk.progresses(2)
    renewed = StreamCreate(StreamId("s1"), Secret("new"), request_id(1))
    assert talk.sends(create_notification(renewed), 1) == []
    call = talk.streams._ledger.calls[next(iter(talk.streams._ledger.calls))]
    assert call.stream is not None
    assert call.stream.resume_token == Secret("new")
    assert talk.progresses(3) == ["1: progress 2 @3"]


@pytest.mark.rule("P26", "R6")
def test_what_a_later_create_leaves_out_stays_as_it_was() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.creates(interval=ResumeInterval(min=5), window=Window(4, 10_000))
    talk.creates()
    talk.progresses(2)
    assert talk.take(2) == ["c1 <- ack s1 2"]
    talk.link_down()
    talk.link_up()
    assert talk.wait(4.9) == []
    assert talk.wait(0.1) == ["1: tries resume", "c2 <- resume s1 after 2 #2"]


@pytest.mark.rule("Q11f")
def test_a_second_stream_for_one_request_is_left_alone() -> None:
    talk = following()
    second = StreamCreate(StreamId("s9"), Secret("t"), request_id(1))
    assert talk.sends(create_notification(second), 1, stream="s9") == []
    assert talk.sends(progress(1), 2, stream="s9") == ["c1: stray progress 1"]
    assert talk.progresses(2) == ["1: progress 1 @2"]


@pytest.mark.rule("Q11f", "W3")
def test_over_http_a_create_without_a_request_belongs_to_its_exchange() -> None:
    talk = Conversation(http=True)
    talk.link_up()
    talk.call()
    create = StreamCreate(StreamId("s1"), Secret("token of s1"))
    assert talk.sends(create_notification(create), 1, path=1) == []
    assert talk.progresses(2, path=1) == ["1: progress 1 @2"]


def test_on_a_shared_connection_a_create_without_a_request_can_only_renew_a_stream() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    create = create_notification(StreamCreate(StreamId("s1"), Secret("token of s1")))
    assert talk.sends(create, 1) == []
    assert talk.sends(progress(1), 2) == ["c1: stray progress 1"]
    talk.creates()
    later = StreamCreate(StreamId("s1"), Secret("token of s1"), None, ResumeInterval(min=5))
    assert talk.sends(create_notification(later), 1) == []
    assert talk.progresses(2) == ["1: progress 1 @2"]
    talk.link_down()
    talk.link_up()
    assert talk.wait(4.9) == []
    assert talk.wait(0.1) == ["1: tries resume", "c2 <- resume s1 after 1 #2"]


@pytest.mark.rule("Q11g")
def test_a_stream_of_another_call_can_not_be_announced_again_as_ones_own() -> None:
    talk = following(calls=2)
    stolen = StreamCreate(StreamId("s1"), Secret("t"), request_id(2))
    assert talk.sends(create_notification(stolen), 1) == []
    assert talk.progresses(2, number=1) == ["1: progress 1 @2"]


@pytest.mark.rule("Q11g")
def test_nor_as_that_of_a_call_that_has_none_yet() -> None:
    talk = following()
    talk.call()
    stolen = StreamCreate(StreamId("s1"), Secret("t"), request_id(2))
    assert talk.sends(create_notification(stolen), 1) == []
    assert talk.progresses(2, number=1) == ["1: progress 1 @2"]


@pytest.mark.rule("W6")
def test_a_create_for_nobody_is_ignored() -> None:
    talk = following()
    for strange in (1, "1", request_id(9)):
        strangers = create_notification(StreamCreate(StreamId("s7"), Secret("t"), strange))
        assert talk.sends(strangers, 1, stream="s7") == []


def test_a_create_on_another_exchange_than_its_calls_is_late() -> None:
    talk = following(http=True, calls=2)
    renewed = create_notification(StreamCreate(StreamId("s1"), Secret("new"), request_id(1)))
    assert talk.sends(renewed, 1, path=2) == []
    talk.cut(1)
    assert talk.wait(1.0) == ["1: tries resume", "c3 <- resume s1 after 1 #2 at s1_1"], "with the token it had"


def test_a_create_beyond_what_is_missing_is_passed_over() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    create = create_notification(StreamCreate(StreamId("s1"), Secret("token of s1"), request_id(1)))
    assert talk.sends(create, 2) == []
    assert talk.state() is CallState.WAITING


@pytest.mark.parametrize("params", [None, {}, {"streamId": "s1"}, {"stream": 7}])
def test_a_create_that_is_none_changes_nothing(params: dict[str, str | int] | None) -> None:
    talk = following()
    broken = Notification("notifications/stream/create", params)
    assert talk.says(broken) == ["c1: stray notifications/stream/create"]


# ---------------------------------------------------------------------------------------------------------------- end


@pytest.mark.rule("Q3d", "Q3a")
def test_the_response_is_an_end_for_the_caller_and_end_an_end_for_the_server() -> None:
    talk = following()
    assert talk.responds(2) == ["1: ends with result @2"]
    assert talk.ends(3) == ["c1 <- ack s1 3"]
    assert talk.state() is None


@pytest.mark.rule("Q9b")
def test_an_end_without_an_answer_is_what_a_cancelled_stream_has() -> None:
    assert following().ends(2) == ["1: ends with loss: cancelled @1"]
    assert following(draft=True).ends(2) == ["1: ends with loss: cancelled @1"]


def test_an_end_that_comes_again_changes_nothing() -> None:
    talk = following()
    talk.progresses(2)
    assert talk.ends(2) == ["1: drops @2"]
    assert talk.state() is CallState.FOLLOWING


def test_an_end_beyond_what_is_missing_is_a_gap() -> None:
    talk = following()
    assert talk.ends(4) == []
    assert talk.state() is CallState.WAITING


@pytest.mark.rule("R4")
def test_what_an_end_tells_of_the_messages_before_it_holds_on_the_next_path() -> None:
    talk = following()
    assert talk.ends(4) == [], "the answer stands at 3"
    talk.link_down()
    talk.link_up()
    talk.wait(2.0)
    assert talk.fails(2) == [], "so 2 is none"
    assert talk.state() is CallState.WAITING


def test_an_end_of_nothing_is_ignored() -> None:
    talk = following()
    assert talk.ends(2, number=9) == []
    talk.link_down()
    talk.link_up()
    assert talk.ends(2) == [], "before the call is resumed, nothing can be its end"


def test_the_end_of_a_call_that_is_being_polled_is_late() -> None:
    talk = Conversation(config=attrs.evolve(CONFIG, poll_first=True))
    talk.link_up()
    talk.call()
    talk.creates()
    talk.progresses(3)
    talk.wait(1.0)
    assert talk.state() is CallState.POLLING
    assert talk.ends(3) == []
    assert talk.state() is CallState.POLLING


@pytest.mark.rule("R4")
def test_an_end_that_is_not_one_above_the_response_acknowledges_nothing_that_was_not_received() -> None:
    talk = following()
    assert talk.fails(2) == ["1: ends with failure 7 @2"]
    assert talk.ends(4) == ["c1: stray notifications/stream/end", "c1 <- ack s1 2"], "something before it was missing"


# -------------------------------------------------------------------------------------------------- positions, pauses


@pytest.mark.rule("H13", "Q5i")
def test_a_priming_event_is_a_cursor_before_anything_else_has_come() -> None:
    talk = Conversation(http=True, server=DRAFT)
    talk.link_up()
    talk.call()
    talk.accepts(1)
    assert talk.primes(0, path=1) == []
    assert talk.cut(1) == []
    assert talk.wait(1.0) == ["1: tries cursor", "c2 <- get at s1_0"]


@pytest.mark.rule("H16", "W5")
def test_a_server_may_ask_for_a_pause_in_milliseconds() -> None:
    talk = following(http=True)
    assert talk.asks_to_wait(5_000, path=1) == []
    talk.cut(1)
    assert talk.wait(4.9) == []
    assert talk.wait(0.1) == ["1: tries resume", "c2 <- resume s1 after 1 #2 at s1_1"]


def test_a_pause_that_was_asked_for_holds_until_a_new_path_delivers() -> None:
    talk = following(http=True)
    talk.asks_to_wait(5_000, path=1)
    talk.cut(1)
    talk.wait(5.0)
    talk.cut(2)
    assert talk.wait(4.9) == [], "nothing came on the second path, so the pause is still the one asked for"
    talk.wait(0.1)
    talk.accepts(3)
    talk.cut(3)
    assert talk.wait(4.0) == ["1: tries resume", "c4 <- resume s1 after 1 #4 at s1_1"]


@pytest.mark.parametrize("sessions", [1, 2, 3])
def test_c5_a_position_of_a_session_that_is_over_is_no_cursor(sessions: int) -> None:
    talk = Conversation(http=True, server=DRAFT)
    for _ in range(sessions):
        talk.link_down()
        talk.link_up()
    talk.call()
    talk.accepts(1)
    talk.link_down()
    talk.link_up()
    assert talk.primes(3, path=1) == []
    assert talk.cut(1) == ["1: ends with doubt: connection lost @0"]


def test_positions_and_pauses_of_other_paths_mean_nothing() -> None:
    talk = following(http=True)
    talk.cut(1)
    assert talk.primes(7, path=1) == []
    assert talk.asks_to_wait(60_000, path=1) == []
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 after 1 #2 at s1_1"]


def test_an_answer_that_is_nobodys_is_told_as_such() -> None:
    talk = following()
    strange: RequestId = 77
    assert talk.says(Response(strange, {})) == ["c1: stray result 77"]
