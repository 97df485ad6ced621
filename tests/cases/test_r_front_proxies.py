"""Proxies that hold a head back until a byte follows, and cut what is silent (group R)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import EndWriting, Write
from mcpstreams_sansio.framing.sse import SSEDecoder
from mcpstreams_sansio.http.messages import SendHead
from mcpstreams_sansio.server.inputs import SendMessage
from mcpstreams_sansio.server.machine import ServerEffect
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Notification, Request
from mcpstreams_sansio.wire.revisions import Revision
from tests.sansio.serving import MARKED, STREAMS, Seen, Serving

CALL = Request(1, "tools/call", {"name": "work"})
LIST = Request(1, "resources/list")
CAPABILITIES = pytest.mark.parametrize("capabilities", [{}, STREAMS, MARKED])


def wire_effects(effects: list[ServerEffect]) -> list[type]:
    return [type(effect) for effect in effects if isinstance(effect, SendHead | Write | EndWriting)]


@CAPABILITIES
@pytest.mark.rule("R18", "H13")
@pytest.mark.parametrize("revision", Revision)
def test_r1_the_first_bytes_of_an_event_stream_go_out_with_its_head(
    capabilities: JSONObject, revision: Revision
) -> None:
    one = Serving()
    session = one.begin(capabilities, revision=revision.value)
    exchange = one.post(CALL, session, slow=True)
    assert exchange.status == 200
    assert len(exchange.chunks) >= 1
    again = one.get(session, f"{one.call.stream_id}_0".encode())
    assert again.chunks
    assert again.body.endswith(b"\n\n")


@pytest.mark.rule("R18")
def test_r1_so_do_those_of_one_that_turns_out_to_be_needed() -> None:
    one = Serving()
    session = one.begin({})
    one.post(LIST, session)
    stream_id = one.call.stream_id
    effects = one.submit(SendMessage(stream_id, Notification("notifications/progress", {"progress": 1})))
    assert wire_effects(effects) == [SendHead, Write]
    late = one.post(Request(2, "resources/list"), session)
    one.wait(0.25)
    assert late.status == 200
    assert late.chunks, "a stream that has nothing to say yet says at least that it is there (R3)"


def comments(seen: Seen) -> int:
    return seen.body.count(b":\n\n")


@CAPABILITIES
@pytest.mark.rule("R15")
def test_r2_a_long_silent_call_is_never_silent_on_the_wire(capabilities: JSONObject) -> None:
    one = Serving()
    session = one.begin(capabilities)
    exchange = one.post(CALL, session)
    before = exchange.events
    one.wait(600.0)
    assert comments(exchange) == 40, "one each 15 seconds"
    assert exchange.events == before, "they say nothing and move no cursor"
    decoder = SSEDecoder()
    decoder.receive_data(exchange.body)
    while decoder.next_event() is not None:
        pass
    assert decoder.last_event_id == before[-1].id
    one.lose(exchange)
    again = one.get(session, exchange.cursor)
    one.wait(600.0)
    assert comments(again) == 40


def test_r3_a_response_that_is_not_decided_has_no_head() -> None:
    one = Serving()
    exchange = one.post(LIST, one.begin({}))
    assert exchange.head is None
    one.wait(0.24)
    assert exchange.head is None
    one.wait(0.01)
    assert exchange.status == 200
