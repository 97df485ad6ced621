"""Cancellations that left something open, and losses that were taken for one (group M)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import EndWriting, Framing
from mcpstreams_sansio.server.effects import StopCall, StopReason
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Notification, Request
from tests.sansio.serving import MARKED, STREAMS, Serving

CALL = Request(1, "tools/call", {"name": "work"})
END = "notifications/stream/end"
CANCELLED = Notification("notifications/cancelled", {"requestId": 1, "reason": "enough"})


@pytest.mark.rule("H35", "Q9b", "P35")
@pytest.mark.parametrize(
    ("capabilities", "left"),
    [({}, []), (STREAMS, ["notifications/stream/end"]), (MARKED, ["notifications/stream/end"])],
)
def test_m1_a_cancelled_call_ends_its_exchange_and_frees_what_it_held(
    capabilities: JSONObject, left: list[str]
) -> None:
    one = Serving()
    session = one.begin(capabilities)
    exchange = one.post(CALL, session)
    before = len(exchange.messages)
    assert one.post(CANCELLED, session).status == 202
    assert exchange.told[before:] == left
    assert isinstance(exchange.over, EndWriting)
    assert one.heard(StopCall) == [StopCall(one.call.stream_id, StopReason.CANCELLED)]
    one.assert_at_rest(sessions=1)
    one.wait(100_000.0)
    assert one.server.next_deadline() is None


@pytest.mark.rule("H35")
def test_m1_an_exchange_that_was_still_undecided_ends_as_well() -> None:
    one = Serving()
    session = one.begin({})
    exchange = one.post(Request(1, "resources/list"), session)
    one.post(CANCELLED, session)
    assert exchange.messages == []
    assert isinstance(exchange.over, EndWriting)
    one.assert_at_rest(sessions=1)


@pytest.mark.rule("H35")
@pytest.mark.parametrize("framing", [Framing.LINES, Framing.MESSAGES])
def test_m1_on_a_shared_connection_no_answer_follows_and_the_connection_goes_on(framing: Framing) -> None:
    one = Serving()
    seen = one.greet({}, framing=framing)
    one.send(seen, CALL, CANCELLED)
    one.respond(one.call)
    one.send(seen, Request("p", "ping"))
    assert seen.told == ["p"]
    one.assert_at_rest(peers=[seen])


@pytest.mark.rule("H12", "P8", "R2")
@pytest.mark.parametrize(
    ("capabilities", "framing", "cancelled"),
    [
        ({}, Framing.HTTP, False),
        (STREAMS, Framing.HTTP, False),
        (STREAMS, Framing.LINES, False),
        (STREAMS, Framing.MESSAGES, False),
        ({}, Framing.LINES, True),
        ({}, Framing.MESSAGES, True),
    ],
)
def test_m3_a_loss_cancels_only_what_nobody_could_come_back_for(
    capabilities: JSONObject, framing: Framing, cancelled: bool
) -> None:
    one = Serving()
    if framing is Framing.HTTP:
        seen = one.post(CALL, one.begin(capabilities))
    else:
        seen = one.greet(capabilities, framing=framing)
        one.send(seen, CALL)
    one.lose(seen)
    assert [effect.reason for effect in one.heard(StopCall)] == [StopReason.CONNECTION_LOST] * cancelled


@pytest.mark.rule("H35", "H9")
@pytest.mark.parametrize("request_id", [1, "unknown", None])
def test_m5_a_cancellation_is_accepted_whatever_it_names(request_id: int | str | None) -> None:
    one = Serving()
    session = one.begin({})
    asked = Notification("notifications/cancelled", {"requestId": request_id})
    assert one.post(asked, session).status == 202
    assert one.told == [], "it is no notification for the application"
