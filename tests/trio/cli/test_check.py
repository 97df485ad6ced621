"""`mcpstreams check` as a user runs it, in worlds so small that they are searched at once."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import attrs
import pytest
from click.testing import CliRunner, Result

from mcpstreams_sansio.testing import DEEP, USUAL, Bounds, Configuration, StreamsWorld, parse_transcript
from tests.model.planted.server_log import delivers_before_the_record_is_durable
from trio_bindings.cli import check as check_module
from trio_bindings.cli import searches
from trio_bindings.cli.check import check
from trio_bindings.cli.command import command
from trio_bindings.cli.searches import Display, Ending, search
from trio_bindings.cli.verdict import Verdict

COMMAND = [sys.executable, "-c", "from trio_bindings.cli import main; main()", "check"]
TINY = ("--peers", "stock", "--messages", "0")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, ["check", *arguments])


def test_a_world_that_options_describe_is_searched() -> None:
    result = run(*TINY, "--cuts", "1", "--processes", "1")
    assert result.exit_code == 0
    heading, own, total, end = result.stdout.splitlines()
    assert heading.split() == ["world", "states", "transitions", "depth", "seconds", "states/s"]
    assert own.split()[:2] == ["own", "19"]
    assert own.endswith("complete")
    assert total.split()[:2] == ["all", "19"]
    assert end == "ok"
    assert "own: 19 states, 0 waiting" in result.stderr


@pytest.mark.parametrize("field", attrs.fields(Bounds), ids=lambda field: field.name)
def test_there_is_an_option_for_each_bound(field: attrs.Attribute[int]) -> None:
    option = next(each for each in check.params if each.name == field.name)
    assert f"--{field.name.replace('_', '-')}" in option.opts
    assert len(getattr(option, "help", "")) > len("[default: 0]")


def test_worlds_are_searched_by_name_each_in_a_process_of_its_own() -> None:
    result = run("stock", "http-stock", "stock", "--max-states", "50", "--processes", "2")
    assert result.exit_code == 0
    rows = [line.split() for line in result.stdout.splitlines()]
    assert [(row[0], row[1], row[-1]) for row in rows[1:3]] == [
        ("stock", "19", "complete"),
        ("http-stock", "50", "incomplete"),
    ]
    assert result.stdout.splitlines()[-1] == "ok so far: 1 of 2 searches are incomplete"


def test_a_search_that_came_to_the_limit_of_its_world_is_not_called_complete() -> None:
    limited = Configuration("limited", "multiplexed stock messages=0 cuts=1", 5)
    found = search(limited, None, lambda *_: True)
    verdict = Verdict([found], 1, whole=False, ending=Ending.ALL_DONE, seconds=1.0)
    assert verdict.ok
    assert verdict.as_text().splitlines()[-1] == "ok: 1 of 1 searches went as far as their own limit"


def test_all_names_can_be_listed() -> None:
    result = run("--list")
    assert result.exit_code == 0
    assert [line.split(maxsplit=1) for line in result.stdout.splitlines()] == [
        [each.name, each.setting] for each in (*USUAL, *DEEP)
    ]


def test_no_two_worlds_have_the_same_name_and_each_is_one() -> None:
    names = [each.name for each in (*USUAL, *DEEP, Configuration("own", "multiplexed marker"))]
    assert len(set(names)) == len(names)
    assert [each.world().setting() for each in DEEP] == [each.setting for each in DEEP]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("nowhere",), "there is no world nowhere"),
        (("stock", "--cuts", "1"), "named, or described"),
        (("--deep", "--transport", "http"), "named, or described"),
        (("--cuts", "-1"), "--cuts"),
        (("--peers", "some"), "--peers"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments: tuple[str, ...], complaint: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_without_arguments_the_usual_worlds_are_searched_and_what_was_not_met_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(check_module, "USUAL", [each for each in USUAL if each.name == "stock"])
    result = run("--processes", "1")
    assert result.exit_code == 1
    assert "never happened: client -> attempt made resume, " in result.stdout
    assert "cells of a stream never reached: " in result.stdout
    assert "cells of a call never reached: " in result.stdout
    assert result.stdout.endswith("NOT OK\n")


def test_deep_searches_the_large_worlds_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_module, "USUAL", USUAL[:1])
    monkeypatch.setattr(check_module, "DEEP", DEEP[:1])
    result = run("--deep", "--processes", "1", "--max-states", "3")
    assert [line.split()[0] for line in result.stdout.splitlines()[1:3]] == [DEEP[0].name, USUAL[0].name]
    assert re.search(r"^never happened so far: [0-9]+$", result.stdout, re.MULTILINE)
    assert result.exit_code == 0  # what is incomplete proves nothing either way


# ---- what is broken


def test_what_is_broken_is_printed_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    delivers_before_the_record_is_durable.plant(monkeypatch)
    folder = tmp_path / "found" / "here"
    result = run("--messages", "0", "--durable", "1", "--processes", "1", "--out", str(folder))
    assert result.exit_code == 1
    assert "own is broken: durable before " in result.stdout
    transcript = parse_transcript((folder / "own.txt").read_text("utf-8"))
    assert str(transcript.path[-1]) in result.stdout
    assert StreamsWorld.parse(transcript.setting).setting() == "multiplexed marker messages=0 durable=1"
    assert "durable before " in (folder / "own.svg").read_text("utf-8")
    assert f"written: {folder / 'own.svg'}" in result.stdout


def test_what_can_not_be_drawn_is_kept_as_text(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: object) -> str:
        raise RuntimeError("no picture of that")

    delivers_before_the_record_is_durable.plant(monkeypatch)
    monkeypatch.setattr(searches, "draw", fail)
    result = run("--messages", "0", "--durable", "1", "--processes", "1", "--out", str(tmp_path))
    assert result.exit_code == 1
    assert [path.name for path in tmp_path.iterdir()] == ["own.txt"]


def test_a_folder_that_can_not_be_written_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    delivers_before_the_record_is_durable.plant(monkeypatch)
    (tmp_path / "file").write_text("")
    folder = tmp_path / "file" / "folder"
    result = run("--messages", "0", "--durable", "1", "--processes", "1", "--out", str(folder))
    assert result.exit_code == 1
    assert f"Error: {folder}: " in result.stderr


def test_a_search_whose_process_dies_is_lost_and_the_others_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = searches.search_all

    def lose(
        configurations: Sequence[Configuration], most: int | None, processes: int, display: Display, stop: searches.Stop
    ) -> list[searches.Found]:
        return whole(configurations[:1], most, processes, display, stop)

    monkeypatch.setattr(check_module, "search_all", lose)
    result = run("stock", "http", "--processes", "1")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[1].split()[:2] == ["stock", "19"]
    assert "1 of 2 searches are lost: a process died" in result.stdout


def test_a_process_that_dies_leaves_nothing_behind() -> None:
    future: Future[searches.Found | None] = Future()
    future.set_exception(BrokenProcessPool())
    assert searches._found_by(future) is None


def test_a_world_may_say_where_it_is_left_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    large = Configuration("large", "multiplexed stock messages=0 cuts=1", 7)
    monkeypatch.setattr(check_module, "DEEP", [large])
    monkeypatch.setattr(check_module, "USUAL", [each for each in USUAL if each.name == "stock"])
    result = run("--deep", "--processes", "1")
    assert result.stdout.splitlines()[1].split()[::6] == ["large", "incomplete"]
    assert "never happened: client -> attempt made resume, " in result.stdout  # the rest came to its end
    assert run("large", "--processes", "1").stdout.splitlines()[1].split()[1] == "7"
    assert run("large", "--processes", "1", "--max-states", "9").stdout.splitlines()[1].split()[1] == "9"


# ---- stopped by time, or by hand


@pytest.mark.parametrize("processes", ["1", "2"])
def test_after_some_minutes_all_searches_end_and_what_was_found_so_far_is_no_failure(processes: str) -> None:
    result = run("deep-two-calls", "deep-cuts", "stock", "--minutes", "0.02", "--processes", processes)
    assert result.exit_code == 0
    unfinished, last = result.stdout.splitlines()[-2:]
    assert unfinished.startswith("the time is over; ")
    assert last in {"ok so far: 3 of 3 searches are incomplete", "ok so far: 2 of 3 searches are incomplete"}


@pytest.mark.parametrize("processes", ["1", "2"])
def test_an_interruption_ends_the_search_and_reports_it_as_incomplete(processes: str) -> None:
    with subprocess.Popen(
        [*COMMAND, "deep-two-calls", "deep-cuts", "stock", "--processes", processes],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        assert running.stderr is not None
        running.stderr.readline()  # a search has begun
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=60)
    assert running.returncode == 1
    assert "incomplete" in out
    assert "stopped early; " in out
    assert out.endswith("NOT OK\n")
