"""Where a client is: what tells one from another as long as nobody has authenticated it (rule R25)."""

from __future__ import annotations

import ipaddress
from typing import Final

import trio

from mcpstreams_sansio.ids import Address

_NETWORK_BITS: Final = 64
"""What one customer of an IPv6 network gets is a network of this size at least: all of it is one client."""


def address_of(stream: trio.SocketStream) -> Address | None:
    """Return where the other end of a TCP connection is; None if it has left already."""
    try:
        host = stream.socket.getpeername()[0]
    except OSError:
        return None
    return place_of(host)


def place_of(host: str) -> Address:
    """Return what counts as one place: an IPv4 address, or an IPv6 network."""
    ip = ipaddress.ip_address(host)
    if isinstance(ip, ipaddress.IPv4Address):
        return Address(str(ip))
    if ip.ipv4_mapped is not None:  # what a socket that listens for both makes of it
        return Address(str(ip.ipv4_mapped))
    return Address(str(ipaddress.IPv6Network((int(ip), _NETWORK_BITS), strict=False)))
