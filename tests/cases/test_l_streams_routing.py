"""Answers that crossed, since ids of requests are not names (group L: in the server's streams)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import Framing
from tests.sansio.server.conversation import STOCK, Conversation


@pytest.mark.rule("Q6g", "W6")
@pytest.mark.parametrize("framing", Framing)
def test_l1_equal_ids_of_two_clients_are_two_requests(framing: Framing) -> None:
    talk = Conversation()
    if framing is Framing.HTTP:
        clients = [talk.exchange(session) for session in "ab"]
    else:
        clients = [talk.connect(framing) for _ in "ab"]
    for client, stream in zip(clients, "ab", strict=True):
        client.call(1, stream, peer=STOCK)
    for stream in "ba":
        talk.respond(stream, {"text": stream})
    assert [getattr(client.messages[-1], "result", None) for client in clients] == [{"text": "a"}, {"text": "b"}]


@pytest.mark.rule("W6", "M16")
def test_l2_a_second_request_under_an_id_in_flight_starts_nothing_and_the_first_goes_on() -> None:
    talk = Conversation()
    first, second, third = talk.exchange(), talk.exchange(), talk.exchange()
    first.call(1, "s1", peer=STOCK)
    second.call(1, "s2", peer=STOCK)
    third.call("1", "s3", peer=STOCK)
    assert second.heard() == ["error 1 id_in_use"]
    assert talk.application() == ["start s1", "start s3"]
    talk.respond("s1")
    assert first.heard() == ["0", "1 result 1"]
    again = talk.exchange()
    again.call(1, "s4", peer=STOCK)
    assert again.heard() == ["0"]


@pytest.mark.rule("P14", "R24")
def test_l4_what_a_call_says_goes_where_it_is_answered_and_what_it_asks_waits_for_its_client() -> None:
    talk = Conversation()
    exchange = talk.exchange(principal="ann")
    exchange.call(peer=STOCK)
    talk.say(1)
    assert exchange.heard() == ["0", "1 progress 1"]
    exchange.lose()
    talk.ask("q1")
    again = talk.exchange(principal="ann")
    again.get(1)
    assert again.heard() == ["1", "2 ask q1"]
    talk.exchange(principal="ann").answer("q1")
    assert talk.application() == ["start s1", "answered q1"]
