"""Progress of searches goes to stderr: a table where somebody watches, plain lines elsewhere."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.testing import Configuration, Statistics
from trio_bindings.cli.search_display import open_search_display
from trio_bindings.cli.searches import Failure, Found

HALF_WAY, DONE = Statistics(500, 40, 1_200, 9), Statistics(1_000, 0, 3_000, 15)


def found(name: str, *, complete: bool = True, failure: Failure | None = None) -> Found:
    return Found(Configuration(name, ""), DONE, 2.0, complete, frozenset(), frozenset(), frozenset(), failure)


def test_elsewhere_a_search_says_from_time_to_time_where_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with open_search_display(worlds=3) as display:
        for seconds in (1.0, 2.0, 10.9, 11.0, 12.0):
            display.show("one", HALF_WAY, seconds)
        display.finish(found("one"))
        display.finish(found("two", complete=False))
        display.finish(found("three", complete=False, failure=Failure("broken", "", None)))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "one: 500 states, 40 waiting, depth 9, 500 states/s, 1200 transitions/s",
        "one: 500 states, 40 waiting, depth 9, 45 states/s, 109 transitions/s",
        "one: 1000 states, 0 waiting, depth 15, 500 states/s, 1500 transitions/s, complete (1 of 3)",
        "two: 1000 states, 0 waiting, depth 15, 500 states/s, 1500 transitions/s, incomplete (2 of 3)",
        "three: 1000 states, 0 waiting, depth 15, 500 states/s, 1500 transitions/s, broken (3 of 3)",
    ]


def test_on_a_terminal_there_is_a_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    with open_search_display(worlds=2) as display:
        display.finish(found("one"))
        display.show("two", HALF_WAY, 2.0)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "transitions/s" in captured.err
    assert "two" in captured.err
    assert "1 of 2 done" in captured.err
    assert "1,500" in captured.err  # states of both
