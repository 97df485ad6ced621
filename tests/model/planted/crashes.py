"""Faults of a server that comes back from its log, and of the client that meets it."""

from __future__ import annotations

import types
from collections.abc import Callable

import attrs

from mcpstreams_sansio.client import endings, recovery
from mcpstreams_sansio.server import checks, gate, production, registry, restart, stream
from mcpstreams_sansio.server.effects import StartCall
from mcpstreams_sansio.server.records import TokenAdded
from mcpstreams_sansio.server.recovery import Recorded, RecordedStream
from mcpstreams_sansio.testing.conversation import METHOD, call_params
from mcpstreams_sansio.wire.jsonrpc import Request
from tests.model.planted.fault import Found, Patch, around, nothing, planted


@planted(
    "rule R21",
    Found("multiplexed marker crashes=1 durable=1", "a call runs once", 5),
)
def recovery_runs_the_call_again(patch: Patch) -> None:
    """Work that was interrupted is started anew."""

    def start_again(known: registry.Registry, going_on: stream.Stream, _: RecordedStream) -> None:
        params = call_params(1)
        call = Request(going_on.request_id, METHOD, {**params, "_meta": {"progressToken": 1}})
        known.effects.append(StartCall(going_on.stream_id, call, going_on.peer, True))

    patch.setattr(restart, "_go_on", start_again)


@planted(
    "rule R13",
    Found("multiplexed marker crashes=1 durable=1", "every call is settled", 4),
)
def recovery_tells_nobody(patch: Patch) -> None:
    """The application is not told that its work was interrupted, and nobody answers the call."""
    patch.setattr(restart, "_go_on", nothing)


@planted(
    "rule R21",
    Found("multiplexed marker crashes=1 durable=1", "a call runs once", 9),
)
def recovery_forgets_keys(patch: Patch) -> None:
    """A call that is sent again after a crash is a new one."""
    around(patch, checks, "read_records", lambda inner, *given: attrs.evolve(inner(*given), keys=()))


@planted(
    "rule R3",
    Found("multiplexed marker crashes=1 durable=1", "an answer in the end", 12),
)
def recovery_forgets_tokens(patch: Patch) -> None:
    """What opened a stream before a crash does not open it any more."""
    _change(patch, lambda revived: revived.tokens.clear())


def _change(patch: Patch, change: Callable[[stream.Stream], object]) -> None:
    def make_and_change(inner: Callable[[RecordedStream], stream.Stream], known: RecordedStream) -> stream.Stream:
        revived = inner(known)
        change(revived)
        return revived

    around(patch, restart, "_revived", make_and_change)


@planted(
    "rule R3",
    Found("multiplexed marker messages=0 crashes=2 durable=1", "an answer in the end", 16),
)
def a_fresh_token_is_not_recorded(patch: Patch) -> None:
    """The second token of a stream ends with the process that made it."""
    around(
        patch,
        gate.Gate,
        "record",
        lambda inner, guarding, asked: None if isinstance(asked, TokenAdded) else inner(guarding, asked),
    )


@planted(
    "rule R5",
    Found("multiplexed draft crashes=1 durable=1", "nothing is missing", 14),
)
def recovery_takes_all_as_confirmed(patch: Patch) -> None:
    """What was durable is taken to have arrived."""
    _change(patch, lambda revived: revived.log.confirm(revived.log.produced, 0.0))


@planted(
    "case C4",
    Found("multiplexed marker crashes=1 durable=1", "memory within limits", 7),
)
def recovery_begins_to_count_anew(patch: Patch) -> None:
    """What a stream gets after a crash has the numbers of what it had before."""

    def go_back(revived: stream.Stream) -> None:
        revived.log.produced = min(revived.log.produced, 1)

    _change(patch, go_back)


@planted(
    "rule R24",
    Found("multiplexed marker messages=0 asks=1 crashes=1 durable=1", "a question is open or answered", 6),
)
def recovery_forgets_questions(patch: Patch) -> None:
    """Nobody waits for an answer to a question of before the crash."""
    patch.setattr(RecordedStream, "asks", property(lambda _: {}, nothing))


@planted(
    "rule R24",
    Found("multiplexed marker messages=0 asks=1 crashes=1 durable=1", "a question is open or answered", 11),
)
def recovery_loses_answers(patch: Patch) -> None:
    """An answer that was accepted before the crash is handed to nobody."""
    patch.setattr(RecordedStream, "answers", property(lambda _: {}, nothing))


@planted(
    "rule P35",
    Found("multiplexed marker crashes=1 durable=1", "end is last, and once", 21),
)
def recovery_leaves_a_response_without_its_end(patch: Patch) -> None:
    """A crash between the records of the response and of `end` is not mended."""
    patch.setattr(restart, "production", types.SimpleNamespace(**{**vars(production), "append_end": nothing}))


@planted(
    "case J1",
    Found("multiplexed marker crashes=1 durable=1", "every call is settled", 9),
)
def recovery_keeps_a_stream_for_ever(patch: Patch) -> None:
    """Nobody gives up a stream whose client does not come back after a crash."""
    patch.setattr(restart, "attachments", types.SimpleNamespace(rearm=nothing))


@planted(
    "rule R16",
    Found("http stock crashes=1 durable=1", "every call is settled", 4),
)
def recovery_leaves_unannounced_streams(patch: Patch) -> None:
    """A stream whose session has ended with the process waits for it."""
    patch.setattr(restart, "_lose_everything", nothing)


@planted(
    "rule R21",
    Found("multiplexed marker messages=0 cuts=1 crashes=1", "a call runs once", 8),
)
def client_trusts_any_instance(patch: Patch) -> None:
    """A call is sent again to a server that has forgotten it."""
    around(
        patch,
        recovery,
        "find_way",
        lambda inner, call, server, *given: inner(call, attrs.evolve(server, instance=call.instance), *given),
    )


@planted(
    "case H4",
    Found("multiplexed marker crashes=1 durable=1", "an interruption is no failure", 13),
)
def client_takes_an_interruption_for_a_failure(patch: Patch) -> None:
    """That the work was cut short is told as if the work had said so."""
    patch.setattr(endings, "_is_interruption", lambda *_: False)


def _read(patch: Patch, change: Callable[[Recorded], Recorded]) -> None:
    around(patch, checks, "read_records", lambda inner, *given: change(inner(*given)))


@planted(
    "rule Q9a",
    Found("multiplexed marker messages=0 cancels=1 crashes=1 polls=1 durable=1", "what a stream ended as stays so", 8),
)
def recovery_forgets_tombstones(patch: Patch) -> None:
    """Who asks after a crash for a stream that was over is told that there is none."""

    def forget(recorded: Recorded) -> Recorded:
        return attrs.evolve(recorded, streams=tuple(stream for stream in recorded.streams if stream.reason is None))

    _read(patch, forget)


@planted(
    "rule R21",
    Found("multiplexed marker messages=0 cancels=1 crashes=1 copies=1 durable=1", "durable before told", 8),
)
def recovery_forgets_how_calls_ended(patch: Patch) -> None:
    """A call that is sent again after a crash is known, and why its stream is gone is not."""

    def forget(recorded: Recorded) -> Recorded:
        return attrs.evolve(
            recorded, keys=tuple((key, attrs.evolve(entry, reason=None)) for key, entry in recorded.keys)
        )

    _read(patch, forget)


@planted(
    "rule R21",
    Found("http marker messages=0 cancels=1 crashes=1 copies=1 durable=1", "what is cancelled never starts", 7),
)
def recovery_forgets_cancelled_keys(patch: Patch) -> None:
    """A call that was cancelled before it came runs if it comes after a crash."""
    _read(patch, lambda recorded: attrs.evolve(recorded, cancelled=()))


@planted(
    "rule R6",
    Found("http marker messages=0 crashes=1 durable=1", "freed once acknowledged", 21),
)
def recovery_believes_no_acknowledgement(patch: Patch) -> None:
    """That a client has what it was sent before a crash is not believed."""

    def disbelieve(revived: stream.Stream) -> None:
        revived.log.claimable = revived.log.confirmed

    _change(patch, disbelieve)


@planted(
    "rule R5",
    Found("multiplexed marker crashes=1 durable=1", "nothing durable is lost", 4),
)
def recovery_tells_too_little(patch: Patch) -> None:
    """What the application hears of its interrupted work lacks what that said last."""

    def go_on(
        inner: Callable[..., None], known: registry.Registry, going_on: stream.Stream, recorded: RecordedStream
    ) -> None:
        inner(known, going_on, attrs.evolve(recorded, produced=recorded.produced - 1))

    around(patch, restart, "_go_on", go_on)
