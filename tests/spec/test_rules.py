"""Every rule of the specification is carried by a test that would fail were it broken."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from tests.sources import TESTS, python_files, shown
from tests.spec.rule_ids import ALSO_CITED, LEFT_FOR_LATER, NOT_YET, RULES
from tests.spec.rule_marks import SKIPPED_IN_MOST_PLACES, Mark, Misplaced, marks_below, marks_in

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
    assert sorted(carried.keys() - RULES.keys() - ALSO_CITED) == []


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
    assert RULES.keys().isdisjoint(ALSO_CITED)


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
