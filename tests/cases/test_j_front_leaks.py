"""What was kept for a session or a request after it was over (group J: at the server)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import EndWriting
from mcpstreams_sansio.http.config import HTTPConfig
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import StopCall, StreamDetached
from mcpstreams_sansio.server.records import StreamClosed, StreamOpened
from mcpstreams_sansio.wire.jsonrpc import Request
from mcpstreams_sansio.wire.refusals import Reason
from tests.sansio.serving import STREAMS, Serving, serving

CALL = Request(1, "tools/call", {"name": "work"})


@pytest.mark.rule("R16")
def test_j1_an_idle_session_takes_its_streams_and_its_timers_with_it() -> None:
    one = serving(HTTPConfig(session_idle=60.0), StreamsConfig(silent_retention=1_000.0))
    before = one.server.snapshot(0.0)
    one.lose(one.post(CALL, one.begin({})))
    one.wait(60.0)
    assert len(one.heard(StopCall)) == 1
    assert one.server.snapshot(one.now) == before
    assert one.server.next_deadline() is None


def test_j3_what_is_kept_for_a_request_goes_with_it() -> None:
    one = Serving()
    lines, session = one.greet({}), one.begin({})
    for number in range(500):
        asked = Request(number, "resources/list")
        one.post(asked, session)
        one.send(lines, asked)
        for call in one.calls[-2:]:
            one.respond(call)
        one.post(Request(number, "ping"), session)
    one.assert_at_rest(sessions=1, peers=[lines])
    registry = one.server._streams._registry
    tables = (registry.streams, registry.calls, registry.quotas, registry.working, registry.works, registry.bound)
    assert [len(table) for table in tables] == [0] * len(tables)


@pytest.mark.rule("P8", "R15")
def test_j4_an_exchange_whose_peer_is_gone_lets_its_silent_stream_go_in_one_step() -> None:
    one = Serving()
    exchange = one.post(CALL, one.begin({}))
    one.lose(exchange)
    assert one.heard(StreamDetached) == [StreamDetached(one.call.stream_id)]
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("R16")
@pytest.mark.parametrize("ending", ["deleted", "idle"])
def test_j7_the_end_of_a_session_closes_its_streams_in_the_log(ending: str) -> None:
    one = serving(HTTPConfig(session_idle=60.0), StreamsConfig(durable=True, silent_retention=1_000.0))
    session = one.begin({})
    one.lose(one.post(CALL, session))
    if ending == "deleted":
        assert isinstance(one.delete(session).over, EndWriting)
    else:
        one.wait(60.0)
    records = [record for batch in one.batches for record in batch.records]
    [opened] = [record for record in records if isinstance(record, StreamOpened)]
    assert records[-1] == StreamClosed(opened.stream_id, Reason.EXPIRED, 0)


@pytest.mark.rule("R16", "P8")
def test_j7_the_streams_that_a_token_brings_back_are_not_closed_with_it() -> None:
    one = serving(streams=StreamsConfig(durable=True))
    session = one.begin(STREAMS)
    one.post(CALL, session)
    one.delete(session)
    records = [record for batch in one.batches for record in batch.records]
    assert [record for record in records if isinstance(record, StreamClosed)] == []
