"""The link between a client and its server: whether there is one, and when to try for one again.

Spec: rules R11, R16, Q7g; groups G and I of the cases.
"""

from __future__ import annotations

import hashlib
import math
from enum import Enum, unique
from typing import Final, Self, final

import attrs

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.policy import back_off, luck
from mcpstreams_sansio.copies import shallow_copy
from mcpstreams_sansio.ids import Entropy
from mcpstreams_sansio.tables import Named, Table, follow, never, to, total_table


@unique
class Demand(Enum):
    """What the application wants of the link itself."""

    WHEN_NEEDED = "when needed"
    """That there is one when a call, a cancellation or a notification needs it."""
    AT_ONCE = "at once"
    """That there is one, whatever needs it; once it was there, only when needed."""


@unique
class LinkState(Named):
    """How the link stands."""

    DOWN = 0
    """There is none; one is tried for as soon as anything needs it, and not before its time."""
    OPENING = 1
    """A connection or a session is being opened."""
    UP = 2
    """Requests can be sent."""
    FAILED = 3
    """There will be none: another try would bring the same."""
    CLOSING = 4
    """The client is parting from its server."""
    CLOSED = 5
    """It has parted."""


@unique
class LinkSignal(Named):
    """What can happen to the link."""

    OPEN = 0
    """Something needs it, and its time has come."""
    UP = 1
    """The handshake is done."""
    LOSS = 2
    """It is lost, or could not be had."""
    HOPELESS = 3
    """The server cannot be talked to."""
    CLOSE = 4
    """The application closes the client."""
    PARTED = 5
    """The server was left, or the patience for it is over."""


S, X = LinkState, LinkSignal

LINK_TABLE: Final[Table[LinkState, LinkSignal]] = total_table(
    LinkState,
    LinkSignal,
    {
        # there is none
        (S.DOWN, X.OPEN): to(S.OPENING, "a call, a cancellation or a notification needs it"),
        (S.DOWN, X.UP): never("nothing was opened"),
        (S.DOWN, X.LOSS): never("there is nothing to lose"),
        (S.DOWN, X.HOPELESS): to(S.FAILED, "an exchange of the session before says 401 (case I6)"),
        (S.DOWN, X.CLOSE): to(S.CLOSING, "nobody has to be left"),
        (S.DOWN, X.PARTED): never("the client was not closed"),
        # being opened
        (S.OPENING, X.OPEN): never("one at a time"),
        (S.OPENING, X.UP): to(S.UP, "the handshake is done (P1, P3)"),
        (S.OPENING, X.LOSS): to(S.DOWN, "no server was reached, or it was lost: again after a pause (case G1)"),
        (S.OPENING, X.HOPELESS): to(S.FAILED, "refused for good: no burst of retries (cases I2, I6)"),
        (S.OPENING, X.CLOSE): to(S.CLOSING, "whatever comes of it is not wanted any more"),
        (S.OPENING, X.PARTED): never("the client was not closed"),
        # requests can be sent
        (S.UP, X.OPEN): never("one at a time"),
        (S.UP, X.UP): never("the handshake was done"),
        (S.UP, X.LOSS): to(S.DOWN, "the connection, or the session, is gone (rule R16, case I2)"),
        (S.UP, X.HOPELESS): to(S.FAILED, "refused for good: 401, or a session that never lasts (cases I2, I6)"),
        (S.UP, X.CLOSE): to(S.CLOSING, "what waits is written, the session is ended (rule H32)"),
        (S.UP, X.PARTED): never("the client was not closed"),
        # there will be none
        (S.FAILED, X.OPEN): never("another try would bring the same"),
        (S.FAILED, X.UP): never("nothing was opened"),
        (S.FAILED, X.LOSS): never("there is nothing to lose"),
        (S.FAILED, X.HOPELESS): never("it is known already, and nothing is open any more"),
        (S.FAILED, X.CLOSE): to(S.CLOSING, "nobody has to be left"),
        (S.FAILED, X.PARTED): never("the client was not closed"),
        # parting
        (S.CLOSING, X.OPEN): never("nothing is needed any more"),
        (S.CLOSING, X.UP): never("nothing is being opened any more"),
        (S.CLOSING, X.LOSS): never("a loss is a parting now"),
        (S.CLOSING, X.HOPELESS): never("a server that is being left is as good as left"),
        (S.CLOSING, X.CLOSE): never("closed twice"),
        (S.CLOSING, X.PARTED): to(S.CLOSED, "done"),
        # parted
        (S.CLOSED, X.OPEN): never("nothing is needed any more"),
        (S.CLOSED, X.UP): never("nothing is being opened any more"),
        (S.CLOSED, X.LOSS): never("there is nothing to lose"),
        (S.CLOSED, X.HOPELESS): never("nothing is open any more"),
        (S.CLOSED, X.CLOSE): never("closed twice"),
        (S.CLOSED, X.PARTED): never("parted already"),
    },
)


@final
@attrs.define(eq=False)
class Link:
    """The state of the link, and what its losses have cost so far."""

    config: ClientConfig
    state: LinkState = LinkState.DOWN
    demand: Demand = Demand.WHEN_NEEDED
    retry_at: float = -math.inf
    """Before this moment none is tried for."""
    in_vain: int = 0
    """Links in a row that brought no call anything."""

    def step(self, signal: LinkSignal) -> None:
        """Follow the table: the only place where the link changes its state."""
        self.state = follow(LINK_TABLE, self.state, signal)
        if signal in (LinkSignal.UP, LinkSignal.HOPELESS):
            self.demand = Demand.WHEN_NEEDED

    def lose(self, now: float) -> None:
        """It is lost, or could not be had: the next one comes after a pause that grows, until one is worth it."""
        self.step(LinkSignal.LOSS)
        fortune = luck(Entropy(hashlib.sha256(self.config.instance.encode()).digest()), f"link {self.in_vain}")
        self.retry_at = now + back_off(self.config, self.in_vain) * (1.0 + self.config.retry_jitter * fortune)
        self.in_vain += 1

    def bear_fruit(self) -> None:
        """It brought something new to a call, so its end is worth no longer pause than any first one."""
        self.in_vain = 0

    def fork(self) -> Self:
        """Return an independent copy."""
        return shallow_copy(self)

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return a hashable value, equal for links that will behave alike; times are relative to `now`."""
        return (self.state, self.demand, max(self.retry_at - now, 0.0), self.in_vain)
