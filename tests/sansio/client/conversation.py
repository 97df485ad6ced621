"""A client's streams in conversation: a scripted server, an application and a clock.

Everything that the client does is a short text, so that a test reads like a protocol:

* `c1 <- call 1 #1`: it sends the request of call 1 on path `c1`, as attempt 1; `key` marks a keyed one
* `c2 <- resume s1 after 3 #2 at s1_3`: from position 3, with the header `Last-Event-ID`
* `1: progress 5 @6`: the application of call 1 gets message 5, which stands at position 6
* `1: ends with result`: and so on, for each outcome

With a shared connection each `link_up` names the next path; with HTTP each message that is sent does.
"""

from __future__ import annotations

import functools
from typing import Final, final

import attrs

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.effects import (
    AskReceived,
    AskWithdrawn,
    AttemptMade,
    CallCancelled,
    CallDetached,
    CallFailed,
    CallFinished,
    CallLost,
    CallNotRun,
    CallResult,
    ClientStreamsEffect,
    DuplicateDropped,
    GapFound,
    ItemReceived,
    LeavePath,
    Outcome,
    OutcomeUnknown,
    PauseReading,
    ReadAgain,
    ReplyDropped,
    ResumeReading,
    SaveDue,
    SendOnPath,
    UnclaimedMessage,
)
from mcpstreams_sansio.client.inputs import (
    AnswerAsk,
    AttachCall,
    CallSaved,
    CancelCall,
    ClientStreamsInput,
    DetachCall,
    LinkDown,
    LinkUp,
    MakeCall,
    MessageReceived,
    OutcomeSaved,
    PathAccepted,
    PathRefused,
    PositionReceived,
    RetryReceived,
    SavedCall,
    ServerTraits,
    TakeMessages,
)
from mcpstreams_sansio.client.streams import ClientStreams
from mcpstreams_sansio.client.table import CallState
from mcpstreams_sansio.connections import ConnectionLost, DeadlineReached
from mcpstreams_sansio.ids import CallId, ConnectionId, Entropy, RequestId, Secret, StreamId
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject, Message, Notification, Request, Response
from mcpstreams_sansio.wire.marker import Window, read_ack_notification
from mcpstreams_sansio.wire.meta import meta_of, parse_call_key, read_after, read_attempt
from mcpstreams_sansio.wire.refusals import Reason, refusal
from mcpstreams_sansio.wire.streams import (
    PollResult,
    ResumeInterval,
    StreamCreate,
    StreamEnd,
    create_notification,
    end_notification,
    poll_response,
)
from mcpstreams_sansio.wire.tags import tagged
from tests.sansio.client.invariants import check_invariants

INSTANCE: Final = "instance"
ASK: Final = "sampling/createMessage"
FAILURE: Final = 7
MARKER: Final = ServerTraits(True, "server-1", 1_000.0)
DRAFT: Final = ServerTraits()
CONFIG: Final = ClientConfig(
    instance=INSTANCE, retry_floor=1.0, retry_ceiling=8.0, retry_jitter=0.0, ack_interval=1_000.0
)
"""Without jitter, so that every pause is a round number; and only who is concerned with acknowledgements sees any."""


def request_id(number: int) -> str:
    """Return the id of the request of a call."""
    return f"{INSTANCE}-{number}"


def progress(number: int, token: RequestId = "p") -> Notification:
    """Return the server's message `number`."""
    return Notification("notifications/progress", {"progressToken": token, "progress": number})


def gist(message: Message) -> str:
    """Return what a message is, in a word or two."""
    match message:
        case Notification("notifications/progress", dict(params)):
            return f"progress {params['progress']}"
        case Request(id=asked, method=method):
            return f"{method} {asked}"
        case Notification(method=method):
            return method
        case Response(id=answered):
            return f"result {answered}"
        case ErrorResponse(id=answered, code=code):
            return f"error {code} {answered}"


def told_to_server(message: Message) -> str:
    """Return what the client says to its server."""
    match message:
        case Request(method="stream/resume", params=params):
            after, attempt = read_after(params), read_attempt(params)
            where = "" if after is None else f" after {after}"
            return f"resume {named(params)}{where}" + ("" if attempt is None else f" #{attempt.number}")
        case Request(method="stream/poll", params=params):
            return f"poll {named(params)}"
        case Request(method="mcpstreams/cancel", params=params):
            return f"cancel {named(params)}"
        case Request(id=asked, params=params):
            attempt = read_attempt(params)
            key = "" if parse_call_key(params) is None else " key"
            return f"call {number_of(asked)}{key}" + ("" if attempt is None else f" #{attempt.number}")
        case Notification("notifications/mcpstreams/ack", params):
            acks = read_ack_notification(params)
            assert all(ack.resume_token == Secret(f"token of {ack.stream_id}") for ack in acks), "rule R6"
            return "ack " + ", ".join(f"{ack.stream_id} {ack.through}" for ack in acks)
        case Notification("notifications/cancelled", dict(params)):
            key = "" if parse_call_key(params) is None else " key"
            return f"cancelled {number_of(params['requestId'])}{key}"
        case _:
            return gist(message)


def named(params: JSONObject | None) -> object:
    """Return which stream a request is about; it has to present the token that `create` gave."""
    assert params is not None
    assert params["resumeToken"] == f"token of {params['streamId']}"
    return params["streamId"]


def number_of(asked: object) -> str:
    """Return a request's id without what all of this client's begin with."""
    assert isinstance(asked, str)
    return asked.removeprefix(f"{INSTANCE}-")


def ending(outcome: Outcome) -> str:
    """Return what became of a call."""
    match outcome:
        case CallResult():
            return "result"
        case CallFailed(error):
            return f"failure {error.code}"
        case CallLost(reason):
            return f"loss: {reason.value}"
        case OutcomeUnknown(doubt):
            return f"doubt: {doubt.value}"
        case CallNotRun(why):
            return f"not run: {why.value}"
        case CallCancelled():
            return "cancelled"


def has_tag(params: JSONObject | None) -> bool:
    """Say whether the application is shown what is none of its business (rule R4)."""
    return any(key.startswith("mcpstreams/") for key in meta_of(params))


@functools.singledispatch
def told(effect: object) -> str:
    """Return what the client does."""
    raise TypeError(f"{type(effect).__name__} is no effect of a client's streams")


@told.register
def _(effect: SendOnPath) -> str:
    cursor = "" if effect.last_event_id is None else f" at {effect.last_event_id}"
    return f"c{effect.connection_id} <- {told_to_server(effect.message)}{cursor}"


@told.register
def _(effect: ReadAgain) -> str:
    return f"c{effect.connection_id} <- get at {effect.last_event_id}"


@told.register
def _(effect: LeavePath) -> str:
    return f"leave c{effect.connection_id}"


@told.register
def _(effect: PauseReading) -> str:
    return f"pause c{effect.connection_id}"


@told.register
def _(effect: ResumeReading) -> str:
    return f"read c{effect.connection_id}"


@told.register
def _(effect: ItemReceived) -> str:
    assert not has_tag(effect.message.params)
    return f"{effect.call_id}: {gist(effect.message)} @{effect.position}"


@told.register
def _(effect: GapFound) -> str:
    return f"{effect.call_id}: gap of {effect.lost} @{effect.position}"


@told.register
def _(effect: AskReceived) -> str:
    assert not has_tag(effect.params)
    return f"{effect.call_id}: asked {effect.ask_id} @{effect.position}"


@told.register
def _(effect: AskWithdrawn) -> str:
    return f"{effect.call_id}: withdrawn {effect.ask_id}"


@told.register
def _(effect: CallFinished) -> str:
    return f"{effect.call_id}: ends with {ending(effect.outcome)} @{effect.position}"


@told.register
def _(effect: CallDetached) -> str:
    return f"{effect.call_id}: detached @{effect.saved.taken}"


@told.register
def _(effect: AttemptMade) -> str:
    return f"{effect.call_id}: tries {effect.recovery.value}"


@told.register
def _(effect: DuplicateDropped) -> str:
    return f"{effect.call_id}: drops @{effect.position}"


@told.register
def _(effect: ReplyDropped) -> str:
    return f"drops the reply to {effect.request_id}"


@told.register
def _(effect: SaveDue) -> str:
    return f"{effect.call_id}: to be saved"


@told.register
def _(effect: UnclaimedMessage) -> str:
    return f"c{effect.connection_id}: stray {gist(effect.message)}"


@final
@attrs.define(eq=False)
class Conversation:
    """One client's streams. Every method returns what the client does, as texts."""

    http: bool = False
    server: ServerTraits = MARKER
    config: ClientConfig = CONFIG
    now: float = 0.0
    shared: int = 0
    """The latest connection that carries everything."""
    calls: int = 0
    streams: ClientStreams = attrs.field(init=False)

    @streams.default
    def _make(self) -> ClientStreams:
        return ClientStreams(self.config)

    def tell(self, *events: ClientStreamsInput) -> list[str]:
        """Tell the client something, and return what it does."""
        return [told(effect) for effect in self.effects(*events)]

    def effects(self, *events: ClientStreamsInput) -> list[ClientStreamsEffect]:
        """The same, as effects."""
        effects: list[ClientStreamsEffect] = []
        for event in events:
            done = self.streams.handle(event, self.now)
            check_invariants(self.streams, self.now)
            self._check_saves(done)
            effects += done
        return effects

    def _check_saves(self, effects: list[ClientStreamsEffect]) -> None:
        """What is to be saved comes as it stands after the input, and never behind the end of its call (rule R13)."""
        over: set[CallId] = set()
        latest: dict[CallId, SavedCall] = {}
        for effect in effects:
            if isinstance(effect, CallFinished | CallDetached):
                over.add(effect.call_id)
            elif isinstance(effect, SaveDue):
                assert effect.call_id not in over
                latest[effect.call_id] = effect.saved
        for call_id, saved in latest.items():
            assert self.streams.save(call_id, self.now) in (saved, None)

    # ----------------------------------------------------------------------------------------------------------- link

    def link_up(self) -> list[str]:
        """There is a link: over a new connection, or as a new session."""
        if self.http:
            return self.tell(LinkUp(None, self.server))
        self.shared += 1
        return self.tell(LinkUp(ConnectionId(self.shared), self.server))

    def link_down(self) -> list[str]:
        """It is gone."""
        return self.tell(LinkDown())

    def cut(self, path: int) -> list[str]:
        """A path is lost."""
        return self.tell(ConnectionLost(ConnectionId(path)))

    def accepts(self, path: int) -> list[str]:
        """The server takes what was sent on an exchange."""
        return self.tell(PathAccepted(ConnectionId(path)))

    def refuses(self, path: int, status: int, retry_after: float | None = None) -> list[str]:
        """The server does not."""
        return self.tell(PathRefused(ConnectionId(path), status, retry_after))

    def wait(self, seconds: float) -> list[str]:
        """Time passes, and every deadline on the way is kept."""
        end = self.now + seconds
        done: list[str] = []
        while (deadline := self.streams.next_deadline()) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            done += self.tell(DeadlineReached())
        self.now = end
        return done

    # ---------------------------------------------------------------------------------------------------- application

    def call(self, params: JSONObject | None = None, *, stored: bool = False) -> list[str]:
        """The application makes its next call, and keeps it beyond its process or not."""
        self.calls += 1
        seed = Entropy(b"%032d" % self.calls)
        return self.tell(MakeCall(CallId(self.calls), "tools/call", params or {"name": "tool"}, seed, stored))

    def attach(self, saved: SavedCall, *, stored: bool = False) -> list[str]:
        """The application goes on with a saved call."""
        self.calls += 1
        return self.tell(AttachCall(CallId(self.calls), saved, Entropy(b"%032d" % self.calls), stored))

    def save(self, number: int = 1) -> SavedCall:
        """The application asks for what brings a call back."""
        saved = self.may_save(number)
        assert saved is not None, "it is not over"
        return saved

    def may_save(self, number: int = 1) -> SavedCall | None:
        """The same, of a call that may be over."""
        return self.streams.save(CallId(number), self.now)

    def saves(self, number: int = 1) -> list[str]:
        """It does so, and has it where it outlives its process."""
        return self.tell(CallSaved(CallId(number), self.save(number)))

    def saved(self, saved: SavedCall, number: int = 1) -> list[str]:
        """It has this there by now."""
        return self.tell(CallSaved(CallId(number), saved))

    def keeps_outcome(self, number: int = 1) -> list[str]:
        """It has the outcome there."""
        return self.tell(OutcomeSaved(CallId(number)))

    def take(self, through: int, number: int = 1) -> list[str]:
        """The application has everything up to here."""
        return self.tell(TakeMessages(CallId(number), through))

    def cancel(self, number: int = 1) -> list[str]:
        """The application does not want the result any more."""
        return self.tell(CancelCall(CallId(number)))

    def detach(self, number: int = 1) -> SavedCall:
        """The application lets go of a call."""
        effects = self.effects(DetachCall(CallId(number)))
        return next(effect.saved for effect in effects if isinstance(effect, CallDetached))

    def answer(self, ask_id: RequestId, number: int | None = 1) -> list[str]:
        """The application answers a question."""
        call_id = None if number is None else CallId(number)
        return self.tell(AnswerAsk(call_id, ask_id, Response(ask_id, {"role": "user"})))

    def state(self, number: int = 1) -> CallState | None:
        """Return where a call stands."""
        return self.streams.state_of(CallId(number))

    # ---------------------------------------------------------------------------------------------------------- server

    def says(self, message: Message, path: int | None = None, event_id: str | None = None, size: int = 0) -> list[str]:
        """The server sends a message on a path; on the shared connection unless another is named."""
        connection_id = ConnectionId(self.shared if path is None else path)
        return self.tell(MessageReceived(connection_id, message, event_id, size))

    def sends(self, message: Message, sequence: int, path: int | None = None, stream: str = "s1") -> list[str]:
        """The server sends a message of a stream, with its tag and, over HTTP, its event id."""
        event_id = f"{stream}_{sequence}" if self.http else None
        if self.server.marker:
            message = tagged(message, StreamId(stream), sequence)
        return self.says(message, path, event_id, size=100)

    def creates(
        self,
        path: int | None = None,
        number: int = 1,
        interval: ResumeInterval | None = None,
        window: Window | None = None,
    ) -> list[str]:
        """The server announces the stream of a call: `s1` for call 1."""
        stream = f"s{number}"
        meta = None if window is None else {"mcpstreams/window": {"entries": window.entries, "bytes": window.bytes}}
        token = Secret(f"token of {stream}")
        create = StreamCreate(StreamId(stream), token, request_id(number), interval, meta)
        return self.sends(create_notification(create), 1, path, stream)

    def progresses(self, sequence: int, path: int | None = None, number: int = 1) -> list[str]:
        """The server sends the message of a position: its number is one less, since `create` comes first."""
        message = progress(sequence - 1, request_id(number))
        return self.sends(message, sequence, path, f"s{number}")

    def asks(self, sequence: int, ask_id: str = "q1", path: int | None = None, number: int = 1) -> list[str]:
        """The server asks something inside a call."""
        return self.sends(Request(ask_id, ASK, {"messages": []}), sequence, path, f"s{number}")

    def withdraws(self, sequence: int, ask_id: str = "q1", path: int | None = None) -> list[str]:
        """The server no longer wants to know."""
        return self.sends(Notification("notifications/cancelled", {"requestId": ask_id}), sequence, path)

    def responds(self, sequence: int, path: int | None = None, number: int = 1) -> list[str]:
        """The server answers a call with its result."""
        return self.sends(Response(request_id(number), {"content": []}), sequence, path, f"s{number}")

    def fails(self, sequence: int, path: int | None = None, number: int = 1) -> list[str]:
        """The server answers a call with an error, which has no place for a tag."""
        return self.sends(ErrorResponse(request_id(number), FAILURE, "no"), sequence, path, f"s{number}")

    def ends(self, sequence: int, path: int | None = None, number: int = 1) -> list[str]:
        """The server ends a stream."""
        return self.sends(end_notification(StreamEnd(StreamId(f"s{number}"))), sequence, path, f"s{number}")

    def primes(self, position: int, path: int, stream: str = "s1") -> list[str]:
        """An event without a message says where its exchange begins."""
        return self.tell(PositionReceived(ConnectionId(path), f"{stream}_{position}"))

    def asks_to_wait(self, retry_ms: int, path: int) -> list[str]:
        """An event names the pause before the next reconnect."""
        return self.tell(RetryReceived(ConnectionId(path), retry_ms))

    def replies(self, errand: str, path: int | None = None) -> list[str]:
        """The server answers a request about a call with an empty result."""
        return self.says(Response(f"{INSTANCE}-{errand}", {}), path)

    def polled(
        self,
        errand: str,
        path: int | None = None,
        *,
        completed: bool = False,
        pending: bool = False,
        asking: bool = False,
        stream: str = "s1",
    ) -> list[str]:
        """The server says how a stream stands."""
        status = PollResult(StreamId(stream), "completed" if completed else "live", pending, asking, False)
        return self.says(poll_response(f"{INSTANCE}-{errand}", status), path)

    def rejects(
        self,
        errand: str | None,
        reason: Reason,
        path: int | None = None,
        *,
        first_available: int | None = None,
        lost: int | None = None,
        retry_after: float | None = None,
    ) -> list[str]:
        """The server refuses a request for one of the reasons that the protocol foresees."""
        answered = None if errand is None else f"{INSTANCE}-{errand}"
        error = refusal(answered, reason, first_available=first_available, lost=lost, retry_after=retry_after)
        return self.says(error, path)
