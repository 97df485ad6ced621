"""The delivery rules taken together: however a client is cut, it gets everything in order."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.wire.tags import read_tag
from tests.sansio.server.conversation import MARKER, Client, Conversation, Way, token_of
from tests.sansio.server.words import gist


@attrs.define(eq=False)
class Follower:
    """A client that is cut again and again and comes back, with what it has or without saying so."""

    talk: Conversation
    says_what_it_has: bool
    client: Client
    got: dict[int, str] = attrs.field(factory=dict)
    said: int = 0
    attempts: int = 0

    def say(self) -> None:
        self.said += 1
        self.talk.say(self.said)

    def cut(self) -> None:
        if self.client.way is Way.OPEN:
            self.client.lose()

    def come_back(self) -> None:
        self.read()
        self.attempts += 1
        self.client = self.talk.connect(Framing.MESSAGES, principal="ann")
        self.client.reads = self.attempts % 3 != 0
        after = max(self.got, default=0) if self.says_what_it_has else None
        self.client.resume(f"resume {self.attempts}", after=after, attempt=f"a.{self.attempts}")

    def take(self) -> None:
        if self.client.outstanding is not None and self.client.way is Way.OPEN:
            self.client.take()

    def acknowledge(self) -> None:
        self.read()
        self.client.ack(max(self.got, default=0), token=token_of("s1"))

    def wait(self) -> None:
        self.talk.wait(1)

    def read(self) -> None:
        """Take up what has come: what came before is the same again."""
        for message in self.client.messages:
            tag = read_tag(message)
            if tag is not None:
                assert self.got.setdefault(tag.sequence, gist(message)) == gist(message)


STEPS = [Follower.say, Follower.cut, Follower.come_back, Follower.take, Follower.acknowledge, Follower.wait]


@pytest.mark.rule("R5", "R8", "Q5g")
@given(
    steps=st.lists(st.sampled_from(STEPS), max_size=30),
    says_what_it_has=st.booleans(),
    max_write_bytes=st.sampled_from([1, 200, 10_000]),
    redelivery_window=st.sampled_from([0.0, 1.5, 120.0]),
)
def test_however_a_client_is_cut_it_gets_everything_in_order(
    steps: list[Callable[[Follower], None]], max_write_bytes: int, redelivery_window: float, *, says_what_it_has: bool
) -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=max_write_bytes, redelivery_window=redelivery_window))
    client = talk.connect(Framing.MESSAGES, principal="ann")
    client.call(peer=MARKER, attempt="a.0")
    follower = Follower(talk, says_what_it_has, client)
    for step in steps:
        step(follower)
    talk.respond()
    follower.come_back()
    while follower.client.outstanding is not None:
        follower.client.take()
    follower.read()
    expected = ["create", *(f"progress {number}" for number in range(1, follower.said + 1)), "result 7", "end"]
    assert [follower.got[sequence] for sequence in sorted(follower.got)] == expected
