"""The worlds in which this project checks itself, each with a name; and what all of them together have to meet."""

from __future__ import annotations

from typing import Final, final

import attrs

from mcpstreams_sansio.testing.world import StreamsWorld


@final
@attrs.frozen
class Configuration:
    """A world that is searched to its end, or as far as memory goes."""

    name: str
    """As one word."""
    setting: str
    """What `StreamsWorld.parse` reads."""
    max_states: int | None = None
    """Where to leave the search incomplete, unless somebody says otherwise; None is nowhere."""

    def world(self) -> StreamsWorld:
        """Return its first state.

        Raises:
            LocalProtocolError: The setting is none of a world of streams.
        """
        return StreamsWorld.parse(self.setting)


LARGE: Final = (
    Configuration("cuts", "multiplexed marker messages=4 cuts=4"),
    Configuration("rivals", "multiplexed marker cuts=1 rivals=1"),
    Configuration("http-cuts", "http marker messages=3 cuts=2"),
    Configuration("crashes-on-both-sides", "multiplexed marker crashes=1 client_crashes=1 durable=1"),
    Configuration("http-sessions", "http marker messages=0 cuts=1 cancels=1 sessions=1"),
    Configuration("http-disk", "http marker messages=3 cuts=1 durable=1 window=2"),
    Configuration("two-calls", "multiplexed marker calls=2 messages=0 cuts=1"),
    Configuration("http-rivals", "http marker rivals=1"),
    Configuration(
        "http-strangers", "http marker messages=0 failures=1 cancels=1 releases=1 polls=1 intrusions=1 slow_stops=1"
    ),
    Configuration("http-draft-crash-and-questions", "http draft asks=1 crashes=1 durable=1"),
    Configuration("cancels-from-both-sides", "multiplexed marker messages=0 cancels=1 straggles=1 fades=1"),
    Configuration("disk", "multiplexed marker cuts=1 hurries=1 durable=1"),
    Configuration("http-failures", "http marker failures=1 cancels=1 releases=1 slow_stops=1"),
    Configuration("http-answers", "http marker asks=1 fades=1"),
    Configuration("rivals-and-slow-callers", "multiplexed marker messages=2 slow_takes=1 rivals=1"),
    Configuration("restarts-and-stragglers", "multiplexed marker messages=0 straggles=1 client_crashes=1"),
    Configuration("releases", "multiplexed marker messages=0 cuts=1 detaches=1 releases=1"),
    Configuration("http-restarts-and-unread", "http marker messages=2 client_crashes=1 max_unread=1"),
    Configuration("http-polls-first", "http marker messages=0 cuts=1 hurries=1 poll_first=1"),
    Configuration("http-timers", "http marker messages=0 cuts=1 hurries=2"),
)
"""Worlds of a few thousand states and more, the largest one first."""

QUICK: Final = (
    Configuration("rivals-and-unread", "multiplexed marker messages=2 slow_takes=2 max_unread=1 rivals=1"),
    Configuration("unread", "multiplexed marker messages=2 cuts=1 slow_takes=2 max_unread=1"),
    Configuration("window", "multiplexed marker messages=3 window=2"),
    Configuration("strangers", "http marker messages=0 failures=1 intrusions=1"),
    Configuration("strangers-with-a-token", "multiplexed marker calls=2 messages=0 intrusions=1"),
    Configuration("http-releases", "http marker messages=0 cuts=1 releases=1"),
    Configuration("answers", "multiplexed marker asks=1 cuts=1"),
    Configuration("late-answers", "multiplexed marker asks=1 hurries=1"),
    Configuration("timers", "multiplexed marker messages=0 cuts=1 hurries=2"),
    Configuration("cancels", "multiplexed marker cancels=1 straggles=1"),
    Configuration("cancelled-questions", "multiplexed marker messages=0 asks=1 cancels=1 slow_stops=1"),
    Configuration("disk-and-cancelled-questions", "multiplexed marker messages=0 asks=1 cancels=1 durable=1"),
    Configuration("disk-and-cancels", "multiplexed marker messages=0 cuts=1 cancels=1 durable=1"),
    Configuration("failures", "multiplexed marker failures=1 detaches=1"),
    Configuration("detaches", "multiplexed marker messages=0 hurries=1 detaches=1"),
    Configuration("polls-first", "multiplexed marker messages=0 cancels=1 detaches=2 poll_first=1"),
    Configuration("unread-and-cancelled", "multiplexed marker messages=3 cancels=1 slow_takes=3 max_unread=1"),
    Configuration("unread-and-detached", "multiplexed marker messages=2 detaches=1 slow_takes=2 max_unread=1"),
    Configuration("slow-writes", "multiplexed marker messages=0 cuts=1 slow_writes=2 polls=1"),
    Configuration("stalls", "multiplexed marker hurries=1 slow_writes=1 stalls=1"),
    Configuration("late-wakes", "multiplexed marker messages=0 cuts=1 oversleeps=1 polls=1"),
    Configuration("late-wakes-and-questions", "multiplexed marker messages=0 asks=1 cuts=1 oversleeps=1"),
    Configuration("http-late-wakes", "http marker messages=0 cancels=1 cuts=1 oversleeps=1"),
    Configuration("lost-cancels", "multiplexed marker messages=0 cancels=1 cuts=2"),
    Configuration("http-lost-answers", "http marker messages=0 asks=1 cuts=1"),
    Configuration("http-stragglers", "http marker messages=0 cuts=1 straggles=1"),
    Configuration("draft-answers", "multiplexed draft asks=1 cuts=1"),
    Configuration("draft-crash-and-polls", "multiplexed draft asks=1 crashes=1 polls=1 durable=1"),
    Configuration("http-draft-polls", "http draft asks=1 cuts=1 polls=1"),
    Configuration("draft-cuts", "multiplexed draft messages=2 cuts=2"),
    Configuration("draft-stragglers", "multiplexed draft cuts=1 straggles=1"),
    Configuration("draft-slow-resumes", "multiplexed draft messages=2 cuts=2 slow_writes=4 poll_first=1 window=2"),
    Configuration("draft-cancels", "multiplexed draft cancels=1 cuts=1"),
    Configuration("draft-polls", "multiplexed draft messages=0 cuts=1 hurries=1 polls=1"),
    Configuration("stock", "multiplexed stock messages=0 cuts=1"),
    Configuration("http-stock-window", "http stock messages=3 slow_writes=2 window=2"),
    Configuration("http-stock-unread", "http stock messages=3 cuts=1 slow_takes=3 max_unread=1"),
    Configuration("stock-unread", "multiplexed stock messages=3 cuts=1 slow_takes=3 max_unread=1"),
    Configuration("http", "http marker messages=2 cuts=1 slow_takes=1"),
    Configuration("http-unread", "http marker messages=2 slow_takes=2 max_unread=1"),
    Configuration("http-stalls", "http marker hurries=1 slow_writes=1 stalls=1"),
    Configuration("crash", "multiplexed marker crashes=1 durable=1"),
    Configuration("crash-and-questions", "multiplexed marker messages=0 asks=1 crashes=1 durable=1"),
    Configuration("crash-and-cancels", "multiplexed marker messages=0 cancels=1 crashes=1 durable=1"),
    Configuration("crash-and-detaches", "multiplexed marker messages=0 detaches=1 crashes=1 durable=1"),
    Configuration("crash-and-polls", "multiplexed marker polls=1 crashes=1 durable=1"),
    Configuration("crash-and-timers", "multiplexed marker messages=0 hurries=1 crashes=1 durable=1"),
    Configuration("crash-and-slow-callers", "multiplexed marker messages=2 slow_takes=2 crashes=1 durable=1 window=2"),
    Configuration("two-crashes", "multiplexed marker messages=0 crashes=2 durable=1"),
    Configuration("crash-without-disk", "multiplexed marker messages=0 cuts=1 crashes=1"),
    Configuration("http-crash", "http marker messages=0 cuts=1 crashes=1 durable=1"),
    Configuration("http-crash-without-disk", "http marker messages=0 straggles=1 crashes=1"),
    Configuration("draft-crash", "multiplexed draft asks=1 crashes=1 durable=1"),
    Configuration("http-draft-crash", "http draft cuts=1 crashes=1 durable=1"),
    Configuration("http-stock-crash", "http stock asks=1 crashes=1 durable=1"),
    Configuration("rivals-and-questions", "multiplexed marker messages=0 asks=1 rivals=1"),
    Configuration("copies", "multiplexed marker messages=0 cuts=1 cancels=1 copies=1"),
    Configuration("crash-and-copies", "multiplexed marker messages=0 crashes=1 copies=1 durable=1"),
    Configuration("http-copies", "http marker messages=0 cancels=1 copies=1 durable=1"),
    Configuration("restarts", "multiplexed marker client_crashes=1 unasked_saves=1 slow_saves=1 slow_takes=1"),
    Configuration("two-restarts", "multiplexed marker messages=0 client_crashes=2"),
    Configuration("restarts-and-window", "multiplexed marker messages=3 client_crashes=1 window=2"),
    Configuration("restarts-and-timers", "multiplexed marker messages=0 hurries=1 client_crashes=1"),
    Configuration("restarts-and-questions", "multiplexed marker messages=0 asks=1 client_crashes=1"),
    Configuration("restarts-and-cancels", "multiplexed marker messages=0 cancels=1 client_crashes=1"),
    Configuration("restarts-and-detaches", "multiplexed marker messages=0 detaches=1 client_crashes=1"),
    Configuration("http-restarts-and-detaches", "http marker messages=0 detaches=1 client_crashes=1"),
    Configuration("http-restarts", "http marker client_crashes=1 slow_saves=1"),
    Configuration("http-unasked-saves", "http marker messages=0 client_crashes=1 unasked_saves=1"),
    Configuration("http-draft", "http draft messages=2 cuts=2"),
    Configuration("http-draft-restarts", "http draft messages=2 cuts=1 client_crashes=1"),
    Configuration("http-draft-sessions", "http draft messages=0 cuts=1 sessions=1 cancels=1"),
    Configuration("http-draft-timers", "http draft straggles=1 hurries=1"),
    Configuration("http-draft-stragglers", "http draft messages=0 cuts=1 straggles=1"),
    Configuration("http-draft-detaches", "http draft cuts=1 detaches=1"),
    Configuration("http-stock", "http stock asks=1 cuts=1 sessions=1"),
    Configuration("impatience", "multiplexed marker messages=0 cuts=1 hurries=1 poll_first=1 impatient=1"),
    Configuration("impatience-on-one-connection", "multiplexed marker messages=0 detaches=1 hurries=3 impatient=1"),
    Configuration("cancelled-while-writing", "multiplexed marker messages=0 cancels=1 slow_writes=2"),
    Configuration("lost-while-writing", "multiplexed stock cuts=1 slow_writes=2"),
    Configuration("acknowledged-while-writing", "multiplexed marker messages=0 poll_first=1 rivals=1 slow_writes=3"),
    Configuration("too-little-room", "multiplexed marker messages=0 calls=2 room=300"),
    Configuration("crash-and-room", "multiplexed marker crashes=1 durable=1 room=300"),
    Configuration("room-and-rivals", "multiplexed marker messages=0 rivals=1 room=300"),
    Configuration("http-read-ahead", "http marker messages=3 slow_takes=2 max_unread=1 reads_ahead=2"),
    Configuration("http-draft-read-ahead", "http draft messages=3 slow_takes=2 max_unread=1 reads_ahead=2"),
    Configuration("http-released-while-writing", "http marker messages=0 releases=1 slow_writes=3"),
    Configuration("http-session-ends-while-writing", "http stock messages=0 sessions=1 cuts=1 slow_writes=2"),
)
"""Smaller worlds. In them alone everything has to be met that is listed below."""

USUAL: Final = (*LARGE, *QUICK)
"""What is searched whenever the tests run."""

DEEP: Final = (
    Configuration(
        "deep-everything",
        "multiplexed marker messages=2 asks=1 cuts=2 crashes=1 polls=1 client_crashes=1 durable=1",
    ),
    Configuration(
        "deep-restarts-and-crashes", "multiplexed marker messages=3 cuts=3 crashes=1 client_crashes=1 durable=1"
    ),
    Configuration("deep-rivals", "multiplexed marker messages=2 cuts=2 rivals=1"),
    Configuration("deep-polls", "multiplexed marker messages=2 cuts=2 polls=2"),
    Configuration("deep-cuts", "multiplexed marker messages=6 cuts=6"),
    Configuration("deep-http", "http marker messages=4 cuts=4"),
    Configuration("deep-draft", "multiplexed draft messages=2 asks=1 cancels=1 cuts=2"),
    Configuration("deep-two-calls", "multiplexed marker calls=2 messages=2 cuts=2", 1_000_000),
    Configuration(
        "deep-http-everything",
        "http marker asks=1 cuts=2 crashes=1 polls=1 client_crashes=1 durable=1",
        1_000_000,
    ),
    Configuration(
        "deep-unasked-saves",
        "multiplexed marker messages=2 cuts=2 crashes=1 client_crashes=1 unasked_saves=1 durable=1",
    ),
    Configuration("deep-http-crash", "http marker messages=3 cuts=2 crashes=1 durable=1"),
    Configuration("deep-crash", "multiplexed marker messages=4 cuts=4 crashes=1 durable=1"),
    Configuration("deep-restarts", "multiplexed marker messages=4 cuts=4 client_crashes=1"),
    Configuration("deep-rivals-and-disk", "multiplexed marker cuts=1 crashes=1 rivals=1 durable=1"),
    Configuration("deep-copies", "http marker messages=0 cancels=1 crashes=1 copies=1 durable=1"),
)
"""What takes minutes to hours, and is searched besides when somebody asks for it."""

HAPPENINGS: Final = (
    "client -> attempt made resume",
    "client -> attempt made resend",
    "client -> attempt made cursor",
    "client -> attempt made poll",
    "client -> attempt made cancel",
    "client -> duplicate dropped",
    "client -> ask withdrawn",
    "client -> call detached",
    "client -> save due",
    "client -> pause reading",
    "client -> call finished CallResult",
    "client -> call finished CallFailed",
    "client -> call finished CallCancelled",
    "client -> call finished CallLost abandoned",
    "client -> call finished CallLost expired",
    "client -> call finished CallNotRun unreached",
    "client -> call finished CallLost stream_not_found",
    "client -> call finished OutcomeUnknown connection lost",
    "client -> call finished OutcomeUnknown interrupted",
    "client -> call finished OutcomeUnknown server changed",
    "client -> call finished OutcomeUnknown out of budget",
    "client -> call finished CallLost cancelled",
    "client -> call finished CallLost finished",
    "client -> call finished CallLost superseded",
    "client -> call finished CallNotRun unsaved",
    "client -> call finished OutcomeUnknown refused",
    "client -> gap found",
    "client -> leave path",
    "client -> read again",
    "client -> resume reading",
    "client <- call saved",
    "client <- outcome saved",
    "client <- retry received",
    "client <- path refused",
    "client <- path unsent",
    "server -> ask answered",
    "server -> ask failed stream gone",
    "server -> ask failed timed out",
    "server -> begin body empty",
    "server -> stop call abandoned",
    "server -> stop call cancelled",
    "server -> stop call session ended",
    "server -> hold messages",
    "server -> send more",
    "server -> refused cancelled",
    "server -> stream gone abandoned",
    "server -> stream gone cancelled",
    "server -> stream gone expired",
    "server -> stream gone finished",
    "server -> work interrupted",
    "server -> write log",
    "server -> drop connection stalled",
    "server -> stop call connection lost",
    "server -> stream gone not_resumable",
    "server <- recover",
    "server <- release stream",
    "server <- scope ended",
    "refused: abandoned",
    "refused: cancelled",
    "refused: expired",
    "refused: stream_not_found",
    "refused: superseded",
    "refused: already_attached",
    "refused: events_gone",
    "refused: finished",
    "refused: interrupted",
    "refused: invalid_cursor",
    "refused: too_early",
    "refused: too_many_streams",
    "lost: answer",
    "lost: close",
    "lost: cursor",
    "lost: head",
    "lost: mcpstreams/cancel",
    "lost: notifications/cancelled",
    "lost: notifications/mcpstreams/ack",
    "lost: notifications/progress",
    "lost: notifications/stream/create",
    "lost: notifications/stream/end",
    "lost: position",
    "lost: response",
    "lost: sampling/createMessage",
    "lost: stream/resume",
    "lost: tools/call",
)
"""What has to be met in the quick worlds together, besides every cell of both tables that can be met at all.

Otherwise the searches would prove less than they seem to.
"""
