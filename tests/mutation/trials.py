"""Trying a mutant in a copy of this process, which is not good for anything else afterwards."""

from __future__ import annotations

import os
import resource
import select
import signal
import time
from collections.abc import Iterable
from typing import Final, final

import attrs

from tests.mutation.mutants import Mutant
from tests.mutation.witnesses import Witness

SECONDS: Final = 60.0
"""How long a witness is waited for: a mutant may make something run for ever."""
BYTES: Final = 4_000_000_000
"""What a process may use: a mutant may make something grow for ever."""
_GO_ON: Final = b"."
"""What the copy writes when it is ready, and whenever a witness has noticed nothing."""


@final
@attrs.frozen
class Verdict:
    """Who noticed a mutant first; None if nobody did."""

    witness: Witness | None
    seconds: float


def tried(mutant: Mutant, witnesses: Iterable[Witness], seconds: float = SECONDS) -> Verdict:
    """Ask one witness after another, until one notices it, or ends its process, or never comes to an end.

    Args:
        mutant: What is tried.
        witnesses: Who is asked.
        seconds: How long each of them is waited for.

    Raises:
        RuntimeError: There is no copy of this process: nobody was asked.
    """
    waiting = list(witnesses)
    begin = time.perf_counter()
    reading, writing = os.pipe()
    copy = os.fork()
    if copy == 0:
        try:
            _ask(mutant, waiting, writing)
        finally:
            os._exit(0)
    os.close(writing)
    count = _count(reading, seconds)
    os.close(reading)
    os.kill(copy, signal.SIGKILL)
    os.waitpid(copy, 0)
    if count == 0:
        raise RuntimeError(f"{mutant} could not be tried")
    return Verdict(waiting[count - 1] if count <= len(waiting) else None, time.perf_counter() - begin)


def _ask(mutant: Mutant, witnesses: Iterable[Witness], writing: int) -> None:
    """Write for each witness that it noticed nothing, until one does."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    with mutant.planted():
        os.write(writing, _GO_ON)
        for witness in witnesses:
            if not witness.content():
                break
            os.write(writing, _GO_ON)


def _count(reading: int, seconds: float) -> int:
    """Return how often the copy went on, before a witness noticed something or the copy fell silent."""
    count = 0
    while select.select([reading], [], [], seconds)[0] and (said := os.read(reading, 1)):
        count += len(said)
    return count
