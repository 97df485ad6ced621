"""What a front makes of a server's hello (rules P3, R21.7)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.client.fronts import traits_of
from mcpstreams_sansio.client.inputs import ServerTraits
from mcpstreams_sansio.wire.handshake import read_server_hello
from tests.sansio.client.driving import DRAFT_HELLO, HELLO


@pytest.mark.rule("P3", "R21")
def test_a_server_with_the_marker_names_its_memory_and_how_long_it_lasts() -> None:
    assert traits_of(read_server_hello(HELLO)) == ServerTraits(True, "server-1", 1_000)


def test_one_without_it_promises_nothing() -> None:
    assert traits_of(read_server_hello(DRAFT_HELLO)) == ServerTraits()
