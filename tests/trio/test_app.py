"""What an application writes on the server's side, and what a client sees of it (rule R27)."""

from __future__ import annotations

import logging
import math
from typing import get_args

import pytest
import trio
import trio.testing

from mcpstreams_sansio import LocalProtocolError
from mcpstreams_sansio.errors import INTERNAL_ERROR
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.dispatch import NotificationReceived
from mcpstreams_sansio.server.effects import AskFailure
from mcpstreams_sansio.server.machine import ServerConfig, ServerEffect
from mcpstreams_sansio.server.policies import StreamPolicies, StreamPolicy
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject
from mcpstreams_sansio.wire.streams import ResumeInterval
from tests.trio.handlers import Waiting, do_nothing
from tests.trio.machines import for_ever, settle
from tests.trio.peers import DRAFT, JSON, MARKED, STOCK, BarePeer, connected
from trio_bindings.app import Call, Handler, outcome_within
from trio_bindings.errors import AskRejectedError, AskUnansweredError, CallError
from trio_bindings.server import MAX_NOTIFICATION_TASKS, RunningServer, new_identity, open_server


def config(streams: StreamsConfig | None = None, **policy: StreamPolicy) -> ServerConfig:
    named = {f"tools/call:{tool}": chosen for tool, chosen in policy.items()}
    return ServerConfig(identity=new_identity(), streams=streams or StreamsConfig(), policies=StreamPolicies(named))


async def answer(handler: Handler, capabilities: JSONObject = STOCK, **params: object) -> object:
    """Return what a client gets for one call."""
    async with open_server(handler) as server:
        peer = await connected(server, dict(capabilities))
        await peer.calls(1, **params)
        return await peer.hears_answer(1)


# --------------------------------------------------------------------------------------------------- totality, results


async def test_every_effect_of_the_machine_has_a_route() -> None:
    def members(union: object) -> set[object]:
        found: set[object] = set()
        for member in get_args(union):
            found |= members(member) or {member}
        return found

    async with open_server(do_nothing) as server:
        assert server.driver.routed == members(ServerEffect)


async def test_a_handler_sees_the_call_and_what_it_returns_is_the_result() -> None:
    seen: list[Call] = []

    async def handler(call: Call) -> JSONObject:
        await trio.lowlevel.checkpoint()
        seen.append(call)
        return {"content": []}

    assert await answer(handler, name="t", arguments={"a": 1}) == {"id": 1, "result": {"content": []}}
    assert (seen[0].method, seen[0].params) == ("tools/call", {"name": "t", "arguments": {"a": 1}})
    assert seen[0].peer.info == {"name": "bare", "version": "1"}


async def test_a_call_without_params_has_empty_ones() -> None:
    async def handler(call: Call) -> JSONObject:
        await trio.lowlevel.checkpoint()
        return dict(call.params)

    async with open_server(handler) as server:
        peer = await connected(server, STOCK)
        await peer.says(id=1, method="tools/list")
        assert await peer.hears() == {"id": 1, "result": {}}


async def test_a_handler_knows_whether_its_call_survives_a_loss() -> None:
    async def handler(call: Call) -> JSONObject:
        await trio.lowlevel.checkpoint()
        return {"resumable": call.resumable}

    async with open_server(handler) as server:
        for capabilities, resumable in ((STOCK, False), (DRAFT, True)):
            peer = await connected(server, capabilities)
            await peer.calls(1, name="t")
            assert (await peer.hears_answer(1))["result"]["resumable"] == resumable


async def test_a_call_and_its_server_show_what_they_are() -> None:
    shown: list[str] = []

    async def handler(call: Call) -> JSONObject:
        await trio.lowlevel.checkpoint()
        shown.extend([repr(call), repr(server)])
        return {}

    async with open_server(handler) as server:
        old, new = await connected(server, STOCK), await connected(server, DRAFT)
        for peer in (old, new):
            await peer.calls(1, name="t")
            await peer.hears_answer(1)
        await old.says(id=2, method="x\n" * 1_000)
        await old.hears_answer(2)
        server.ports = (80, 81)
        await server.drain()
        assert repr(server) == "<RunningServer ports=80,81 calls=0 draining>"
    assert shown[:2] == ["<Call 'tools/call': not resumable>", "<RunningServer ports=none calls=1>"]
    assert shown[2] == "<Call 'tools/call': resumable>"
    assert shown[4].startswith("<Call 'x\\nx\\n")
    assert len(shown[4]) < 150


async def test_an_error_that_a_handler_means_is_the_answer() -> None:
    async def handler(call: Call) -> JSONObject:
        await trio.lowlevel.checkpoint()
        raise CallError(-5, "no such city", {"city": "Atlantis"})

    error = {"code": -5, "message": "no such city", "data": {"city": "Atlantis"}}
    assert await answer(handler) == {"id": 1, "error": error}


async def test_an_error_from_inside_a_nursery_of_the_handler_is_the_answer_too() -> None:
    async def fail() -> None:
        await trio.lowlevel.checkpoint()
        raise CallError.method_not_found()

    async def handler(call: Call) -> JSONObject:
        async with trio.open_nursery() as outer, trio.open_nursery() as inner:
            outer.start_soon(for_ever)
            inner.start_soon(fail)
        return {}

    assert await answer(handler) == {"id": 1, "error": {"code": -32601, "message": "Method not found"}}


INTERNAL = {"id": 1, "error": {"code": -32603, "message": "Internal error"}}


async def test_a_fault_of_a_handler_tells_the_client_nothing_and_the_log_everything(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handler(call: Call) -> JSONObject:
        await trio.lowlevel.checkpoint()
        raise ZeroDivisionError("a secret of the server")

    with caplog.at_level(logging.ERROR, "trio_bindings"):
        assert await answer(handler) == INTERNAL
    assert "a secret of the server" in caplog.text


NO_RESULTS = [None, [], "counted to 3", 5, ["a"], {"x": object()}, {"x": float("nan")}, {"_meta": {1: 2}}]


@pytest.mark.parametrize("capabilities", [STOCK, DRAFT, MARKED])
@pytest.mark.parametrize("result", NO_RESULTS, ids=repr)
async def test_what_is_no_result_is_a_fault_of_the_handler(
    result: object, capabilities: JSONObject, caplog: pytest.LogCaptureFixture
) -> None:
    async def handler(call: Call) -> JSONObject:
        await trio.lowlevel.checkpoint()
        return result  # type: ignore[return-value]  # the very mistake that is tested

    with caplog.at_level(logging.CRITICAL, "trio_bindings"):
        assert await answer(handler, capabilities) == INTERNAL


@pytest.mark.parametrize("capabilities", [STOCK, DRAFT, MARKED])
@pytest.mark.parametrize("params", ["text", 5, ["a"], {"_meta": {1: 2}}], ids=repr)
async def test_what_are_no_params_is_a_fault_of_the_handler(params: object, capabilities: JSONObject) -> None:
    async def handler(call: Call) -> JSONObject:
        with pytest.raises(LocalProtocolError):
            await call.notify("notifications/message", params)  # type: ignore[arg-type]  # the mistake that is tested
        with pytest.raises(LocalProtocolError):
            await call.ask("custom/question", params)  # type: ignore[arg-type]  # asked without a checker
        return {"well": True}

    answered = await answer(handler, capabilities)
    assert isinstance(answered, dict)
    assert answered["result"]["well"]


async def test_calls_of_one_client_run_side_by_side() -> None:
    gates = {"slow": trio.Event(), "quick": trio.Event()}

    async def handler(call: Call) -> JSONObject:
        await gates[str(call.params["name"])].wait()
        return {}

    async with open_server(handler) as server:
        peer = await connected(server, STOCK)
        await peer.calls(1, name="slow")
        await peer.calls(2, name="quick")
        await peer.says(id=3, method="ping")
        assert await peer.hears() == {"id": 3, "result": {}}
        gates["quick"].set()
        assert (await peer.hears())["id"] == 2
        gates["slow"].set()
        assert (await peer.hears())["id"] == 1


# --------------------------------------------------------------------------------------------- notifications, progress


async def test_notifications_come_in_order_and_before_the_result() -> None:
    async def handler(call: Call) -> JSONObject:
        for number in range(5):
            await call.notify("notifications/message", {"level": "info", "data": number})
        return {}

    async with open_server(handler) as server:
        peer = await connected(server, STOCK)
        await peer.calls(1)
        heard = [await peer.hears() for _ in range(6)]
    assert [message["params"]["data"] for message in heard[:5]] == [0, 1, 2, 3, 4]
    assert heard[5] == {"id": 1, "result": {}}


async def test_progress_goes_to_the_token_of_the_request() -> None:
    async def handler(call: Call) -> JSONObject:
        await call.progress(1)
        await call.progress(2, 3, "almost")
        return {}

    async with open_server(handler) as server:
        peer = await connected(server, STOCK)
        await peer.calls(1, _meta={"progressToken": "p"})
        assert (await peer.hears())["params"] == {"progressToken": "p", "progress": 1}
        full = {"progressToken": "p", "progress": 2, "total": 3, "message": "almost"}
        assert (await peer.hears())["params"] == full


@pytest.mark.parametrize(
    "meta", [{}, {"progressToken": True}, {"progressToken": None}, {"progressToken": [1]}], ids=repr
)
async def test_without_a_token_there_is_no_progress(meta: JSONObject) -> None:
    async def handler(call: Call) -> JSONObject:
        await call.progress(1)
        return {}

    assert await answer(handler, _meta=meta) == {"id": 1, "result": {}}


async def test_a_notification_that_cannot_be_sent_is_the_handlers_mistake() -> None:
    async def handler(call: Call) -> JSONObject:
        with pytest.raises(LocalProtocolError):
            await call.notify("notifications/message", {"_meta": {"mcpstreams/seq": 1}})
        return {"fine": True}

    assert await answer(handler) == {"id": 1, "result": {"fine": True}}


@pytest.mark.rule("R10", "R27")
async def test_a_handler_waits_while_its_client_does_not_keep_up_and_goes_on_when_it_does() -> None:
    sent: list[int] = []

    async def handler(call: Call) -> JSONObject:
        for number in range(20):
            await call.notify("notifications/message", {"level": "info", "data": number})
            sent.append(number)
        return {}

    async with open_server(handler, config=config(StreamsConfig(window=5, keep_bytes=1))) as server:
        peer = await connected(server, MARKED)
        await peer.calls(1)
        await settle()
        assert len(sent) < 10
        stopped_at = len(sent)
        created = await peer.hears_method("notifications/stream/create")
        stream_id = created["params"]["stream"]["streamId"]
        acks = {"acks": [{"streamId": stream_id, "through": stopped_at}]}
        await peer.says(method="notifications/mcpstreams/ack", params=acks)
        await settle()
        assert stopped_at < len(sent) < 20


# ----------------------------------------------------------------------------------------------------------------- ask


async def test_a_question_is_answered_inside_its_call() -> None:
    async def handler(call: Call) -> JSONObject:
        return await call.ask("sampling/createMessage", {"maxTokens": 1})

    async with open_server(handler) as server:
        peer = await connected(server, {"sampling": {}})
        await peer.calls(1)
        question = await peer.hears_method("sampling/createMessage")
        assert question["params"] == {"maxTokens": 1}
        await peer.says(id=question["id"], result={"role": "assistant"})
        assert await peer.hears() == {"id": 1, "result": {"role": "assistant"}}


async def test_a_question_may_be_answered_with_an_error() -> None:
    async def handler(call: Call) -> JSONObject:
        with pytest.raises(AskRejectedError) as caught:
            await call.ask("custom/question")
        return {"code": caught.value.error.code}

    async with open_server(handler) as server:
        peer = await connected(server, STOCK)
        await peer.calls(1)
        question = await peer.hears_method("custom/question")
        await peer.says(id=question["id"], error={"code": -1, "message": "no"})
        assert await peer.hears() == {"id": 1, "result": {"code": -1}}


@pytest.mark.rule("R24")
async def test_what_a_client_cannot_be_asked_fails_at_once() -> None:
    async def handler(call: Call) -> JSONObject:
        with pytest.raises(AskUnansweredError) as caught:
            await call.ask("sampling/createMessage")
        return {"failure": caught.value.failure.value}

    assert await answer(handler) == {"id": 1, "result": {"failure": AskFailure.UNSUPPORTED.value}}


@pytest.mark.rule("R24")
async def test_a_question_that_nobody_answers_ends(autojump_clock: trio.testing.MockClock) -> None:
    async def handler(call: Call) -> JSONObject:
        with pytest.raises(AskUnansweredError) as caught:
            await call.ask("custom/question")
        return {"failure": caught.value.failure.value}

    async with open_server(handler, config=config(StreamsConfig(ask_timeout=1))) as server:
        peer = await connected(server, STOCK)
        await peer.calls(1)
        result = (await peer.hears_answer(1))["result"]
    assert result == {"failure": AskFailure.TIMED_OUT.value}


@pytest.mark.rule("R24")
async def test_a_handler_that_gives_up_on_a_question_withdraws_it(autojump_clock: trio.testing.MockClock) -> None:
    async def handler(call: Call) -> JSONObject:
        with trio.move_on_after(1):
            await call.ask("custom/question")
        return {}

    async with open_server(handler) as server:
        peer = await connected(server, STOCK)
        await peer.calls(1)
        question = await peer.hears_method("custom/question")
        withdrawn = await peer.hears_method("notifications/cancelled")
        assert withdrawn["params"]["requestId"] == question["id"]
        await peer.says(id=question["id"], result={"late": True})
        assert await peer.hears() == {"id": 1, "result": {}}


async def test_a_handler_that_waits_for_an_answer_is_cancelled_with_its_call_and_does_not_fail(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ended: list[BaseException] = []

    async def handler(call: Call) -> JSONObject:
        try:
            return await call.ask("custom/question")
        except BaseException as error:
            ended.append(error)
            raise

    async with open_server(handler) as server:
        peer = await connected(server, STOCK)
        await peer.calls(1)
        await peer.hears_method("custom/question")
        await peer.says(method="notifications/cancelled", params={"requestId": 1})
        await settle()
        assert [type(error) for error in ended] == [trio.Cancelled]
    assert caplog.text == ""


async def test_a_question_that_cannot_be_sent_is_the_handlers_mistake() -> None:
    async def handler(call: Call) -> JSONObject:
        with pytest.raises(LocalProtocolError):
            await call.ask("custom/question", {"_meta": {"mcpstreams/seq": 1}})
        return {}

    assert await answer(handler) == {"id": 1, "result": {}}


# -------------------------------------------------------------------------------------------------- cancelling, leaving


async def test_a_cancelled_call_ends_its_handler_and_has_no_answer() -> None:
    handler = Waiting()
    async with open_server(handler) as server:
        peer = await connected(server, STOCK)
        await peer.calls(1)
        await handler.started.wait()
        await peer.says(method="notifications/cancelled", params={"requestId": 1})
        with trio.fail_after(5):
            await handler.cancelled.wait()
        await peer.says(id=2, method="ping")
        assert await peer.hears() == {"id": 2, "result": {}}


async def test_a_handler_that_ignores_its_cancellation_gets_no_answer_out(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async def handler(call: Call) -> JSONObject:
        with trio.CancelScope(shield=True):
            await trio.sleep(1)
        return {}

    async with open_server(handler) as server:
        peer = await connected(server, STOCK)
        await peer.calls(1)
        await peer.says(method="notifications/cancelled", params={"requestId": 1})
        await trio.sleep(2)
        await peer.says(id=2, method="ping")
        assert await peer.hears() == {"id": 2, "result": {}}


async def test_a_lost_connection_ends_a_call_that_nobody_can_resume_and_no_other() -> None:
    async with open_server(handler := Waiting()) as server:
        peer = await connected(server, STOCK)
        await peer.calls(1)
        await handler.started.wait()
        peer.breaks()
        with trio.fail_after(5):
            await handler.cancelled.wait()

    async with open_server(handler := Waiting()) as server:
        peer = await connected(server, DRAFT)
        await peer.calls(1)
        await handler.started.wait()
        peer.breaks()
        await settle()
        assert not handler.cancelled.is_set()


async def resume(server: RunningServer, created: JSON) -> BarePeer:
    """Come back for a stream on a new connection."""
    stream = created["params"]["stream"]
    peer = await connected(server, DRAFT)
    names = {"streamId": stream["streamId"], "resumeToken": stream["resumeToken"]}
    await peer.says(id="r", method="stream/resume", params=names)
    return peer


@pytest.mark.rule("P8", "P15")
async def test_a_call_goes_on_over_a_loss_and_its_result_comes_on_another_connection() -> None:
    handler = Waiting()
    async with open_server(handler) as server:
        peer = await connected(server, DRAFT)
        await peer.calls(1)
        created = await peer.hears_method("notifications/stream/create")
        await peer.leaves()
        handler.go_on.set()
        await settle()
        assert (await (await resume(server, created)).hears_answer(1))["result"] == {"done": True}


async def test_an_abandoned_call_is_cancelled_unless_it_runs_on(autojump_clock: trio.testing.MockClock) -> None:
    brief = ResumeInterval(max=5)
    for run_on in (False, True):
        handler = Waiting()
        chosen = config(tool=StreamPolicy(interval=brief, run_on=run_on))
        async with open_server(handler, config=chosen) as server:
            peer = await connected(server, DRAFT)
            await peer.calls(1, name="tool")
            await handler.started.wait()
            peer.breaks()
            await trio.sleep(10)
            assert handler.cancelled.is_set() != run_on
            handler.go_on.set()
            await settle()


@pytest.mark.rule("R27")
async def test_a_handler_knows_until_when_its_client_may_come_back(autojump_clock: trio.testing.MockClock) -> None:
    calls: list[Call] = []

    async def handler(call: Call) -> JSONObject:
        calls.append(call)
        return await waiting(call)

    waiting = Waiting()
    chosen = config(tool=StreamPolicy(interval=ResumeInterval(max=60)))
    async with open_server(handler, config=chosen) as server:
        peer = await connected(server, DRAFT)
        await peer.calls(1, name="tool")
        created = await peer.hears_method("notifications/stream/create")
        call = calls[0]
        assert call.deadline == math.inf, "nothing threatens it while its client is here"
        await trio.sleep(5)
        peer.breaks()
        await settle()
        assert call.deadline == trio.current_time() + 60
        await trio.sleep(20)
        back = await resume(server, created)
        await settle()
        assert call.deadline == math.inf
        back.breaks()
        await settle()
        deadline = call.deadline
        assert deadline == trio.current_time() + 60
        await trio.sleep_until(deadline - 1)
        await settle()
        assert not waiting.cancelled.is_set()
        await waiting.cancelled.wait()
        assert trio.current_time() == pytest.approx(deadline)
        assert call.deadline == math.inf, "nothing is left to be cancelled"


@pytest.mark.rule("R27")
async def test_a_poll_gives_a_handler_more_time(autojump_clock: trio.testing.MockClock) -> None:
    calls: list[Call] = []

    async def handler(call: Call) -> JSONObject:
        calls.append(call)
        await trio.sleep_forever()

    chosen = config(tool=StreamPolicy(interval=ResumeInterval(max=60)))
    async with open_server(handler, config=chosen) as server:
        peer = await connected(server, DRAFT)
        await peer.calls(1, name="tool")
        stream = (await peer.hears_method("notifications/stream/create"))["params"]["stream"]
        peer.breaks()
        other = await connected(server, DRAFT)
        await trio.sleep(30)
        before = calls[0].deadline
        names = {"streamId": stream["streamId"], "resumeToken": stream["resumeToken"]}
        await other.says(id=2, method="stream/poll", params=names)
        await other.hears_answer(2)
        assert calls[0].deadline == trio.current_time() + 60 == before + 30


@pytest.mark.rule("R27")
async def test_a_call_that_runs_on_has_no_deadline(autojump_clock: trio.testing.MockClock) -> None:
    deadlines: list[float] = []

    async def handler(call: Call) -> JSONObject:
        while True:
            deadlines.append(call.deadline)
            await trio.sleep(1)

    chosen = config(tool=StreamPolicy(interval=ResumeInterval(max=5), run_on=True))
    async with open_server(handler, config=chosen) as server:
        peer = await connected(server, DRAFT)
        await peer.calls(1, name="tool")
        await settle()
        peer.breaks()
        await trio.sleep(10)
    assert len(deadlines) > 6
    assert set(deadlines) == {math.inf}


async def test_letting_go_of_a_connection_keeps_the_call() -> None:
    handler = Waiting()

    async def released(call: Call) -> JSONObject:
        call.release()
        return await handler(call)

    async with open_server(released) as server:
        peer = await connected(server, DRAFT)
        await peer.calls(1)
        created = await peer.hears_method("notifications/stream/create")
        await settle()
        handler.go_on.set()
        assert (await (await resume(server, created)).hears_answer(1))["result"] == {"done": True}


@pytest.mark.rule("R18")
async def test_a_handler_may_open_a_stream_for_a_call_whose_policy_said_nothing_of_it() -> None:
    handler = Waiting()

    async def opened(call: Call) -> JSONObject:
        call.open_stream(ResumeInterval(min=1, max=60))
        return await handler(call)

    async with open_server(opened) as server:
        peer = await connected(server, DRAFT)
        await peer.says(id=1, method="prompts/get", params={"name": "p"})
        created = await peer.hears_method("notifications/stream/create")
        assert created["params"]["stream"]["resumeInterval"] == {"min": 1, "max": 60}
        peer.breaks()
        handler.go_on.set()
        await settle()
        assert (await (await resume(server, created)).hears_answer(1))["result"] == {"done": True}


# --------------------------------------------------------------------------------------------- the server as a whole


async def test_notifications_of_a_client_reach_the_application() -> None:
    heard: list[NotificationReceived] = []

    async def listen(notification: NotificationReceived) -> None:
        heard.append(notification)
        await trio.lowlevel.checkpoint()
        raise ZeroDivisionError("a fault of one listener ends only itself")

    async with open_server(do_nothing, on_notification=listen) as server:
        peer = await connected(server, STOCK)
        for number in range(3):
            await peer.says(method="notifications/custom", params={"number": number})
        await peer.calls(1)
        await peer.hears_answer(1)
    assert {str(notification.params) for notification in heard} == {str({"number": number}) for number in range(3)}


async def test_too_many_notifications_at_a_time_are_dropped_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    running: list[NotificationReceived] = []

    async def listen(notification: NotificationReceived) -> None:
        running.append(notification)
        await trio.sleep_forever()

    async with open_server(do_nothing, on_notification=listen) as server:
        peer = await connected(server, STOCK)
        for _ in range(MAX_NOTIFICATION_TASKS + 2):
            await peer.says(method="notifications/custom")
        await peer.calls(1)
        await peer.hears_answer(1)
        assert len(running) == MAX_NOTIFICATION_TASKS
    assert caplog.text.count("was dropped") == 2


async def test_leaving_the_server_ends_handlers_and_connections() -> None:
    handler = Waiting()
    async with open_server(handler) as server:
        peer = await connected(server, DRAFT)
        await peer.calls(1)
        await handler.started.wait()
    assert handler.cancelled.is_set()
    await peer.hears_end()


async def test_a_drained_server_lets_its_clients_go_in_good_order() -> None:
    handler = Waiting()
    async with open_server(handler) as server:
        peer = await connected(server, DRAFT)
        await peer.calls(1)
        await handler.started.wait()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(server.drain)
            await peer.hears_end()
            await peer.leaves()
        assert server.is_draining


async def test_draining_does_not_wait_for_ever(autojump_clock: trio.testing.MockClock) -> None:
    async with open_server(Waiting()) as server:
        await connected(server, DRAFT)
        start = trio.current_time()
        await server.drain(within=0.5)
        assert trio.current_time() - start <= 0.5


async def test_a_log_and_the_promise_to_use_it_belong_together() -> None:
    with pytest.raises(ValueError, match="log"):
        async with open_server(Waiting(), config=config(StreamsConfig(durable=True))):
            pass


async def failing_while_cancelled(started: trio.Event) -> JSONObject:
    """Fail in a nursery while being cancelled: what comes out is a group of a cancellation and a failure."""

    async def child() -> None:
        try:
            started.set()
            await trio.sleep_forever()
        finally:
            raise ValueError("the handler is broken")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(child)
        nursery.start_soon(trio.sleep_forever)
    raise AssertionError("the nursery never ends in peace")


async def test_a_handler_that_fails_while_it_is_cancelled_harms_nobody_else() -> None:
    scope, started = trio.CancelScope(), trio.Event()
    outcomes: list[object] = []

    async def run() -> None:
        outcomes.append(await outcome_within(scope, 1, failing_while_cancelled, started))

    with trio.fail_after(5):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run)
            await started.wait()
            scope.cancel()
    assert outcomes == [None]


async def test_a_handler_that_fails_uncancelled_is_answered_for() -> None:
    async def handler() -> JSONObject:
        await trio.lowlevel.checkpoint()
        raise ValueError("the handler is broken")

    assert await outcome_within(trio.CancelScope(), 1, handler) == ErrorResponse(1, INTERNAL_ERROR, "Internal error")
