"""Faults with tokens: what they open, and where they show."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from mcpstreams_sansio.client import ledger
from mcpstreams_sansio.ids import ConnectionId, Secret, same_digest
from mcpstreams_sansio.server import checks, lifecycle, production, registry, stream, streams
from mcpstreams_sansio.server.inputs import AckReceived
from mcpstreams_sansio.server.records import EntryKind, EntryLogged
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.wire.jsonrpc import Message, Notification, Request
from mcpstreams_sansio.wire.meta import with_meta
from mcpstreams_sansio.wire.methods import PROGRESS
from mcpstreams_sansio.wire.streams import STREAM_RESUME, StreamCreate
from tests.model.planted.fault import Found, Patch, around, planted


@planted(
    "case A3",
    Found("multiplexed marker messages=0 intrusions=1", "no access without the token", 4),
)
def token_is_ignored(patch: Patch) -> None:
    """Whoever knows the id of a stream may have it."""
    patch.setattr(registry.Registry, "find", lambda known, stream_id, *_: known.streams.get(stream_id))


@planted(
    "rule P19",
    Found("multiplexed marker calls=2 messages=0 intrusions=1", "no access without the token", 6),
)
def any_token_opens_any_stream(patch: Patch) -> None:
    """Whoever has a token of his own may have every stream of which he knows the id."""

    def opens(known: registry.Registry, _: stream.Stream | None, token: Secret) -> bool:
        digest = token.digest()
        return any(same_digest(digest, each) for other in known.streams.values() for each in other.tokens)

    patch.setattr(registry.Registry, "opens", opens)


@planted(
    "rule R6",
    Found("multiplexed marker messages=0 intrusions=1", "no access without the token", 4),
)
def anybody_may_acknowledge(patch: Patch) -> None:
    """An acknowledgement counts whatever token is with it."""

    def receive(known: registry.Registry, event: AckReceived) -> None:
        acknowledged = known.streams.get(event.stream_id)
        if acknowledged is not None and acknowledged.state is not StreamState.GONE:
            lifecycle.confirm(known, acknowledged, event.through)

    patch.setitem(streams._APPLY, AckReceived, receive)


@planted(
    "rule Q11b",
    Found("multiplexed marker", "no token but in create", 4),
)
def tells_the_token_with_every_message(patch: Patch) -> None:
    """Each message of a stream holds its resume token."""
    tokens: dict[str, str] = {}

    def encode_create(inner: Callable[..., bytes], config: object, create: StreamCreate, peer: object) -> bytes:
        tokens[create.stream_id] = create.resume_token.reveal()
        return inner(config, create, peer)

    def encode_entry(inner: Callable[..., bytes], told: stream.Stream, message: Message, sequence: int) -> bytes:
        if isinstance(message, Notification) and message.method == PROGRESS:
            message = attrs.evolve(message, params=with_meta(message.params, {"token": tokens[told.stream_id]}))
        return inner(told, message, sequence)

    for maker in (registry, checks):
        around(patch, maker, "encode_create", encode_create)
        around(patch, maker, "encode_entry", encode_entry)


@planted(
    "rule R3",
    Found("multiplexed marker messages=0 durable=1", "no token but in create", 3),
)
def create_is_recorded_as_it_is(patch: Patch) -> None:
    """The record of the first entry holds what was written, and with it the token."""

    def append(
        inner: Callable[..., int],
        known: registry.Registry,
        told: stream.Stream,
        kind: EntryKind,
        payload: bytes,
        *more: str,
    ) -> int:
        if kind is EntryKind.CREATE:
            known.gate.record(EntryLogged(told.stream_id, 1, kind, payload))
        return inner(known, told, kind, payload, *more)

    around(patch, production, "append", append)


@planted(
    "rule Q11b",
    Found("multiplexed marker calls=2 messages=0", "no token but in create", 5),
)
def every_call_is_told_the_first_token(patch: Patch) -> None:
    """What announces a stream holds the token of another one."""
    tokens: list[Secret] = []

    def encode_create(inner: Callable[..., bytes], config: object, create: StreamCreate, peer: object) -> bytes:
        tokens.append(create.resume_token)
        return inner(config, attrs.evolve(create, resume_token=tokens[0]), peer)

    for maker in (registry, checks):
        around(patch, maker, "encode_create", encode_create)


@planted(
    "rule Q11b",
    Found("http draft messages=0 cuts=1", "no token but in create", 8),
)
def token_stands_in_a_header(patch: Patch) -> None:
    """A client that comes back shows its token where everything on the way can read it."""

    def send(
        inner: Callable[..., None],
        known: ledger.Ledger,
        path: ConnectionId,
        message: Message,
        cursor: str | None = None,
    ) -> None:
        if isinstance(message, Request) and message.method == STREAM_RESUME and message.params is not None:
            cursor = f"{cursor}?{message.params['resumeToken']}"
        inner(known, path, message, cursor)

    around(patch, ledger.Ledger, "send", send)
