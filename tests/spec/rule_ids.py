"""The rules of the specification, by id, each with a gist in a few words.

* `RULES`: every rule that the tests have to carry.
* `LEFT_FOR_LATER`: those of them that a later piece of work brings, and which.
* `NOT_YET`: those that no test carries so far. It only ever gets shorter.
"""

from __future__ import annotations

RULES: dict[str, str] = {
    # W: what is on the wire
    "W1": "the server chooses stream ids, unique across its instances",
    "W2": "a resume token is opaque, sensitive, and handed back",
    "W3": "a stream may name the request that caused it",
    "W4": "the resume interval and both its ends are optional",
    "W5": "resume intervals are seconds, SSE retry is milliseconds",
    "W6": "ids are compared by JSON type and value",
    "W7": "resuming is a request, so it has an answer",
    "W8": "a request may say on which stream it is made",
    "W9": "withdrawn parts of the draft are tolerated, never sent",
    "W10": "another proposal's streams capability is not this one",
    # P: what the draft says about behaviour
    "P1": "only the client declares the streams capability",
    "P2": "no create for a client that declared no streams",
    "P3": "the server may advertise resumable streams of its own accord",
    "P4": "whether a request gets a stream is the server's choice",
    "P5": "create carries a unique id, a token and an interval",
    "P6": "create first, then messages, then the result, then end",
    "P7": "the first event gives the client something to resume from",
    "P8": "after create, no disconnection ends the stream",
    "P9": "no SSE response closes before a response or a create",
    "P10": "a stream is durable before its create is sent",
    "P11": "create comes before every other message of its stream",
    "P12": "notifications, server requests and the response belong to the stream",
    "P13": "messages arrive in the order in which they were produced",
    "P14": "messages relate to the request, and progress stops at completion",
    "P15": "a client may resume with stream id and token",
    "P16": "resuming sends what is undelivered, then what is live",
    "P17": "resuming a completed stream closes with end",
    "P18": "an unknown stream is answered with an error",
    "P19": "a wrong token is answered with an error",
    "P20": "what is confirmed need not be kept",
    "P21": "resuming changes state, so on HTTP it is a POST",
    "P22": "on HTTP the client says with Last-Event-ID what arrived",
    "P23": "messages recently sent are kept for about two minutes",
    "P24": "messages at or below the cursor are not sent again",
    "P25": "a client does not resume what it cancelled",
    "P26": "a client waits the minimum before resuming or polling",
    "P27": "polling tells the status and delivers nothing",
    "P28": "polling an unknown stream or with a wrong token fails",
    "P29": "a poll restarts the abandonment timer",
    "P30": "a stream's status is live or completed, nothing else",
    "P31": "a poll tells of pending messages, requests and errors",
    "P32": "a stream neither resumed nor polled in time is abandoned",
    "P33": "the time to abandonment runs from the disconnection",
    "P34": "resuming or polling an abandoned stream may fail",
    "P35": "every stream that completes sends end",
    "P36": "end comes after the response of the request",
    "P37": "end names a stream that was created before",
    "P38": "tokens give access to history and stay secret",
    "P39": "holding a token is not enough where permissions exist",
    "P40": "unsent messages, their bytes and streams are all limited",
    # Q3: the response on a resumed stream
    "Q3a": "the response keeps its id, and end is last",
    "Q3b": "unknown response ids are shown to the application, not fatal",
    "Q3c": "ids are unique across connections, and clashes are refused",
    "Q3d": "response and end go together; a missing end is tolerated",
    "Q3e": "the progress token stays valid on the resumed stream",
    # Q4: many streams on one connection; answers to server requests
    "Q4a": "messages with room for it name their stream",
    "Q4b": "server request ids are unique everywhere and unguessable",
    "Q4c": "an answer counts from any entitled connection, once",
    "Q4d": "unanswered server requests are sent again on resume",
    "Q4e": "a client answers a repeated request from its cache",
    "Q4f": "the stream that a client names is only a hint",
    "Q4g": "without server requests, input is asked for in the response",
    # Q5: the log and its cursors
    "Q5a": "writing is sending, never confirming",
    "Q5b": "a cursor confirms entries of its own stream only",
    "Q5c": "a cursor that is too old learns what is gone",
    "Q5d": "without a cursor, everything unconfirmed comes again",
    "Q5e": "response and end stay until the stream expires",
    "Q5f": "overflow follows a policy and is never silent",
    "Q5g": "the client drops duplicates by stream and sequence",
    "Q5h": "store first, then write; replay meets live without a gap",
    "Q5i": "priming repeats the cursor before the first replayed message",
    # Q6: several connections for one stream
    "Q6a": "the newest connection wins and the old one is told",
    "Q6b": "a superseded client does not resume by itself",
    "Q6c": "a resume elsewhere takes over from the original connection",
    "Q6d": "resuming where already attached is refused without effect",
    "Q6e": "polling never changes attachment or delivery",
    "Q6f": "a second standalone GET replaces the first, or gets 409",
    "Q6g": "an entry goes to the current attachment only",
    # Q7: time
    "Q7a": "the timer runs only while the stream is detached",
    "Q7b": "polls and successful resumes restart it, failures never",
    "Q7c": "no maximum takes the default, zero is not resumable",
    "Q7d": "expiry cancels the work, drops the log, leaves a tombstone",
    "Q7e": "a completed stream keeps its log for the maximum",
    "Q7f": "an early call is served, or told when to come",
    "Q7g": "the client waits the longer of minimum and retry",
    "Q7h": "every clock is passed in and monotonic",
    # Q8: polling
    "Q8a": "completed means that the response is produced, delivered or not",
    "Q8b": "pending means that a resume would deliver a message",
    "Q8c": "unanswered requests and failed results are told apart",
    "Q8d": "while detached, sent but unconfirmed messages are pending",
    "Q8e": "polling what is gone fails as resuming it does",
    "Q8f": "a pending wish for input counts as a request",
    # Q9: after completion and after cancellation
    "Q9a": "a completed stream can be resumed until it expires",
    "Q9b": "cancelling stops the work, drops what waits, sends end",
    "Q9c": "who cancelled forgets the token and ignores the rest",
    "Q9d": "a create that arrives after cancelling is ignored",
    "Q9e": "on another connection, a cancelled id means another request",
    # Q10, Q11: errors, tokens and limits
    "Q10": "each failure has its code and its reason",
    "Q11a": "tokens are unguessable, kept as digests, compared in constant time",
    "Q11b": "a token stands in bodies only, never in URLs or logs",
    "Q11c": "a stream belongs to its principal, never to a session",
    "Q11d": "a new token leaves the old one valid until used",
    "Q11e": "guessing at a stream is slowed down",
    "Q11f": "several streams for one request, or none, are tolerated",
    "Q11g": "what arrives on one stream cannot name another",
    "Q11h": "streams, entries, bytes and resumes have limits",
    # R: the delivery rules
    "R1": "entries count from one, and zero is before the first",
    "R2": "a stream is announced or silent, fixed when it opens",
    "R3": "no token is ever written to the log",
    "R4": "an entry's bytes are fixed when it is produced",
    "R5": "confirmed is at most sent, sent is at most produced",
    "R6": "acknowledgements free the log and count only where entitled",
    "R7": "without acknowledgements, what was sent is kept for a while",
    "R8": "resuming without a cursor delivers at least once, always",
    "R9": "nobody learns of a record before it is durable",
    "R10": "overflow drops only what may be dropped, and says so",
    "R11": "one write at a time is outstanding on a connection",
    "R12": "one machine holds streams, fronts and sessions of a side",
    "R13": "what is wrong at any time raises and changes nothing",
    "R14": "attempts are ordered, so a late one never takes over",
    "R15": "an attachment ends in exactly one of five ways",
    "R16": "sessions end and announced streams outlive them",
    "R17": "GET needs a known cursor or a source of messages",
    "R18": "JSON or event stream is decided when the request arrives",
    "R19": "the stateless revision makes streams for keyed calls only",
    "R20": "arrays of messages are refused in every revision",
    "R21": "a call sent again with its key is executed once",
    "R22": "a token cancels its stream from any connection",
    "R23": "the client's cursor is what the application took or saved",
    "R24": "an answer is sent until accepted, a question until answered",
    "R25": "no principal is no identity: token or key alone counts",
    "R26": "a driver submits at once and owns no rule",
    "R27": "the application sees calls, outcomes and gaps, never the protocol",
}

ALSO_CITED: frozenset[str] = frozenset(
    # the project's own decisions, and the open questions that they settle
    [f"D{number}" for number in range(1, 6)]
    + ["Q1", "Q12", "Q13", "Q15", "Q16"]
    + [f"Q2{letter}" for letter in "abcdefg"]
    + [f"Q14{letter}" for letter in "abcdefghij"]
    # Streamable HTTP, the standalone GET stream, the stateless revision, pitfalls
    + [f"H{number}" for number in range(1, 36)]
    + [f"G{number}" for number in range(1, 13)]
    + [f"M{number}" for number in range(1, 34)]
    + [f"T{number}" for number in range(1, 35)]
)
"""Ids that a test may carry too, though no rule says that one must."""

LEFT_FOR_LATER: dict[str, str] = {
    "Q4g": "the stateless revision, 2026-07-28",
    "Q6f": "Streamable HTTP, whole: the standalone GET stream",
    "Q8f": "the stateless revision, 2026-07-28",
    "R19": "the stateless revision, 2026-07-28",
}
"""Rule id -> the later piece of work that brings its tests."""

NOT_YET: frozenset[str] = frozenset()
"""Ids that no test carries so far. Whoever carries one takes it out; nobody puts one in."""
