"""A transcript is a script: what to do to a server, what to expect of it, whatever it calls things."""

from __future__ import annotations

import re

import pytest

from mcpstreams_sansio import LocalProtocolError, Notification
from mcpstreams_sansio.testing import Action, Script, StreamsWorld, Transcript, Violation, record
from mcpstreams_sansio.testing.cues import (
    Answer,
    Ask,
    Begin,
    Close,
    Connect,
    Cue,
    Fail,
    Forsake,
    Hear,
    Pass,
    Release,
    Return,
    Send,
    Stop,
    Tell,
)
from mcpstreams_sansio.wire.handshake import INITIALIZE, read_client_hello
from mcpstreams_sansio.wire.jsonrpc import Request, decode_message
from tests.model.losses import transcript_of


def transcript(setting: str, actions: str) -> Transcript:
    return record(StreamsWorld.parse(setting), [Action(*action.split()) for action in actions.split(", ")])


def cues_of(setting: str, actions: str) -> list[Cue]:
    return [cue for step in Script(transcript(setting, actions)).steps for cue in step.cues]


def last(setting: str, actions: str) -> list[Cue]:
    return list(Script(transcript(setting, actions)).steps[-1].cues)


# ---- what the steps mean


def test_a_connection_begins_with_a_handshake_whose_answer_may_be_any() -> None:
    connect, hello, answer, done = last("multiplexed draft", "connect")
    assert connect == Connect("c1")
    assert isinstance(hello, Tell)
    assert isinstance(done, Tell)
    request = decode_message(hello.message)
    assert isinstance(request, Request)
    assert request.method == INITIALIZE
    assert answer == Hear("c1", None)
    assert decode_message(done.message) == Notification("notifications/initialized")


@pytest.mark.parametrize(
    ("peers", "declared"), [("marker", (True, True)), ("draft", (True, False)), ("stock", (False,) * 2)]
)
def test_a_client_declares_what_it_knows_in_its_world(peers: str, declared: tuple[bool, bool]) -> None:
    hello = last(f"multiplexed {peers}", "connect")[1]
    assert isinstance(hello, Tell)
    request = decode_message(hello.message)
    assert isinstance(request, Request)
    said = read_client_hello(request.params)
    assert (said.streams, said.marker is not None) == declared
    assert said.capabilities.sampling is not None


def test_a_message_is_sent_when_it_arrives_and_not_at_all_if_it_is_lost() -> None:
    assert not any(isinstance(cue, Tell) for cue in cues_of("multiplexed marker", "call k1"))
    sent, *_ = last("multiplexed marker", "call k1, connect, up c1")
    assert isinstance(sent, Tell)
    assert b"tools/call" in sent.message
    lost = [cue for cue in cues_of("multiplexed marker cuts=1", "call k1, connect, cut c1") if isinstance(cue, Tell)]
    assert len(lost) == 2  # of the handshake


def test_what_a_server_that_lost_the_connection_never_gets_is_not_sent() -> None:
    assert last("multiplexed marker fades=1", "call k1, connect, fade c1") == [Close("c1")]


def test_a_call_begins_and_its_messages_are_heard() -> None:
    _, begin, create = last("multiplexed marker", "call k1, connect, up c1")
    assert begin == Begin(1)
    assert isinstance(create, Hear)
    order, message = last("multiplexed marker", "call k1, connect, up c1, send k1")
    assert isinstance(order, Send)
    assert isinstance(message, Hear)
    assert message.message is not None
    assert b"notifications/progress" in message.message


def test_nothing_is_heard_on_a_connection_that_the_client_has_lost() -> None:
    actions = "call k1, connect, up c1, cut c1, send k1, notice c1"
    world = "multiplexed marker cuts=1"
    assert last(world, actions.removesuffix(", send k1, notice c1")) == [Forsake("c1")]
    [order] = last(world, actions.removesuffix(", notice c1"))
    assert isinstance(order, Send)
    assert last(world, actions) == [Close("c1")]


def test_time_passes() -> None:
    first, *_ = last("multiplexed marker cuts=1", "call k1, connect, up c1, down c1, cut c1, connect, up c2, wait")
    assert first == Pass(1.0)


def test_a_question_has_one_answer_or_none() -> None:
    world, asked = "multiplexed marker messages=0 asks=1 hurries=1 cancels=1", "call k1, connect, up c1, ask k1"
    order, heard = last(world, asked)
    assert isinstance(order, Ask)
    assert isinstance(heard, Hear)
    answered = last(world, f"{asked}, down c1, down c1, answer k1, up c1")
    assert answered[1:] == [Answer(1, {"answer": True})]
    assert Answer(1, None) in last(world, f"{asked}, hurry")
    stopped = last(world, f"{asked}, down c1, cancel k1, up c1")
    assert Stop(1) in stopped
    assert Answer(1, None) not in stopped


def test_a_call_returns_or_fails_or_lets_go_of_its_connection() -> None:
    world, begun = "multiplexed marker messages=0 failures=1 releases=1", "call k1, connect, up c1"
    assert last(world, f"{begun}, succeed k1")[0] == Return(1, {"content": [], "number": 1})
    assert last(world, f"{begun}, fail k1")[0] == Fail(1, 7, "call 1 failed")
    assert last(world, f"{begun}, release k1")[0] == Release(1)


# ---- names


RENAMED = {b"stream-00001": b"theirs", b"token-00001": b"open-sesame"}


def theirs(message: bytes | None) -> bytes:
    assert message is not None
    return re.sub(rb"(?:stream|token)-00001", lambda match: RENAMED[match[0]], message)


def test_a_server_may_call_things_as_it_likes() -> None:
    script = Script(transcript_of("half-open for ever"))
    told = []
    for step in script.steps:
        for cue in step.cues:
            if isinstance(cue, Hear):
                script.compare(cue, b"{}" if cue.message is None else theirs(cue.message))
            elif isinstance(cue, Tell):
                told.append(script.outgoing(cue))
    [resume] = [message for message in told if b"stream/resume" in message]
    assert b'"open-sesame"' in resume
    assert b"stream-00001" not in b"".join(told)


def test_a_name_that_was_not_heard_can_not_be_told() -> None:
    script = Script(transcript_of("half-open for ever"))
    tells = [cue for step in script.steps for cue in step.cues if isinstance(cue, Tell)]
    with pytest.raises(LocalProtocolError, match="has not told yet"):
        script.outgoing(next(cue for cue in tells if b"stream/resume" in cue.message))


def heard(old: bytes, new: bytes) -> None:
    """Compare the second message of a server once something in it is another thing."""
    script = Script(transcript("multiplexed marker", "call k1, connect, up c1, send k1"))
    _, create, progress = [cue for step in script.steps for cue in step.cues if isinstance(cue, Hear)]
    assert create.message is not None
    assert progress.message is not None
    assert old in progress.message
    script.compare(create, create.message)
    script.compare(progress, progress.message.replace(old, new))


def test_the_same_message_passes() -> None:
    heard(b"stream-00001", b"stream-00001")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (b"stream-00001", b"another", "is another one"),
        (b"stream-00001", b"token-00001", "is another one"),  # it is called something else already
        (b'"progress":1', b'"progress":2', r"the message.params.progress is another one"),
        (b'"progress":1', b'"progress":1.0', r"the message.params.progress is another one"),
        (b'"progress":1', b'"progress":1,"more":1', r"the message.params is another one"),
        (b'"progress":1', b'"progress":[1]', r"the message.params.progress is another one"),
        (b"{", b"", "brings no message"),
    ],
)
def test_another_message_is_a_violation_that_says_where(old: bytes, new: bytes, complaint: str) -> None:
    with pytest.raises(Violation, match=complaint):
        heard(old, new)


def test_a_violation_names_no_secret() -> None:
    script = Script(transcript("multiplexed marker", "call k1, connect, up c1"))
    create = next(cue for step in script.steps for cue in step.cues if isinstance(cue, Hear) and cue.message)
    assert create.message is not None
    with pytest.raises(Violation) as caught:
        script.compare(create, create.message.replace(b"create", b"open"))
    assert "token" not in str(caught.value)


def test_lists_are_compared_item_by_item() -> None:
    script = Script(transcript("multiplexed marker messages=0", "call k1, connect, up c1, succeed k1"))
    _, create, result, _ = [cue for step in script.steps for cue in step.cues if isinstance(cue, Hear)]
    assert create.message is not None
    assert result.message is not None
    script.compare(create, create.message)
    script.compare(result, result.message)
    with pytest.raises(Violation, match=r"the message\.result\.content"):
        script.compare(result, result.message.replace(b'"content":[]', b'"content":[1]'))


# ---- what is no script


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("http marker", "no exchanges"),
        ("multiplexed marker crashes=1 durable=1", "from outside: crashes, durable"),
        ("multiplexed marker polls=1 slow_writes=1", "from outside: slow_writes, polls"),
    ],
)
def test_what_nobody_can_do_from_outside_is_refused(setting: str, complaint: str) -> None:
    with pytest.raises(LocalProtocolError, match=complaint):
        Script(transcript(setting, "call k1"))


def test_a_transcript_of_something_broken_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    written = transcript("multiplexed marker messages=0", "call k1, connect")

    def fail(_: StreamsWorld) -> None:
        raise Violation("holds", "it does not")

    monkeypatch.setattr(StreamsWorld, "check", fail)
    with pytest.raises(LocalProtocolError, match="step 1 of the transcript breaks a property: holds: it does not"):
        Script(Transcript(written.setting, tuple(record(StreamsWorld.parse(written.setting), written.path).steps)))
