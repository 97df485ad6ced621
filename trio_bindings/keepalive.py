"""TCP itself asks whether a peer is still there, where nobody else would ask.

A machine notices that a connection is dead by what it has to write on it. A connection that carries no stream may have
nothing to write for ever; if its peer's machine loses power, or a firewall forgets it, nobody says so.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Final

import trio

IDLE_SECONDS: Final = 60
"""How long a connection may be silent before TCP asks."""

INTERVAL_SECONDS: Final = 15
"""How long TCP waits before it asks again."""

PROBES: Final = 4
"""Questions without an answer after which the connection is lost: two minutes after the last sign of life."""

_NAMES: Final = {
    "TCP_KEEPIDLE": IDLE_SECONDS,
    "TCP_KEEPALIVE": IDLE_SECONDS,  # what macOS calls it
    "TCP_KEEPINTVL": INTERVAL_SECONDS,
    "TCP_KEEPCNT": PROBES,
}

OPTIONS: Final = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    *((socket.IPPROTO_TCP, getattr(socket, name), value) for name, value in _NAMES.items() if hasattr(socket, name)),
)
"""Level, name and value of each option. A platform that does not let the times be chosen has times of its own."""


def ask_of_silent_peers(tcp: trio.socket.SocketType) -> None:
    """Let a connection be lost once its peer has vanished, however silent it is.

    Args:
        tcp: A connected socket. One that is broken already stays so, and its next use says it.
    """
    with contextlib.suppress(OSError):
        for option in OPTIONS:
            tcp.setsockopt(*option)
