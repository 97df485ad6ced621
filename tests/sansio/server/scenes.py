"""How a server's stream comes into each of its states."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import attrs

from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.wire.streams import ResumeInterval
from tests.sansio.server.conversation import STOCK, Client, Conversation

S = StreamState


@attrs.define(eq=False)
class Scene:
    """The stream `s1` of a client, with one message that the client has, and somebody else of the same principal."""

    talk: Conversation
    client: Client
    other: Client


NEVER_AGAIN = ResumeInterval(max=0)
"""The client cannot come back."""


def live(interval: ResumeInterval = ResumeInterval()) -> Scene:
    talk = Conversation(StreamsConfig(max_total_bytes=4_000, max_write_bytes=1))
    client = talk.connect(principal="ann")
    client.call(interval=interval)
    talk.say(1)
    client.reads = False
    return Scene(talk, client, talk.connect(principal="ann"))


def asking() -> Scene:
    scene = live()
    scene.talk.ask()
    return scene


def resumed() -> Scene:
    scene = live()
    scene.client.resume(attempt="a.1")
    return scene


def detached() -> Scene:
    scene = live()
    scene.client.lose()
    return scene


def detached_asking() -> Scene:
    scene = asking()
    scene.client.lose()
    return scene


def draining(interval: ResumeInterval = ResumeInterval()) -> Scene:
    scene = live(interval)
    scene.talk.respond()
    return scene


def completed() -> Scene:
    scene = draining()
    finish(scene)
    return scene


def delivered_again() -> Scene:
    scene = completed()
    scene.other.reads = False
    scene.other.resume()
    return scene


def gone() -> Scene:
    scene = completed()
    scene.other.cancel()
    return scene


def silent(state: StreamState) -> Scene:
    """Return the same over HTTP for a client that declared nothing."""
    talk = Conversation(StreamsConfig(max_write_bytes=1))
    client = talk.exchange()
    client.call(peer=STOCK)
    talk.say(1)
    if state is S.DRAINING:
        client.reads = False
        talk.say(2)
    if state in (S.DRAINING, S.COMPLETED):
        talk.respond()
    if state is S.DETACHED:
        client.lose()
    return Scene(talk, client, talk.exchange())


def finish(scene: Scene) -> None:
    while scene.client.outstanding is not None:
        scene.client.take()


Setting: TypeAlias = Callable[[], Scene]

USUALLY: dict[StreamState, Setting] = {
    S.LIVE: live,
    S.DETACHED: detached,
    S.DRAINING: draining,
    S.COMPLETED: completed,
    S.GONE: gone,
}
