"""Faults in what is kept, and counted: each is harmless for one call, and fatal for a process that stays."""

from __future__ import annotations

from collections.abc import Callable

from mcpstreams_sansio.client import calls, recovery
from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.ledger import Ledger
from mcpstreams_sansio.client.positions import Positions
from mcpstreams_sansio.ids import Owner
from mcpstreams_sansio.server import attachments, delivery, flow, lifecycle, registry, room, stream
from mcpstreams_sansio.server.effects import SendMore
from mcpstreams_sansio.server.log import StreamLog
from mcpstreams_sansio.server.registry import StreamTimer
from mcpstreams_sansio.server.table import StreamState
from tests.model.planted.fault import Found, Patch, around, nothing, planted


@planted(
    "rule R10",
    Found("multiplexed marker calls=2 messages=0 room=300", "memory within limits", 5),
)
def opens_streams_without_room(patch: Patch) -> None:
    """However much is kept, another call gets a stream."""

    def has_room(inner: Callable[..., bool], known: registry.Registry, owner: Owner, counted: int = 0) -> bool:
        return inner(known, owner, counted) or known.alive - counted < known.config.max_streams

    around(patch, registry.Registry, "has_room", has_room)


@planted(
    "rule R10",
    Found("multiplexed marker crashes=1 durable=1 room=300", "memory within limits", 6),
)
def never_makes_room(patch: Patch) -> None:
    """However much is kept, all of it stays."""
    patch.setattr(room, "make", lambda _: [])


@planted(
    "rule R10",
    Found("multiplexed marker messages=0 room=300", "memory within limits", 4),
)
def makes_room_before_it_writes(patch: Patch) -> None:
    """What was written just now stays until the next message, which may be the call that found no room."""

    def flush(inner: Callable[..., None], known: registry.Registry) -> None:
        for leaving in make(known):
            lifecycle.evict(known, leaving)
        inner(known)

    make = room.make
    patch.setattr(room, "make", lambda _: [])
    around(patch, delivery, "flush", flush)


@planted(
    "rule R10",
    Found("multiplexed marker messages=0 room=300", "memory within limits", 4),
)
def looks_at_nobody_who_has_gone(patch: Patch) -> None:
    """A stream that is detached is not looked at where room is needed, although its end was written."""

    def untie(inner: Callable[..., None], known: registry.Registry, leaving: stream.Stream) -> None:
        inner(known, leaving)
        known.yielding.pop(leaving.stream_id, None)

    around(patch, attachments, "untie", untie)


@planted(
    "rule R10",
    Found("multiplexed marker", "memory within limits", 8),
)
def counts_what_was_dropped(patch: Patch) -> None:
    """What has left its redelivery window takes room for ever."""

    def drop_aged(inner: Callable[..., None], known: registry.Registry, aged: stream.Stream) -> None:
        total = known.total_bytes
        inner(known, aged)
        known.total_bytes = total

    around(patch, room, "drop_aged", drop_aged)


@planted(
    "rule Q7d",
    Found("multiplexed marker messages=0", "memory within limits", 8),
)
def keeps_the_log_of_what_is_gone(patch: Patch) -> None:
    """A tombstone holds every message that was not confirmed."""

    def bury(inner: Callable[..., None], known: registry.Registry, gone: stream.Stream) -> None:
        total, log = known.total_bytes, gone.log.fork()
        inner(known, gone)
        known.total_bytes, gone.log = total, log

    around(patch, registry.Registry, "bury", bury)


@planted(
    "rule R7",
    Found("http draft messages=3 cuts=1 window=2", "no more than the window is ahead", 7),
    Found("multiplexed draft messages=3 cuts=1 window=2", "no more than the window is ahead", 7),
)
def no_window_for_who_never_acknowledges(patch: Patch) -> None:
    """The work for a client without acknowledgements is never told to wait."""
    around(
        patch,
        flow,
        "over_limit",
        lambda inner, known, filled: filled.acknowledges and inner(known, filled),
    )


@planted(
    "rule R6",
    Found("multiplexed marker messages=3 window=2", "no more than the window is ahead", 6),
)
def lets_the_application_go_on_too_early(patch: Patch) -> None:
    """Work that was told to wait goes on with the next write, however much is unconfirmed."""

    def resume(known: registry.Registry, held: stream.Stream) -> None:
        if held.handler is stream.Handler.HELD:
            held.handler = stream.Handler.RUNNING
            known.effects.append(SendMore(held.stream_id))

    patch.setattr(flow, "resume_application", resume)


@planted(
    "rule R23",
    Found("multiplexed marker messages=3 slow_takes=3 max_unread=1", "memory within limits", 10),
    Found("http marker messages=3 slow_takes=3 max_unread=1", "memory within limits", 12),
    Found("multiplexed stock messages=3 slow_takes=3 max_unread=1", "memory within limits", 9),
)
def is_full_by_one_item_too_late(patch: Patch) -> None:
    """The client gives its caller one item more than there is room for."""

    def is_full(call: calls.Call, config: ClientConfig) -> bool:
        return call.positions.unread + call.positions.unsaved > config.max_unread + 1

    patch.setattr(calls.Call, "is_full", is_full)


@planted(
    "rule R23",
    Found("http stock messages=3 cuts=1 slow_takes=3 max_unread=1", "memory within limits", 18),
)
def reads_on_after_a_loss_without_room(patch: Patch) -> None:
    """A client that comes back while it has no room reads one item more, and that with every loss."""

    def check_room(inner: Callable[..., None], known: Ledger, call: calls.Call) -> None:
        if call.positions._path == call.positions.received:  # the path has brought something new
            inner(known, call)

    around(patch, recovery, "check_room", check_room)


@planted(
    "rule R25",
    Found("multiplexed marker messages=0", "every call is settled", 0),
)
def counts_work_that_is_done(patch: Patch) -> None:
    """A call that was answered counts among those that are worked on for ever."""
    patch.setattr(registry.Registry, "end_work", nothing)


@planted(
    "rule R5",
    Found("multiplexed marker messages=0", "every call is settled", 0),
)
def wakes_up_for_what_is_gone(patch: Patch) -> None:
    """Whether the entries of a stream have aged is asked once a second, long after it is gone."""

    def age(inner: Callable[..., None], known: registry.Registry, aged: stream.Stream) -> None:
        inner(known, aged)
        if aged.state is StreamState.GONE:
            known.set_timer((StreamTimer.AGE, aged.stream_id), 1.0)

    around(patch, room, "drop_aged", age)
    around(patch, registry.Registry, "bury", age)


@planted(
    "rule R24",
    Found("multiplexed marker messages=0 asks=1", "memory within limits", 11),
)
def remembers_the_questions_of_calls_that_are_over(patch: Patch) -> None:
    """A client knows of each question to which call it belongs, for ever."""

    def remove(inner: Callable[..., None], known: Ledger, call: calls.Call) -> None:
        asks = {ask_id: call_id for ask_id, call_id in known.asks.items() if call_id == call.call_id}
        inner(known, call)
        known.asks.update(asks)

    around(patch, Ledger, "remove", remove)


@planted(
    "rule R15",
    Found("http marker messages=0", "what is over ends", 4),
)
def leaves_it_to_the_client_to_end_what_is_over(patch: Patch) -> None:
    """The response that carried the last of a stream stays open until its client closes it."""
    patch.setattr(attachments, "end_body", nothing)


@planted(
    "rule R10",
    Found("multiplexed marker messages=2 cuts=1 room=300", "a gap tells how many are missing", 16),
)
def tells_of_one_lost_message(patch: Patch) -> None:
    """However many messages are lost, the server tells of one."""
    around(patch, StreamLog, "lost_after", lambda inner, kept, position: min(1, inner(kept, position)))


@planted(
    "rule R10",
    Found("multiplexed marker messages=2 cuts=1 room=300", "a gap tells how many are missing", 15),
)
def tells_of_messages_that_were_received(patch: Patch) -> None:
    """What the client has already counts as lost as well."""
    around(patch, Positions, "jump", lambda inner, passed, first, lost: inner(passed, first, lost) and first - 1)
