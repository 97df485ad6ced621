"""Connections as such: how one begins and ends, and what is said on it outside any stream (rules R13, R15)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.server.calls import StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import BodyKind
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Notification, Response
from tests.sansio.server.conversation import KEY, MARKER, STOCK, Conversation, Way, token_of

PONG = Response("p", {})

# ------------------------------------------------------------------------------------------------------------ replies


@pytest.mark.rule("R15", "H10")
@pytest.mark.parametrize("message", [PONG, ErrorResponse(1, -32601, "no such method")])
def test_a_reply_is_the_whole_body_of_an_exchange(message: Response | ErrorResponse) -> None:
    talk = Conversation()
    exchange = talk.exchange()
    talk.reply(exchange, message)
    assert (exchange.body, exchange.messages, exchange.way) == (BodyKind.JSON, [message], Way.ENDED)


@pytest.mark.rule("R15")
def test_on_a_shared_connection_replies_and_notifications_follow_each_other() -> None:
    talk = Conversation()
    line = talk.connect()
    talk.reply(line, PONG)
    talk.reply(line, Notification("notifications/tools/list_changed"))
    assert line.heard() == ["result p", "list_changed"]
    assert line.way is Way.OPEN


@pytest.mark.rule("H9")
def test_what_has_no_answer_is_accepted_and_on_a_shared_connection_nothing_is_said() -> None:
    talk = Conversation()
    exchange, line = talk.exchange(), talk.connect()
    talk.accept(exchange)
    talk.accept(line)
    assert (exchange.body, exchange.chunks, exchange.way) == (BodyKind.EMPTY, [], Way.ENDED)
    assert (line.chunks, line.way) == ([], Way.OPEN)


@pytest.mark.rule("R9", "H9")
def test_an_exchange_that_is_lost_before_it_is_accepted_is_forgotten() -> None:
    talk = Conversation(StreamsConfig(durable=True))
    line = talk.connect(principal="ann")
    line.call()
    talk.ask()
    talk.prompt_disk = False
    exchange = talk.exchange(principal="ann")
    exchange.answer()
    exchange.lose()
    talk.sync()
    assert exchange.body is None
    assert talk.application() == ["start s1", "answered q1"]


# ---------------------------------------------------------------------------------------------------------------- loss


@pytest.mark.rule("P8", "R13")
def test_a_loss_detaches_what_can_come_back_and_ends_the_rest() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(1, "s1")
    line.call(2, "s2", kind=StreamKind.FLEETING)
    line.lose()
    assert (talk.state("s1"), talk.state("s2")) == (StreamState.DETACHED, None)
    assert talk.observed()[2:] == ["s1 detached", "s2 gone: not_resumable"]


@pytest.mark.rule("R13")
def test_nothing_is_due_for_a_connection_that_is_gone() -> None:
    talk = Conversation(StreamsConfig(stall_timeout=1, keepalive=1, sse_after=1))
    exchange = talk.exchange()
    exchange.reads = False
    exchange.call(peer=STOCK, kind=StreamKind.FLEETING)
    exchange.lose()
    assert talk.machine.next_deadline() is None


@pytest.mark.rule("R11")
def test_an_exchange_is_forgotten_once_its_last_write_is_reported() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.reads = False
    talk.reply(exchange, PONG)
    assert exchange.way is Way.ENDED
    assert talk.machine._registry.connections
    exchange.take()
    assert not talk.machine._registry.connections
    assert talk.machine.next_deadline() is None


# -------------------------------------------------------------------------------------------------------------- the end


@pytest.mark.rule("R15", "Q10")
@pytest.mark.parametrize("framing", [Framing.LINES, Framing.MESSAGES])
def test_a_server_that_stops_takes_no_call_and_lets_go_of_who_can_come_back(framing: Framing) -> None:
    talk = Conversation()
    line, other = talk.connect(framing), talk.connect(framing)
    line.call(1, "s1")
    other.call(2, "s2", kind=StreamKind.FLEETING)
    talk.drain()
    assert (line.way, other.way) == (Way.ENDED, Way.OPEN)
    assert talk.state("s1") is StreamState.DETACHED
    other.call(3, "s3")
    talk.respond("s2")
    assert other.heard() == ["error 3 draining", "result 2"]
    assert other.way is Way.ENDED
    assert talk.application() == ["start s1", "start s2"]


@pytest.mark.rule("R15")
def test_exchanges_are_let_go_with_the_pause_after_which_to_come_back() -> None:
    talk = Conversation()
    exchange, quiet = talk.exchange(), talk.exchange()
    exchange.call()
    talk.drain()
    assert exchange.heard() == ["0", "1 create", "retry 1000"]
    assert (exchange.way, quiet.way) == (Way.ENDED, Way.OPEN)


@pytest.mark.rule("R15", "P9")
def test_a_line_whose_create_waits_is_let_go_once_create_was_written() -> None:
    talk = Conversation()
    line = talk.connect()
    line.reads = False
    talk.reply(line, PONG)
    line.call()
    talk.drain()
    assert line.open
    line.take()
    assert line.heard() == ["result p", "create"]
    assert line.way is Way.ENDED
    assert talk.state() is StreamState.DETACHED


@pytest.mark.rule("R15")
def test_a_resume_on_a_line_that_is_to_end_is_let_go_with_what_one_write_takes() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(1, "s1")
    line.call(2, "s2", kind=StreamKind.FLEETING)
    talk.say(1, stream="s1")
    talk.drain()
    line.resume(9, "s1")
    assert line.heard() == ["create", "progress 1", "create", "progress 1", "result 9"]
    assert talk.state("s1") is StreamState.DETACHED


@pytest.mark.rule("R15", "Q10")
def test_who_comes_back_to_a_server_that_stops_gets_what_there_is_and_is_let_go_again() -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=1))
    first = talk.exchange()
    first.call()
    talk.drain()
    first.heard()
    talk.say(1, 2, 3)
    second = talk.exchange()
    second.resume(after=1)
    assert second.heard() == ["1", "2 progress 1", "3 progress 2", "4 progress 3", "retry 1000"]
    assert (second.way, talk.state()) == (Way.ENDED, StreamState.DETACHED)
    talk.say(4)
    third = talk.connect()
    third.resume(after=4)
    assert (third.heard(), third.way) == (["progress 4", "result 9"], Way.OPEN)
    talk.respond()
    assert third.poll() == "completed pending"
    fourth = talk.exchange()
    fourth.resume(after=5)
    assert fourth.heard() == ["5", "6 result 7", "7 end", "- result 9"]
    assert talk.application() == ["start s1"]


@pytest.mark.rule("R15", "R17", "R21")
def test_so_is_who_comes_back_with_a_cursor_or_a_key() -> None:
    talk = Conversation()
    silent, keyed = talk.exchange(), talk.exchange()
    silent.call(7, "s1", peer=STOCK)
    keyed.call(8, "s2", peer=MARKER, key=KEY, attempt="a.1")
    talk.drain()
    talk.say(1, stream="s1")
    talk.say(2, stream="s2")
    again, resent, new = (talk.exchange() for _ in range(3))
    again.get(0, "s1")
    resent.call(8, "s3", peer=MARKER, key=KEY, attempt="a.2")
    new.call(9, "s4", peer=MARKER, key=KEY.upper(), attempt="a.3")
    assert again.heard() == ["0", "1 progress 1", "retry 1000"]
    assert resent.heard() == ["0", "1 create", "2 progress 2", "retry 1000"]
    assert new.heard() == ["error 9 draining"]


@pytest.mark.rule("R9", "R15")
@pytest.mark.parametrize("first", ["drain", "lose_disk"])
def test_a_server_whose_log_has_failed_says_so_whether_it_stops_or_not(first: str) -> None:
    talk = Conversation(StreamsConfig(durable=True))
    talk.drain() if first == "drain" else talk.lose_disk()
    talk.lose_disk() if first == "drain" else talk.drain()
    line = talk.connect()
    line.call()
    assert line.heard() == ["error 7 log_failed"]


@pytest.mark.rule("R15")
def test_whose_peer_hangs_up_is_served_to_the_end() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(1, "s1")
    line.call(2, "s2", kind=StreamKind.FLEETING)
    line.hang_up()
    talk.respond("s2")
    assert (line.heard(), line.way) == (["create", "result 2"], Way.OPEN)
    talk.say(1)
    talk.respond("s1")
    assert (line.heard(), line.way) == (["progress 1", "result 1", "end"], Way.ENDED)


@pytest.mark.rule("R7", "R10")
def test_who_hung_up_is_not_waited_for_to_acknowledge() -> None:
    talk = Conversation(StreamsConfig(window=2))
    line = talk.connect()
    line.call(peer=MARKER)
    talk.say(1)
    assert talk.application() == ["start s1", "hold s1"]
    line.hang_up()
    assert talk.application() == ["more s1"]
    talk.say(2, 3, 4, 5)
    assert talk.application() == []
    assert line.heard() == ["create", *(f"progress {number}" for number in range(1, 6))]
    line.lose()
    talk.say(6)
    assert talk.application() == ["hold s1"]


@pytest.mark.rule("R15", "R14")
def test_a_line_whose_peer_hung_up_ends_when_another_one_takes_over() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call()
    line.hang_up()
    other.resume()
    assert (line.heard(), line.way) == (["create", "error 7 superseded"], Way.ENDED)
    talk.respond()
    assert other.heard() == ["create", "result 7", "end", "result 9"]


@pytest.mark.rule("R14")
def test_an_exchange_ends_when_a_newer_one_is_not_read_either() -> None:
    talk = Conversation()
    first, second = talk.exchange(), talk.exchange()
    first.reads = second.reads = False
    first.call(peer=MARKER, attempt="a.1")
    second.resume(attempt="a.2", token=token_of("s1"))
    first.take()
    first.take()
    assert first.heard() == ["0", "1 create", "- error 7 superseded"]
    assert first.way is Way.ENDED
