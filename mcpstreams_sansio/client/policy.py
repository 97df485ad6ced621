"""What the client decides, as pure functions: the way back, the pause, the budget, and what a refusal means.

Nothing here knows a path or a message. Every decision is made by status and by reason, never by wording (case I5).

Spec: rules P26, Q7f, Q7g, Q10, R14, R21; groups G and H of the cases.
"""

from __future__ import annotations

import base64
import enum
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from mcpstreams_sansio.client.calls import Call, Way
from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.effects import Doubt
from mcpstreams_sansio.client.inputs import ServerTraits
from mcpstreams_sansio.ids import Entropy
from mcpstreams_sansio.wire.refusals import Reason
from mcpstreams_sansio.wire.streams import ResumeInterval

_LUCK_CHARACTERS: Final = 8
_LUCK_RANGE: Final = 2.0**48
"""Eight characters of a derived text are 48 bits."""


def find_way(call: Call, server: ServerTraits, config: ClientConfig, now: float) -> Way | Doubt:
    """Return how a call gets to its server, or why nothing can bring it back.

    A call whose request may have arrived is never sent again without a key, and with one only to a server that still
    knows it (rule R21, case H4). A keyed call never goes by an event id: its key says more.

    Args:
        call: The call.
        server: What is known of the server that would answer.
        config: The client's.
        now: The present.

    Spec: rules P15, H24, Q7c, R21.4, R21.7.
    """
    if call.first_sent is None:
        return Way.SEND
    if call.stream is not None and call.stream.resumable:
        return Way.RESUME
    if call.key is None:
        return Way.CURSOR if call.positions.told_cursor else Doubt.CONNECTION_LOST
    if call.stream is not None:
        return Doubt.CONNECTION_LOST
    # A log that outlives a server keeps its instance; what another instance calls durable says nothing of this key.
    if server.key_ttl is None or server.instance != call.instance:
        return Doubt.SERVER_CHANGED
    if now - call.first_sent > server.key_ttl - config.key_margin:
        return Doubt.KEY_TOO_OLD
    return Way.RESEND


def luck(entropy: Entropy, label: str) -> float:
    """Return a number from 0 to below 1, the same for the same entropy and label (rule Q7g)."""
    return int.from_bytes(base64.urlsafe_b64decode(entropy.derive(label)[:_LUCK_CHARACTERS]), "big") / _LUCK_RANGE


def least_pause(config: ClientConfig, interval: ResumeInterval, asked: float | None) -> float:
    """Return how long to wait at least before coming back, in seconds.

    That is what the server asks by `retry`, Retry-After or `min`, and never less than the floor (case G6). A `min`
    above `max` makes no sense and is ignored (rule Q7g).

    Args:
        config: The client's.
        interval: What `create` said.
        asked: What the server asked for last, in seconds.

    Spec: rules P26, H16, Q7f, Q7g.
    """
    least = max(config.retry_floor, asked or 0.0)
    if interval.min is not None and (interval.max is None or interval.min <= interval.max):
        least = max(least, interval.min)
    return least


def pause(config: ClientConfig, interval: ResumeInterval, least: float, tries: int, fortune: float) -> float:
    """Return how long to wait before coming back, in seconds.

    What the client adds by itself to the least pause, back-off and jitter, stays below `max`, within which the stream
    is kept.

    Args:
        config: The client's.
        interval: What `create` said.
        least: What `least_pause` says.
        tries: How many attempts were in vain so far; any number (case X5).
        fortune: Jitter, from 0 to below 1.

    Spec: rule Q7g.
    """
    wanted = max(least, back_off(config, tries)) * (1.0 + config.retry_jitter * fortune)
    return max(least, wanted if interval.max is None else min(wanted, interval.max / 2))


def back_off(config: ClientConfig, tries: int) -> float:
    """Return the pause of the client's own choice after so many attempts in vain; it never overflows (case X5)."""
    most = config.retry_ceiling / config.retry_floor
    if tries * math.log(config.retry_factor) >= math.log(max(most, 1.0)):
        return config.retry_ceiling
    return config.retry_floor * config.retry_factor**tries


def within_budget(call: Call, config: ClientConfig, now: float, wait: float) -> bool:
    """Return whether one more attempt after `wait` seconds is within the call's budget (cases G1, G2, G6)."""
    efforts = call.efforts
    since = now if efforts.stranded_at is None else efforts.stranded_at
    return (
        efforts.in_vain < config.max_attempts
        and efforts.total < config.max_total_attempts
        and now + wait <= since + config.patience
    )


@enum.unique
class Verdict(enum.Enum):
    """What a refusal of the server means for the call it is about."""

    FINAL = "final"
    """It cannot be had any more, for that reason."""
    LATER = "later"
    """Time may cure it."""
    GAP = "gap"
    """What the cursor asks for is gone; what comes after it can be had."""
    CURSOR = "cursor"
    """The cursor was not understood."""
    ATTACHED = "attached"
    """It is delivered on this very connection."""
    SUPERSEDED = "superseded"
    """Another attempt has it."""


VERDICTS: Final[Mapping[Reason, Verdict]] = MappingProxyType(
    {
        Reason.STREAM_NOT_FOUND: Verdict.FINAL,
        Reason.ABANDONED: Verdict.FINAL,
        Reason.EXPIRED: Verdict.FINAL,
        Reason.CANCELLED: Verdict.FINAL,
        Reason.FINISHED: Verdict.FINAL,
        Reason.NOT_RESUMABLE: Verdict.FINAL,
        Reason.EVENTS_GONE: Verdict.GAP,
        Reason.INVALID_CURSOR: Verdict.CURSOR,
        Reason.ALREADY_ATTACHED: Verdict.ATTACHED,
        Reason.KEY_CONFLICT: Verdict.FINAL,
        Reason.TOO_EARLY: Verdict.LATER,
        Reason.SUPERSEDED: Verdict.SUPERSEDED,
        Reason.ID_IN_USE: Verdict.LATER,
        Reason.TOO_MANY_STREAMS: Verdict.LATER,
        Reason.TOO_MANY_KEYS: Verdict.LATER,
        Reason.DRAINING: Verdict.LATER,
        Reason.LOG_FULL: Verdict.FINAL,
        Reason.LOG_FAILED: Verdict.FINAL,
        Reason.INTERRUPTED: Verdict.FINAL,
    }
)
"""What each reason means (rule Q10): one row for each."""

OF_KNOWN_CALLS: Final = frozenset(
    {Reason.FINISHED, Reason.CANCELLED, Reason.ABANDONED, Reason.EXPIRED, Reason.NOT_RESUMABLE}
)
"""What is said of a call that the server has met before, if only by another client that has its key (rule R21.3)."""


@enum.unique
class StatusVerdict(enum.Enum):
    """What an HTTP status that is no success means for what was sent."""

    LATER = "later"
    """Refused for now, and not looked at: a rate limit, another connection in the way (rule F4)."""
    FAILED = "failed"
    """The server failed; whether it looked at the message is not known."""
    NOT_OFFERED = "not offered"
    """There is no such method here: a GET has no meaning (case G7)."""
    FINAL = "final"
    """Refused, and asking again would bring the same."""


_PASSING: Final = frozenset({409, 423, 425, 429})
_NOT_OFFERED: Final = frozenset({405, 501})
_REQUEST_TIMEOUT: Final = 408
_SERVER_ERRORS: Final = 500


def judge_status(status: int) -> StatusVerdict:
    """Return what a status means, by its number alone (cases G3, G7, G11, I5).

    Spec: rules H7-H9, H32, F4; RFC 9110, section 15.
    """
    if status in _PASSING:
        return StatusVerdict.LATER
    if status in _NOT_OFFERED:
        return StatusVerdict.NOT_OFFERED
    if status >= _SERVER_ERRORS or status == _REQUEST_TIMEOUT:
        return StatusVerdict.FAILED
    return StatusVerdict.FINAL
