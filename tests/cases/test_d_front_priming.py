"""Priming events that came too early, too late, or as something else (group D: what a server sends)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.inputs import ReleaseStream
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Request, Response
from mcpstreams_sansio.wire.revisions import Revision
from tests.sansio.serving import MARKED, STREAMS, Serving, serving

CALL = Request(1, "tools/call", {"name": "work"})
CAPABILITIES = pytest.mark.parametrize("capabilities", [{}, STREAMS, MARKED])
OLDER = [Revision.R2025_03_26, Revision.R2025_06_18]


@CAPABILITIES
@pytest.mark.rule("H13", "H14", "R1")
def test_d1_a_priming_event_has_an_id_and_a_data_line_that_is_empty(capabilities: JSONObject) -> None:
    one = Serving()
    exchange = one.post(CALL, one.begin(capabilities))
    priming, *_ = exchange.body.split(b"\n\n")
    assert priming == f"id: {one.call.stream_id}_0\ndata: ".encode()


@CAPABILITIES
@pytest.mark.rule("H19")
@pytest.mark.parametrize("revision", OLDER)
def test_d2_a_client_of_an_older_revision_is_never_sent_an_event_without_data(
    capabilities: JSONObject, revision: Revision
) -> None:
    one = Serving()
    session = one.begin(capabilities, revision=revision.value)
    exchange = one.post(CALL, session)
    one.notify(one.call.stream_id, 1)
    cursor = exchange.cursor
    one.lose(exchange)
    one.respond(one.call)
    again = one.get(session, cursor)
    assert all(event.data for seen in (exchange, again) for event in seen.events)
    assert Response(1, {"content": []}).id in again.told


@CAPABILITIES
@pytest.mark.rule("H13", "P7")
def test_d3_a_client_holds_a_cursor_before_anything_happens(capabilities: JSONObject) -> None:
    one = Serving()
    session = one.begin(capabilities)
    exchange = one.post(CALL, session)
    cursor = exchange.events[0].id
    assert cursor is not None
    one.lose(exchange)
    one.respond(one.call)
    assert 1 in one.get(session, cursor.encode()).told


@pytest.mark.rule("P7", "P8", "R8")
def test_d4_a_client_that_declared_streams_holds_a_token_from_the_first_bytes_on() -> None:
    one = Serving()
    session = one.begin(STREAMS)
    exchange = one.post(CALL, session)
    ref = exchange.ref
    one.lose(exchange)
    one.respond(one.call)
    again = one.post(Request(2, "stream/resume", ref), session)
    assert again.told == ["notifications/stream/create", 1, "notifications/stream/end", 2]


@pytest.mark.rule("H15", "H16", "H13")
def test_d5_a_client_that_is_to_poll_is_told_where_it_stands_and_when_to_come_back() -> None:
    one = serving(streams=StreamsConfig(retry_ms=100))
    session = one.begin({})
    exchange = one.post(CALL, session)
    one.submit(ReleaseStream(one.call.stream_id))
    first, *_ = exchange.events
    assert (first.data, first.id) == ("", f"{one.call.stream_id}_0")
    assert exchange.body.endswith(b"\n\nretry: 100\n\n")
    one.wait(0.1)
    again = one.get(session, exchange.cursor)
    one.respond(one.call)
    assert again.told == [1]
    assert again.over is not None
