"""Clients that kept what nobody needed any more, or took in whatever came (group J: the client's side)."""

from __future__ import annotations

import attrs

from mcpstreams_sansio.wire.jsonrpc import Response, encode_message
from tests.cases.clients import CALL, QUIET, announced
from tests.sansio.client.conversation import Conversation
from tests.sansio.client.driving import EVENTS, Driven


def test_j3_after_many_calls_every_book_is_empty() -> None:
    talk = Conversation()
    talk.link_up()
    empty = talk.streams.snapshot(talk.now)
    for number in range(1, 301):
        talk.call()
        talk.creates(number=number)
        talk.asks(2, f"q{number}", number=number)
        talk.answer(f"q{number}", number)
        talk.progresses(3, number=number)
        talk.take(3, number)
        talk.responds(4, number=number)
        talk.ends(5, number=number)
    assert talk.streams.snapshot(talk.now) == empty


def test_j8_endless_data_lines_are_refused_at_the_limit_and_not_asked_for_again() -> None:
    driven = announced(attrs.evolve(QUIET, max_event_size=1_000))
    driven.cut(CALL)
    driven.wait(1.0)
    driven.heads(4, 200, EVENTS)
    texts: list[str] = []
    for _ in range(1_000):
        texts += driven.receives(4, b"data: x\n")
    assert texts == [
        "c4: unreadable: the data of an event is longer than 1000 bytes",
        "1: ends with doubt: unreadable @1",
        "drop c4: unreadable",
    ]
    assert driven.wait(1_000.0) == []


def test_j8_a_line_without_an_end_is_refused_at_the_limit_and_costs_only_itself() -> None:
    driven = Driven(config=attrs.evolve(QUIET, max_line_size=1_000))
    driven.is_up()
    driven.call()
    texts: list[str] = []
    for _ in range(100):
        texts += driven.receives(1, b"x" * 100)
    assert texts == ["c1: unreadable: a line is longer than 1000 bytes"]
    answer = encode_message(Response("instance-1", {}))
    assert driven.receives(1, b"\n" + answer + b"\n") == ["1: ends with result @1"]
