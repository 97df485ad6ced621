"""No secret is ever shown: not by a value, not by a machine, not by a snapshot of one (rule Q11b)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Final

import attrs
import pytest

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.effects import AskReceived, CallDetached, CallFinished, CallResult
from mcpstreams_sansio.client.inputs import (
    AnswerAsk,
    AttachCall,
    CancelCall,
    DetachCall,
    MakeCall,
    Notify,
    OpenClient,
    TakeMessages,
)
from mcpstreams_sansio.connections import Framing, Write
from mcpstreams_sansio.http.exchange import Endpoint
from mcpstreams_sansio.http.messages import HeadReceived, SendHead, SendRequest
from mcpstreams_sansio.ids import CallId, Entropy, Secret
from mcpstreams_sansio.server.inputs import AskPeer, Respond, SendMessage
from mcpstreams_sansio.wire.jsonrpc import Notification, Response
from tests.sansio.joined import Joined, Machine, Value

AUTHORIZATION: Final = "Bearer of-good-news"
HEADERS: Final = ((b"host", b"localhost"), (b"authorization", AUTHORIZATION.encode()))
ENDPOINT: Final = Endpoint(b"/mcp?secret=in-the-query", HEADERS)
PRIVATE: Final = "what-is-between-the-two"
"""Stands in what both applications say: nobody but them knows what is a secret there."""
SECRETS: Final = re.compile(rb'"(?:resumeToken|mcpstreams/key)":"([^"]+)"')


@attrs.define(eq=False)
class Witness:
    """Collects the secrets that go over the wire, then, on a second run, looks for them wherever one might look."""

    known: frozenset[str] = frozenset()
    found: set[str] = attrs.field(factory=set)
    looked_at: set[str] = attrs.field(factory=set)

    def __call__(self, machine: Machine, value: Value) -> None:
        match value:
            case Write(chunks=chunks):
                self._collect(b"".join(chunks))
            case SendRequest(request=request):
                self._collect(request.body)
            case SendHead(headers=headers) | HeadReceived(headers=headers):
                self.found |= {text.decode() for name, text in headers if name == b"mcp-session-id"}
            case _:
                pass
        if self.known:
            self._look(machine, value)

    def _collect(self, payload: bytes) -> None:
        self.found |= {text.decode() for text in SECRETS.findall(payload)}

    def _look(self, machine: Machine, value: Value) -> None:
        self._expect(self.known, "a snapshot", machine.snapshot(0.0))
        for shown in (value, *within(machine)):
            self._expect(self.known | {PRIVATE}, type(shown).__name__, shown)

    def _expect(self, secrets: frozenset[str], name: str, shown: object) -> None:
        text = repr(shown)
        self.looked_at.add(name)
        assert not [secret for secret in secrets if secret in text], f"{name} shows a secret"


def within(value: object) -> Iterator[object]:
    """Return every value of this package's types that something is made of."""
    met: set[int] = set()
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if id(each) in met or isinstance(each, Secret | Entropy):
            continue
        met.add(id(each))
        if isinstance(each, Mapping):
            waiting += [*each.keys(), *each.values()]
        elif isinstance(each, list | tuple | set | frozenset | deque):
            waiting += each
        elif type(each).__module__.startswith("mcpstreams_sansio"):
            yield each
            waiting += members(each)


def members(value: object) -> list[object]:
    """Return what the fields of a value hold."""
    kind = type(value)
    return [getattr(value, name) for name in (attrs.fields_dict(kind) if attrs.has(kind) else vars(value))]


def live(joined: Joined) -> None:
    """Let a client and its server do everything that has to do with secrets."""
    talk = Notification("notifications/message", {"data": PRIVATE})
    joined.to_client(OpenClient())
    joined.run()
    for number in (1, 2):
        joined.to_client(MakeCall(CallId(number), "tools/call", {"name": PRIVATE}, joined.entropy()))
    joined.run()
    joined.to_client(Notify("notifications/roots/list_changed", {"data": PRIVATE}))
    stream_id = joined.started[0].stream_id
    joined.to_server(SendMessage(stream_id, talk))
    joined.to_server(AskPeer(stream_id, "q1", "sampling/createMessage", {"data": PRIVATE}))
    joined.run()
    joined.to_client(AnswerAsk(CallId(1), "q1", Response("q1", {"data": PRIVATE})))
    joined.cut()
    joined.to_server(SendMessage(stream_id, talk))
    joined.wait(2.0)
    joined.to_client(TakeMessages(CallId(1), 2), DetachCall(CallId(1)))
    saved = next(effect.saved for effect in joined.told if isinstance(effect, CallDetached))
    joined.to_client(AttachCall(CallId(3), saved, joined.entropy()))
    joined.run()
    joined.to_client(CancelCall(CallId(2)))
    joined.to_server(Respond(stream_id, Response(joined.started[0].request.id, {"data": PRIVATE})))
    joined.wait(2.0)
    joined.wait(20.0)
    joined.cut()
    joined.wait(60.0)


@pytest.mark.rule("Q11b")
@pytest.mark.parametrize("durable", [False, True], ids=["in memory", "durable"])
@pytest.mark.parametrize("transport", [Framing.LINES, Framing.MESSAGES, ENDPOINT], ids=["lines", "messages", "HTTP"])
def test_nothing_that_anybody_may_print_shows_a_secret(transport: Framing | Endpoint, durable: bool) -> None:
    config = ClientConfig(instance="instance", retry_jitter=0.0)
    first, second = Witness(), Witness()
    live(Joined(transport, config, first, durable))
    assert len(first.found) >= 4, "two keys and two tokens at least, and perhaps a session"
    second.known = frozenset(first.found) | {AUTHORIZATION, "in-the-query"}
    joined = Joined(transport, config, second, durable)
    live(joined)
    assert second.found == first.found, "both runs are the same"
    assert [e for e in joined.told if isinstance(e, CallFinished) and isinstance(e.outcome, CallResult)]
    assert [e for e in joined.told if isinstance(e, AskReceived)]
    assert {"Call", "Stream", "Exchange" if transport is ENDPOINT else "Outbox", "a snapshot"} <= second.looked_at
