"""Both whole machines, with real bytes between them: cut at every place, and far beyond what can be searched."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.testing import Peers
from tests.model.byte_cuts import cut_everywhere
from tests.model.byte_walk import ByteWalk
from tests.model.byte_world import Setting


@pytest.mark.parametrize("peers", Peers)
@pytest.mark.parametrize("framing", Framing)
def test_a_conversation_may_be_cut_anywhere(framing: Framing, peers: Peers) -> None:
    cut_everywhere(Setting(framing=framing, peers=peers, line_end=b"\r\n"))


TestByteWalk = pytest.mark.timeout(7_200)(ByteWalk.TestCase)  # the profile `deep` takes as long as patience allows
