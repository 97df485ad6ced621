"""Deliberate faults of a server that comes back from its log, and of the client that meets it: each is found.

They stand beside those of `test_planted_bugs.py`, and are looked for in the same way.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import cast

import attrs
import pytest

from mcpstreams_sansio.client import calls, endings, policy, recovery
from mcpstreams_sansio.client.inputs import ServerTraits
from mcpstreams_sansio.server import gate, outbox, production, registry, replies, restart, stream
from mcpstreams_sansio.server import recovery as recovered
from mcpstreams_sansio.server.effects import StartCall
from mcpstreams_sansio.server.records import LogRecord, TokenAdded
from mcpstreams_sansio.testing import StreamsWorld, application, format_transcript, record
from mcpstreams_sansio.wire.jsonrpc import Request
from tests.model.test_planted_bugs import Fault, nothing, search

CRASH = "multiplexed marker crashes=1 durable=1"
CRASHES = "multiplexed marker messages=0 crashes=2 durable=1"
CANCEL = "http marker messages=0 cancels=1 durable=1"
QUESTION = "multiplexed marker messages=0 asks=1 crashes=1 durable=1"


def recovery_runs_the_call_again(patch: pytest.MonkeyPatch) -> None:
    """Work that was interrupted is started anew (rule R21)."""

    def start_again(known: registry.Registry, going_on: stream.Stream, _: recovered.RecordedStream) -> None:
        params = application.call_params(1)
        call = Request(going_on.request_id, application.METHOD, {**params, "_meta": {"progressToken": 1}})
        known.effects.append(StartCall(going_on.stream_id, call, going_on.peer, True))

    patch.setattr(restart, "_go_on", start_again)


def a_refusal_does_not_wait_for_the_disk(patch: pytest.MonkeyPatch) -> None:
    """Who asks for a stream is told at once that it is gone, and a crash may prove that wrong (rule R9)."""
    tell = replies.tell

    def tell_refusals_at_once(known: registry.Registry, path: outbox.Connection, telling: outbox.Telling) -> None:
        at_once = isinstance(telling, outbox.Answer) and telling.refused is not None
        (replies._say if at_once else tell)(known, path, telling)

    patch.setattr(replies, "tell", tell_refusals_at_once)


def recovery_tells_nobody(patch: pytest.MonkeyPatch) -> None:
    """The application is not told that its work was interrupted, and nobody answers the call."""
    patch.setattr(restart, "_go_on", nothing)


def recovery_forgets_keys(patch: pytest.MonkeyPatch) -> None:
    """A call that is sent again after a crash is a new one (rule R21)."""
    read = recovered.read_records

    def read_all_but_keys(records: Iterable[LogRecord], max_tokens: int) -> recovered.Recorded:
        return attrs.evolve(read(records, max_tokens), keys=())

    patch.setattr("mcpstreams_sansio.server.checks.read_records", read_all_but_keys)


def recovery_forgets_tokens(patch: pytest.MonkeyPatch) -> None:
    """What opened a stream before a crash does not open it any more (rule R3)."""
    patch.setattr(restart, "_revived", changed(restart._revived, lambda revived: revived.tokens.clear()))


def a_fresh_token_is_not_recorded(patch: pytest.MonkeyPatch) -> None:
    """The second token of a stream ends with the process that made it (rule R3)."""
    record_it = gate.Gate.record

    def record_all_but_tokens(guarding: gate.Gate, asked: LogRecord) -> None:
        if not isinstance(asked, TokenAdded):
            record_it(guarding, asked)

    patch.setattr(gate.Gate, "record", record_all_but_tokens)


def recovery_takes_all_as_confirmed(patch: pytest.MonkeyPatch) -> None:
    """What was durable is taken to have arrived (rule R5)."""

    def confirm_all(revived: stream.Stream) -> None:
        revived.log.confirm(revived.log.produced, 0.0)

    patch.setattr(restart, "_revived", changed(restart._revived, confirm_all))


def recovery_begins_to_count_anew(patch: pytest.MonkeyPatch) -> None:
    """What a stream gets after a crash has the numbers of what it had before (rule R1)."""

    def go_back(revived: stream.Stream) -> None:
        revived.log.produced = min(revived.log.produced, 1)

    patch.setattr(restart, "_revived", changed(restart._revived, go_back))


def recovery_forgets_questions(patch: pytest.MonkeyPatch) -> None:
    """Nobody waits for an answer to a question of before the crash (rule R24)."""
    patch.setattr(recovered.RecordedStream, "asks", property(lambda _: {}, nothing))


def recovery_loses_answers(patch: pytest.MonkeyPatch) -> None:
    """An answer that was accepted before the crash is handed to nobody (rule R24)."""
    patch.setattr(recovered.RecordedStream, "answers", property(lambda _: {}, nothing))


def recovery_leaves_a_response_without_its_end(patch: pytest.MonkeyPatch) -> None:
    """A crash between the records of the response and of `end` is not mended (rule P35)."""
    patch.setattr(restart, "production", types.SimpleNamespace(**{**vars(production), "append_end": nothing}))


def recovery_keeps_a_stream_for_ever(patch: pytest.MonkeyPatch) -> None:
    """Nobody gives up a stream whose client does not come back after a crash (rule P32)."""
    patch.setattr(restart, "attachments", types.SimpleNamespace(rearm=nothing))


def recovery_leaves_unannounced_streams(patch: pytest.MonkeyPatch) -> None:
    """A stream whose session has ended with the process waits for it (rules R2, R16)."""
    patch.setattr(restart, "_lose_everything", nothing)


def client_trusts_any_instance(patch: pytest.MonkeyPatch) -> None:
    """A call is sent again to a server that has forgotten it (rule R21.7)."""
    find_way = policy.find_way

    def find_way_back(call: calls.Call, server: ServerTraits, *rest: object) -> object:
        same = attrs.evolve(server, instance=call.instance)
        return cast("Callable[..., object]", find_way)(call, same, *rest)

    patch.setattr(recovery, "find_way", find_way_back)


def client_takes_an_interruption_for_a_failure(patch: pytest.MonkeyPatch) -> None:
    """That the work was cut short is told as if the work had said so (case H4)."""
    patch.setattr(endings, "_is_interruption", lambda *_: False)


def changed(
    make: Callable[..., stream.Stream], change: Callable[[stream.Stream], None]
) -> Callable[..., stream.Stream]:
    """Return a function that makes what another one makes, and then changes it."""

    def make_and_change(known: recovered.RecordedStream) -> stream.Stream:
        revived = make(known)
        change(revived)
        return revived

    return make_and_change


FAULTS = [
    Fault(recovery_runs_the_call_again, CRASH, "a call runs once", 5),
    Fault(a_refusal_does_not_wait_for_the_disk, CANCEL, "durable before told", 5),
    Fault(recovery_tells_nobody, CRASH, "every call is settled", 4),
    Fault(recovery_forgets_keys, CRASH, "a call runs once", 9),
    Fault(recovery_forgets_tokens, CRASH, "an answer in the end", 12),
    Fault(a_fresh_token_is_not_recorded, CRASHES, "an answer in the end", 16),
    Fault(recovery_takes_all_as_confirmed, "multiplexed draft crashes=1 durable=1", "nothing is missing", 14),
    Fault(recovery_begins_to_count_anew, CRASH, "nothing is missing", 14),
    Fault(recovery_forgets_questions, QUESTION, "a question is open or answered", 6),
    Fault(recovery_loses_answers, QUESTION, "a question is open or answered", 11),
    Fault(recovery_leaves_a_response_without_its_end, CRASH, "end is last, and once", 21),
    Fault(recovery_keeps_a_stream_for_ever, CRASH, "every call is settled", 9),
    Fault(recovery_leaves_unannounced_streams, "http stock crashes=1 durable=1", "every call is settled", 4),
    Fault(client_trusts_any_instance, "multiplexed marker messages=0 cuts=1 crashes=1", "a call runs once", 8),
    Fault(client_takes_an_interruption_for_a_failure, CRASH, "an interruption is no failure", 13),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.plant.__name__)
def test_a_planted_fault_is_found(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        fault.plant(patch)
        found = search(fault)
        assert found is not None
        shown = format_transcript(record(StreamsWorld.parse(fault.setting), found.path))
    assert (found.property_name, len(found.path)) == (fault.breaks, fault.steps), f"{found.text}\n{shown}"


@pytest.mark.parametrize("setting", sorted({fault.setting for fault in FAULTS}))
def test_without_the_fault_nothing_is_found(setting: str) -> None:
    assert search(Fault(nothing, setting, "nothing", 0)) is None
