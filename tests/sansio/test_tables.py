"""A state table has a cell for every pair, and no other cell."""

from __future__ import annotations

import enum

import pytest

from mcpstreams_sansio.tables import Forbidden, Named, Table, Transition, follow, never, to, total_table


class Door(enum.IntEnum):
    OPEN = 0
    SHUT = 1


class Push(enum.IntEnum):
    SOFT = 0
    HARD = 1


class Window(enum.IntEnum):
    OPEN = 0


def cells() -> dict[tuple[Door, Push], Transition[Door] | Forbidden]:
    return {
        (Door.OPEN, Push.SOFT): to(Door.OPEN, "too weak"),
        (Door.OPEN, Push.HARD): to(Door.SHUT, "it falls shut"),
        (Door.SHUT, Push.SOFT): to(Door.SHUT, "too weak"),
        (Door.SHUT, Push.HARD): never("nobody is that strong"),
    }


def table() -> Table[Door, Push]:
    return total_table(Door, Push, cells())


def test_a_signal_leads_to_its_target() -> None:
    assert follow(table(), Door.OPEN, Push.HARD) is Door.SHUT
    assert follow(table(), Door.OPEN, Push.SOFT) is Door.OPEN


def test_a_forbidden_signal_names_its_cell_and_the_reason() -> None:
    with pytest.raises(AssertionError, match=r"\AHARD in SHUT: nobody is that strong\Z"):
        follow(table(), Door.SHUT, Push.HARD)


def test_what_has_a_name_is_shown_by_it() -> None:
    class Gate(Named):
        HALF_OPEN = 7

    assert f"{Gate.HALF_OPEN} {Gate.HALF_OPEN:>10}|{Gate.HALF_OPEN!s}" == "half open  half open|half open"
    assert int(Gate.HALF_OPEN) == 7


def test_a_missing_cell_is_refused() -> None:
    incomplete = cells()
    del incomplete[Door.SHUT, Push.HARD]
    with pytest.raises(TypeError, match=r"\Ano cell for SHUT/HARD\Z"):
        total_table(Door, Push, incomplete)


def test_an_equal_member_of_another_enum_is_refused() -> None:
    assert int(Window.OPEN) == int(Door.OPEN)
    keyed = cells()
    keyed[Window.OPEN, Push.SOFT] = keyed.pop((Door.OPEN, Push.SOFT))  # type: ignore[index]  # the mistake itself
    with pytest.raises(TypeError, match=r"\Athe cell <Window\.OPEN: 0>/<Push\.SOFT: 0> belongs to another table\Z"):
        total_table(Door, Push, keyed)


def test_a_target_of_another_enum_is_refused() -> None:
    astray = cells()
    astray[Door.SHUT, Push.HARD] = to(Window.OPEN, "to the window")  # type: ignore[arg-type]  # the mistake itself
    with pytest.raises(TypeError, match=r"\Athe cell <Door\.SHUT: 1>/<Push\.HARD: 1> belongs to another table\Z"):
        total_table(Door, Push, astray)


def test_a_table_can_not_be_changed() -> None:
    with pytest.raises(TypeError, match=r"\A'mappingproxy' object does not support item assignment\Z"):
        table()[Door.OPEN, Push.SOFT] = never("changed")  # type: ignore[index]  # the mistake itself


def test_later_changes_of_the_cells_do_not_reach_the_table() -> None:
    source = cells()
    made = total_table(Door, Push, source)
    source.clear()
    assert len(made) == 4
