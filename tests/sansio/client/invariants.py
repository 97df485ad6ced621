"""What holds in a client after every input, whatever it was."""

from __future__ import annotations

from mcpstreams_sansio.client.calls import Call
from mcpstreams_sansio.client.ledger import Ledger, Role, TimerKind
from mcpstreams_sansio.client.streams import ClientStreams
from mcpstreams_sansio.client.table import DELIVERING, CallState

TIMED = {
    CallState.STRANDED,
    CallState.WAITING,
    CallState.POLLING,
    CallState.CANCEL_DUE,
    CallState.CANCELLING,
    CallState.SETTLING,
}
"""States in which a call waits for time, among other things: none of them can last for ever (case H2)."""


def check_invariants(streams: ClientStreams, now: float) -> None:
    """Check that the books agree with each other, and that a copy is an equal one."""
    ledger = streams._ledger
    assert ledger.effects == []
    for call in ledger.calls.values():
        check_call(ledger, call)
    assert set(ledger.requests.values()) == set(ledger.calls)
    assert {ledger.calls[call_id].errand for call_id in ledger.errands.values()} == set(ledger.errands)
    assert set(ledger.settling) == {c for c, call in ledger.calls.items() if call.state is CallState.SETTLING}
    assert ledger.answering == {path for path, exchange in ledger.exchanges.items() if exchange.role is Role.ANSWER}
    assert len(ledger.answering) <= ledger.config.max_answering
    assert len(ledger.replies) <= ledger.config.max_replies
    assert all(ledger.asks[ask_id] == call_id for call_id, ask_id in ledger.held)
    assert ledger.link is not None or not (ledger.held or ledger.replies)
    assert ledger.link is not None or not ledger.loose_asks, "what cannot be answered is not asked"
    for path, exchange in ledger.exchanges.items():
        assert ledger.connection_ids.were_given(path)
        if exchange.role is Role.CALL and exchange.call_id in ledger.calls:
            assert ledger.calls[exchange.call_id].path == path, "a call has one path"
    assert streams.fork().snapshot(now) == streams.snapshot(now)
    assert isinstance(hash(streams.snapshot(now)), int)


def check_call(ledger: Ledger, call: Call) -> None:
    """Check one call."""
    assert call.state is not CallState.FINISHED
    assert ledger.requests[call.request_id] == call.call_id
    if call.state in DELIVERING | {CallState.POLLING}:
        assert call.path is not None
    if call.state in {CallState.STRANDED, CallState.WAITING, CallState.CANCEL_DUE}:
        assert call.path is None
    if call.path is not None:
        assert call.path == ledger.shared or call.path in ledger.exchanges
    assert call.unproven is None or call.state is CallState.REATTACHING
    if call.unproven is not None:
        assert (TimerKind.CALL, call.call_id) in ledger.deadlines, "the proof may never come"
    if call.state in TIMED:
        assert (TimerKind.CALL, call.call_id) in ledger.deadlines
    if call.stream is not None:
        assert ledger.streams[call.stream.stream_id] == call.call_id
    positions = call.positions
    assert positions.taken <= positions.received <= positions.seen
    assert call.acked <= positions.received or call.end is not None
    assert all(ledger.asks[ask_id] == call.call_id for ask_id in call.asks.known())
