"""Drops before anything came (group D: in the server's streams)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.server.calls import Peer
from tests.sansio.server.conversation import DRAFT, STOCK, Conversation


@pytest.mark.rule("P7", "H13")
@pytest.mark.parametrize("peer", [STOCK, DRAFT])
def test_d3_a_client_holds_a_cursor_before_anything_happens(peer: Peer) -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call(peer=peer)
    assert exchange.heard()[0] == "0"
    exchange.lose()
    talk.respond()
    again = talk.exchange()
    again.get(0)
    assert [what for what in again.heard() if "result" in what] == ["1 result 7" if peer is STOCK else "2 result 7"]


@pytest.mark.rule("P15", "P8")
def test_d4_a_client_that_has_the_token_needs_no_cursor() -> None:
    talk = Conversation()
    exchange = talk.exchange()
    exchange.call()
    exchange.lose()
    talk.respond()
    line = talk.connect()
    line.resume()
    assert line.heard() == ["create", "result 7", "end", "result 9"]
