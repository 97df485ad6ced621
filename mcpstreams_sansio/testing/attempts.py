"""How often a client tries: no more than it takes, as long as nothing goes wrong (cases G1, G2)."""

from __future__ import annotations

from collections import Counter
from typing import Final

import attrs

from mcpstreams_sansio.client.effects import AttemptMade, Recovery
from mcpstreams_sansio.testing.actions import Bounds
from mcpstreams_sansio.testing.properties import Violation
from mcpstreams_sansio.testing.state import Role, State

_IN_PEACE: Final = 2
"""One attempt, and another one where the first met a session that was over, which no client can know before."""
_WITH_A_RIVAL: Final = 3
"""One more when another client has taken the call away (rule R14), one when it was told that what the other one has
acknowledged is gone, and one when the end shows that there was more of that."""


def most_attempts(bounds: Bounds) -> int:
    """Return how often a client needs to try between two things that go wrong.

    A few times more for each other client that has the call; once more whenever its caller, who had no room for more,
    has some again (rule R23); and whenever a server has dropped a connection that took nothing.
    """
    room = bounds.slow_takes if bounds.max_unread else 0
    drops = bounds.slow_writes if bounds.stalls else 0
    return _IN_PEACE + _WITH_A_RIVAL * bounds.rivals + room + drops


def count_attempts(state: State, before: Bounds) -> None:
    """Count what the last action has led to. Polls do not count: they ask for nothing, and a client knows how many.

    Where room runs out nothing is counted: a server may refuse for as long as others need it, and for each message that
    had to go its client comes once more.

    Args:
        state: The world after it.
        before: What could still happen before it: if that is less now, something has gone wrong.

    Raises:
        Violation: A client tries again and again, though nothing keeps it from what it wants.
    """
    if state.bounds.room:
        return
    made = Counter(
        happening.call_id
        for role, happening in state.happened
        if role is Role.CLIENT_WANTS and isinstance(happening, AttemptMade) and happening.recovery is not Recovery.POLL
    )
    calm, most = state.left == before, most_attempts(state.bounds)
    if calm and not made:
        return
    for call_id, caller in state.callers.items():
        attempts = made[call_id] + (caller.attempts if calm else 0)
        if attempts != caller.attempts:
            state.callers[call_id] = attrs.evolve(caller, attempts=attempts)
        if attempts > most:
            raise Violation("no attempt in vain", f"call {caller.number} is tried {attempts} times")
