"""The clients of a world: usually one; another one may take up its call, or come after it."""

from __future__ import annotations

from typing import Final, Self, final

import attrs

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.effects import ClientStreamsEffect
from mcpstreams_sansio.client.inputs import ClientStreamsInput
from mcpstreams_sansio.client.streams import ClientStreams
from mcpstreams_sansio.server.inputs import Scope
from mcpstreams_sansio.testing.machines import Shared
from mcpstreams_sansio.testing.names import connection_name, instance_name
from mcpstreams_sansio.testing.watched import WatchedClient

_FIRST_EXCHANGE: Final = 500_000
"""What a client's machine numbers its exchanges from, so that no connection of the server's has the same name."""
_EXCHANGES: Final = 10_000
"""More than one client ever begins."""

FIRST: Final = "a"
"""The client that makes the calls."""


@final
@attrs.frozen(eq=False)
class Home:
    """One client: its machine, and how it reaches the server."""

    name: str
    machine: Shared[ClientStreamsInput, ClientStreamsEffect]
    scope: Scope | None = None
    """Where it is at home now; None if it has to connect first."""
    wire: str | None = None
    """The multiplexed wire that it uses now."""

    def connected(self, scope: Scope, wire: str | None) -> Self:
        """It has a link."""
        return attrs.evolve(self, scope=scope, wire=wire)

    def alone(self) -> Self:
        """It has lost its link."""
        return attrs.evolve(self, scope=None, wire=None)


def fresh_homes(config: ClientConfig, number: int) -> tuple[Home, ...]:
    """Return clients that have done nothing yet, each an instance of its own (rule R14).

    Args:
        config: What they have in common.
        number: How many.
    """
    machines = [
        ClientStreams(
            attrs.evolve(config, instance=instance_name(each)), connection_name(_FIRST_EXCHANGE + each * _EXCHANGES)
        )
        for each in range(1, number + 1)
    ]
    return tuple(Home(chr(ord(FIRST) + each), Shared(WatchedClient(machine))) for each, machine in enumerate(machines))
