"""The handshake: what a server says of itself, and what both sides know afterwards."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.errors import INVALID_PARAMS, LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.server.calls import Peer
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.identity import (
    MAX_CAPABILITIES,
    MAX_CAPABILITY_LENGTH,
    MAX_INFO_LENGTH,
    Negotiated,
    ServerIdentity,
    answer_initialize,
)
from mcpstreams_sansio.wire.handshake import read_server_hello
from mcpstreams_sansio.wire.jsonrpc import JSONObject, JSONValue, Request, Response
from mcpstreams_sansio.wire.marker import MARKER, ServerMarker
from mcpstreams_sansio.wire.revisions import NEWEST, Revision
from tests.wording import whole

INFO: JSONObject = {"name": "client", "version": "2", "title": "Client"}
IDENTITY = ServerIdentity(instance="instance-1")


def shaken(
    capabilities: JSONValue, identity: ServerIdentity = IDENTITY, revision: JSONValue = "2025-11-25"
) -> tuple[Response, Negotiated]:
    params: JSONObject = {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": INFO}
    return answer_initialize(Request("i", "initialize", params), identity, StreamsConfig(key_ttl=60.0))


@pytest.mark.rule("R13")
@pytest.mark.parametrize("info", ["me", None, [], {}, {"name": "me"}, {"version": "1"}, {"name": "me", "version": 1}])
def test_a_server_says_its_name_and_its_version(info: JSONObject) -> None:
    with pytest.raises(LocalProtocolError, match=r"\Aan application says its name and its version, both as text\Z"):
        ServerIdentity(instance="instance-1", server_info=info)


@pytest.mark.rule("R21")
@pytest.mark.parametrize("durable", [False, True])
def test_a_server_says_whether_its_streams_outlive_it(durable: bool) -> None:
    response, _ = shaken({"streams": {}}, ServerIdentity(instance="instance-1", durable=durable))
    capabilities = read_server_hello(response.result).capabilities
    assert capabilities.experimental is not None
    assert capabilities.experimental.marker == ServerMarker("instance-1", 60.0, durable)


@pytest.mark.rule("R12", "P1", "P3")
@pytest.mark.parametrize(
    ("capabilities", "peer"),
    [
        ({}, Peer()),
        ({"streams": {}}, Peer(True, False, frozenset({"streams"}))),
        (
            {"streams": {}, "experimental": {MARKER: {}}},
            Peer(True, True, frozenset({"streams", "experimental"})),
        ),
        ({"experimental": {MARKER: {}}}, Peer(False, False, frozenset({"experimental"}))),
        ({"experimental": {"x": {}}, "streams": {}}, Peer(True, False, frozenset({"streams", "experimental"}))),
        (
            {"sampling": {}, "roots": {"listChanged": True}, "com.example/x": 1},
            Peer(False, False, frozenset({"sampling", "roots", "com.example/x"})),
        ),
    ],
)
def test_what_a_client_declares_is_what_the_server_knows_of_it(capabilities: JSONObject, peer: Peer) -> None:
    _, negotiated = shaken(capabilities)
    assert negotiated == Negotiated(peer, Revision.R2025_11_25)
    assert negotiated.peer.info == INFO


@pytest.mark.parametrize(
    ("asked", "revision"),
    [*((each.value, each) for each in Revision), ("2024-11-05", NEWEST), ("x", NEWEST), ("", NEWEST)],
)
def test_a_revision_that_is_served_is_taken_and_for_any_other_the_newest_is_offered(
    asked: str, revision: Revision
) -> None:
    response, negotiated = shaken({}, revision=asked)
    assert negotiated.revision is revision
    assert response.result["protocolVersion"] == revision.value


@pytest.mark.rule("P3", "R21", "W10")
@pytest.mark.parametrize("capabilities", [{}, {"streams": {}}])
def test_a_server_tells_everybody_of_the_extension_and_declares_no_streams(capabilities: JSONObject) -> None:
    identity = ServerIdentity(
        instance="instance-1",
        server_info={"name": "n", "version": "1"},
        capabilities={"tools": {"listChanged": True}, "experimental": {"com.example/x": {}}},
        instructions="Be kind.",
    )
    response, _ = shaken(capabilities, identity)
    assert response == Response(
        "i",
        {
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "tools": {"listChanged": True},
                "experimental": {
                    "com.example/x": {},
                    MARKER: {"instance": "instance-1", "keyTtl": 60.0, "durable": False},
                },
            },
            "serverInfo": {"name": "n", "version": "1"},
            "instructions": "Be kind.",
        },
    )


def test_what_is_not_said_is_not_written() -> None:
    response, _ = shaken({})
    assert set(response.result) == {"protocolVersion", "capabilities", "serverInfo"}


@pytest.mark.parametrize(
    ("params", "words"),
    [
        (None, "params: missing"),
        ({}, "params.protocolVersion: missing; params.capabilities: missing; params.clientInfo: missing"),
        ({"protocolVersion": "2025-11-25", "capabilities": {}}, "params.clientInfo: missing"),
        ({"protocolVersion": 1, "capabilities": {}, "clientInfo": INFO}, "params.protocolVersion: not a string"),
        (
            {"protocolVersion": "2025-11-25", "capabilities": [], "clientInfo": INFO},
            "params.capabilities: not an object",
        ),
        (
            {"protocolVersion": "2025-11-25", "capabilities": {"streams": True}, "clientInfo": INFO},
            "params.capabilities.streams: not an object",
        ),
        (
            {"protocolVersion": "2025-11-25", "capabilities": {"experimental": {MARKER: 1}}, "clientInfo": INFO},
            f"params.capabilities.experimental.{MARKER}: not an object",
        ),
        (
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": "me"},
            "params.clientInfo: not an object",
        ),
    ],
)
def test_a_handshake_that_can_not_be_read_settles_nothing(params: JSONObject | None, words: str) -> None:
    with pytest.raises(RemoteProtocolError, match=whole(words)) as caught:
        answer_initialize(Request("i", "initialize", params), IDENTITY, StreamsConfig())
    assert caught.value.error_code == INVALID_PARAMS


NO_NAME = "an application says its name and its version, both as text"
SURROGATE = "a string holds a lone surrogate, which UTF-8 cannot carry"


@pytest.mark.rule("R13")
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (
            {"capabilities": {"experimental": {MARKER: {"instance": "i", "keyTtl": 1}}}},
            "an application does not declare the marker",
        ),
        ({"capabilities": {"experimental": 1}}, "capabilities.experimental: not an object"),
        ({"capabilities": {"tools": {1, 2}}}, "an object of type set is no JSON value"),
        ({"capabilities": {"tools": float("nan")}}, "NaN and infinity are not JSON"),
        ({"server_info": {"name": object()}}, NO_NAME),
        ({"server_info": {"name": "\ud800"}}, NO_NAME),
        ({"instructions": "\ud800"}, SURROGATE),
        ({"instance": "\ud800"}, SURROGATE),
    ],
)
def test_what_could_not_be_answered_to_a_client_is_refused_before_there_is_one(
    wrong: dict[str, object], words: str
) -> None:
    with pytest.raises(LocalProtocolError, match=whole(words)):
        ServerIdentity(**{"instance": "i", **wrong})  # type: ignore[arg-type]  # the point is that it is wrong


# ------------------------------------------------------------------------------------------------- what is kept of it


@pytest.mark.rule("Q11h", "R12")
def test_of_a_client_that_says_much_of_itself_little_is_kept() -> None:
    long = "x" * 100_000
    info: JSONObject = {"name": long, "title": long, "version": 1, "icons": [{}] * 10_000, long: long}
    declared: JSONObject = {long: {}, "sampling": {}, **{f"own {number}": {} for number in range(1_000)}, "roots": {}}
    params: JSONObject = {"protocolVersion": "2025-11-25", "capabilities": declared, "clientInfo": info}
    _, negotiated = answer_initialize(Request("i", "initialize", params), IDENTITY, StreamsConfig())
    assert negotiated.peer.info == {"name": "x" * MAX_INFO_LENGTH, "title": "x" * MAX_INFO_LENGTH}
    kept = negotiated.peer.capabilities
    assert {"sampling", "roots"} < kept
    assert len(kept) == MAX_CAPABILITIES
    assert max(map(len, kept)) <= MAX_CAPABILITY_LENGTH


@pytest.mark.rule("R12")
@pytest.mark.parametrize(("length", "known"), [(MAX_CAPABILITY_LENGTH, True), (MAX_CAPABILITY_LENGTH + 1, False)])
def test_a_capability_is_known_by_a_name_of_any_sensible_length(length: int, known: bool) -> None:
    _, negotiated = shaken({"x" * length: {}})
    assert (negotiated.peer.capabilities == {"x" * length}) == known
