"""Reconnects that each kept what was there before (group G: both sides)."""

from __future__ import annotations

from tests.cases.clients import CALL, message, primed
from tests.reach import objects_held
from tests.sansio.client.conversation import CONFIG
from tests.sansio.client.driving import EVENTS
from tests.sansio.server.conversation import STOCK, Conversation

GENERATIONS = 1_000
SETTLED = 20
"""After so many generations everything has been there once."""


def test_g14_a_client_that_has_come_back_a_thousand_times_holds_no_more_than_at_first() -> None:
    driven = primed()
    held = {}
    for generation in range(1, GENERATIONS + 1):
        path = CALL + generation
        driven.streams(path - 1, message(generation))
        driven.take(generation)
        driven.cut(path - 1)
        driven.wait(CONFIG.retry_ceiling)
        driven.heads(path, 200, EVENTS)
        if generation in (SETTLED, GENERATIONS):
            held[generation] = objects_held(driven.client)
    assert held[GENERATIONS] == held[SETTLED]


def test_g14_nor_does_the_server_to_which_it_comes_back() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(peer=STOCK)
    held = {}
    for generation in range(1, GENERATIONS + 1):
        exchange.lose()
        talk.wait(1.0)
        exchange = talk.exchange()
        exchange.get(0)
        if generation in (SETTLED, GENERATIONS):
            held[generation] = objects_held(talk.machine)
    assert held[GENERATIONS] == held[SETTLED]
