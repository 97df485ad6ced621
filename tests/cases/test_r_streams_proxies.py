"""Proxies that hold heads back and cut what is silent (group R: in the server's streams)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import Write
from mcpstreams_sansio.server.calls import BodyPolicy
from mcpstreams_sansio.server.effects import BeginBody
from tests.sansio.server.conversation import STOCK, Conversation


@pytest.mark.rule("R15", "H13")
@pytest.mark.parametrize("primes", [True, False])
def test_r1_the_first_bytes_go_out_with_the_head(*, primes: bool) -> None:
    talk = Conversation()
    exchange = talk.exchange(primes=primes)
    exchange.call(peer=STOCK)
    order = [type(effect) for effect in talk.effects if isinstance(effect, BeginBody | Write)]
    assert order == [BeginBody, Write]


@pytest.mark.rule("R15")
def test_r2_a_silent_call_is_kept_alive_for_as_long_as_it_takes() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(peer=STOCK, body=BodyPolicy.WHEN_NEEDED)
    talk.wait(600)
    assert exchange.heard() == ["0", *[":"] * 39]
    talk.respond()
    assert exchange.heard() == ["1 result 7"]
