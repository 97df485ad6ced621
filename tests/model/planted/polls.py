"""Faults of what a server answers to a poll."""

from __future__ import annotations

from collections.abc import Callable

from mcpstreams_sansio.server import lifecycle, outbox, registry, replies, requests, stream, streams
from mcpstreams_sansio.server.inputs import PollReceived
from mcpstreams_sansio.wire.jsonrpc import Response, encode_message
from mcpstreams_sansio.wire.streams import PollResult
from tests.model.planted.fault import Found, Patch, around, planted


@planted(
    "rule Q8c",
    Found("multiplexed marker messages=0 asks=1 polls=1", "a poll tells the truth", 5),
)
def poll_forgets_questions(patch: Patch) -> None:
    """A poll says that nothing is asked although something is."""
    patch.setattr(stream.Stream, "has_pending_request", lambda _: False)


@planted(
    "rule P31",
    Found("multiplexed marker messages=0 polls=1", "a poll tells the truth", 4),
)
def poll_says_completed_while_the_work_runs(patch: Patch) -> None:
    """A poll takes every call for a completed one."""
    patch.setattr(requests, "PollResult", lambda stream_id, _, *said: PollResult(stream_id, "completed", *said))


@planted(
    "rule Q8c",
    Found("multiplexed marker messages=0 failures=1 polls=1", "a poll tells the truth", 5),
)
def poll_hides_an_error(patch: Patch) -> None:
    """A poll does not say that the answer is an error."""
    patch.setattr(stream.Stream, "has_pending_error", lambda _: False)


@planted(
    "rule Q8c",
    Found("multiplexed marker messages=0 failures=1 polls=1", "a poll tells the truth", 5),
)
def poll_invents_an_error(patch: Patch) -> None:
    """A poll takes every answer for an error."""
    patch.setattr(stream.Stream, "has_pending_error", lambda found: found.complete)


@planted(
    "rule Q8b",
    Found("multiplexed marker messages=0 polls=1", "a poll tells the truth", 5),
)
def poll_hides_messages(patch: Patch) -> None:
    """A poll never has news."""
    patch.setattr(stream.Stream, "has_pending_messages", lambda _: False)


@planted(
    "rule Q6e",
    Found("multiplexed marker messages=0 polls=1", "every call is settled", 4),
)
def poll_detaches(patch: Patch) -> None:
    """A poll takes the stream from the connection that delivers it."""

    def receive(known: registry.Registry, event: PollReceived) -> None:
        if known.streams[event.stream_id].attachment is not None:
            lifecycle.leave(known, known.streams[event.stream_id])
        requests.receive_poll(known, event)

    patch.setitem(streams._APPLY, PollReceived, receive)


@planted(
    "rule Q8b",
    Found("multiplexed marker messages=0 polls=1", "a poll tells the truth", 4),
    Found("http marker messages=0 cuts=1 poll_first=1", "a poll tells the truth", 9),
)
def poll_always_has_news(patch: Patch) -> None:
    """A poll says that something waits, whether anything does or not."""
    patch.setattr(stream.Stream, "has_pending_messages", lambda _: True)


@planted(
    "rule Q8b",
    Found("multiplexed marker cuts=1 polls=1", "a poll tells the truth", 7),
    Found("http marker cuts=1 polls=1", "a poll tells the truth", 7),
)
def poll_has_no_news_while_the_work_runs(patch: Patch) -> None:
    """A poll has news only of a call that is answered: who asks first lets its messages wait."""
    inner = stream.Stream.has_pending_messages
    patch.setattr(stream.Stream, "has_pending_messages", lambda asked: asked.complete and inner(asked))


@planted(
    "rule Q8d",
    Found("multiplexed marker cuts=1 polls=1", "a poll tells the truth", 6),
    Found("http draft cuts=1 polls=1", "a poll tells the truth", 6),
)
def poll_takes_what_was_sent_for_delivered(patch: Patch) -> None:
    """A poll has no news of what was sent to a client that is away, though it may not have arrived."""
    patch.setattr(stream.Stream, "_delivered", lambda asked: asked.log.sent)


@planted(
    "rule Q8b",
    Found("multiplexed marker polls=1", "a poll tells the truth", 5),
)
def poll_takes_what_is_on_its_way_for_waiting(patch: Patch) -> None:
    """A poll has news of what was given to the connection already, as long as it is not confirmed."""
    patch.setattr(stream.Stream, "_delivered", lambda asked: asked.log.confirmed)


@planted(
    "rule R9",
    Found("multiplexed marker messages=0 polls=1 durable=1", "durable before told", 4),
)
def poll_is_told_what_may_be_lost(patch: Patch) -> None:
    """A poll does not wait for the disk: of what it tells, a crash may leave nothing."""

    def answer(
        inner: Callable[..., None], known: registry.Registry, path: outbox.Connection, response: Response
    ) -> None:
        if "status" in response.result:
            replies._say(known, path, outbox.Answer(encode_message(response), response.id))
        else:
            inner(known, path, response)

    around(patch, replies, "answer", answer)
