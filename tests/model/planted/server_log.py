"""Faults of a server's log: what is kept, what is delivered of it, in which order, and when."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from mcpstreams_sansio.server import (
    attachments,
    delivery,
    flow,
    gate,
    lifecycle,
    outbox,
    production,
    registry,
    replies,
    stream,
    streams,
)
from mcpstreams_sansio.server.effects import StreamDetached, WriteLog
from mcpstreams_sansio.server.inputs import SendMessage
from mcpstreams_sansio.server.log import Entry, StreamLog
from mcpstreams_sansio.server.records import EntryKind
from mcpstreams_sansio.wire.jsonrpc import Notification, Response, encode_message
from tests.model.planted.fault import Found, Patch, around, nothing, planted


@planted(
    "rule R9",
    Found("multiplexed marker messages=0 durable=1", "durable before started", 3),
)
def delivers_before_the_record_is_durable(patch: Patch) -> None:
    """The gate is always open: what is recorded counts before it is on the disk."""
    patch.setattr(gate.Gate, "admit", lambda _, __: True)


@planted(
    "rule R9",
    Found("http stock durable=1", "durable before delivered", 5),
    Found("multiplexed draft durable=1", "durable before delivered", 5),
)
def delivers_entries_before_they_are_durable(patch: Patch) -> None:
    """The gate is open for what a stream delivers, and closed for all else."""
    around(
        patch,
        gate.Gate,
        "admit",
        lambda inner, kept, gated: isinstance(gated, gate.EntriesDurable) or inner(kept, gated),
    )


@planted(
    "rule R9",
    Found("multiplexed marker messages=0 cancels=1 durable=1", "durable before delivered", 6),
)
def tells_the_end_before_the_record_is_durable(patch: Patch) -> None:
    """What tells of a record does not wait for it."""
    patch.setattr(replies, "tell", replies._say)


@planted(
    "rule R9",
    Found("http marker messages=0 cancels=1 durable=1", "durable before told", 5),
)
def a_refusal_does_not_wait_for_the_disk(patch: Patch) -> None:
    """Who asks for a stream is told at once that it is gone, and a crash may prove that wrong."""
    _say_at_once(patch, lambda telling: isinstance(telling, outbox.Answer) and telling.refused is not None)


@planted(
    "rule R9",
    Found("http marker messages=0 asks=1 durable=1", "durable before told", 12),
    Found("http draft messages=0 asks=1 durable=1", "durable before told", 12),
    Found("http marker messages=0 cancels=1 durable=1", "durable before told", 4),
)
def an_acceptance_does_not_wait_for_the_disk(patch: Patch) -> None:
    """An answer or a cancellation is accepted at once, and a crash may forget it."""
    _say_at_once(patch, lambda telling: isinstance(telling, outbox.Acceptance))


@planted(
    "rule R9",
    Found("multiplexed marker messages=0 cancels=1 cuts=1 durable=1", "durable before told", 9),
)
def a_confirmation_does_not_wait_for_the_disk(patch: Patch) -> None:
    """Who cancels a stream is told at once that this was done, and a crash may undo it."""
    _say_at_once(patch, lambda telling: isinstance(telling, outbox.Answer) and telling.refused is None)


def _say_at_once(patch: Patch, wanted: Callable[[outbox.Telling], bool]) -> None:
    def tell(
        inner: Callable[..., None], known: registry.Registry, path: outbox.Connection, telling: outbox.Telling
    ) -> None:
        (replies._say if wanted(telling) else inner)(known, path, telling)

    around(patch, replies, "tell", tell)


@planted(
    "rule R9",
    Found("multiplexed marker durable=1", "durable before delivered", 7),
)
def takes_all_that_is_produced_as_durable(patch: Patch) -> None:
    """One durable entry lets out those behind it as well."""
    around(
        patch,
        production,
        "make_durable",
        lambda inner, known, entries: inner(
            known, attrs.evolve(entries, through=known.streams[entries.stream_id].log.produced)
        ),
    )


@planted(
    "rule R11",
    Found("multiplexed marker messages=0 durable=1", "one batch is outstanding", 8),
)
def writes_the_next_batch_at_once(patch: Patch) -> None:
    """A batch goes to the log while the one before it is being written."""

    def next_batch(inner: Callable[[gate.Gate], WriteLog | None], kept: gate.Gate) -> WriteLog | None:
        kept._outstanding = None
        return inner(kept)

    around(patch, gate.Gate, "next_batch", next_batch)


@planted(
    "rule R11",
    Found("multiplexed marker slow_writes=1", "one write is outstanding", 4),
)
def writes_while_a_write_is_outstanding(patch: Patch) -> None:
    """A connection is given the next write before it took the last one."""
    open_phases = (outbox.Phase.OPEN, outbox.Phase.EVENTS, outbox.Phase.ENDING)
    patch.setattr(outbox.Connection, "idle", property(lambda path: path.phase in open_phases))


@planted(
    "rule R5",
    Found("multiplexed marker messages=0 cuts=1", "no attempt in vain", 15),
    Found("http marker messages=0 cuts=1", "no attempt in vain", 16),
    Found("multiplexed draft cuts=1", "nothing is missing", 11),
)
def goes_on_from_what_was_sent(patch: Patch) -> None:
    """The client is taken to have everything that was ever written to it."""
    _attach_at(patch, lambda resumed, position: max(position, resumed.log.sent))


def _attach_at(patch: Patch, where: Callable[[stream.Stream, int], int]) -> None:
    around(
        patch,
        attachments,
        "attach",
        lambda inner, known, resumed, path, origin, at: inner(known, resumed, path, origin, where(resumed, at)),
    )


@planted(
    "case X4",
    Found("multiplexed marker cuts=1", "each entry once", 11),
    Found("http draft cuts=1", "each entry once", 11),
    Found("http stock cuts=1", "each entry once", 10),
)
def replays_what_the_cursor_names(patch: Patch) -> None:
    """A replay begins with the entry that the client said it has, not behind it."""
    _attach_at(patch, lambda _, position: max(position - 1, 0))


@planted(
    "case A5",
    Found("http stock cuts=1", "each entry once", 10),
)
def replays_everything(patch: Patch) -> None:
    """Whatever the cursor says, all that is kept comes again."""
    _attach_at(patch, lambda _, __: 0)


@planted(
    "rule P13",
    Found("multiplexed marker", "an answer in the end", 15),
    Found("multiplexed draft", "an answer in the end", 8),
)
def newest_goes_first(patch: Patch) -> None:
    """What is produced last is delivered first."""

    def next_after(kept: StreamLog, position: int) -> Entry | None:
        return kept.entry(kept.durable) if kept.durable > position else None

    patch.setattr(StreamLog, "next_after", next_after)


@planted(
    "case B1",
    Found("multiplexed marker messages=0", "every call is settled", 0),
)
def does_not_send_what_comes_after_the_replay(patch: Patch) -> None:
    """Once a connection was given what there was, nothing wakes it for what is produced then."""
    patch.setattr(production, "_deliver", nothing)


@planted(
    "case E2",
    Found("multiplexed marker cuts=1", "nothing is missing", 12),
    Found("http marker cuts=1", "nothing is missing", 13),
)
def keeps_nothing_while_the_client_is_away(patch: Patch) -> None:
    """What is said while nobody is attached is thrown away."""

    def send(known: registry.Registry, event: SendMessage) -> None:
        if known.streams[event.stream_id].attachment is not None:
            production.send_message(known, event)

    patch.setitem(streams._APPLY, SendMessage, send)


@planted(
    "case B10",
    Found("multiplexed marker durable=1", "durable before delivered", 6),
)
def answers_past_the_log(patch: Patch) -> None:
    """The answer does not queue up behind the messages before it."""

    def complete(
        inner: Callable[[registry.Registry, stream.Stream, Response], None],
        known: registry.Registry,
        answered: stream.Stream,
        outcome: Response,
    ) -> None:
        if answered.attachment is not None:
            known.connections[answered.attachment.connection_id].reply(encode_message(outcome))
            known.touch(answered.attachment.connection_id)
        inner(known, answered, outcome)

    around(patch, production, "_complete", complete)


@planted(
    "rule P36",
    Found("multiplexed marker messages=0", "end is last, and once", 4),
)
def writes_the_end_before_the_response(patch: Patch) -> None:
    """`end` stands in the log before the answer."""

    def complete(
        inner: Callable[..., None], known: registry.Registry, answered: stream.Stream, outcome: Response
    ) -> None:
        production.append_end(known, answered)
        inner(known, answered, outcome)

    around(patch, production, "_complete", complete)


@planted(
    "rule P35",
    Found("multiplexed marker messages=0", "end is last, and once", 4),
)
def writes_the_end_twice(patch: Patch) -> None:
    """`end` is logged once more behind itself."""
    around(patch, production, "append_end", lambda inner, *given: (inner(*given), inner(*given)))


@planted(
    "case B10",
    Found("multiplexed marker messages=0", "end is last, and once", 4),
)
def says_something_behind_the_end(patch: Patch) -> None:
    """A message is logged behind the response and its `end`."""

    def append_more(
        inner: Callable[[registry.Registry, stream.Stream], None], known: registry.Registry, ended: stream.Stream
    ) -> None:
        inner(known, ended)
        late = stream.encode_entry(ended, Notification("notifications/message"), ended.log.produced + 1)
        production.append(known, ended, EntryKind.NOTIFICATION, late)

    around(patch, production, "append_end", append_more)


@planted(
    "rule P35",
    Found("multiplexed marker messages=0", "end is last, and once", 8),
)
def never_writes_the_end(patch: Patch) -> None:
    """An announced stream has a response and no `end`."""
    patch.setattr(production, "append_end", nothing)


@planted(
    "case E3",
    Found("multiplexed marker cuts=1", "nothing is missing", 11),
)
def forgets_what_was_only_sent(patch: Patch) -> None:
    """An acknowledgement frees all that was written, acknowledged or not."""
    patch.setattr(StreamLog, "drop_confirmed", lambda log, _: log._drop_oldest(log.sent, 0))


@planted(
    "rule R6",
    Found("multiplexed marker messages=0 cuts=1", "nothing is missing", 11),
    Found("http marker messages=0 cuts=1", "nothing is missing", 16),
)
def an_acknowledgement_frees_one_entry_too_many(patch: Patch) -> None:
    """The client is taken to have the entry behind the one that it acknowledges."""
    around(
        patch,
        lifecycle,
        "confirm",
        lambda inner, known, acked, through: inner(known, acked, min(through + 1, acked.log.produced)),
    )


@planted(
    "rule R6",
    Found("multiplexed marker messages=2 window=2", "every call is settled", 0),
)
def an_acknowledgement_frees_nothing(patch: Patch) -> None:
    """What the client says it has counts as unconfirmed all the same."""
    patch.setattr(StreamLog, "confirm", lambda *_: False)


@planted(
    "rule R10",
    Found("multiplexed marker messages=3 window=2", "work that need not wait goes on", 6),
)
def never_lets_the_application_go_on(patch: Patch) -> None:
    """Work that was told to wait is not told that there is room again."""
    patch.setattr(flow, "resume_application", nothing)


@planted(
    "rule R7",
    Found(
        "multiplexed draft messages=2 cuts=2 slow_writes=4 poll_first=1 window=2", "work that need not wait goes on", 16
    ),
)
def holds_work_back_for_who_is_gone(patch: Patch) -> None:
    """Work waits for a connection to be given what another one was given, and still does when that one is lost."""

    def await_client(known: registry.Registry, lost: stream.Stream) -> None:
        known.effects.append(StreamDetached(lost.stream_id))
        attachments.rearm(known, lost)

    patch.setattr(attachments, "await_client", await_client)


@planted(
    "case X6",
    Found("multiplexed marker messages=0 cuts=1", "each entry once", 8),
)
def never_finishes_an_attachment(patch: Patch) -> None:
    """A connection that was given the last entry stays attached."""
    patch.setattr(delivery, "_after_turn", flow.resume_application)


@planted(
    "rule R7",
    Found("http stock messages=3 slow_writes=2 window=2", "work that need not wait goes on", 6),
)
def all_that_was_sent_counts_where_nobody_acknowledges(patch: Patch) -> None:
    """Work for a peer that acknowledges nothing may send as much as the window holds, and then never more."""
    patch.setattr(stream.Stream, "_counted", property(lambda known: known.log.confirmed))
