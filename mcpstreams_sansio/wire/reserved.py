"""Methods that no application may use: this package speaks them itself.

An application that forwards what it hears elsewhere would otherwise end its own stream, or open one that nobody has.

Spec: rules P35, P37, R4, R14, R21, R24.
"""

from __future__ import annotations

from typing import Final

from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.wire.handshake import INITIALIZE, INITIALIZED
from mcpstreams_sansio.wire.marker import OWN_PREFIX
from mcpstreams_sansio.wire.methods import CANCELLED

_METHODS: Final = frozenset({INITIALIZE, INITIALIZED, CANCELLED})
_PREFIXES: Final = ("stream/", "notifications/stream/", OWN_PREFIX, f"notifications/{OWN_PREFIX}")


def check_application_method(method: object) -> None:
    """Refuse a method of the handshake, of cancellation, of streams or of our extension.

    Args:
        method: What the application gave, whatever that is.

    Raises:
        LocalProtocolError: It is one of them, or no text.
    """
    if not isinstance(method, str):
        raise LocalProtocolError("method must be a string")
    if method in _METHODS or method.startswith(_PREFIXES):
        raise LocalProtocolError("this method is sent by the package itself, never by an application")
