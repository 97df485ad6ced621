"""Clients that know nothing of this project are served as by any other server: curl, and the official SDK's client."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
import trio

from mcpstreams_sansio.framing.sse import SSEDecoder, SSEEvent

SERVE: Final = "from trio_bindings.cli.command import command; command(['demo', '--serve', '--port', '0'])"
COUNT: Final = 20
DEADLINE: Final = 60.0

HEADERS: Final = (
    "-H",
    "Accept: application/json, text/event-stream",
    "-H",
    "Content-Type: application/json",
)
INITIALIZE: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "curl", "version": "1"},
    },
}
CALL: Final = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "tools/call",
    "params": {"name": "hash_files", "arguments": {}, "_meta": {"progressToken": "p"}},
}


@pytest.fixture
async def url() -> AsyncIterator[str]:
    """Serve the demo's tool in a process of its own, as `mcpstreams demo --serve` does."""
    async with trio.open_nursery() as nursery:
        serve = functools.partial(trio.run_process, stderr=subprocess.PIPE, check=False)
        process = await nursery.start(serve, [sys.executable, "-c", SERVE])
        with trio.fail_after(DEADLINE):
            said = await process.stderr.receive_some()
        yield said.decode().removeprefix("serving at ").strip()
        process.terminate()


async def curl(*arguments: str) -> str:
    if shutil.which("curl") is None:
        pytest.skip("curl is not on this machine")
    with trio.fail_after(DEADLINE):
        done = await trio.run_process(["curl", "-sN", *arguments], capture_stdout=True)
    return done.stdout.decode()


def events(body: str) -> list[SSEEvent]:
    decoder = SSEDecoder()
    decoder.receive_data(body.encode())
    found = []
    while (event := decoder.next_event()) is not None:
        found.append(event)
    return found


@pytest.mark.rule("H10", "H13", "R2")
async def test_curl_initializes_calls_the_tool_and_reads_the_events(url: str, tmp_path: Path) -> None:
    head = tmp_path / "head"
    answer = json.loads(await curl("-D", str(head), *HEADERS, "-d", json.dumps(INITIALIZE), url))
    assert answer["result"]["protocolVersion"] == "2025-11-25"
    fields = dict(line.split(": ", 1) for line in head.read_text().splitlines() if ": " in line)
    session = next(value for name, value in fields.items() if name.lower() == "mcp-session-id")

    body = await curl(*HEADERS, "-H", f"Mcp-Session-Id: {session}", "-d", json.dumps(CALL), url)
    priming, *rest = events(body)
    assert priming.data == ""
    assert priming.id
    messages = [json.loads(event.data) for event in rest]
    assert [message["method"] for message in messages[:-1]] == ["notifications/progress"] * COUNT
    assert [message["params"]["progress"] for message in messages[:-1]] == list(range(1, COUNT + 1))
    assert messages[-1]["id"] == CALL["id"]
    assert messages[-1]["result"]["content"][0]["type"] == "text"
    # Nothing of the draft is shown to a client that did not ask for it.
    assert "stream" not in body.replace("text/event-stream", "")

    again = await curl(*HEADERS, "-H", f"Mcp-Session-Id: {session}", "-H", f"Last-Event-ID: {rest[4].id}", url)
    assert [event.data for event in events(again)[1:]] == [event.data for event in rest[5:]]


@pytest.mark.filterwarnings("default")
async def test_the_official_client_gets_progress_and_result(url: str) -> None:
    client = pytest.importorskip("mcp.client.client", reason="the extra [interop] is not installed")
    ticks: list[float] = []
    all_told = trio.Event()

    async def note(progress: float, _total: float | None, _message: str | None) -> None:
        await trio.lowlevel.checkpoint()
        ticks.append(progress)
        if len(ticks) == COUNT:
            all_told.set()

    with trio.fail_after(DEADLINE):
        async with client.Client(url, mode="legacy") as session:
            tools = await session.list_tools()
            assert [tool.name for tool in tools.tools] == ["hash_files"]
            result = await session.call_tool("hash_files", {}, progress_callback=note)
            await all_told.wait()
    # That client runs its callbacks side by side, so the last ones may come after the result, and in any order.
    assert sorted(ticks) == list(range(1, COUNT + 1))
    assert len(result.content[0].text) == len("c5b8862b6f83102a01ef8601ae84830a091c954655000608a1d659aeae1a3d40")
