"""Cancelling and disconnecting (group M: in the server's streams)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.server.calls import Peer
from mcpstreams_sansio.server.effects import BodyKind
from mcpstreams_sansio.wire.revisions import AfterLoss
from tests.sansio.server.conversation import DRAFT, STOCK, Conversation, Way


@pytest.mark.rule("Q9b", "H35")
@pytest.mark.parametrize("peer", [STOCK, DRAFT])
def test_m1_j10_a_cancelled_call_ends_its_event_stream_and_frees_what_it_held(peer: Peer) -> None:
    talk = Conversation()
    exchange, other = talk.exchange(), talk.exchange()
    exchange.call(peer=peer)
    talk.say(1)
    talk.ask("q1")
    exchange.heard()
    other.cancelled(7)
    assert exchange.heard() == ([] if peer is STOCK else ["- end"])
    assert exchange.way is Way.ENDED
    assert talk.application() == ["start s1", "failed q1: stream gone", "cancel s1: cancelled"]
    assert talk.machine._registry.total_bytes == 0


@pytest.mark.rule("D5", "M3", "H12")
@pytest.mark.parametrize(
    ("after_loss", "told"), [(AfterLoss.CANCEL, ["cancel s1: connection lost"]), (AfterLoss.RUN_ON, [])]
)
@pytest.mark.parametrize("framing", [Framing.LINES, Framing.MESSAGES])
def test_m3_what_a_cut_means_is_the_revisions_choice(framing: Framing, after_loss: AfterLoss, told: list[str]) -> None:
    talk = Conversation()
    client = talk.connect(framing)
    client.call(peer=STOCK, after_loss=after_loss)
    talk.application()
    client.lose()
    assert talk.application() == told


@pytest.mark.rule("H9", "H35")
@pytest.mark.parametrize("request_id", [7, "7", 8, None])
def test_m5_a_cancellation_is_accepted_whatever_it_names(request_id: str | int | None) -> None:
    talk = Conversation()
    exchange, other = talk.exchange(), talk.exchange()
    exchange.call(7)
    other.cancelled(request_id)
    talk.accept(other)
    assert other.body is BodyKind.EMPTY
    assert talk.application() == ["start s1", *(["cancel s1: cancelled"] if request_id == 7 else [])]
