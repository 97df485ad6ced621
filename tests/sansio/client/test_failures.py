"""Why a server cannot be talked to is told to whoever made a call, in words that can be shown (case I6)."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.client.effects import CallFinished, CallNotRun, ClientFailed, Doubt, NotRun, OutcomeUnknown
from mcpstreams_sansio.client.failures import MAX_SAID_LENGTH, Failure, Said, heard
from mcpstreams_sansio.client.inputs import LinkDown, MakeCall, MessageReceived, PathRefused
from mcpstreams_sansio.connections import BytesReceived, EndOfFile, Framing
from mcpstreams_sansio.http.exchange import Endpoint
from mcpstreams_sansio.http.messages import HeadReceived
from mcpstreams_sansio.ids import CallId, ConnectionId
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, encode_message
from tests.sansio.client.conversation import CONFIG, DRAFT, INSTANCE, Conversation, request_id
from tests.sansio.client.driving import ENDPOINT, JSON, SEED, Driven

REFUSAL = ErrorResponse(None, -32600, "this host name is not served")
ONE = ConnectionId(1)


# ---------------------------------------------------------------------------------------------------------- in words


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (Said(), ""),
        (Said(403), "403"),
        (Said(403, "not here"), "403: not here"),
        (Said(message="not here"), "not here"),
    ],
)
def test_what_was_said_is_shown_in_one_line(said: Said, shown: str) -> None:
    assert str(said) == shown


@given(st.text(max_size=3 * MAX_SAID_LENGTH), st.none() | st.integers(100, 599))
def test_whatever_a_server_says_is_short_and_on_one_line(message: str, status: int | None) -> None:
    said = heard(message, status)
    assert len(said.message) <= MAX_SAID_LENGTH
    assert not said.message or said.message.isprintable()
    assert said.status == status


def test_what_is_cut_shows_that_it_is() -> None:
    assert heard("x" * MAX_SAID_LENGTH).message == "x" * MAX_SAID_LENGTH
    assert heard("x" * (MAX_SAID_LENGTH + 1)).message == "x" * (MAX_SAID_LENGTH - 3) + "..."
    assert heard("one\n\ttwo\x1b[31m").message == "one two [31m"


@pytest.mark.rule("Q11b")
def test_a_credential_that_a_server_repeats_is_left_out() -> None:
    said = heard("no user has abcdefghijkl, not even abcdefghijkl", secrets=["abcdefghijkl"])
    assert said.message == "no user has ..., not even ..."


@pytest.mark.rule("Q11b")
def test_a_credential_is_a_long_word_in_a_header() -> None:
    headers = ((b"host", b"a.long.host.name"), (b"authorization", b"Bearer abcdefghijkl"), (b"x-key", b"short"))
    assert Endpoint(b"/mcp", headers).credentials == ("abcdefghijkl",)


# -------------------------------------------------------------------------------------------------- of the handshake


def failed(driven: Driven, *events: BytesReceived | HeadReceived | EndOfFile) -> tuple[CallFinished, ClientFailed]:
    """Return how the one call of a client ends, and the client."""
    finished, client = (each for each in driven.effects(*events) if isinstance(each, CallFinished | ClientFailed))
    assert isinstance(finished, CallFinished)
    assert isinstance(client, ClientFailed)
    return finished, client


def refusing(status: int, message: ErrorResponse = REFUSAL) -> list[BytesReceived | HeadReceived | EndOfFile]:
    """Refuse the request of the first exchange, and say why."""
    return [
        HeadReceived(ONE, status, (JSON,)),
        BytesReceived(ONE, encode_message(message), SEED),
        EndOfFile(ONE, SEED),
    ]


@pytest.mark.rule("H9")
def test_i6_over_http_the_status_and_the_words_of_a_refused_handshake_are_told() -> None:
    driven = Driven(ENDPOINT)
    driven.call()
    finished, client = failed(driven, *refusing(403))
    said = Said(403, "this host name is not served")
    assert finished.outcome == CallNotRun(NotRun.CLIENT_FAILED, Failure.HANDSHAKE_REFUSED, said)
    assert client == ClientFailed(Failure.HANDSHAKE_REFUSED, said)


def test_i6_a_call_that_is_made_later_hears_the_same() -> None:
    driven = Driven(ENDPOINT)
    driven.call()
    driven.effects(*refusing(403))
    (finished,) = driven.effects(MakeCall(CallId(2), "tools/call", None, SEED))
    assert isinstance(finished, CallFinished)
    said = Said(403, "this host name is not served")
    assert finished.outcome == CallNotRun(NotRun.CLIENT_FAILED, Failure.HANDSHAKE_REFUSED, said)


@pytest.mark.rule("Q11b")
def test_i6_a_server_that_repeats_what_it_was_sent_is_not_repeated() -> None:
    driven = Driven(attrs.evolve(ENDPOINT, headers=(*ENDPOINT.headers, (b"x-api-key", b"abcdefghijkl"))))
    driven.call()
    finished, _ = failed(driven, *refusing(403, attrs.evolve(REFUSAL, message="not you, abcdefghijkl")))
    assert isinstance(finished.outcome, CallNotRun)
    assert finished.outcome.said == Said(403, "not you, ...")


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"jsonrpc":"2.0","method":"x"}'])
def test_i6_a_refused_handshake_whose_words_can_not_be_read_is_refused_all_the_same(body: bytes) -> None:
    driven = Driven(ENDPOINT)
    driven.call()
    pieces = [BytesReceived(ONE, body, SEED)] if body else []
    finished, _ = failed(driven, HeadReceived(ONE, 403, (JSON,)), *pieces, EndOfFile(ONE, SEED))
    assert finished.outcome == CallNotRun(NotRun.CLIENT_FAILED, Failure.HANDSHAKE_REFUSED, Said(403))


def test_i6_words_that_do_not_come_are_not_waited_for() -> None:
    driven = Driven(ENDPOINT)
    driven.call()
    assert driven.heads(1, 403, JSON) == []
    assert driven.wait(CONFIG.reply_timeout) == [
        "drop c1: silent",
        "1: ends with not run: client failed @0",
        "failed: handshake refused",
    ]
    assert driven.wait(1_000.0) == []


def test_i6_words_that_are_lost_are_not_asked_for_again() -> None:
    driven = Driven(ENDPOINT)
    driven.call()
    driven.heads(1, 403, JSON)
    assert driven.cut(1) == ["1: ends with not run: client failed @0", "failed: handshake refused"]


def test_i6_the_confirmation_may_be_refused_in_words_too() -> None:
    driven = Driven(ENDPOINT)
    driven.call()
    driven.meets(1)
    two = ConnectionId(2)
    words = encode_message(attrs.evolve(REFUSAL, message="session-1 is not yours"))
    finished, _ = failed(driven, HeadReceived(two, 403, (JSON,)), BytesReceived(two, words, SEED), EndOfFile(two, SEED))
    said = Said(403, "... is not yours")
    assert finished.outcome == CallNotRun(NotRun.CLIENT_FAILED, Failure.HANDSHAKE_REFUSED, said)


def test_i6_without_credentials_the_status_says_it() -> None:
    driven = Driven(ENDPOINT)
    driven.call()
    finished, client = failed(driven, HeadReceived(ONE, 401, ()))
    assert finished.outcome == CallNotRun(NotRun.CLIENT_FAILED, Failure.UNAUTHORIZED, Said(401))
    assert client == ClientFailed(Failure.UNAUTHORIZED, Said(401))


@pytest.mark.parametrize("transport", [Framing.LINES, ENDPOINT], ids=["lines", "HTTP"])
def test_i6_an_error_in_answer_to_initialize_is_told(transport: Framing | Endpoint) -> None:
    driven = Driven(transport)
    driven.call()
    if transport is Framing.LINES:
        driven.connects(1)
    error = ErrorResponse(f"{INSTANCE}-link.1", -32602, "this name is taken")
    if transport is Framing.LINES:
        finished, _ = failed(driven, BytesReceived(ONE, encode_message(error) + b"\n", SEED))
    else:
        finished, _ = failed(driven, *refusing(200, error))
    assert isinstance(finished.outcome, CallNotRun)
    assert finished.outcome.said.message == "this name is taken"


# ------------------------------------------------------------------------------------------------------ of one call


@pytest.mark.rule("H9")
def test_the_status_of_a_refused_request_is_told() -> None:
    talk = Conversation(http=True)
    talk.link_up()
    talk.call()
    (finished,) = talk.effects(PathRefused(ONE, 413))
    assert isinstance(finished, CallFinished)
    assert finished.outcome == CallNotRun(NotRun.REFUSED, None, Said(413))


@pytest.mark.rule("Q10")
def test_the_words_of_a_refused_resume_are_told() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.creates()
    talk.link_down()
    talk.link_up()
    talk.wait(1.0)
    error = ErrorResponse(f"{request_id(1)}.1", -32601, "no such method")
    (finished,) = talk.effects(MessageReceived(ConnectionId(2), error))
    assert isinstance(finished, CallFinished)
    assert finished.outcome == OutcomeUnknown(Doubt.REFUSED, None, Said(message="no such method"))


@pytest.mark.rule("R21")
def test_the_words_of_a_call_that_is_refused_for_good_are_told() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    error = ErrorResponse(request_id(1), -32602, "the key names another call", {"reason": "key_conflict"})
    (finished,) = talk.effects(MessageReceived(ONE, error))
    assert isinstance(finished, CallFinished)
    assert finished.outcome == CallNotRun(NotRun.REFUSED, None, Said(message="the key names another call"))


@pytest.mark.rule("Q11b")
def test_neither_the_token_nor_the_key_of_a_call_is_among_the_words() -> None:
    talk = Conversation()
    talk.link_up()
    talk.call()
    talk.creates()
    saved = talk.detach()
    assert saved.key is not None
    assert saved.resume_token is not None
    talk.attach(saved)
    words = f"not {saved.key.reveal()}, nor {saved.resume_token.reveal()}"
    (finished,) = talk.effects(MessageReceived(ONE, ErrorResponse(f"{request_id(2)}.1", -32601, words)))
    assert isinstance(finished, CallFinished)
    assert finished.outcome == OutcomeUnknown(Doubt.REFUSED, None, Said(message="not ..., nor ..."))


def test_where_nobody_refused_nothing_was_said() -> None:
    talk = Conversation(server=DRAFT)
    talk.link_up()
    talk.call()
    (finished,) = talk.effects(LinkDown())
    assert isinstance(finished, CallFinished)
    assert finished.outcome == OutcomeUnknown(Doubt.CONNECTION_LOST)
