"""The delivery rules R21 to R25: calls that are sent again, cancelled, asked about, and whose they are."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.ids import Secret
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import BodyKind
from mcpstreams_sansio.server.table import StreamState
from tests.sansio.server.conversation import KEY, MARKER, Client, Conversation, token_of
from tests.sansio.server.words import gist


def messages(client: Client) -> list[str]:
    """Return every message that a client was sent, without the frames around it."""
    return [gist(message) for message in client.messages]


@pytest.mark.rule("R21")
@pytest.mark.parametrize("framing", [Framing.LINES, Framing.HTTP])
@pytest.mark.parametrize("lost", ["before create was read", "later"])
def test_r21_a_call_that_is_sent_again_is_executed_once(framing: Framing, lost: str) -> None:
    talk = Conversation()

    def reach() -> Client:
        return talk.exchange() if framing is Framing.HTTP else talk.connect()

    first = reach()
    first.call(peer=MARKER, key=KEY, attempt="a.1")
    if lost == "later":
        talk.say(1)
    first.lose()
    talk.respond()
    again = reach()
    again.call(peer=MARKER, key=KEY, attempt="a.2", stream="s2", token=token_of("fresh"))
    assert messages(again) == [*messages(first), "result 7", "end"]
    assert talk.application() == ["start s1"]
    assert again.create.resume_token == token_of("s1")


@pytest.mark.rule("R21")
def test_r21_a_known_key_under_another_call_is_a_conflict() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(7, "s1", peer=MARKER, key=KEY)
    line.call(8, "s2", peer=MARKER, key=KEY, digest=b"another call")
    assert messages(line) == ["create", "error 8 key_conflict"]
    assert line.error.code == -32602


@pytest.mark.rule("R21", "W6")
def test_r21_the_key_is_looked_up_before_the_id() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call(7, "s1", peer=MARKER, key=KEY, attempt="a.1")
    line.call(7, "s2", peer=MARKER, key=KEY, attempt="a.2")
    talk.respond()
    assert messages(line) == ["create", "create", "result 7", "end"]


@pytest.mark.rule("R21")
@pytest.mark.parametrize(
    ("how", "reason"), [("cancelled", "cancelled"), ("abandoned", "abandoned"), ("acknowledged", "finished")]
)
def test_r21_a_call_whose_stream_is_gone_is_told_why_and_never_runs_again(how: str, reason: str) -> None:
    talk = Conversation(StreamsConfig(tombstone_ttl=10))
    line = talk.connect()
    line.call(peer=MARKER, key=KEY)
    match how:
        case "cancelled":
            line.cancelled(7)
        case "abandoned":
            line.lose()
            talk.wait(600)
        case _:
            talk.respond()
            line.ack(3)
    for number in range(2):
        other = talk.connect()
        other.call(peer=MARKER, key=KEY, stream=f"again {number}")
        assert messages(other) == [f"error 7 {reason}"]
        talk.wait(100)
    assert talk.state() is None
    assert [what for what in talk.application() if what.startswith("start")] == ["start s1"]


@pytest.mark.rule("R21")
def test_r21_a_key_is_remembered_for_its_time_and_none_is_forgotten_for_another() -> None:
    talk = Conversation(StreamsConfig(max_keys=2, key_ttl=1_000))
    line = talk.connect()
    line.call(1, "s1", peer=MARKER, key="1" * 22)
    talk.wait(500)
    line.call(2, "s2", peer=MARKER, key="2" * 22)
    talk.respond("s1")
    talk.respond("s2")
    line.call(3, "s3", peer=MARKER, key="3" * 22)
    assert messages(line)[-1] == "error 3 too_many_keys"
    talk.wait(500)
    line.call(3, "s3", peer=MARKER, key="3" * 22)
    assert messages(line)[-1] == "create"
    line.call(4, "s4", peer=MARKER, key="2" * 22, digest=b"another call")
    assert messages(line)[-1] == "error 4 key_conflict"


@pytest.mark.rule("R21", "R25")
def test_r21_nobody_meets_the_key_of_another_principal() -> None:
    talk = Conversation()
    ann, bob, nobody = talk.connect(principal="ann"), talk.connect(principal="bob"), talk.connect()
    for number, line in enumerate((ann, bob, nobody)):
        line.call(7, f"s{number}", peer=MARKER, key=KEY)
    assert talk.application() == ["start s0", "start s1", "start s2"]
    assert [messages(line) for line in (ann, bob, nobody)] == [["create"]] * 3


@pytest.mark.rule("R21", "Q9b")
@pytest.mark.parametrize("first", ["the call", "the cancellation"])
def test_r21_a_call_can_be_cancelled_by_its_key_even_before_it_comes(first: str) -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    if first == "the call":
        line.call(peer=MARKER, key=KEY)
        other.cancelled(key=KEY)
        other.cancelled(key=KEY)
        assert talk.application() == ["start s1", "cancel s1: cancelled"]
    else:
        other.cancelled(key=KEY)
        other.cancelled(key=KEY)
    line.call(peer=MARKER, key=KEY, stream="s2")
    assert messages(line)[-1] == "error 7 cancelled"
    assert talk.application() == []


@pytest.mark.rule("R22")
@pytest.mark.parametrize("state", ["live", "detached", "draining", "completed", "gone"])
def test_r22_a_token_cancels_from_anywhere_as_often_as_it_is_said(state: str) -> None:
    talk = Conversation(StreamsConfig(max_write_bytes=1))
    line = talk.connect()
    line.call(peer=MARKER)
    line.reads = state != "draining"
    if state == "detached":
        line.lose()
    if state in ("draining", "completed", "gone"):
        talk.respond()
    if state == "gone":
        line.ack(3)
    other = talk.connect()
    for request_id in (11, 12):
        other.cancel(request_id)
    assert messages(other) == ["result 11", "result 12"]
    assert talk.state() is StreamState.GONE
    assert talk.machine._registry.total_bytes == 0


@pytest.mark.rule("R22", "R9")
def test_r22_a_cancellation_is_confirmed_once_it_is_durable() -> None:
    talk = Conversation(StreamsConfig(durable=True))
    line = talk.connect()
    line.call(peer=MARKER)
    talk.prompt_disk = False
    other = talk.connect()
    other.cancel()
    assert talk.application() == ["start s1", "cancel s1: cancelled"]
    assert messages(other) == []
    talk.sync()
    assert messages(other) == ["result 11"]


@pytest.mark.rule("R24")
def test_r24_a_question_has_an_end_and_then_is_not_wanted_any_more() -> None:
    talk = Conversation(StreamsConfig(ask_timeout=600))
    exchange = talk.exchange(principal="ann")
    exchange.call()
    talk.ask("q1")
    talk.wait(600)
    assert talk.application() == ["start s1", "failed q1: timed out"]
    talk.exchange(principal="ann").answer("q1")
    assert talk.application() == []
    assert messages(exchange) == ["create", "ask q1", "withdrawn q1"]


@pytest.mark.rule("R24")
def test_r24_a_question_that_was_withdrawn_is_not_asked_again_and_its_answer_ignored() -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    talk.ask("q1")
    talk.withdraw("q1")
    talk.withdraw("q1")
    talk.withdraw("q1", "s2")
    line.answer("q1")
    assert talk.application() == ["start s1"]
    assert messages(line) == ["create", "ask q1", "withdrawn q1"]


@pytest.mark.rule("R24", "P12")
@pytest.mark.parametrize(
    ("method", "capability"),
    [("sampling/createMessage", "sampling"), ("elicitation/create", "elicitation"), ("roots/list", "roots")],
)
def test_r24_who_can_not_answer_is_not_asked(method: str, capability: str) -> None:
    talk = Conversation()
    line = talk.connect()
    line.call()
    talk.ask("q1", method=method)
    talk.ask("q2", method="ping")
    unable = capability != "sampling"
    assert messages(line) == ["create", *([] if unable else ["ask q1"]), "ping q2"]
    assert talk.application() == ["start s1", *(["failed q1: unsupported"] if unable else [])]


@pytest.mark.rule("R24", "R25")
def test_r24_without_a_principal_an_answer_counts_only_from_where_it_was_asked() -> None:
    talk = Conversation()
    line, other = talk.connect(), talk.connect()
    line.call()
    talk.ask("q1")
    other.answer("q1")
    assert talk.application() == ["start s1"]
    other.resume()
    line.answer("q1")
    assert talk.application() == []
    other.answer("q1")
    assert talk.application() == ["answered q1"]


@pytest.mark.rule("R24", "R25")
@pytest.mark.parametrize(
    ("token", "key", "counts"),
    [
        (token_of("s1"), None, True),
        (None, KEY, True),
        (Secret("guessed"), KEY, True),
        (token_of("s1"), "9" * 22, True),
        (token_of("s2"), None, False),
        (None, "9" * 22, False),
        (token_of("s2"), "9" * 22, False),
        (None, None, False),
    ],
)
def test_r24_or_from_whoever_shows_the_token_or_the_key(token: Secret | None, key: str | None, counts: bool) -> None:
    talk = Conversation()
    line, exchange, unknown = talk.connect(), talk.exchange(), talk.exchange()
    line.call(7, "s1", peer=MARKER, key=KEY)
    line.call(8, "s2", peer=MARKER)
    talk.ask("q1", "s1")
    line.lose()
    talk.application()
    exchange.answer("q1", token=token, key=key)
    unknown.answer("another id", token=token, key=key)
    assert talk.application() == (["answered q1"] if counts else [])
    assert [(client.body, client.chunks) for client in (exchange, unknown)] == [(BodyKind.EMPTY, [])] * 2


@pytest.mark.rule("R24", "R25", "Q11c")
@pytest.mark.parametrize(("owner", "who"), [("ann", "bob"), ("ann", None), (None, "ann")])
def test_r24_but_nobody_answers_for_another_principal(owner: str | None, who: str | None) -> None:
    talk = Conversation()
    line, other = talk.connect(principal=owner), talk.connect(principal=who)
    line.call(peer=MARKER, key=KEY)
    talk.ask("q1")
    other.answer("q1", token=token_of("s1"), key=KEY)
    assert talk.application() == ["start s1"]


@pytest.mark.rule("R24")
def test_r24_within_a_session_it_counts_on_every_exchange() -> None:
    talk = Conversation()
    exchange, same, other = talk.exchange("a"), talk.exchange("a"), talk.exchange("b")
    exchange.call()
    talk.ask("q1")
    other.answer("q1")
    assert talk.application() == ["start s1"]
    same.answer("q1")
    assert talk.application() == ["answered q1"]


@pytest.mark.rule("R25", "Q11c")
@pytest.mark.parametrize("owner", ["ann", None])
@pytest.mark.parametrize("who", ["ann", "bob", None])
def test_r25_a_token_opens_a_stream_for_its_principal_and_no_principal_is_none(
    owner: str | None, who: str | None
) -> None:
    talk = Conversation()
    line, other = talk.connect(principal=owner), talk.connect(principal=who)
    line.call()
    other.resume()
    assert messages(other) == (["create"] if owner == who else ["error 9 stream_not_found"])
