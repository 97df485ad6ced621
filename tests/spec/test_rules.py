"""Every rule of the specification is carried by a test that would fail were it broken."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.sources import BINDINGS, CORE, ROOT, TESTS, python_files, shown
from tests.spec.case_ids import CASES, GROUPS
from tests.spec.citations import Citation, Kind, citations, prose_of
from tests.spec.rule_ids import LEFT_FOR_LATER, NOT_YET, RULES
from tests.spec.rule_marks import SKIPPED_IN_MOST_PLACES, Mark, Misplaced, marks_below, marks_in
from tests.spec.surrounding_ids import SURROUNDINGS

MAX_IDS = 3
"""One test cannot well say of more rules that it would fail were they broken."""


@pytest.fixture(scope="module")
def marks() -> list[Mark]:
    return [mark for mark in marks_below(TESTS) if isinstance(mark, Mark)]


@pytest.fixture(scope="module")
def carried(marks: list[Mark]) -> Counter[str]:
    return Counter(rule for mark in marks for rule in mark.ids)


def test_every_rule_is_carried_by_a_test(carried: Counter[str]) -> None:
    missing = RULES.keys() - carried.keys() - LEFT_FOR_LATER.keys() - NOT_YET
    assert sorted(missing) == []


def test_what_is_carried_by_now_is_no_longer_listed_as_missing(carried: Counter[str]) -> None:
    print("carried by now, so take them out of NOT_YET:", *sorted(NOT_YET & carried.keys()))
    assert sorted(NOT_YET & carried.keys()) == []


def test_what_is_carried_is_not_left_for_later(carried: Counter[str]) -> None:
    assert sorted(LEFT_FOR_LATER.keys() & carried.keys()) == []


def test_the_lists_of_what_is_missing_name_rules_and_share_none() -> None:
    assert sorted((LEFT_FOR_LATER.keys() | NOT_YET) - RULES.keys()) == []
    assert sorted(LEFT_FOR_LATER.keys() & NOT_YET) == []
    assert [rule for rule, where in LEFT_FOR_LATER.items() if not where.strip()] == []


def test_every_mark_names_rules_that_there_are(carried: Counter[str]) -> None:
    assert sorted(carried.keys() - RULES.keys() - SURROUNDINGS.keys()) == []


def test_no_mark_names_more_rules_than_a_test_can_check(marks: list[Mark]) -> None:
    assert [mark for mark in marks if len(mark.ids) > MAX_IDS or len(set(mark.ids)) < len(mark.ids)] == []


def test_every_mark_stands_on_a_test_and_spells_out_its_rules() -> None:
    assert [mark for mark in marks_below(TESTS) if isinstance(mark, Misplaced)] == []


def test_a_test_that_carries_a_rule_is_in_a_file_that_pytest_collects(marks: list[Mark]) -> None:
    files = {shown(path) for path in python_files(TESTS) if path.name.startswith("test_")}
    assert [mark for mark in marks if mark.where.partition(":")[0] not in files] == []


def test_pytest_sees_no_rule_that_reading_the_tests_does_not_find(
    request: pytest.FixtureRequest, carried: Counter[str]
) -> None:
    collected = {
        rule
        for item in request.session.items
        if SKIPPED_IN_MOST_PLACES not in item.path.parents
        for mark in item.iter_markers("rule")
        for rule in mark.args
    }
    assert sorted(collected - carried.keys()) == []


def test_the_rules_are_those_of_the_specification() -> None:
    letters = {"Q3": "abcde", "Q4": "abcdefg", "Q5": "abcdefghi", "Q6": "abcdefg", "Q7": "abcdefgh", "Q8": "abcdef"}
    letters |= {"Q9": "abcde", "Q11": "abcdefgh"}
    counted = [f"{part}{number}" for part, last in (("W", 10), ("P", 40), ("R", 27)) for number in range(1, last + 1)]
    lettered = [f"{question}{letter}" for question, tail in letters.items() for letter in tail]
    assert RULES.keys() == {*counted, *lettered, "Q10"}
    assert RULES.keys().isdisjoint(SURROUNDINGS)


READ_BY_PEOPLE = [
    *(path for folder in (CORE, BINDINGS, TESTS, ROOT / "docs") for path in python_files(folder)),
    *(path for path in sorted((ROOT / "docs").rglob("*.rst")) if not {"_build", "generated"} & set(path.parts)),
    *sorted((TESTS / "transcripts").glob("*.txt")),
    ROOT / "README.rst",
]


def cited_in(path: Path) -> set[Citation]:
    """Return what a file cites. In tests an id alone may be anything."""
    found = {citation for text in prose_of(path) for citation in citations(text)}
    return {citation for citation in found if citation.kind is not Kind.ALONE or TESTS not in path.parents}


MAY_STAND_ALONE = "WPQRD"
"""The letters of the rules proper, and of the project's decisions. Any other means a rule here and a case there."""

LISTED = {
    Kind.RULE: RULES.keys() | SURROUNDINGS.keys(),
    Kind.CASE: CASES.keys(),
    Kind.ALONE: {rule for rule in RULES.keys() | SURROUNDINGS.keys() if rule[0] in MAY_STAND_ALONE},
}


def test_every_rule_and_case_that_is_cited_can_be_looked_up() -> None:
    cited = {shown(path): cited_in(path) for path in READ_BY_PEOPLE}
    assert len(set().union(*cited.values())) > len(RULES)
    unknown = {name: [each for each in found if each.id not in LISTED[each.kind]] for name, found in cited.items()}
    assert {name: ids for name, ids in unknown.items() if ids} == {}


def test_every_case_is_of_a_group_and_every_group_has_one() -> None:
    assert {case[0] for case in CASES} == GROUPS.keys()


@pytest.mark.parametrize("ids", [RULES, SURROUNDINGS, CASES, GROUPS])
def test_what_is_listed_has_a_meaning_of_one_line(ids: dict[str, str]) -> None:
    assert [rule for rule, gist in ids.items() if not gist.strip() or "\n" in gist] == []


def test_citations_are_found_however_they_are_written() -> None:
    text = "(R14, Q6a) rules H4-H6, P2 and D1; rule R21.4. Cases G1,\n G2. case X5 or O1; UTF-8 says H264."
    rules = [(Kind.RULE, rule) for rule in ("H4", "H5", "H6", "P2", "D1", "R21")]
    cases = [(Kind.CASE, case) for case in ("G1", "G2", "X5", "O1")]
    alone = [(Kind.ALONE, rule) for rule in ("R14", "Q6a")]
    assert [(each.kind, each.id) for each in citations(text)] == [*rules, *cases, *alone]


def test_what_people_read_of_python_is_comments_and_literals(tmp_path: Path) -> None:
    path = tmp_path / "example.py"
    path.write_text("x = 1  # one\n\n# two,\n# three\ny = 'four ' 'five'\n", "utf-8")
    assert [text for text in prose_of(path) if text] == [" one", " two, three", "four ", "five"]


CARRIED = """
@pytest.mark.rule("P1", "P2")
def test_function(): ...

@pytest.mark.rule("P3")
@pytest.mark.parametrize("x", [
    pytest.param(1, marks=pytest.mark.rule("P4")),
    pytest.param(2, marks=[pytest.mark.slow, pytest.mark.rule("P5")]),
])
async def test_coroutine(x): ...

@pytest.mark.rule("P6")
class TestClass:
    @pytest.mark.rule("P7")
    def test_method(self): ...

TestMachine = pytest.mark.rule("P8")(Machine.TestCase)

TABLE: list[object] = [pytest.param(1, marks=pytest.mark.rule("P9"))]

@pytest.mark.parametrize("x", TABLE)
def test_table(x): ...
"""


def test_the_marks_of_functions_classes_and_parameters_are_found() -> None:
    found = [mark for mark in marks_in(ast.parse(CARRIED), "a.py") if isinstance(mark, Mark)]
    assert sorted(rule for mark in found for rule in mark.ids) == [f"P{number}" for number in range(1, 10)]
    assert Mark("a.py:2", ("P1", "P2")) in found


@pytest.mark.parametrize(
    "source",
    [
        '@pytest.mark.rule("P1")\ndef check_something(): ...',
        '@pytest.mark.rule("P1")\nclass Machine: ...',
        'def test_outer():\n    @pytest.mark.rule("P1")\n    def test_inner(): ...',
        "@pytest.mark.rule(*IDS)\ndef test_something(): ...",
        "@pytest.mark.rule(P1)\ndef test_something(): ...",
        '@pytest.mark.rule("P1", P2)\ndef test_something(): ...',
        "@pytest.mark.rule()\ndef test_something(): ...",
        "@pytest.mark.rule\ndef test_something(): ...",
        'pytestmark = pytest.mark.rule("P1")',
        'CASES = [pytest.param(1, marks=pytest.mark.rule("P1"))]',
        "rule = pytest.mark.rule",
        '@pytest.mark.rule("P1")\n@pytest.mark.skip\ndef test_something(): ...',
        '@pytest.mark.rule("P1")\n@pytest.mark.xfail(reason="later")\ndef test_something(): ...',
        '@pytest.mark.xfail\nclass TestSomething:\n    @pytest.mark.rule("P1")\n    def test_method(self): ...',
    ],
)
def test_a_mark_that_no_test_carries_in_plain_sight_is_refused(source: str) -> None:
    [found] = marks_in(ast.parse(source), "a.py")
    assert isinstance(found, Misplaced)
