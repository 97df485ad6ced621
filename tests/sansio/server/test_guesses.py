"""Wrong tokens: who has presented too many for a stream waits, nobody else does, and little is kept of it (Q11e)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.ids import StreamId
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.guesses import WrongTokens
from mcpstreams_sansio.server.inputs import Scope

HERE, THERE = Scope("here"), Scope("there")
S1, S2, S3 = map(StreamId, ("s1", "s2", "s3"))
CONFIG = StreamsConfig(max_wrong_tokens=2, max_suspects=2, guess_memory=60)


def guessed(*streams: StreamId, now: float = 0.0) -> WrongTokens:
    guesses = WrongTokens(CONFIG)
    for stream in streams:
        guesses.note(HERE, stream, now)
    return guesses


def waits(guesses: WrongTokens, now: float = 0.0) -> list[float | None]:
    return [guesses.wait(HERE, stream, now) for stream in (S1, S2, S3)]


@pytest.mark.rule("Q11e")
def test_who_has_guessed_too_often_waits_until_the_first_guess_is_forgotten() -> None:
    guesses = guessed(S1, now=10)
    assert guesses.wait(HERE, S1, 10) is None
    guesses.note(HERE, S1, 20)
    assert [guesses.wait(HERE, S1, now) for now in (20, 69, 70)] == [50, 1, None]
    assert guesses.wait(THERE, S1, 20) is None


@pytest.mark.rule("Q11e")
def test_then_it_may_guess_as_often_again() -> None:
    guesses = guessed(S1, S1)
    guesses.note(HERE, S1, 60)
    assert guesses.wait(HERE, S1, 60) is None
    guesses.note(HERE, S1, 61)
    assert guesses.wait(HERE, S1, 61) == 59


@pytest.mark.rule("Q11e", "R25")
def test_so_many_are_remembered_and_the_longest_remembered_is_forgotten_first() -> None:
    guesses = guessed(S1, S1, S2, S2)
    assert waits(guesses) == [60, 60, None]
    guesses.note(HERE, S3, 0)
    guesses.note(HERE, S3, 0)
    assert waits(guesses) == [None, 60, 60]


@pytest.mark.rule("Q11e")
def test_who_guesses_again_after_a_while_is_remembered_from_then_on() -> None:
    guesses = guessed(S1)
    guesses.note(HERE, S2, 30)
    guesses.note(HERE, S2, 30)
    for stream in (S1, S1, S3, S3):
        guesses.note(HERE, stream, 60)
    assert waits(guesses, 60) == [60, None, 60]


def test_a_fork_remembers_for_itself() -> None:
    guesses = guessed(S1)
    fork = guesses.fork()
    assert fork.snapshot(0) == guesses.snapshot(0)
    guesses.note(HERE, S1, 0)
    assert (waits(guesses), waits(fork)) == ([60, None, None], [None] * 3)
