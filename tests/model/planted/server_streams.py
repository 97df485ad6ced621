"""Faults of a server's streams: who delivers one, and how it ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mcpstreams_sansio import deadlines
from mcpstreams_sansio.connections import ConnectionLost, DeadlineReached
from mcpstreams_sansio.server import (
    attachments,
    clock,
    flow,
    lifecycle,
    outbox,
    paths,
    production,
    registry,
    requests,
    room,
    stream,
    streams,
)
from mcpstreams_sansio.server.attachments import Ending
from mcpstreams_sansio.server.effects import StopReason, StreamGone
from mcpstreams_sansio.server.inputs import StreamsInput
from mcpstreams_sansio.server.log import Entry
from mcpstreams_sansio.server.table import STREAM_TABLE, StreamSignal, StreamState
from mcpstreams_sansio.wire.refusals import Reason
from tests.model.planted.fault import Found, Patch, around, nothing, planted, with_cell


def queue_entry(path: outbox.Connection, delivered: stream.Stream, entry: Entry) -> None:
    """Give an entry to a connection, as it stands in the log, whoever is attached."""
    path._frames.append(path._frame(entry.payload, path._cursor(delivered, entry.sequence)))


@planted(
    "case B4",
    Found("multiplexed marker messages=0 cuts=1", "nothing raises", 6),
)
def late_loss_detaches_the_new_connection(patch: Patch) -> None:
    """A connection that was superseded still counts as the one that delivers."""
    patch.setattr(outbox.Connection, "forget", nothing)


@planted(
    "rule R10",
    Found("multiplexed marker messages=2 rivals=1", "each message reaches somebody", 19),
)
def takeover_drops_what_was_sent(patch: Patch) -> None:
    """A stream that another connection wants loses what the first one was given, whether it arrived there or not."""

    def take_over(
        inner: Callable[..., None],
        known: registry.Registry,
        path: outbox.Connection,
        wanted: stream.Stream,
        claim: requests.Claim,
    ) -> None:
        attempt = claim.attempt
        if wanted.attachment is not None and attempt and wanted.supersedes(attempt.instance, attempt.number):
            room.shrink(known, wanted, 0)
        inner(known, path, wanted, claim)

    around(patch, requests, "_take_over", take_over)


@planted(
    "case F6",
    Found("multiplexed marker messages=0 cuts=1", "one attachment", 7),
    Found("http marker messages=0 cuts=1", "one attachment", 6),
    Found("http draft cuts=1", "one attachment", 8),
    Found("http stock cuts=1", "one attachment", 9),
)
def a_superseded_connection_goes_on_delivering(patch: Patch) -> None:
    """A takeover does not fence the connection before."""

    def attach(
        inner: Callable[..., None],
        known: registry.Registry,
        resumed: stream.Stream,
        path: outbox.Connection,
        *where: object,
    ) -> None:
        before = resumed.attachment
        inner(known, resumed, path, *where)
        entry = resumed.log.next_after(0)
        if before is not None and before.connection_id != path.connection_id and entry is not None:
            queue_entry(known.connections[before.connection_id], resumed, entry)

    around(patch, attachments, "attach", attach)


@planted(
    "rule Q6g",
    Found("multiplexed marker detaches=1 releases=1", "each entry once", 9),
)
def releases_and_says_it_once_more(patch: Patch) -> None:
    """A connection that is let go is given the next thing all the same, since it is still open."""

    def end(
        inner: Callable[..., None],
        known: registry.Registry,
        released: stream.Stream,
        ending: Ending,
        successor: outbox.Connection | None = None,
    ) -> None:
        path = known.connections[stream.attachment_of(released).connection_id]
        inner(known, released, ending, successor)
        entry = released.log.next_after(1)
        if ending is Ending.RELEASED and entry is not None:
            queue_entry(path, released, entry)

    around(patch, attachments, "end", end)


@planted(
    "rule Q6g",
    Found("multiplexed marker detaches=1 releases=1", "one attachment", 9),
)
def delivers_to_who_has_let_go(patch: Patch) -> None:
    """What is sent while nobody is attached goes to the connection that had the stream last, if it is still there."""

    def deliver(inner: Callable[..., None], known: registry.Registry, sending: stream.Stream) -> None:
        inner(known, sending)
        entry = sending.log.entry(sending.log.produced)
        if sending.attachment is None and entry is not None:
            for path in known.connections.values():
                if path.scope == sending.scope:
                    queue_entry(path, sending, entry)
                    known.touch(path.connection_id)

    around(patch, production, "_deliver", deliver)


@planted(
    "case F1",
    Found("multiplexed marker messages=0 cuts=1", "no attempt in vain", 12),
)
def refuses_whoever_comes_while_attached(patch: Patch) -> None:
    """The server believes in a connection that is dead, and refuses the new one."""
    around(
        patch,
        requests,
        "_wait_for",
        lambda inner, known, wanted, attempt: 1.0 if wanted.attachment else inner(known, wanted, attempt),
    )


@planted(
    "rule R14",
    Found("http marker messages=0 detaches=1", "an answer in the end", 10),
)
def an_older_attempt_takes_over(patch: Patch) -> None:
    """A resume that was under way for long takes the stream from the one that came after it."""
    patch.setattr(stream.Stream, "supersedes", lambda *_: True)


@planted(
    "rule Q7a",
    Found("multiplexed marker messages=0", "nothing raises", 7),
)
def timer_runs_on(patch: Patch) -> None:
    """A timer is not stopped by what it was waiting for."""
    patch.setattr(deadlines.Deadlines, "clear", nothing)


@planted(
    "case J1",
    Found("multiplexed marker messages=0 cuts=1", "every call is settled", 7),
)
def abandonment_timer_never_starts(patch: Patch) -> None:
    """A stream whose client is away is kept for ever."""
    patch.setattr(attachments, "rearm", nothing)


@planted(
    "case F5",
    Found("multiplexed marker messages=0 cuts=1", "an answer in the end", 9),
    Found("http marker messages=0 cuts=1", "an answer in the end", 9),
)
def loss_cancels(patch: Patch) -> None:
    """A connection that is lost takes the work of its calls with it."""
    patch.setattr(lifecycle, "lose", lifecycle.cancel)


@planted(
    "case E1",
    Found("http marker messages=0 releases=1", "an answer in the end", 8),
)
def release_cancels(patch: Patch) -> None:
    """Letting go of a connection ends the call."""
    patch.setattr(lifecycle, "release", lifecycle.cancel)


@planted(
    "rule R16",
    Found("http marker messages=0 sessions=1", "lost is lost", 4),
)
def session_takes_announced_streams_with_it(patch: Patch) -> None:
    """The end of an HTTP session ends streams that a token could bring back."""

    def end(known: registry.Registry, bound: stream.Stream) -> None:
        bound.step(StreamSignal.CLOSING)
        lifecycle.close(known, bound, Reason.EXPIRED, StopReason.SESSION_ENDED)

    patch.setattr(lifecycle, "end_with_scope", end)


@planted(
    "rule Q2f",
    Found("multiplexed marker messages=0 detaches=1 cuts=1", "an answer in the end", 13),
)
def cancelling_a_resume_cancels_the_call(patch: Patch) -> None:
    """Whoever lets go of a resume has cancelled the call."""
    patch.setattr(lifecycle, "leave", lifecycle.cancel)


@planted(
    "rule Q9b",
    Found("multiplexed marker messages=0 cancels=1", "nobody works in vain", 5),
    Found("http marker messages=0 cancels=1", "nobody works in vain", 5),
)
def cancelled_work_runs_on(patch: Patch) -> None:
    """Nobody tells the work that its result is not wanted any more."""
    patch.setattr(registry.Registry, "stop_work", lambda known, stream_id, _: known.end_work(stream_id))


@planted(
    "rule R22",
    Found("multiplexed marker messages=0 cancels=1 cuts=1", "a stream ends once", 8),
)
def cancelled_twice_is_over_twice(patch: Patch) -> None:
    """A cancellation that comes again is acted on again."""

    def cancel(
        inner: Callable[[registry.Registry, stream.Stream], None], known: registry.Registry, over: stream.Stream
    ) -> None:
        if over.state is StreamState.GONE:
            known.effects.append(StreamGone(over.stream_id, Reason.CANCELLED))
        inner(known, over)

    around(patch, lifecycle, "cancel", cancel)


@planted(
    "rule R13",
    Found("multiplexed marker messages=0 cuts=1", "lost is lost", 6),
)
def loss_goes_unnoticed(patch: Patch) -> None:
    """A connection that is lost is written to."""
    patch.setattr(paths, "lose_connection", nothing)
    patch.setitem(streams._APPLY, ConnectionLost, nothing)


@planted(
    "rule P35",
    Found("multiplexed marker messages=0", "every call is settled", 0),
)
def stays_live_behind_its_answer(patch: Patch) -> None:
    """A stream of which the answer is logged counts as one that goes on."""
    patch.setattr(
        stream, "STREAM_TABLE", with_cell(STREAM_TABLE, StreamState.LIVE, StreamSignal.RESPONSE, StreamState.LIVE)
    )


@planted(
    "rule Q7e",
    Found("multiplexed marker messages=0 cuts=1", "every call is settled", 6),
)
def answered_while_away_is_not_completed(patch: Patch) -> None:
    """A stream that is answered while its client is away counts as one that goes on."""
    table = with_cell(STREAM_TABLE, StreamState.DETACHED, StreamSignal.RESPONSE, StreamState.DETACHED)
    patch.setattr(stream, "STREAM_TABLE", table)


@planted(
    "case J6",
    Found("multiplexed marker messages=3 window=2", "no more than the window is ahead", 4),
)
def holds_nobody_back(patch: Patch) -> None:
    """The application may produce as much as it likes."""
    patch.setattr(flow, "over_limit", lambda *_: False)


@planted(
    "case E3",
    Found("multiplexed marker messages=0 cuts=1", "end is last, and once", 4),
)
def gives_up_what_finished(patch: Patch) -> None:
    """A stream is forgotten as soon as its last entry was written."""

    def finish(known: registry.Registry, written: stream.Stream) -> None:
        written.step(StreamSignal.FINAL_FINISH)
        attachments.end(known, written, Ending.FINISHED)
        lifecycle.close(known, written, Reason.FINISHED, None)

    patch.setattr(lifecycle, "finish", finish)


@planted(
    "rule R14",
    Found("multiplexed marker messages=0 copies=1", "an answer in the end", 5),
    Found("http marker messages=0 copies=1", "an answer in the end", 6),
)
def a_copy_beats_what_it_is_a_copy_of(patch: Patch) -> None:
    """Of two copies of one attempt only the first one counts, though nobody hears of what comes of it."""
    patch.setattr(
        stream.Stream,
        "supersedes",
        lambda stays, instance, number: number > stays.attempts.get(instance, -1),
    )


@planted(
    "rule R13",
    Found("multiplexed marker messages=0 cuts=1 oversleeps=1 polls=1", "what is due is done", 11),
)
def server_does_what_is_due_only_when_woken(patch: Patch) -> None:
    """A deadline that has passed is overlooked if something else is heard first."""

    def apply(
        inner: Callable[[streams.ServerStreams, StreamsInput, float], None],
        known: streams.ServerStreams,
        event: StreamsInput,
        now: float,
    ) -> None:
        with pytest.MonkeyPatch.context() as sleeping:
            if not isinstance(event, DeadlineReached):
                sleeping.setattr(clock, "run", nothing)
            inner(known, event, now)

    around(patch, streams.ServerStreams, "_apply", apply)


@planted(
    "rule R13",
    Found("multiplexed marker messages=0 cuts=1", "early is no time", 5),
    Found("http marker messages=0 cuts=1", "early is no time", 4),
)
def machine_does_what_is_nearly_due(patch: Patch) -> None:
    """Whatever is due within the next second is done at once when a machine is woken."""

    def pop_due(
        inner: Callable[[deadlines.Deadlines[object], float], object], known: deadlines.Deadlines[object], now: float
    ) -> object:
        return inner(known, now + 0.9)

    around(patch, deadlines.Deadlines, "pop_due", pop_due)


@planted(
    "rule P8",
    Found("multiplexed marker messages=0 cuts=1", "who delivers is told", 4),
)
def tells_nobody_of_a_loss(patch: Patch) -> None:
    """A stream is detached, and whoever embeds the server is not told."""

    def await_client(inner: Callable[..., None], known: registry.Registry, lost: stream.Stream) -> None:
        told = len(known.effects)
        inner(known, lost)
        del known.effects[told:]

    around(patch, attachments, "await_client", await_client)


@planted(
    "rule Q7d",
    Found("multiplexed marker messages=0 cuts=1 hurries=2", "lost is lost", 7),
)
def takes_all_work_for_answered(patch: Patch) -> None:
    """A call that is given up while it is worked on is expired, as if its answer had waited in vain."""

    def close(inner: Callable[..., None], known: registry.Registry, over: stream.Stream, *why: object) -> None:
        reason, *stop = why
        inner(known, over, Reason.EXPIRED if reason is Reason.ABANDONED else reason, *stop)

    around(patch, lifecycle, "close", close)
