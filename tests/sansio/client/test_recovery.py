"""How a call gets to its server, first and again."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest

from mcpstreams_sansio.client.effects import SendOnPath
from mcpstreams_sansio.client.inputs import MakeCall, PathUnsent, ServerTraits
from mcpstreams_sansio.client.table import CallState
from mcpstreams_sansio.connections import DeadlineReached
from mcpstreams_sansio.ids import CallId, ConnectionId, Entropy
from mcpstreams_sansio.wire.digest import call_digest
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Request, Response
from mcpstreams_sansio.wire.meta import meta_of, parse_call_key
from mcpstreams_sansio.wire.refusals import Reason
from mcpstreams_sansio.wire.streams import ResumeInterval
from tests.sansio.client.conversation import CONFIG, DRAFT, MARKER, Conversation


def requests(talk: Conversation) -> list[Request]:
    """Make the next call, and return the requests that go out at once."""
    talk.calls += 1
    call = MakeCall(CallId(talk.calls), "tools/call", {"name": "tool"}, Entropy(b"%032d" % talk.calls))
    effects = talk.effects(call)
    return [e.message for e in effects if isinstance(e, SendOnPath) and isinstance(e.message, Request)]


# -------------------------------------------------------------------------------------------------- for the first time


def test_a_call_goes_out_as_soon_as_there_is_a_link() -> None:
    talk = Conversation()
    assert talk.call() == []
    assert talk.state() is CallState.STRANDED
    assert talk.link_up() == ["c1 <- call 1 key #1"]
    assert talk.call() == ["c1 <- call 2 key #1"]


@pytest.mark.rule("Q3c", "R21")
def test_ids_keys_and_progress_tokens_are_the_clients_own() -> None:
    talk = Conversation()
    talk.link_up()
    first, second = requests(talk) + requests(talk)
    assert (first.id, second.id) == ("instance-1", "instance-2")
    assert meta_of(first.params)["progressToken"] == "instance-1"
    keys = [parse_call_key(request.params) for request in (first, second)]
    assert keys[0] is not None
    assert keys[0] != keys[1]


@pytest.mark.rule("P2")
def test_a_server_that_knows_only_the_draft_sees_only_the_draft() -> None:
    talk = Conversation(server=DRAFT)
    talk.link_up()
    (request,) = requests(talk)
    assert request.params == {"name": "tool", "_meta": {"progressToken": "instance-1"}}


def test_the_applications_own_progress_token_and_metadata_stay() -> None:
    talk = Conversation(server=DRAFT)
    talk.link_up()
    params: JSONObject = {"name": "tool", "_meta": {"progressToken": 5, "theirs": True}}
    effects = talk.effects(MakeCall(CallId(1), "tools/call", params, Entropy(b"x" * 32)))
    assert [e.message.params for e in effects if isinstance(e, SendOnPath) and isinstance(e.message, Request)] == [
        params
    ]


def test_a_call_for_which_there_is_never_a_link_certainly_did_not_run() -> None:
    talk = Conversation()
    talk.call()
    assert talk.wait(CONFIG.patience - 1) == []
    assert talk.wait(1.0) == ["1: ends with not run: unreached @0"]


# ----------------------------------------------------------------------------------------- again, before create came


@pytest.mark.rule("R21", "R14")
def test_a_lost_call_is_sent_again_under_its_key() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    assert talk.link_down() == []
    talk.link_up()
    assert talk.wait(1.0) == ["1: tries resend", "c2 <- call 1 key #2"]


@pytest.mark.rule("R21")
def test_a_re_send_is_the_same_request() -> None:
    talk = Conversation()
    talk.link_up()
    (first,) = requests(talk)
    talk.link_down()
    talk.link_up()
    talk.now += 1.0
    again = [effect.message for effect in talk.effects(DeadlineReached()) if isinstance(effect, SendOnPath)]
    assert [call_digest(m) for m in again if isinstance(m, Request)] == [call_digest(first)]
    assert [parse_call_key(m.params) for m in again if isinstance(m, Request)] == [parse_call_key(first.params)]


def test_h4_without_a_key_a_lost_call_is_never_sent_again() -> None:
    talk = Conversation(server=DRAFT)
    talk.link_up()
    talk.call()
    assert talk.link_down() == ["1: ends with doubt: connection lost @0"]


def test_h1_an_exchange_that_ends_with_nothing_ends_the_call_in_the_same_step() -> None:
    talk = Conversation(http=True, server=DRAFT)
    talk.link_up()
    talk.call()
    talk.accepts(1)
    assert talk.cut(1) == ["1: ends with doubt: connection lost @0"]


@pytest.mark.rule("R21")
def test_a_key_is_not_sent_to_another_memory_of_the_server() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.link_down()
    talk.server = attrs.evolve(MARKER, instance="server-2")
    talk.link_up()
    assert talk.wait(1.0) == ["1: ends with doubt: server changed @0"]


@pytest.mark.rule("R21")
def test_a_keyed_call_that_nobody_shows_to_have_is_sent_again_in_time() -> None:
    talk = Conversation(http=True)
    talk.link_up()
    talk.call()
    assert talk.state() is CallState.SENT
    said = talk.wait(CONFIG.reply_timeout + CONFIG.retry_ceiling)
    assert "1: tries resend" in said


def test_a_call_without_a_key_is_waited_for_as_long_as_its_path_is_there() -> None:
    talk = Conversation(http=True, server=DRAFT)
    talk.link_up()
    talk.call()
    assert talk.wait(10 * CONFIG.reply_timeout) == []


def test_what_was_certainly_not_taken_goes_out_as_if_for_the_first_time() -> None:
    talk = Conversation(http=True, server=DRAFT)
    talk.link_up()
    talk.call()
    assert talk.tell(PathUnsent(ConnectionId(1))) == []
    assert talk.wait(1.0) == ["c2 <- call 1"], "unkeyed, and certainly never run"


def test_a_call_that_was_never_taken_may_get_another_kind_of_server() -> None:
    talk = Conversation(http=True)
    talk.link_up()
    assert talk.call() == ["c1 <- call 1 key #1"]
    talk.tell(PathUnsent(ConnectionId(1)))
    talk.link_down()
    talk.server = DRAFT
    talk.link_up()
    assert talk.wait(1.0) == ["c2 <- call 1"]


def test_once_a_copy_may_have_arrived_a_later_one_that_did_not_changes_nothing() -> None:
    talk = Conversation(http=True)
    talk.link_up()
    talk.call()
    talk.cut(1)
    talk.wait(1.0)
    talk.tell(PathUnsent(ConnectionId(2)))
    talk.link_down()
    talk.server = attrs.evolve(MARKER, instance="server-2")
    talk.link_up()
    assert talk.wait(2.0) == ["1: ends with doubt: server changed @0"]


@pytest.mark.rule("R21")
def test_a_key_that_the_server_may_have_forgotten_is_not_sent() -> None:
    talk = Conversation(server=attrs.evolve(MARKER, key_ttl=100.0))
    talk.link_up()
    talk.call()
    talk.now += 41.0
    talk.link_down()
    assert talk.link_up() == []
    assert talk.state() is None


# --------------------------------------------------------------------------------------------- again, with a stream


@pytest.mark.rule("P15", "Q5b", "R23")
def test_a_lost_stream_is_resumed_from_what_was_taken() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.creates()
    talk.progresses(2)
    talk.progresses(3)
    talk.take(2)
    talk.link_down()
    talk.link_up()
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 after 2 #2"]
    assert talk.progresses(3) == ["1: drops @3"]
    assert talk.progresses(4) == ["1: progress 3 @4"]


@pytest.mark.rule("P22", "P21")
def test_over_http_a_resume_is_a_message_with_the_cursor_in_its_header() -> None:
    talk = Conversation(http=True, server=DRAFT)
    talk.link_up()
    talk.call()
    talk.creates(path=1)
    talk.progresses(2, path=1)
    talk.take(2)
    talk.cut(1)
    assert talk.wait(1.0) == ["1: tries resume", "c2 <- resume s1 at s1_2"]


@pytest.mark.rule("R16")
def test_c5_after_its_session_a_cursor_means_nothing_and_the_position_stands_in_the_body() -> None:
    talk = Conversation(http=True)
    talk.link_up()
    talk.call()
    talk.creates(path=1)
    talk.progresses(2, path=1)
    talk.take(2)
    talk.link_down()
    assert talk.progresses(3, path=1) == ["1: progress 2 @3"], "its exchange goes on until it ends"
    talk.take(3)
    talk.link_up()
    talk.cut(1)
    assert talk.wait(1.0)[1:] == ["c3 <- resume s1 after 3 #2"]


def test_a_stream_that_only_its_session_knows_is_lost_with_it() -> None:
    talk = Conversation(http=True, server=DRAFT)
    talk.link_up()
    talk.call()
    talk.primes(0, path=1)
    talk.link_down()
    assert talk.cut(1) == ["1: ends with doubt: connection lost @0"]


@pytest.mark.rule("Q7f", "P26")
def test_pauses_grow_while_nothing_new_comes_and_start_again_after_something_did() -> None:
    talk = Conversation(http=True)
    talk.link_up()
    talk.call()
    talk.creates(path=1)
    moments = []
    for path in range(1, 5):
        talk.cut(path)
        before = talk.now
        while not talk.wait(1.0):
            pass
        moments.append(talk.now - before)
    assert moments == [1.0, 2.0, 4.0, 8.0]
    talk.progresses(2, path=5)
    talk.cut(5)
    assert talk.wait(1.0) == ["1: tries resume", "c6 <- resume s1 after 1 #6 at s1_1"]


def test_g1_a_server_that_accepts_and_ends_is_left_after_so_many_attempts() -> None:
    talk = Conversation(http=True, config=attrs.evolve(CONFIG, max_attempts=5, retry_ceiling=1.0))
    talk.link_up()
    talk.call()
    talk.creates(path=1)
    done: list[str] = []
    path = 1
    while talk.state() is not None:
        talk.accepts(path)
        done += talk.cut(path) + talk.wait(1.0)
        path += 1
    assert done.count("1: tries resume") == 5
    assert done[-1] == "1: ends with doubt: out of budget @1"


def test_g7_a_path_that_lasted_was_worth_its_attempt_though_it_brought_nothing() -> None:
    talk = Conversation(http=True, config=attrs.evolve(CONFIG, max_attempts=2, patience=30.0))
    talk.link_up()
    talk.call()
    talk.creates(path=1)
    for path in range(1, 100):
        assert talk.wait(CONFIG.steady_after) == []
        assert talk.cut(path) == []
        assert talk.wait(2.0)[0] == "1: tries resume"
        talk.accepts(path + 1)
    assert talk.state() is CallState.FOLLOWING


def missing(talk: Conversation, _: int) -> list[str]:
    """The server sends a message before which one is missing."""
    return talk.progresses(5)


def draining(talk: Conversation, resumes: int) -> list[str]:
    """The server refuses the latest resume for now."""
    return talk.rejects(f"1.{resumes}", Reason.DRAINING)


def nothing_gone(talk: Conversation, resumes: int) -> list[str]:
    """The server says that something is gone, which the client has."""
    return talk.rejects(f"1.{resumes}", Reason.EVENTS_GONE, first_available=1, lost=0)


@pytest.mark.parametrize("trouble", [missing, draining, nothing_gone])
def test_g2_what_comes_late_on_a_path_and_is_wrong_makes_it_no_quiet_one(
    trouble: Callable[[Conversation, int], list[str]],
) -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.creates()
    talk.link_down()
    talk.link_up()
    said: list[str] = []
    while talk.state() is not None:
        said += talk.wait(CONFIG.steady_after + CONFIG.retry_ceiling)
        said += trouble(talk, said.count("1: tries resume"))
        assert talk.now < 2 * CONFIG.patience
    assert "1: ends with doubt: out of budget @1" in said


def test_g7_a_quiet_call_outlives_any_number_of_connections_that_lasted() -> None:
    talk = Conversation(config=attrs.evolve(CONFIG, max_attempts=2, patience=30.0))
    talk.link_up()
    talk.call()
    talk.creates()
    for _ in range(50):
        talk.wait(3_600.0)
        talk.link_down()
        talk.link_up()
        assert talk.wait(1.0)[0] == "1: tries resume"
    assert talk.state() is CallState.RECOVERING, "a quiet stream shows no sign on a shared connection"


def test_h2_a_server_that_takes_exchanges_and_never_answers_is_left() -> None:
    talk = Conversation(http=True)
    talk.link_up()
    talk.call()
    talk.creates(path=1)
    talk.cut(1)
    assert talk.wait(2 * CONFIG.patience)[-1] == "1: ends with doubt: out of budget @1"


def test_g6_a_pause_beyond_the_budget_is_an_error_now() -> None:
    talk = Conversation(http=True)
    talk.link_up()
    talk.call()
    talk.creates(path=1)
    talk.asks_to_wait(301_000, path=1)
    assert talk.cut(1) == ["1: ends with doubt: out of budget @1"]


def test_h2_an_exchange_to_which_no_head_comes_is_left() -> None:
    talk = Conversation(http=True)
    talk.link_up()
    talk.call()
    talk.creates(path=1)
    talk.cut(1)
    talk.wait(1.0)
    assert talk.wait(CONFIG.reply_timeout) == ["leave c2"]
    assert talk.wait(2.0) == ["1: tries resume", "c3 <- resume s1 after 1 #3 at s1_1"]


def test_a_call_that_waits_for_its_link_waits_within_its_budget() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.creates()
    talk.link_down()
    assert talk.wait(CONFIG.patience - 1) == []
    assert talk.state() is CallState.STRANDED
    assert talk.wait(1.0) == ["1: ends with doubt: out of budget @1"]


def test_h2_its_budget_ends_when_it_ends_however_late_the_link_came() -> None:
    talk = Conversation()
    talk.call(stored=True)
    assert talk.wait(CONFIG.patience - 0.5) == []
    assert talk.link_up() == ["1: to be saved"]
    assert talk.wait(0.5) == ["1: ends with not run: unsaved @0"]


def test_x2_resumes_that_bring_nothing_all_carry_the_same_cursor() -> None:
    talk = Conversation(http=True, server=DRAFT)
    talk.link_up()
    talk.call()
    talk.primes(0, path=1)
    sent = []
    for path in range(1, 4):
        talk.accepts(path)
        talk.cut(path)
        sent += talk.wait(8.0)
    assert [text.partition(" <- ")[2] for text in sent if "<-" in text] == ["get at s1_0"] * 3
    assert talk.responds(1, path=4) == ["1: ends with result @1"]


# ------------------------------------------------------------------------------------------------------------- polls


def polling() -> Conversation:
    """Return a conversation whose client asks before it comes back, and has just asked."""
    talk = Conversation(config=attrs.evolve(CONFIG, poll_first=True, max_quiet_polls=2))
    talk.link_up()
    talk.call()
    talk.creates(interval=ResumeInterval(min=2))
    talk.link_down()
    talk.link_up()
    assert talk.wait(2.0) == ["1: tries poll", "c2 <- poll s1"]
    return talk


@pytest.mark.rule("P27", "P31")
@pytest.mark.parametrize(
    ("completed", "pending", "asking"), [(True, False, False), (False, True, False), (False, False, True)]
)
def test_what_waits_at_the_server_is_worth_a_resume(completed: bool, pending: bool, asking: bool) -> None:
    talk = polling()
    done = talk.polled("1.1", completed=completed, pending=pending, asking=asking)
    assert done == ["1: tries resume", "c2 <- resume s1 after 1 #2"]


@pytest.mark.rule("P27", "P31")
def test_a_call_that_waited_for_a_link_asks_first_as_well() -> None:
    talk = Conversation(config=attrs.evolve(CONFIG, poll_first=True))
    talk.link_up()
    talk.call()
    talk.creates()
    talk.link_down()
    assert talk.wait(1.0) == []
    assert talk.state() is CallState.STRANDED
    assert talk.link_up() == ["1: tries poll", "c2 <- poll s1", "c2 <- ack s1 1"]
    assert talk.state() is CallState.POLLING
    assert talk.polled("1.1", pending=True) == ["1: tries resume", "c2 <- resume s1 after 1 #2"]


@pytest.mark.rule("P26", "P31")
def test_a_poll_and_the_resume_that_it_leads_to_are_one_attempt() -> None:
    talk = Conversation(config=attrs.evolve(CONFIG, poll_first=True))
    talk.link_up()
    talk.call()
    talk.creates()
    talk.link_down()
    talk.link_up()
    assert talk.wait(1.0) == ["1: tries poll", "c2 <- poll s1"]
    assert talk.polled("1.1", pending=True) == ["1: tries resume", "c2 <- resume s1 after 1 #2"]
    assert talk.rejects("1.2", Reason.DRAINING) == []
    assert talk.wait(1.9) == []
    assert talk.wait(0.1) == ["1: tries poll", "c2 <- poll s1"], "one was in vain"


@pytest.mark.rule("P26", "P27")
def test_a_stream_that_is_only_quiet_is_asked_again_after_its_minimum() -> None:
    talk = polling()
    assert talk.polled("1.1") == []
    assert talk.wait(1.9) == []
    assert talk.wait(0.1) == ["1: tries poll", "c2 <- poll s1"]


@pytest.mark.rule("Q8b")
def test_a_server_that_has_not_noticed_the_loss_is_not_polled_for_ever() -> None:
    talk = polling()
    talk.polled("1.1")
    talk.wait(2.0)
    talk.polled("1.2")
    talk.wait(4.0)
    assert talk.polled("1.3") == ["1: tries resume", "c2 <- resume s1 after 1 #2"]


def test_quiet_polls_are_no_attempts_in_vain() -> None:
    talk = Conversation(
        config=attrs.evolve(CONFIG, poll_first=True, max_quiet_polls=1_000, max_attempts=2, patience=20.0)
    )
    talk.link_up()
    talk.call()
    talk.creates()
    talk.link_down()
    talk.link_up()
    for number in range(1, 100):
        while not talk.wait(1.0):
            pass
        assert talk.polled(f"1.{number}") == []
    assert talk.state() is CallState.WAITING


@pytest.mark.rule("W9")
@pytest.mark.parametrize("result", [{}, {"status": "abandoned"}])
def test_a_status_that_is_none_is_an_attempt_in_vain(result: dict[str, str]) -> None:
    talk = polling()
    assert talk.says(Response("instance-1.1", result)) == []
    assert talk.state() is CallState.WAITING
    assert talk.wait(2.0) == ["1: tries poll", "c2 <- poll s1"]


def test_a_poll_without_a_reply_is_an_attempt_in_vain() -> None:
    talk = polling()
    assert talk.wait(CONFIG.reply_timeout) == []
    assert talk.state() is CallState.WAITING


def test_a_poll_whose_session_is_over_leads_to_no_resume_before_there_is_another() -> None:
    talk = Conversation(http=True, config=attrs.evolve(CONFIG, poll_first=True))
    talk.link_up()
    talk.call()
    talk.creates(path=1)
    talk.cut(1)
    assert talk.wait(1.0) == ["1: tries poll", "c2 <- poll s1"]
    talk.link_down()
    assert talk.polled("1.1", path=2, pending=True) == ["leave c2"]
    assert talk.state() is CallState.WAITING


def test_a_server_without_the_marker_after_a_restart_is_told_no_key() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.link_down()
    talk.server = ServerTraits()
    talk.link_up()
    assert talk.wait(1.0) == ["1: ends with doubt: server changed @0"]
