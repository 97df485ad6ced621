"""Every limit and every time of a server's streams, each with a name, a default and a check."""

from __future__ import annotations

from typing import Final, final

import attrs

from mcpstreams_sansio.validators import at_least_one, not_negative, positive, positive_or_none
from mcpstreams_sansio.wire.streams import CreateShape

SIGNS_OF_LIFE: Final = 3
"""How many pings in a row a peer may leave without any sign of life; `keepalive` later its connection is given up."""


@final
@attrs.frozen(kw_only=True)
class StreamsConfig:
    """Limits and times of `ServerStreams`. Seconds are floats; sizes are bytes.

    What a server decides first: for how long a client may stay away (`max_interval`) and a call can be sent again
    (`key_ttl`); how much one stream may hold (`window`, `max_stream_bytes`) and all together (`max_total_bytes`,
    `max_streams`); and whether records go to a log (`durable`).

    Raises:
        ValueError: A field is outside its range; the text names the field.
    """

    durable: bool = False
    """Records go to a log, and nothing becomes visible before it is written (rule R9)."""

    create_shape: CreateShape = "wrapped"
    """How `create` is written: as the draft's example, or as its schema (rule D1)."""

    max_streams: int = attrs.field(default=10_000, validator=at_least_one)
    """Streams that are not gone. A further unkeyed call is served without one (rules R10, Q10)."""
    max_calls: int = attrs.field(default=20_000, validator=at_least_one)
    """Calls that are not over, with a stream or without; a further one is refused."""
    max_streams_per_principal: int = attrs.field(default=1_000, validator=at_least_one)
    """`max_streams` for each principal, or for each address where there is no principal (rule R25)."""
    max_calls_per_principal: int = attrs.field(default=2_000, validator=at_least_one)
    """`max_calls` in the same way: whoever has so many under way leaves room for others (rule R25)."""
    max_tombstones: int = attrs.field(default=10_000, validator=at_least_one)
    """Streams that are gone and whose reason is remembered; the oldest is forgotten first."""
    window: int = attrs.field(default=1_024, validator=at_least_one)
    """Entries of one stream above its confirmed position (or, for a peer that never acknowledges, above what was
    sent) at which the application has to wait (rules R6, R7, R10)."""
    max_stream_bytes: int = attrs.field(default=16 * 2**20, validator=at_least_one)
    """Bytes of one stream that may not be dropped; more fail the stream with `log_full` (rule R10)."""
    keep_bytes: int = attrs.field(default=256 * 2**10, validator=at_least_one)
    """Bytes of sent entries that a stream keeps at least for a peer that does not acknowledge (rule R7)."""
    max_total_bytes: int = attrs.field(default=256 * 2**20, validator=at_least_one)
    """Bytes of all logs together; above it room is made, the noisiest stream first (rule R10)."""
    max_asks: int = attrs.field(default=64, validator=at_least_one)
    """Unanswered questions of one stream."""
    max_tokens: int = attrs.field(default=4, validator=at_least_one)
    """Accepted token digests of one stream; the oldest goes first (rule R3)."""
    max_resumes: int = attrs.field(default=20, validator=at_least_one)
    """Attachments of one stream in a row; after that one every `resume_interval`, earlier ones are refused `too_early`
    (rule Q11h)."""
    max_instances: int = attrs.field(default=16, validator=at_least_one)
    """Client instances whose attempt numbers a stream remembers (rule R14)."""
    max_keys: int = attrs.field(default=100_000, validator=at_least_one)
    """Remembered call keys. None is ever forgotten early: above it new keyed calls are refused (rule R21.4)."""
    max_keys_per_principal: int = attrs.field(default=20_000, validator=at_least_one)
    """The same for each principal, or for each address where there is no principal (rule R25)."""
    max_cancelled_keys: int = attrs.field(default=10_000, validator=at_least_one)
    """Keys that were cancelled before a call came with them; the oldest is forgotten first (rule R21.6)."""
    max_cancelled_keys_per_principal: int = attrs.field(default=1_000, validator=at_least_one)
    """The same for each principal, or for each address where there is no principal (rule R25)."""
    max_write_bytes: int = attrs.field(default=64 * 2**10, validator=at_least_one)
    """Size at which a `Write` takes no further message; one message may exceed it (rule R11)."""
    max_reply_bytes: int = attrs.field(default=1 * 2**20, validator=at_least_one)
    """Replies that wait on one connection, also for the log; a peer that asks on and reads nothing is dropped."""
    max_wrong_tokens: int = attrs.field(default=20, validator=at_least_one)
    """Wrong tokens of one scope for one stream within `guess_memory`; after that it is refused `too_early` (Q11e)."""
    max_suspects: int = attrs.field(default=1_000, validator=at_least_one)
    """Pairs of scope and stream whose wrong tokens are counted; the longest remembered is forgotten first."""

    max_interval: float = attrs.field(default=600.0, validator=positive)
    """Seconds after which a detached stream is abandoned, where its interval names no `max` (rules Q7c, Q7e)."""
    silent_retention: float = attrs.field(default=120.0, validator=positive)
    """Seconds for which a silent stream waits for its cursor (rule R2)."""
    redelivery_window: float = attrs.field(default=120.0, validator=not_negative)
    """Seconds for which confirmed entries are kept all the same, where there is room (rule R5)."""
    tombstone_ttl: float = attrs.field(default=3_600.0, validator=positive)
    """Seconds for which the reason of a gone stream is remembered (rule Q7d)."""
    key_ttl: float = attrs.field(default=86_400.0, validator=positive)
    """Seconds for which a key is remembered, from the arrival of its call (rule R21.4)."""
    ask_timeout: float = attrs.field(default=600.0, validator=positive)
    """Seconds for which an answer is awaited (rule R24)."""
    guess_memory: float = attrs.field(default=60.0, validator=positive)
    """Seconds for which the wrong tokens of a scope for a stream are counted together, from the first (rule Q11e)."""
    sse_after: float = attrs.field(default=0.25, validator=positive)
    """Seconds after which an undecided HTTP response becomes an event stream (rule R18)."""
    stall_timeout: float | None = attrs.field(default=30.0, validator=positive_or_none)
    """Seconds for which a `Write` may be outstanding (rule R11)."""
    keepalive: float | None = attrs.field(default=15.0, validator=positive_or_none)
    """Seconds of silence after which something is sent while a stream is attached (rule R15). A peer that
    can answer and gives no sign of life to several of them is given up (rule Q7a)."""
    takeover_interval: float = attrs.field(default=1.0, validator=not_negative)
    """Seconds between two takeovers of one stream by clients that send no attempt numbers (rule R14)."""
    resume_interval: float = attrs.field(default=1.0, validator=not_negative)
    """Seconds between two attachments of one stream that were not saved up; 0 does not limit them (rule Q11h)."""
    takeover_retry_ms: int = attrs.field(default=30_000, validator=at_least_one)
    """Pause asked of an HTTP client without attempt numbers whose stream another one took over (rule R14)."""
    retry_ms: int = attrs.field(default=1_000, validator=at_least_one)
    """Pause asked of an HTTP client whose stream was released (rule H16)."""

    @property
    def window_bytes(self) -> int:
        """The same as `window`, in bytes: half of what a stream may hold, so that a slow reader fails no stream."""
        return max(1, self.max_stream_bytes // 2)
