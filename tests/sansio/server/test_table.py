"""The table of a stream's states is total, and each of its cells is what a conversation meets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import pytest

from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.server import stream as stream_module
from mcpstreams_sansio.server.table import STREAM_TABLE, StreamSignal, StreamState
from mcpstreams_sansio.tables import Forbidden, Transition, never, to
from tests.sansio.server.conversation import token_of
from tests.sansio.server.scenes import (
    NEVER_AGAIN,
    USUALLY,
    Scene,
    Setting,
    asking,
    delivered_again,
    detached_asking,
    draining,
    finish,
    live,
    resumed,
    silent,
)
from tests.spec.citations import citations

S, On = StreamState, StreamSignal
Cell: TypeAlias = tuple[StreamState, StreamSignal]

# ------------------------------------------------------------------------------------------------------- as data


def successors(state: StreamState) -> set[StreamState]:
    cells = (STREAM_TABLE[state, signal] for signal in StreamSignal)
    return {cell.target for cell in cells if isinstance(cell, Transition)}


def test_there_is_a_cell_for_every_state_and_signal() -> None:
    assert len(STREAM_TABLE) == len(StreamState) * len(StreamSignal)


def test_every_state_is_reached_from_the_first() -> None:
    reached = {S.LIVE}
    while (further := reached.union(*map(successors, reached))) != reached:
        reached = further
    assert reached == set(StreamState)


def test_nothing_leads_out_of_gone_and_everything_leads_there() -> None:
    assert successors(S.GONE) == {S.GONE}
    assert all(S.GONE in successors(state) for state in StreamState)


@pytest.mark.parametrize("cell", STREAM_TABLE, ids=lambda cell: f"{cell[0].name}-{cell[1].name}")
def test_every_cell_names_its_rule_or_case(cell: Cell) -> None:
    assert list(citations(STREAM_TABLE[cell].why))


@pytest.mark.rule("Q7a")
def test_the_timer_runs_out_only_where_no_connection_delivers() -> None:
    expiring = {state for state in StreamState if isinstance(STREAM_TABLE[state, On.EXPIRY], Transition)}
    assert expiring == {S.DETACHED, S.COMPLETED}


@pytest.mark.rule("R10")
def test_only_what_was_sent_to_its_end_is_evicted() -> None:
    evictable = {state for state in StreamState if isinstance(STREAM_TABLE[state, On.EVICTION], Transition)}
    assert evictable == {S.COMPLETED}


# ------------------------------------------------------------------------------------------------- in conversation


def attach(scene: Scene) -> None:
    scene.other.reads = False
    scene.other.resume()


def crowd(scene: Scene) -> None:
    scene.other.call(8, "s2")
    scene.talk.say(1, stream="s2", size=4_000)


Act: TypeAlias = Callable[[Scene], object]

ACTS: dict[StreamSignal, Act] = {
    On.MESSAGE: lambda scene: scene.talk.say(2),
    On.RESPONSE: lambda scene: scene.talk.respond(),
    On.ATTACH: attach,
    On.LOSS: lambda scene: scene.client.lose(),
    On.FINAL_LOSS: lambda scene: scene.client.lose(),
    On.FINISH: finish,
    On.FINAL_FINISH: finish,
    On.RELEASE: lambda scene: scene.talk.release(),
    On.POLL: lambda scene: scene.other.poll(),
    On.ACK: lambda scene: scene.other.ack(1, token=token_of("s1")),
    On.FULL_ACK: lambda scene: scene.other.ack(4, token=token_of("s1")),
    On.ANSWER: lambda scene: scene.other.answer("q1"),
    On.CANCEL: lambda scene: scene.other.cancel(),
    On.EXPIRY: lambda scene: scene.talk.wait(600),
    On.EVICTION: crowd,
    On.CLOSING: lambda scene: scene.talk.end_session(),
}

OTHERWISE: dict[Cell, Setting] = {
    (S.LIVE, On.FINAL_LOSS): lambda: live(NEVER_AGAIN),
    (S.LIVE, On.RELEASE): resumed,
    (S.LIVE, On.ANSWER): asking,
    (S.DETACHED, On.ANSWER): detached_asking,
    (S.DRAINING, On.FINAL_LOSS): lambda: draining(NEVER_AGAIN),
    (S.DRAINING, On.FINAL_FINISH): lambda: draining(NEVER_AGAIN),
    (S.DRAINING, On.RELEASE): delivered_again,
    (S.DRAINING, On.FULL_ACK): delivered_again,
    (S.LIVE, On.CLOSING): lambda: silent(S.LIVE),
    (S.DETACHED, On.CLOSING): lambda: silent(S.DETACHED),
    (S.DRAINING, On.CLOSING): lambda: silent(S.DRAINING),
    (S.COMPLETED, On.CLOSING): lambda: silent(S.COMPLETED),
}
"""What it takes where the usual setting will not do."""

ALLOWED = [cell for cell, what in STREAM_TABLE.items() if isinstance(what, Transition)]

TOO_LATE: set[Cell] = {
    *((state, On.ANSWER) for state in (S.DRAINING, S.COMPLETED, S.GONE)),
    *((S.GONE, signal) for signal in (On.MESSAGE, On.RESPONSE, On.RELEASE, On.FULL_ACK)),
}
"""What may well come and means nothing any more: it is refused or ignored before the table is asked."""


def play(cell: Cell) -> None:
    """Bring a stream into the cell's state, do what the signal means, and see where it is."""
    state, signal = cell
    what = STREAM_TABLE[cell]
    assert isinstance(what, Transition)
    scene = OTHERWISE.get(cell, USUALLY[state])()
    assert seen(scene) is state
    ACTS[signal](scene)
    assert seen(scene) is what.target


def seen(scene: Scene) -> StreamState:
    """Return the state; a silent stream leaves nothing behind."""
    state = scene.talk.state()
    return S.GONE if state is None else state


def named(cell: Cell) -> str:
    return f"{cell[0].name}-{cell[1].name}"


@pytest.mark.parametrize("cell", ALLOWED, ids=named)
def test_every_cell_is_what_a_conversation_meets(cell: Cell) -> None:
    play(cell)


@pytest.mark.parametrize("cell", ALLOWED, ids=named)
def test_a_cell_that_led_elsewhere_would_be_noticed(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    right = STREAM_TABLE[cell]
    assert isinstance(right, Transition)
    wrong = [never("on purpose"), *(to(state, "on purpose") for state in StreamState if state is not right.target)]
    for what in wrong:
        monkeypatch.setattr(stream_module, "STREAM_TABLE", {**STREAM_TABLE, cell: what})
        with pytest.raises((AssertionError, LocalProtocolError, KeyError)):
            play(cell)


@pytest.mark.rule("R13")
@pytest.mark.parametrize("cell", sorted(TOO_LATE), ids=named)
def test_what_comes_too_late_changes_nothing(cell: Cell) -> None:
    state, signal = cell
    assert isinstance(STREAM_TABLE[cell], Forbidden)
    scene = USUALLY[state]()
    ACTS[signal](scene)
    assert seen(scene) is state
