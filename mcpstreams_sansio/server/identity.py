"""Who a server says it is, and the handshake in which it says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, final

import attrs

from mcpstreams_sansio.server.calls import Peer
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.version import VERSION
from mcpstreams_sansio.wire.handshake import (
    ServerHello,
    check_application_info,
    initialize_response,
    read_client_hello,
    server_capabilities,
)
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Request, Response, encode_message
from mcpstreams_sansio.wire.marker import ServerMarker
from mcpstreams_sansio.wire.revisions import NEWEST, Revision, negotiate

MAX_INFO_LENGTH: Final = 256
"""Characters that are kept of each text of `clientInfo`."""

MAX_CAPABILITIES: Final = 16
"""Names of a client's capabilities that are kept; those that mean something here come first."""

MAX_CAPABILITY_LENGTH: Final = 64
"""Characters of such a name; a longer one is not kept."""

_INFO: Final = ("name", "title", "version")


@final
@attrs.frozen(kw_only=True)
class ServerIdentity:
    """What a server answers to `initialize`, apart from what it negotiates.

    Raises:
        LocalProtocolError: The capabilities declare what this package declares, `server_info` says no name or no
            version, or something is no JSON. So whatever a peer asks later, the answer can be written.
    """

    instance: str
    """Names the memory that keys and streams live in: another one after every start, and one for the life of a log that
    is read back. Such a log keeps it by itself: one that has lost a record is another one (rule R21.7)."""
    server_info: JSONObject = attrs.field(factory=lambda: {"name": "mcpstreams", "version": VERSION})
    """`name` and `version`, and what else `serverInfo` may hold."""
    durable: bool = False
    """Streams and keys outlive the process: the log that holds `instance` is read back by `Recover` (rule R21.7)."""
    capabilities: JSONObject = attrs.field(factory=dict)
    """What the application offers: `{"tools": {}}` and the like, without streams or the marker."""
    instructions: str | None = None
    """A hint for the model on the other side."""

    def __attrs_post_init__(self) -> None:
        check_application_info(self.server_info)
        encode_message(initialize_response(0, self.hello(NEWEST, ServerMarker(self.instance, 0))))

    def hello(self, revision: Revision, marker: ServerMarker) -> ServerHello:
        """Return the answer to a client with which this revision was negotiated."""
        return ServerHello(
            revision.value,
            server_capabilities(self.capabilities, marker),
            self.server_info,
            extra={} if self.instructions is None else {"instructions": self.instructions},
        )


@final
@attrs.frozen
class Negotiated:
    """What both sides know once the handshake is done (rule R12)."""

    peer: Peer
    revision: Revision


def answer_initialize(request: Request, identity: ServerIdentity, config: StreamsConfig) -> tuple[Response, Negotiated]:
    """Return the answer to `initialize`, and what it settles.

    Raises:
        RemoteProtocolError: -32602; the params cannot be read. Nothing is settled (case I8).
    """
    hello = read_client_hello(request.params)
    revision = negotiate(hello.protocol_version)
    answer = identity.hello(revision, ServerMarker(identity.instance, config.key_ttl, identity.durable))
    peer = Peer(
        hello.streams,
        hello.streams and hello.marker is not None,
        _capabilities_to_keep(hello.declared),
        _info_to_keep(hello.client_info),
    )
    return initialize_response(request.id, answer), Negotiated(peer, revision)


def _capabilities_to_keep(declared: Sequence[str]) -> frozenset[str]:
    return frozenset([name for name in declared if len(name) <= MAX_CAPABILITY_LENGTH][:MAX_CAPABILITIES])


def _info_to_keep(info: JSONObject) -> JSONObject:
    """Return what is kept of a peer's word about itself: anybody can say anything, and it is kept for each session."""
    kept = {name: info.get(name) for name in _INFO}
    return {name: text[:MAX_INFO_LENGTH] for name, text in kept.items() if isinstance(text, str)}
