"""One call as the client knows it: its state, what names it to the server, how far it is, and what it has cost."""

from __future__ import annotations

import enum
from typing import Final, Self, final

import attrs

from mcpstreams_sansio.client.asks import Asks
from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.inputs import SavedCall
from mcpstreams_sansio.client.positions import Positions
from mcpstreams_sansio.client.table import CALL_TABLE, CallSignal, CallState
from mcpstreams_sansio.copies import shallow_copy
from mcpstreams_sansio.ids import CallId, ConnectionId, Entropy, RequestId, Secret, StreamId
from mcpstreams_sansio.tables import follow
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject, Request, Response, digest_of
from mcpstreams_sansio.wire.marker import Window
from mcpstreams_sansio.wire.streams import ResumeInterval, StreamRef


@enum.unique
class Way(enum.Enum):
    """How a call gets to its server, first or again."""

    SEND = "send"
    """The request itself, which certainly never ran."""
    RESUME = "resume"
    """By stream id and token (rule P15)."""
    RESEND = "resend"
    """The request again, under its key (rule R21)."""
    CURSOR = "cursor"
    """An HTTP GET with the last event id (rule H24)."""


ATTEMPTS_AHEAD: Final = 1_000
"""How many attempts a call that is saved may make before it has to be saved again: whoever brings it back counts on
from there, so that no attempt of the process before is later than its own (rule R14)."""

BY_CALL: Final = frozenset({Way.SEND, Way.RESEND})
"""Ways on which the path is the one on which the request itself went: it can be cancelled there by its id (R22)."""


@enum.unique
class Permit(enum.Enum):
    """Whether the request of a call may go out, for the first time (rules R21, R23)."""

    FREE = "free"
    """Its application keeps nothing, so nothing has to come first."""
    UNASKED = "unasked"
    """It has to be saved first, and under which key and to which server it goes is not known."""
    ASKED = "asked"
    """That is known, and waits for being saved: whoever brings the call back from then on counts it as sent."""
    GRANTED = "granted"
    """It is saved so."""


@final
@attrs.frozen
class KnownStream:
    """What `create` told of the call's stream."""

    stream_id: StreamId
    resume_token: Secret
    interval: ResumeInterval = ResumeInterval()
    window: Window | None = None

    @property
    def resumable(self) -> bool:
        """Whether the client may come back for it (rule Q7c)."""
        return self.interval.max != 0

    @property
    def ref(self) -> StreamRef:
        """What a request names it by."""
        return StreamRef(self.stream_id, self.resume_token)

    def snapshot(self) -> tuple[object, ...]:
        """Return a hashable value, equal for streams that will be treated alike."""
        window = None if self.window is None else (self.window.entries, self.window.bytes)
        return self.stream_id, self.resume_token, self.interval.min, self.interval.max, window


@final
@attrs.define(eq=False)
class Efforts:
    """What it has cost to get a call back, and since when nothing new came of it (cases G1, G2)."""

    total: int = 0
    in_vain: int = 0
    """Attempts since the last progress."""
    quiet_polls: int = 0
    """Polls in a row that said: alive, nothing new."""
    unknown_fates: int = 0
    """Attempts of which nothing is known: they may still arrive and take over (rule R14)."""
    stranded_at: float | None = None
    """Since when nothing new has come, counted from the first loss."""
    path_since: float | None = None
    """Since when the current path has been taken to deliver: an exchange from its first sign, a shared connection from
    the attempt itself, since it shows no sign while the call is quiet (rule Q2g)."""
    asked_pause: float | None = None
    """The pause that the server asked for, in seconds (rules H16, Q7g)."""
    not_before: float = 0.0
    """When the call may come back at the earliest, however much there is to be had."""

    def begin(self) -> None:
        """An attempt goes out."""
        self.total += 1
        self.in_vain += 1

    def progress(self) -> None:
        """Something new came: what was in vain is forgiven."""
        self.in_vain = self.quiet_polls = 0
        self.stranded_at = None

    def snapshot(self, now: float, config: ClientConfig) -> tuple[object, ...]:
        """Return a hashable value; times are relative to `now`, and a path that is steady is just that.

        The total is left out: it only ever rises, and all that it leads to is the backstop of `max_total_attempts`,
        far beyond what is compared. Quiet polls are counted, and patience is measured, as far as it makes a difference.
        """
        return (
            self.in_vain,
            min(self.quiet_polls, max(config.tries_to_ceiling, config.max_quiet_polls)),
            self.unknown_fates,
            None if self.stranded_at is None else min(now - self.stranded_at, config.patience),
            None if self.path_since is None else min(now - self.path_since, config.steady_after),
            self.asked_pause,
            max(self.not_before - now, 0.0),
        )


@final
@attrs.define(eq=False)
class Call:
    """Everything about one call but its deadlines, which the ledger keeps in one heap."""

    call_id: CallId
    request_id: str
    method: str
    params: JSONObject | None = attrs.field(repr=False)
    """The application's, with the progress token."""
    progress_token: RequestId
    entropy: Entropy
    state: CallState = CallState.STRANDED
    positions: Positions = attrs.field(factory=Positions)
    asks: Asks = attrs.field(factory=Asks)
    efforts: Efforts = attrs.field(factory=Efforts)
    key: Secret | None = None
    """Names it to a server with the marker; its stream's messages are tagged then (rules R4, R21)."""
    instance: str | None = None
    """The server instance that knows the key."""
    first_sent: float | None = None
    """When its request first went out and may have arrived; None while it certainly has not."""
    permit: Permit = Permit.FREE
    stream: KnownStream | None = None
    end: int | None = None
    """The position of `end`, if it was seen: before the response only on a path that has left something out."""
    attempt: int = 0
    """Number of the latest attempt (rule R14)."""
    client: str = ""
    """The instance under which attempts are counted: this client's, or of a call that is stored that of the first."""
    reserved: int | None = None
    """The highest number that an attempt may have, by what was saved; None where the application keeps nothing."""
    way: Way = Way.SEND
    """How it got to its current path."""
    path: ConnectionId | None = None
    """Where the server's next word on it is expected."""
    last_path: ConnectionId | None = None
    """Where an attachment of it may still deliver: the path of its latest attempt, unless the server has said that
    nothing more comes of that one (rule R15)."""
    unproven: Response | ErrorResponse | None = attrs.field(default=None, repr=False)
    """While it is attached again: an answer that does not say where it stands, until `end` says it (rule R4)."""
    session: int = -1
    """The session of HTTP in which the server knows its request's id; of this client's, by the ledger's count."""
    errand: RequestId | None = None
    """The request about it (a resume, a poll, a cancellation) that awaits its reply."""
    errands: int = 0
    """How many there were."""
    acked: int = 0
    """The position that was acknowledged last."""
    unacked_bytes: int = 0
    """Bytes that may be acknowledged since."""
    dropped: int = 0
    """Messages that were passed over and cannot come again: there was no room, and nothing brings them back (R23)."""
    cancel_until: float = 0.0
    """When the server is left alone with a cancelled call (rule R22)."""

    def step(self, signal: CallSignal) -> None:
        """Follow the table: the only place where a call changes its state."""
        self.state = follow(CALL_TABLE, self.state, signal)
        self.unproven = None

    @property
    def keyed(self) -> bool:
        """Whether the marker's promises hold for it: tags, cursors in the body, acknowledgements."""
        return self.key is not None

    @property
    def repeatable(self) -> bool:
        """Whether a message that is not taken up now can be had again, by its position (rules R4, Q7c)."""
        return self.keyed and self.stream is not None and self.stream.resumable

    @property
    def secrets(self) -> tuple[str, ...]:
        """What names it to the server and is shown to nobody else (rule Q11b)."""
        token = None if self.stream is None else self.stream.resume_token
        return tuple(secret.reveal() for secret in (self.key, token) if secret is not None)

    def next_errand(self, instance: str) -> RequestId:
        """Return a fresh id for a request about this call: unique over all connections (rule Q3c)."""
        self.errands += 1
        self.errand = f"{instance}-{self.call_id}.{self.errands}"
        return self.errand

    @property
    def stored(self) -> bool:
        """Whether its application keeps it where it outlives its process (rule R23)."""
        return self.positions.saved is not None

    def may_attempt(self) -> bool:
        """Whether there is a number for another attempt that no other process counts on from."""
        return self.reserved is None or self.attempt < self.reserved

    def is_full(self, config: ClientConfig) -> bool:
        """Whether there is no room for another item that was not taken, or not saved (rule R23)."""
        items, size = self._held()
        return items > config.max_unread or size > config.max_unread_bytes

    def is_crowded(self, config: ClientConfig) -> bool:
        """Whether more than half of that room is taken: below that there is room again (rule R23)."""
        items, size = self._held()
        return items * 2 > config.max_unread or size * 2 > config.max_unread_bytes

    def _held(self) -> tuple[int, int]:
        positions = self.positions
        return positions.unread + positions.unsaved, positions.unread_bytes + positions.unsaved_bytes

    def must_be_saved(self, config: ClientConfig) -> bool:
        """Whether half of what may be taken and not saved is: of the room here, or of the window (rules R6, R23)."""
        positions, window = self.positions, None if self.stream is None else self.stream.window
        if positions.saved is None:
            return False
        entries, size = config.max_unread, config.max_unread_bytes
        if positions.unsaved * 2 >= max(entries, 2) or positions.unsaved_bytes * 2 >= max(size, 2):
            return True
        taken = positions.taken - positions.saved
        return window is not None and (
            taken * 2 >= max(window.entries, 2) or positions.unsaved_bytes * 2 >= max(window.bytes, 2)
        )

    def must_acknowledge(self) -> bool:
        """Whether half of the window may be acknowledged and is not (rule R6)."""
        window = None if self.stream is None else self.stream.window
        if window is None:
            return False
        entries = self.positions.told - self.acked
        return entries * 2 >= max(window.entries, 2) or self.unacked_bytes * 2 >= max(window.bytes, 2)

    def save(self, now: float) -> SavedCall:
        """Return what brings the call back, here or elsewhere (rules R23, R27).

        It says what was taken, though the server may keep less: what is gone is told to whoever goes on.
        """
        stream = self.stream
        sent = self.first_sent is not None or self.permit in (Permit.ASKED, Permit.GRANTED)
        return SavedCall(
            self.request_id,
            self.method,
            self.params,
            self.positions.taken,
            None if stream is None else stream.stream_id,
            None if stream is None else stream.resume_token,
            ResumeInterval() if stream is None else stream.interval,
            self.key,
            self.instance,
            0.0 if self.first_sent is None else now - self.first_sent,
            self.positions.cursor or None,
            self.attempt + (ATTEMPTS_AHEAD if self.stored else 0),
            sent,
            None if stream is None else stream.window,
            self.asks.answers(),
            self.client if self.stored else None,
        )

    def fork(self) -> Self:
        """Return an independent copy."""
        copy = shallow_copy(self)
        copy.positions = self.positions.fork()
        copy.asks = self.asks.fork()
        copy.efforts = shallow_copy(self.efforts)
        return copy

    def snapshot(self, now: float, config: ClientConfig) -> tuple[object, ...]:
        """Return a hashable value, equal for calls that will behave alike; times are relative to `now`.

        How many ids of errands were given is left out, since it only matters that the next one is fresh. The number
        of the latest attempt stands in the ledger's snapshot, with the instance that it counts for. Of what the
        application wrote there is a digest, and of its luck, from which come the jitter and its key, nothing.
        """
        stream = self.stream
        age = None if self.first_sent is None else now - self.first_sent
        cancelled = self.state in (CallState.CANCEL_DUE, CallState.CANCELLING)
        return (
            self.call_id,
            self.state,
            digest_of(Request(self.request_id, self.method, self.params)),
            max(self.cancel_until - now, 0.0) if cancelled else None,
            self.positions.snapshot(),
            self.asks.snapshot(),
            self.efforts.snapshot(now, config),
            self.key,
            self.instance,
            self.permit,
            age if stream is None else stream.snapshot(),
            self.end,
            self.way,
            self.path,
            None if self.unproven is None else digest_of(self.unproven),
            self.errand,
            self.acked,
            self.unacked_bytes,
            self.dropped,
        )
