"""The link: when there is one, and when the next one is tried for."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.link import Demand, Link, LinkSignal, LinkState

CONFIG = ClientConfig(instance="a-client", retry_floor=1.0, retry_ceiling=8.0, retry_jitter=0.0)


def lost(times: int, link: Link) -> list[float]:
    """Lose a link so many times in a row; return the pauses."""
    pauses = []
    for _ in range(times):
        link.step(LinkSignal.OPEN)
        link.lose(100.0)
        pauses.append(link.retry_at - 100.0)
    return pauses


def test_pauses_grow_while_no_link_is_worth_it() -> None:
    assert lost(6, Link(CONFIG)) == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


def test_a_link_that_brought_something_is_forgiven_its_end() -> None:
    link = Link(CONFIG)
    lost(5, link)
    link.step(LinkSignal.OPEN)
    link.step(LinkSignal.UP)
    link.bear_fruit()
    link.lose(100.0)
    assert link.retry_at == 101.0


def test_clients_do_not_come_back_all_at_once() -> None:
    configs = [ClientConfig(instance=f"client-{number:02}", retry_floor=1.0) for number in range(20)]
    pauses = {lost(1, Link(config))[0] for config in configs}
    assert len(pauses) == 20
    assert all(1.0 <= pause <= 1.25 for pause in pauses)


@pytest.mark.parametrize("signal", [LinkSignal.UP, LinkSignal.HOPELESS])
def test_a_wish_for_a_link_is_met_once(signal: LinkSignal) -> None:
    link = Link(CONFIG, demand=Demand.AT_ONCE)
    demands = []
    for each in (LinkSignal.OPEN, signal):
        link.step(each)
        demands.append(link.demand)
    assert demands == [Demand.AT_ONCE, Demand.WHEN_NEEDED]


def test_a_copy_goes_its_own_way() -> None:
    link = Link(CONFIG)
    copy = link.fork()
    copy.step(LinkSignal.OPEN)
    assert link.state is LinkState.DOWN
    assert copy.snapshot(0.0) != link.snapshot(0.0)


def test_links_are_alike_that_have_as_long_to_wait() -> None:
    early, late = Link(CONFIG), Link(CONFIG)
    lost(1, early)
    lost(1, late)
    late.retry_at += 50.0
    assert early.snapshot(100.0) == late.snapshot(150.0)
    for now in (100.25, 100.75, 101.0):
        assert early.snapshot(now) != late.snapshot(150.0), "it has waited longer"
    assert early.snapshot(101.0) == late.snapshot(1_000.0), "neither has to wait any more"
