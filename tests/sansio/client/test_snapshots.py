"""Machines with equal snapshots behave alike: each field of them shows in the snapshot, or it is said why it need not.

In machines to which all kinds of things have happened every field of every part is changed, one at a time. One by which
no snapshot ever differs stands in `UNSEEN`, with the reason. Of the same machines copies are made, which share nothing
that can change.
"""

from __future__ import annotations

import copy
import enum
import math
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Final

import attrs
import pytest

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.inputs import AnswerAsk
from mcpstreams_sansio.client.machine import Client
from mcpstreams_sansio.framing.sse import SSEEvent
from mcpstreams_sansio.http.exchange import Endpoint
from mcpstreams_sansio.ids import CallId, Entropy, Secret, StreamId
from mcpstreams_sansio.wire.handshake import ClientHello, ServerHello
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Message, Notification, Request, Response
from mcpstreams_sansio.wire.streams import (
    ResumeInterval,
    StreamCreate,
    StreamEnd,
    create_notification,
    end_notification,
)
from mcpstreams_sansio.wire.tags import tagged
from tests.sansio.client.conversation import ASK, CONFIG, Conversation, request_id
from tests.sansio.client.driving import DRAFT_HELLO, ENDPOINT, EVENTS, JSON, Driven, event

GIVEN_ONCE: Final = "given when the machine was made, and compared are those that were made alike"
DERIVED: Final = "follows from the calls, which are in it"
FRESH: Final = "it only matters that the next name is fresh"
RELATIVE: Final = "all times are relative to the moment for which the snapshot is taken"

UNSEEN: Final[dict[str, str]] = {
    "Response.id": "an answer stands under the id of its question",
    "Acks.most": GIVEN_ONCE,
    "Call.entropy": "of what comes from it the key is in it, and the jitter is luck",
    "Call.errands": FRESH,
    "Call.progress_token": "stands in the params as well, of which there is a digest",
    "Client.now": RELATIVE,
    "ClientPeer.framing": GIVEN_ONCE,
    "Connection.connection_id": "stands in the outbox as well",
    "ConnectionIds.next": FRESH,
    "Deadlines.heap": "the same moments, with some that do not count any more",
    "Deadlines.serial": "the order in which what is due at one moment is done",
    "Efforts.total": "leads to nothing but a backstop",
    "EventsBody.connection_id": "is its exchange's",
    "JSONBody.connection_id": "is its exchange's",
    "JSONBody.max_size": GIVEN_ONCE,
    "Exchanges.notices": "those of the exchanges whose errand says so, which is in it",
    "Ledger.answering": "those of the exchanges whose role says so, which is in it",
    "Ledger.asks": DERIVED,
    "Ledger.errands": DERIVED,
    "Ledger.highest_call": FRESH,
    "Ledger.now": RELATIVE,
    "Ledger.requests": DERIVED,
    "Ledger.streams": DERIVED,
    "Ledger.tokens": DERIVED,
    "LineSplitter.max_line_size": GIVEN_ONCE,
    "Outbox.framing": GIVEN_ONCE,
    "Outbox.max_write_bytes": GIVEN_ONCE,
    "Outbox.waiting_bytes": "the size of the chunks that wait, of which there are digests",
    "Positions.unread_bytes": "the size of the items that are unread, which is in it",
    "Positions.unsaved_bytes": "the size of those that are unsaved, likewise",
    "SSEDecoder.failure": "says why nothing is read any more, which is in it",
    "SSEDecoder.max_event_size": GIVEN_ONCE,
}
"""What does not show in a snapshot, and why two machines that differ by it behave alike."""

GIVEN: Final = (ClientConfig, ClientHello, Endpoint)
"""What a machine is made with: two that are compared were made alike."""


# ------------------------------------------------------------------------------------------- what happens to machines


def create(number: int) -> Message:
    """Return how the stream of a call is announced."""
    interval, meta = ResumeInterval(1.0, 60.0), {"mcpstreams/window": {"entries": 100, "bytes": 10_000}}
    stream_id = StreamId(f"s{number}")
    known = StreamCreate(stream_id, Secret(f"token of s{number}"), request_id(number), interval, meta)
    return tagged(create_notification(known), stream_id, 1)


def of(number: int, message: Message, sequence: int) -> Message:
    """Return a message of the stream of a call."""
    return tagged(message, StreamId(f"s{number}"), sequence)


TALK: Final = Notification("notifications/message", {"data": 1})


def multiplexed() -> Iterator[Driven]:
    """Live over connections that carry everything."""
    driven = Driven(config=attrs.evolve(CONFIG, max_unread=2))
    yield driven
    driven.notify()
    yield driven
    driven.connects(1)
    yield driven
    driven.greets()
    driven.call()
    driven.call()
    driven.slow = True
    driven.call()
    driven.call()
    yield driven
    for number in (1, 2, 3):
        driven.hears(create(number))
        driven.hears(of(number, TALK, 2))
        driven.hears(of(number, Request(f"q{number}", ASK), 3))
    driven.hears(Request("loose", ASK))
    yield driven
    driven.take(2)
    yield driven
    for number in (1, 2):
        driven.tell(AnswerAsk(CallId(number), f"q{number}", Response(f"q{number}", {})))
    yield driven
    driven.hears(of(1, TALK, 4))
    driven.hears(of(1, TALK, 5))
    driven.hears(of(1, TALK, 6))
    driven.hears(of(1, TALK, 7))
    yield driven
    driven.cancel(3)
    yield driven
    driven.hears(of(2, Response(request_id(2), {}), 4))
    yield driven
    driven.hears(of(2, end_notification(StreamEnd(StreamId("s2"))), 5))
    driven.receives(1, b'{"jsonrpc":')
    yield driven
    driven.wait(20.0)
    yield driven
    driven.cut(1)
    driven.notify()
    yield driven
    driven.wait(3.0)
    yield driven
    driven.slow = False
    driven.connects(2)
    driven.wait(1.0)
    yield driven
    driven.greets(2, 2)
    yield driven
    driven.closes()
    yield driven


def without_the_marker() -> Iterator[Driven]:
    """Live with a server that knows nothing of our extension."""
    driven = Driven(hello=DRAFT_HELLO, config=attrs.evolve(CONFIG, max_unread=1, poll_first=True))
    driven.is_up()
    driven.call()
    driven.hears(create(1))
    for number in range(4):
        driven.hears(Notification("notifications/progress", {"progressToken": request_id(1), "progress": number}))
    yield driven
    driven.cut(1)
    driven.wait(1.0)
    driven.connects(2)
    driven.greets(2, 2)
    driven.wait(3.0)
    yield driven


def attached_again() -> Iterator[Driven]:
    """Live with an answer that may be an old one."""
    driven = Driven()
    driven.is_up()
    driven.call()
    driven.hears(create(1))
    driven.hears(of(1, TALK, 3))
    driven.wait(1.0)
    driven.hears(ErrorResponse(request_id(1), 7, "no"))
    yield driven


def kept_beyond_its_process() -> Iterator[Driven]:
    """Live with a call that is stored, over sessions that end."""
    driven = Driven(ENDPOINT)
    driven.is_in_session()
    driven.call(stored=True)
    yield driven
    driven.saves()
    yield driven
    driven.heads(3, 200, EVENTS)
    driven.streams(3, event(create(1), "e1"), event(of(1, TALK, 2), "e2"), event(of(1, Request("q1", ASK), 3), "e3"))
    driven.saves()
    driven.tell(AnswerAsk(CallId(1), "q1", Response("q1", {})))
    driven.streams(3, event(of(1, TALK, 4), "e4"))
    driven.take(4)
    yield driven
    driven.call()
    driven.heads(4, 404)
    yield driven


def over_http() -> Iterator[Driven]:
    """Live over exchanges."""
    driven = Driven(ENDPOINT)
    driven.opens()
    yield driven
    driven.meets(1)
    yield driven
    driven.accepts(2)
    yield driven
    for _ in range(4):
        driven.call()
    driven.notify()
    yield driven
    driven.heads(3, 200, EVENTS)
    driven.streams(3, SSEEvent("", id="e1", retry_ms=7_000), event(create(1), "e2"), event(of(1, TALK, 2), "e3"))
    yield driven
    driven.streams(3, of(1, Request("q1", ASK), 3))
    driven.tell(AnswerAsk(CallId(1), "q1", Response("q1", {})))
    yield driven
    driven.receives(3, b"id: e5\nevent: other\nretry: 3\ndata: half")
    yield driven
    driven.heads(4, 200, JSON)
    driven.receives(4, b'{"jsonrpc":')
    driven.heads(5, 400, JSON)
    yield driven
    driven.take(2)
    driven.wait(6.0)
    yield driven
    driven.accepts(8)
    yield driven
    driven.cut(3)
    yield driven
    driven.wait(8.0)
    yield driven
    driven.heads(6, 404)
    yield driven
    driven.closes()
    yield driven


def lives() -> Iterator[tuple[Client, float]]:
    """Return copies of machines, and when they were made."""
    for life in (multiplexed, without_the_marker, attached_again, kept_beyond_its_process, over_http):
        for driven in life():
            yield driven.client.fork(), driven.now


# ------------------------------------------------------------------------------------------------ what they are made of


def parts(machine: Client) -> Iterator[tuple[object, str]]:
    """Return each field of everything that a machine is made of: the part, and the name of the field."""
    met: set[int] = set()
    waiting: list[object] = [machine]
    while waiting:
        each = waiting.pop()
        if id(each) in met or isinstance(each, (*GIVEN, ServerHello, Secret, Entropy, enum.Enum)):
            continue
        met.add(id(each))
        if isinstance(each, Mapping):
            waiting += each.values()
        elif isinstance(each, list | tuple | deque):
            waiting += each
        elif type(each).__module__.startswith("mcpstreams_sansio"):
            kind = type(each)
            names = list(attrs.fields_dict(kind)) if attrs.has(kind) else list(vars(each))
            waiting += [getattr(each, name) for name in names]
            yield from ((each, name) for name in names)


def another(value: object) -> object:
    """Return a value like this one, and different; None where there is none to be had."""
    if isinstance(value, enum.Enum):
        members = list(type(value))
        return members[(members.index(value) + 1) % len(members)]
    match value:
        case float():
            return value + 1.0 if math.isfinite(value) else 0.0
        case int():
            return value + 1
        case str():
            return value + "x"
        case bytes() | bytearray():
            return value + b"x"
        case _:
            return another_whole(value)


def another_whole(value: object) -> object:
    """Do so for what is not plain."""
    match value:
        case Secret():
            return Secret("another")
        case Entropy():
            return Entropy(b"another" * 5)
        case dict():
            return dict(list(value.items())[:-1]) if value else None
        case list() | tuple() | deque() | set():
            return type(value)(list(value)[:-1]) if value else None
        case _:
            return None


def shows(machine: Client, now: float, before: object, part: object, name: str) -> bool | None:
    """Say whether a change of this field shows in the snapshot; None if it cannot be changed."""
    value = getattr(part, name)
    changed = another(value)
    if changed is None:
        return None
    object.__setattr__(part, name, changed)
    try:
        return machine.snapshot(now) != before
    except (KeyError, IndexError, AttributeError, TypeError):
        return True  # it is looked at
    finally:
        object.__setattr__(part, name, value)


def test_each_field_shows_in_the_snapshot_or_has_a_reason_why_not() -> None:
    seen: set[str] = set()
    unseen: set[str] = set()
    for machine, now in lives():
        before = copy.deepcopy(machine.snapshot(now))  # what stands in it as it is must not change with the machine
        for part, name in list(parts(machine)):
            field = f"{type(part).__name__.lstrip('_')}.{name.lstrip('_')}"
            match shows(machine, now, before, part, name):
                case True:
                    seen.add(field)
                case False:
                    unseen.add(field)
                case None:
                    pass
    assert unseen - seen == set(UNSEEN)
    assert len(seen) > 100


def changeable(machine: Client) -> dict[int, str]:
    """Return everything of a machine that can change, by identity: its parts, and what its parts hold things in."""
    found: dict[int, str] = {}
    for part, name in parts(machine):
        if attrs.has(type(part)) and attrs.inspect(type(part)).is_frozen:
            continue
        found[id(part)] = type(part).__name__
        value = getattr(part, name)
        if isinstance(value, dict | list | deque | set | bytearray):
            found[id(value)] = f"{type(part).__name__}.{name}"
    return found


@pytest.mark.rule("R12")
def test_a_copy_shares_nothing_that_changes() -> None:
    kinds: set[str] = set()
    for machine, now in lives():
        copied = machine.fork()
        own, others = changeable(machine), changeable(copied)
        # What an application has given is never changed, so copies may have it in common.
        assert {own[each] for each in own.keys() & others.keys()} <= {"Call.params"}
        assert copied.snapshot(now) == machine.snapshot(now)
        kinds |= set(own.values())
    assert {"Client", "ClientStreams", "Ledger", "Call", "Acks", "Link", "ClientPeer", "HTTPClient"} <= kinds
    assert len(kinds) > 40


def cancelled_at(moment: float) -> Conversation:
    """Return a conversation whose call was cancelled then, and whose connection was lost later."""
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.creates()
    talk.now = moment
    talk.cancel()
    talk.now = 5.0
    talk.link_down()
    talk.link_up()
    return talk


def test_how_long_a_cancellation_is_still_tried_makes_a_difference() -> None:
    assert cancelled_at(0.0).streams.snapshot(5.0) != cancelled_at(3.0).streams.snapshot(5.0)


@pytest.mark.rule("Q7g")
def test_calls_that_are_alike_wait_alike() -> None:
    waiting = []
    for in_all in (0, 7):
        talk = Conversation(config=attrs.evolve(CONFIG, retry_jitter=1.0))
        talk.link_up()
        talk.call()
        talk.creates()
        talk.streams._ledger.calls[CallId(1)].efforts.total = in_all
        talk.link_down()
        waiting.append((talk.streams.snapshot(0.0), talk.streams.next_deadline()))
    assert waiting[0] == waiting[1]
