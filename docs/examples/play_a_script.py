"""Plays a transcript against a real server on Trio: its driver, its streams, its handlers.

Time is Trio's mock clock, so that waiting takes none. For another binding, write the same loop around your own server.
"""

from __future__ import annotations

import contextlib
import math
from typing import assert_never

import attrs
import trio
import trio.testing

from mcpstreams_sansio import JSONObject, LineDecoder, ServerConfig, ServerIdentity, encode_line
from mcpstreams_sansio.testing import POLICIES, SERVER_CONFIG, Script, Violation, cues, parse_transcript
from trio_bindings import Call, CallError, open_server, serve_stream
from trio_bindings.errors import AskUnansweredError
from trio_bindings.server import RunningServer

CONFIG = ServerConfig(
    identity=ServerIdentity(instance="a-server-that-plays-a-script"), streams=SERVER_CONFIG, policies=POLICIES
)

TRANSCRIPT = """\
# The connection breaks, and the server learns it only from the next one.
@ multiplexed marker messages=2 cuts=1
> call k1
> connect
> up c1
> send k1
> down c1
> cut c1
> send k1
> connect
> up c2
> wait
> up c2
> succeed k1
"""


class Connection:
    """The client's end of a connection."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self.stream = stream
        self.heard: list[bytes] = []
        self.reading = trio.CancelScope()

    async def read(self) -> None:
        """Keep what the server says, line by line."""
        lines = LineDecoder()
        with self.reading, contextlib.suppress(trio.ClosedResourceError):
            while data := await self.stream.receive_some():
                lines.receive_data(bytes(data))
                while (line := lines.next_line()) is not None:
                    self.heard.append(line)


class Worker:
    """The handler of a call, which does what the script says."""

    def __init__(self) -> None:
        self.order, self.next_order = trio.open_memory_channel[cues.HandlerCue](math.inf)
        self.answers: list[JSONObject | None] = []
        self.stopped = False

    async def work(self, call: Call) -> JSONObject:
        """Take one order after another, until one of them is the end of the call."""
        try:
            async with trio.open_nursery() as nursery:
                result = await self.obey(call, nursery)
        except trio.Cancelled:
            self.stopped = True
            raise
        return result

    async def obey(self, call: Call, nursery: trio.Nursery) -> JSONObject:
        """Do what is ordered, and return what the call comes to. Who asks waits for the answer meanwhile."""
        async for order in self.next_order:
            match order:
                case cues.Return(result=result):
                    return result
                case cues.Fail(code=code, message=message):
                    raise CallError(code, message)
                case cues.Ask():
                    nursery.start_soon(self.ask, call, order)
                case cues.Send(notification=notification):
                    await call.notify(notification.method, notification.params)
                case _:
                    call.release()
        raise AssertionError("the script ends every call")

    async def ask(self, call: Call, order: cues.Ask) -> None:
        """Ask, and keep the answer."""
        try:
            self.answers.append(await call.ask(order.method, order.params))
        except AskUnansweredError:
            self.answers.append(None)


@attrs.define
class Player:
    """Whoever plays: it has every connection and every handler in hand, and whatever it sees is compared."""

    script: Script
    server: RunningServer
    nursery: trio.Nursery
    workers: dict[int, Worker]
    connections: dict[str, Connection] = attrs.field(factory=dict)

    async def play(self) -> None:
        """Follow the script, and let the server come to rest after each step."""
        for number, step in enumerate(self.script.steps, 1):
            try:
                for cue in step.cues:
                    await self.follow(cue)
                    await trio.testing.wait_all_tasks_blocked()
            except Violation as error:
                error.add_note(f"at step {number}: {step.action}")
                raise
        for name, connection in self.connections.items():
            require(not connection.heard, f"{name} brings more than is written")

    async def follow(self, cue: cues.Cue) -> None:
        """Do what is asked, or look at what should have happened."""
        match cue:
            case cues.Connect(connection=name):
                ours, theirs = trio.testing.memory_stream_pair()
                self.connections[name] = Connection(ours)
                self.nursery.start_soon(serve_stream, self.server, theirs)
                self.nursery.start_soon(self.connections[name].read)
            case cues.Tell(connection=name):
                await self.connections[name].stream.send_all(encode_line(self.script.outgoing(cue)))
            case cues.Hear(connection=name):
                heard = self.connections[name].heard
                require(heard, f"{name} brings nothing")
                self.script.compare(cue, heard.pop(0))
            case cues.Forsake(connection=name):
                self.connections[name].reading.cancel()
                self.connections[name].heard.clear()
            case cues.Close(connection=name):
                await self.connections.pop(name).stream.aclose()
            case cues.Pass(seconds=seconds):
                await trio.sleep(seconds)
            case _:
                self.direct(cue)

    def direct(self, cue: cues.HandlerCue) -> None:
        """Tell a handler what to do, or look at what it was told."""
        match cue:
            case cues.Begin(call=number):
                require(number in self.workers, f"the handler of call {number} is not started")
            case cues.Answer(call=number, result=result):
                require(result in self.workers[number].answers, f"the handler of call {number} has no such answer")
            case cues.Stop(call=number):
                require(self.workers[number].stopped, f"the handler of call {number} is not stopped")
            case cues.Send() | cues.Ask() | cues.Release() | cues.Return() | cues.Fail():
                self.workers[cue.call].order.send_nowait(cue)
            case never:
                assert_never(never)


def require(holds: object, otherwise: str) -> None:
    """Say that the server has done something else."""
    if not holds:
        raise Violation("the server does as it is written", otherwise)


async def play(script: Script) -> None:
    """Play a script against a fresh server."""
    workers: dict[int, Worker] = {}

    async def handle(call: Call) -> JSONObject:
        arguments = call.params["arguments"]
        assert isinstance(arguments, dict)
        number = arguments["number"]
        require(number not in workers, f"the handler of call {number} is started twice")
        workers[number] = Worker()
        return await workers[number].work(call)

    async with open_server(handle, config=CONFIG) as server, trio.open_nursery() as nursery:
        await Player(script, server, nursery, workers).play()
        nursery.cancel_scope.cancel()


def main(text: str = TRANSCRIPT) -> None:
    """Play one transcript."""
    transcript = parse_transcript(text)
    trio.run(play, Script(transcript), clock=trio.testing.MockClock(autojump_threshold=0))
    print(f"{len(transcript.steps)} steps, and the server did as it is written")


if __name__ == "__main__":
    main()
