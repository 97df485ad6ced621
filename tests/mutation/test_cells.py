"""The tool that changes the tables: what it changes, who is asked, and that what it takes for equivalent is so.

All of its mutants take too long for every day. So a few of them are tried, in the way in which all are.
"""

from __future__ import annotations

import ast
import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import final

import pytest

from mcpstreams_sansio.client.table import CallSignal, CallState
from mcpstreams_sansio.server.table import StreamSignal, StreamState
from mcpstreams_sansio.tables import Forbidden, Transition, follow
from mcpstreams_sansio.testing import QUICK
from tests.mutation.cells import judged
from tests.mutation.equivalents import EQUIVALENTS, UNREACHABLE, Unreachable
from tests.mutation.mutants import SUBJECTS, Mutant, Subject, mutants, place
from tests.mutation.trials import tried
from tests.mutation.witnesses import Account, Kind, Witness, World, heard, in_order
from tests.sources import CORE, ROOT, parse, python_files

ALL = {str(mutant): mutant for subject in SUBJECTS.values() for mutant in mutants(subject)}
SIGNALS = {"stream": "StreamSignal", "call": "CallSignal", "link": "LinkSignal"}


@final
class Asked(Witness):
    """Does what a test wants of it."""

    def __init__(self, content: Callable[[], bool], kind: Kind = Kind.TEST) -> None:
        self.name = "asked"
        self.kind = kind
        self._content = content

    def content(self) -> bool:
        return self._content()


def looks_up(cell: tuple[StreamState, StreamSignal], target: StreamState) -> Witness:
    """Return who expects a state to follow."""
    module = SUBJECTS["stream"].module
    return Asked(lambda: follow(module.STREAM_TABLE, *cell) is target)


# ---------------------------------------------------------------------------------------------------------- the mutants


def test_each_cell_gets_every_other_answer() -> None:
    assert len(ALL) == sum(1 for subject in SUBJECTS.values() for _ in mutants(subject)), "each has its own name"
    answered: dict[str, set[str]] = {}
    for name, mutant in ALL.items():
        answered.setdefault(mutant.place, set()).add(name.rpartition(" -> ")[2])
    for subject in SUBJECTS.values():
        for cell, right in subject.table.items():
            state, answers = cell[0], answered[place(subject, cell)]
            if isinstance(right, Forbidden):
                assert answers == {state.name}
            else:
                assert answers == {each.name for each in type(state)} - {right.target.name} | {"never"}


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)
def test_a_mutant_stands_in_for_the_table_as_long_as_it_is_wanted(subject: Subject) -> None:
    right = getattr(subject.module, subject.attribute)
    for mutant in mutants(subject):
        with mutant.planted():
            planted = getattr(subject.module, subject.attribute)
            assert {cell for cell in right if planted[cell] != right[cell]} == {mutant.cell}
    assert getattr(subject.module, subject.attribute) is right is subject.table


# ---------------------------------------------------------------------------------------------------- who can notice it


LIVE_RESPONSE = (StreamState.LIVE, StreamSignal.RESPONSE)


def test_who_looks_a_cell_up_is_known() -> None:
    account = heard(looks_up(LIVE_RESPONSE, StreamState.DRAINING), [SUBJECTS["stream"], SUBJECTS["call"]])
    assert account.places == {"stream LIVE/RESPONSE"}
    assert 0.0 < account.seconds < 1.0


def test_who_is_never_content_is_no_witness() -> None:
    with pytest.raises(AssertionError, match="asked fails without any mutant"):
        heard(Asked(lambda: False), [SUBJECTS["stream"]])


def test_a_cell_of_one_table_is_none_of_another() -> None:
    assert (int(CallState.STRANDED), int(CallSignal.SEND)) == (int(StreamState.LIVE), int(StreamSignal.MESSAGE))
    assert not {mutant.place for mutant in mutants(SUBJECTS["call"])} & {
        mutant.place for mutant in mutants(SUBJECTS["stream"])
    }


def test_tests_are_asked_before_worlds_and_what_is_fast_before_what_is_slow() -> None:
    world, slow, fast, other = (Asked(lambda: True, kind) for kind in (Kind.WORLD, Kind.TEST, Kind.TEST, Kind.TEST))
    mutant = ALL["stream LIVE/RESPONSE -> GONE"]
    places = frozenset({mutant.place})
    accounts = [
        Account(world, places, 0.1),
        Account(slow, places, 2.0),
        Account(other, frozenset({"call SENT/LOSS"}), 0.1),
        Account(fast, places, 1.0),
    ]
    assert in_order(accounts, mutant) == [fast, slow, world]
    assert in_order(accounts, mutant, first=world) == [world, fast, slow]
    assert in_order(accounts, mutant, first=other) == [fast, slow, world]


# ------------------------------------------------------------------------------------------------------------- a trial


def test_the_first_who_is_not_content_has_noticed_it() -> None:
    content, expects = Asked(lambda: True), looks_up(LIVE_RESPONSE, StreamState.DRAINING)
    mutant = ALL["stream LIVE/RESPONSE -> GONE"]
    assert expects.content()
    assert tried(mutant, [content, expects, content]).witness is expects
    assert tried(mutant, [content, content]).witness is None
    assert tried(mutant, []).witness is None
    assert expects.content(), "only the copy of the process has met the mutant"


def test_who_has_raised_has_noticed_it() -> None:
    expects = looks_up(LIVE_RESPONSE, StreamState.DRAINING)
    assert tried(ALL["stream LIVE/RESPONSE -> never"], [expects]).witness is expects


def test_who_has_ended_the_process_has_noticed_it() -> None:
    def end_the_process() -> bool:
        os.kill(os.getpid(), signal.SIGKILL)
        return True

    ends = Asked(end_the_process)
    assert tried(ALL["stream LIVE/RESPONSE -> GONE"], [Asked(lambda: True), ends]).witness is ends


def test_who_never_comes_to_an_end_has_noticed_it() -> None:
    def sleep() -> bool:
        time.sleep(1_000)
        return True

    hangs = Asked(sleep)
    verdict = tried(ALL["stream LIVE/RESPONSE -> GONE"], [Asked(lambda: True), hangs], seconds=0.2)
    assert verdict.witness is hangs
    assert 0.2 <= verdict.seconds < 60.0


def test_a_mutant_that_can_not_be_planted_is_no_success() -> None:
    class Unplantable:
        """There is no such mutant."""

        def __str__(self) -> str:
            return "this one"

    with pytest.raises(RuntimeError, match="this one could not be tried"):
        tried(Unplantable(), [])  # type: ignore[arg-type]  # that is the point


@pytest.mark.parametrize(
    ("world", "name"),
    [
        ("stock", "stream LIVE/RESPONSE -> LIVE"),
        ("stock", "stream DRAINING/FINAL_FINISH -> never"),
        ("stock", "call SENT/RESPONSE -> FOLLOWING"),
        ("stock", "call SENT/GIVE_UP -> never"),
    ],
)
def test_a_world_meets_a_mutant_and_notices_it(world: str, name: str) -> None:
    [witness] = [World(each) for each in QUICK if each.name == world]
    mutant = ALL[name]
    account = heard(witness, [mutant.subject])
    assert mutant.place in account.places
    assert tried(mutant, [witness]).witness is witness


def test_a_few_mutants_are_tried_as_all_of_them_are() -> None:
    arguments = ["link", "--cell", "DOWN/OPEN", "--cell", "DOWN/UP", "--tests", "tests/sansio/client/test_link.py"]
    ran = subprocess.run(
        [sys.executable, "-m", "tests.mutation.cells", *arguments, "--worlds", "stock"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[-4:] == [
        "7 mutants: nobody 1, test 6",
        "1 equivalent",
        "0 unnoticed",
        "0 taken for equivalent, and noticed",
    ]
    assert "link DOWN/UP -> DOWN: nobody" in ran.stdout


# --------------------------------------------------------------------------------------------------------- equivalents


def test_a_mutant_that_nobody_notices_is_a_hole_unless_it_is_equivalent(capsys: pytest.CaptureFixture[str]) -> None:
    excused, other = "link DOWN/UP -> DOWN", "link DOWN/OPEN -> UP"
    assert judged({excused: "nobody", other: "test this"}) == 0
    assert judged({excused: "nobody", other: "nobody"}) == 1
    assert judged({excused: "world that", other: "test this"}) == 1
    assert "2 mutants: test 1, world 1\n0 equivalent\n0 unnoticed\n1 taken for" in capsys.readouterr().out


def test_what_is_taken_for_equivalent_is_what_opens_a_cell_that_is_ruled_out() -> None:
    assert sum(len(each.mutants()) for each in UNREACHABLE) == len(EQUIVALENTS), "no mutant has two reasons"
    opened = {name for name, mutant in ALL.items() if is_opened(mutant)}
    assert EQUIVALENTS.keys() == opened - {"call STRANDED/RESPONSE -> STRANDED"}


def test_the_documentation_counts_them() -> None:
    page = " ".join((ROOT / "docs" / "explanation" / "model-check.rst").read_text("utf-8").split())
    assert f"Of these {len(ALL):,} mutants {len(ALL) - len(EQUIVALENTS):,} are noticed" in page
    assert f"The other {len(EQUIVALENTS)} nobody can notice" in page


def is_opened(mutant: Mutant) -> bool:
    return isinstance(mutant.subject.table[mutant.cell], Forbidden) and isinstance(mutant.answer, Transition)


@functools.cache
def givers(table: str) -> dict[str, set[str]]:
    """Return who names each signal of a table, as `module.function`: to give it, since `step` is not among them."""
    found: dict[str, set[str]] = {}
    for path in python_files(CORE / ("server" if table == "stream" else "client")):
        for function in ast.walk(parse(path)):
            if isinstance(function, ast.FunctionDef) and function.name != "step":
                for signal in named(function, SIGNALS[table]):
                    found.setdefault(signal, set()).add(f"{path.stem}.{function.name}")
    return found


def named(function: ast.FunctionDef, enumeration: str) -> Iterator[str]:
    for node in ast.walk(function):
        match node:
            case ast.Attribute(ast.Name(owner), member) if owner == enumeration:
                yield member


@pytest.mark.parametrize("reason", UNREACHABLE, ids=lambda reason: f"{reason.table}-{reason.signals.replace(' ', '-')}")
def test_a_reason_names_everybody_who_gives_the_signal(reason: Unreachable) -> None:
    found = set[str]().union(*(givers(reason.table)[each] for each in reason.signals.split()))
    assert found == set(reason.given_by.split())
