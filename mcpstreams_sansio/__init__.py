"""Resumable MCP streams without I/O.

The package is a house whose rooms import downwards only. On the ground floor `errors` says whose fault a failure is and
`ids` names streams, connections and secrets. `wire` knows messages, `framing` knows the bytes around them. `server` and
`client` hold the two sides of a stream as tables of states and signals; `peer` and `http` translate between those and
a multiplexed connection or an HTTP exchange; `server.machine` and `client.machine` are what a driver owns. `testing`
runs whole worlds of them through every order of events. Everything that an embedder needs is re-exported here.
"""

from __future__ import annotations

from mcpstreams_sansio.errors import LocalProtocolError, ProtocolError, RemoteProtocolError
from mcpstreams_sansio.ids import (
    CallId,
    ConnectionId,
    Digest,
    Entropy,
    Principal,
    RequestId,
    Secret,
    StreamId,
    same_digest,
)

__all__ = [
    "CallId",
    "ConnectionId",
    "Digest",
    "Entropy",
    "LocalProtocolError",
    "Principal",
    "ProtocolError",
    "RemoteProtocolError",
    "RequestId",
    "Secret",
    "StreamId",
    "same_digest",
]
