"""Every limit and every time of a client, each with a name, a default and a check."""

from __future__ import annotations

import math
import re
from typing import Final, final

import attrs

from mcpstreams_sansio.framing.limits import MAX_EVENT_SIZE, MAX_LINE_SIZE
from mcpstreams_sansio.validators import at_least_one, positive, positive_or_none

SIGNS_OF_LIFE: Final = 3
"""How many times `keepalive` a silent server is waited for."""

_INSTANCE: Final = re.compile(r"[A-Za-z0-9_-]{8,64}")


def _is_instance(_: object, field: attrs.Attribute[str], value: str) -> None:
    if not _INSTANCE.fullmatch(value):
        raise ValueError(f"{field.name} must be 8 to 64 of A-Z a-z 0-9 _ -")


def _is_factor(_: object, field: attrs.Attribute[float], value: float) -> None:
    if not (value >= 1 and math.isfinite(value)):
        raise ValueError(f"{field.name} must be a number of at least 1")


def _is_fraction(_: object, field: attrs.Attribute[float], value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{field.name} must be from 0 to 1")


@final
@attrs.frozen(kw_only=True)
class ClientConfig:
    """Limits and times of a client. Seconds are floats; sizes are bytes.

    Raises:
        ValueError: A field is outside its range; the text names the field.
    """

    instance: str = attrs.field(validator=_is_instance)
    """Names this client; 8 to 64 random characters that nobody else uses. Request ids begin with it, so they are
    unique across connections (rule Q3c), and attempts are counted under it (rule R14)."""

    # coming back
    retry_floor: float = attrs.field(default=0.1, validator=positive)
    """Shortest pause before the client comes back, whatever the server says (case G6)."""
    retry_ceiling: float = attrs.field(default=30.0, validator=positive)
    """Longest pause by the client's own choice; a server that asks for more gets more."""
    retry_factor: float = attrs.field(default=2.0, validator=_is_factor)
    """By what the pause grows with each attempt that brought nothing."""
    retry_jitter: float = attrs.field(default=0.25, validator=_is_fraction)
    """By which part of itself a pause may be longer (rule Q7g)."""
    max_attempts: int = attrs.field(default=25, validator=at_least_one)
    """Attempts in a row to get one call back that bring nothing new (cases G1, G2)."""
    patience: float = attrs.field(default=300.0, validator=positive)
    """Seconds for which a call may go without anything new while nothing delivers it."""
    max_total_attempts: int = attrs.field(default=10_000, validator=at_least_one)
    """Attempts to get one call back in all, with or without success."""
    steady_after: float = attrs.field(default=5.0, validator=positive)
    """Seconds after which a path that delivered nothing, and nothing wrong either, was worth its attempt all the same:
    the call is quiet."""
    key_margin: float = attrs.field(default=60.0, validator=positive)
    """Seconds before a server may forget a key, from which on the key is not sent any more (rule R21.4)."""
    poll_first: bool = False
    """Ask by `stream/poll` whether coming back is worth it, rather than resume at once."""
    max_quiet_polls: int = attrs.field(default=3, validator=at_least_one)
    """Polls in a row that bring no news; then the client resumes all the same, since a server that has not noticed the
    loss takes for delivered what it wrote to nobody (rule Q8b)."""
    reply_timeout: float = attrs.field(default=30.0, validator=positive)
    """Seconds within which a poll, a cancellation or the head of a resumed exchange is expected."""
    cancel_patience: float = attrs.field(default=30.0, validator=positive)
    """Seconds for which the client tries to tell the server of a cancelled call (rule R22)."""

    # what was delivered
    ack_interval: float = attrs.field(default=5.0, validator=positive)
    """Seconds after which something taken is acknowledged at the latest (rule R6)."""
    max_acks: int = attrs.field(default=1_000, validator=at_least_one)
    """Streams whose acknowledgement waits to be sent; beyond it the oldest is left to the server's own time."""
    settle_timeout: float = attrs.field(default=2.0, validator=positive)
    """Seconds within which the end of an answered call's stream, and of its exchange, is expected (rule Q3d)."""
    linger: float = attrs.field(default=600.0, validator=positive)
    """Seconds for which an answered call waits for the application to take its messages, so as to acknowledge them."""
    max_unread: int = attrs.field(default=10_000, validator=at_least_one)
    """Items of one call that the application has not taken (rule R23)."""
    max_unread_bytes: int = attrs.field(default=16 * 2**20, validator=at_least_one)
    """The same in bytes."""

    # calls and questions
    max_calls: int = attrs.field(default=1_000, validator=at_least_one)
    """Calls without an outcome."""
    max_settling: int = attrs.field(default=1_000, validator=at_least_one)
    """Answered calls that wait for their messages to be taken; beyond it the oldest is forgotten."""
    max_asks: int = attrs.field(default=64, validator=at_least_one)
    """Questions of one call that are remembered; also of all that belong to no call."""
    max_answering: int = attrs.field(default=16, validator=at_least_one)
    """Exchanges of HTTP that carry answers, those to pings among them, at a time; the next answer waits (rule R24)."""
    max_replies: int = attrs.field(default=256, validator=at_least_one)
    """Answers that belong to no call and wait for such an exchange; beyond it new ones are dropped."""

    # connections
    handshake_timeout: float = attrs.field(default=30.0, validator=positive)
    """Seconds within which a connection is open and its handshake done."""
    keepalive: float | None = attrs.field(default=15.0, validator=positive_or_none)
    """Seconds of silence after which the server is asked for a sign of life; three times as many are the end of the
    connection. Over HTTP nobody can ask: there the server's own keep-alives have to be more frequent (rule R15)."""
    stall_timeout: float | None = attrs.field(default=30.0, validator=positive_or_none)
    """Seconds for which a `Write` may be outstanding (rule R11)."""
    close_timeout: float = attrs.field(default=5.0, validator=positive)
    """Seconds within which closing in good order has to be done."""
    max_line_size: int = attrs.field(default=MAX_LINE_SIZE, validator=at_least_one)
    """A line, or a message of a connection that keeps boundaries."""
    max_event_size: int = attrs.field(default=MAX_EVENT_SIZE, validator=at_least_one)
    """One event of an event stream, or one JSON body."""
    max_write_bytes: int = attrs.field(default=64 * 2**10, validator=at_least_one)
    """Size at which a `Write` takes no further message; one message may exceed it (rule R11)."""
    max_outbox_bytes: int = attrs.field(default=64 * 2**20, validator=at_least_one)
    """Messages that wait to be written on one connection; beyond it the connection is given up as stalled."""
    max_notices: int = attrs.field(default=256, validator=at_least_one)
    """Notifications of the application that wait for a connection, or for an exchange; beyond it the oldest is
    dropped."""
    max_notifying: int = attrs.field(default=16, validator=at_least_one)
    """Exchanges of HTTP that carry notifications of the application at a time; the next one waits."""
    max_ending: int = attrs.field(default=16, validator=at_least_one)
    """Exchanges of HTTP that have done their work and are not over; beyond it the oldest is broken off."""

    @property
    def tries_to_ceiling(self) -> int:
        """After how many attempts in vain the client's own pause grows no more."""
        if self.retry_factor == 1 or self.retry_ceiling <= self.retry_floor:
            return 0
        return math.ceil(math.log(self.retry_ceiling / self.retry_floor) / math.log(self.retry_factor))
