"""Deliberate faults in the real machines: each is found, and by the shortest way there is.

A model check that never fails proves nothing. Each fault below is one that an implementation could have; the length of
its shortest counterexample is written down, so that a change which hides a fault from the search is seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import attrs
import pytest

from mcpstreams_sansio import deadlines
from mcpstreams_sansio.client import asks, calls, ledger, policy, positions, questions, recovery, replies
from mcpstreams_sansio.client.effects import Doubt
from mcpstreams_sansio.server import attachments, gate, keys, log, outbox, registry, stream
from mcpstreams_sansio.server import replies as server_replies
from mcpstreams_sansio.testing import SETTLES, Counterexample, StreamsWorld, explore, format_transcript, record
from mcpstreams_sansio.wire.refusals import Reason

ENOUGH = 20_000
"""States within which every fault is found."""


def nothing(*_: object) -> None:
    """Do nothing at all."""


def delivers_before_the_record_is_durable(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(gate.Gate, "admit", lambda _, __: True)


def tells_the_end_before_the_record_is_durable(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(server_replies, "tell", server_replies._say)


def goes_on_from_what_was_sent(patch: pytest.MonkeyPatch) -> None:
    """The client is taken to have everything that was ever written to it (rule R5)."""
    attach = attachments.attach

    def attach_where_it_was_left(
        known: registry.Registry,
        resumed: stream.Stream,
        path: outbox.Connection,
        origin: stream.Origin,
        position: int,
    ) -> None:
        attach(known, resumed, path, origin, max(position, resumed.log.sent))

    patch.setattr(attachments, "attach", attach_where_it_was_left)


def late_loss_detaches_the_new_connection(patch: pytest.MonkeyPatch) -> None:
    """A connection that was superseded still counts as the one that delivers (case F1)."""
    patch.setattr(outbox.Connection, "forget", nothing)


def timer_runs_on(patch: pytest.MonkeyPatch) -> None:
    """A timer is not stopped by what it was waiting for (rule Q7a)."""
    patch.setattr(deadlines.Deadlines, "clear", nothing)


def newest_goes_first(patch: pytest.MonkeyPatch) -> None:
    """What is produced last is delivered first (rule P13)."""

    def next_after(kept: log.StreamLog, position: int) -> log.Entry | None:
        return kept.entry(kept.durable) if kept.durable > position else None

    patch.setattr(log.StreamLog, "next_after", next_after)


def key_is_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(keys.Keys, "find", nothing)


def token_is_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(registry.Registry, "find", lambda known, stream_id, *_: known.streams.get(stream_id))


def poll_forgets_questions(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(stream.Stream, "has_pending_request", lambda _: False)


def client_does_not_deduplicate(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(positions.Positions, "place", lambda *_: positions.Place.NEXT)


def client_stops_retrying(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ledger.Ledger, "wake", nothing)


def client_gives_up_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recovery, "within_budget", lambda *_: False)


def client_retries_for_ever(patch: pytest.MonkeyPatch) -> None:
    """What the server no longer has is asked for again and again (cases G1, G2)."""
    patch.setattr(replies, "VERDICTS", dict.fromkeys(Reason, policy.Verdict.LATER))
    patch.setattr(recovery, "within_budget", lambda *_: True)
    patch.setattr(calls.Efforts, "begin", nothing)


def client_sends_an_answer_once(patch: pytest.MonkeyPatch) -> None:
    """An answer that was on its way when the connection broke is taken to have arrived (rule R24)."""
    patch.setattr(asks.Asks, "lose_path", nothing)
    patch.setattr(questions, "repeat", nothing)


def client_never_sends_again(patch: pytest.MonkeyPatch) -> None:
    """A call that was lost before anything came back is given up although it has a key (cases D3, D4)."""
    find_way = policy.find_way

    def find_way_but_never_again(*arguments: object) -> object:
        way = cast("Callable[..., object]", find_way)(*arguments)
        return Doubt.CONNECTION_LOST if way is calls.Way.RESEND else way

    patch.setattr(recovery, "find_way", find_way_but_never_again)


@attrs.frozen
class Fault:
    """A fault, where it is looked for, and what it breaks."""

    plant: Callable[[pytest.MonkeyPatch], None]
    setting: str
    breaks: str
    steps: int


FAULTS = [
    Fault(delivers_before_the_record_is_durable, "multiplexed marker durable=1", "durable before started", 3),
    Fault(
        tells_the_end_before_the_record_is_durable,
        "multiplexed marker messages=0 cancels=1 durable=1",
        "durable before delivered",
        6,
    ),
    Fault(goes_on_from_what_was_sent, "multiplexed marker cuts=1", "an answer in the end", 60),
    Fault(goes_on_from_what_was_sent, "http marker cuts=1", "an answer in the end", 86),
    Fault(late_loss_detaches_the_new_connection, "multiplexed marker cuts=1", "nothing raises", 7),
    Fault(timer_runs_on, "multiplexed marker cuts=1", "nothing raises", 7),
    Fault(newest_goes_first, "multiplexed marker messages=2", "an answer in the end", 17),
    Fault(key_is_ignored, "multiplexed marker cuts=1", "a call runs once", 7),
    Fault(key_is_ignored, "http marker cuts=1", "a call runs once", 8),
    Fault(token_is_ignored, "http marker intrusions=1", "no access without the token", 4),
    Fault(poll_forgets_questions, "http marker asks=1 polls=1", "a poll tells the truth", 5),
    Fault(client_does_not_deduplicate, "multiplexed marker cuts=1 slow_takes=1", "exactly once, in order", 12),
    Fault(client_does_not_deduplicate, "http marker cuts=1 slow_takes=1", "exactly once, in order", 14),
    Fault(client_stops_retrying, "multiplexed marker cuts=1", "every call is settled", 3),
    Fault(client_stops_retrying, "http draft cuts=1", "every call is settled", 6),
    Fault(client_gives_up_at_once, "http marker cuts=1", "an answer in the end", 3),
    Fault(client_retries_for_ever, "multiplexed draft cuts=1 hurries=1", "every call is settled", 8),
    Fault(client_retries_for_ever, "http draft cuts=1 hurries=1", "every call is settled", 10),
    Fault(client_sends_an_answer_once, "multiplexed marker asks=1 cuts=1", "an answer arrives", 14),
    Fault(client_never_sends_again, "http marker cuts=1", "an answer in the end", 3),
]


def search(fault: Fault) -> Counterexample | None:
    return explore(StreamsWorld.parse(fault.setting), [SETTLES], max_states=ENOUGH).counterexample


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.plant.__name__}-{fault.setting.split()[0]}")
def test_a_planted_fault_is_found(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        fault.plant(patch)
        found = search(fault)
        assert found is not None
        shown = format_transcript(record(StreamsWorld.parse(fault.setting), found.path))
    assert (found.property_name, len(found.path)) == (fault.breaks, fault.steps), shown


@pytest.mark.parametrize("setting", sorted({fault.setting for fault in FAULTS}))
def test_without_the_fault_nothing_is_found(setting: str) -> None:
    report = explore(StreamsWorld.parse(setting), [SETTLES], max_states=ENOUGH)
    assert report.complete
    assert report.counterexample is None
