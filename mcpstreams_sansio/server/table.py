"""Every state of a stream, everything that can happen to it, and what follows: data, and total.

A state answers two questions at once: is the application still producing, and does a connection deliver? Guards do
not live here: `requests.py`, `production.py` and `lifecycle.py` first turn what happens into a signal (a wrong token
never reaches the table), then look the cell up, then act. Only `Stream.step` assigns a stream's state.
"""

from __future__ import annotations

from enum import unique
from typing import Final

from mcpstreams_sansio.tables import Named, Table, never, to, total_table


@unique
class StreamState(Named):
    """Where a stream stands, seen from the server."""

    LIVE = 0
    """The application produces, a connection delivers."""
    DETACHED = 1
    """The application produces, the client is away; the abandonment timer runs."""
    DRAINING = 2
    """The response is in the log, a connection delivers the rest."""
    COMPLETED = 3
    """The response is in the log, the client is away; the log is kept for it."""
    GONE = 4
    """Over. Only the reason is remembered."""


@unique
class StreamSignal(Named):
    """What an input means for one stream."""

    MESSAGE = 0
    """The application sends a notification or a question."""
    RESPONSE = 1
    """The application answers the call."""
    ATTACH = 2
    """A connection presents a valid token, key or cursor."""
    LOSS = 3
    """The connection that delivers is lost."""
    FINAL_LOSS = 4
    """The connection that delivers is lost, and nothing can bring the stream back."""
    FINISH = 5
    """The connection that delivers was given the last entry."""
    FINAL_FINISH = 6
    """The same, and nothing can bring the stream back."""
    RELEASE = 7
    """The server lets go of the connection that delivers."""
    POLL = 8
    """The client asks how things stand."""
    ACK = 9
    """The client has everything up to some entry before the last."""
    FULL_ACK = 10
    """The client has the last entry of a completed stream."""
    ANSWER = 11
    """The client answers a question."""
    CANCEL = 12
    """The client cancels the call."""
    EXPIRY = 13
    """The abandonment timer has run out."""
    EVICTION = 14
    """Room is needed, and the whole stream was sent, or may have been before a restart."""
    CLOSING = 15
    """The session that the stream is bound to has ended."""


S, On = StreamState, StreamSignal

STREAM_TABLE: Final[Table[StreamState, StreamSignal]] = total_table(
    StreamState,
    StreamSignal,
    {
        # the application produces, a connection delivers
        (S.LIVE, On.MESSAGE): to(S.LIVE, "logged, and delivered once durable (P12, P13, R9)"),
        (S.LIVE, On.RESPONSE): to(S.DRAINING, "response and end are logged together (P35, P36, Q3d)"),
        (S.LIVE, On.ATTACH): to(S.LIVE, "the newer connection takes over (Q6a, Q6c, R14)"),
        (S.LIVE, On.LOSS): to(S.DETACHED, "the work goes on; the abandonment timer starts (P8, P33, Q7a)"),
        (S.LIVE, On.FINAL_LOSS): to(S.GONE, "nobody can come back for it (R2, Q7c)"),
        (S.LIVE, On.FINISH): never("the last entry is not produced yet (R15)"),
        (S.LIVE, On.FINAL_FINISH): never("the last entry is not produced yet (R15)"),
        (S.LIVE, On.RELEASE): to(S.DETACHED, "the client comes back by itself (rules H15, Q2c, R15)"),
        (S.LIVE, On.POLL): to(S.LIVE, "answered at any time; delivery is untouched (Q6e)"),
        (S.LIVE, On.ACK): to(S.LIVE, "confirmed entries are evictable (R5, R6)"),
        (S.LIVE, On.FULL_ACK): never("the last entry is not produced yet (R15)"),
        (S.LIVE, On.ANSWER): to(S.LIVE, "the first answer is handed to the application (Q4c, R24)"),
        (S.LIVE, On.CANCEL): to(S.GONE, "the work stops, the connection is told end (Q9b, P35)"),
        (S.LIVE, On.EXPIRY): never("an attached stream has no abandonment timer (Q7a)"),
        (S.LIVE, On.EVICTION): never("a live stream is never evicted (R10)"),
        (S.LIVE, On.CLOSING): to(S.GONE, "a silent stream ends with its session (R16)"),
        # the application produces, the client is away
        (S.DETACHED, On.MESSAGE): to(S.DETACHED, "logged for the client's return (case E2)"),
        (S.DETACHED, On.RESPONSE): to(S.COMPLETED, "logged for the client's return; max counts anew (Q7e)"),
        (S.DETACHED, On.ATTACH): to(S.LIVE, "what it misses is delivered, then what comes (P16)"),
        (S.DETACHED, On.LOSS): never("no connection delivers it (R15)"),
        (S.DETACHED, On.FINAL_LOSS): never("no connection delivers it (R15)"),
        (S.DETACHED, On.FINISH): never("no connection delivers it (R15)"),
        (S.DETACHED, On.FINAL_FINISH): never("no connection delivers it (R15)"),
        (S.DETACHED, On.RELEASE): to(S.DETACHED, "there is nothing to let go of (R15)"),
        (S.DETACHED, On.POLL): to(S.DETACHED, "answered; the abandonment timer starts anew (P29, Q7b)"),
        (S.DETACHED, On.ACK): to(S.DETACHED, "counts with the token; the timer starts anew (R6)"),
        (S.DETACHED, On.FULL_ACK): never("the last entry is not produced yet (R15)"),
        (S.DETACHED, On.ANSWER): to(S.DETACHED, "taken whether the stream is attached or not (Q4c)"),
        (S.DETACHED, On.CANCEL): to(S.GONE, "the work stops (Q9b, R22)"),
        (S.DETACHED, On.EXPIRY): to(S.GONE, "abandoned: neither resumed nor polled within max (P32, Q7d)"),
        (S.DETACHED, On.EVICTION): never("a live stream is never evicted (R10)"),
        (S.DETACHED, On.CLOSING): to(S.GONE, "a silent stream ends with its session (R16)"),
        # the response is in the log, a connection delivers the rest
        (S.DRAINING, On.MESSAGE): never("a message after the response (case B10)"),
        (S.DRAINING, On.RESPONSE): never("a second response (R13)"),
        (S.DRAINING, On.ATTACH): to(S.DRAINING, "the newer connection takes over (Q6a, Q9a)"),
        (S.DRAINING, On.LOSS): to(S.COMPLETED, "response and end are kept for max (Q5e, Q7e)"),
        (S.DRAINING, On.FINAL_LOSS): to(S.GONE, "nobody can come back for it (R2, Q7c)"),
        (S.DRAINING, On.FINISH): to(S.COMPLETED, "all was written; it may still be lost, so it is kept (R5, R15)"),
        (S.DRAINING, On.FINAL_FINISH): to(S.GONE, "all was written, and nobody can come back for it (R2, Q7c)"),
        (S.DRAINING, On.RELEASE): to(S.COMPLETED, "the client comes back by itself (R15)"),
        (S.DRAINING, On.POLL): to(S.DRAINING, "completed is known before it is delivered (Q8a)"),
        (S.DRAINING, On.ACK): to(S.DRAINING, "confirmed entries are evictable (R5, R6)"),
        (S.DRAINING, On.FULL_ACK): to(S.GONE, "the client has it all: freed at once (R6)"),
        (S.DRAINING, On.ANSWER): never("its questions were closed by the response (Q4c, R24)"),
        (S.DRAINING, On.CANCEL): to(S.GONE, "confirms and frees the log (R22)"),
        (S.DRAINING, On.EXPIRY): never("an attached stream has no abandonment timer (Q7a)"),
        (S.DRAINING, On.EVICTION): never("its end was not sent (R10)"),
        (S.DRAINING, On.CLOSING): to(S.GONE, "a silent stream ends with its session (R16)"),
        # the response is in the log, the client is away
        (S.COMPLETED, On.MESSAGE): never("a message after the response (case B10)"),
        (S.COMPLETED, On.RESPONSE): never("a second response (R13)"),
        (S.COMPLETED, On.ATTACH): to(S.DRAINING, "what it misses, the response and end are delivered (P17, Q9a)"),
        (S.COMPLETED, On.LOSS): never("no connection delivers it (R15)"),
        (S.COMPLETED, On.FINAL_LOSS): never("no connection delivers it (R15)"),
        (S.COMPLETED, On.FINISH): never("no connection delivers it (R15)"),
        (S.COMPLETED, On.FINAL_FINISH): never("no connection delivers it (R15)"),
        (S.COMPLETED, On.RELEASE): to(S.COMPLETED, "there is nothing to let go of (R15)"),
        (S.COMPLETED, On.POLL): to(S.COMPLETED, "answered; the timer starts anew (P29, Q8e)"),
        (S.COMPLETED, On.ACK): to(S.COMPLETED, "counts with the token; the timer starts anew (R6)"),
        (S.COMPLETED, On.FULL_ACK): to(S.GONE, "the client has it all: freed at once (R6)"),
        (S.COMPLETED, On.ANSWER): never("its questions were closed by the response (Q4c, R24)"),
        (S.COMPLETED, On.CANCEL): to(S.GONE, "confirms and frees the log (R22)"),
        (S.COMPLETED, On.EXPIRY): to(S.GONE, "nobody came for it within max (Q7e)"),
        (S.COMPLETED, On.EVICTION): to(S.GONE, "its end was sent, or may have been, and others need the room (R10)"),
        (S.COMPLETED, On.CLOSING): to(S.GONE, "a silent stream ends with its session (R16)"),
        # over
        (S.GONE, On.MESSAGE): never("the order is refused before it means anything here (R13)"),
        (S.GONE, On.RESPONSE): never("the order is refused before it means anything here (R13)"),
        (S.GONE, On.ATTACH): to(S.GONE, "answered with the reason that is remembered (P34, Q9a, R21.3)"),
        (S.GONE, On.LOSS): never("no connection delivers it (R15)"),
        (S.GONE, On.FINAL_LOSS): never("no connection delivers it (R15)"),
        (S.GONE, On.FINISH): never("no connection delivers it (R15)"),
        (S.GONE, On.FINAL_FINISH): never("no connection delivers it (R15)"),
        (S.GONE, On.RELEASE): never("the order is refused before it means anything here (R13)"),
        (S.GONE, On.POLL): to(S.GONE, "answered with the reason that is remembered (P34, Q8e)"),
        (S.GONE, On.ACK): to(S.GONE, "nothing is left to confirm (R6)"),
        (S.GONE, On.FULL_ACK): never("without a log there is no last entry (R6)"),
        (S.GONE, On.ANSWER): never("its questions went with it (Q4c, R24)"),
        (S.GONE, On.CANCEL): to(S.GONE, "idempotent (R22)"),
        (S.GONE, On.EXPIRY): never("its timer went with it (Q7d)"),
        (S.GONE, On.EVICTION): never("its log went with it (Q7d)"),
        (S.GONE, On.CLOSING): never("it is bound to nothing any more (R16)"),
    },
)
