"""An answer counts on whatever wire it arrives: it says by a token whose it is (rule R24)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.testing import Action
from tests.model.ways import walked

TAKEN_OVER = "call k1, connect, up c1, ask k1, down c1, down c1, answer k1, rival k1, connect b, up c2"
"""The answer is on its way, and before it arrives another client has the call on a wire of its own."""


@pytest.mark.rule("R24")
def test_an_answer_counts_though_another_wire_has_the_call_by_now() -> None:
    world = walked("multiplexed marker messages=0 asks=1 rivals=1", TAKEN_OVER)
    assert "server -> stream attached stream-00001 c2" in world.effects()
    world.apply(Action("up", "c1"))
    assert any(line.startswith("server -> ask answered stream-00001") for line in world.effects())
