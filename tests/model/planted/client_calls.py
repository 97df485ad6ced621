"""Faults of a client's calls: how it comes back, how long it tries, what it tells its caller."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from mcpstreams_sansio.client import (
    acknowledging,
    calls,
    cancelling,
    delivery,
    endings,
    exchanges,
    ledger,
    policy,
    positions,
    recovery,
    replies,
    streams,
)
from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.connection_ids import ConnectionIds
from mcpstreams_sansio.client.effects import (
    CallCancelled,
    CallLost,
    CallNotRun,
    CallResult,
    Doubt,
    NotRun,
    Outcome,
    OutcomeUnknown,
)
from mcpstreams_sansio.client.inputs import MessageReceived
from mcpstreams_sansio.client.recovery import Fate
from mcpstreams_sansio.client.table import CALL_TABLE, CallSignal, CallState
from mcpstreams_sansio.connections import ConnectionLost
from mcpstreams_sansio.ids import ConnectionId
from mcpstreams_sansio.wire.jsonrpc import Response
from mcpstreams_sansio.wire.marker import Attempt
from mcpstreams_sansio.wire.refusals import Reason
from tests.model.planted.fault import Found, Patch, around, nothing, planted, with_cell


@planted(
    "rule P26",
    Found("multiplexed marker messages=0 cuts=1", "every call is settled", 3),
    Found("http draft cuts=1", "every call is settled", 6),
)
def client_stops_retrying(patch: Patch) -> None:
    """Nothing wakes a call that waits."""
    patch.setattr(ledger.Ledger, "wake", nothing)


@planted(
    "rule P26",
    Found("http marker messages=0 cuts=1", "an answer in the end", 3),
)
def client_gives_up_at_once(patch: Patch) -> None:
    """One loss is one too many."""
    patch.setattr(recovery, "within_budget", lambda *_: False)


@planted(
    "rule P26",
    Found("multiplexed marker messages=0 cuts=4", "an answer in the end", 12),
)
def client_gives_up_after_four_attempts(patch: Patch) -> None:
    """A few losses are too many, long before the time of the stream is over."""

    def within_budget(
        inner: Callable[..., bool], call: calls.Call, config: ClientConfig, now: float, wait: float
    ) -> bool:
        return call.efforts.in_vain < 3 and inner(call, config, now, wait)

    around(patch, recovery, "within_budget", within_budget)


@planted(
    "case G2",
    Found("multiplexed draft messages=0 cuts=1 hurries=1", "no attempt in vain", 15),
    Found("http draft messages=0 cuts=1 hurries=1", "no attempt in vain", 18),
)
def client_retries_for_ever(patch: Patch) -> None:
    """What the server no longer has is asked for again and again."""
    patch.setattr(replies, "VERDICTS", dict.fromkeys(Reason, policy.Verdict.LATER))
    patch.setattr(recovery, "within_budget", lambda *_: True)
    patch.setattr(calls.Efforts, "begin", nothing)


def _find_instead(patch: Patch, way: calls.Way | Doubt, other: calls.Way | Doubt) -> None:
    def find(inner: Callable[..., calls.Way | Doubt], *circumstances: object) -> calls.Way | Doubt:
        found = inner(*circumstances)
        return other if found is way else found

    around(patch, recovery, "find_way", find)


@planted(
    "case D4",
    Found("http marker messages=0 cuts=1", "an answer in the end", 3),
)
def client_never_sends_again(patch: Patch) -> None:
    """A call that was lost before anything came back is given up although it has a key."""
    _find_instead(patch, calls.Way.RESEND, Doubt.CONNECTION_LOST)


@planted(
    "case H4",
    Found("multiplexed stock messages=0 cuts=1", "a call runs once", 7),
    Found("http stock messages=0 cuts=1", "a call runs once", 7),
)
def client_sends_again_what_has_no_key(patch: Patch) -> None:
    """A call that may run is sent again, and may run twice."""
    _find_instead(patch, Doubt.CONNECTION_LOST, calls.Way.SEND)


@planted(
    "case C8",
    Found("http stock cuts=1", "an answer in the end", 8),
)
def client_forgets_its_cursor(patch: Patch) -> None:
    """A call of which event ids were seen comes back without one."""
    _find_instead(patch, calls.Way.CURSOR, Doubt.CONNECTION_LOST)


@planted(
    "case C5",
    Found("http stock messages=0 sessions=1", "an answer in the end", 14),
)
def client_keeps_the_cursor_of_a_dead_session(patch: Patch) -> None:
    """An event id is presented in another session than its own."""
    patch.setattr(positions.Positions, "forget_cursor", nothing)


@planted(
    "case G12",
    Found("http stock messages=0 cuts=1", "lost is lost", 9),
)
def client_does_not_notice_a_clean_close(patch: Patch) -> None:
    """An exchange that ends without an answer leaves its call waiting."""
    patch.setitem(streams._APPLY, ConnectionLost, nothing)


@planted(
    "case H2",
    Found("multiplexed marker messages=0 cuts=1", "every call is settled", 3),
)
def client_does_not_lose_calls_with_their_connection(patch: Patch) -> None:
    """A connection that breaks leaves the calls on it waiting."""
    patch.setattr(exchanges, "_lose_call", nothing)


@planted(
    "case G8",
    Found("multiplexed marker messages=0 cuts=1", "lost is lost", 3),
)
def client_sends_on_a_lost_connection(patch: Patch) -> None:
    """A connection that is lost counts as the one to send on."""

    def take_link_down(inner: Callable[[ledger.Ledger], None], known: ledger.Ledger) -> None:
        link = known.link
        inner(known)
        known.link = link

    around(patch, exchanges, "take_link_down", take_link_down)


@planted(
    "rule R12",
    Found("http marker messages=0 cuts=1", "one message, one exchange", 5),
)
def client_uses_an_exchange_twice(patch: Patch) -> None:
    """Each message of a client goes on the same exchange."""
    given: list[ConnectionId] = []

    def give(inner: Callable[[ConnectionIds], ConnectionId], ids: ConnectionIds) -> ConnectionId:
        given.append(inner(ids))
        return given[0]

    around(patch, ConnectionIds, "next", give)


@planted(
    "rule R14",
    Found("multiplexed marker messages=0 cuts=1", "an answer in the end", 10),
    Found("http marker messages=0 cuts=1", "an answer in the end", 9),
)
def attempts_have_one_number(patch: Patch) -> None:
    """A later attempt cannot be told from an earlier one."""
    patch.setattr(recovery, "_attempt", lambda call: Attempt(call.client, 1))


@planted(
    "case F3",
    Found("multiplexed marker messages=0 rivals=1", "no attempt in vain", 34),
)
def superseded_client_fights_back(patch: Patch) -> None:
    """A client whose call another one has taken takes it back, and so does the other one."""
    patch.setattr(replies, "_superseded", lambda known, call: recovery.lose(known, call, fate=Fate.ANSWERED))


@planted(
    "rule R14",
    Found("multiplexed marker messages=0 rivals=1", "no attempt in vain", 34),
    Found("http marker messages=0 rivals=1", "no attempt in vain", 54),
)
def superseded_client_fights_back_for_a_while(patch: Patch) -> None:
    """Two clients take a call from each other several times, before one of them gives it up."""

    def superseded(inner: Callable[..., None], known: ledger.Ledger, call: calls.Call) -> None:
        if call.efforts.in_vain < 9:
            recovery.lose(known, call, fate=Fate.ANSWERED)
        else:
            inner(known, call)

    around(patch, replies, "_superseded", superseded)


@planted(
    "rule P31",
    Found("multiplexed marker messages=0 cuts=1 poll_first=1", "an answer in the end", 10),
)
def quiet_poll_ends_the_call(patch: Patch) -> None:
    """A stream that has nothing new is given up."""
    patch.setattr(replies, "_polled", lambda known, call, _: endings.refuse(known, call, Reason.EXPIRED))


@planted(
    "case H4",
    Found("multiplexed stock messages=0 cuts=1", "an answer in the end", 3),
)
def lost_is_called_not_run(patch: Patch) -> None:
    """A call of which nobody knows anything is reported as one that never ran."""
    patch.setattr(endings, "OutcomeUnknown", lambda *_: CallNotRun(NotRun.UNREACHED))


@planted(
    "case L1",
    Found("multiplexed marker calls=2 messages=0", "each has its own answer", 9),
)
def any_answer_will_do(patch: Patch) -> None:
    """An answer goes to the call that waits longest, whatever its id."""

    def receive(inner: Callable[..., None], known: ledger.Ledger, event: MessageReceived, message: Response) -> None:
        waiting = known.undecided()
        if message.id in known.requests and waiting:
            message = attrs.evolve(message, id=waiting[0].request_id)
        inner(known, event, message)

    around(patch, replies, "receive", receive)


@planted(
    "case A4",
    Found("multiplexed draft calls=2", "nothing is missing", 11),
)
def any_stream_will_do(patch: Patch) -> None:
    """A message goes to the call that waits longest, whatever stream it names."""
    patch.setattr(delivery, "_owner", lambda known, *_: next(iter(known.undecided()), None))


@planted(
    "rule Q3d",
    Found("multiplexed marker messages=0", "one end, and nothing after it", 7),
)
def end_is_an_outcome_of_its_own(patch: Patch) -> None:
    """A caller that has its answer is told of the end as well."""
    patch.setattr(
        delivery,
        "_end_answered",
        lambda known, call, *_: endings.tell(known, call, CallResult({}), call.positions.received),
    )


@planted(
    "case M8",
    Found("multiplexed marker messages=0 cancels=1", "one end, and nothing after it", 7),
)
def cancelled_call_goes_out_again(patch: Patch) -> None:
    """A call that is cancelled while nothing can be sent goes out with the next link."""

    def cancel(inner: Callable[[ledger.Ledger, calls.Call], None], known: ledger.Ledger, call: calls.Call) -> None:
        if call.state is CallState.STRANDED:
            endings.tell(known, call, CallCancelled(), call.positions.received)
        else:
            inner(known, call)

    around(patch, cancelling, "cancel", cancel)


@planted(
    "rule R22",
    Found("http marker messages=0 cancels=1", "a server hears of a cancellation", 6),
    Found("multiplexed marker messages=0 cancels=1", "a server hears of a cancellation", 9),
)
def cancellation_is_not_told(patch: Patch) -> None:
    """A cancelled call is forgotten, and its server does not hear of it."""
    patch.setattr(cancelling, "announce", cancelling.confirm)
    patch.setattr(cancelling, "_cancel_at_home", cancelling.confirm)


@planted(
    "rule R22",
    Found("multiplexed marker messages=0 cancels=1 cuts=1", "a server hears of a cancellation", 8),
    Found("http marker messages=0 cancels=1 cuts=1", "a server hears of a cancellation", 7),
)
def lost_cancellation_is_not_told_again(patch: Patch) -> None:
    """What told the server of a cancellation is lost, and with it the cancellation."""

    def retry(known: ledger.Ledger, call: calls.Call) -> None:
        known.leave(call)
        known.forget_errand(call)
        cancelling.confirm(known, call)

    patch.setattr(cancelling, "retry", retry)


@planted(
    "rule R21",
    Found("multiplexed marker messages=0 cancels=1 cuts=2", "a server hears of a cancellation", 10),
)
def key_cancels_once_elsewhere(patch: Patch) -> None:
    """A call of which only the key is known is forgotten once its cancellation has gone to another connection."""

    def announce(inner: Callable[[ledger.Ledger, calls.Call], None], known: ledger.Ledger, call: calls.Call) -> None:
        inner(known, call)
        cancelling.confirm(known, call)

    around(patch, cancelling, "_announce_on_connection", announce)


@planted(
    "rule Q2f",
    Found("multiplexed marker messages=0 detaches=1", "an answer in the end", 8),
)
def letting_go_cancels(patch: Patch) -> None:
    """A caller that lets go of its call has cancelled it."""

    def detach(inner: Callable[[ledger.Ledger, calls.Call], None], known: ledger.Ledger, call: calls.Call) -> None:
        if call.path is not None:
            known.send(call.path, cancelling._notice(call.request_id, call.key))
        inner(known, call)

    around(patch, cancelling, "detach", detach)


@planted(
    "case G12",
    Found("multiplexed marker messages=0 cuts=1", "nothing raises", 8),
)
def hangs_after_a_loss(patch: Patch) -> None:
    """A call whose path is lost counts as one that is delivered."""
    table = with_cell(CALL_TABLE, CallState.FOLLOWING, CallSignal.LOSS, CallState.FOLLOWING)
    patch.setattr(calls, "CALL_TABLE", table)


@planted(
    "rule R6",
    Found("multiplexed marker messages=0", "every call is settled", 0),
)
def acknowledgements_are_put_off_for_ever(patch: Patch) -> None:
    """A client that should acknowledge now waits once more."""
    patch.setattr(acknowledging, "flush", lambda known: known.wake_for_acks(1.0))


@planted(
    "rule R22",
    Found("multiplexed stock messages=0 cuts=1", "nothing unasked", 3),
)
def doubt_is_told_as_a_cancellation(patch: Patch) -> None:
    """A call of which nobody knows what became of it ends as if its caller had cancelled it."""

    def tell(
        inner: Callable[..., None], known: ledger.Ledger, call: calls.Call, outcome: Outcome, *about: object
    ) -> None:
        inner(known, call, CallCancelled() if isinstance(outcome, OutcomeUnknown) else outcome, *about)

    around(patch, endings, "tell", tell)


@planted(
    "rule R21",
    Found("multiplexed marker messages=0 cuts=1 hurries=2", "not run is not run", 10),
)
def loss_is_told_as_not_run(patch: Patch) -> None:
    """A call that was abandoned while it ran ends as one that did not run."""

    def tell(
        inner: Callable[..., None], known: ledger.Ledger, call: calls.Call, outcome: Outcome, *about: object
    ) -> None:
        inner(known, call, CallNotRun(NotRun.UNREACHED) if isinstance(outcome, CallLost) else outcome, *about)

    around(patch, endings, "tell", tell)
