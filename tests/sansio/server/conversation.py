"""A server's streams in conversation: clients that read, a disk, an application and a clock.

What a client heard, what the application was told and what could be observed are lists of short texts, so that a test
reads like a protocol. `heard` of an event stream begins with the position that the event's id names, `-` where it has
no id: `["0", "1 create", "- ask q1", "2 progress 1", ":", "retry 1000"]`.

The driver keeps its contract in every test (rules R11, R26): effects are carried out in order, each `Write` is reported
once, and what must hold after every input is checked after every input.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

import attrs

from mcpstreams_sansio.connections import (
    ConnectionLost,
    DeadlineReached,
    DropConnection,
    DropReason,
    EndOfFile,
    EndWriting,
    Framing,
    Write,
    Written,
)
from mcpstreams_sansio.framing.event_ids import parse_event_id
from mcpstreams_sansio.framing.sse import SSEDecoder
from mcpstreams_sansio.ids import Address, ConnectionId, Digest, Entropy, Principal, RequestId, Secret, StreamId
from mcpstreams_sansio.server.calls import BodyPolicy, CallPolicy, Peer, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import (
    AskAnswered,
    AskFailed,
    BeginBody,
    BodyKind,
    StreamAttached,
    StreamDetached,
    StreamGone,
    StreamsEffect,
    WorkInterrupted,
    WriteLog,
)
from mcpstreams_sansio.server.inputs import (
    Accept,
    AckReceived,
    AnswerReceived,
    AskPeer,
    CallReceived,
    CancelledReceived,
    CancelReceived,
    ConnectionOpened,
    CursorReceived,
    Drain,
    LogFailed,
    LogWritten,
    OpenStream,
    PollReceived,
    Recover,
    ReleaseStream,
    Reply,
    Respond,
    ResumeReceived,
    Scope,
    ScopeEnded,
    SendMessage,
    StreamsInput,
    WithdrawAsk,
)
from mcpstreams_sansio.server.records import LogRecord
from mcpstreams_sansio.server.streams import ServerStreams
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.wire.jsonrpc import (
    ErrorResponse,
    JSONObject,
    Message,
    Notification,
    Request,
    Response,
    decode_message,
)
from mcpstreams_sansio.wire.marker import Attempt
from mcpstreams_sansio.wire.revisions import AfterLoss
from mcpstreams_sansio.wire.streams import ResumeInterval, StreamCreate, read_create, read_poll_result
from tests.sansio.server.invariants import check_invariants
from tests.sansio.server.words import flags, gist, interruption, seen, told

STOCK = Peer(capabilities=frozenset({"sampling"}))
"""A client that knows nothing of the draft."""
DRAFT = Peer(streams=True, capabilities=frozenset({"sampling"}))
"""A client that declared `streams` and no more."""
MARKER = Peer(streams=True, marker=True, capabilities=frozenset({"sampling"}))
"""A client that speaks our extension too."""

METHOD = "tools/call"
ASK = "sampling/createMessage"
KEY = "a-key-of-some-length-000"


def token_of(stream: str) -> Secret:
    """Return the token that `call` gives to a stream."""
    return Secret(f"token of {stream}")


def progress(number: int, size: int = 0) -> Notification:
    """Return the application's message `number`, made larger by `size` characters."""
    params: JSONObject = {"progressToken": "p", "progress": number}
    return Notification("notifications/progress", {**params, "message": "x" * size} if size else params)


class Way(Enum):
    """What became of a connection, as its client sees it."""

    OPEN = "open"
    ENDED = "ended"
    DROPPED = "dropped"
    LOST = "lost"


@attrs.define(eq=False)
class Client:
    """The far end of one connection: it says what a client can say, and remembers what it was sent."""

    talk: Conversation
    connection_id: ConnectionId
    framing: Framing
    way: Way = Way.OPEN
    reads: bool = True
    """Whether what is written is taken at once; else `take` reports it."""
    alive: bool = True
    """Whether it answers what asks for a sign of life."""
    _pings: list[RequestId] = attrs.field(factory=list)
    """Those that it has not answered."""
    outstanding: Write | None = None
    head: BeginBody | None = None
    dropped: DropReason | None = None
    chunks: list[bytes] = attrs.field(factory=list)
    """Every frame that was written."""
    messages: list[Message] = attrs.field(factory=list)
    """Every message that was written."""
    _unheard: list[str] = attrs.field(factory=list)

    # what it hears

    def heard(self) -> list[str]:
        """Return what was written since the last time."""
        unheard, self._unheard = self._unheard, []
        return unheard

    @property
    def body(self) -> BodyKind | None:
        """What the body of its HTTP exchange turned out to be; None if it is undecided."""
        return None if self.head is None else self.head.body

    @property
    def open(self) -> bool:
        """Whether more may come."""
        return self.way is Way.OPEN

    @property
    def create(self) -> StreamCreate:
        """The last `create` that was written."""
        return read_create([m.params for m in self.messages if isinstance(m, Notification) and gist(m) == "create"][-1])

    @property
    def error(self) -> ErrorResponse:
        """The last error that was written."""
        return [message for message in self.messages if isinstance(message, ErrorResponse)][-1]

    def written(self, write: Write) -> None:
        assert self.way is Way.OPEN, "nothing is written on a connection that was ended"
        assert self.outstanding is None, "one write is outstanding at most (R11)"
        assert self.framing is not Framing.HTTP or self.head is not None, "the head comes first (R18)"
        assert write.chunks, "a write holds something"
        assert sum(map(len, write.chunks[:-1])) < self.talk.config.max_write_bytes, "and nothing behind its size (R11)"
        self.outstanding = write
        for chunk in write.chunks:
            self.chunks.append(chunk)
            self._unheard.append(self._read(chunk))

    def _read(self, chunk: bytes) -> str:
        if self.body is BodyKind.EVENTS:
            return self._read_event(chunk)
        self.messages.append(decode_message(chunk.removesuffix(b"\n") if self.framing is Framing.LINES else chunk))
        match self.messages[-1]:
            case Request(id=ping) if str(ping).startswith("keepalive-"):
                self._pings.append(ping)
        return gist(self.messages[-1])

    def _read_event(self, chunk: bytes) -> str:
        if chunk.startswith(b":"):
            return ":"
        if chunk.startswith(b"retry: "):
            return f"retry {int(chunk[7:])}"
        decoder = SSEDecoder()
        decoder.receive_data(chunk)
        event = decoder.next_event()
        assert event is not None, "a frame is one event"
        assert event.id is not None, "an event that was read says where its reader stands"
        position = str(parse_event_id(event.id)[1]) if event.id else "-"
        if not event.data:
            return position
        self.messages.append(decode_message(event.data.encode()))
        return f"{position} {gist(self.messages[-1])}"

    # what it does

    def answer_pings(self) -> None:
        pings, self._pings = self._pings, []
        for ping in pings:
            self.answer(ping)

    def take(self) -> None:
        """Take what was written, after all."""
        assert self.outstanding is not None, "something was written"
        self.outstanding = None
        self.talk.submit(Written(self.connection_id))

    def lose(self) -> None:
        """Break the connection."""
        self.way = Way.LOST
        self.talk.submit(ConnectionLost(self.connection_id))

    def hang_up(self) -> None:
        """End this side: nothing more will be asked."""
        self.talk.submit(EndOfFile(self.connection_id, Entropy(b"the end of a file")))

    def call(
        self,
        request_id: RequestId = 7,
        stream: str = "s1",
        *,
        peer: Peer = DRAFT,
        kind: StreamKind | None = None,
        body: BodyPolicy = BodyPolicy.AT_ONCE,
        interval: ResumeInterval = ResumeInterval(),
        after_loss: AfterLoss = AfterLoss.CANCEL,
        run_on: bool = False,
        key: str | None = None,
        digest: bytes = b"the call",
        attempt: str | None = None,
        token: Secret | None = None,
    ) -> None:
        """Call; by default as the kind of stream that the peer can do with."""
        if kind is None:
            otherwise = StreamKind.SILENT if self.framing is Framing.HTTP else StreamKind.FLEETING
            kind = StreamKind.ANNOUNCED if peer.streams else otherwise
        request = Request(request_id, METHOD, {"name": "work"})
        self.talk.requests.setdefault(stream, request)
        self.talk.submit(
            CallReceived(
                self.connection_id,
                StreamId(stream),
                request,
                peer,
                CallPolicy(kind, body, after_loss, interval, run_on),
                token or token_of(stream),
                None if key is None else Secret(key),
                None if key is None else Digest(digest),
                None if attempt is None else Attempt.parse(attempt, "attempt"),
            )
        )

    def resume(
        self,
        request_id: RequestId | None = 9,
        stream: str = "s1",
        *,
        after: int | None = None,
        header: int | None = None,
        attempt: str | None = None,
        marker: bool = False,
        token: Secret | None = None,
    ) -> None:
        """Send `stream/resume`; with an attempt it comes from a client that knows our extension.

        Such a client has its cursor in the body, any other in the header.
        """
        knows = marker or attempt is not None
        self.talk.submit(
            ResumeReceived(
                self.connection_id,
                request_id,
                StreamId(stream),
                token or token_of(stream),
                after if knows else None,
                header if knows else after,
                None if attempt is None else Attempt.parse(attempt, "attempt"),
                knows,
            )
        )

    def get(self, after: int, stream: str = "s1") -> None:
        """Send a GET with a cursor."""
        self.talk.submit(CursorReceived(self.connection_id, StreamId(stream), after))

    def poll(self, stream: str = "s1", token: Secret | None = None) -> str | None:
        """Poll; return the status and the flags that are set, or the error; None if no answer has come."""
        count = len(self._unheard)
        poll_id = f"poll {len(self.messages)}"
        self.talk.submit(PollReceived(self.connection_id, poll_id, StreamId(stream), token or token_of(stream)))
        if len(self._unheard) == count:
            return None
        answer = self._unheard.pop()
        match self.messages[-1]:
            case Response(id=answered, result=result):
                assert answered == poll_id, "nothing comes between a poll and its answer"
                return flags(read_poll_result(result))
            case _:
                return answer.replace(f"{poll_id} ", "")

    def ack(self, through: int, stream: str = "s1", token: Secret | None = None) -> None:
        self.talk.submit(AckReceived(self.connection_id, StreamId(stream), through, token))

    def answer(self, ask_id: RequestId = "q1", *, token: Secret | None = None, key: str | None = None) -> None:
        shown = None if key is None else Secret(key)
        self.talk.submit(AnswerReceived(self.connection_id, Response(ask_id, {"text": "yes"}), token, shown))

    def cancel(self, request_id: RequestId = 11, stream: str = "s1", token: Secret | None = None) -> None:
        """Send `mcpstreams/cancel`."""
        self.talk.submit(CancelReceived(self.connection_id, request_id, StreamId(stream), token or token_of(stream)))

    def cancelled(self, request_id: RequestId | None = None, key: str | None = None) -> None:
        """Send `notifications/cancelled`."""
        named = None if key is None else Secret(key)
        self.talk.submit(CancelledReceived(self.connection_id, request_id, named))


@attrs.define(eq=False)
class Conversation:
    """One machine, and everybody it deals with."""

    config: StreamsConfig = StreamsConfig()
    prompt_disk: bool = True
    """Whether records are durable at once; else `sync` reports them."""
    now: float = 0.0
    machine: ServerStreams = attrs.field(init=False)
    clients: dict[ConnectionId, Client] = attrs.field(factory=dict)
    requests: dict[str, Request] = attrs.field(factory=dict)
    batch: WriteLog | None = None
    """The batch that is being made durable."""
    records: list[LogRecord] = attrs.field(factory=list)
    """What is durable."""
    effects: list[StreamsEffect] = attrs.field(factory=list)
    """Every effect there was."""
    _asked: dict[str, StreamId] = attrs.field(factory=dict)
    """Which stream asked what."""
    _application: list[str] = attrs.field(factory=list)
    _observed: list[str] = attrs.field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.machine = ServerStreams(self.config)

    # who takes part

    def connect(
        self,
        framing: Framing = Framing.LINES,
        principal: str | None = None,
        scope: str | None = None,
        address: str | None = None,
    ) -> Client:
        """Open a multiplexed connection."""
        return self._open(framing, scope, principal, address, primes=False)

    def exchange(
        self,
        session: str = "session",
        principal: str | None = None,
        address: str | None = None,
        *,
        primes: bool = True,
    ) -> Client:
        """Open an HTTP exchange of a session."""
        return self._open(Framing.HTTP, session, principal, address, primes=primes)

    def _open(
        self, framing: Framing, scope: str | None, principal: str | None, address: str | None, *, primes: bool
    ) -> Client:
        connection_id = ConnectionId(len(self.clients))
        client = Client(self, connection_id, framing)
        self.clients[connection_id] = client
        owner = None if principal is None else Principal(principal)
        named = Scope(f"connection {connection_id}" if scope is None else scope)
        place = None if address is None else Address(address)
        self.submit(ConnectionOpened(connection_id, framing, named, owner, primes, place))
        return client

    # what the application does

    def say(self, *numbers: int, stream: str = "s1", size: int = 0) -> None:
        """Send messages."""
        for number in numbers:
            self.submit(SendMessage(StreamId(stream), progress(number, size)))

    def ask(self, ask_id: str = "q1", stream: str = "s1", method: str = ASK) -> None:
        self.submit(AskPeer(StreamId(stream), ask_id, method, {"messages": []}))

    def withdraw(self, ask_id: str = "q1", stream: str = "s1") -> None:
        self.submit(WithdrawAsk(StreamId(stream), ask_id))

    def respond(self, stream: str = "s1", result: JSONObject | None = None) -> None:
        self.submit(Respond(StreamId(stream), Response(self.requests[stream].id, result or {"content": []})))

    def fail(self, stream: str = "s1") -> None:
        """Answer the call with an error of the application."""
        self.submit(Respond(StreamId(stream), ErrorResponse(self.requests[stream].id, 42, "failed")))

    def open(self, stream: str = "s1", interval: ResumeInterval = ResumeInterval()) -> None:
        """Want a stream for a call that has none so far."""
        self.submit(OpenStream(StreamId(stream), token_of(stream), interval))

    def release(self, stream: str = "s1") -> None:
        self.submit(ReleaseStream(StreamId(stream)))

    # what else happens

    def reply(self, client: Client, message: Response | ErrorResponse | Notification) -> None:
        self.submit(Reply(client.connection_id, message))

    def accept(self, client: Client) -> None:
        self.submit(Accept(client.connection_id))

    def end_session(self, session: str = "session") -> None:
        self.submit(ScopeEnded(Scope(session)))

    def drain(self) -> None:
        self.submit(Drain())

    def sync(self) -> None:
        """Make the outstanding batch durable."""
        assert self.batch is not None, "there is something to write"
        batch, self.batch = self.batch, None
        self.records += batch.records
        self.submit(LogWritten(batch.write_id))

    def lose_disk(self) -> None:
        self.batch = None
        self.submit(LogFailed("no space left"))

    def restart(self, kept: int | None = None, config: StreamsConfig | None = None) -> None:
        """End the process, and go on in another one with what is durable.

        Args:
            kept: How many records of the batch that was being written are; None is all of them.
            config: What the other process is told; the same without it.
        """
        if self.batch is not None:
            self.records += self.batch.records[:kept]
        self.batch = None
        for client in self.clients.values():
            client.outstanding = None
            client.way = Way.LOST
        self.config = config or self.config
        self.machine = ServerStreams(self.config)
        self.submit(Recover(tuple(self.records)))

    def wait(self, seconds: float) -> None:
        """Let time pass; the machine is woken when it asked for it."""
        until = self.now + seconds
        for _ in range(10_000):
            deadline = self.machine.next_deadline()
            if deadline is None or deadline > until:
                self.now = until
                return
            self.now = max(self.now, deadline)
            self.submit(DeadlineReached())
        raise AssertionError("the machine is woken again and again")

    # what was seen

    def state(self, stream: str = "s1") -> StreamState | None:
        return self.machine.state_of(StreamId(stream))

    def abandonment(self, stream: str = "s1") -> float | None:
        return self.machine.abandonment_of(StreamId(stream))

    def application(self) -> list[str]:
        """Return what the application was told since the last time."""
        told, self._application = self._application, []
        return told

    def observed(self) -> list[str]:
        """Return what became of streams since the last time."""
        seen, self._observed = self._observed, []
        return seen

    # the driver

    def submit(self, event: StreamsInput) -> list[StreamsEffect]:
        """Tell the machine something and carry out what it wants done; return the effects."""
        effects = self.machine.handle(event, self.now)
        if isinstance(event, AskPeer):
            self._asked[event.ask_id] = event.stream_id
        self._check_asked(effects)
        self.effects += effects
        for effect in effects:
            self._carry_out(effect)
        check_invariants(self.machine, self.now)
        if self.batch is not None and self.prompt_disk:
            self.sync()
        for client in self.clients.values():
            if client.outstanding is not None and client.reads and client.way is not Way.LOST:
                client.take()
                if client.alive and client.open:
                    client.answer_pings()
        return effects

    def _carry_out(self, effect: StreamsEffect) -> None:
        match effect:
            case Write():
                self.clients[effect.connection_id].written(effect)
            case BeginBody():
                assert self.clients[effect.connection_id].head is None, "a body begins once (R18)"
                self.clients[effect.connection_id].head = effect
            case EndWriting():
                assert self.clients[effect.connection_id].way is Way.OPEN, "a connection ends once"
                self.clients[effect.connection_id].way = Way.ENDED
            case DropConnection():
                assert self.clients[effect.connection_id].way is not Way.LOST, "what is lost is not dropped"
                self.clients[effect.connection_id].way = Way.DROPPED
                self.clients[effect.connection_id].dropped = effect.reason
                self.clients[effect.connection_id].outstanding = None
            case WriteLog():
                assert self.batch is None, "one batch is outstanding at most (R11)"
                self.batch = effect
            case StreamAttached() | StreamDetached() | StreamGone():
                self._observed.append(seen(effect))
            case WorkInterrupted():
                self._application.append(interruption(effect))
            case _:
                self._application.append(told(effect))

    def _check_asked(self, effects: Iterable[StreamsEffect]) -> None:
        for effect in effects:
            match effect:
                case AskAnswered() | AskFailed():
                    assert effect.stream_id == self._asked[effect.ask_id], "who asked is told what came of it (R24)"
                    assert not isinstance(effect, AskAnswered) or effect.answer.id == effect.ask_id
                case WorkInterrupted(answers=answers):
                    self._check_asked(answers)
                case _:
                    pass
