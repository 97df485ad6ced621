"""The demo's tool, as any client sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.trio.peers import JSON, STOCK, BarePeer, connected
from trio_bindings.cli.files import Files, Total
from trio_bindings.cli.hash_tool import MAX_COUNT, TOOL_NAME, HashTool
from trio_bindings.server import RunningServer, open_server


@pytest.fixture
def files(tmp_path: Path) -> Files:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text(f"text {number}")
    return Files(tmp_path)


def total(*lines: str) -> str:
    made = Total()
    for line in lines:
        made.add(line)
    return made.value()


async def call(server: RunningServer, capabilities: JSON, **arguments: object) -> BarePeer:
    peer = await connected(server, capabilities)
    await peer.calls(1, name=TOOL_NAME, arguments=arguments, _meta={"progressToken": "p"})
    return peer


async def test_it_is_listed_with_its_arguments(files: Files) -> None:
    async with open_server(HashTool(files).handle) as server:
        peer = await connected(server, STOCK)
        await peer.says(id=1, method="tools/list")
        (tool,) = (await peer.hears())["result"]["tools"]
    assert tool["name"] == TOOL_NAME
    assert set(tool["inputSchema"]["properties"]) == {"count", "first"}


async def test_it_tells_each_file_and_then_one_digest(files: Files) -> None:
    tool = HashTool(files)
    async with open_server(tool.handle) as server:
        peer = await call(server, STOCK, count=4, first=1)
        told = [(await peer.hears())["params"] for _ in range(4)]
        result = (await peer.hears())["result"]
    lines = [files.line(number) for number in (1, 2, 3, 4)]
    assert [(progress["progress"], progress["message"]) for progress in told] == list(enumerate(lines, start=1))
    assert result["structuredContent"]["digest"] == total(*lines[:3], "", lines[3])
    assert (tool.executions, tool.produced) == (1, 4)


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ({"action": "accept", "content": {"word": "yes"}}, "yes"),
        ({"action": "decline"}, ""),
        ({"action": "accept", "content": {"word": 7}}, ""),
    ],
)
async def test_in_the_middle_it_asks_a_client_that_can_be_asked(files: Files, answer: JSON, word: str) -> None:
    async with open_server(HashTool(files).handle) as server:
        peer = await call(server, {"elicitation": {}}, count=2)
        question = await peer.hears_method("elicitation/create")
        assert question["params"]["requestedSchema"]["required"] == ["word"]
        await peer.says(id=question["id"], result=answer)
        result = (await peer.hears_answer(1))["result"]
    assert result["structuredContent"]["digest"] == total(files.line(0), files.line(1), word)


@pytest.mark.parametrize("count", [0, -1, MAX_COUNT + 1, "3", 1.5, True, None], ids=repr)
async def test_an_argument_that_makes_no_sense_is_refused(files: Files, count: object) -> None:
    tool = HashTool(files)
    async with open_server(tool.handle) as server:
        peer = await call(server, STOCK, count=count)
        assert (await peer.hears())["error"]["code"] == -32602
    assert tool.executions == 0


async def test_other_tools_and_methods_are_not_offered(files: Files) -> None:
    async with open_server(HashTool(files).handle) as server:
        peer = await connected(server, STOCK)
        await peer.calls(1, name="other")
        assert (await peer.hears())["error"]["code"] == -32602
        await peer.says(id=2, method="resources/list")
        assert (await peer.hears())["error"]["code"] == -32601
