"""`initialize` says which streams a client can do and whether either side knows our extension."""

from __future__ import annotations

import pytest
from hypothesis import given

from mcpstreams_sansio.errors import INVALID_PARAMS, LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.wire.handshake import (
    INITIALIZE,
    INITIALIZED,
    ClientCapabilities,
    ClientExperimental,
    ClientHello,
    ServerCapabilities,
    ServerExperimental,
    ServerHello,
    client_capabilities,
    initialize_request,
    initialize_response,
    read_client_hello,
    read_server_hello,
    server_capabilities,
)
from mcpstreams_sansio.wire.jsonrpc import JSONObject, JSONValue, Request, Response, decode_message, encode_message
from mcpstreams_sansio.wire.marker import MARKER, ClientMarker, ServerMarker
from tests.sansio.wire.json_values import OBJECTS, unknown_members
from tests.wording import whole

INFO: JSONObject = {"name": "n", "version": "1"}


def client_params(capabilities: JSONValue) -> JSONObject:
    return {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": INFO}


def server_result(capabilities: JSONValue) -> JSONObject:
    return {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": INFO}


def test_the_handshake_has_these_methods() -> None:
    assert (INITIALIZE, INITIALIZED) == ("initialize", "notifications/initialized")


# -------------------------------------------------------------------------------------------------------- what is read


@pytest.mark.rule("P1")
@pytest.mark.parametrize(
    ("capabilities", "streams"),
    [({}, False), ({"streams": {}}, True), ({"streams": {"later": 1}}, True), ({"sampling": {}}, False)],
)
def test_a_client_declares_streams_by_the_capability_of_that_name(capabilities: JSONObject, streams: bool) -> None:
    assert read_client_hello(client_params(capabilities)).streams is streams


@pytest.mark.rule("P3")
@pytest.mark.parametrize(
    ("capabilities", "marker"),
    [
        ({}, None),
        ({"experimental": {}}, None),
        ({"experimental": {"com.example/x": {}}}, None),
        ({"experimental": {MARKER: {}}}, ClientMarker()),
        ({"experimental": {MARKER: {"later": 1}}}, ClientMarker({"later": 1})),
    ],
)
def test_a_client_declares_the_marker_among_its_experiments(
    capabilities: JSONObject, marker: ClientMarker | None
) -> None:
    assert read_client_hello(client_params(capabilities)).marker == marker


@pytest.mark.rule("P3", "R21")
@pytest.mark.parametrize(
    ("capabilities", "marker"),
    [
        ({}, None),
        ({"experimental": {}}, None),
        ({"experimental": {MARKER: {"instance": "i", "keyTtl": 86400}}}, ServerMarker("i", 86400)),
        (
            {"experimental": {MARKER: {"instance": "i", "keyTtl": 0.5, "durable": True, "later": 1}}},
            ServerMarker("i", 0.5, durable=True, extra={"later": 1}),
        ),
    ],
)
def test_a_server_gives_its_instance_and_how_long_it_knows_a_key(
    capabilities: JSONObject, marker: ServerMarker | None
) -> None:
    assert read_server_hello(server_result(capabilities)).marker == marker


@pytest.mark.rule("W10", "P1")
def test_streams_among_the_capabilities_of_a_server_belong_to_another_proposal() -> None:
    hello = read_server_hello(server_result({"streams": {}, "tools": {}}))
    assert hello.marker is None
    assert hello.capabilities == ServerCapabilities(extra={"streams": {}, "tools": {}})


def test_what_a_client_can_be_asked_is_known_by_name() -> None:
    capabilities: JSONObject = {"sampling": {}, "roots": {"listChanged": True}, "tasks": {}, "experimental": {}}
    hello = read_client_hello(client_params(capabilities))
    assert set(hello.declared) == {"sampling", "roots", "tasks", "experimental"}
    assert hello.capabilities.elicitation is None


@pytest.mark.rule("P1", "P3")
@pytest.mark.parametrize(
    ("params", "text"),
    [
        (None, "params: missing"),
        ({}, "params.protocolVersion: missing; params.capabilities: missing; params.clientInfo: missing"),
        ({**client_params({}), "protocolVersion": 1}, "params.protocolVersion: not a string"),
        ({**client_params({}), "clientInfo": "n"}, "params.clientInfo: not an object"),
        (client_params(None), "params.capabilities: not an object"),
        (client_params({"streams": True}), "params.capabilities.streams: not an object"),
        (client_params({"sampling": None}), "params.capabilities.sampling: not an object"),
        (client_params({"experimental": []}), "params.capabilities.experimental: not an object"),
        (client_params({"experimental": {MARKER: 1}}), f"params.capabilities.experimental.{MARKER}: not an object"),
    ],
)
def test_the_hello_of_a_client_is_read_strictly(params: JSONObject | None, text: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        read_client_hello(params)
    assert str(caught.value) == text
    assert caught.value.error_code == INVALID_PARAMS


@pytest.mark.rule("P3", "R21")
@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({}, "result.protocolVersion: missing; result.capabilities: missing; result.serverInfo: missing"),
        (
            server_result({"experimental": {MARKER: {}}}),
            f"result.capabilities.experimental.{MARKER}.instance: missing; "
            f"result.capabilities.experimental.{MARKER}.keyTtl: missing",
        ),
        (
            server_result({"experimental": {MARKER: {"instance": "i", "keyTtl": -1}}}),
            f"result.capabilities.experimental.{MARKER}.keyTtl: negative",
        ),
    ],
)
def test_the_hello_of_a_server_is_read_strictly(result: JSONObject, text: str) -> None:
    with pytest.raises(RemoteProtocolError) as caught:
        read_server_hello(result)
    assert str(caught.value) == text


# ----------------------------------------------------------------------------------------------------- what is written


@pytest.mark.rule("P1", "P3")
def test_a_client_says_all_this() -> None:
    application: JSONObject = {"sampling": {}, "experimental": {"com.example/x": {}}}
    hello = ClientHello("2025-11-25", client_capabilities(application), INFO)
    assert initialize_request(1, hello) == Request(
        1,
        INITIALIZE,
        client_params({"streams": {}, "sampling": {}, "experimental": {MARKER: {}, "com.example/x": {}}}),
    )
    assert (hello.streams, hello.marker) == (True, ClientMarker())


@pytest.mark.rule("P1", "P3")
def test_a_client_may_keep_either_to_itself() -> None:
    assert client_capabilities({}, streams=False, marker=False) == ClientCapabilities()
    assert client_capabilities({}, marker=False) == ClientCapabilities(streams={})
    assert client_capabilities({}, streams=False) == ClientCapabilities(experimental=ClientExperimental(ClientMarker()))


@pytest.mark.rule("P3", "R21")
def test_a_server_says_all_this() -> None:
    application: JSONObject = {"tools": {}, "experimental": {"com.example/x": {}}}
    hello = ServerHello("2025-11-25", server_capabilities(application, ServerMarker("i", 86400)), INFO)
    settings: JSONObject = {"instance": "i", "keyTtl": 86400, "durable": False}
    assert initialize_response(1, hello) == Response(
        1, server_result({"experimental": {MARKER: settings, "com.example/x": {}}, "tools": {}})
    )


@pytest.mark.rule("P3")
def test_a_server_without_the_extension_says_only_what_its_application_says() -> None:
    application: JSONObject = {"tools": {}, "experimental": {}}
    assert server_capabilities(application, None) == ServerCapabilities(ServerExperimental(), {"tools": {}})


@pytest.mark.rule("P3", "D4")
def test_the_marker_is_an_experiment_on_either_side() -> None:
    client = initialize_request(1, ClientHello("v", client_capabilities({}), INFO)).params
    server = initialize_response(1, ServerHello("v", server_capabilities({}, ServerMarker("i", 1)), INFO)).result
    for holder in (client, server):
        assert holder is not None
        capabilities = holder["capabilities"]
        assert isinstance(capabilities, dict)
        assert MARKER in capabilities["experimental"]


@pytest.mark.parametrize(
    ("application", "words"),
    [
        ({"streams": {}}, "an application declares neither streams nor the marker"),
        ({"experimental": {MARKER: {}}}, "an application declares neither streams nor the marker"),
        ({"streams": 1}, "capabilities.streams: not an object"),
        ({"experimental": 1}, "capabilities.experimental: not an object"),
    ],
)
def test_the_application_of_a_client_leaves_streams_and_marker_to_us(application: JSONObject, words: str) -> None:
    with pytest.raises(LocalProtocolError, match=whole(words)):
        client_capabilities(application, streams=False, marker=False)


@pytest.mark.parametrize(
    ("application", "words"),
    [
        (
            {"experimental": {MARKER: {"instance": "i", "keyTtl": 1}}},
            "an application does not declare the marker",
        ),
        ({"experimental": 1}, "capabilities.experimental: not an object"),
    ],
)
def test_the_application_of_a_server_leaves_the_marker_to_us(application: JSONObject, words: str) -> None:
    with pytest.raises(LocalProtocolError, match=whole(words)):
        server_capabilities(application, None)


@given(capabilities=unknown_members("experimental"), info=OBJECTS, extra=unknown_members(*server_result({})))
def test_whatever_else_a_server_says_is_kept(capabilities: JSONObject, info: JSONObject, extra: JSONObject) -> None:
    hello = ServerHello("v", ServerCapabilities(extra=capabilities), info, {"a": 1}, extra)
    message = decode_message(encode_message(initialize_response(1, hello)))
    assert isinstance(message, Response)
    assert read_server_hello(message.result) == hello


@given(info=OBJECTS, extra=unknown_members(*client_params({})))
def test_whatever_else_a_client_says_is_kept(info: JSONObject, extra: JSONObject) -> None:
    hello = ClientHello("v", client_capabilities({"roots": {}, "tasks": {}}), info, {"a": 1}, extra)
    message = decode_message(encode_message(initialize_request("1", hello)))
    assert isinstance(message, Request)
    assert read_client_hello(message.params) == hello


def test_hellos_can_be_members_of_sets() -> None:
    capabilities = client_capabilities({"sampling": {}, "elicitation": {}, "roots": {}, "tasks": {}})
    client = ClientHello("v", capabilities, INFO, {"a": 1}, {"b": []})
    server = ServerHello("v", server_capabilities({"tools": {}}, ServerMarker("i", 1)), INFO, {"a": 1}, {"b": []})
    assert len({client, server, client}) == 2
