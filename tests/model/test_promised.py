"""What a server has to stand by: each check finds what breaks it."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.ids import ConnectionId, Secret, StreamId, owner_of
from mcpstreams_sansio.server.calls import CallPolicy, Peer, StreamKind
from mcpstreams_sansio.server.effects import WriteLog
from mcpstreams_sansio.server.inputs import (
    AckReceived,
    CallReceived,
    CancelledReceived,
    CancelReceived,
    ConnectionOpened,
    PollReceived,
    Scope,
)
from mcpstreams_sansio.server.keys import key_digest
from mcpstreams_sansio.server.records import (
    AnswerLogged,
    KeyCancelled,
    LogRecord,
    StreamClosed,
    StreamOpened,
    Tags,
)
from mcpstreams_sansio.testing import Action, Violation
from mcpstreams_sansio.testing.disk import Disk
from mcpstreams_sansio.testing.frames import Frame
from mcpstreams_sansio.testing.promised import Promised
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Notification, Request, Response
from mcpstreams_sansio.wire.refusals import Reason
from tests.model.ways import walked

S1, S2 = StreamId("stream-00001"), StreamId("stream-00002")
C1 = ConnectionId(1)
KEY, TOKEN = Secret("k" * 43), Secret("token-00001")
DIGEST = key_digest(KEY, None)
OWNER = owner_of(None, None)
POLICY = CallPolicy(StreamKind.ANNOUNCED)
CALL = CallReceived(C1, S1, Request(7, "tools/call"), Peer(), POLICY, TOKEN, KEY)
OPENED = StreamOpened(S1, 7, "tools/call", Peer(), POLICY, Tags.SEQUENCE, None, OWNER, TOKEN.digest(), DIGEST)
END = Frame(Notification("notifications/stream/end"), stream_id=S1, sequence=4)
CANCELLATION = Notification("notifications/cancelled", {"requestId": 7, "_meta": {"mcpstreams/key": KEY.reveal()}})


def on_disk(*records: LogRecord) -> Disk:
    return Disk().begin(WriteLog(1, records)).complete()[1]


# -------------------------------------------------------------------------------------------- what is cancelled


@pytest.mark.rule("R21")
def test_the_work_of_a_call_that_was_cancelled_before_it_came_never_starts() -> None:
    promised = Promised()
    promised.hear(ConnectionOpened(C1, Framing.HTTP, Scope("scope")))
    promised.hear(CALL)
    promised.start(S1)
    promised.hear(CancelledReceived(C1, 7))
    promised.start(S1)
    promised.hear(CancelledReceived(C1, 7, KEY))
    with pytest.raises(Violation, match="what is cancelled never starts"):
        promised.start(S1)


@pytest.mark.rule("R9", "R21")
@pytest.mark.parametrize(
    ("records", "stands"),
    [
        ([], False),
        ([KeyCancelled(DIGEST, OWNER)], True),
        ([OPENED], False),
        ([OPENED, StreamClosed(S1, Reason.CANCELLED, 2)], True),
        ([OPENED, StreamClosed(S1, Reason.EXPIRED, 2)], False),
        ([attrs.evolve(OPENED, key_digest=None), StreamClosed(S1, Reason.CANCELLED, 2)], False),
    ],
)
def test_after_a_crash_it_stands_by_the_cancellations_on_record(records: list[LogRecord], stands: bool) -> None:
    promised = Promised()
    promised.hear(CALL)
    promised.hear(CancelledReceived(C1, 7, KEY))
    promised.crash(tuple(records))
    assert promised.cancelled_before(S1) is stands


@pytest.mark.rule("R9", "R22")
def test_a_stream_is_not_told_to_be_cancelled_before_that_is_durable() -> None:
    promised = Promised()
    promised.hear(CancelReceived(C1, 9, S1, TOKEN))
    done, other = Frame(Response(9, {})), Frame(Response(8, {}))
    promised.write(other, on_disk(OPENED))
    promised.write(done, None)
    promised.write(done, on_disk(OPENED, StreamClosed(S1, Reason.CANCELLED, 2)))
    with pytest.raises(Violation, match="durable before told"):
        promised.write(done, on_disk(OPENED))
    promised.hear(PollReceived(C1, 9, S1, TOKEN))
    promised.write(done, on_disk(OPENED))


# ---------------------------------------------------------------------------------------------- what is accepted


@pytest.mark.rule("R9", "R24")
def test_an_answer_is_not_accepted_before_it_is_durable() -> None:
    asked = frozenset({"ask-00001"})
    for answer in (Response("ask-00001", {}), ErrorResponse("ask-00001", -1, "no")):
        Promised().accept(answer, frozenset(), on_disk())
        Promised().accept(answer, asked, on_disk(OPENED, AnswerLogged(S1, "ask-00001", b"{}")))
        with pytest.raises(Violation, match="durable before told"):
            Promised().accept(answer, asked, on_disk(OPENED))


@pytest.mark.rule("R9", "R21")
def test_a_cancellation_by_key_is_not_accepted_before_it_is_durable() -> None:
    promised = Promised()
    promised.accept(CANCELLATION, frozenset(), on_disk(KeyCancelled(DIGEST, OWNER)))
    promised.accept(CANCELLATION, frozenset(), on_disk(OPENED, StreamClosed(S1, Reason.FINISHED, 2)))
    promised.accept(Notification("notifications/cancelled", {"requestId": 7}), frozenset(), on_disk())
    promised.accept(Notification("notifications/initialized"), frozenset(), on_disk())
    with pytest.raises(Violation, match="durable before told"):
        promised.accept(CANCELLATION, frozenset(), on_disk(OPENED))


# ------------------------------------------------------------------------------------------ what is acknowledged


@pytest.mark.rule("R6", "R7")
def test_a_stream_of_which_its_client_has_all_is_not_kept_until_it_expires() -> None:
    promised = Promised()
    promised.write(END, None)
    for useless in (AckReceived(C1, S1, 3, TOKEN), AckReceived(C1, S1, 4), AckReceived(C1, S2, 4, TOKEN)):
        promised.hear(useless)
        promised.fork().go(S1, Reason.EXPIRED, hurried=False)
    promised.hear(AckReceived(C1, S1, 4, TOKEN))
    promised.fork().go(S1, Reason.FINISHED, hurried=False)
    promised.fork().go(S1, Reason.EXPIRED, hurried=True)
    with pytest.raises(Violation, match="freed once acknowledged"):
        promised.fork().go(S1, Reason.EXPIRED, hurried=False)
    promised.crash(())
    promised.go(S1, Reason.EXPIRED, hurried=False)


# -------------------------------------------------------------------------------------------------- what comes late


@pytest.mark.rule("R21")
def test_a_copy_can_come_as_soon_as_the_call_was_sent() -> None:
    setting = "http marker messages=0 cancels=1 copies=1"
    assert Action("copy", "k1") not in walked(setting, "call k1").actions()
    assert Action("copy", "k1") in walked(setting, "call k1", "connect").actions()
    assert Action("copy", "k1") not in walked(setting, "call k1", "connect", "copy k1").actions()
    assert Action("copy", "k1") not in walked("http draft copies=1", "call k1", "connect").actions()


@pytest.mark.rule("R21", "Q9a")
def test_who_comes_late_is_told_how_a_stream_has_ended() -> None:
    world = walked(
        "multiplexed marker messages=0 cancels=1 copies=1 polls=1", "call k1", "connect", "up c1", "cancel k1", "up c1"
    )
    assert world.state.reasons_of(1) == {Reason.CANCELLED}
    for late in ("copy", "poll"):
        world.fork().apply(Action(late, "k1"))
        wrong = world.fork()
        wrong.state.witness.gone = {S1: Reason.EXPIRED}
        wrong.state.promised.cancelled = frozenset()
        with pytest.raises(Violation, match="what a stream ended as stays so"):
            wrong.apply(Action(late, "k1"))
