"""Every kind of loss, as the shortest way into it. How it then goes on is up to the world."""

from __future__ import annotations

from mcpstreams_sansio.testing import Kind, StreamsWorld, Transcript, record, reliable
from tests.model.ways import actions, walked

LOSSES: dict[str, tuple[str, str]] = {
    "cut before create": ("multiplexed marker cuts=1", "call k1, connect, up c1, cut c1"),
    "cut between messages": (
        "multiplexed marker messages=2 cuts=1",
        "call k1, connect, up c1, send k1, down c1, down c1, cut c1, send k1",
    ),
    "cut between the response and end": (
        "multiplexed marker cuts=1",
        "call k1, connect, up c1, send k1, succeed k1, down c1, down c1, down c1, cut c1",
    ),
    "cut during the replay": (
        "multiplexed marker messages=3 cuts=2",
        "call k1, connect, up c1, down c1, cut c1, send k1, send k1, connect, up c2, wait, up c2, down c2, cut c2",
    ),
    "cut during the replay of a resume, twice": (
        "http marker messages=2 cuts=3",
        "call k1, connect, up c1, down c1, down c1, down c1, cut c1, send k1, send k1, wait, up c2, down c2, down c2, "
        "down c2, cut c2, wait, up c3, down c3, down c3, cut c3, succeed k1",
    ),
    "half-open for ever": (
        "multiplexed marker messages=2 cuts=1",
        "call k1, connect, up c1, down c1, cut c1, send k1, connect",
    ),
    "a loss that is reported late": (
        "multiplexed marker messages=2 cuts=1",
        "call k1, connect, up c1, down c1, cut c1, connect, up c2, wait, up c2, notice c1, send k1",
    ),
    "an exchange of HTTP is cut": (
        "http marker messages=2 cuts=1",
        "call k1, connect, up c1, send k1, down c1, down c1, down c1, cut c1, send k1",
    ),
    "a cursor is all that is left": (
        "http stock messages=2 cuts=1",
        "call k1, connect, up c1, send k1, down c1, down c1, down c1, cut c1, send k1",
    ),
    "a peer that knows the draft alone, without cursors": (
        "multiplexed draft messages=2 cuts=1",
        "call k1, connect, up c1, send k1, down c1, down c1, cut c1, send k1",
    ),
    "a peer that knows no streams": (
        "multiplexed stock cuts=1",
        "call k1, connect, up c1, send k1, down c1, cut c1",
    ),
    "a call is sent again under its key": ("http marker cuts=1", "call k1, connect, cut c1"),
    "the first copy of a call arrives after the second": (
        "http marker straggles=1",
        "call k1, connect, straggle c1, wait, up c2, up c1",
    ),
    "the server crashes and recovers": (
        "multiplexed marker messages=2 crashes=1 durable=1",
        "call k1, connect, up c1, logged, send k1, logged, down c1, down c1, send k1, crash 0",
    ),
    "the server crashes while its records are being written": (
        "multiplexed marker crashes=1 durable=1",
        "call k1, connect, up c1, crash 1",
    ),
    "the server crashes without a disk": (
        "http marker crashes=1",
        "call k1, connect, crash 0, up c1",
    ),
    "an acknowledgement is lost": (
        "http marker cuts=1",
        "call k1, connect, up c1, send k1, succeed k1, " + "down c1, " * 7 + "cut c2",
    ),
    "a cancel races with the result": (
        "multiplexed marker cancels=1",
        "call k1, connect, up c1, send k1, down c1, cancel k1, succeed k1",
    ),
    "an answer is lost": (
        "multiplexed marker messages=0 asks=1 cuts=1",
        "call k1, connect, up c1, ask k1, down c1, down c1, answer k1, cut c1",
    ),
    "a question that belongs to no call": (
        "multiplexed draft messages=0 asks=1 cuts=1",
        "call k1, connect, up c1, ask k1, down c1, down c1, up c1, cut c1",
    ),
    "a question is withdrawn": (
        "multiplexed marker messages=0 asks=1 hurries=1",
        "call k1, connect, up c1, ask k1, down c1, down c1, hurry",
    ),
    "the server loses it first": (
        "multiplexed marker messages=2 fades=1",
        "call k1, connect, up c1, send k1, down c1, fade c1",
    ),
    "the server stalls": (
        "multiplexed marker hurries=1 slow_writes=1 stalls=1",
        "call k1, connect, up c1, hurry",
    ),
    "a write is taken late": (
        "multiplexed marker slow_writes=1 slow_takes=1",
        "call k1, connect, up c1, send k1, written c1, down c1, down c1, take k1",
    ),
    "somebody else polls, and somebody guesses": (
        "http marker polls=1 intrusions=1",
        "call k1, connect, up c1, poll k1, send k1, intrude k1",
    ),
    "a client polls before it resumes": (
        "http marker cuts=1 poll_first=1",
        "call k1, connect, up c1, down c1, down c1, down c1, cut c1",
    ),
    "two clients compete": (
        "multiplexed marker messages=2 slow_takes=1 rivals=1",
        "call k1, connect, up c1, down c1, send k1, rival k1, connect b, up c2",
    ),
    "two clients compete over HTTP": (
        "http marker cuts=1 rivals=1",
        "call k1, connect, up c1, down c1, down c1, down c1, rival k1, connect b, cut c1",
    ),
    "the process of the client ends": (
        "multiplexed marker messages=2 cuts=1 client_crashes=1",
        "call k1, connect, save k1, up c1, send k1, down c1, save k1, down c1, cut c1, connect, crash-client",
    ),
    "two calls": (
        "multiplexed marker calls=2 cuts=1",
        "call k1, call k2, connect, up c1, up c1, send k1, send k2, down c1, cut c1",
    ),
    "a session ends": ("http marker sessions=1", "call k1, connect, up c1, send k1, end-session"),
    "a disk is slow": ("http marker messages=2 cuts=1 durable=1", "call k1, connect, up c1, logged, send k1, cut c1"),
    "a call is let go and taken up": (
        "multiplexed marker detaches=1 releases=1",
        "call k1, connect, up c1, down c1, detach k1, send k1, down c1, attach k1, release k1",
    ),
    "work fails, and does not hear that it should stop": (
        "http marker messages=0 failures=1 cancels=1 slow_stops=1",
        "call k1, connect, up c1, down c1, down c1, down c1, cancel k1, up c2, fail k1",
    ),
    "a client reads no more": (
        "http marker messages=3 slow_takes=3 max_unread=1",
        "call k1, connect, up c1, send k1, send k1, " + "down c1, " * 5 + "take k1",
    ),
}
"""For each its world, and what happens there."""

_FIRST = [Kind.DOWN, Kind.UP, Kind.LOGGED, Kind.WRITTEN, Kind.TAKE, Kind.ANSWER, Kind.CONNECT, Kind.ATTACH, Kind.SAVE]
_ENOUGH = 200


def transcript_of(name: str) -> Transcript:
    """Walk into a loss and on from there, until every call is settled."""
    setting, way = LOSSES[name]
    world, path = walked(setting, way), actions(way)
    while not world.settled() and len(path) < _ENOUGH:
        possible = [action for action in world.actions() if reliable(action)]
        action = min(possible, key=lambda each: _FIRST.index(Kind(each.kind)) if each.kind in _FIRST else len(_FIRST))
        world.apply(action)
        path.append(action)
    assert world.settled()
    return record(StreamsWorld.parse(setting), path, [f"{name[0].upper()}{name[1:]}."])
