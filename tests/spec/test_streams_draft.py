"""The draft's streams, rule by rule in its order, as `ServerStreams` carries them."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.server.calls import StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.wire.streams import ResumeInterval
from tests.sansio.server.conversation import MARKER, STOCK, Client, Conversation, Way, token_of
from tests.sansio.server.words import gist

FRAMINGS = [Framing.LINES, Framing.MESSAGES, Framing.HTTP]
INTERVAL = ResumeInterval(min=1, max=60)


def reach(talk: Conversation, framing: Framing, principal: str | None = None) -> Client:
    """Return a connection, or an exchange of the one session."""
    if framing is Framing.HTTP:
        return talk.exchange(principal=principal)
    return talk.connect(framing, principal)


def messages(client: Client) -> list[str]:
    """Return every message that a client was sent, without the frames around it."""
    return [gist(message) for message in client.messages]


# ------------------------------------------------------------------------------------------- capability and creation


@pytest.mark.rule("P1", "P2")
@pytest.mark.parametrize("framing", FRAMINGS)
def test_who_did_not_declare_streams_sees_none(framing: Framing) -> None:
    talk = Conversation()
    client = reach(talk, framing)
    client.call(peer=STOCK)
    talk.say(1)
    talk.respond()
    assert messages(client) == ["progress 1", "result 7"]


@pytest.mark.rule("P4", "R18")
def test_whether_a_call_gets_a_stream_is_the_servers_choice_also_while_it_works_on_it() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(7, "s1", kind=StreamKind.FLEETING)
    line.call(8, "s2", kind=StreamKind.FLEETING)
    talk.open("s2", INTERVAL)
    talk.say(1, stream="s2")
    talk.respond("s1")
    talk.respond("s2")
    assert messages(line) == ["create", "progress 1", "result 7", "result 8", "end"]
    assert line.create.resume_interval == INTERVAL


@pytest.mark.rule("P5", "W1", "W3")
def test_create_names_the_stream_its_token_its_request_and_its_interval() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call("7", "s1", interval=INTERVAL)
    create = line.create
    assert (create.stream_id, create.request_id, create.resume_interval) == ("s1", "7", INTERVAL)
    assert create.resume_token == token_of("s1")


@pytest.mark.rule("P5", "R3")
def test_create_that_is_made_again_for_a_re_sent_call_says_the_same_with_another_token() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call(peer=MARKER, interval=INTERVAL, key="k" * 22, attempt="a.1")
    first = line.create
    line.ack(1)
    other.call(peer=MARKER, key="k" * 22, attempt="a.2", stream="s2", token=token_of("another"))
    again = other.create
    assert again.resume_token == token_of("another")
    assert (again.stream_id, again.request_id, again.resume_interval) == ("s1", 7, INTERVAL)
    assert again.meta == first.meta


@pytest.mark.rule("P6", "P11", "P36")
@pytest.mark.parametrize("framing", FRAMINGS)
def test_create_comes_first_then_messages_then_the_response_then_end(framing: Framing) -> None:
    talk = Conversation()
    client = reach(talk, framing)
    client.call()
    assert messages(client) == ["create"]
    talk.say(1, 2)
    talk.respond()
    assert messages(client) == ["create", "progress 1", "progress 2", "result 7", "end"]


@pytest.mark.rule("P7", "P6")
def test_the_first_event_can_be_resumed_from_and_comes_at_once() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call()
    assert exchange.heard() == ["0", "1 create"]
    exchange.lose()
    talk.respond()
    for after, expected in ((0, ["0", "1 create"]), (1, ["1"])):
        again = talk.exchange()
        again.get(after)
        assert again.heard() == [*expected, "2 result 7", "3 end"]
        talk.wait(2)


@pytest.mark.rule("P8", "H12")
@pytest.mark.parametrize("framing", FRAMINGS)
def test_after_create_no_loss_ends_the_stream(framing: Framing) -> None:
    talk = Conversation()
    client = reach(talk, framing)
    client.call()
    client.lose()
    talk.say(1)
    talk.respond()
    assert talk.application() == ["start s1"]
    assert talk.state() is StreamState.COMPLETED


@pytest.mark.rule("P9")
def test_an_exchange_is_not_closed_before_a_response_or_create() -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=1))
    exchange = talk.exchange()
    exchange.reads = False
    exchange.call()
    talk.release()
    talk.drain()
    exchange.take()
    assert exchange.heard() == ["0", "1 create"]
    assert exchange.way is Way.OPEN


@pytest.mark.rule("P10")
def test_a_stream_that_was_announced_is_found_by_whoever_opens_the_log() -> None:
    talk = Conversation(StreamsConfig(durable=True), prompt_disk=False)
    line = talk.connect()
    line.call()
    assert messages(line) == []
    talk.sync()
    assert messages(line) == ["create"]
    assert any(getattr(record, "token_digest", None) == token_of("s1").digest() for record in talk.records)


# ---------------------------------------------------------------------------------------------------- a live stream


@pytest.mark.rule("P12", "P13")
@pytest.mark.parametrize("framing", FRAMINGS)
def test_notifications_requests_and_the_response_come_in_the_order_in_which_they_were_made(framing: Framing) -> None:
    talk = Conversation()
    client = reach(talk, framing)
    client.call()
    talk.say(1)
    talk.ask("q1")
    talk.say(2)
    talk.withdraw("q1")
    talk.respond()
    expected = ["create", "progress 1", "ask q1", "progress 2", "withdrawn q1", "result 7", "end"]
    assert messages(client) == expected


@pytest.mark.rule("P14", "Q16")
def test_a_stream_holds_what_its_own_work_sends_and_nothing_else() -> None:
    talk = Conversation()
    first, second = talk.exchange(), talk.exchange()
    first.call(7, "s1")
    second.call(8, "s2")
    talk.say(1, stream="s1")
    talk.say(2, stream="s2")
    assert (messages(first), messages(second)) == (["create", "progress 1"], ["create", "progress 2"])


# ------------------------------------------------------------------------------------------- disconnecting, resuming


@pytest.mark.rule("P15", "P16", "P13")
@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_resume_gets_what_is_undelivered_then_what_is_live(framing: Framing) -> None:
    talk = Conversation()
    first = reach(talk, framing)
    first.call()
    first.lose()
    talk.say(1, 2)
    second = reach(talk, framing)
    second.resume()
    talk.say(3)
    talk.respond()
    expected = ["create", "progress 1", "progress 2", "progress 3", "result 7", "end", "result 9"]
    assert messages(second) == expected


@pytest.mark.rule("P17", "Q9a")
@pytest.mark.parametrize("framing", FRAMINGS)
def test_a_completed_stream_is_closed_with_end(framing: Framing) -> None:
    talk = Conversation()
    first = reach(talk, framing)
    first.call()
    first.lose()
    talk.respond()
    second = reach(talk, framing)
    second.resume(after=1)
    assert messages(second) == ["result 7", "end", "result 9"]
    third = reach(talk, framing)
    third.resume(after=3)
    assert messages(third) == ["end", "result 9"]


@pytest.mark.rule("P18", "P19", "Q10")
@pytest.mark.parametrize("framing", FRAMINGS)
def test_an_unknown_stream_and_a_wrong_token_are_refused_alike(framing: Framing) -> None:
    talk = Conversation()
    first = reach(talk, framing)
    first.call()
    unknown, wrong = reach(talk, framing), reach(talk, framing)
    unknown.resume(stream="s2", token=token_of("s1"))
    wrong.resume(stream="s1", token=token_of("s2"))
    assert unknown.chunks == wrong.chunks
    assert messages(wrong) == ["error 9 stream_not_found"]
    assert talk.state() is StreamState.LIVE


@pytest.mark.rule("P20", "R5")
def test_what_the_client_confirmed_need_not_be_kept() -> None:
    talk = Conversation(StreamsConfig(redelivery_window=0))
    line = talk.connect()
    line.call()
    talk.say(1, 2)
    line.lose()
    second, third = talk.connect(), talk.connect()
    second.resume(after=2)
    assert messages(second) == ["progress 2"]
    talk.wait(1)
    third.resume(after=1)
    assert messages(third) == ["error 9 events_gone"]


@pytest.mark.rule("P22", "P24", "Q5b")
def test_what_is_at_or_below_the_cursor_is_not_sent_again() -> None:
    talk = Conversation()
    first = talk.exchange()
    first.call()
    talk.say(1, 2, 3)
    first.lose()
    second = talk.exchange()
    second.resume(after=3)
    assert second.heard() == ["3", "4 progress 3"]


@pytest.mark.rule("P23", "P22")
def test_what_was_sent_is_kept_since_nobody_knows_what_arrived() -> None:
    talk = Conversation(StreamsConfig(redelivery_window=120))
    first = talk.exchange()
    first.call()
    talk.say(1, 2, 3)
    talk.wait(119)
    first.lose()
    second = talk.exchange()
    second.get(after=1)
    assert second.heard() == ["1", "2 progress 1", "3 progress 2", "4 progress 3"]


@pytest.mark.rule("P25", "Q9b")
@pytest.mark.parametrize("framing", FRAMINGS)
def test_what_was_cancelled_is_not_resumed(framing: Framing) -> None:
    talk = Conversation()
    client = reach(talk, framing)
    client.call()
    reach(talk, framing).cancelled(7) if framing is Framing.HTTP else client.cancelled(7)
    assert messages(client) == ["create", "end"]
    other = reach(talk, framing)
    other.resume()
    assert messages(other) == ["error 9 cancelled"]


@pytest.mark.rule("P26", "Q7f")
def test_a_client_that_comes_back_early_is_served_all_the_same() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(interval=INTERVAL)
    line.lose()
    other = talk.connect()
    assert other.poll() == "live"
    other.resume()
    assert messages(other)[-1] == "create"


# ----------------------------------------------------------------------------------------------------------- polling


@pytest.mark.rule("P27", "Q6e", "P30")
def test_a_poll_tells_how_things_stand_and_delivers_nothing() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    line.lose()
    talk.say(1)
    other = talk.connect()
    assert other.poll() == "live pending"
    assert messages(other) == [f"result {other.messages[0].id}"]  # type: ignore[union-attr]  # it is the poll's answer
    assert talk.state() is StreamState.DETACHED


@pytest.mark.rule("P28", "Q10")
def test_a_poll_is_refused_as_a_resume_is() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    assert line.poll("s2") == "error stream_not_found"
    assert line.poll("s1", token_of("s2")) == "error stream_not_found"
    line.cancelled(7)
    assert line.poll("s1") == "error cancelled"


@pytest.mark.rule("P29", "Q7b")
def test_a_poll_starts_the_abandonment_timer_anew() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(interval=INTERVAL)
    line.lose()
    other = talk.connect()
    for _ in range(5):
        talk.wait(59)
        assert other.poll() == "live"
    talk.wait(60)
    assert other.poll() == "error abandoned"


@pytest.mark.rule("P30", "Q8a")
def test_a_stream_is_live_until_its_response_is_made_then_completed() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.reads = False
    line.call()
    assert other.poll() == "live"
    talk.respond()
    assert other.poll() == "completed pending"
    line.take()
    assert other.poll() == "completed pending"
    line.take()
    line.ack(3)
    assert other.poll() == "completed"


@pytest.mark.rule("P31", "Q8c", "Q8d")
def test_a_poll_tells_messages_requests_and_errors_apart() -> None:
    talk = Conversation()
    line, other = talk.connect(principal="ann"), talk.connect(principal="ann")
    line.call()
    line.lose()
    assert other.poll() == "live"
    talk.say(1)
    assert other.poll() == "live pending"
    talk.ask("q1")
    assert other.poll() == "live pending request"
    other.answer("q1")
    assert other.poll() == "live pending"
    talk.fail()
    assert other.poll() == "completed pending error"


# ------------------------------------------------------------------------------------------------ abandonment and end


@pytest.mark.rule("P32", "P34", "Q7d")
def test_a_stream_that_nobody_comes_back_for_is_abandoned_and_says_so() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(interval=INTERVAL)
    line.lose()
    talk.wait(59)
    assert talk.state() is StreamState.DETACHED
    talk.wait(1)
    assert talk.application() == ["start s1", "cancel s1: abandoned"]
    other = talk.connect()
    other.resume()
    assert other.poll() == "error abandoned"
    assert messages(other)[0] == "error 9 abandoned"


@pytest.mark.rule("P32", "Q7e")
def test_a_maximum_of_its_own_holds_for_a_stream_and_the_servers_for_one_without() -> None:
    talk = Conversation(StreamsConfig(max_interval=30))
    line = talk.connect()
    line.call(7, "s1", interval=INTERVAL)
    line.call(8, "s2", interval=ResumeInterval(min=1))
    line.lose()
    talk.wait(29)
    assert talk.application() == ["start s1", "start s2"]
    talk.wait(1)
    assert talk.application() == ["cancel s2: abandoned"]
    talk.wait(29)
    assert talk.application() == []
    talk.wait(1)
    assert talk.application() == ["cancel s1: abandoned"]


@pytest.mark.rule("P33", "Q7a")
def test_the_time_runs_from_the_disconnection() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(interval=INTERVAL)
    talk.wait(1_000)
    line.lose()
    talk.wait(59)
    assert talk.state() is StreamState.DETACHED
    other = talk.connect()
    other.resume()
    talk.wait(1_000)
    other.lose()
    talk.wait(59)
    assert talk.state() is StreamState.DETACHED
    talk.wait(1)
    assert talk.state() is StreamState.GONE


@pytest.mark.rule("P35", "P36")
@pytest.mark.parametrize("how", ["respond", "fail", "cancel"])
def test_whatever_completes_a_stream_it_closes_with_end(how: str) -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    if how == "respond":
        talk.respond()
    elif how == "fail":
        talk.fail()
    else:
        line.cancelled(7)
    assert messages(line)[-1] == "end"
    assert messages(line).count("end") == 1


@pytest.mark.rule("P37", "Q11g")
def test_end_names_the_stream_that_create_named() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(7, "s1")
    line.call(8, "s2")
    talk.respond("s2")
    talk.respond("s1")
    ended = [message.params for message in line.messages if gist(message) == "end"]  # type: ignore[union-attr]  # an end is a notification
    assert ended == [{"streamId": "s2"}, {"streamId": "s1"}]


# ---------------------------------------------------------------------------------------------------------- security


@pytest.mark.rule("P39", "Q11c", "R25")
@pytest.mark.parametrize("who", ["bob", None])
def test_a_token_in_other_hands_opens_nothing(who: str | None) -> None:
    talk = Conversation()
    ann, other = talk.connect(principal="ann"), talk.connect(principal=who)
    ann.call()
    other.resume()
    assert other.poll() == "error stream_not_found"
    other.cancel(11)
    other.ack(1, token=token_of("s1"))
    assert messages(other) == ["error 9 stream_not_found", "error poll 1 stream_not_found", "error 11 stream_not_found"]
    also_ann = talk.connect(principal="ann")
    also_ann.resume()
    assert messages(also_ann) == ["create"]


@pytest.mark.rule("P38", "R3")
def test_no_token_is_in_any_record_or_in_what_is_shown_of_a_machine() -> None:
    talk = Conversation(StreamsConfig(durable=True))
    line = talk.connect()
    line.call()
    talk.say(1)
    token = token_of("s1").reveal()
    assert token.encode() in line.chunks[0]
    shown = [repr(talk.records), repr(talk.machine.snapshot(0)), repr(talk.effects), repr(talk.machine._registry)]
    assert not [text for text in shown if token in text]
