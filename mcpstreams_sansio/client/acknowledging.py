"""Telling the server what the application has, so that it can free its logs and send more (rule R6)."""

from __future__ import annotations

from mcpstreams_sansio.client.calls import Call
from mcpstreams_sansio.client.ledger import Ledger, Role
from mcpstreams_sansio.wire.marker import Ack, ack_notification


def acknowledge(ledger: Ledger, call: Call, *, at_once: bool = False) -> None:
    """Let what a keyed call has for good be acknowledged: soon, or at once where half of the window is used up."""
    told = call.positions.told
    if not call.keyed or call.stream is None or told <= call.acked:
        return
    ledger.acks.want(Ack(call.stream.stream_id, told, call.stream.resume_token))
    if at_once or call.must_acknowledge():
        flush(ledger)
    else:
        ledger.wake_for_acks(ledger.config.ack_interval)


def spare(ledger: Ledger, call: Call) -> None:
    """Acknowledge nothing of a call for now: a resume says it, or what is cancelled or gone has no use for it."""
    if call.stream is not None:
        ledger.acks.cover(call.stream.stream_id)
    if not ledger.acks.waiting:
        ledger.stop_waking_for_acks()


def flush(ledger: Ledger) -> None:
    """Send what waits to be acknowledged, if anything can be sent and no exchange carries some already.

    Each goes with its token, so it counts on whatever connection or session it arrives (rule R6). What cannot be sent
    now goes with the next link, or after the exchange.
    """
    if ledger.link is None or ledger.acks.path is not None or not ledger.acks.waiting:
        return
    acks = ledger.acks.take()
    ledger.stop_waking_for_acks()
    if not ledger.server.marker:
        return
    for ack in acks:
        call_id = ledger.streams.get(ack.stream_id)
        if call_id is not None:
            call = ledger.calls[call_id]
            call.acked, call.unacked_bytes = ack.through, 0
    path = ledger.open_path(Role.ACKS)
    ledger.send(path, ack_notification(acks))
    if path in ledger.exchanges:
        ledger.acks.send(acks, path)


def accepted(ledger: Ledger) -> None:
    """The exchange with acknowledgements did its work; what came meanwhile goes next."""
    ledger.acks.accept()
    flush(ledger)


def lost(ledger: Ledger) -> None:
    """The exchange with acknowledgements broke: they go again, since a server may be waiting for them."""
    ledger.acks.lose(ledger.streams)
    if ledger.acks.waiting:
        ledger.wake_for_acks(ledger.config.ack_interval)
