"""Everything that a client knows of its calls and paths: the tables that the rooms beside this one work on.

The ledger finds, counts and remembers. What happens to a call is decided in `recovery.py` (how it gets to its server,
first and again), `endings.py` (how it ends), `delivery.py` (what comes on its path), `replies.py` (what the server
answers), `questions.py` (what the server asks), `answering.py` (how it is answered) and `cancelling.py`.
"""

from __future__ import annotations

from collections import deque
from enum import IntEnum, unique
from typing import Self, TypeAlias, final

import attrs

from mcpstreams_sansio.client.acks import Acks
from mcpstreams_sansio.client.asks import content_of
from mcpstreams_sansio.client.calls import Call
from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.connection_ids import ConnectionIds
from mcpstreams_sansio.client.effects import ClientStreamsEffect, LeavePath, SaveDue, SendOnPath
from mcpstreams_sansio.client.inputs import LinkUp, SavedCall, ServerTraits
from mcpstreams_sansio.client.table import SETTLED_FOR_CALLER, CallState
from mcpstreams_sansio.copies import shallow_copy
from mcpstreams_sansio.deadlines import Deadlines
from mcpstreams_sansio.ids import CallId, ConnectionId, RequestId, StreamId
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Message, Response


@unique
class TimerKind(IntEnum):
    """What a deadline is for."""

    CALL = 0
    """A call's pause, budget or patience; which one, its state says."""
    ANSWERS = 1
    """Answers of a call that were on their way in vain go out again (rule R24)."""
    ACKS = 2
    """What was taken is acknowledged (rule R6)."""


Timer: TypeAlias = tuple[TimerKind, CallId]

_NO_CALL = CallId(0)
"""Stands in for a call in the timer of the acknowledgements, which go together."""


@unique
class Role(IntEnum):
    """What an exchange of HTTP is for."""

    CALL = 0
    """The request of a call, a resume, a cursor, a poll, a cancellation: which one, the call's state says."""
    ANSWER = 1
    ACKS = 2


@final
@attrs.frozen
class Exchange:
    """One exchange of HTTP that is not over."""

    role: Role
    session: int
    """In which session it was begun: event ids of another mean nothing (case C5)."""
    call_id: CallId | None = None
    ask_id: RequestId | None = None


@final
@attrs.define(eq=False)
class Ledger:
    """The state of `ClientStreams`, and the effects of the input that is being handled."""

    config: ClientConfig
    acks: Acks
    connection_ids: ConnectionIds
    link: LinkUp | None = None
    """The link over which something can be sent now."""
    server: ServerTraits = ServerTraits()
    """What is known of the server, of the last one if the link is down."""
    session: int = 0
    """How many sessions of HTTP have ended."""
    calls: dict[CallId, Call] = attrs.field(factory=dict)
    highest_call: CallId = CallId(0)
    """Call ids rise, so this one number tells a new call from one that is over (rule R13)."""
    settling: dict[CallId, None] = attrs.field(factory=dict)
    """The answered calls among them, oldest first."""
    requests: dict[RequestId, CallId] = attrs.field(factory=dict)
    """The calls by the id of their request."""
    streams: dict[StreamId, CallId] = attrs.field(factory=dict)
    tokens: dict[RequestId, tuple[CallId, ...]] = attrs.field(factory=dict)
    """The calls by their progress token: all that names an untagged notification (rules Q4a, Q3e). An application that
    gives one to several calls gets the progress of all of them at the first that is not over."""
    errands: dict[RequestId, CallId] = attrs.field(factory=dict)
    """The calls by the id of a request about them that awaits its reply."""
    exchanges: dict[ConnectionId, Exchange] = attrs.field(factory=dict)
    asks: dict[RequestId, CallId] = attrs.field(factory=dict)
    """The call of each question that is remembered."""
    loose_asks: dict[RequestId, None] = attrs.field(factory=dict)
    """Open questions that belong to no call."""
    answering: set[ConnectionId] = attrs.field(factory=set)
    """The exchanges that carry answers."""
    held: dict[tuple[CallId, RequestId], None] = attrs.field(factory=dict)
    """Questions of calls whose answer waits until one of these exchanges is over."""
    replies: deque[Response | ErrorResponse] = attrs.field(factory=deque, repr=False)
    """Answers that belong to no call and wait for the same."""
    deadlines: Deadlines[Timer] = attrs.field(factory=Deadlines)
    now: float = float("-inf")
    effects: list[ClientStreamsEffect] = attrs.field(factory=list)

    @property
    def shared(self) -> ConnectionId | None:
        """The connection that carries everything, if there is one and it is up."""
        return None if self.link is None else self.link.shared

    @property
    def open_calls(self) -> int:
        """How many calls have no outcome, or a cancellation that the server does not know of."""
        return len(self.calls) - len(self.settling)

    @property
    def can_answer(self) -> bool:
        """Whether an answer can go out now, for all that there is a link."""
        return self.shared is not None or len(self.answering) < self.config.max_answering

    def call_of(self, path: ConnectionId) -> Call | None:
        """Return the call whose path an exchange is; it has no other, since it leaves one before it opens the next."""
        exchange = self.exchanges.get(path)
        if exchange is None or exchange.role is not Role.CALL or exchange.call_id is None:
            return None
        return self.calls[exchange.call_id]

    def named_by(self, token: RequestId) -> CallId | None:
        """Return the call whose progress a token names: one that has no outcome, if there is one."""
        calls = self.tokens.get(token, ())
        first = calls[0] if calls else None
        return next((call_id for call_id in calls if self.calls[call_id].state not in SETTLED_FOR_CALLER), first)

    def add(self, call: Call) -> None:
        """Take a call into every table."""
        self.calls[call.call_id] = call
        self.requests[call.request_id] = call.call_id
        self.tokens[call.progress_token] = (*self.tokens.get(call.progress_token, ()), call.call_id)
        if call.stream is not None:
            self.streams[call.stream.stream_id] = call.call_id
        for ask_id in call.asks.known():
            self.asks[ask_id] = call.call_id

    def remove(self, call: Call) -> None:
        """Forget a call, of which nothing is left."""
        assert call.state is CallState.FINISHED, "only what is finished is forgotten"
        self.forget_errand(call)
        self.leave(call)
        del self.calls[call.call_id]
        self.settling.pop(call.call_id, None)
        del self.requests[call.request_id]
        others = tuple(call_id for call_id in self.tokens.pop(call.progress_token) if call_id != call.call_id)
        if others:
            self.tokens[call.progress_token] = others
        if call.stream is not None:
            del self.streams[call.stream.stream_id]
        for ask_id in call.asks.known():
            del self.asks[ask_id]
            self.held.pop((call.call_id, ask_id), None)
        self.deadlines.clear((TimerKind.CALL, call.call_id))
        self.deadlines.clear((TimerKind.ANSWERS, call.call_id))

    def may_repeat(self, call: Call) -> bool:
        """Return whether the shared connection may still deliver an attachment of a call that is over for the call."""
        return self.shared is not None and call.last_path == self.shared

    def open_path(self, role: Role, call_id: CallId | None = None, ask_id: RequestId | None = None) -> ConnectionId:
        """Return where the next message can go: the shared connection, or an exchange that begins with it."""
        shared = self.shared
        if shared is not None:
            return shared
        connection_id = self.connection_ids.next()
        self.exchanges[connection_id] = Exchange(role, self.session, call_id, ask_id)
        if role is Role.ANSWER:
            self.answering.add(connection_id)
        return connection_id

    def send(self, path: ConnectionId, message: Message, last_event_id: str | None = None) -> None:
        """Send a message on a path."""
        self.effects.append(SendOnPath(path, message, last_event_id))

    def leave(self, call: Call) -> None:
        """Let go of a call's path, if it has one: an exchange is closed, a shared connection stays."""
        path, call.path = call.path, None
        if path is not None and self.exchanges.pop(path, None) is not None:
            self.effects.append(LeavePath(path))

    def abandon_path(self, call: Call) -> None:
        """Let go of a call's path without closing it: what was sent there may still arrive."""
        path, call.path = call.path, None
        if path is not None:
            self.exchanges.pop(path, None)

    def expect_reply(self, call: Call) -> RequestId:
        """Return the id of a new request about a call; its reply is the only one that counts from now on."""
        self.forget_errand(call)
        errand = call.next_errand(self.config.instance)
        self.errands[errand] = call.call_id
        return errand

    def forget_errand(self, call: Call) -> None:
        """Expect no reply to a request about a call any more."""
        if call.errand is not None:
            del self.errands[call.errand]
            call.errand = None

    def is_own(self, request_id: RequestId | None) -> bool:
        """Return whether a request id is one of this client's."""
        return isinstance(request_id, str) and request_id.startswith(f"{self.config.instance}-")

    def may_become_own(self, request_id: str) -> bool:
        """Return whether a request id is one that this client gives to a call which it has not made yet."""
        number = request_id.removeprefix(f"{self.config.instance}-")
        return number != request_id and number.isdecimal() and int(number) > self.highest_call

    def wake(self, call: Call, seconds: float, kind: TimerKind = TimerKind.CALL) -> None:
        """Come back to a call in so many seconds."""
        self.deadlines.set((kind, call.call_id), self.now + seconds)

    def wake_once(self, call: Call, seconds: float) -> None:
        """Come back to a call in so many seconds, unless that is planned already."""
        if (TimerKind.CALL, call.call_id) not in self.deadlines:
            self.wake(call, seconds)

    def let_sleep(self, call: Call) -> None:
        """Do not come back to a call by time."""
        self.deadlines.clear((TimerKind.CALL, call.call_id))

    def wake_for_acks(self, seconds: float) -> None:
        """Acknowledge in so many seconds, or sooner if that is planned already."""
        timer = (TimerKind.ACKS, _NO_CALL)
        planned = self.deadlines.when(timer)
        if planned is None or planned > self.now + seconds:
            self.deadlines.set(timer, self.now + seconds)

    def stop_waking_for_acks(self) -> None:
        """Nothing waits to be acknowledged."""
        self.deadlines.clear((TimerKind.ACKS, _NO_CALL))

    def want_saved(self, call: Call) -> None:
        """Have a call saved, as it stands now: it may have ended before anybody comes to ask for it (rule R13)."""
        self.effects.append(SaveDue(call.call_id, self.save(call, self.now)))

    def save(self, call: Call, now: float) -> SavedCall:
        """Return what brings a call back, with the session that its event id is bound to (rules R23, R27, case C5)."""
        saved = call.save(now)
        return attrs.evolve(saved, session=self._session_name() if _is_bound(saved) else None)

    def presentable(self, saved: SavedCall) -> str | None:
        """Return the event id of a saved call, unless it is bound to another session and means nothing (case C5)."""
        return None if _is_bound(saved) and saved.session != self._session_name() else saved.event_id

    def _session_name(self) -> str:
        return f"{self.config.instance}-{self.session}"

    def undecided(self) -> list[Call]:
        """Return the calls whose caller waits for an outcome."""
        return [call for call in self.calls.values() if call.state not in SETTLED_FOR_CALLER]

    def fork(self) -> Self:
        """Return an independent copy, for explorers and what-if questions; messages are shared."""
        copy = shallow_copy(self)
        copy.acks = self.acks.fork()
        copy.connection_ids = self.connection_ids.fork()
        copy.calls = {call_id: call.fork() for call_id, call in self.calls.items()}
        copy.settling = self.settling.copy()
        copy.requests = self.requests.copy()
        copy.streams = self.streams.copy()
        copy.tokens = self.tokens.copy()
        copy.errands = self.errands.copy()
        copy.exchanges = self.exchanges.copy()
        copy.asks = self.asks.copy()
        copy.loose_asks = self.loose_asks.copy()
        copy.answering = self.answering.copy()
        copy.held = self.held.copy()
        copy.replies = self.replies.copy()
        copy.deadlines = self.deadlines.fork()
        copy.effects = []
        return copy

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return a hashable value, equal for ledgers that will behave alike; times are relative to `now`."""
        return (
            self.link,
            self.server,
            tuple(call.snapshot(now, self.config) for call in self.calls.values()),
            tuple(f"{call.client}.{call.attempt}" for call in self.calls.values()),
            tuple(call.reserved and f"{call.client}.{call.reserved}" for call in self.calls.values()),
            tuple(call.session == self.session for call in self.calls.values()),
            tuple(self.may_repeat(call) for call in self.calls.values()),
            tuple(self.settling),
            frozenset(
                (path, exchange.role, exchange.session == self.session, exchange.call_id, exchange.ask_id)
                for path, exchange in self.exchanges.items()
            ),
            tuple(self.loose_asks),
            tuple(self.held),
            tuple((answer.id, content_of(answer)) for answer in self.replies),
            self.acks.snapshot(),
            self.deadlines.snapshot(now),
        )


def _is_bound(saved: SavedCall) -> bool:
    """Return whether nothing but its event id brings a call back, which means nothing in another session (case C5)."""
    return saved.key is None and saved.stream_id is None
