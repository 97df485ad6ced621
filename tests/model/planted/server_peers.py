"""Faults of a server towards its peers: keys, and questions."""

from __future__ import annotations

from collections.abc import Callable

from mcpstreams_sansio.server import (
    attachments,
    keys,
    paths,
    production,
    registry,
    replies,
    requests,
    stream,
    streams,
)
from mcpstreams_sansio.server.inputs import AnswerReceived
from tests.model.planted.fault import Found, Patch, around, nothing, planted


@planted(
    "rule R21",
    Found("multiplexed marker messages=0 cuts=1", "a call runs once", 7),
    Found("http marker messages=0 cuts=1", "a call runs once", 7),
)
def key_is_ignored(patch: Patch) -> None:
    """A call that is sent again is a new one."""
    patch.setattr(keys.Keys, "find", nothing)


@planted(
    "rule R21",
    Found("multiplexed marker messages=0 straggles=1", "a call runs once", 12),
    Found("http marker messages=0 detaches=1", "a call runs once", 14),
)
def key_goes_with_its_stream(patch: Patch) -> None:
    """The key of a call is forgotten as soon as its stream is over."""
    patch.setattr(keys.Keys, "close", lambda known, digest, _: known._entries.pop(digest, None))


@planted(
    "rule R21",
    Found("http marker messages=0 cancels=1", "what is cancelled never starts", 5),
)
def key_cancelled_before_its_call_is_forgotten(patch: Patch) -> None:
    """A cancellation that overtakes its call is without effect."""
    patch.setattr(keys.Keys, "cancel", nothing)


@planted(
    "case A1",
    Found("multiplexed marker messages=0 intrusions=1", "no access without the token", 4),
)
def everybody_is_at_home(patch: Patch) -> None:
    """An id counts on every connection, not only where its stream is at home."""
    patch.setattr(requests, "_at_home", lambda *_: True)


@planted(
    "rule Q4c",
    Found("multiplexed marker messages=0 asks=1 intrusions=1", "no access without the token", 5),
)
def anybody_may_answer(patch: Patch) -> None:
    """An answer counts wherever it comes from."""
    patch.setattr(requests, "_may_answer", lambda *_: True)


@planted(
    "rule R24",
    Found("multiplexed marker messages=0 asks=1 cancels=1 slow_stops=1", "memory within limits", 6),
)
def closed_stream_keeps_its_questions(patch: Patch) -> None:
    """The questions of a stream that is over stay open."""
    patch.setattr(production, "close_asks", nothing)


@planted(
    "rule Q4c",
    Found("multiplexed draft messages=0 asks=1 cuts=1", "a question is answered once", 8),
)
def answer_counts_twice(patch: Patch) -> None:
    """A question stays open when it is answered."""

    def receive(known: registry.Registry, event: AnswerReceived) -> None:
        asks = [(asking, dict(asking.asks)) for asking in known.streams.values()]
        requests.receive_answer(known, event)
        for asking, before in asks:
            asking.asks.update(before)

    patch.setattr(registry.Registry, "drop_ask", nothing)
    patch.setitem(streams._APPLY, AnswerReceived, receive)


@planted(
    "rule R24",
    Found("multiplexed marker messages=0 asks=1", "an answer arrives", 11),
)
def answer_is_not_handed_over(patch: Patch) -> None:
    """An answer is taken, and the application does not hear of it."""
    patch.setitem(streams._APPLY, AnswerReceived, paths.accept)


@planted(
    "rule Q4d",
    Found("multiplexed marker messages=0 asks=1 detaches=1", "a question arrives", 10),
)
def question_is_not_asked_again(patch: Patch) -> None:
    """A question that the client may have is not repeated when it comes back."""

    def attach(inner: Callable[..., None], known: registry.Registry, resumed: stream.Stream, *where: object) -> None:
        inner(known, resumed, *where)
        stream.attachment_of(resumed).repeats.clear()

    around(patch, attachments, "attach", attach)


@planted(
    "rule P28",
    Found("multiplexed marker messages=0 polls=1", "one reply", 4),
)
def poll_is_answered_twice(patch: Patch) -> None:
    """Whoever polls is told the same two times."""

    def answer(inner: Callable[..., None], *about: object) -> None:
        inner(*about)
        inner(*about)

    around(patch, replies, "answer", answer)
