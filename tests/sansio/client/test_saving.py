"""A call that its application keeps beyond its process: what goes out waits for that, and what comes is kept for it.

Each test that ends a process lets another client go on from what was saved, with an instance of its own.
"""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client.calls import ATTEMPTS_AHEAD
from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.effects import CallFinished, SaveDue
from mcpstreams_sansio.client.inputs import CallSaved, LinkDown, MessageReceived, SavedCall, ServerTraits
from mcpstreams_sansio.client.table import CallState
from mcpstreams_sansio.connections import BytesReceived
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.ids import CallId, ConnectionId, Secret, StreamId
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Response, encode_message
from mcpstreams_sansio.wire.marker import Window
from mcpstreams_sansio.wire.refusals import Reason, refusal
from mcpstreams_sansio.wire.streams import StreamCreate, create_notification
from mcpstreams_sansio.wire.tags import tagged
from tests.sansio.client.conversation import CONFIG, DRAFT, MARKER, Conversation, progress, request_id
from tests.sansio.client.driving import SEED, Driven
from tests.wording import whole

OTHER = ServerTraits(True, "server-2", 1_000.0)


def kept(talk: Conversation | None = None, *, window: Window | None = None) -> Conversation:
    """Return a conversation with a stored call that has its stream, which is saved."""
    talk = talk or Conversation()
    talk.link_up()
    talk.call(stored=True)
    talk.saves()
    talk.creates(1 if talk.http else None, window=window)
    talk.saves()
    return talk


def answered(sequence: int) -> MessageReceived:
    """Return the answer to call 1, at this position."""
    return MessageReceived(ConnectionId(1), tagged(Response(request_id(1), {}), StreamId("s1"), sequence))


def elsewhere(saved: SavedCall, server: ServerTraits = MARKER, *, http: bool = False) -> tuple[Conversation, list[str]]:
    """Return what another process does with a saved call, once it is saved there."""
    talk = Conversation(http, server, config=attrs.evolve(CONFIG, instance="another-instance"))
    talk.link_up()
    done = talk.attach(saved, stored=True)
    if "1: to be saved" in done:
        done.remove("1: to be saved")
        done += talk.saves()
    return talk, done


# ------------------------------------------------------------------------------------------------- before it goes out


@pytest.mark.rule("R21", "R23")
def test_a_stored_call_goes_out_once_it_is_saved_with_its_key() -> None:
    talk = Conversation()
    talk.link_up()
    assert talk.call(stored=True) == ["1: to be saved"]
    saved = talk.save()
    assert (saved.sent, saved.instance) == (True, "server-1")
    assert saved.key is not None
    assert talk.saved(saved) == ["c1 <- call 1 key #1"]


@pytest.mark.rule("R21")
def test_h4_a_call_that_was_saved_before_it_went_out_never_runs_twice() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call(stored=True)
    saved = talk.save()
    talk.saved(saved)
    other, done = elsewhere(saved)
    assert done == ["1: tries resend", "c1 <- call 1 key #1001"]
    assert other.save().key == saved.key, "it is the same call"


@pytest.mark.rule("R21")
def test_h4_without_a_key_it_is_not_sent_again() -> None:
    talk = Conversation(server=DRAFT)
    talk.link_up()
    talk.call(stored=True)
    saved = talk.save()
    assert talk.saved(saved) == ["c1 <- call 1"]
    assert elsewhere(saved, DRAFT)[1] == ["1: ends with doubt: connection lost @0"]


def test_a_call_that_is_saved_without_a_link_certainly_did_not_run() -> None:
    talk = Conversation()
    assert talk.call(stored=True) == []
    saved = talk.save()
    assert (saved.sent, saved.key) == (False, None)
    assert talk.saved(saved) == []
    assert talk.link_up() == ["1: to be saved"], "what is saved names no key"
    assert elsewhere(saved)[1] == ["c1 <- call 1 key #1001"]


@pytest.mark.rule("R21")
def test_what_was_saved_for_one_server_does_not_let_it_go_to_another() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call(stored=True)
    saved = talk.save()
    talk.link_down()
    talk.server = OTHER
    assert talk.link_up() == ["1: to be saved"]
    assert talk.saved(saved) == ["1: to be saved"]
    assert talk.state() is CallState.STRANDED
    assert talk.saves() == ["c2 <- call 1 key #1"]


@pytest.mark.rule("R21")
def test_h4_what_another_process_goes_on_with_waits_for_being_saved_in_the_same_way() -> None:
    before = Conversation()
    before.call(stored=True)
    talk = Conversation(config=attrs.evolve(CONFIG, instance="another-instance"))
    assert talk.attach(before.save(), stored=True) == []
    early = talk.save()
    assert talk.link_up() == ["1: to be saved"]
    assert talk.saved(early) == ["1: to be saved"], "that names no key"
    assert talk.saves() == ["c1 <- call 1 key #1001"]


@pytest.mark.rule("R14")
def test_an_old_report_takes_no_attempt_back() -> None:
    before = kept().save()
    talk = Conversation(config=attrs.evolve(CONFIG, instance="another-instance"))
    talk.link_up()
    assert talk.attach(before, stored=True) == ["1: to be saved"]
    assert talk.saves() == ["1: tries resume", f"c1 <- resume s1 after 1 #{before.attempt + 1}"]
    assert talk.saved(before) == []
    talk.link_down()
    talk.link_up()
    assert talk.wait(2.0) == ["1: tries resume", f"c2 <- resume s1 after 1 #{before.attempt + 2}"]


@pytest.mark.rule("R23")
def test_nothing_of_a_stored_call_is_saved_before_it_is_said_to_be() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call(stored=True)
    talk.saves()
    talk.creates()
    talk.link_down()
    talk.link_up()
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 after 0 #2"]


def test_what_was_saved_counts_with_the_next_link_as_well() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call(stored=True)
    saved = talk.save()
    talk.link_down()
    assert talk.saved(saved) == []
    assert talk.link_up() == ["c2 <- call 1 key #1"]


def test_what_was_refused_for_now_goes_again_without_being_saved_again() -> None:
    talk = Conversation(http=True)
    talk.link_up()
    talk.call(stored=True)
    assert talk.saves() == ["c1 <- call 1 key #1"]
    assert talk.refuses(1, 429) == []
    assert talk.wait(1.0) == ["c2 <- call 1 key #2"]


@pytest.mark.rule("R13")
def test_h2_a_stored_call_that_nobody_saves_ends_within_its_budget() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call(stored=True)
    assert talk.wait(CONFIG.patience) == ["1: ends with not run: unsaved @0"]


def test_also_where_the_server_was_lost_meanwhile() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call(stored=True)
    talk.link_down()
    assert talk.wait(CONFIG.patience) == ["1: ends with not run: unsaved @0"]


@pytest.mark.parametrize("saved", [False, True])
def test_h1_a_stored_call_for_which_no_server_was_there_ends_as_any_other(saved: bool) -> None:
    talk = Conversation()
    talk.call(stored=True)
    if saved:
        talk.saves()
    assert talk.wait(CONFIG.patience) == ["1: ends with not run: unreached @0"]


def test_what_was_saved_in_time_and_refused_for_now_was_not_left_unsaved() -> None:
    talk = Conversation(http=True)
    talk.link_up()
    talk.call(stored=True)
    talk.saves()
    talk.refuses(1, 429)
    talk.link_down()
    assert talk.wait(CONFIG.patience + 10.0) == ["1: ends with not run: unreached @0"]


def test_another_call_need_not_be_saved() -> None:
    talk = Conversation()
    talk.link_up()
    assert talk.call() == ["c1 <- call 1 key #1"]


# ------------------------------------------------------------------------------------------------------ what it takes


@pytest.mark.rule("R6", "R23")
def test_what_is_taken_and_not_saved_is_not_acknowledged() -> None:
    talk = kept()
    talk.progresses(2)
    talk.progresses(3)
    assert talk.take(3) == []
    assert talk.wait(1_000.0) == ["c1 <- ack s1 1"]
    assert talk.saves() == []
    assert talk.wait(1_000.0) == ["c1 <- ack s1 3"]


@pytest.mark.rule("R23")
def test_the_cursor_says_what_is_saved_and_duplicates_are_told_by_what_was_received() -> None:
    talk = kept()
    talk.progresses(2)
    talk.take(2)
    talk.link_down()
    talk.link_up()
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 after 1 #2"]
    assert talk.progresses(2) == ["1: drops @2"]
    assert talk.progresses(3) == ["1: progress 2 @3"]


@pytest.mark.rule("R23")
def test_another_process_goes_on_from_what_was_saved() -> None:
    talk = kept()
    talk.progresses(2)
    talk.take(2)
    talk.saves()
    talk.progresses(3)
    saved = talk.save()
    talk.take(3)
    other, done = elsewhere(saved)
    assert done == ["1: tries resume", "c1 <- resume s1 after 2 #1002"]
    assert other.progresses(3) == ["1: progress 2 @3"]


@pytest.mark.rule("R10", "R23")
def test_what_was_given_before_a_gap_and_not_taken_is_part_of_the_gap_elsewhere() -> None:
    talk = kept()
    talk.progresses(2)
    talk.progresses(3)
    talk.take(2)
    talk.link_down()
    talk.link_up()
    talk.wait(1.0)
    assert talk.rejects("1.1", Reason.EVENTS_GONE, first_available=10, lost=8) == ["1: gap of 6 @9"]
    assert talk.save().taken == 2
    other, done = elsewhere(talk.save())
    assert done[-1] == "c1 <- resume s1 after 2 #1003"
    error = ErrorResponse("another-instance-1.1", -32002, "gone", {"reason": "events_gone", "firstAvailable": 10})
    assert other.says(error) == ["1: gap of 1 @9"]


@pytest.mark.rule("R23")
def test_an_old_report_takes_nothing_back() -> None:
    talk = kept()
    old = talk.save()
    talk.progresses(2)
    talk.take(2)
    talk.saves()
    assert talk.saved(old) == []
    assert talk.wait(1_000.0) == ["c1 <- ack s1 2"]


@pytest.mark.rule("R22", "R23")
def test_over_http_the_header_says_what_is_saved() -> None:
    talk = kept(Conversation(http=True, server=DRAFT))
    talk.progresses(2, path=1)
    talk.progresses(3, path=1)
    talk.take(2)
    talk.saves()
    talk.take(3)
    talk.cut(1)
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 at s1_2"]
    talk.accepts(2)
    talk.primes(2, path=2)
    assert talk.progresses(3, path=2) == ["1: drops @3"]
    assert talk.progresses(4, path=2) == ["1: progress 3 @4"]
    assert talk.save().event_id == "s1_3"


def test_where_a_path_begins_is_where_the_next_one_may_begin() -> None:
    talk = kept(Conversation(http=True, server=DRAFT))
    talk.progresses(2, path=1)
    talk.take(2)
    talk.cut(1)
    talk.wait(1.0)
    talk.accepts(2)
    talk.primes(1, path=2, stream="another-name-of-s1")
    talk.cut(2)
    assert talk.wait(2.0) == ["1: tries resume", "c3 <- resume s1 at another-name-of-s1_1"]


def test_c5_a_cursor_that_was_saved_means_nothing_in_another_session() -> None:
    talk = kept(Conversation(http=True, server=DRAFT))
    talk.progresses(2, path=1)
    talk.take(2)
    saved = talk.save()
    talk.link_down()
    talk.link_up()
    talk.saved(saved)
    talk.cut(1)
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1"]


def test_a_call_of_a_server_without_streams_goes_on_from_the_event_that_was_saved() -> None:
    talk = Conversation(http=True, server=DRAFT)
    talk.link_up()
    talk.call(stored=True)
    talk.saves()
    talk.accepts(1)
    for number in (1, 2):
        talk.says(progress(number, request_id(1)), path=1, event_id=f"e{number}")
    talk.take(1)
    saved = talk.save()
    talk.take(2)
    talk.saved(saved)
    talk.cut(1)
    assert talk.wait(1.0) == ["1: tries cursor", "c2 <- get at e1"]
    assert talk.says(progress(2, request_id(1)), path=2, event_id="e2") == ["1: drops @2"]


def without_a_stream() -> Conversation:
    """Return a conversation over HTTP about a stored call that nothing but an event id brings back."""
    talk = Conversation(http=True, server=DRAFT)
    talk.link_up()
    talk.call(stored=True)
    talk.saves()
    talk.accepts(1)
    talk.says(progress(1, request_id(1)), path=1, event_id="e1")
    talk.take(1)
    return talk


@pytest.mark.rule("H24")
def test_c5_an_event_id_is_not_presented_in_the_session_of_another_process() -> None:
    saved = without_a_stream().save()
    assert saved.event_id == "e1"
    assert elsewhere(saved, DRAFT, http=True)[1] == ["1: ends with doubt: connection lost @1"]


def test_c5_nor_in_a_later_session_of_the_same_process() -> None:
    talk = without_a_stream()
    saved = talk.detach()
    talk.link_down()
    talk.link_up()
    assert talk.attach(saved) == ["2: ends with doubt: connection lost @1"]


def test_c5_in_the_session_in_which_it_was_given_it_is() -> None:
    talk = without_a_stream()
    assert talk.attach(talk.detach()) == ["2: tries cursor", "c2 <- get at e1"]


def test_also_what_was_taken_after_the_end_is_bound_to_its_session() -> None:
    talk = without_a_stream()
    talk.says(progress(2, request_id(1)), path=1, event_id="e2")
    (finished,) = talk.effects(MessageReceived(ConnectionId(1), Response(request_id(1), {}), "e3"))
    assert talk.cut(1) == []
    assert isinstance(finished, CallFinished)
    saved = finished.saved_after(2)
    assert saved is not None
    assert talk.attach(saved) == ["2: tries cursor", "c2 <- get at e2"]
    assert elsewhere(saved, DRAFT, http=True)[1] == ["1: ends with doubt: connection lost @2"]


@pytest.mark.rule("Q13")
def test_where_a_token_names_the_stream_its_event_id_counts_in_every_process() -> None:
    """It belongs to the log of that stream, in whatever session it was given."""
    talk = kept(Conversation(http=True, server=DRAFT))
    talk.progresses(2, path=1)
    talk.take(2)
    assert elsewhere(talk.save(), DRAFT, http=True)[1] == ["1: tries resume", "c1 <- resume s1 at s1_2"]


# --------------------------------------------------------------------------------------------- when it has to be saved


@pytest.mark.rule("P15")
def test_what_brings_a_call_back_is_to_be_saved_as_soon_as_it_is_known_and_when_it_changes() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call(stored=True)
    talk.saves()
    assert talk.creates() == ["1: to be saved"]
    assert talk.save().resume_token == Secret("token of s1")
    assert talk.creates() == []
    assert talk.creates(window=Window(10, 1_000)) == ["1: to be saved"]


@pytest.mark.rule("R6")
@pytest.mark.parametrize("window", [Window(4, 10_000), Window(100, 400)])
def test_half_of_a_window_that_is_taken_has_to_be_saved(window: Window) -> None:
    talk = kept(window=window)
    for sequence in (2, 3):
        talk.progresses(sequence)
    assert talk.take(2) == []
    assert talk.take(3) == ["1: to be saved"], "told once"
    talk.progresses(4)
    assert talk.take(4) == []
    assert talk.saves() == ["c1 <- ack s1 4"], "the server may be waiting for it"


@pytest.mark.rule("R6")
def test_bytes_that_were_saved_one_after_another_add_up_to_half_of_a_window() -> None:
    talk = kept(window=Window(100, 800))
    for sequence, said in ((2, []), (3, []), (4, ["c1 <- ack s1 4"])):
        talk.progresses(sequence)
        talk.take(sequence)
        assert talk.saves() == said, "`create` and so many messages"


def test_what_was_saved_too_early_has_to_be_saved_again() -> None:
    talk = kept(window=Window(4, 10_000))
    early = talk.save()
    for sequence in (2, 3, 4):
        talk.progresses(sequence)
    assert talk.take(4) == ["1: to be saved"]
    assert talk.saved(early) == ["1: to be saved"]


@pytest.mark.rule("R23")
def test_what_is_not_saved_takes_room() -> None:
    talk = kept(Conversation(config=attrs.evolve(CONFIG, max_unread=3)))
    for sequence in (2, 3, 4, 5):
        talk.progresses(sequence)
    assert talk.state() is CallState.FULL
    assert talk.take(5) == ["1: to be saved"]
    assert talk.progresses(6) == [], "it is passed over"
    assert talk.saves() == ["1: tries resume", "c1 <- resume s1 after 5 #2"]
    assert talk.progresses(6) == ["1: progress 5 @6"]


def test_bytes_that_are_not_saved_take_room_too() -> None:
    talk = kept(Conversation(config=attrs.evolve(CONFIG, max_unread_bytes=250)))
    for sequence in (2, 3, 4):
        talk.progresses(sequence)
    assert talk.take(4) == ["1: to be saved"]
    assert talk.state() is CallState.FULL
    assert talk.saves() == []
    assert talk.state() is CallState.FOLLOWING


# ------------------------------------------------------------------------------------------------------------ its end


@pytest.mark.rule("R6", "R23", "Q5e")
def test_the_answer_is_acknowledged_once_it_is_saved() -> None:
    talk = kept()
    talk.progresses(2)
    talk.take(2)
    saved = talk.save()
    assert talk.responds(3) == ["1: ends with result @3"]
    assert talk.ends(4) == []
    assert talk.take(3) == []
    assert talk.saved(saved) == [], "that was before it"
    assert talk.state() is CallState.SETTLING
    assert talk.keeps_outcome() == ["c1 <- ack s1 4"]
    assert talk.state() is None


@pytest.mark.rule("R23")
def test_a_loss_that_was_not_saved_is_found_again_elsewhere() -> None:
    talk = kept()
    talk.link_down()
    talk.link_up()
    talk.wait(1.0)
    saved = talk.save()
    refused = refusal("instance-1.1", Reason.EXPIRED)
    (finished,) = talk.effects(MessageReceived(ConnectionId(2), refused))
    assert isinstance(finished, CallFinished)
    assert finished.saved == saved


@pytest.mark.rule("R23")
def test_an_answer_that_was_not_saved_comes_again_elsewhere() -> None:
    talk = kept()
    saved = talk.save()
    talk.responds(2)
    talk.ends(3)
    talk.take(2)
    other, done = elsewhere(saved)
    assert done == ["1: tries resume", "c1 <- resume s1 after 1 #1002"]
    assert other.responds(2) == ["1: ends with result @2"]


def test_an_outcome_that_nobody_saves_is_left_to_the_server() -> None:
    talk = kept()
    talk.progresses(2)
    talk.responds(3)
    talk.ends(4)
    talk.take(3)
    assert talk.wait(CONFIG.linger) == ["c1 <- ack s1 1"]
    assert talk.state() is None


def test_an_outcome_may_be_saved_before_the_stream_is_over() -> None:
    talk = kept()
    talk.responds(2)
    assert talk.keeps_outcome() == []
    assert talk.keeps_outcome() == []
    assert talk.ends(3) == ["c1 <- ack s1 3"]
    assert talk.keeps_outcome() == [], "nothing is left of it"


# ---------------------------------------------------------------------------------------------------------- questions


@pytest.mark.rule("R24")
def test_an_answer_to_a_question_goes_out_once_it_is_saved() -> None:
    talk = kept()
    talk.asks(2)
    talk.asks(3, "q2")
    before = talk.save()
    assert talk.answer("q1") == ["1: to be saved"]
    assert talk.asks(2) == ["1: drops @2"], "it waits"
    assert talk.saved(before) == []
    assert talk.saves() == ["c1 <- result q1"]
    assert talk.saves() == [], "once"


@pytest.mark.rule("R24")
def test_t20_a_question_that_was_answered_is_answered_the_same_elsewhere() -> None:
    talk = kept()
    talk.asks(2)
    talk.answer("q1")
    other, done = elsewhere(talk.save())
    assert done == ["1: tries resume", "c1 <- resume s1 after 2 #1002", "c1 <- result q1"]
    assert other.asks(2) == ["1: drops @2"]


@pytest.mark.rule("R24")
def test_over_http_it_is_sent_at_once_as_well() -> None:
    talk = kept(Conversation(http=True))
    talk.asks(2, path=1)
    talk.answer("q1")
    talk.saves()
    _, done = elsewhere(talk.save(), http=True)
    assert done == ["c1 <- result q1", "1: tries resume", "c2 <- resume s1 after 2 #1002 at s1_2"]


@pytest.mark.rule("Q4d")
def test_a_question_that_was_open_is_asked_again_elsewhere() -> None:
    talk = kept()
    talk.asks(2)
    other, _ = elsewhere(talk.save())
    assert other.asks(2) == ["1: asked q1 @2"]


def test_an_answer_that_nobody_wants_any_more_is_not_sent() -> None:
    talk = kept()
    talk.asks(2)
    talk.answer("q1")
    assert talk.withdraws(3) == []
    assert talk.saves() == []


# ----------------------------------------------------------------------------------------------------- another process


@pytest.mark.rule("R14")
def test_attempts_are_counted_on_above_all_that_the_process_before_may_make() -> None:
    talk = kept()
    saved = talk.save()
    other, done = elsewhere(saved)
    assert (saved.client, saved.attempt) == ("instance", 1 + ATTEMPTS_AHEAD)
    assert done[-1] == f"c1 <- resume s1 after 1 #{2 + ATTEMPTS_AHEAD}"
    assert (other.save().client, other.save().attempt) == ("instance", 2 + 2 * ATTEMPTS_AHEAD)


@pytest.mark.rule("R14")
def test_nothing_goes_out_elsewhere_before_that_is_saved_there_too() -> None:
    other = Conversation(config=attrs.evolve(CONFIG, instance="another-instance"))
    other.link_up()
    assert other.attach(kept().save(), stored=True) == ["1: to be saved"]
    assert other.state() is CallState.STRANDED
    assert other.saves() == ["1: tries resume", f"c1 <- resume s1 after 1 #{2 + ATTEMPTS_AHEAD}"]


def lost_often(times: int, config: ClientConfig = CONFIG) -> tuple[Conversation, list[str]]:
    """Return a conversation about a stored call whose connection is lost again and again."""
    talk = kept(Conversation(config=config))
    done: list[str] = []
    for _ in range(times):
        done += talk.link_down() + talk.link_up() + talk.wait(1.0)
        done += talk.progresses(2) + talk.take(2)
        talk.now += CONFIG.steady_after
    return talk, done


@pytest.mark.rule("R14")
def test_when_half_of_the_attempts_are_made_the_call_is_to_be_saved() -> None:
    assert lost_often(ATTEMPTS_AHEAD // 2 - 1)[1].count("1: to be saved") == 0
    assert lost_often(ATTEMPTS_AHEAD // 2)[1].count("1: to be saved") == 1


@pytest.mark.rule("R14")
def test_when_all_are_made_it_waits_for_that() -> None:
    talk, _ = lost_often(ATTEMPTS_AHEAD)
    talk.link_down()
    assert talk.link_up() == []
    assert talk.wait(1.0) == ["1: to be saved"]
    assert talk.state() is CallState.STRANDED
    assert talk.saves()[0] == "1: tries resume"


@pytest.mark.rule("R14", "R23")
def test_also_where_it_would_attach_again_since_there_is_room() -> None:
    talk, _ = lost_often(ATTEMPTS_AHEAD, attrs.evolve(CONFIG, max_unread=2))
    for sequence in (3, 4, 5):
        talk.progresses(sequence)
    assert talk.state() is CallState.FULL
    talk.take(4)
    assert talk.saved(attrs.evolve(talk.save(), attempt=0)) == []
    assert talk.wait(1.0) == ["1: to be saved"]


@pytest.mark.rule("R14")
def test_a_late_attempt_of_the_process_that_ended_does_not_take_the_call_away() -> None:
    other, _ = elsewhere(kept().save())
    error = ErrorResponse("another-instance-1.1", -32002, "taken over", {"reason": "superseded"})
    assert other.says(error) == []
    assert other.wait(2.0) == ["1: tries resume", "c1 <- resume s1 after 1 #1003"]
    error = ErrorResponse("another-instance-1.2", -32002, "taken over", {"reason": "superseded"})
    assert other.says(error) == ["1: ends with loss: superseded @1"], "that is another one"


@pytest.mark.rule("R14")
def test_a_call_does_not_come_back_under_the_instance_of_a_process_that_ended() -> None:
    saved = kept().save()
    talk = Conversation()
    with pytest.raises(LocalProtocolError, match=r"\Aa client that comes back needs an instance of its own\Z"):
        talk.attach(saved)


@pytest.mark.rule("R21")
def test_the_age_of_a_key_goes_on_while_the_call_is_kept() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call(stored=True)
    talk.saves()
    talk.now += 100.0
    saved = talk.save()
    assert saved.key_age == 100.0
    assert elsewhere(saved.aged(800.0))[1][0] == "1: tries resend"
    assert elsewhere(saved.aged(900.0))[1] == ["1: ends with doubt: key too old @0"]


@pytest.mark.parametrize("seconds", [0.0, 0.5])
def test_any_time_can_pass_while_a_call_is_kept(seconds: float) -> None:
    saved = attrs.evolve(kept().save(), key_age=2.0)
    assert saved.aged(seconds) == attrs.evolve(saved, key_age=2.0 + seconds)


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_no_call_is_kept_for_less_than_no_time(seconds: float) -> None:
    with pytest.raises(LocalProtocolError, match=r"\Ano call is kept for less than no time\Z"):
        kept().save().aged(seconds)


# ----------------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.rule("R13")
def test_only_a_call_that_was_made_to_be_stored_is_saved() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    with pytest.raises(LocalProtocolError, match=r"\Athe call was not made to be stored\Z"):
        talk.save()
    with pytest.raises(LocalProtocolError, match=r"\Athe call was not made to be stored\Z"):
        talk.saved(kept().save())


@pytest.mark.rule("R13")
def test_what_has_its_outcome_is_not_saved_any_more() -> None:
    talk = kept()
    with pytest.raises(LocalProtocolError, match=r"\Athe call has no outcome yet\Z"):
        talk.keeps_outcome()
    talk.responds(2)
    assert talk.may_save() is None, "which is no mistake: whoever asks may not have heard of it"
    talk.ends(3)
    talk.keeps_outcome()
    assert talk.may_save() is None


@pytest.mark.rule("R13")
def test_what_is_to_be_saved_comes_with_that_though_the_call_may_be_over_by_then() -> None:
    """A peer may send `create` and the answer at once: both are one read, and one list of effects."""
    driven = Driven()
    driven.is_up()
    driven.call(stored=True)
    driven.saves()
    create = create_notification(StreamCreate(StreamId("s1"), Secret("token of s1"), request_id(1)))
    messages = (tagged(create, StreamId("s1"), 1), tagged(Response(request_id(1), {}), StreamId("s1"), 2))
    data = b"".join(encode_message(message) + b"\n" for message in messages)
    due, finished = driven.effects(BytesReceived(ConnectionId(1), data, SEED))
    assert isinstance(due, SaveDue)
    assert isinstance(finished, CallFinished)
    assert (due.saved.resume_token, due.saved.taken) == (Secret("token of s1"), 1)
    assert driven.client.save(due.call_id, driven.now) is None
    assert driven.effects(CallSaved(due.call_id, due.saved)) == []
    assert elsewhere(due.saved)[1] == ["1: tries resume", "c1 <- resume s1 after 1 #1002"]


@pytest.mark.rule("R13", "R21")
def test_what_is_saved_too_late_to_go_out_is_over() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call(stored=True)
    talk.saves()
    other = Conversation(config=attrs.evolve(CONFIG, instance="another-instance"))
    other.link_up()
    assert other.attach(talk.save().aged(900.0), stored=True) == ["1: to be saved"]
    saved = other.save()
    other.now += 100.0
    assert other.saved(saved) == ["1: ends with doubt: key too old @0"]
    assert other.may_save() is None


@pytest.mark.rule("R13")
def test_what_was_never_returned_was_never_saved() -> None:
    talk = kept()
    saved = talk.save()
    for never in (attrs.evolve(saved, request_id=request_id(2)), attrs.evolve(saved, taken=2)):
        with pytest.raises(LocalProtocolError, match=r"\Athat is not how the call was saved\Z"):
            talk.saved(never)


@pytest.mark.rule("R13")
def test_an_unknown_call_is_not_saved() -> None:
    talk = kept()
    saved = talk.save()
    with pytest.raises(LocalProtocolError, match=r"\Athere never was such a call\Z"):
        talk.save(2)
    with pytest.raises(LocalProtocolError, match=r"\Athere never was such a call\Z"):
        talk.tell(CallSaved(CallId(2), saved))


@pytest.mark.rule("R13")
def test_saved_answers_are_to_questions_of_the_call() -> None:
    talk = kept()
    talk.asks(2)
    here = talk.save()
    other = attrs.evolve(here, request_id="elsewhere-1", stream_id=None)
    answer = Response("q2", {})
    too_many = "the saved call has too many answers, or two to one question"
    of_another = "a saved answer is to no question, or to that of another call"
    not_yours = "in _meta, streamId and what begins with mcpstreams/ are not the application's"
    wrong: tuple[tuple[tuple[Response | ErrorResponse, ...], str], ...] = (
        ((answer, answer), too_many),
        (tuple(Response(f"r{number}", {}) for number in range(CONFIG.max_asks + 1)), too_many),
        ((Response("q1", {}),), of_another),
        ((ErrorResponse(None, 1, "no"),), of_another),
        ((Response("q2", {"_meta": {"mcpstreams/key": "x"}}),), not_yours),
    )
    for answers, words in wrong:
        with pytest.raises(LocalProtocolError, match=whole(words)):
            talk.attach(attrs.evolve(other, answers=answers))


# ---------------------------------------------------------------------------------------------- what leads to its end


@pytest.mark.rule("R23")
def test_what_leads_to_the_end_of_a_call_comes_with_it() -> None:
    talk = kept()
    talk.progresses(2)
    (finished,) = talk.effects(answered(3))
    assert isinstance(finished, CallFinished)
    assert finished.saved is not None
    assert finished.saved.taken == 1
    assert talk.ends(4) == []
    talk.take(3)
    saved = finished.saved_after(2)
    assert saved is not None
    assert talk.saved(saved) == []
    assert talk.wait(CONFIG.linger) == ["c1 <- ack s1 2"]
    other, _ = elsewhere(saved)
    assert other.responds(3) == ["1: ends with result @3"]


@pytest.mark.rule("R23")
def test_what_is_taken_after_the_end_has_a_cursor_of_its_own() -> None:
    talk = kept(Conversation(http=True, server=DRAFT))
    for sequence in (2, 3, 5):
        if sequence == 5:
            talk.primes(4, path=1)
        talk.progresses(sequence, path=1)
    talk.take(2)
    (finished,) = talk.effects(MessageReceived(ConnectionId(1), Response(request_id(1), {}), "s1_6"))
    assert isinstance(finished, CallFinished)
    places = [(saved.taken, saved.event_id) for n in range(1, 7) if (saved := finished.saved_after(n)) is not None]
    assert places == [(2, "s1_2"), (2, "s1_2"), (3, "s1_4"), (4, "s1_5"), (4, "s1_5"), (4, "s1_5")]
    saved = finished.saved_after(3)
    assert saved is not None
    other, done = elsewhere(saved, DRAFT, http=True)
    assert done == ["1: tries resume", "c1 <- resume s1 at s1_4"]
    other.accepts(1)
    assert other.progresses(5, path=1) == ["1: progress 4 @4"], "once in both processes together"


@pytest.mark.rule("R1", "R23")
def test_what_is_no_item_behind_one_that_was_taken_is_taken_with_it() -> None:
    talk = kept(Conversation(http=True))
    talk.progresses(2, path=1)
    talk.asks(3, path=1)
    talk.withdraws(4, path=1)
    talk.progresses(5, path=1)
    event = attrs.evolve(answered(6), event_id="s1_6")
    finished = talk.effects(event)[-1]
    assert isinstance(finished, CallFinished)
    saved = finished.saved_after(2)
    assert saved is not None
    assert elsewhere(saved, http=True)[1] == ["1: tries resume", "c1 <- resume s1 after 4 #1002 at s1_4"]


@pytest.mark.rule("R10", "Q13")
def test_a_gap_that_was_taken_leaves_no_cursor_of_before_it() -> None:
    """In the header it would say something else than the body, and be refused."""
    talk = kept(Conversation(http=True))
    talk.progresses(2, path=1)
    talk.take(2)
    talk.saves()
    talk.cut(1)
    talk.wait(1.0)
    assert talk.rejects("1.1", Reason.EVENTS_GONE, path=2, first_available=10, lost=7)[0] == "1: gap of 7 @9"
    talk.take(9)
    assert (talk.save().taken, talk.save().event_id) == (9, None)
    talk.saves()
    assert talk.wait(8.0) == ["1: tries resume", "c3 <- resume s1 after 9 #3"]


def test_also_where_there_is_no_answer() -> None:
    talk = Conversation(server=DRAFT)
    talk.link_up()
    talk.call(stored=True)
    talk.saves()
    (finished,) = talk.effects(LinkDown())
    assert isinstance(finished, CallFinished)
    assert finished.saved is not None
    assert finished.saved.sent


def test_of_a_call_that_is_not_stored_nothing_comes_with_it() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.creates()
    (finished,) = talk.effects(answered(2))
    assert isinstance(finished, CallFinished)
    assert finished.saved is None
    assert finished.saved_after(2) is None
