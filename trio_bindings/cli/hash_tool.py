"""The demo's server: one tool that hashes files, tells each digest, and asks its client something in the middle."""

from __future__ import annotations

from typing import Final, final

import trio

from mcpstreams_sansio.errors import INVALID_PARAMS
from mcpstreams_sansio.server.effects import AskFailure
from mcpstreams_sansio.wire.jsonrpc import JSONObject
from trio_bindings.app import Call
from trio_bindings.cli.files import Files, Total
from trio_bindings.errors import AskUnansweredError, CallError

TOOL_NAME: Final = "hash_files"
DEFAULT_COUNT: Final = 20
MAX_COUNT: Final = 1_000_000
"""Files of one call."""
MAX_FIRST: Final = 1_000_000_000
"""Where a call may begin: more than all files of all streams of the demo."""

QUESTION: Final[JSONObject] = {
    "message": "Half of the files are hashed. Which word shall go into the digest?",
    "requestedSchema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
}

TOOL: Final[JSONObject] = {
    "name": TOOL_NAME,
    "description": "Hashes files, tells the digest of each as progress, and returns one digest over all of them.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "count": {"type": "integer", "minimum": 1, "maximum": MAX_COUNT, "default": DEFAULT_COUNT},
            "first": {"type": "integer", "minimum": 0, "maximum": MAX_FIRST, "default": 0},
        },
    },
}


@final
class HashTool:
    """Serves the demo's calls, and counts what it did."""

    def __init__(self, files: Files) -> None:
        self.executions = 0
        """How often the tool ran."""
        self.produced = 0
        """Messages that it sent."""
        self._files = files

    async def handle(self, call: Call) -> JSONObject:
        """Serve one call: this is all that a registry of tools has to be."""
        match call.method, call.params.get("name"):
            case "tools/list", _:
                await trio.lowlevel.checkpoint()
                return {"tools": [TOOL]}
            case "tools/call", name if name == TOOL_NAME:
                count = _whole(call, "count", DEFAULT_COUNT, 1, MAX_COUNT)
                return await self._hash(call, count, _whole(call, "first", 0, 0, MAX_FIRST))
            case "tools/call", _:
                raise CallError(INVALID_PARAMS, "Unknown tool")
            case _:
                raise CallError.method_not_found()

    async def _hash(self, call: Call, count: int, first: int) -> JSONObject:
        self.executions += 1
        total = Total()
        for number in range(count):
            line = await trio.to_thread.run_sync(self._files.line, first + number)
            total.add(line)
            await call.progress(number + 1, count, line)
            self.produced += 1
            if number == count // 2:
                total.add(await _ask(call))
        return {"content": [{"type": "text", "text": total.value()}], "structuredContent": {"digest": total.value()}}


async def _ask(call: Call) -> str:
    """Return the client's word; a client that cannot be asked, or does not want to say, has none."""
    try:
        answer = await call.ask("elicitation/create", QUESTION)
    except AskUnansweredError as error:
        if error.failure is AskFailure.UNSUPPORTED:
            return ""
        raise
    content = answer.get("content")
    word = content.get("word") if isinstance(content, dict) else None
    return word if isinstance(word, str) else ""


def _whole(call: Call, name: str, default: int, least: int, most: int) -> int:
    """Return an argument of the tool that is a whole number."""
    arguments = call.params.get("arguments", {})
    value = arguments.get(name, default) if isinstance(arguments, dict) else None
    if type(value) is not int or not least <= value <= most:
        raise CallError(INVALID_PARAMS, f"{name} must be a whole number from {least} to {most}")
    return value
