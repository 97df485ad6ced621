"""Change every cell of the state tables, one at a time, and see who notices.

Tools that mutate code leave out what a module says at its top level, so the tables need one of their own. Run it from
the root of the project::

    python -m tests.mutation.cells stream call link
    python -m tests.mutation.cells call --cell SENT/LOSS

First each test of the core is run, and each quick world searched, to see which cells it looks up. Then each mutant is
tried in a copy of the process. What nobody notices has to be in `tests/mutation/equivalents.py`, with the reason; and
nobody may notice what is there.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, final

import attrs
import pytest

from mcpstreams_sansio.testing import QUICK, Configuration
from tests.mutation.equivalents import EQUIVALENTS
from tests.mutation.mutants import SUBJECTS, Mutant, mutants
from tests.mutation.trials import tried
from tests.mutation.witnesses import Test, Witness, World, heard, in_order

NOBODY: Final = "nobody"
TESTS: Final = (
    "tests/sansio",
    "tests/spec",
    "tests/cases",
    "--deselect=tests/sansio/client/test_table.py",
    "--deselect=tests/sansio/server/test_table.py",
)
"""All tests of the core but those of the tables themselves, which read there what is right."""


@final
@attrs.define(eq=False)
class Trials:
    """A plugin of pytest, which tries mutants in place of running the tests that were collected."""

    mutants: Sequence[Mutant]
    worlds: Sequence[Configuration]
    results: Path | None = None
    """Where each result is written at once; what is there already is not tried again."""
    noticed: dict[str, str] = attrs.field(factory=dict)
    """What noticed each mutant: `nobody`, or its kind and name."""

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try all of them.

        Raises:
            pytest.Session.Interrupted: Some of the tests could not be collected.
        """
        if session.testsfailed:
            raise session.Interrupted("errors during collection")
        if self.results is not None and self.results.exists():
            self.noticed |= dict(line.split(": ", 1) for line in self.results.read_text("utf-8").splitlines())
        self._try_all([Test(item) for item in session.items] + [World(each) for each in self.worlds])
        return True

    def _try_all(self, witnesses: Sequence[Witness]) -> None:
        subjects = list({mutant.subject.name: mutant.subject for mutant in self.mutants}.values())
        accounts = [heard(witness, subjects) for witness in witnesses]
        latest: dict[str, Witness] = {}
        for mutant in self.mutants:
            if str(mutant) in self.noticed:
                continue
            verdict = tried(mutant, in_order(accounts, mutant, latest.get(mutant.place)))
            who = verdict.witness
            if who is None:
                self._note(mutant, NOBODY, verdict.seconds)
            else:
                latest[mutant.place] = who
                self._note(mutant, f"{who.kind.value} {who.name}", verdict.seconds)

    def _note(self, mutant: Mutant, who: str, seconds: float) -> None:
        self.noticed[str(mutant)] = who
        print(f"{mutant}: {who} ({seconds:.1f} s)", flush=True)
        if self.results is not None:
            with self.results.open("a", encoding="utf-8") as results:
                results.write(f"{mutant}: {who}\n")


def main() -> int:
    """Try all mutants of some tables; return 0 if each of them is noticed, or excused and not noticed."""
    parser = argparse.ArgumentParser(description="Change every cell of the state tables, and see who notices.")
    parser.add_argument("tables", nargs="+", choices=SUBJECTS, metavar="TABLE", help=", ".join(SUBJECTS))
    parser.add_argument("--cell", action="append", help="only this one, as STATE/SIGNAL; may be said again")
    parser.add_argument("--tests", nargs="+", default=TESTS, help="files of tests, in place of all those of the core")
    parser.add_argument("--worlds", nargs="*", help="names of quick worlds, in place of all of them")
    parser.add_argument("--results", type=Path, help="a file to go on from, and to write results to")
    arguments = parser.parse_args()
    chosen = [
        mutant
        for table in dict.fromkeys(arguments.tables)
        for mutant in mutants(SUBJECTS[table])
        if arguments.cell is None or mutant.place.split()[1] in arguments.cell
    ]
    worlds = [each for each in QUICK if arguments.worlds is None or each.name in arguments.worlds]
    trials = Trials(chosen, worlds, arguments.results)
    os.environ["HYPOTHESIS_PROFILE"] = "mutants"
    if code := pytest.main(["-s", "-p", "no:terminal", "-p", "no:cacheprovider", *arguments.tests], [trials]):
        return code
    return judged({str(mutant): trials.noticed[str(mutant)] for mutant in chosen})


def judged(noticed: Mapping[str, str]) -> int:
    """Say how many were noticed by what, and what is wrong; return 0 if nothing is."""
    kinds = Counter(who.split()[0] for who in noticed.values())
    print(f"{len(noticed)} mutants:", ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items())))
    equivalent = [mutant for mutant, who in noticed.items() if who == NOBODY and mutant in EQUIVALENTS]
    holes = [mutant for mutant, who in noticed.items() if who == NOBODY and mutant not in EQUIVALENTS]
    untrue = [f"{mutant}: {who}" for mutant, who in noticed.items() if who != NOBODY and mutant in EQUIVALENTS]
    print(f"{len(equivalent)} equivalent")
    print(f"{len(holes)} unnoticed", *holes, sep="\n")
    print(f"{len(untrue)} taken for equivalent, and noticed", *untrue, sep="\n")
    return 1 if holes or untrue else 0


if __name__ == "__main__":
    sys.exit(main())
