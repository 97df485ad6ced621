"""What a run of the demo came to."""

from __future__ import annotations

import json
from typing import final

import attrs


@final
@attrs.frozen(kw_only=True)
class Summary:
    """The figures of one run; `ok` only if every message came exactly once, in order, and every tool ran once."""

    transport: str
    seed: int
    streams: int
    produced: int
    """Messages that the tools sent."""
    received: int
    """Messages that were handed to the application."""
    duplicates: int
    """Messages that came again and were dropped below the application."""
    out_of_order: int
    """Messages that came before or after their turn."""
    lost: int
    """Messages that will not come."""
    undelivered: int
    """Messages that were still on their way when the run was stopped."""
    executions: int
    """How often the tools ran."""
    answers: int
    """Questions in the middle that were answered with what the client said."""
    matching: int
    """Streams whose result is the digest that the client made of what it received."""
    cuts: int
    """Connections that the proxy cut."""
    resumes: int
    resends: int
    polls: int
    seconds: float
    failures: tuple[str, ...]
    """Why calls had no result, one line for each."""
    finished: bool
    """Every call came to an end: neither time nor somebody stopped the run before."""

    @property
    def ok(self) -> bool:
        """Whether nothing was lost, repeated or misplaced."""
        exactly_once = self.received == self.produced and not self.lost and not self.out_of_order
        all_done = {self.executions, self.answers, self.matching} == {self.streams}
        return self.finished and not self.failures and exactly_once and all_done

    def as_json(self) -> str:
        """Return the figures as one JSON object on one line."""
        return json.dumps({**attrs.asdict(self), "ok": self.ok})

    def as_text(self) -> str:
        """Return the figures for a reader."""
        lines = [
            f"{_count(self.streams, 'tool call')} over {self.transport}, "
            f"{_count(self.cuts, 'connection')} cut, {self.seconds:.1f} s",
            f"  messages: {self.produced} produced, {self.received} received, {self.lost} lost, "
            + (f"{self.undelivered} not delivered yet, " if self.undelivered else "")
            + f"{self.out_of_order} out of order ({_count(self.duplicates, 'duplicate')} dropped)",
            f"  tools:    {_count(self.executions, 'execution')}, {_count(self.answers, 'answer')}, "
            f"{_count(self.matching, 'digest')} equal",
            f"  recovery: {_count(self.resumes, 'resume')}, {_count(self.resends, 'call')} sent again, "
            f"{_count(self.polls, 'poll')}",
            *(["            (a connection that is cut may have carried several calls, or none)"] if self.cuts else []),
            *(f"  failed:   {failure}" for failure in self.failures),
            "ok" if self.ok else "NOT OK" if self.finished else "NOT OK: it was stopped before every call had ended",
        ]
        return "\n".join(lines)


def _count(number: int, thing: str) -> str:
    """Return so many things, in words."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
