"""`mcpstreams demo` as a user runs it: small runs over both transports, its options, its exit codes."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from trio_bindings.cli import run
from trio_bindings.cli.command import command
from trio_bindings.cli.demo import MAX_STREAMS
from trio_bindings.cli.hash_tool import MAX_COUNT, MAX_FIRST
from trio_bindings.cli.run import Options

COMMAND = [sys.executable, "-c", "from trio_bindings.cli import main; main()"]


def demo(*arguments: str) -> Result:
    return CliRunner().invoke(command, ["demo", *arguments])


@pytest.mark.parametrize("transport", ["tcp", "http"])
def test_small_calls_survive_being_cut_again_and_again(transport: str) -> None:
    arguments = f"--transport {transport} --cuts 6 --messages 60 --streams 3 --seed 7 --timeout 60 --json"
    result = demo(*arguments.split())
    figures = json.loads(result.stdout)
    assert result.exit_code == 0
    assert figures["ok"] is True
    assert figures["produced"] == figures["received"] == 180
    assert (figures["lost"], figures["out_of_order"], figures["executions"]) == (0, 0, 3)
    assert figures["cuts"] >= 4
    assert figures["resumes"] + figures["resends"] >= 1
    assert (figures["transport"], figures["seed"], figures["streams"]) == (transport, 7, 3)


def test_without_json_the_summary_is_for_a_reader_and_progress_goes_elsewhere() -> None:
    result = demo("--cuts", "0", "--messages", "4", "--streams", "1")
    assert result.exit_code == 0
    assert result.stdout.startswith("1 tool call over http, 0 connections cut")
    assert result.stdout.endswith("ok\n")
    assert "stream 1: 4 of 4 messages" in result.stderr


def test_it_hashes_the_files_of_any_folder(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("text")
    result = demo("--cuts", "0", "--messages", "5", "--streams", "2", "--directory", str(tmp_path), "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["received"] == 10


def test_a_folder_without_files_is_an_error(tmp_path: Path) -> None:
    result = demo("--directory", str(tmp_path))
    assert result.exit_code == 1
    assert "no files" in result.stderr


def test_time_that_is_up_ends_it_with_a_report() -> None:
    result = demo("--messages", "100000", "--streams", "1", "--cuts", "0", "--timeout", "0.5", "--json")
    figures = json.loads(result.stdout)
    assert result.exit_code == 1
    assert figures["ok"] is figures["finished"] is False
    assert figures["seconds"] < 5
    assert figures["lost"] == 0
    assert figures["received"] + figures["undelivered"] == figures["produced"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("--timeout nan", "no number"),
        ("--timeout 0", "not in the range"),
        ("--messages 1000001", "not in the range"),
        ("--streams 101", "not in the range"),
        ("--cuts 100001", "not in the range"),
        ("--cuts 500 --messages 1 --streams 1", "Ask for fewer --cuts, more --messages, or a longer --timeout"),
        ("--port 0", "--port means nothing without --serve"),
        ("--serve --cuts 3", "--cuts means nothing with --serve"),
        ("--serve --json", "--json means nothing with --serve"),
    ],
)
def test_what_can_not_be_done_is_refused_before_anything_begins(arguments: str, told: str) -> None:
    result = demo(*arguments.split())
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())


def test_as_many_streams_and_messages_as_may_be_are_within_the_tools_range() -> None:
    assert (MAX_STREAMS - 1) * MAX_COUNT <= MAX_FIRST


@pytest.mark.parametrize("transport", ["tcp", "http"])
def test_a_port_that_is_taken_is_one_line(transport: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = demo("--serve", "--transport", transport, "--port", str(port))
    assert (result.exit_code, result.stderr) == (
        1,
        f"Error: port {port} cannot be listened on: Address already in use\n",
    )


def test_files_with_strange_names_are_hashed_like_others(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")).write_bytes(b"text")
    result = demo("--cuts", "0", "--messages", "3", "--streams", "1", "--directory", str(tmp_path), "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["matching"] == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
def test_a_full_standard_output_is_one_line() -> None:
    arguments = [*COMMAND, "demo", "--cuts", "0", "--messages", "1", "--streams", "1"]
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    assert process.returncode == 1
    assert process.stderr.splitlines()[-1] == "Error: the summary could not be written: No space left on device"
    assert "Traceback" not in process.stderr


def test_an_interrupted_run_reports_how_far_it_came() -> None:
    arguments = ["demo", "--messages", "6000", "--streams", "1", "--cuts", "0", "--json"]
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stderr.readline().startswith("stream 1: ")
        process.send_signal(signal.SIGINT)
        figures = json.loads(process.stdout.read())
        assert process.wait(timeout=10) == 1
    assert figures["finished"] is False
    assert figures["received"] > 0


@pytest.mark.parametrize("moment", ["new_identity", "CuttingProxy", "new_http"])
def test_a_run_that_is_interrupted_before_its_first_call_reports_that(
    monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    begin = getattr(run, moment)

    def interrupted(*arguments: object, **options: object) -> object:
        signal.raise_signal(signal.SIGINT)
        return begin(*arguments, **options)

    monkeypatch.setattr(run, moment, interrupted)
    result = demo("--messages", "1000", "--streams", "1", "--cuts", "0", "--json")
    figures = json.loads(result.stdout)
    assert result.exit_code == 1
    assert (figures["finished"], figures["received"]) == (False, 0)


def test_cuts_are_spread_over_the_run_and_come_to_an_end() -> None:
    options = Options(transport="tcp", cuts=30, messages=2_000, streams=4, seed=1, timeout=1)
    assert 30 * options.down_bytes / 2 < 2_000 * 4 * 400
    assert Options(transport="tcp", cuts=0, messages=1, streams=1, seed=1, timeout=1).down_bytes > 0


@pytest.mark.parametrize("transport", ["tcp", "http"])
def test_serving_goes_on_until_it_is_interrupted(transport: str) -> None:
    arguments = ["demo", "--serve", "--transport", transport, "--port", "0"]
    with subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("serving at ")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 0
        assert process.stderr.read() == ""
