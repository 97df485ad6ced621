"""Faults of a client between the wire and its caller: positions, room, questions, acknowledgements."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from mcpstreams_sansio.client import (
    acknowledging,
    acks,
    answering,
    application,
    asks,
    calls,
    delivery,
    endings,
    ledger,
    positions,
    questions,
)
from mcpstreams_sansio.client.effects import AskWithdrawn
from mcpstreams_sansio.client.table import CallState
from mcpstreams_sansio.ids import RequestId
from mcpstreams_sansio.wire.jsonrpc import Message, Request
from tests.model.planted.fault import Found, Patch, around, nothing, planted


@planted(
    "case X1",
    Found("multiplexed marker cuts=1 slow_takes=1", "exactly once, in order", 12),
    Found("http stock cuts=1 slow_takes=1", "exactly once, in order", 13),
)
def client_does_not_deduplicate(patch: Patch) -> None:
    """Whatever comes is new."""
    patch.setattr(positions.Positions, "place", lambda *_: positions.Place.NEXT)


@planted(
    "rule R4",
    Found("multiplexed marker messages=3 slow_takes=3 max_unread=1", "nothing is missing", 12),
)
def client_does_not_notice_a_gap(patch: Patch) -> None:
    """A message is taken up although one before it is missing."""

    def place(
        inner: Callable[..., positions.Place],
        stands: positions.Positions,
        sequence: int | None,
        event_id: str | None = None,
    ) -> positions.Place:
        found = inner(stands, sequence, event_id)
        if found is not positions.Place.BEYOND or sequence is None:
            return found
        stands.received = sequence - 1
        return positions.Place.NEXT

    around(patch, positions.Positions, "place", place)


@planted(
    "rule R23",
    Found("multiplexed marker detaches=1 slow_takes=1", "nothing is missing", 10),
)
def what_was_received_counts_as_taken(patch: Patch) -> None:
    """The server is told that the caller has what it was only given."""
    patch.setattr(positions.Positions, "taken", property(lambda self: self.received))


@planted(
    "rule R6",
    Found("multiplexed marker messages=0 cuts=1", "nothing is missing", 11),
)
def client_acknowledges_one_too_many(patch: Patch) -> None:
    """An acknowledgement names the message behind the last one that was taken."""
    around(
        patch,
        acks.Acks,
        "want",
        lambda inner, known, ack: inner(known, attrs.evolve(ack, through=ack.through + 1)),
    )


@planted(
    "rule R6",
    Found("multiplexed marker messages=2 window=2", "every call is settled", 0),
)
def client_never_acknowledges(patch: Patch) -> None:
    """The server is not told what the caller has."""
    patch.setattr(acknowledging, "acknowledge", nothing)


@planted(
    "rule R6",
    Found("http marker messages=2 cuts=1 window=1", "every call is settled", 11),
)
def client_forgets_a_lost_acknowledgement(patch: Patch) -> None:
    """An acknowledgement whose exchange breaks is taken to have arrived."""
    patch.setattr(acknowledging, "lost", acknowledging.accepted)


@planted(
    "rule R23",
    Found("http marker messages=2 slow_takes=2 max_unread=1", "every call is settled", 10),
)
def client_never_reads_on(patch: Patch) -> None:
    """A call for which there was no room is not read on when there is."""
    patch.setattr(application, "_go_on", nothing)


@planted(
    "rule R23",
    Found("multiplexed marker messages=3 slow_takes=3 max_unread=1", "nothing is missing", 13),
)
def client_forgets_what_it_passed_over(patch: Patch) -> None:
    """When there is room again, what came while there was none is not asked for."""

    def go_on(inner: Callable[[ledger.Ledger, calls.Call], None], known: ledger.Ledger, call: calls.Call) -> None:
        if call.state is CallState.FULL:
            call.positions.received = call.positions.seen
        inner(known, call)

    around(patch, application, "_go_on", go_on)


@planted(
    "rule R24",
    Found("multiplexed marker messages=0 asks=1 cuts=1", "an answer arrives", 14),
    Found("http stock messages=0 asks=1 cuts=1", "an answer arrives", 11),
)
def client_sends_an_answer_once(patch: Patch) -> None:
    """An answer that was on its way when the connection broke is taken to have arrived."""
    patch.setattr(asks.Asks, "lose_path", nothing)
    patch.setattr(questions, "repeat", nothing)


@planted(
    "rule R24",
    Found("multiplexed marker messages=0 asks=1 cuts=1", "an answer arrives", 14),
)
def client_drops_an_answer_without_a_link(patch: Patch) -> None:
    """An answer that cannot be sent at once is never sent."""

    def send(
        inner: Callable[..., None],
        known: ledger.Ledger,
        call: calls.Call,
        ask_id: RequestId,
        ask: asks.Outstanding,
    ) -> None:
        inner(known, call, ask_id, ask)
        found = call.asks.get(ask_id)
        if isinstance(found, asks.Outstanding) and found.path is None:
            call.asks.set(ask_id, asks.Accepted(found.answer))

    around(patch, answering, "send", send)
    patch.setattr(questions, "repeat", nothing)


@planted(
    "rule Q4e",
    Found("multiplexed marker messages=0 asks=1 cuts=1", "a question is handed over once", 13),
)
def client_hands_a_question_over_again(patch: Patch) -> None:
    """A question that comes again is a new one."""
    patch.setattr(questions, "repeat", questions._hand_over)


@planted(
    "rule Q11g",
    Found("multiplexed marker messages=0 asks=1", "a question belongs to a call", 6),
)
def client_overlooks_whose_question_it_is(patch: Patch) -> None:
    """The tag of a question is not read, so it belongs to no call."""

    def read_tag(inner: Callable[[Message], object], message: Message) -> object:
        return None if isinstance(message, Request) else inner(message)

    around(patch, delivery, "read_tag", read_tag)


@planted(
    "rule R23",
    Found("multiplexed marker messages=2", "positions rise", 8),
)
def messages_all_stand_in_one_place(patch: Patch) -> None:
    """The application is told one position for all that it is given."""
    around(patch, positions.Positions, "take_up_item", lambda inner, *about: min(2, inner(*about)))


@planted(
    "rule R24",
    Found("multiplexed marker messages=0 asks=1 cancels=1", "no question outlives its call", 7),
)
def questions_outlive_their_call(patch: Patch) -> None:
    """A call ends, and its application is still asked."""

    def tell(inner: Callable[..., None], known: ledger.Ledger, *about: object) -> None:
        inner(known, *about)
        known.effects = [effect for effect in known.effects if not isinstance(effect, AskWithdrawn)]

    around(patch, endings, "tell", tell)


@planted(
    "rule R24",
    Found("multiplexed marker messages=0 asks=1 cancels=1", "no question outlives its call", 7),
)
def questions_are_withdrawn_behind_the_end(patch: Patch) -> None:
    """The end of a call comes before the withdrawal of what it asked."""

    def tell(inner: Callable[..., None], known: ledger.Ledger, *about: object) -> None:
        inner(known, *about)
        known.effects.sort(key=lambda effect: isinstance(effect, AskWithdrawn))

    around(patch, endings, "tell", tell)
