"""What can happen in a world of streams, and how often: every bound is a number of events."""

from __future__ import annotations

import enum
import functools
import operator
from typing import Final, Self, final

import attrs

from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.testing.properties import Action


@enum.unique
class Transport(enum.Enum):
    """What connections mean."""

    MULTIPLEXED = "multiplexed"
    """One connection at a time carries everything."""
    HTTP = "http"
    """Each message of the client begins an exchange of its own."""


@enum.unique
class Peers(enum.Enum):
    """What the two sides know of each other."""

    MARKER = "marker"
    """Both negotiated our extension: exactly once on every transport."""
    DRAFT = "draft"
    """Both know the draft alone: with HTTP event ids are cursors, elsewhere delivery is at least once."""
    STOCK = "stock"
    """Neither knows streams: with HTTP event ids are cursors, elsewhere nothing survives a loss."""


@enum.unique
class Kind(enum.StrEnum):
    """What happens, as it stands in a transcript. The target follows it."""

    CALL = "call"
    """The caller makes its call: `k1`."""
    TAKE = "take"
    """The caller comes back for more."""
    ANSWER = "answer"
    """The caller answers what it is asked."""
    CANCEL = "cancel"
    """The caller no longer wants the result."""
    DETACH = "detach"
    """The caller lets go of the call, to go on with it later."""
    ATTACH = "attach"
    """The caller goes on with the call that it let go."""
    SEND = "send"
    """The work on `k1` sends its next message."""
    ASK = "ask"
    """The work asks."""
    SUCCEED = "succeed"
    """The work answers the call."""
    FAIL = "fail"
    """The work answers the call with an error."""
    RELEASE = "release"
    """The work lets go of the connection."""
    CONNECT = "connect"
    """The client opens a multiplexed connection, or an HTTP session: `c1`."""
    UP = "up"
    """The oldest thing that the client sent on `c1` arrives."""
    DOWN = "down"
    """The oldest thing that the server wrote to `c1` arrives."""
    WRITTEN = "written"
    """The transport took the outstanding write of `c1`."""
    CUT = "cut"
    """`c1` breaks: all that is on its way is lost, the client learns it at once, the server later or never."""
    STRAGGLE = "straggle"
    """The client loses `c1`; what it has sent may still arrive at the server, at any time."""
    FADE = "fade"
    """The server loses `c1`; what it has written still arrives at the client, which then learns it."""
    NOTICE = "notice"
    """The server notices that `c1` is lost."""
    END_SESSION = "end-session"
    """The HTTP session is over, on both sides."""
    LOGGED = "logged"
    """The batch of records is durable."""
    WAIT = "wait"
    """Nothing is on its way, and time passes to the next moment for which a machine waits."""
    HURRY = "hurry"
    """The same although something is on its way, or the client has no link: the network is slower than a timer."""
    OVERSLEEP = "oversleep"
    """Nothing is on its way, and time passes beyond that moment, but nobody is woken: a driver is late."""
    POLL = "poll"
    """Somebody with the token polls the stream of `k1`, from elsewhere."""
    SAVE = "save"
    """The caller of `k1` keeps its call where it outlives the client's process, as it is asked to; or its outcome."""
    KEEP = "keep"
    """The caller of `k1` does so although nobody asks it to: it keeps its call, or what leads to its end once more."""
    SAVED = "saved"
    """What the caller was writing outlives the process from now on."""
    CRASH_CLIENT = "crash-client"
    """The client's process ends, and another one begins."""
    RIVAL = "rival"
    """Another client goes on with `k1`, from what its caller has taken so far; its own caller is `k1b`."""
    CRASH = "crash"
    """The server's process ends, and another one takes its place. Of the batch that is being written, `2` records are
    durable."""
    GIVE_UP = "give-up"
    """The work on `k1`, which a crash has interrupted, is not gone on with: its caller is told so."""
    COPY = "copy"
    """A copy of the request of `k1` arrives over a connection of its own, which is lost at once: something between the
    two has kept it."""
    INTRUDE = "intrude"
    """Somebody who knows the stream of `k1` and not its token tries to have it, to poll, cancel, acknowledge and answer
    it, from elsewhere: with a token that opens nothing, with that of every other stream, and with none."""


UNRELIABLE: Final = frozenset(
    {
        Kind.CANCEL,
        Kind.DETACH,
        Kind.RELEASE,
        Kind.CUT,
        Kind.STRAGGLE,
        Kind.FADE,
        Kind.NOTICE,
        Kind.END_SESSION,
        Kind.HURRY,
        Kind.OVERSLEEP,
        Kind.POLL,
        Kind.RIVAL,
        Kind.CRASH,
        Kind.GIVE_UP,
        Kind.CRASH_CLIENT,
        Kind.KEEP,
        Kind.COPY,
        Kind.INTRUDE,
    }
)
"""What nobody can wait for. A loss may stay unnoticed for ever: a half-open connection."""


def reliable(action: Action) -> bool:
    """Say whether an action happens by itself, sooner or later."""
    return action.kind not in UNRELIABLE


MOST: Final = 10_000
"""Of anything, in one world: more would not end before the reader does."""


@final
@attrs.frozen(kw_only=True)
class Bounds:
    """How often each thing can happen in one world; and, as it goes on, how often it still can."""

    calls: int = 1
    """Calls that the client makes."""
    messages: int = 1
    """Messages of the work on each call."""
    asks: int = 0
    """Questions of the work on each call."""
    failures: int = 0
    """How much of the work may end in an error instead of a result."""
    cancels: int = 0
    detaches: int = 0
    """How often a caller lets go of its call and comes back to it."""
    releases: int = 0
    cuts: int = 0
    straggles: int = 0
    fades: int = 0
    sessions: int = 0
    """How often an HTTP session ends."""
    crashes: int = 0
    """How often the server's process ends. It goes on with what is on its disk, or without one with nothing."""
    hurries: int = 0
    """How often the network is slower than a timer. Without it the client always gets its answer in time."""
    oversleeps: int = 0
    """How often a machine is not woken when it should be, and hears something else first."""
    polls: int = 0
    copies: int = 0
    """How often a request that was sent arrives once more, at any time. Only with our extension: without it nothing
    tells a copy from another call."""
    intrusions: int = 0
    """How often somebody without the token of a stream tries all that there is to try, with every token but that."""
    rivals: int = 0
    """How many more clients take a call up. Not together with crashes of a client."""
    client_crashes: int = 0
    """How often the client's process ends. With it callers keep their calls where they outlive it, whenever they are
    asked to."""
    unasked_saves: int = 0
    """How often a caller keeps something although nobody has asked it to."""
    slow_saves: int = 0
    """How often what a caller keeps is not written at once."""
    slow_writes: int = 0
    """How many writes the transport does not take at once."""
    slow_takes: int = 0
    """How often the caller does not come back at once for more."""
    reads_ahead: int = 0
    """How much arrives although its reader has paused: a transport may have read it before."""
    slow_stops: int = 0
    """How often work that is told to stop does not hear it before it goes on."""

    # no numbers of events, but what the machines are like; they are never spent
    durable: int = 0
    """1: records go to a disk."""
    poll_first: int = 0
    """1: the client polls before it resumes."""
    max_unread: int = 0
    """Items that a call may have unread; 0 is the usual number."""
    stalls: int = 0
    """1: the server drops a connection that takes nothing for a while."""
    window: int = 0
    """Entries that a stream may have unconfirmed; 0 is the usual number."""
    room: int = 0
    """Bytes that all logs may hold together before something has to go; 0 is the usual number."""
    impatient: int = 0
    """1: the client has no time for more than one attempt that nobody answers."""

    @property
    def breaks(self) -> int:
        """How often anything breaks."""
        return self.cuts + self.straggles + self.fades + self.sessions

    def spend(self, name: str) -> Self:
        """Return the bounds once this has happened one time more."""
        return attrs.evolve(self, **{name: getattr(self, name) - 1})

    def __str__(self) -> str:
        values = ((field.name, getattr(self, field.name), field.default) for field in attrs.fields(type(self)))
        return " ".join(f"{name}={value}" for name, value, default in values if value != default)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` wrote.

        Raises:
            LocalProtocolError: There is no such bound, or it is no number, or more than `MOST`.
        """
        known = {field.name for field in attrs.fields(cls)}
        values = {}
        for part in text.split():
            name, _, value = part.partition("=")
            if name not in known or not (value.isascii() and value.isdecimal()):
                raise LocalProtocolError(f"{part} is no bound of a world")
            if len(value) > len(str(MOST)) or int(value) > MOST:
                raise LocalProtocolError(f"{name} is more than {MOST}")
            values[name] = int(value)
        return cls(**values)


OPTIONAL: Final = (
    "cancels",
    "detaches",
    "releases",
    "cuts",
    "straggles",
    "fades",
    "sessions",
    "crashes",
    "hurries",
    "oversleeps",
    "polls",
    "copies",
    "intrusions",
    "rivals",
    "client_crashes",
)
"""Bounds of what may happen at any moment, and need not. Each of these kinds of action is unreliable.

The others bound what does happen as long as any is left, or what somebody may wait for; or they are never spent.
"""
_optional = operator.attrgetter(*OPTIONAL)
_others = operator.attrgetter(*(field.name for field in attrs.fields(Bounds) if field.name not in OPTIONAL))


@functools.lru_cache(4_096)
def spent(bounds: Bounds, left: Bounds) -> tuple[int, ...]:
    """Return how often each thing has happened that may happen so often, and need not."""
    return tuple(map(operator.sub, _optional(bounds), _optional(left)))


def others(left: Bounds) -> tuple[int, ...]:
    """Return what is left of everything else."""
    return tuple(_others(left))
