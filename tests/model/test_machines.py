"""Machines as worlds hold them: a step is taken once, whoever takes it, and what is forgotten is only taken again."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.testing import Violation, machines
from mcpstreams_sansio.testing.machines import Shared, check_due
from mcpstreams_sansio.testing.names import HORIZON, connection_name, text_of
from mcpstreams_sansio.wire.jsonrpc import Notification


@attrs.frozen
class Add:
    """Can be hashed."""

    number: int


@attrs.frozen
class Tell:
    """Cannot be hashed: there is JSON in it."""

    message: Notification


@attrs.define
class Adder:
    """Says what it has heard so far, and counts how often it really was told something."""

    heard: list[tuple[object, float]]
    told: list[object]
    """Shared by all copies."""

    open_calls: int = 0

    def handle(self, event: Add | Tell, now: float) -> list[object]:
        self.told.append(event)
        self.heard.append((event, now))
        return list(self.heard)

    def next_deadline(self) -> float | None:
        return float(len(self.heard))

    def fork(self) -> Adder:
        return Adder(self.heard.copy(), self.told)

    def snapshot(self, now: float) -> tuple[object, ...]:
        return tuple((event, when - now) for event, when in self.heard)


def start() -> tuple[Shared[Add | Tell, object], list[object]]:
    told: list[object] = []
    return Shared(Adder([], told)), told


@pytest.mark.parametrize("event", [Add(1), Tell(Notification("x", {"y": [1]}))])
def test_a_step_is_taken_once(event: Add | Tell) -> None:
    moment, told = start()
    after, effects = moment.handle(event, 1.0)
    assert moment.handle(attrs.evolve(event), 1.0) == (after, effects)
    assert effects == ((event, 1.0),)
    assert told == [event]


@pytest.mark.parametrize(
    ("event", "now"),
    [
        (Add(2), 1.0),
        (Add(1), 2.0),
        (Tell(Notification("x", {"y": [2]})), 1.0),
        (Tell(Notification("x", {"y": ["1"]})), 1.0),
    ],
)
def test_another_input_or_another_time_is_another_step(event: Add | Tell, now: float) -> None:
    moment, told = start()
    for known in (Add(1), Tell(Notification("x", {"y": [1]}))):
        moment.handle(known, 1.0)
    _, effects = moment.handle(event, now)
    assert effects == ((event, now),)
    assert len(told) == 3


def test_a_moment_is_never_changed() -> None:
    moment, _ = start()
    after, _ = moment.handle(Add(1), 1.0)
    _, effects = after.handle(Add(2), 2.0)
    assert effects == ((Add(1), 1.0), (Add(2), 2.0))
    assert (moment.next_deadline(), after.next_deadline()) == (0.0, 1.0)
    assert moment.text(5.0) == text_of(())
    assert after.text(5.0) == text_of(((Add(1), -4.0),))
    assert after.text(6.0) == text_of(((Add(1), -5.0),))


@pytest.mark.parametrize(
    ("open_calls", "now", "rests"), [(0, 2.0 - HORIZON, False), (0, 1.0 - HORIZON, True), (1, 1.0 - HORIZON, False)]
)
def test_a_machine_rests_without_calls_and_without_a_moment_that_comes(
    open_calls: int, now: float, rests: bool
) -> None:
    moment = Shared(Adder([(Add(1), 0.0)], [], open_calls))
    assert moment.next_deadline() == 1.0
    assert moment.rests(now) == rests


def test_names_in_an_input_count() -> None:
    moment, told = start()
    for number in (1, 2):
        moment.handle(Tell(Notification("x", {"to": connection_name(number)})), 1.0)
    assert len(told) == 2


def test_what_is_forgotten_is_taken_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "_REMEMBERED", 2)
    moment, told = start()
    for number in (1, 2, 3, 4, 1):
        moment.handle(Add(number), 0.0)
    assert [event.number for event in told if isinstance(event, Add)] == [1, 2, 3, 4], "there is room for 2, twice"
    moment.handle(Add(5), 0.0)
    assert moment.handle(Add(1), 0.0)[1] == ((Add(1), 0.0),)
    assert len(told) == 6


def test_what_is_due_is_done_with_whatever_is_heard() -> None:
    moment, _ = start()
    later, _ = moment.handle(Add(1), 0.0)
    assert later.next_deadline() == 1.0
    check_due(later, 1.0)  # it may have a reason to be woken at once
    with pytest.raises(Violation, match=r"\Awhat is due is done: a machine still waits for a moment 0\.25 s ago\Z"):
        check_due(later, 1.25)
