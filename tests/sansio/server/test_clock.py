"""What time does: keep-alives, redelivery windows, stalls, and nothing twice (rules Q7h, R5, R11, R15)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.connections import DropReason
from mcpstreams_sansio.server.calls import BodyPolicy, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import BodyKind
from mcpstreams_sansio.server.inputs import PeerHeard
from mcpstreams_sansio.server.table import StreamState
from tests.sansio.server.conversation import MARKER, STOCK, Conversation

MOMENTS = st.floats(0, 1e9)
SECONDS = st.floats(1e-3, 1e6)

# ------------------------------------------------------------------------------------------------------- keep-alives


@pytest.mark.rule("R15")
def test_a_silent_connection_that_delivers_is_kept_alive() -> None:
    talk = Conversation()
    line, exchange = talk.connect(), talk.exchange()
    line.call(1, "s1")
    exchange.call(2, "s2")
    assert (line.heard(), exchange.heard()) == (["create"], ["0", "1 create"])
    talk.wait(14)
    assert (line.heard(), exchange.heard()) == ([], [])
    talk.wait(31)
    assert (line.heard(), exchange.heard()) == (["ping keepalive-1", "ping keepalive-2", "ping keepalive-3"], [":"] * 3)


@pytest.mark.rule("Q7a", "R15")
def test_a_peer_that_gives_no_sign_of_life_is_given_up_and_its_stream_waits_for_it() -> None:
    talk = Conversation()
    line = talk.connect()
    line.alive = False
    line.call(peer=MARKER)
    talk.wait(59)
    assert line.heard() == ["create", "ping keepalive-1", "ping keepalive-2", "ping keepalive-3"]
    assert talk.state() is StreamState.LIVE
    talk.wait(1)
    assert line.heard() == []
    assert line.dropped is DropReason.SILENT
    assert talk.observed()[-1] == "s1 detached"
    other = talk.connect()
    other.resume(attempt="a.1")
    talk.wait(10_000)
    assert other.open, "it answers"


@pytest.mark.rule("Q7a")
@pytest.mark.parametrize("says", ["ack", "poll", "nothing that is whole"])
def test_whatever_a_peer_says_is_a_sign_of_life(says: str) -> None:
    talk = Conversation()
    line = talk.connect()
    line.alive = False
    line.call(peer=MARKER)
    for _ in range(10):
        talk.wait(40)
        match says:
            case "ack":
                line.ack(1)
            case "poll":
                line.poll()
            case _:
                talk.submit(PeerHeard(line.connection_id))
    assert line.open
    talk.wait(60)
    assert line.dropped is DropReason.SILENT


@pytest.mark.rule("Q7a")
def test_who_can_not_answer_is_not_given_up_for_it() -> None:
    talk = Conversation()
    line, exchange = talk.connect(), talk.exchange()
    line.alive = False
    line.call(1, "s1", peer=STOCK)
    exchange.call(2, "s2")
    line.hang_up()
    talk.wait(1_000)
    assert line.open
    assert exchange.open
    talk.respond("s1")
    assert line.heard()[-1] == "result 1"


@pytest.mark.rule("R15")
def test_whatever_is_said_keeps_a_connection_alive() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    for number in range(10):
        talk.wait(14)
        talk.say(number)
    assert line.heard() == ["create", *(f"progress {number}" for number in range(10))]


@pytest.mark.rule("R15")
def test_a_connection_that_delivers_nothing_is_not_kept_alive() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    talk.respond()
    line.heard()
    talk.wait(100)
    assert line.heard() == []


def test_a_later_stream_is_kept_alive_again() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    talk.respond()
    talk.wait(100)
    line.call(8, "s2")
    line.heard()
    talk.wait(15)
    assert line.heard() == ["ping keepalive-1"]


def test_keep_alives_can_be_turned_off() -> None:
    talk = Conversation(StreamsConfig(keepalive=None))
    line = talk.connect()
    line.call()
    talk.wait(1_000)
    assert line.heard() == ["create"]


@pytest.mark.rule("R11")
def test_a_connection_that_takes_nothing_is_not_given_keep_alives_as_well() -> None:
    talk = Conversation(StreamsConfig(stall_timeout=None))
    line = talk.connect()
    line.reads = False
    line.call()
    talk.wait(1_000)
    line.take()
    assert line.heard() == ["create"]
    assert line.outstanding is None


@pytest.mark.rule("R18")
@pytest.mark.parametrize("body", [BodyPolicy.NEVER, BodyPolicy.WHEN_NEEDED])
def test_nothing_is_said_on_an_exchange_that_may_become_json(body: BodyPolicy) -> None:
    talk = Conversation(StreamsConfig(keepalive=1, sse_after=100))
    exchange = talk.exchange()
    exchange.call(peer=STOCK, kind=StreamKind.FLEETING, body=body)
    talk.wait(10)
    assert exchange.heard() == []
    talk.respond()
    assert exchange.body is BodyKind.JSON
    assert exchange.heard() == ["result 7"]


@given(opened=MOMENTS, said=MOMENTS, keepalive=SECONDS)
def test_no_rounding_makes_a_keep_alive_due_again_at_once(opened: float, said: float, keepalive: float) -> None:
    talk = Conversation(StreamsConfig(keepalive=keepalive), now=opened)
    talk.connect().call()
    talk.now += said % keepalive
    talk.say(1)
    talk.wait(5 * keepalive)


# ------------------------------------------------------------------------------------------------ redelivery windows


@pytest.mark.rule("R5", "P23")
def test_what_is_confirmed_is_served_again_within_the_window_and_then_is_gone() -> None:
    talk = Conversation(StreamsConfig(redelivery_window=120))
    line = talk.connect()
    line.call(peer=MARKER)
    talk.say(1, 2)
    line.ack(3)
    talk.wait(119)
    line.heard()
    line.resume(after=1, attempt="a.1")
    assert line.heard() == ["progress 1", "progress 2"]
    talk.wait(1)
    line.resume(10, after=1, attempt="a.2")
    assert line.heard() == ["error 10 events_gone"]


@given(confirmed=MOMENTS, window=SECONDS)
def test_no_rounding_makes_a_window_end_again_at_once(confirmed: float, window: float) -> None:
    talk = Conversation(StreamsConfig(redelivery_window=window, keepalive=None))
    line = talk.connect()
    line.call(peer=MARKER)
    talk.now = confirmed
    talk.say(1)
    line.ack(2)
    talk.wait(2 * window)
    line.resume(after=1, attempt="a.1")
    assert line.heard()[-1] == "error 9 events_gone"


# ------------------------------------------------------------------------------------------------------------ stalls


@pytest.mark.rule("R11")
def test_a_connection_that_takes_nothing_is_dropped_and_its_stream_waits() -> None:
    talk = Conversation(StreamsConfig(stall_timeout=30))
    line = talk.connect()
    line.reads = False
    line.call()
    talk.wait(29)
    assert talk.observed() == ["s1 attached to 0"]
    talk.wait(1)
    assert talk.observed() == ["s1 detached"]
    assert line.dropped is DropReason.STALLED
    line.lose()
    assert talk.observed() == []


@pytest.mark.rule("R11")
def test_the_time_counts_from_each_write() -> None:
    talk = Conversation(StreamsConfig(stall_timeout=30, keepalive=None))
    line = talk.connect()
    line.reads = False
    line.call()
    talk.wait(29)
    line.take()
    talk.wait(29)
    talk.say(1)
    talk.wait(29)
    assert line.dropped is None
