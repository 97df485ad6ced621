"""The figures of a run, and when they are all right."""

from __future__ import annotations

import json

import attrs
import pytest

from trio_bindings.cli.summary import Summary

GOOD = Summary(
    transport="tcp",
    seed=1,
    streams=4,
    produced=80,
    received=80,
    duplicates=3,
    out_of_order=0,
    lost=0,
    executions=4,
    answers=4,
    matching=4,
    cuts=30,
    resumes=20,
    resends=2,
    polls=0,
    seconds=1.5,
    failures=(),
    finished=True,
)


def test_a_run_without_fault_is_ok() -> None:
    assert GOOD.ok
    assert GOOD.as_text().endswith("\nok")


@pytest.mark.parametrize(
    "faulty",
    [
        attrs.evolve(GOOD, received=79),
        attrs.evolve(GOOD, received=81),
        attrs.evolve(GOOD, lost=1),
        attrs.evolve(GOOD, out_of_order=1),
        attrs.evolve(GOOD, executions=5),
        attrs.evolve(GOOD, executions=3),
        attrs.evolve(GOOD, answers=3),
        attrs.evolve(GOOD, matching=3),
        attrs.evolve(GOOD, failures=("stream 1: lost",)),
        attrs.evolve(GOOD, finished=False),
    ],
)
def test_any_fault_is_not_ok(faulty: Summary) -> None:
    assert not faulty.ok
    assert "NOT OK" in faulty.as_text()


def test_what_failed_is_named() -> None:
    summary = attrs.evolve(GOOD, failures=("stream 1: CallLostError: expired",))
    assert "failed:   stream 1: CallLostError: expired" in summary.as_text()


NEEDED = {"produced", "received", "duplicates", "out_of_order", "lost"}
NEEDED |= {"executions", "cuts", "resumes", "polls", "seconds", "ok"}


def test_the_json_has_every_figure_that_a_script_needs() -> None:
    figures = json.loads(GOOD.as_json())
    assert set(figures) >= NEEDED
    assert figures["ok"] is True
    assert "\n" not in GOOD.as_json()
