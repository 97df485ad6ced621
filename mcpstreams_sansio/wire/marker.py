"""The vocabulary of our own extension, `mcpstreams/resumable-streams`: what only peers that negotiated it may see.

It holds the extension's methods, the keys that it uses in `_meta`, and the values that stand there. Where those keys
are put and taken off again is in `meta.py` and `tags.py`. This module must never know what a stream does.

Spec: rules R4, R6, R14, R21, R22.
"""

from __future__ import annotations

import re
from typing import Final, final

import attrs

from mcpstreams_sansio.errors import INVALID_PARAMS, LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.ids import RequestId, Secret, StreamId
from mcpstreams_sansio.wire.converter import Position, Seconds, structure, unstructure
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Notification, Request
from mcpstreams_sansio.wire.streams import StreamRef

MARKER: Final = "mcpstreams/resumable-streams"
"""Names the extension among the capabilities of either side (rule P3)."""

OWN_PREFIX: Final = "mcpstreams/"
"""Every key of `_meta` that begins like this is ours, whether this version knows it or not (rule R4)."""

META_SEQUENCE: Final = "mcpstreams/seq"
"""On a message of a stream: its position there, from 1 (rules R1, R4)."""

META_STREAM_ID: Final = "streamId"
"""On a message of a stream: which stream; on a request of a client: a hint and no more (rules W8, Q4a, Q4f)."""

META_AFTER: Final = "mcpstreams/after"
"""On `stream/resume`: the position of the last message that the client has (rule Q5b)."""

META_ACK: Final = "mcpstreams/ack"
"""On anything that a client sends: what it has (rule R6)."""

META_WINDOW: Final = "mcpstreams/window"
"""On `create`: how much may be unacknowledged (rule R6)."""

META_KEY: Final = "mcpstreams/key"
"""On a call, each re-send of it, its cancellation and an answer to a question of it: the key that names the call (rules
R21, R24)."""

META_TOKEN: Final = "mcpstreams/resumeToken"
"""On an answer to a question of the server: the token of the stream that asks (rule R24)."""

META_ATTEMPT: Final = "mcpstreams/attempt"
"""On a call, each re-send and each resume: which attempt of which client this is (rule R14)."""

MARKER_CANCEL: Final = "mcpstreams/cancel"
"""Client to server: cancel the work of a stream by its token, from any connection (rule R22)."""

MARKER_ACK: Final = "notifications/mcpstreams/ack"
"""Client to server: acknowledgements, where nothing else is to be sent that they could ride on (rule R6)."""

_INSTANCE: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
_ATTEMPT: Final = re.compile(r"([A-Za-z0-9_-]{1,128})\.(0|[1-9][0-9]{0,14})")
_MAX_NUMBER: Final = 10**15 - 1


def _check_instance(_: Attempt, __: attrs.Attribute[str], value: str) -> None:
    if not _INSTANCE.fullmatch(value):
        raise LocalProtocolError("instance of an attempt is 1 to 128 letters, digits, '-' and '_'")


def _check_number(_: Attempt, __: attrs.Attribute[int], value: int) -> None:
    if not 0 <= value <= _MAX_NUMBER:
        raise LocalProtocolError(f"number of an attempt is from 0 to {_MAX_NUMBER}")


@final
@attrs.frozen
class Attempt:
    """One try of a client to get at its call; of one client's, the highest number is the latest.

    Wire: `"<instance>.<number>"`

    Spec: rule R14.
    """

    instance: str = attrs.field(validator=_check_instance)
    """Random for each client: 1 to 128 of `[A-Za-z0-9_-]`."""
    number: int = attrs.field(validator=_check_number)
    """Rises with every attempt; at most 15 digits."""

    @classmethod
    def parse(cls, value: object, what: str) -> Attempt:
        """Read what a client wrote.

        Args:
            value: Whatever stands there.
            what: How an error calls it.

        Raises:
            RemoteProtocolError: -32602; it is not `<instance>.<number>`.
        """
        if type(value) is not str or not (match := _ATTEMPT.fullmatch(value)):
            raise RemoteProtocolError(f"{what}: not <instance>.<number>", error_code=INVALID_PARAMS)
        return cls(match[1], int(match[2]))

    def __str__(self) -> str:
        return f"{self.instance}.{self.number}"


@final
@attrs.frozen
class Ack:
    """A client has everything of one stream up to a position.

    Wire: `{"streamId": "s", "through": 12}`, with `resumeToken` where the stream is not attached to the connection.

    Spec: rule R6.
    """

    stream_id: StreamId
    """The stream."""
    through: Position
    """The last position that the client has, itself included; 0 is before the first."""
    resume_token: Secret | None = None
    """Entitles to acknowledge from a connection that the stream is not attached to."""
    extra: JSONObject = attrs.field(factory=dict, hash=False, repr=False)
    """Members that this version does not name."""


@final
@attrs.frozen
class Acks:
    """Params of `notifications/mcpstreams/ack`.

    Wire: `{"acks": [{"streamId": "s", "through": 12}]}`

    Spec: rule R6.
    """

    acks: tuple[Ack, ...]
    """In no particular order; of one stream's, the highest counts."""
    meta: JSONObject | None = attrs.field(default=None, hash=False, repr=False)
    """`_meta` of the message."""
    extra: JSONObject = attrs.field(factory=dict, hash=False, repr=False)
    """Members that this version does not name."""


@final
@attrs.frozen
class Window:
    """How much of a stream may be unacknowledged; a client acknowledges after half of it, of either kind.

    Wire: `{"entries": 1000, "bytes": 1048576}`

    Spec: rule R6.
    """

    entries: Position
    """Messages."""
    bytes: Position
    """Bytes of their encoded form."""
    extra: JSONObject = attrs.field(factory=dict, hash=False, repr=False)
    """Members that this version does not name."""


@final
@attrs.frozen
class ServerMarker:
    """Settings that a server gives with the marker.

    Wire: `{"instance": "i", "keyTtl": 86400, "durable": false}`

    Spec: rules R21.4, R21.7.
    """

    instance: str
    """Names the memory that keys and streams live in; a client that meets another one re-sends nothing."""
    key_ttl: Seconds
    """Seconds for which the server knows a key from its arrival; a client never re-sends an older one."""
    durable: bool = False
    """Keys and streams outlive the instance."""
    extra: JSONObject = attrs.field(factory=dict, hash=False, repr=False)
    """Settings that this version does not name."""


@final
@attrs.frozen
class ClientMarker:
    """Settings that a client gives with the marker: none so far.

    Wire: `{}`
    """

    extra: JSONObject = attrs.field(factory=dict, hash=False, repr=False)
    """Settings that this version does not name."""


def cancel_request(request_id: RequestId, ref: StreamRef) -> Request:
    """Return the request that cancels a stream's work by its token; `read_ref` reads its params (rule R22)."""
    return Request(request_id, MARKER_CANCEL, unstructure(ref))


def ack_notification(acks: tuple[Ack, ...]) -> Notification:
    """Return a message that only acknowledges (rule R6)."""
    return Notification(MARKER_ACK, unstructure(Acks(acks)))


def read_ack_notification(params: JSONObject | None) -> tuple[Ack, ...]:
    """Read the params of `notifications/mcpstreams/ack`.

    Raises:
        RemoteProtocolError: -32602; the text names the fields that are wrong.
    """
    return structure(Acks, params, "params").acks
