"""What stands between the wires and the server's machine: what a client sent becomes inputs of the streams.

It does what the real fronts do with a message, by the same functions, and leaves out bytes and handshakes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, assert_never

import attrs

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.framing.event_ids import parse_event_id
from mcpstreams_sansio.http.server import STATUS_OF_REASON
from mcpstreams_sansio.ids import ConnectionId
from mcpstreams_sansio.server.calls import Peer
from mcpstreams_sansio.server.dispatch import Circumstances, NotificationReceived, route
from mcpstreams_sansio.server.effects import BeginBody, BodyKind
from mcpstreams_sansio.server.inputs import CallReceived, CursorReceived, StreamsInput
from mcpstreams_sansio.server.keys import key_digest
from mcpstreams_sansio.server.policies import StreamPolicies, StreamPolicy
from mcpstreams_sansio.testing.actions import Peers
from mcpstreams_sansio.testing.conversation import ASK_CAPABILITY, called_number
from mcpstreams_sansio.testing.frames import read_message
from mcpstreams_sansio.testing.names import remembered
from mcpstreams_sansio.testing.state import State
from mcpstreams_sansio.testing.wires import Head, Post
from mcpstreams_sansio.testing.work import Work
from mcpstreams_sansio.wire.jsonrpc import Request
from mcpstreams_sansio.wire.meta import meta_of
from mcpstreams_sansio.wire.methods import TOOLS_CALL
from mcpstreams_sansio.wire.progress import PROGRESS_TOKEN
from mcpstreams_sansio.wire.revisions import NEWEST
from mcpstreams_sansio.wire.streams import ResumeInterval

INTERVAL: Final = ResumeInterval(min=1.0, max=16.0)
"""How long a client should wait before it comes back, and may."""

POLICIES: Final = StreamPolicies({TOOLS_CALL: StreamPolicy(INTERVAL)})
"""How calls are served."""
_OK: Final = 200
_ACCEPTED: Final = 202
_BAD_REQUEST: Final = 400


def inputs_of(state: State, connection_id: ConnectionId, framing: Framing, post: Post) -> Sequence[StreamsInput]:
    """Return what something that a client sent means for the streams."""
    if post.message is None:
        assert post.cursor is not None, "it has a message, a cursor, or both"
        return [CursorReceived(connection_id, *parse_event_id(post.cursor))]
    peer = Peer(state.peers is not Peers.STOCK, state.peers is Peers.MARKER, frozenset({ASK_CAPABILITY}))
    entropy = state.fresh_entropy()
    at = Circumstances(connection_id, framing, peer, NEWEST, POLICIES, entropy, last_event_id=post.cursor)
    routed = route(read_message(post.message), at)
    return [_named(state, event) for event in routed if not isinstance(event, NotificationReceived)]


def _named(state: State, event: StreamsInput) -> StreamsInput:
    """Give the stream of a call names that a transcript can show."""
    if not isinstance(event, CallReceived):
        return event
    if event.key is not None:
        remembered(event.key, lambda key: key_digest(key, None))
    stream_id, token = state.fresh_stream()
    request = event.request
    state.arrived[stream_id] = Work(
        called_number(request.params),
        stream_id,
        request.id,
        meta_of(request.params)[PROGRESS_TOKEN],
        state.left.messages,
        state.left.asks,
    )
    return attrs.evolve(event, stream_id=stream_id, fresh_token=token)


def head_of(effect: BeginBody, post: Post) -> Head:
    """Return the head of the response to what a client sent."""
    match effect.body:
        case BodyKind.EMPTY:
            return Head(effect.body, _ACCEPTED)
        case BodyKind.EVENTS:
            return Head(effect.body, _OK)
        case BodyKind.JSON:
            asked = post.message is not None and isinstance(read_message(post.message), Request)
            usual = _OK if asked else _BAD_REQUEST
            status = usual if effect.reason is None else STATUS_OF_REASON.get(effect.reason, usual)
            return Head(effect.body, status, effect.retry_after)
        case unknown:
            assert_never(unknown)
