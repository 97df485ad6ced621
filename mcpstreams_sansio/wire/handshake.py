"""The handshake of `initialize`: who the peer is and which streams it can do.

Only what concerns streams is typed; the rest of params, result and capabilities is kept as it came.

Spec: MCP 2025-11-25, Lifecycle. Rules P1-P3, W10, R21.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar, final

import attrs

from mcpstreams_sansio.errors import LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.ids import RequestId
from mcpstreams_sansio.wire.converter import WIRE_NAME, structure, unstructure
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Request, Response
from mcpstreams_sansio.wire.marker import MARKER, ClientMarker, ServerMarker

INITIALIZE: Final = "initialize"
"""Client to server: the first request of a session."""

INITIALIZED: Final = "notifications/initialized"
"""Client to server: the handshake is done."""


@final
@attrs.frozen
class ClientExperimental:
    """`capabilities.experimental` of a client.

    Wire: `{"mcpstreams/resumable-streams": {}}`
    """

    marker: ClientMarker | None = attrs.field(default=None, metadata={WIRE_NAME: MARKER})
    """It knows our extension."""
    extra: JSONObject = attrs.field(factory=dict, hash=False, repr=False)
    """Other experiments."""


@final
@attrs.frozen
class ClientCapabilities:
    """What a client can do; a capability that is there is declared, whatever it holds.

    Wire: `{"streams": {}, "sampling": {}, "experimental": {"mcpstreams/resumable-streams": {}}}`

    Spec: rule P1.
    """

    streams: JSONObject | None = attrs.field(default=None, hash=False)
    """Resumable streams, the draft's capability."""
    sampling: JSONObject | None = attrs.field(default=None, hash=False)
    """The server may ask it to sample."""
    elicitation: JSONObject | None = attrs.field(default=None, hash=False)
    """The server may ask its user."""
    roots: JSONObject | None = attrs.field(default=None, hash=False)
    """The server may ask for its roots."""
    experimental: ClientExperimental | None = None
    """Our extension among others."""
    extra: JSONObject = attrs.field(factory=dict, hash=False, repr=False)
    """Capabilities that are not named here."""


@final
@attrs.frozen
class ClientHello:
    """Params of `initialize`.

    Wire: `{"protocolVersion": "2025-11-25", "capabilities": {"streams": {}}, "clientInfo": {...}}`

    Spec: rules P1, P3.
    """

    protocol_version: str
    """The revision that it wants."""
    capabilities: ClientCapabilities
    """What it can do."""
    client_info: JSONObject = attrs.field(hash=False)
    """Who it is."""
    meta: JSONObject | None = attrs.field(default=None, hash=False, repr=False)
    """`_meta` of the request."""
    extra: JSONObject = attrs.field(factory=dict, hash=False, repr=False)
    """Members that are not named here."""

    @property
    def streams(self) -> bool:
        """Whether `notifications/stream/create` may be sent to it (rule P2)."""
        return self.capabilities.streams is not None

    @property
    def marker(self) -> ClientMarker | None:
        """The settings of our extension, `None` where the client does not know it."""
        return None if self.capabilities.experimental is None else self.capabilities.experimental.marker

    @property
    def declared(self) -> tuple[str, ...]:
        """Names of all capabilities that it declared, those first that mean something here (rule R24)."""
        return tuple(unstructure(self.capabilities))


@final
@attrs.frozen
class ServerExperimental:
    """`capabilities.experimental` of a server.

    Wire: `{"mcpstreams/resumable-streams": {"instance": "i", "keyTtl": 86400}}`
    """

    marker: ServerMarker | None = attrs.field(default=None, metadata={WIRE_NAME: MARKER})
    """It knows our extension."""
    extra: JSONObject = attrs.field(factory=dict, hash=False, repr=False)
    """Other experiments."""


@final
@attrs.frozen
class ServerCapabilities:
    """What a server offers. None of it says "streams": a server shows that by creating one (rules P1, W10).

    Wire: `{"tools": {}, "experimental": {"mcpstreams/resumable-streams": {"instance": "i", "keyTtl": 86400}}}`

    Spec: rule P3.
    """

    experimental: ServerExperimental | None = None
    """Our extension among others."""
    extra: JSONObject = attrs.field(factory=dict, hash=False, repr=False)
    """Capabilities that are not named here."""


@final
@attrs.frozen
class ServerHello:
    """Result of `initialize`.

    Wire: `{"protocolVersion": "2025-11-25", "capabilities": {...}, "serverInfo": {...}}`

    Spec: rules P3, R21.7.
    """

    protocol_version: str
    """The revision that holds from now on."""
    capabilities: ServerCapabilities
    """What it offers."""
    server_info: JSONObject = attrs.field(hash=False)
    """Who it is."""
    meta: JSONObject | None = attrs.field(default=None, hash=False, repr=False)
    """`_meta` of the result."""
    extra: JSONObject = attrs.field(factory=dict, hash=False, repr=False)
    """Members that are not named here, `instructions` among them."""

    @property
    def marker(self) -> ServerMarker | None:
        """The settings of our extension, `None` where the server does not know it."""
        return None if self.capabilities.experimental is None else self.capabilities.experimental.marker


def read_client_hello(params: JSONObject | None) -> ClientHello:
    """Read the params of `initialize`.

    Raises:
        RemoteProtocolError: -32602; the text names the fields that are wrong.
    """
    return structure(ClientHello, params, "params")


def initialize_request(request_id: RequestId, hello: ClientHello) -> Request:
    """Return the request that begins a session."""
    return Request(request_id, INITIALIZE, unstructure(hello))


def read_server_hello(result: JSONObject) -> ServerHello:
    """Read the result of `initialize`.

    Raises:
        RemoteProtocolError: -32602; the text names the fields that are wrong.
    """
    return structure(ServerHello, result, "result")


def initialize_response(request_id: RequestId, hello: ServerHello) -> Response:
    """Return the answer to `initialize`."""
    return Response(request_id, unstructure(hello))


def check_application_info(info: object) -> None:
    """Refuse what does not say who an application is, as `clientInfo` and `serverInfo` have to.

    Raises:
        LocalProtocolError: It is no object with a `name` and a `version`, both text.
    """
    if not (isinstance(info, Mapping) and isinstance(info.get("name"), str) and isinstance(info.get("version"), str)):
        raise LocalProtocolError("an application says its name and its version, both as text")


def client_capabilities(application: JSONObject, *, streams: bool = True, marker: bool = True) -> ClientCapabilities:
    """Return an application's capabilities with those of this package added.

    Args:
        application: What the application itself can do, as `capabilities` would have it.
        streams: Declare resumable streams (rule P1).
        marker: Declare our extension (rule P3).

    Raises:
        LocalProtocolError: The application's part is malformed, or declares what is declared here.
    """
    own = _application_part(ClientCapabilities, application)
    experimental = own.experimental or ClientExperimental()
    if own.streams is not None or experimental.marker is not None:
        raise LocalProtocolError("an application declares neither streams nor the marker")
    if streams:
        own = attrs.evolve(own, streams={})
    if marker:
        own = attrs.evolve(own, experimental=attrs.evolve(experimental, marker=ClientMarker()))
    return own


def server_capabilities(application: JSONObject, marker: ServerMarker | None) -> ServerCapabilities:
    """Return an application's capabilities with the marker added, where there is one.

    Args:
        application: What the application itself offers, as `capabilities` would have it.
        marker: The settings of our extension (rule P3).

    Raises:
        LocalProtocolError: The application's part is malformed, or declares the marker.
    """
    own = _application_part(ServerCapabilities, application)
    experimental = own.experimental or ServerExperimental()
    if experimental.marker is not None:
        raise LocalProtocolError("an application does not declare the marker")
    if marker is None:
        return own
    return attrs.evolve(own, experimental=attrs.evolve(experimental, marker=marker))


_Capabilities = TypeVar("_Capabilities", ClientCapabilities, ServerCapabilities)


def _application_part(cls: type[_Capabilities], application: JSONObject) -> _Capabilities:
    try:
        return structure(cls, application, "capabilities")
    except RemoteProtocolError as error:
        raise LocalProtocolError(str(error)) from error
