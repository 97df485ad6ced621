"""How a client comes into each state of a call, over a shared connection and over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from mcpstreams_sansio.client.table import CallState
from mcpstreams_sansio.ids import CallId
from mcpstreams_sansio.wire.refusals import Reason
from tests.sansio.client.conversation import CONFIG, Conversation


def path_of(talk: Conversation) -> int | None:
    """Return the path on which the call is delivered, if it is an exchange; the shared connection has no need of it."""
    return talk.streams._ledger.calls[CallId(1)].path if talk.http else None


def sent(talk: Conversation) -> None:
    talk.link_up()
    talk.call()


def following(talk: Conversation) -> None:
    sent(talk)
    talk.creates(path_of(talk))


def stranded(talk: Conversation) -> None:
    following(talk)
    cut(talk)
    talk.link_down()
    talk.wait(1.0)


def full(talk: Conversation) -> None:
    talk.streams._ledger.config = attrs.evolve(CONFIG, max_unread=1)
    following(talk)
    talk.progresses(2, path_of(talk))
    talk.progresses(3, path_of(talk))


def waiting(talk: Conversation) -> None:
    following(talk)
    cut(talk)


def polling(talk: Conversation) -> None:
    talk.streams._ledger.config = attrs.evolve(CONFIG, poll_first=True)
    waiting(talk)
    talk.wait(1.0)


def recovering(talk: Conversation) -> None:
    waiting(talk)
    talk.wait(1.0)


def reattaching(talk: Conversation) -> None:
    """Come back to the connection that has refused to be come back to so early."""
    recovering(talk)
    talk.rejects("1.1", Reason.TOO_EARLY, path_of(talk))
    talk.wait(2.0)


def cancel_due(talk: Conversation) -> None:
    following(talk)
    cut(talk)
    talk.link_down()
    talk.cancel()


def cancelling(talk: Conversation) -> None:
    waiting(talk)
    talk.cancel()


def settling(talk: Conversation) -> None:
    following(talk)
    talk.responds(2, path_of(talk))


def cut(talk: Conversation) -> None:
    """Lose the call's path, and have a link all the same."""
    path = path_of(talk)
    if path is not None:
        talk.cut(path)
        return
    talk.link_down()
    talk.link_up()


STATES: Final[dict[CallState, Callable[[Conversation], None]]] = {
    CallState.STRANDED: stranded,
    CallState.SENT: sent,
    CallState.FOLLOWING: following,
    CallState.FULL: full,
    CallState.WAITING: waiting,
    CallState.POLLING: polling,
    CallState.RECOVERING: recovering,
    CallState.REATTACHING: reattaching,
    CallState.CANCEL_DUE: cancel_due,
    CallState.CANCELLING: cancelling,
    CallState.SETTLING: settling,
}
