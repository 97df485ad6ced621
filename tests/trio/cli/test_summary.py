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
    undelivered=0,
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
        attrs.evolve(GOOD, received=79, undelivered=1, finished=False),
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


def test_what_is_on_its_way_when_a_run_is_stopped_is_not_lost() -> None:
    stopped = attrs.evolve(GOOD, received=59, undelivered=21, finished=False)
    assert "80 produced, 59 received, 0 lost, 21 not delivered yet, 0 out of order" in stopped.as_text()
    assert "not delivered" not in GOOD.as_text()


def test_one_is_one_and_not_several() -> None:
    ones = attrs.evolve(
        GOOD, streams=1, executions=1, answers=1, matching=1, cuts=1, resumes=1, resends=1, polls=1, duplicates=1
    )
    assert "1 tool call over tcp, 1 connection cut" in ones.as_text()
    assert "(1 duplicate dropped)" in ones.as_text()
    assert "1 execution, 1 answer, 1 digest equal" in ones.as_text()
    assert "1 resume, 1 call sent again, 1 poll\n" in ones.as_text()
    assert "4 tool calls over tcp, 30 connections cut" in GOOD.as_text()


def test_why_cuts_and_resumes_are_not_as_many_is_said_where_there_were_cuts() -> None:
    assert "may have carried several calls, or none" in GOOD.as_text()
    assert "may have carried" not in attrs.evolve(GOOD, cuts=0).as_text()


NEEDED = {"produced", "received", "duplicates", "out_of_order", "lost", "undelivered"}
NEEDED |= {"executions", "cuts", "resumes", "polls", "seconds", "ok"}


def test_the_json_has_every_figure_that_a_script_needs() -> None:
    figures = json.loads(GOOD.as_json())
    assert set(figures) >= NEEDED
    assert figures["ok"] is True
    assert "\n" not in GOOD.as_json()
