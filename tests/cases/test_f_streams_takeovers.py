"""Two connections, half-open connections, takeover (group F: in the server's streams)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.connections import ConnectionLost, Written
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.table import StreamState
from tests.sansio.server.conversation import STOCK, Conversation, Way


@pytest.mark.rule("Q6a", "T28", "R13")
def test_f1_a_client_takes_its_stream_back_although_the_old_connection_seems_to_live() -> None:
    talk = Conversation()
    first = talk.exchange()
    first.call(peer=STOCK)
    first.reads = False
    talk.say(1)
    second = talk.exchange()
    second.get(0)
    talk.say(2)
    first.take()
    assert first.heard() == ["0", "1 progress 1", "retry 30000"]
    assert first.way is Way.ENDED
    assert second.heard() == ["0", "1 progress 1", "2 progress 2"]
    talk.submit(Written(first.connection_id))
    talk.submit(ConnectionLost(first.connection_id))
    talk.say(3)
    assert second.heard() == ["3 progress 3"]
    assert talk.application() == ["start s1"]


@pytest.mark.rule("R14", "Q6b", "T16")
def test_f3_two_clients_of_one_stream_do_not_evict_each_other_for_ever() -> None:
    talk = Conversation(StreamsConfig(takeover_interval=1, takeover_retry_ms=30_000))
    talk.exchange().call(peer=STOCK)
    talk.wait(1)
    attempts = 0
    comes_back = [0.0, 0.1]
    until = talk.now + 60
    while min(comes_back) < until:
        who = comes_back.index(min(comes_back))
        talk.wait(max(0.0, comes_back[who] - talk.now))
        exchange = talk.exchange()
        exchange.get(0)
        attempts += 1
        refused = exchange.head is not None and exchange.head.retry_after is not None
        if refused:
            assert exchange.head is not None
            comes_back[who] = talk.now + (exchange.head.retry_after or 0)
        else:
            # It holds the stream until the other one takes over, and is told to wait then.
            comes_back[who] = comes_back[1 - who] + 30
    assert attempts <= 8


@pytest.mark.rule("R15")
def test_f5_one_failed_write_detaches_one_stream_and_no_more() -> None:
    talk = Conversation()
    first, second = talk.exchange(), talk.exchange()
    first.call(1, "s1", peer=STOCK)
    second.call(2, "s2", peer=STOCK)
    first.reads = False
    talk.say(1, stream="s1")
    first.lose()
    third = talk.exchange()
    third.call(3, "s3", peer=STOCK)
    for stream in ("s2", "s3"):
        talk.respond(stream)
    assert talk.state("s1") is StreamState.DETACHED
    assert (second.heard()[-1], third.heard()[-1]) == ("1 result 2", "1 result 3")


@pytest.mark.rule("Q6g")
@given(steps=st.lists(st.tuples(st.sampled_from(["come", "lose", "cancel", "release", "say"]), st.integers(0, 4))))
def test_f6_whatever_comes_and_goes_at_most_one_connection_delivers(steps: list[tuple[str, int]]) -> None:
    talk = Conversation(StreamsConfig(takeover_interval=0))
    clients = [talk.connect(principal="ann") for _ in range(5)]
    clients[0].call("call")
    for number, (step, who) in enumerate(steps, 1):
        client = clients[who]
        match step:
            case "come" if client.way is Way.OPEN:
                client.resume(f"resume {who}", after=1)
            case "lose" if client.way is Way.OPEN and who:
                client.lose()
            case "cancel":
                client.cancelled(f"resume {who}")
            case "release":
                talk.release()
            case _:
                talk.say(number)
    # Each client forgets what it heard so far; then one message goes to one of them, or waits for whoever comes.
    for client in clients:
        client.heard()
    talk.say(0)
    delivered = [client for client in clients if "progress 0" in client.heard()]
    assert len(delivered) == (talk.state() is StreamState.LIVE)
