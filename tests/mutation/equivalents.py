"""Mutants that nothing can tell from the table, each with the reason why.

All of them open a cell that is ruled out. (There is one more, which a test looks up to show that this raises.) Nothing
comes of that as long as the signal is never given in that state; so each reason names where the signal is given, and
what stands guard there. That the guards hold, whatever comes, is what `test_every_input` tries for either side, and
`test_every_link_input` for the link.
"""

from __future__ import annotations

from typing import Final, final

import attrs


@final
@attrs.frozen
class Unreachable:
    """States in which a signal is never given."""

    table: str
    signals: str
    """Their names."""
    states: str
    """Their names."""
    given_by: str
    """Every function that gives one of the signals, as `module.function`."""
    why: str

    def mutants(self) -> list[str]:
        """Return the names of the mutants in which they may come, and change nothing."""
        return [
            f"{self.table} {state}/{signal} -> {state}"
            for signal in self.signals.split()
            for state in self.states.split()
        ]


UNREACHABLE: Final = (
    # ---- a stream, seen from the server
    Unreachable(
        "stream",
        "MESSAGE",
        "DRAINING COMPLETED GONE",
        "production.send_message production.ask_peer production.withdraw",
        "Who answered the call is told so before anything is looked at; for what has failed or is gone `find_open` "
        "refuses every order. Only open questions are withdrawn; the response and the end close all of them.",
    ),
    Unreachable(
        "stream",
        "RESPONSE",
        "DRAINING COMPLETED GONE",
        "production.respond production.fail restart._lose_everything",
        "The same holds for a second response; `fail` asks whether there is one, and is asked only while the stream is "
        "there; a server that comes back begins each stream as a live one.",
    ),
    Unreachable(
        "stream",
        "LOSS FINAL_LOSS",
        "DETACHED COMPLETED GONE",
        "lifecycle.lose restart._lose_everything",
        "A connection loses the streams that are tied to it, and `hold` and `untie` keep that and the state together: "
        "none of them is detached, completed or gone. A server that comes back begins each stream as a live one.",
    ),
    Unreachable(
        "stream",
        "FINISH FINAL_FINISH",
        "LIVE DETACHED COMPLETED GONE",
        "lifecycle.finish",
        "It is asked right after an entry was written on the connection that delivers the stream, and only if the "
        "response is in the log: that is what draining means.",
    ),
    Unreachable(
        "stream",
        "RELEASE",
        "GONE",
        "lifecycle.release lifecycle.leave",
        "An order for what is gone is refused by `find_open`; everybody else releases what is tied to a connection, "
        "which is nothing that is gone.",
    ),
    Unreachable(
        "stream",
        "FULL_ACK",
        "LIVE DETACHED GONE",
        "lifecycle.confirm",
        "`confirm` asks whether the response is in the log; what is gone is acknowledged elsewhere.",
    ),
    Unreachable(
        "stream",
        "ANSWER",
        "DRAINING COMPLETED GONE",
        "requests.receive_answer",
        "An answer is for an open question, and the response and the end of a stream close all of them.",
    ),
    Unreachable(
        "stream",
        "EXPIRY",
        "LIVE DRAINING GONE",
        "lifecycle.expire",
        "`attach` stops the timer, `rearm` starts none for what is attached, and `bury` stops it for good.",
    ),
    Unreachable(
        "stream",
        "EVICTION",
        "LIVE DETACHED DRAINING GONE",
        "lifecycle.evict",
        "`room.make` chooses among completed streams.",
    ),
    Unreachable(
        "stream",
        "CLOSING",
        "GONE",
        "lifecycle.end_with_scope restart._lose_everything",
        "A session ends the streams that are bound to it, and `bury` takes those that are gone away from it.",
    ),
    # ---- a call, seen from the client
    Unreachable(
        "call",
        "SEND POLL",
        "SENT FOLLOWING FULL POLLING RECOVERING REATTACHING CANCEL_DUE CANCELLING SETTLING FINISHED",
        "recovery.attempt recovery.poll",
        "A call departs when it is made, when a link comes up or it was saved while it is stranded, and when its pause "
        "is over. Who attempts anything else resumes.",
    ),
    Unreachable(
        "call",
        "STRAND",
        "SENT FOLLOWING FULL POLLING RECOVERING REATTACHING CANCELLING SETTLING FINISHED",
        "recovery.depart cancelling.announce",
        "The same for a call that departs; and a cancellation is announced while it is due.",
    ),
    Unreachable(
        "call",
        "RECOVER",
        "SENT FOLLOWING RECOVERING REATTACHING CANCELLING SETTLING FINISHED",
        "recovery.attempt cancelling._send",
        "Besides a call that departs, one recovers whose poll brought news, or whose application has room again; and a "
        "cancellation is sent while it is due.",
    ),
    Unreachable(
        "call",
        "REATTACH",
        "SENT FOLLOWING RECOVERING REATTACHING CANCEL_DUE CANCELLING SETTLING FINISHED",
        "recovery.attempt",
        "Besides a call that departs, one reattaches whose poll brought news, or whose application has room again.",
    ),
    Unreachable(
        "call",
        "CONTACT",
        "STRANDED WAITING POLLING CANCEL_DUE CANCELLING FINISHED",
        "recovery.contact delivery._end_answered",
        "What comes on a path is for the call whose path it is, in a state in which that delivers; and an `end` behind "
        "the answer is for a call that settles.",
    ),
    Unreachable(
        "call",
        "OVERFLOW",
        "STRANDED SENT WAITING POLLING RECOVERING REATTACHING CANCEL_DUE CANCELLING SETTLING FINISHED",
        "recovery.check_room",
        "It is asked behind a contact, which leaves a call that follows, or one that is full.",
    ),
    Unreachable(
        "call",
        "DRAINED",
        "STRANDED SENT FOLLOWING WAITING POLLING RECOVERING REATTACHING CANCEL_DUE CANCELLING SETTLING FINISHED",
        "application._go_on",
        "It is asked for a call that is full, and for no other.",
    ),
    Unreachable(
        "call",
        "LOSS",
        "STRANDED WAITING CANCEL_DUE FINISHED",
        "recovery.lose exchanges._lose_call cancelling.retry",
        "A path is lost for the call whose path it is, and in these states there is none; time is up for a call that "
        "waits for a server; and a cancellation is told again when it was told before.",
    ),
    Unreachable(
        "call",
        "RESPONSE",
        "WAITING POLLING CANCEL_DUE CANCELLING SETTLING FINISHED",
        "endings.respond",
        "An answer counts on the path of its call, in a state in which that delivers.",
    ),
    Unreachable(
        "call",
        "REFUSAL",
        "STRANDED WAITING CANCEL_DUE CANCELLING SETTLING FINISHED",
        "endings.refuse",
        "A refusal counts on the path of its call, in a state in which that delivers or was polled on.",
    ),
    Unreachable(
        "call",
        "GIVE_UP",
        "CANCEL_DUE CANCELLING SETTLING FINISHED",
        "endings.give_up",
        "Where every call is given up, those that have their outcome are settled; everybody else gives up a call that "
        "departs, loses its path, or is refused, and it has none then.",
    ),
    Unreachable(
        "call",
        "CANCEL DETACH",
        "CANCEL_DUE CANCELLING SETTLING FINISHED",
        "cancelling.cancel cancelling.detach",
        "The application lets go of calls without an outcome: `_undecided` finds no other.",
    ),
    Unreachable(
        "call",
        "SETTLED",
        "STRANDED SENT FOLLOWING FULL WAITING POLLING RECOVERING REATTACHING FINISHED",
        "endings.finish cancelling.confirm",
        "An answered call is finished, and a cancelled one confirmed, and at once forgotten.",
    ),
    # ---- the link
    Unreachable(
        "link",
        "OPEN",
        "OPENING UP FAILED CLOSING CLOSED",
        "machine._keep_link",
        "A link is opened while it is down, and only then.",
    ),
    Unreachable(
        "link",
        "UP",
        "DOWN UP FAILED CLOSING CLOSED",
        "machine._link_up",
        "A front has one handshake at a time, of the link that it was told to open; it says once that it is done, and "
        "nothing of it any more when it parts.",
    ),
    Unreachable(
        "link",
        "LOSS",
        "DOWN FAILED CLOSING CLOSED",
        "link.lose",
        "A front loses a link that it has or opens, once; what it has left, or parts from, is no loss.",
    ),
    Unreachable(
        "link",
        "HOPELESS",
        "FAILED CLOSING CLOSED",
        "machine._fail",
        "Where there is no hope a front drops everything on which that could be said again; one that parts says that "
        "it has parted.",
    ),
    Unreachable(
        "link",
        "CLOSE",
        "CLOSING CLOSED",
        "machine._close",
        "Who closes a client twice is told so.",
    ),
    Unreachable(
        "link",
        "PARTED",
        "DOWN OPENING UP FAILED CLOSED",
        "machine._take",
        "A front parts when it is told to, and says so once.",
    ),
)

EQUIVALENTS: Final = {name: each.why for each in UNREACHABLE for name in each.mutants()}
"""The name of each such mutant, and why nothing can tell it from the table."""
