"""Tools without a registry, and with types: one `match` says what is served, and mypy checks it."""

from __future__ import annotations

import functools

import trio

from mcpstreams_sansio import JSONObject
from mcpstreams_sansio.errors import INVALID_PARAMS
from trio_bindings import Call, CallError, CallFailedError, connect_tcp, serve_tcp

INFO: JSONObject = {"name": "example", "version": "1"}

REPEAT: JSONObject = {
    "name": "repeat",
    "description": "Says something several times.",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}, "times": {"type": "integer"}},
        "required": ["text", "times"],
    },
}


async def handle(call: Call) -> JSONObject:
    """Serve every call: a pattern checks the arguments, and gives them their types."""
    match call.method, call.params:
        case "tools/list", _:
            return {"tools": [REPEAT]}
        case "tools/call", {"name": "repeat", "arguments": {"text": str(text), "times": int(times)}}:
            return await repeat(call, text, times)
        case "tools/call", {"name": "repeat"}:
            raise CallError(INVALID_PARAMS, "repeat takes a text and a number of times")
        case "tools/call", _:
            raise CallError(INVALID_PARAMS, "there is no such tool")
        case _:
            raise CallError.method_not_found()


async def repeat(call: Call, text: str, times: int) -> JSONObject:
    """Say it, and tell how far it is."""
    for done in range(times):
        await call.progress(done + 1, times)
    return {"content": [{"type": "text", "text": " ".join([text] * times)}]}


async def main() -> None:
    """Serve it, and call it well and badly."""
    async with trio.open_nursery() as nursery:
        serve = functools.partial(serve_tcp, handle, 0, server_info=INFO, capabilities={"tools": {}})
        server = await nursery.start(serve)
        async with connect_tcp("127.0.0.1", server.ports[0]) as session:
            well: JSONObject = {"text": "yes", "times": 3}
            badly: JSONObject = {"text": "yes", "times": "often"}
            for arguments in (well, badly):
                try:
                    print(await session.request("tools/call", {"name": "repeat", "arguments": arguments}))
                except CallFailedError as error:
                    print(error)
        nursery.cancel_scope.cancel()


if __name__ == "__main__":
    trio.run(main)
