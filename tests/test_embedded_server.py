"""The example of an embedded server is worth copying: no tool and no client ends it, or makes it spin."""

from __future__ import annotations

import contextlib
import selectors
import socket
import threading
from collections.abc import Callable, Iterator

import attrs
import pytest

from docs.examples import embedded_server
from docs.examples.embedded_server import Client, Loop, Tool, serve
from mcpstreams_sansio import (
    ErrorResponse,
    Message,
    Notification,
    Request,
    Response,
    Server,
    ServerConfig,
    ServerIdentity,
    StreamsConfig,
)
from mcpstreams_sansio.errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from mcpstreams_sansio.wire.streams import read_create

INTERNAL = ErrorResponse(1, INTERNAL_ERROR, "Internal error")


@attrs.define
class Running:
    """The example's server at work in a thread of its own."""

    loop: Loop
    port: int
    life: list[str] = attrs.field(factory=lambda: ["wanted"])

    def run(self) -> None:
        while self.life:
            self.loop.turn()

    def ask(self, method: str, name: str | None = None) -> Message:
        """Make one call on a connection of its own, and return what it is answered."""
        with contextlib.closing(Client(self.port)) as client:
            client.send(id=1, method=method, params={"name": name})
            return answer_to(client)


@contextlib.contextmanager
def running(start_tool: Callable[[Request], Tool] = serve, streams: StreamsConfig | None = None) -> Iterator[Running]:
    identity = ServerIdentity(instance="an-instance")
    machine = Server(ServerConfig(identity=identity, streams=streams or StreamsConfig()))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Running(Loop(machine, start_tool, listener), listener.getsockname()[1])
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            yield server
        finally:
            server.life.clear()
            socket.create_connection(("127.0.0.1", server.port)).close()  # so that it wakes up
            thread.join()
            for peer in tuple(server.loop.peers.values()):
                server.loop.close(peer)
            server.loop.selector.close()


def answer_to(client: Client) -> Message:
    """Read until an answer comes."""
    while isinstance(message := client.receive(), Notification):
        continue
    return message


def raises(_: Request) -> Tool:
    yield "notifications/message", {"data": "so far so good"}
    raise ZeroDivisionError


def raises_at_once(_: Request) -> Tool:
    raise ZeroDivisionError
    yield  # type: ignore[unreachable]  # it makes this a generator


def returns(value: object) -> Callable[[Request], Tool]:
    def tool(_: Request) -> Tool:
        yield "notifications/message", {"data": "so far so good"}
        return value  # type: ignore[return-value]  # the very mistake that is tested

    return tool


def says(value: object) -> Callable[[Request], Tool]:
    def tool(_: Request) -> Tool:
        yield value  # type: ignore[misc]  # the same mistake, earlier
        return {}

    return tool


NO_RESULTS: list[object] = [None, "text", 5, [], {"a": object()}]
NO_MESSAGES: list[object] = [None, "text", 5, (), ("a", "b"), ("a", {"b": object()}), (1, {}), ("a", {}, {}, {})]
FAULTS = [raises, raises_at_once, *map(returns, NO_RESULTS), *map(says, NO_MESSAGES)]


@pytest.mark.parametrize("tool", FAULTS)
def test_whatever_a_tool_does_wrong_is_answered_and_the_others_go_on(
    tool: Callable[[Request], Tool], caplog: pytest.LogCaptureFixture
) -> None:
    def start_tool(request: Request) -> Tool:
        return tool(request) if request.method == "tools/call" else serve(request)

    with running(start_tool) as server:
        assert server.ask("tools/call") == INTERNAL
        assert isinstance(server.ask("tools/list"), Response)
        assert server.loop.works == {}
    assert "a tool failed" in caplog.text


def test_a_tool_may_answer_with_an_error_of_its_own() -> None:
    with running() as server:
        assert server.ask("tools/call", "guess") == ErrorResponse(1, INVALID_PARAMS, "there is no such tool")
        assert server.ask("prompts/list") == ErrorResponse(1, METHOD_NOT_FOUND, "Method not found")


def test_a_server_with_nothing_to_do_waits_until_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float | None] = []
    identity = ServerIdentity(instance="an-instance")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        loop = Loop(Server(ServerConfig(identity=identity, handshake_timeout=7.0)), serve, listener)
        select = loop.selector.select

        def note(timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
            waits.append(timeout)
            return select(0)

        monkeypatch.setattr(loop.selector, "select", note)
        loop.turn()
        with contextlib.closing(socket.create_connection(listener.getsockname())):
            loop.turn()
            loop.turn()
        loop.close(*loop.peers.values())
        loop.selector.close()
    assert waits[:2] == [None, None]
    assert waits[2] == pytest.approx(7.0, abs=1.0)


def test_a_tool_that_has_said_all_that_may_be_kept_waits_until_there_is_room() -> None:
    said = []

    def talk(_: Request) -> Tool:
        for number in range(20):
            said.append(number)
            yield "notifications/message", {"data": number}
        return {}

    with running(talk, StreamsConfig(window=4)) as server, contextlib.closing(Client(server.port)) as client:
        client.send(id=1, method="tools/call", params={})
        created = client.receive()
        assert isinstance(created, Notification)
        stream_id = read_create(created.params).stream_id
        position = 1
        while isinstance(client.receive(), Notification):
            position += 1
            assert len(said) < position + 4
            acks = [{"streamId": stream_id, "through": position}]
            client.send(method="notifications/mcpstreams/ack", params={"acks": acks})
    assert said == list(range(20))


def test_one_client_too_many_is_turned_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded_server, "MAX_PEERS", 1)
    with running() as server, contextlib.closing(Client(server.port)), contextlib.ExitStack() as stack:
        another = stack.enter_context(contextlib.closing(socket.create_connection(("127.0.0.1", server.port))))
        assert another.recv(1) == b""


def test_a_client_that_sends_nothing_more_is_answered_all_the_same() -> None:
    with running() as server, contextlib.closing(Client(server.port)) as client:
        client.send(id=1, method="ping")
        client.connection.shutdown(socket.SHUT_WR)
        assert client.receive() == Response(1, {})
        assert client.lines.readline() == b""
