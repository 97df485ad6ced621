from __future__ import annotations

from mcpstreams_sansio.http.config import HTTPConfig
from mcpstreams_sansio.http.messages import HTTPRequest, RequestReceived
from mcpstreams_sansio.http.server import HTTPServer
from mcpstreams_sansio.http.sessions import Sessions
from mcpstreams_sansio.ids import ConnectionId, Entropy
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.policies import StreamPolicies
from tests.sansio.serving import HOST, IDENTITY, JSON, JSON_AND_EVENTS


def front() -> HTTPServer:
    config = HTTPConfig()
    return HTTPServer(config, IDENTITY, StreamsConfig(), StreamPolicies(), Sessions(config))


def request(connection_id: int, body: bytes, method: bytes = b"POST") -> RequestReceived:
    asked = HTTPRequest(method, b"/mcp", (HOST, JSON, JSON_AND_EVENTS), body)
    return RequestReceived(ConnectionId(connection_id), asked, Entropy(b"the seed of this one input"))


def test_fronts_that_will_send_other_heads_look_different() -> None:
    fronts = [front() for _ in range(4)]
    fronts[1].receive(request(1, b"{}"), 0.0)
    fronts[2].receive(request(1, b"{}", b"PUT"), 0.0)
    fronts[3].receive(request(1, b"{}"), 0.0)
    looks = [one.snapshot(0.0) for one in fronts]
    assert len(set(looks[:3])) == 3
    assert looks[1] == looks[3]
