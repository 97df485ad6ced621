"""Every state of a call, everything that can happen to it, and what follows: data, and total.

Guards do not live here: an input is first turned into a signal (what comes on a path that is not the call's own never
reaches the table), then the cell is looked up, then the client acts. Only `Call.step` assigns a call's state.
"""

from __future__ import annotations

from enum import unique
from typing import Final

from mcpstreams_sansio.tables import Named, Table, never, to, total_table


@unique
class CallState(Named):
    """Where a call stands, seen from the client."""

    STRANDED = 0
    """It is to go out, for the first time or again, and nothing can be sent: it waits for the link."""
    SENT = 1
    """Its request is on a path for the first time; nothing has come back."""
    FOLLOWING = 2
    """Its path delivers."""
    FULL = 3
    """Its path delivers, and the application has more than it takes."""
    WAITING = 4
    """No path delivers it; a pause runs."""
    POLLING = 5
    """The server was asked whether coming back is worth it."""
    RECOVERING = 6
    """A resume, a re-send or a cursor is on a path that delivered nothing of it before; nothing has come back."""
    REATTACHING = 7
    """A resume or a re-send is on the connection that delivered it before. Nothing of the new attachment has come back,
    and what the one before was given may still be under way."""
    CANCEL_DUE = 8
    """The caller has its outcome, cancelled; the server does not know yet."""
    CANCELLING = 9
    """The server was told of it and has not confirmed."""
    SETTLING = 10
    """The caller has its outcome; the end of the stream, or the last acknowledgement, is still to come."""
    FINISHED = 11
    """Nothing is left of it."""


@unique
class CallSignal(Named):
    """What an input means for one call."""

    SEND = 0
    """Its request goes out, and certainly never ran before."""
    RECOVER = 1
    """A resume, a re-send, a cursor or a cancellation goes out."""
    REATTACH = 2
    """A resume or a re-send goes out on the connection where an attachment before it may still deliver."""
    POLL = 3
    """A poll goes out."""
    STRAND = 4
    """It is to go out, and nothing can be sent."""
    CONTACT = 5
    """The server shows on the call's path that it has it."""
    OVERFLOW = 6
    """The application has more than it takes."""
    DRAINED = 7
    """The application has taken enough, and nothing was passed over meanwhile."""
    LOSS = 8
    """Its path delivers no more, and there is a way back."""
    RESPONSE = 9
    """It was answered."""
    REFUSAL = 10
    """The server says that it cannot be had any more."""
    GIVE_UP = 11
    """There is no way back, or none within the budget."""
    CANCEL = 12
    """The application does not want the result any more."""
    DETACH = 13
    """The application lets go of it and does not cancel it."""
    SETTLED = 14
    """Nothing is left to be told to anybody."""


S, X = CallState, CallSignal

CALL_TABLE: Final[Table[CallState, CallSignal]] = total_table(
    CallState,
    CallSignal,
    {
        # to go out, and nothing can be sent
        (S.STRANDED, X.SEND): to(S.SENT, "the link is up, and the call certainly never ran (case H4)"),
        (S.STRANDED, X.RECOVER): to(S.RECOVERING, "the link is up again (P15, R21.3)"),
        (S.STRANDED, X.REATTACH): to(S.REATTACHING, "taken up again on the connection on which it was let go (R27)"),
        (S.STRANDED, X.POLL): to(S.POLLING, "the link is up again, and policy asks first (P27)"),
        (S.STRANDED, X.STRAND): to(S.STRANDED, "the link is still down"),
        (S.STRANDED, X.CONTACT): never("no path is its own"),
        (S.STRANDED, X.OVERFLOW): never("no path is its own"),
        (S.STRANDED, X.DRAINED): never("it is not full"),
        (S.STRANDED, X.LOSS): never("no path is its own"),
        (S.STRANDED, X.RESPONSE): never("no path is its own"),
        (S.STRANDED, X.REFUSAL): never("no path is its own"),
        (S.STRANDED, X.GIVE_UP): to(S.FINISHED, "no link in the budget, or no way back on it (case H2, rule R21.7)"),
        (S.STRANDED, X.CANCEL): to(S.CANCEL_DUE, "the caller need not wait for the link (R22)"),
        (S.STRANDED, X.DETACH): to(S.FINISHED, "the saved call brings it back (R27)"),
        (S.STRANDED, X.SETTLED): never("it has no outcome"),
        # on a path for the first time
        (S.SENT, X.SEND): never("it is out already"),
        (S.SENT, X.RECOVER): never("its path is not lost"),
        (S.SENT, X.REATTACH): never("its path is not lost"),
        (S.SENT, X.POLL): never("its path is not lost"),
        (S.SENT, X.STRAND): never("its path is not lost"),
        (S.SENT, X.CONTACT): to(S.FOLLOWING, "create, a position, a message or a 2xx head (rules H10, P7)"),
        (S.SENT, X.OVERFLOW): never("the message that fills it is a contact first"),
        (S.SENT, X.DRAINED): never("it is not full"),
        (S.SENT, X.LOSS): to(S.WAITING, "a key, a cursor or certain absence allows another try (case H4, rule R21)"),
        (S.SENT, X.RESPONSE): to(S.SETTLING, "answered without any ado (Q3d)"),
        (S.SENT, X.REFUSAL): to(S.FINISHED, "the server refuses it for good (Q10)"),
        (S.SENT, X.GIVE_UP): to(S.FINISHED, "lost before anything came back, and nothing names it (cases H1, H4)"),
        (S.SENT, X.CANCEL): to(S.CANCEL_DUE, "the caller need not wait for the server (R22)"),
        (S.SENT, X.DETACH): to(S.FINISHED, "the saved call brings it back (R27)"),
        (S.SENT, X.SETTLED): never("it has no outcome"),
        # its path delivers
        (S.FOLLOWING, X.SEND): never("it is out already"),
        (S.FOLLOWING, X.RECOVER): never("its path is not lost"),
        (S.FOLLOWING, X.REATTACH): never("its path is not lost"),
        (S.FOLLOWING, X.POLL): never("its path is not lost"),
        (S.FOLLOWING, X.STRAND): never("its path is not lost"),
        (S.FOLLOWING, X.CONTACT): to(S.FOLLOWING, "whatever comes next (P12)"),
        (S.FOLLOWING, X.OVERFLOW): to(S.FULL, "an exchange is read no further, a shared connection is (R23)"),
        (S.FOLLOWING, X.DRAINED): never("it is not full"),
        (S.FOLLOWING, X.LOSS): to(S.WAITING, "lost, let go or a gap: come back after a pause (rule P26, case G12)"),
        (S.FOLLOWING, X.RESPONSE): to(S.SETTLING, "an implicit end for the caller (Q3d)"),
        (S.FOLLOWING, X.REFUSAL): to(S.FINISHED, "taken over by another, or ended unanswered (Q6b, Q9b)"),
        (S.FOLLOWING, X.GIVE_UP): to(S.FINISHED, "no way back (cases H1, H2)"),
        (S.FOLLOWING, X.CANCEL): to(S.CANCEL_DUE, "the caller need not wait for the server (R22)"),
        (S.FOLLOWING, X.DETACH): to(S.FINISHED, "the saved call brings it back (R27)"),
        (S.FOLLOWING, X.SETTLED): never("it has no outcome"),
        # its path delivers more than is taken
        (S.FULL, X.SEND): never("it is out already"),
        (S.FULL, X.RECOVER): to(S.RECOVERING, "taken down to half: ask again for what was passed over (R23)"),
        (S.FULL, X.REATTACH): to(S.REATTACHING, "taken down to half: attach again for what was passed over (R23)"),
        (S.FULL, X.POLL): never("its path is not lost"),
        (S.FULL, X.STRAND): never("its path is not lost"),
        (S.FULL, X.CONTACT): to(S.FULL, "taken up where it cannot come again, else passed over (R23)"),
        (S.FULL, X.OVERFLOW): to(S.FULL, "what was under way when reading was paused"),
        (S.FULL, X.DRAINED): to(S.FOLLOWING, "taken down to half: read on (R23)"),
        (S.FULL, X.LOSS): to(S.WAITING, "come back after a pause, from what was taken (R23)"),
        (S.FULL, X.RESPONSE): to(S.SETTLING, "nothing was passed over before it (Q3d)"),
        (S.FULL, X.REFUSAL): to(S.FINISHED, "taken over by another, or ended unanswered (Q6b, Q9b)"),
        (S.FULL, X.GIVE_UP): to(S.FINISHED, "no way back (cases H1, H2)"),
        (S.FULL, X.CANCEL): to(S.CANCEL_DUE, "the caller need not wait for the server (R22)"),
        (S.FULL, X.DETACH): to(S.FINISHED, "the saved call brings it back (R27)"),
        (S.FULL, X.SETTLED): never("it has no outcome"),
        # a pause runs
        (S.WAITING, X.SEND): to(S.SENT, "it was refused before it could run, so it goes out anew (case H4)"),
        (S.WAITING, X.RECOVER): to(S.RECOVERING, "the pause is over (P26, Q7f)"),
        (S.WAITING, X.REATTACH): to(S.REATTACHING, "the pause is over, and the connection was not lost (R4, R14)"),
        (S.WAITING, X.POLL): to(S.POLLING, "the pause is over, and policy asks first (P27)"),
        (S.WAITING, X.STRAND): to(S.STRANDED, "the pause is over, and nothing can be sent"),
        (S.WAITING, X.CONTACT): never("no path is its own"),
        (S.WAITING, X.OVERFLOW): never("no path is its own"),
        (S.WAITING, X.DRAINED): never("it is not full"),
        (S.WAITING, X.LOSS): never("no path is its own"),
        (S.WAITING, X.RESPONSE): never("no path is its own"),
        (S.WAITING, X.REFUSAL): never("no path is its own"),
        (S.WAITING, X.GIVE_UP): to(S.FINISHED, "no way back any more (cases G1, G2, rule R21.7)"),
        (S.WAITING, X.CANCEL): to(S.CANCEL_DUE, "the caller need not wait for the pause (R22)"),
        (S.WAITING, X.DETACH): to(S.FINISHED, "the saved call brings it back (R27)"),
        (S.WAITING, X.SETTLED): never("it has no outcome"),
        # asked whether coming back is worth it
        (S.POLLING, X.SEND): never("a poll is out"),
        (S.POLLING, X.RECOVER): to(S.RECOVERING, "something is there to be had (P31)"),
        (S.POLLING, X.REATTACH): to(S.REATTACHING, "something is there, and the connection was not lost (P31)"),
        (S.POLLING, X.POLL): never("a poll is out"),
        (S.POLLING, X.STRAND): never("a poll is out"),
        (S.POLLING, X.CONTACT): never("a poll delivers nothing (P27)"),
        (S.POLLING, X.OVERFLOW): never("a poll delivers nothing (P27)"),
        (S.POLLING, X.DRAINED): never("it is not full"),
        (S.POLLING, X.LOSS): to(S.WAITING, "nothing new, no reply, or try later (Q7f)"),
        (S.POLLING, X.RESPONSE): never("a poll delivers nothing (P27)"),
        (S.POLLING, X.REFUSAL): to(S.FINISHED, "abandoned, expired, cancelled or unknown (P28, P34, Q8e)"),
        (S.POLLING, X.GIVE_UP): to(S.FINISHED, "no reply within the budget (case G2)"),
        (S.POLLING, X.CANCEL): to(S.CANCEL_DUE, "the caller need not wait for the reply (R22)"),
        (S.POLLING, X.DETACH): to(S.FINISHED, "the saved call brings it back (R27)"),
        (S.POLLING, X.SETTLED): never("it has no outcome"),
        # a resume, a re-send or a cursor is out
        (S.RECOVERING, X.SEND): never("an attempt is out"),
        (S.RECOVERING, X.RECOVER): never("an attempt is out"),
        (S.RECOVERING, X.REATTACH): never("an attempt is out"),
        (S.RECOVERING, X.POLL): never("an attempt is out"),
        (S.RECOVERING, X.STRAND): never("an attempt is out"),
        (S.RECOVERING, X.CONTACT): to(S.FOLLOWING, "attached (Q2g)"),
        (S.RECOVERING, X.OVERFLOW): never("the message that fills it is a contact first"),
        (S.RECOVERING, X.DRAINED): never("it is not full"),
        (S.RECOVERING, X.LOSS): to(S.WAITING, "lost, too early, or a passing refusal (rule Q7f, case G6)"),
        (S.RECOVERING, X.RESPONSE): to(S.SETTLING, "the response is all that was missing (P17, Q9a)"),
        (S.RECOVERING, X.REFUSAL): to(S.FINISHED, "abandoned, expired, cancelled, unknown, taken over (P18, Q6b)"),
        (S.RECOVERING, X.GIVE_UP): to(S.FINISHED, "out of budget, or an answer without sense (cases G2, G3)"),
        (S.RECOVERING, X.CANCEL): to(S.CANCEL_DUE, "the caller need not wait for the server (R22)"),
        (S.RECOVERING, X.DETACH): to(S.FINISHED, "the saved call brings it back (R27)"),
        (S.RECOVERING, X.SETTLED): never("it has no outcome"),
        # a resume or a re-send is out where an attachment before it may still deliver
        (S.REATTACHING, X.SEND): never("an attempt is out"),
        (S.REATTACHING, X.RECOVER): never("an attempt is out"),
        (S.REATTACHING, X.REATTACH): never("an attempt is out"),
        (S.REATTACHING, X.POLL): never("an attempt is out"),
        (S.REATTACHING, X.STRAND): never("an attempt is out"),
        (S.REATTACHING, X.CONTACT): to(
            S.FOLLOWING, "an old message or a new one: nothing is missing from here on (R4)"
        ),
        (S.REATTACHING, X.OVERFLOW): never("the message that fills it is a contact first"),
        (S.REATTACHING, X.DRAINED): never("it is not full"),
        (S.REATTACHING, X.LOSS): to(S.WAITING, "lost, let go, too early, or only what was under way came (Q7f)"),
        (S.REATTACHING, X.RESPONSE): to(
            S.SETTLING, "its position, or that of `end`, says that nothing is missing (R4)"
        ),
        (S.REATTACHING, X.REFUSAL): to(S.FINISHED, "abandoned, expired, cancelled, unknown, taken over (P18, Q6b)"),
        (S.REATTACHING, X.GIVE_UP): to(S.FINISHED, "out of budget, or an answer without sense (cases G2, G3)"),
        (S.REATTACHING, X.CANCEL): to(S.CANCEL_DUE, "the caller need not wait for the server (R22)"),
        (S.REATTACHING, X.DETACH): to(S.FINISHED, "the saved call brings it back (R27)"),
        (S.REATTACHING, X.SETTLED): never("it has no outcome"),
        # cancelled, and the server does not know
        (S.CANCEL_DUE, X.SEND): never("a cancelled call never goes out (case M8)"),
        (S.CANCEL_DUE, X.RECOVER): to(S.CANCELLING, "the cancellation goes out (R22, Q9b)"),
        (S.CANCEL_DUE, X.REATTACH): never("nobody wants its messages (P25)"),
        (S.CANCEL_DUE, X.POLL): never("nobody wants its messages (P25)"),
        (S.CANCEL_DUE, X.STRAND): to(S.CANCEL_DUE, "the link is down: told later, within its own budget (R22)"),
        (S.CANCEL_DUE, X.CONTACT): never("no path is its own"),
        (S.CANCEL_DUE, X.OVERFLOW): never("nobody wants its messages (P25)"),
        (S.CANCEL_DUE, X.DRAINED): never("nobody wants its messages (P25)"),
        (S.CANCEL_DUE, X.LOSS): never("no path is its own"),
        (S.CANCEL_DUE, X.RESPONSE): never("no path is its own"),
        (S.CANCEL_DUE, X.REFUSAL): never("no path is its own"),
        (S.CANCEL_DUE, X.GIVE_UP): never("it has its outcome"),
        (S.CANCEL_DUE, X.CANCEL): never("cancelled already"),
        (S.CANCEL_DUE, X.DETACH): never("it has its outcome"),
        (S.CANCEL_DUE, X.SETTLED): to(S.FINISHED, "the server knows nothing of it, or the budget is spent (R22)"),
        # the server was told
        (S.CANCELLING, X.SEND): never("a cancelled call never goes out (case M8)"),
        (S.CANCELLING, X.RECOVER): never("the cancellation is out"),
        (S.CANCELLING, X.REATTACH): never("nobody wants its messages (P25)"),
        (S.CANCELLING, X.POLL): never("nobody wants its messages (P25)"),
        (S.CANCELLING, X.STRAND): never("the cancellation is out"),
        (S.CANCELLING, X.CONTACT): never("late messages are ignored, a late create is not resumed (Q9c, Q9d)"),
        (S.CANCELLING, X.OVERFLOW): never("nobody wants its messages (P25)"),
        (S.CANCELLING, X.DRAINED): never("nobody wants its messages (P25)"),
        (S.CANCELLING, X.LOSS): to(S.CANCEL_DUE, "its path is lost: told again (R22)"),
        (S.CANCELLING, X.RESPONSE): never("an answer confirms the cancellation, whatever it says (case M2)"),
        (S.CANCELLING, X.REFUSAL): never("a refusal confirms the cancellation, whatever it says"),
        (S.CANCELLING, X.GIVE_UP): never("it has its outcome"),
        (S.CANCELLING, X.CANCEL): never("cancelled already"),
        (S.CANCELLING, X.DETACH): never("it has its outcome"),
        (S.CANCELLING, X.SETTLED): to(S.FINISHED, "confirmed, or the budget is spent (R22)"),
        # answered
        (S.SETTLING, X.SEND): never("it has its outcome"),
        (S.SETTLING, X.RECOVER): never("an answered call is not resumed (Q3d)"),
        (S.SETTLING, X.REATTACH): never("an answered call is not resumed (Q3d)"),
        (S.SETTLING, X.POLL): never("an answered call is not resumed (Q3d)"),
        (S.SETTLING, X.STRAND): never("an answered call is not resumed (Q3d)"),
        (S.SETTLING, X.CONTACT): to(S.SETTLING, "end, or what is ignored after it (Q3d)"),
        (S.SETTLING, X.OVERFLOW): never("nothing is taken up after the response"),
        (S.SETTLING, X.DRAINED): never("nothing is taken up after the response"),
        (S.SETTLING, X.LOSS): to(S.SETTLING, "end will not come; what is taken is still acknowledged (Q3d, R23)"),
        (S.SETTLING, X.RESPONSE): never("a second answer is nobody's (Q3b)"),
        (S.SETTLING, X.REFUSAL): never("it has its outcome"),
        (S.SETTLING, X.GIVE_UP): never("it has its outcome"),
        (S.SETTLING, X.CANCEL): never("it has its outcome"),
        (S.SETTLING, X.DETACH): never("it has its outcome"),
        (S.SETTLING, X.SETTLED): to(S.FINISHED, "all is taken and acknowledged, or nobody came for it (R6, R23)"),
        # nothing is left
        (S.FINISHED, X.SEND): never("nothing is left of it"),
        (S.FINISHED, X.RECOVER): never("nothing is left of it"),
        (S.FINISHED, X.REATTACH): never("nothing is left of it"),
        (S.FINISHED, X.POLL): never("nothing is left of it"),
        (S.FINISHED, X.STRAND): never("nothing is left of it"),
        (S.FINISHED, X.CONTACT): never("nothing is left of it"),
        (S.FINISHED, X.OVERFLOW): never("nothing is left of it"),
        (S.FINISHED, X.DRAINED): never("nothing is left of it"),
        (S.FINISHED, X.LOSS): never("nothing is left of it"),
        (S.FINISHED, X.RESPONSE): never("nothing is left of it"),
        (S.FINISHED, X.REFUSAL): never("nothing is left of it"),
        (S.FINISHED, X.GIVE_UP): never("nothing is left of it"),
        (S.FINISHED, X.CANCEL): never("nothing is left of it"),
        (S.FINISHED, X.DETACH): never("nothing is left of it"),
        (S.FINISHED, X.SETTLED): never("nothing is left of it"),
    },
)

DELIVERING: Final = frozenset({S.SENT, S.FOLLOWING, S.FULL, S.RECOVERING, S.REATTACHING})
"""States in which the call's path delivers its messages."""

UNSEEN: Final = frozenset({S.SENT, S.RECOVERING, S.REATTACHING})
"""Those of them in which the server has not shown yet that it has the call."""

SETTLED_FOR_CALLER: Final = frozenset({S.CANCEL_DUE, S.CANCELLING, S.SETTLING, S.FINISHED})
"""States in which the caller has its outcome."""
