"""What is told of a stream waits until it is durable, and if it never will be, that is told instead (rule R9)."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.connections import DropReason, Framing
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import BodyKind
from tests.sansio.server.conversation import KEY, MARKER, STOCK, Client, Conversation, Way, token_of

DURABLE = StreamsConfig(durable=True)


def conversation(config: StreamsConfig = DURABLE) -> Conversation:
    """Return a conversation whose disk is slow."""
    return Conversation(config, prompt_disk=False)


# ------------------------------------------------------------------------------------------------- before it is durable


def begun(*clients: Client, talk: Conversation) -> None:
    """Let the first of these call, with everything durable so far and nothing from now on."""
    clients[0].call(peer=MARKER, key=KEY, attempt="a.1")
    for client in clients:
        client.heard()
    talk.application()
    talk.prompt_disk = False


@pytest.mark.rule("R9", "Q9b")
@pytest.mark.parametrize("framing", [Framing.LINES, Framing.HTTP])
def test_a_cancelled_call_is_told_its_end_once_that_is_durable(framing: Framing) -> None:
    talk = Conversation(DURABLE)
    client = talk.connect() if framing is Framing.LINES else talk.exchange("connection 0")
    other = talk.connect(scope="connection 0")
    begun(client, other, talk=talk)
    other.cancelled(7)
    assert (client.heard(), client.way) == ([], Way.OPEN)
    assert talk.application() == ["cancel s1: cancelled"]
    talk.sync()
    assert client.heard() == ["end" if framing is Framing.LINES else "- end"]
    assert client.way is (Way.OPEN if framing is Framing.LINES else Way.ENDED)


@pytest.mark.rule("R9", "R15", "R22")
def test_so_is_a_resume_of_it_before_its_result() -> None:
    talk = Conversation(DURABLE)
    first, second, third = talk.connect(), talk.connect(), talk.connect()
    begun(first, talk=talk)
    second.resume(attempt="a.2")
    second.heard()
    third.cancel(11)
    assert (second.heard(), third.heard()) == ([], [])
    talk.sync()
    assert (second.heard(), third.heard()) == (["end", "result 9"], ["result 11"])


@pytest.mark.rule("R9", "R6")
def test_a_stream_that_is_acknowledged_while_it_is_given_again_ends_once_that_is_durable() -> None:
    talk = Conversation(attrs.evolve(DURABLE, max_write_bytes=1))
    first, second, third = talk.connect(), talk.connect(), talk.connect()
    first.call(peer=MARKER)
    talk.respond()
    second.reads = False
    second.resume(after=0, attempt="a.2", marker=True)
    talk.prompt_disk = False
    third.ack(3, token=token_of("s1"))
    second.take()
    second.reads = True
    assert second.heard() == ["create"]
    talk.sync()
    assert second.heard() == ["end", "result 9"]


@pytest.mark.rule("R9", "R13")
def test_who_asks_and_goes_while_the_disk_is_slow_leaves_nothing_behind() -> None:
    talk = Conversation(DURABLE)
    first, patient = talk.connect(), talk.connect()
    begun(first, talk=talk)
    talk.say(1)
    before = talk.machine.snapshot(talk.now)
    for _ in range(3):
        visitor = talk.connect()
        visitor.poll()
        visitor.poll()
        visitor.lose()
    assert talk.machine.snapshot(talk.now) == before
    patient.poll()
    talk.sync()
    assert patient.heard() == ["result poll 0"]


@pytest.mark.rule("R9", "P34", "Q9b")
def test_nobody_is_told_the_reason_of_a_stream_that_is_gone_before_it_is_durable() -> None:
    talk = Conversation(DURABLE)
    first, polls, resumes, calls, gets = (
        talk.connect(),
        talk.exchange(),
        talk.exchange(),
        talk.connect(),
        talk.exchange(),
    )
    begun(first, talk=talk)
    first.cancelled(7)
    assert polls.poll() is None
    resumes.resume(attempt="a.2")
    calls.call(peer=MARKER, key=KEY, attempt="a.3", stream="s2")
    gets.get(1)
    assert [client.heard() for client in (polls, resumes, calls, gets)] == [[]] * 4
    assert [client.body for client in (polls, resumes, gets)] == [None] * 3
    talk.sync()
    assert [client.heard() for client in (polls, resumes, calls, gets)] == [
        ["error poll 0 cancelled"],
        ["error 9 cancelled"],
        ["error 7 cancelled"],
        ["error - invalid_cursor"],
    ]
    assert [client.body for client in (polls, resumes, gets)] == [BodyKind.JSON] * 3


@pytest.mark.rule("R9", "R6", "Q9a")
@pytest.mark.parametrize("framing", [Framing.LINES, Framing.HTTP])
def test_a_stream_that_was_acknowledged_whole_is_finished_for_others_once_that_is_durable(framing: Framing) -> None:
    talk = Conversation(DURABLE)
    line = talk.connect()
    other = talk.connect() if framing is Framing.LINES else talk.exchange()
    line.call(peer=MARKER)
    talk.respond()
    talk.prompt_disk = False
    line.ack(3)
    other.resume(attempt="a.2")
    assert (other.heard(), other.body) == ([], None)
    talk.sync()
    assert other.heard() == (["end", "result 9"] if framing is Framing.LINES else [":", "- end", "- result 9"])
    assert other.way is (Way.OPEN if framing is Framing.LINES else Way.ENDED)


@pytest.mark.rule("R9", "R21")
def test_a_key_tells_nothing_before_it_is_durable() -> None:
    talk = conversation()
    first, second, third, fourth = (talk.connect() for _ in range(4))
    first.call(peer=MARKER, key=KEY)
    second.call(peer=MARKER, key=KEY, digest=b"another call", stream="s2")
    assert second.heard() == []
    talk.sync()
    assert second.heard() == ["error 7 key_conflict"]
    third.cancelled(key=KEY.upper())
    fourth.call(peer=MARKER, key=KEY.upper(), stream="s3")
    assert fourth.heard() == []
    talk.sync()
    assert fourth.heard() == ["error 7 cancelled"]


@pytest.mark.rule("R9")
def test_observers_learn_of_the_end_of_a_stream_once_it_is_durable() -> None:
    talk = Conversation(DURABLE)
    line = talk.connect()
    begun(line, talk=talk)
    talk.observed()
    line.cancelled(7)
    assert talk.observed() == []
    talk.sync()
    assert talk.observed() == ["s1 gone: cancelled"]


@pytest.mark.rule("R9", "R16")
def test_a_silent_stream_that_goes_with_its_session_ends_its_exchange_once_that_is_durable() -> None:
    talk = Conversation(DURABLE)
    exchange = talk.exchange()
    exchange.call(peer=STOCK)
    talk.prompt_disk = False
    talk.end_session()
    assert exchange.way is Way.OPEN
    talk.sync()
    assert (exchange.heard(), exchange.way) == (["0"], Way.ENDED)


@pytest.mark.rule("R9")
def test_a_connection_that_breaks_meanwhile_is_told_nothing() -> None:
    talk = Conversation(DURABLE)
    line, other = talk.connect(), talk.connect()
    begun(line, talk=talk)
    line.cancelled(7)
    other.resume()
    line.lose()
    other.lose()
    talk.sync()
    assert (line.heard(), other.heard()) == ([], [])


@pytest.mark.rule("R9", "R15")
@pytest.mark.parametrize("ends", ["peer", "server"])
def test_a_connection_stays_for_what_it_will_be_told(ends: str) -> None:
    talk = conversation()
    talk.connect().call()
    line = talk.connect()
    assert line.poll() is None
    line.hang_up() if ends == "peer" else talk.drain()
    assert line.way is Way.OPEN
    talk.sync()
    assert (line.heard(), line.way) == (["result poll 0"], Way.ENDED)


@pytest.mark.rule("R9", "R11")
def test_a_peer_that_asks_on_while_the_log_is_slow_is_dropped() -> None:
    talk = conversation(attrs.evolve(DURABLE, max_reply_bytes=500))
    talk.connect().call()
    line = talk.connect()
    for _ in range(3):
        assert line.poll() is None
    assert line.way is Way.OPEN
    line.poll()
    assert line.dropped is DropReason.FLOODED
    talk.sync()
    assert line.heard() == []


def test_an_exchange_that_is_answered_is_not_accepted_as_well() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call()
    talk.accept(exchange)
    talk.say(1)
    assert (exchange.heard(), exchange.body) == (["0", "1 create", "2 progress 1"], BodyKind.EVENTS)


# --------------------------------------------------------------------------------------------------- the log is lost


@pytest.mark.rule("R9", "Q9b")
@pytest.mark.parametrize("framing", [Framing.LINES, Framing.HTTP])
def test_an_end_that_is_not_durable_is_not_told(framing: Framing) -> None:
    talk = Conversation(DURABLE)
    client = talk.connect() if framing is Framing.LINES else talk.exchange("connection 0")
    other = talk.connect(scope="connection 0")
    begun(client, other, talk=talk)
    other.cancelled(7)
    talk.lose_disk()
    assert client.heard() == ["error 7 log_failed" if framing is Framing.LINES else "- error 7 log_failed"]
    assert client.way is (Way.OPEN if framing is Framing.LINES else Way.ENDED)
    assert talk.observed()[-1] == "s1 gone: cancelled"


@pytest.mark.rule("R9", "R15")
@pytest.mark.parametrize("framing", [Framing.LINES, Framing.HTTP])
def test_a_resume_whose_end_is_not_durable_is_refused(framing: Framing) -> None:
    talk = Conversation(DURABLE)
    first, other = talk.connect(), talk.connect()
    second = talk.connect() if framing is Framing.LINES else talk.exchange()
    begun(first, talk=talk)
    second.resume(attempt="a.2")
    second.heard()
    other.cancel()
    talk.lose_disk()
    assert second.heard() == ["error 9 log_failed" if framing is Framing.LINES else "- error 9 log_failed"]
    assert second.way is (Way.OPEN if framing is Framing.LINES else Way.ENDED)
    assert other.heard() == ["error 11 log_failed"]


@pytest.mark.rule("R9", "R21", "Q9b")
def test_a_reason_that_is_not_durable_is_not_told() -> None:
    talk = Conversation(DURABLE)
    first, resumes, calls = talk.connect(), talk.exchange(), talk.connect()
    begun(first, talk=talk)
    first.cancelled(7)
    resumes.resume(attempt="a.2")
    calls.call(peer=MARKER, key=KEY, attempt="a.3", stream="s2")
    talk.lose_disk()
    assert (resumes.heard(), calls.heard()) == (["error 9 log_failed"], ["error 7 log_failed"])
    assert resumes.body is BodyKind.JSON


@pytest.mark.rule("R9")
def test_an_answered_call_is_not_answered_again_when_its_end_is_not_durable() -> None:
    talk = Conversation(attrs.evolve(DURABLE, max_write_bytes=1))
    line, other = talk.connect(), talk.connect()
    line.reads = False
    line.call(peer=MARKER)
    talk.respond()
    line.take()
    assert line.heard() == ["create", "result 7"]
    talk.prompt_disk = False
    other.cancel()
    talk.lose_disk()
    line.take()
    assert line.heard() == []
