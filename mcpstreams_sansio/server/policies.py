"""How each call is served: as what kind of stream, and when its answer becomes an event stream (rules R2, R18)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

import attrs

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.server.calls import BodyPolicy, CallPolicy, Peer, StreamKind
from mcpstreams_sansio.shapes import check_shape
from mcpstreams_sansio.wire.converter import unstructure
from mcpstreams_sansio.wire.jsonrpc import Request
from mcpstreams_sansio.wire.methods import TOOLS_CALL
from mcpstreams_sansio.wire.revisions import REVISIONS, Revision
from mcpstreams_sansio.wire.streams import ResumeInterval
from mcpstreams_sansio.wire.strict_json import encode_json


@final
@attrs.frozen
class StreamPolicy:
    """What an application decides about the streams of a method.

    Raises:
        ValueError: `body` is `NEVER`.
        LocalProtocolError: A field is not what it is declared to be, or JSON cannot carry the interval. So whenever a
            call comes, its `create` can be written (rule R13).
    """

    interval: ResumeInterval = ResumeInterval()
    """`min` and `max` of `create`. Without `max` the server's own limit holds; `max` 0 is not resumable (rule Q7c)."""
    body: BodyPolicy = attrs.field(
        default=BodyPolicy.AT_ONCE, validator=attrs.validators.in_((BodyPolicy.AT_ONCE, BodyPolicy.WHEN_NEEDED))
    )
    """Whether an HTTP response is an event stream from the start; only the requester may rule one out (rule R18)."""
    run_on: bool = False
    """The work goes on when its stream is abandoned (rule R27)."""

    def __attrs_post_init__(self) -> None:
        check_shape(self, frozenset({StreamPolicy}))
        encode_json(unstructure(self.interval))


_DEFAULT_POLICIES: Final[Mapping[str, StreamPolicy]] = {TOOLS_CALL: StreamPolicy()}
_OTHER_METHODS: Final = StreamPolicy(body=BodyPolicy.WHEN_NEEDED)


@final
@attrs.frozen
class StreamPolicies:
    """The policy of each method; of one tool where the name is `tools/call:NAME`.

    What is not named is a stream from the start if it is `tools/call` or has a key, else when it turns out to need one.
    """

    by_name: Mapping[str, StreamPolicy] = attrs.field(factory=dict)

    def find(self, request: Request, *, keyed: bool) -> StreamPolicy:
        """Return the policy of a call. A keyed call is a stream from its first byte, whatever it says (R18, R21.1)."""
        tool = (request.params or {}).get("name")
        named = self.by_name.get(f"{request.method}:{tool}") or self.by_name.get(request.method)
        policy = named or _DEFAULT_POLICIES.get(request.method, _OTHER_METHODS)
        return attrs.evolve(policy, body=BodyPolicy.AT_ONCE) if keyed else policy


def call_policy(
    policy: StreamPolicy, peer: Peer, revision: Revision, framing: Framing, *, accepts_events: bool
) -> CallPolicy:
    """Return how a call is served on the connection on which it came.

    A peer that declared `streams` gets an announced stream where a stream begins at once. One that did not gets a
    silent stream over HTTP, since a cursor brings it back there, and none elsewhere (rule R2). Who accepts no events
    gets no stream (rule Q13).

    Args:
        policy: What the application decided.
        peer: The requester.
        revision: What was negotiated with it.
        framing: That of the connection.
        accepts_events: Its `Accept` names event streams; always true where there is no such thing.
    """
    rules = REVISIONS[revision]
    on_http = framing is Framing.HTTP
    if not accepts_events:
        kind, body = StreamKind.FLEETING, BodyPolicy.NEVER
    elif peer.streams and policy.body is BodyPolicy.AT_ONCE:
        kind, body = StreamKind.ANNOUNCED, policy.body
    else:
        kind, body = StreamKind.SILENT if on_http else StreamKind.FLEETING, policy.body
    after_loss = rules.after_loss_on_http if on_http else rules.after_loss_on_shared
    return CallPolicy(kind, body, after_loss, policy.interval, policy.run_on)
