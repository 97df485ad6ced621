"""Faults of a client that keeps its calls beyond the end of its process, and of the one that goes on with them."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from mcpstreams_sansio.client import answering, application, calls, delivery, endings, ledger, positions, streams
from mcpstreams_sansio.client.asks import Open, Outstanding
from mcpstreams_sansio.client.effects import SaveDue
from mcpstreams_sansio.client.inputs import AnswerAsk, AttachCall, MessageReceived, SavedCall
from mcpstreams_sansio.wire.jsonrpc import Notification
from mcpstreams_sansio.wire.streams import STREAM_CREATE
from tests.model.planted.fault import Found, Patch, around, planted


def _save(patch: Patch, change: Callable[[calls.Call, SavedCall], SavedCall]) -> None:
    around(patch, calls.Call, "save", lambda inner, call, now: change(call, inner(call, now)))


@planted(
    "rule R23",
    Found("multiplexed marker client_crashes=1", "nothing is missing", 16),
    Found("http marker client_crashes=1", "nothing is missing", 19),
)
def tells_what_is_not_saved(patch: Patch) -> None:
    """Cursor and acknowledgements of a call that is kept say what was taken of it."""
    patch.setattr(positions.Positions, "told", positions.Positions.taken)


@planted(
    "rule R23",
    Found("multiplexed marker client_crashes=1", "an answer in the end", 17),
)
def tells_an_outcome_that_is_not_saved(patch: Patch) -> None:
    """With its answer a call counts as done, before anybody has said that it is kept."""

    def settle(inner: Callable[[ledger.Ledger, calls.Call], None], known: ledger.Ledger, call: calls.Call) -> None:
        call.positions.conclude()
        inner(known, call)

    around(patch, endings, "settle", settle)


@planted(
    "rule R23",
    Found("multiplexed marker client_crashes=1 slow_takes=1", "nothing is missing", 15),
)
def saves_what_was_received(patch: Patch) -> None:
    """A saved call goes on from what its caller was given, and may not have taken."""
    _save(patch, lambda call, saved: attrs.evolve(saved, taken=call.positions.received))


@planted(
    "case H4",
    Found("multiplexed marker client_crashes=1", "a call runs once", 9),
)
def takes_a_saved_call_for_one_that_never_went_out(patch: Patch) -> None:
    """A call that is brought back is sent as a new one, under another key."""

    def attach(known: ledger.Ledger, event: AttachCall) -> None:
        unsent = attrs.evolve(event.saved, sent=False, key=None, instance=None)
        application.attach(known, attrs.evolve(event, saved=unsent))

    patch.setitem(streams._APPLY, AttachCall, attach)


@planted(
    "rule R24",
    Found("multiplexed marker messages=0 asks=1 client_crashes=1", "an answer arrives", 12),
)
def forgets_its_answers(patch: Patch) -> None:
    """A saved call does not know what its caller has answered."""
    _save(patch, lambda _, saved: attrs.evolve(saved, answers=()))


@planted(
    "rule R24",
    Found("multiplexed marker messages=0 asks=1 client_crashes=1", "what brings a call back is asked for", 10),
)
def answers_before_that_is_saved(patch: Patch) -> None:
    """A second process may be asked again, and answer otherwise."""

    def answer(known: ledger.Ledger, event: AnswerAsk) -> None:
        call = None if event.call_id is None else known.calls.get(event.call_id)
        if call is not None and isinstance(call.asks.get(event.ask_id), Open):
            answering.send(known, call, event.ask_id, Outstanding(event.answer))

    patch.setitem(streams._APPLY, AnswerAsk, answer)


@planted(
    "rule R14",
    Found("multiplexed marker messages=0 straggles=1 client_crashes=1", "an answer in the end", 19),
)
def counts_attempts_under_a_name_of_its_own(patch: Patch) -> None:
    """A late attempt of the process before takes the call away from whoever brought it back."""
    _save(patch, lambda _, saved: attrs.evolve(saved, client=None))


@planted(
    "rule R14",
    Found("multiplexed marker messages=0 straggles=1 client_crashes=1", "an answer in the end", 15),
)
def counts_on_from_the_last_attempt_that_was_saved(patch: Patch) -> None:
    """A second process gives a number again that the process before has given since."""
    _save(patch, lambda call, saved: attrs.evolve(saved, attempt=call.attempt))
    patch.setattr(calls.Call, "may_attempt", lambda _: True)


@planted(
    "rule R23",
    Found("http draft messages=2 cuts=1 client_crashes=1", "exactly once, in order", 18),
)
def forgets_the_ids_of_what_was_taken(patch: Patch) -> None:
    """What was taken and not saved comes again, and only its event id tells that."""

    def forget_passed(at: positions.Positions) -> None:
        passed = min(at.taken, at._path)
        at._event_ids = {event_id: position for event_id, position in at._event_ids.items() if position > passed}

    patch.setattr(positions.Positions, "_forget_passed", forget_passed)


@planted(
    "rule R23",
    Found("http draft messages=2 cuts=1 client_crashes=1", "an answer in the end", 21),
)
def presents_the_cursor_of_what_was_taken(patch: Patch) -> None:
    """The event id of a call that is kept is that of what was taken of it."""
    patch.setattr(positions.Positions, "told_cursor", property(lambda at: at.cursor or None))


@planted(
    "rule R6",
    Found("multiplexed marker messages=3 client_crashes=1 window=2", "every call is settled", 0),
    Found("http marker messages=2 client_crashes=1 max_unread=1", "an answer in the end", 25),
)
def asks_nobody_to_save_for_room(patch: Patch) -> None:
    """A caller that has taken all that it may without keeping it is not asked to, and nothing more comes."""
    patch.setattr(calls.Call, "must_be_saved", lambda *_: False)


@planted(
    "rule R23",
    Found("multiplexed marker messages=0 client_crashes=1", "what brings a call back is asked for", 6),
    Found("http draft messages=0 client_crashes=1", "what brings a call back is asked for", 8),
)
def asks_nobody_to_save_a_token(patch: Patch) -> None:
    """A caller is not told that its call can be brought back by something new."""
    receive = delivery._RECEIVERS[STREAM_CREATE]

    def create(known: ledger.Ledger, event: MessageReceived, message: Notification) -> None:
        receive(known, event, message)
        known.effects[:] = [effect for effect in known.effects if not isinstance(effect, SaveDue)]

    patch.setitem(delivery._RECEIVERS, STREAM_CREATE, create)


@planted(
    "rule R23",
    Found("multiplexed marker messages=0 client_crashes=1", "an end can be reached once more", 7),
)
def ends_a_call_for_good(patch: Patch) -> None:
    """With the end of a call nothing is told that would lead to it once more."""
    patch.setattr(endings, "_keep", lambda *_: endings._NOTHING_KEPT)


@planted(
    "rule R4",
    Found("multiplexed marker messages=0 detaches=1 client_crashes=1", "an answer in the end", 15),
)
def old_end_ends_what_an_earlier_process_began(patch: Patch) -> None:
    """What was under way when a call was let go is taken for what comes after, unless this process has begun it."""

    def may_repeat(inner: Callable[[ledger.Ledger, calls.Call], bool], known: ledger.Ledger, call: calls.Call) -> bool:
        return known.is_own(call.request_id) and inner(known, call)

    around(patch, ledger.Ledger, "may_repeat", may_repeat)
