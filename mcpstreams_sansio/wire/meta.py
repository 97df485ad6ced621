"""What our extension puts into `_meta`, takes out of it, and keeps from the application.

Params and results are looked at as plain objects, whatever their method. Nothing is ever changed in place.

Spec: rules R4, R6, R14, R21.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import attrs

from mcpstreams_sansio.errors import INVALID_PARAMS, LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.ids import Secret
from mcpstreams_sansio.wire.converter import WIRE_NAME, structure, unstructure
from mcpstreams_sansio.wire.jsonrpc import JSONObject, JSONValue
from mcpstreams_sansio.wire.marker import (
    META_ACK,
    META_AFTER,
    META_ATTEMPT,
    META_KEY,
    META_STREAM_ID,
    META_TOKEN,
    META_WINDOW,
    OWN_PREFIX,
    Ack,
    Attempt,
    Window,
)

META: Final = "_meta"
"""The member of params and results that is reserved for metadata."""

_KEY: Final = re.compile(r"[A-Za-z0-9_-]{22,128}")


@attrs.frozen
class _AckMeta:
    acks: tuple[Ack, ...] = attrs.field(default=(), metadata={WIRE_NAME: META_ACK})
    extra: JSONObject = attrs.field(factory=dict)


@attrs.frozen
class _WindowMeta:
    window: Window | None = attrs.field(default=None, metadata={WIRE_NAME: META_WINDOW})
    extra: JSONObject = attrs.field(factory=dict)


def meta_of(holder: JSONObject | None, what: str = "params") -> JSONObject:
    """Return the `_meta` of params or of a result, empty where there is none.

    Args:
        holder: Params or a result.
        what: How an error calls it.

    Raises:
        RemoteProtocolError: -32602; `_meta` is there and is no object.
    """
    if holder is None or META not in holder:
        return {}
    meta = holder[META]
    if not isinstance(meta, Mapping):
        raise RemoteProtocolError(f"{what}.{META}: not an object", error_code=INVALID_PARAMS)
    return meta


def with_meta(holder: JSONObject | None, entries: JSONObject | None) -> JSONObject | None:
    """Return params or a result with these entries added to its `_meta`, or as it is where there are none to add."""
    if not entries:
        return holder
    return {**(holder or {}), META: {**meta_of(holder), **entries}}


def own_meta(
    *,
    key: Secret | None = None,
    attempt: Attempt | None = None,
    after: int | None = None,
    acks: tuple[Ack, ...] = (),
    resume_token: Secret | None = None,
) -> JSONObject | None:
    """Return what a client adds to the `_meta` of a message, `None` where that is nothing.

    Args:
        key: Names the call (rules R21, R24).
        attempt: Which attempt of this client it is (rule R14).
        after: The last position that the client has, 0 for none (rule Q5b).
        acks: What the client has of any streams (rule R6).
        resume_token: Entitles to answer a question, on whatever connection that is done (rule R24).
    """
    entries: dict[str, JSONValue] = {}
    if key is not None:
        entries[META_KEY] = key.reveal()
    if attempt is not None:
        entries[META_ATTEMPT] = str(attempt)
    if after is not None:
        entries[META_AFTER] = after
    if acks:
        entries[META_ACK] = [unstructure(ack) for ack in acks]
    if resume_token is not None:
        entries[META_TOKEN] = resume_token.reveal()
    return entries or None


def parse_call_key(holder: JSONObject | None, what: str = "params") -> Secret | None:
    """Return the key of a call, of its cancellation or of an answer to a question of it; `None` where there is none.

    Args:
        holder: Params, or the result that is an answer.
        what: How an error calls it.

    Raises:
        RemoteProtocolError: -32602; it is not 22 to 128 of `[A-Za-z0-9_-]`.

    Spec: rules R21.5, R24.
    """
    meta = meta_of(holder, what)
    if META_KEY not in meta:
        return None
    value = meta[META_KEY]
    if not isinstance(value, str) or not _KEY.fullmatch(value):
        raise _unfit(META_KEY, "not a key of 22 to 128 letters, digits, '-' and '_'", what)
    return Secret(value)


def read_answer_token(result: JSONObject) -> Secret | None:
    """Return the token with which a client answers a question, `None` where it shows none.

    Raises:
        RemoteProtocolError: -32602; it is no token.

    Wire: `{"_meta": {"mcpstreams/resumeToken": "t"}}` in the result. An error has no place for it.

    Spec: rule R24.
    """
    meta = meta_of(result, "result")
    if META_TOKEN not in meta:
        return None
    value = meta[META_TOKEN]
    if not isinstance(value, str) or not value:
        raise _unfit(META_TOKEN, "not a non-empty string", "result")
    return Secret(value)


def read_attempt(params: JSONObject | None) -> Attempt | None:
    """Return which attempt of its client a call, a re-send or a resume is, `None` where it does not say.

    Raises:
        RemoteProtocolError: -32602; it is not `<instance>.<number>`.

    Spec: rule R14.
    """
    meta = meta_of(params)
    if META_ATTEMPT not in meta:
        return None
    return Attempt.parse(meta[META_ATTEMPT], f"params.{META}.{META_ATTEMPT}")


def read_after(params: JSONObject | None) -> int | None:
    """Return the position of the last message that a resuming client has, `None` where it does not say.

    Raises:
        RemoteProtocolError: -32602; it is no position. Such a resume is refused as `invalid_cursor`.

    Spec: rules Q5b, Q5c, R1.
    """
    meta = meta_of(params)
    if META_AFTER not in meta:
        return None
    value = meta[META_AFTER]
    if type(value) is not int or value < 0:
        raise _unfit(META_AFTER, "not a position")
    return value


def read_acks(holder: JSONObject | None, what: str = "params") -> tuple[Ack, ...]:
    """Return the acknowledgements that ride on anything a client sends.

    Raises:
        RemoteProtocolError: -32602; the text names the fields that are wrong.

    Spec: rule R6.
    """
    meta = meta_of(holder, what)
    if META_ACK not in meta:
        return ()
    return structure(_AckMeta, meta, f"{what}.{META}").acks


def read_window(meta: JSONObject | None) -> Window | None:
    """Return how much of a stream may be unacknowledged, as the `_meta` of its `create` says; `None` for no say.

    Raises:
        RemoteProtocolError: -32602; the text names the fields that are wrong.

    Spec: rule R6.
    """
    if meta is None:
        return None
    return structure(_WindowMeta, meta, f"params.{META}").window


def without_own_meta(holder: JSONObject | None, what: str = "params") -> JSONObject | None:
    """Return params or a result as the application may see them: without our own keys (rule R21.5).

    Everything else stays: the application's own `_meta`, the progress token, a hint of the peer's. A `_meta` that
    held nothing else goes, and so do params that held nothing else.

    Args:
        holder: Params or a result.
        what: How an error calls it.

    Raises:
        RemoteProtocolError: -32602; `_meta` is there and is no object.
    """
    return without_keys(holder, frozenset(key for key in meta_of(holder, what) if key.startswith(OWN_PREFIX)))


def without_keys(holder: JSONObject | None, keys: frozenset[str]) -> JSONObject | None:
    """Return params or a result without these keys of its `_meta`; `None` where nothing remains of it."""
    if not keys:
        return holder
    members = {name: member for name, member in (holder or {}).items() if name != META}
    if meta := {key: value for key, value in meta_of(holder).items() if key not in keys}:
        return {**members, META: meta}
    return members or None


def check_application_meta(holder: object) -> None:
    """Refuse params or a result of the application whose `_meta` has a key of ours.

    Args:
        holder: What the application gave, whatever that is; `None` where it gave nothing.

    Raises:
        LocalProtocolError: It has one, or `_meta` or the whole is no object.

    Spec: rule R4.
    """
    if holder is None:
        return
    if not isinstance(holder, Mapping):
        raise LocalProtocolError("params are an object, and so is a result")
    meta = holder.get(META, {})
    if not isinstance(meta, Mapping):
        raise LocalProtocolError(f"{META} is an object")
    if any(isinstance(key, str) and (key.startswith(OWN_PREFIX) or key == META_STREAM_ID) for key in meta):
        raise LocalProtocolError(
            f"in {META}, {META_STREAM_ID} and what begins with {OWN_PREFIX} are not the application's"
        )


def check_application_result(result: object) -> None:
    """Refuse what the application gave for a result, where it is none or has a key of ours.

    Raises:
        LocalProtocolError: As for `check_application_meta`; and a result is never absent.
    """
    if result is None:
        raise LocalProtocolError("a result is an object")
    check_application_meta(result)


def _unfit(key: str, fault: str, what: str = "params") -> RemoteProtocolError:
    return RemoteProtocolError(f"{what}.{META}.{key}: {fault}", error_code=INVALID_PARAMS)
