"""What the two fronts of a client have in common, so that one machine can hold either (rule R12).

A front turns what comes on connections into inputs of `ClientStreams`, and what those want sent into bytes. It decides
nothing about calls, and never when to connect.
"""

from __future__ import annotations

from typing import TypeAlias, final

import attrs

from mcpstreams_sansio.client.effects import ServerConnected, UnreadableReceived
from mcpstreams_sansio.client.failures import NOTHING_SAID, Failure, Said
from mcpstreams_sansio.client.inputs import ServerTraits, StreamsNews
from mcpstreams_sansio.wire.handshake import ServerHello


@final
@attrs.frozen
class LinkFailed:
    """There is no link, and another try may bring one: no server was reached, or it was lost in the handshake."""


@final
@attrs.frozen
class LinkHopeless:
    """There is no link, and no try will bring one."""

    failure: Failure
    said: Said = NOTHING_SAID


@final
@attrs.frozen
class FrontClosed:
    """The server was left in good order, or there was none to leave."""


FrontNews: TypeAlias = StreamsNews | ServerConnected | UnreadableReceived | LinkFailed | LinkHopeless | FrontClosed
"""What a front has to tell its machine, besides what the driver has to do."""


def traits_of(hello: ServerHello) -> ServerTraits:
    """Return what of a server's `initialize` result concerns its streams (rules P3, R21.7)."""
    marker = hello.marker
    if marker is None:
        return ServerTraits()
    return ServerTraits(True, marker.instance, marker.key_ttl)
