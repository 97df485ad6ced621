"""A client and a server of these bindings, over every transport: what an application relies on (rules R23, R27)."""

from __future__ import annotations

import contextlib
import functools
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import get_args

import attrs
import pytest
import trio
import trio.testing

from mcpstreams_sansio import LocalProtocolError
from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.effects import CallLost, NoticeReceived, Recovery
from mcpstreams_sansio.client.failures import Failure
from mcpstreams_sansio.client.machine import Client, ClientEffect, ClientInput
from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.http.config import HTTPConfig
from mcpstreams_sansio.server.machine import ServerConfig
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Notification
from mcpstreams_sansio.wire.refusals import Reason
from tests.trio.handlers import Waiting, do_nothing
from tests.trio.machines import for_ever, settle
from trio_bindings.app import Call, Handler
from trio_bindings.byte_stream import Dialer, connect_stream, connect_tcp, serve_stream, serve_tcp
from trio_bindings.calls import CallHandle, ClientCall, Item, ToSave
from trio_bindings.cli.proxy import CuttingProxy, Plan
from trio_bindings.client import (
    CLIENT_INFO,
    MAX_NOTIFICATION_TASKS,
    ClientFailedError,
    ClientSession,
    RequestHandler,
    ServerRequest,
    refuse_every_request,
)
from trio_bindings.driver import Driver
from trio_bindings.errors import AskRejectedError, CallError
from trio_bindings.http_client import HTTPExchanges, connect_http, new_http
from trio_bindings.http_server import serve_http
from trio_bindings.outcomes import CallCancelledError, CallFailedError, CallNotRunError, NoResultError
from trio_bindings.server import LOOPBACK, RunningServer, new_identity, open_server

Connect = Callable[..., AbstractAsyncContextManager[ClientSession]]

SWIFT = ClientConfig(instance="client-of-a-test", retry_floor=0.01, handshake_timeout=5)


@contextlib.asynccontextmanager
async def over_memory(handler: Handler) -> AsyncIterator[Connect]:
    """Connect client and server by streams in memory."""
    async with open_server(handler) as server:

        async def dial() -> trio.abc.Stream:
            await trio.lowlevel.checkpoint()
            ours, theirs = trio.testing.memory_stream_pair()
            server.driver.nursery.start_soon(serve_stream, server, theirs)
            return ours

        yield functools.partial(connect_stream, dial)


@contextlib.asynccontextmanager
async def over_tcp(handler: Handler) -> AsyncIterator[Connect]:
    async with trio.open_nursery() as nursery:
        server: RunningServer = await nursery.start(serve_tcp, handler, 0)
        yield functools.partial(connect_tcp, LOOPBACK, server.ports[0])
        nursery.cancel_scope.cancel()


@contextlib.asynccontextmanager
async def over_http(handler: Handler) -> AsyncIterator[Connect]:
    async with trio.open_nursery() as nursery:
        server: RunningServer = await nursery.start(serve_http, handler, 0)
        yield functools.partial(connect_http, f"http://{LOOPBACK}:{server.ports[0]}/mcp")
        nursery.cancel_scope.cancel()


Transport = Callable[[Handler], AbstractAsyncContextManager[Connect]]
every_transport = pytest.mark.parametrize("transport", [over_memory, over_tcp, over_http])


@contextlib.asynccontextmanager
async def connected(
    transport: Transport,
    handler: Handler,
    capabilities: JSONObject | None = None,
    on_request: RequestHandler | None = None,
) -> AsyncIterator[ClientSession]:
    options = {} if on_request is None else {"on_request": on_request}
    with trio.fail_after(10):
        async with (
            transport(handler) as connect,
            connect(config=SWIFT, capabilities=capabilities or {}, **options) as session,
        ):
            yield session


async def count_to_three(call: Call) -> JSONObject:
    for number in (1, 2, 3):
        await call.notify("notifications/message", {"level": "info", "data": number})
    return {"counted": 3}


def data(item: Item) -> object:
    assert isinstance(item, Notification)
    assert item.params is not None
    return item.params["data"]


# ---------------------------------------------------------------------------------------------------- totality, meeting


def members(union: object) -> set[object]:
    found: set[object] = set()
    for member in get_args(union):
        found |= members(member) or {member}
    return found


async def test_every_effect_of_the_machine_has_a_route() -> None:
    async def dial() -> trio.abc.Stream:
        await trio.sleep_forever()

    machine = Client(SWIFT, Framing.LINES, CLIENT_INFO)
    async with new_http() as http, Driver[ClientInput, ClientEffect](machine) as driver:
        session = ClientSession(driver, machine, refuse_every_request, None)
        Dialer(dial, driver, session.outage)
        HTTPExchanges(driver, http, http.base_url, session.outage)
        assert driver.routed == members(ClientEffect)


@every_transport
async def test_a_client_meets_its_server(transport: Transport) -> None:
    async with connected(transport, do_nothing) as session:
        server = await session.connected()
        assert server.server_info["name"] == "mcpstreams"
        assert session.server == server


async def test_a_server_that_is_not_there_is_waited_for_within_the_budget(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def dial() -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        raise OSError("nobody listens")

    config = ClientConfig(instance="client-of-a-test", patience=20, max_attempts=5)
    async with connect_stream(dial, config=config) as session:
        with pytest.raises(CallNotRunError), trio.fail_after(100):
            await session.request("tools/list")
        assert session.server is None


@pytest.mark.parametrize("transport", ["tcp", "http"])
async def test_of_a_server_that_is_not_there_the_log_says_so_at_once_and_once(
    transport: str, caplog: pytest.LogCaptureFixture
) -> None:
    listener = (await trio.open_tcp_listeners(0, host=LOOPBACK))[0]
    port = listener.socket.getsockname()[1]
    await listener.aclose()
    config = attrs.evolve(SWIFT, patience=0.5)
    url = f"http://{LOOPBACK}:{port}/mcp?token=secret"
    connect = (
        functools.partial(connect_tcp, LOOPBACK, port) if transport == "tcp" else functools.partial(connect_http, url)
    )
    with caplog.at_level(logging.INFO, "trio_bindings"), trio.fail_after(10):
        async with connect(config=config) as session:
            with pytest.raises(CallNotRunError):
                await session.request("tools/list")
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "attempts" in record.getMessage()
    assert "0.5 seconds (patience)" in record.getMessage()
    assert "secret" not in caplog.text


async def test_a_server_that_does_not_shake_hands_is_not_reached_and_then_it_may_be(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with open_server(do_nothing) as server:
        streams = iter(range(3))

        async def dial() -> trio.abc.Stream:
            await trio.lowlevel.checkpoint()
            ours, theirs = trio.testing.memory_stream_pair()
            if next(streams) < 2:
                await theirs.aclose()
            else:
                server.driver.nursery.start_soon(serve_stream, server, theirs)
            return ours

        with caplog.at_level(logging.INFO, "trio_bindings"), trio.fail_after(10):
            async with connect_stream(dial, config=SWIFT) as session:
                await session.connected()
    warning, news = caplog.records
    assert "not reached: no handshake came about" in warning.getMessage()
    assert (news.levelno, news.getMessage()) == (logging.INFO, "the server was reached")


async def test_a_server_that_speaks_something_else_is_no_server() -> None:
    async def not_found(stream: trio.SocketStream) -> None:
        async with stream:
            with contextlib.suppress(trio.BrokenResourceError):
                await stream.receive_some()
                await stream.send_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
                await stream.send_eof()

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(trio.serve_tcp, not_found, 0)
        port = listeners[0].socket.getsockname()[1]
        with trio.fail_after(10):
            async with connect_http(f"http://{LOOPBACK}:{port}/mcp", config=SWIFT) as session:
                with pytest.raises(ClientFailedError) as caught:
                    await session.connected()
                assert caught.value.failure is Failure.HANDSHAKE_REFUSED
                assert str(caught.value) == "handshake refused (404)"
                with pytest.raises(CallNotRunError, match=r"^client failed: handshake refused \(404\)$"):
                    await session.request("tools/list")
        nursery.cancel_scope.cancel()


async def test_who_is_refused_hears_why_from_connected_and_from_each_call() -> None:
    config = ServerConfig(identity=new_identity(), http=HTTPConfig(allowed_hosts=frozenset({"mcp.example"})))
    async with trio.open_nursery() as nursery:
        server = await nursery.start(functools.partial(serve_http, Waiting(), 0, config=config))
        with trio.fail_after(10):
            async with connect_http(f"http://{LOOPBACK}:{server.ports[0]}/mcp", config=SWIFT) as session:
                with pytest.raises(ClientFailedError, match=r"^handshake refused \(403: .*not served"):
                    await session.connected()
                with pytest.raises(CallNotRunError, match=r"^client failed: handshake refused \(403: .*not served"):
                    await session.request("tools/list")
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("url", ["ftp://localhost/mcp", "localhost:8000/mcp", "http://", ""])
async def test_a_url_that_is_none_of_http_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="URL"):
        await connect_http(url).__aenter__()


# -------------------------------------------------------------------------------------------------------------- calls


@every_transport
async def test_a_call_gives_its_messages_and_then_its_result(transport: Transport) -> None:
    async with connected(transport, count_to_three) as session, session.call("tools/call", {"name": "t"}) as call:
        assert [data(item) async for item in call] == [1, 2, 3]
        assert await call.result() == {"counted": 3}


@every_transport
async def test_a_request_gives_just_the_result(transport: Transport) -> None:
    async with connected(transport, count_to_three) as session:
        assert await session.request("tools/call", {"name": "t"}) == {"counted": 3}


@every_transport
async def test_calls_run_side_by_side_and_do_not_mix(transport: Transport) -> None:
    async def echo(call: Call) -> JSONObject:
        for _ in range(5):
            await call.notify("notifications/message", {"level": "info", "data": call.params["name"]})
        return {"name": call.params["name"]}

    async with connected(transport, echo) as session, trio.open_nursery() as nursery:

        async def follow(name: str) -> None:
            async with session.call("tools/call", {"name": name}) as call:
                assert [data(item) async for item in call] == [name] * 5
                assert await call.result() == {"name": name}

        for number in range(10):
            nursery.start_soon(follow, f"tool-{number}")


@every_transport
async def test_an_error_of_the_handler_is_the_callers_exception(transport: Transport) -> None:
    async def fail(call: Call) -> JSONObject:
        await trio.lowlevel.checkpoint()
        raise CallError(-5, "no such city", {"city": "Atlantis"})

    async with connected(transport, fail) as session:
        with pytest.raises(CallFailedError) as caught:
            await session.request("tools/call", {"name": "t"})
    error = caught.value.error
    assert (error.code, error.message, error.data) == (-5, "no such city", {"city": "Atlantis"})


@every_transport
async def test_a_call_that_cannot_be_sent_is_the_callers_mistake_and_harms_no_other(transport: Transport) -> None:
    async with connected(transport, do_nothing) as session:
        with pytest.raises(LocalProtocolError):
            await session.request("tools/call", {"_meta": {"mcpstreams/key": "mine"}})
        assert await session.request("tools/call", {"name": "t"}) == {}


async def test_a_call_is_made_once() -> None:
    async with connected(over_memory, do_nothing) as session:
        call = session.call("tools/list")
        async with call:
            await call.result()
        with pytest.raises(LocalProtocolError):
            await call.__aenter__()


async def test_calls_may_be_entered_in_another_order_than_they_were_prepared() -> None:
    async with connected(over_memory, do_nothing) as session:
        first, second = session.call("tools/list"), session.call("tools/list")
        async with second, first:
            assert await first.result() == await second.result() == {}


@pytest.mark.rule("R22", "R27")
async def test_a_call_that_was_left_early_is_not_waited_for() -> None:
    async with connected(over_memory, Waiting()) as session, session.call("tools/call", {"name": "t"}) as call:
        pass
    with pytest.raises(CallCancelledError), trio.fail_after(1):
        await call.result()


async def test_a_session_shows_how_it_stands() -> None:
    async with connected(over_memory, do_nothing) as session:
        await session.connected()
        async with session.call("tools/call", {"name": "t"}):
            assert repr(session) == "<ClientSession link=up calls=1>"
    assert repr(session) == "<ClientSession link=closed calls=0>"


@every_transport
async def test_leaving_early_cancels_the_work_at_the_server(transport: Transport) -> None:
    handler = Waiting()
    async with connected(transport, handler) as session:
        async with session.call("tools/call", {"name": "t"}):
            await handler.started.wait()
        await handler.cancelled.wait()


@pytest.mark.rule("R22", "R27")
@every_transport
async def test_the_server_hears_of_a_cancelled_call_although_everything_is_cancelled(transport: Transport) -> None:
    handler = Waiting()
    async with transport(handler) as connect:
        with trio.CancelScope() as scope:
            async with connect(config=SWIFT) as session, session.call("tools/call", {"name": "t"}) as call:
                await handler.started.wait()
                scope.cancel()
                await call.result()
        with trio.fail_after(5):
            await handler.cancelled.wait()


@every_transport
async def test_abandoning_the_iteration_leaves_nothing_running(transport: Transport) -> None:
    async with connected(transport, count_to_three) as session:
        async with session.call("tools/call", {"name": "t"}) as call:
            async for _ in call:
                break
        assert await session.request("tools/call", {"name": "t"}) == {"counted": 3}


@pytest.mark.rule("R27")
@every_transport
async def test_a_stored_call_survives_the_exception_that_ends_its_process(transport: Transport) -> None:
    kept: list[CallHandle] = []
    seen: list[object] = []

    async def keep(call: ClientCall, full: object = None) -> None:
        async for item in call:
            made = [] if isinstance(item, ToSave) else [data(item)]
            if full in made:
                raise OSError("the disk is full")
            seen.extend(made)
            kept.append(call.save())
            call.saved(kept[-1])

    with trio.fail_after(10):
        async with transport(count_to_three) as connect:
            async with connect(config=SWIFT) as session:
                with pytest.raises(OSError, match="full"):
                    async with session.call("tools/call", {"name": "t"}, stored=True) as call:
                        await keep(call, full=2)
            config = attrs.evolve(SWIFT, instance="the-next-process")
            async with connect(config=config) as session, session.attach(kept[-1], stored=True) as call:
                await keep(call)
                assert await call.result() == {"counted": 3}
                call.outcome_saved()
    assert seen == [1, 2, 3]


@pytest.mark.rule("R27")
@every_transport
async def test_a_detached_call_goes_on_and_is_attached_again(transport: Transport) -> None:
    handler = Waiting()
    async with connected(transport, handler) as session:
        async with session.call("tools/call", {"name": "t"}) as call:
            await handler.started.wait()
            handle = call.detach()
        await settle()
        assert not handler.cancelled.is_set()
        handler.go_on.set()
        async with session.attach(handle) as again:
            assert await again.result() == {"done": True}
    assert handler.runs == 1


@every_transport
async def test_when_the_session_ends_nobody_waits_on(transport: Transport) -> None:
    handler = Waiting()
    sessions: list[ClientSession] = []
    opened, failed = trio.Event(), trio.Event()

    async def wait() -> None:
        await opened.wait()
        with pytest.raises((NoResultError, trio.ClosedResourceError)):
            await sessions[0].request("tools/call", {"name": "t"})
        failed.set()

    async with transport(handler) as connect, trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        async with connect(config=SWIFT) as session:
            sessions.append(session)
            opened.set()
            await handler.started.wait()
        with trio.fail_after(5):
            await failed.wait()


async def test_a_closed_session_takes_no_calls() -> None:
    async with connected(over_memory, do_nothing) as session:
        pass
    with pytest.raises(trio.ClosedResourceError):
        await session.request("tools/list")


async def test_nobody_waits_for_a_server_that_a_closed_session_never_met() -> None:
    async def dial() -> trio.abc.Stream:
        await trio.sleep_forever()

    async with connect_stream(dial) as session:
        pass
    with pytest.raises(trio.ClosedResourceError):
        await session.connected()


# ------------------------------------------------------------------------------------------------------------ questions


async def ask(call: Call) -> JSONObject:
    return await call.ask("sampling/createMessage", {"maxTokens": 1})


@every_transport
async def test_the_application_answers_what_the_server_asks(transport: Transport) -> None:
    seen: list[ServerRequest] = []

    async def answer(request: ServerRequest) -> JSONObject:
        await trio.lowlevel.checkpoint()
        seen.append(request)
        return {"role": "assistant"}

    async with (
        connected(transport, ask, {"sampling": {}}, answer) as session,
        session.call("tools/call", {"name": "t"}) as call,
    ):
        assert await call.result() == {"role": "assistant"}
    assert [(request.method, request.params, request.call) for request in seen] == [
        ("sampling/createMessage", {"maxTokens": 1}, call)
    ]


@every_transport
async def test_a_request_that_nobody_answers_gets_method_not_found(transport: Transport) -> None:
    async def expect_refusal(call: Call) -> JSONObject:
        with pytest.raises(AskRejectedError) as caught:
            await call.ask("custom/question")
        return {"code": caught.value.error.code}

    async with connected(transport, expect_refusal) as session:
        assert await session.request("tools/call", {"name": "t"}) == {"code": -32601}


@pytest.mark.parametrize("answer", [None, "yes", {"x": object()}, {"_meta": {1: 2}}], ids=repr)
async def test_a_fault_of_the_application_tells_the_server_nothing(
    answer: JSONObject, caplog: pytest.LogCaptureFixture
) -> None:
    async def expect_refusal(call: Call) -> JSONObject:
        with pytest.raises(AskRejectedError) as caught:
            await call.ask("custom/question")
        return {"code": caught.value.error.code, "message": caught.value.error.message}

    async def give(request: ServerRequest) -> JSONObject:
        await trio.lowlevel.checkpoint()
        return answer

    async with connected(over_memory, expect_refusal, on_request=give) as session:
        result = await session.request("tools/call", {"name": "t"})
    assert result == {"code": -32603, "message": "Internal error"}
    assert "failed" in caplog.text


@pytest.mark.rule("R24")
@every_transport
async def test_a_withdrawn_question_ends_the_task_that_answers_it(transport: Transport) -> None:
    thinking, withdrawn = trio.Event(), trio.Event()

    async def impatient(call: Call) -> JSONObject:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(call.ask, "custom/question")
            await thinking.wait()
            nursery.cancel_scope.cancel()
        return {}

    async def think(request: ServerRequest) -> JSONObject:
        thinking.set()
        try:
            await for_ever()
        finally:
            withdrawn.set()
        return {}

    async with connected(transport, impatient, on_request=think) as session:
        assert await session.request("tools/call", {"name": "t"}) == {}
        await withdrawn.wait()


@every_transport
async def test_a_notification_of_the_client_reaches_the_server(transport: Transport) -> None:
    async with connected(transport, do_nothing) as session:
        await session.notify("notifications/roots/list_changed")
        assert await session.request("tools/list") == {}


@contextlib.asynccontextmanager
async def announcing(count: int, listen: Callable[[NoticeReceived], Awaitable[object]]) -> AsyncIterator[None]:
    """Connect to a bare server that announces something so many times."""

    async def dial() -> trio.abc.Stream:
        await trio.lowlevel.checkpoint()
        ours, theirs = trio.testing.memory_stream_pair()
        nursery.start_soon(server, theirs)
        return ours

    async def server(stream: trio.abc.Stream) -> None:
        hello = json.loads(await stream.receive_some())
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
        announcement: dict[str, object] = {"method": "notifications/tools/list_changed"}
        for message in [{"id": hello["id"], "result": result}, *[announcement] * count]:
            await stream.send_all(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        while await stream.receive_some():
            continue
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        with trio.fail_after(5):
            async with connect_stream(dial, config=SWIFT, on_notification=listen):
                yield
        nursery.cancel_scope.cancel()


async def test_a_notification_of_the_server_outside_a_call_reaches_the_application() -> None:
    heard = trio.Event()

    async def listen(notification: NoticeReceived) -> None:
        await trio.lowlevel.checkpoint()
        assert notification.method == "notifications/tools/list_changed"
        heard.set()

    async with announcing(1, listen):
        await heard.wait()


async def test_too_many_notifications_at_a_time_are_dropped_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    running = 0

    async def listen(_: NoticeReceived) -> None:
        nonlocal running
        running += 1
        await trio.sleep_forever()

    async with announcing(MAX_NOTIFICATION_TASKS + 2, listen):
        await settle()
        assert running == MAX_NOTIFICATION_TASKS
    assert caplog.text.count("was dropped") == 2


# -------------------------------------------------------------------------------------------------------------- losses


@contextlib.asynccontextmanager
async def cut(transport: str, handler: Handler, *plans: Plan) -> AsyncIterator[tuple[ClientSession, CuttingProxy]]:
    """Connect through a proxy that cuts the first connections as planned, and no other."""
    left = list(plans)
    serve = serve_http if transport == "http" else serve_tcp
    async with trio.open_nursery() as nursery:
        server: RunningServer = await nursery.start(serve, handler, 0)
        proxy = CuttingProxy(server.ports[0], len(plans), 1, 1)
        spared = Plan(up=2**40, down=2**40, reset=False)
        proxy.plan = lambda: left.pop(0) if left else spared  # type: ignore[method-assign]  # a test decides where
        port: int = await nursery.start(proxy.serve)
        connect = connect_http(f"http://{LOOPBACK}:{port}/mcp", config=SWIFT) if transport == "http" else None
        with trio.fail_after(20):
            async with connect or connect_tcp(LOOPBACK, port, config=SWIFT) as session:
                yield session, proxy
        nursery.cancel_scope.cancel()


@pytest.mark.rule("P8", "P16", "R21")
@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("down", [0, 1, 200, 500, 700, 900, 1_500, 3_000])
@pytest.mark.parametrize("transport", ["tcp", "http"])
async def test_wherever_the_answer_is_cut_each_message_comes_once_and_the_tool_runs_once(
    transport: str, down: int, reset: bool
) -> None:
    runs = 0

    async def count(call: Call) -> JSONObject:
        nonlocal runs
        runs += 1
        for number in range(10):
            await call.notify("notifications/message", {"level": "info", "data": number})
        return {"runs": runs}

    plan = Plan(up=2**40, down=down, reset=reset)
    plans = [plan] if transport == "tcp" else [Plan(2**40, 2**40, reset=False), plan, plan]
    async with cut(transport, count, *plans) as (session, _), session.call("tools/call", {"name": "t"}) as call:
        assert [data(item) async for item in call] == list(range(10))
        assert await call.result() == {"runs": 1}


@pytest.mark.parametrize("up", [0, 1, 150, 300, 450])
@pytest.mark.parametrize("transport", ["tcp", "http"])
async def test_wherever_the_request_is_cut_the_tool_runs_once(transport: str, up: int) -> None:
    handler = Waiting()
    handler.go_on.set()
    async with cut(transport, handler, *[Plan(up=up, down=2**40, reset=False)] * 3) as (session, proxy):
        assert await session.request("tools/call", {"name": "t"}) == {"done": True}
        assert proxy.made >= 1
    assert handler.runs == 1


class Restarting:
    """A server on one port, which can be started anew: another instance each time, that remembers nothing."""

    def __init__(self, transport: str, handler: Handler) -> None:
        self._serve = functools.partial(serve_http if transport == "http" else serve_tcp, handler)
        self._scope = trio.CancelScope()
        self.port = 0

    async def start(self, nursery: trio.Nursery) -> None:
        self._scope.cancel()
        self._scope, listening = trio.CancelScope(), trio.Event()
        nursery.start_soon(self._run, self._scope, listening)
        await listening.wait()

    async def _run(self, scope: trio.CancelScope, listening: trio.Event) -> None:
        with scope:
            async with trio.open_nursery() as nursery:
                server: RunningServer = await nursery.start(self._serve, self.port)
                self.port = server.ports[0]
                listening.set()


@contextlib.asynccontextmanager
async def connected_to_restarting(
    transport: str, handler: Handler
) -> AsyncIterator[tuple[ClientSession, Callable[[], Awaitable[None]]]]:
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            server = Restarting(transport, handler)
            await server.start(nursery)
            over_http = connect_http(f"http://{LOOPBACK}:{server.port}/mcp", config=SWIFT)
            connect = over_http if transport == "http" else connect_tcp(LOOPBACK, server.port, config=SWIFT)
            async with connect as session:
                yield session, functools.partial(server.start, nursery)
            nursery.cancel_scope.cancel()


@pytest.mark.rule("R16", "R21")
async def test_a_server_that_restarts_before_it_served_anything_serves_afterwards() -> None:
    async with connected_to_restarting("http", count_to_three) as (session, restart):
        await session.connected()
        await restart()
        assert await session.request("tools/call", {"name": "t"}) == {"counted": 3}


@pytest.mark.rule("R16", "R21")
@pytest.mark.parametrize("transport", ["tcp", "http"])
async def test_a_call_that_a_restart_interrupts_is_lost_and_never_run_again(transport: str) -> None:
    handler = Waiting()

    async def say_and_wait(call: Call) -> JSONObject:
        await call.notify("notifications/message", {"level": "info", "data": 1})
        return await handler(call)

    async with connected_to_restarting(transport, say_and_wait) as (session, restart):
        async with session.call("tools/call", {"name": "t"}) as call:
            assert data(await anext(call)) == 1
            await restart()
            assert await call.outcome() == CallLost(Reason.STREAM_NOT_FOUND)
        assert handler.runs == 1
        handler.go_on.set()
        assert await session.request("tools/call", {"name": "t"}) == {"done": True}


async def test_what_it_did_below_the_application_is_counted() -> None:
    handler = Waiting()
    async with cut("tcp", handler, Plan(up=2**40, down=1_500, reset=False)) as (session, _):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(session.request, "tools/call", {"name": "t", "pad": "x" * 10})
            await handler.started.wait()
            handler.go_on.set()
        attempts = session.counters.attempts
        assert set(attempts) == set(Recovery)
        assert isinstance(session.counters.duplicates, int)


async def test_an_application_that_takes_nothing_holds_back_the_server_and_loses_nothing() -> None:
    sent = 0

    async def flood(call: Call) -> JSONObject:
        nonlocal sent
        for number in range(200):
            await call.notify("notifications/message", {"level": "info", "data": f"{number:04} " + "x" * 1_000})
            sent += 1
        return {}

    small = attrs.evolve(SWIFT, max_unread=20, max_unread_bytes=20_000)
    async with over_http(flood) as connect, connect(config=small) as session:
        async with session.call("tools/call", {"name": "t"}) as call:
            await trio.sleep(0.2)
            with trio.fail_after(10):
                items = [str(data(item))[:4] async for item in call]
        assert items == [f"{number:04}" for number in range(200)]
    assert sent == 200
