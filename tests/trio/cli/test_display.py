"""Progress of the demo goes to stderr: bars where somebody watches, plain lines elsewhere."""

from __future__ import annotations

import pytest

from trio_bindings.cli.display import open_display


def test_elsewhere_each_quarter_of_a_stream_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with open_display(streams=2, messages=8, cuts=3) as display:
        for number in range(1, 9):
            display.show(1, number)
        display.show_cuts(2)
    captured = capsys.readouterr()
    assert captured.out == ""
    quarters = [f"stream 2: {number} of 8 messages" for number in (2, 4, 6, 8)]
    assert captured.err.splitlines() == [*quarters, "connections cut: 2"]


def test_on_a_terminal_there_are_bars(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    with open_display(streams=2, messages=8, cuts=3) as display:
        display.show(0, 8)
        display.show(1, 3)
        display.show_cuts(2)
    captured = capsys.readouterr()
    assert captured.out == ""
    for shown in ("stream 1", "8/8", "stream 2", "3/8", "connections cut", "2/3"):
        assert shown in captured.err
