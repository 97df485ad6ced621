"""The demo's client: follows the tool's calls, answers its questions, and makes every digest again."""

from __future__ import annotations

from typing import Final, final

import attrs
import trio

from mcpstreams_sansio.wire.jsonrpc import JSONObject, Notification
from mcpstreams_sansio.wire.methods import PROGRESS
from trio_bindings.calls import ClientCall, Gap
from trio_bindings.cli.display import Display
from trio_bindings.cli.files import Total
from trio_bindings.cli.hash_tool import TOOL_NAME
from trio_bindings.client import ClientSession, ServerRequest
from trio_bindings.errors import CallError
from trio_bindings.outcomes import NoResultError

CAPABILITIES: Final[JSONObject] = {"elicitation": {}}


@final
@attrs.define
class Tally:
    """What the client received."""

    received: int = 0
    out_of_order: int = 0
    lost: int = 0
    answers: int = 0
    matching: int = 0
    finished: int = 0
    failures: list[str] = attrs.field(factory=list)


@final
class HashClient:
    """Makes the demo's calls.

    Args:
        messages: Files of each stream.
        display: Told of each message.
    """

    def __init__(self, messages: int, display: Display) -> None:
        self.tally = Tally()
        self._messages = messages
        self._display = display
        self._words: dict[ClientCall, str] = {}

    async def run(self, session: ClientSession, streams: int) -> None:
        """Make so many calls at a time, and return once each has ended."""
        async with trio.open_nursery() as nursery:
            for stream in range(streams):
                nursery.start_soon(self._follow, session, stream)

    async def answer(self, request: ServerRequest) -> JSONObject:
        """Answer the tool's question: each stream has a word of its own, so that a mix-up would show."""
        await trio.lowlevel.checkpoint()
        if request.method != "elicitation/create" or request.call is None:
            raise CallError.method_not_found()
        self.tally.answers += 1
        return {"action": "accept", "content": {"word": self._words[request.call]}}

    async def _follow(self, session: ClientSession, stream: int) -> None:
        params: JSONObject = {
            "name": TOOL_NAME,
            "arguments": {"count": self._messages, "first": stream * self._messages},
            "_meta": {"progressToken": f"stream-{stream}"},
        }
        total, expected = Total(), 1
        call = session.call("tools/call", params)
        self._words[call] = word = f"word-{stream}"
        async with call:
            async for item in call:
                if isinstance(item, Gap):
                    self.tally.lost += item.lost
                if not isinstance(item, Notification):
                    continue
                number, line = _progress(item)
                self.tally.out_of_order += number != expected
                self.tally.received += 1
                expected = number + 1
                total.add(line)
                if number == self._messages // 2 + 1:
                    total.add(word)
                self._display.show(stream, number)
            try:
                result = await call.result()
            except NoResultError as error:
                self.tally.failures.append(f"stream {stream + 1}: {type(error).__name__}: {error}")
            else:
                self.tally.matching += _digest(result) == total.value()
            self.tally.finished += 1


def _progress(item: Notification) -> tuple[int, str]:
    """Return how many messages there were, and the line of the last one; anything else is no message of the tool."""
    params = item.params or {}
    number, line = params.get("progress"), params.get("message")
    if item.method != PROGRESS or type(number) is not int or not isinstance(line, str):
        return 0, ""
    return number, line


def _digest(result: JSONObject) -> str | None:
    """Return the digest that the tool made."""
    content = result.get("structuredContent")
    digest = content.get("digest") if isinstance(content, dict) else None
    return digest if isinstance(digest, str) else None
