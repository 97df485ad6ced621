"""Where a client is: one place for everybody who can not be told apart there."""

from __future__ import annotations

import pytest
import trio

from trio_bindings.addresses import address_of, place_of
from trio_bindings.server import LOOPBACK


@pytest.mark.rule("R25")
@pytest.mark.parametrize(
    ("host", "place"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::1", "2001:db8:1:3::/64"),
        ("::1", "::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_a_place_is_an_address_or_a_network_of_one_customer(host: str, place: str) -> None:
    assert place_of(host) == place


async def test_the_other_end_of_a_connection_is_somewhere_until_it_leaves() -> None:
    listeners = await trio.open_tcp_listeners(0, host=LOOPBACK)
    async with listeners[0] as listener:
        ours = await trio.open_tcp_stream(LOOPBACK, listener.socket.getsockname()[1])
        theirs = await listener.accept()
        async with ours, theirs:
            assert address_of(theirs) == LOOPBACK
            theirs.socket.close()
            assert address_of(theirs) is None
