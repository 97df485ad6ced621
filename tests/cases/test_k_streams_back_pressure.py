"""One slow stream that blocked every other (group K: in the server's streams)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.server.config import StreamsConfig
from tests.sansio.server.conversation import STOCK, Conversation


@pytest.mark.rule("R11")
def test_k1_the_response_of_one_stream_is_written_while_another_exchange_never_reads() -> None:
    talk = Conversation()
    slow, quick = talk.exchange(), talk.exchange()
    slow.reads = False
    slow.call(1, "p", peer=STOCK)
    talk.say(*range(100), stream="p")
    quick.call(2, "q", peer=STOCK)
    before = len(talk.effects)
    talk.respond("q")
    assert quick.heard() == ["0", "1 result 2"]
    assert len(talk.effects) - before < 10


@pytest.mark.rule("R11", "R10")
def test_k1_on_a_shared_connection_a_slow_application_holds_up_no_other() -> None:
    talk = Conversation(StreamsConfig(window=2, max_write_bytes=1))
    line = talk.connect()
    line.reads = False
    line.call(1, "noisy")
    line.call(2, "quiet")
    talk.say(*range(10), stream="noisy")
    talk.respond("quiet")
    for _ in range(5):
        line.take()
    assert "result 2" in line.heard()
