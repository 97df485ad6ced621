"""Cursors: unknown, evicted, foreign, too high (group C: in the server's streams)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.server.config import StreamsConfig
from tests.sansio.server.conversation import Client, Conversation, token_of

SMALL = StreamsConfig(max_stream_bytes=4_000)


def asked(case: str) -> Client:
    """Return an exchange that came with a cursor."""
    talk = Conversation(SMALL)
    exchange = talk.exchange("a", principal="ann")
    exchange.call()
    talk.say(*range(10), size=900)
    exchange.lose()
    foreign = case == "foreign"
    client = talk.exchange("b" if foreign else "a", principal="bob" if foreign else "ann")
    match case:
        case "evicted":
            client.resume(after=1)
        case "too high":
            client.resume(after=12)
        case "unknown":
            client.resume(stream="s2", token=token_of("s1"), after=1)
        case _:
            client.resume(after=1)
    return client


@pytest.mark.rule("Q5c", "Q10", "R10")
def test_c1_each_failure_is_told_apart_but_unknown_and_foreign_which_are_the_same_to_the_byte() -> None:
    reasons = {case: asked(case).heard() for case in ("unknown", "foreign", "evicted", "too high")}
    assert reasons == {
        "unknown": ["error 9 stream_not_found"],
        "foreign": ["error 9 stream_not_found"],
        "evicted": ["error 9 events_gone"],
        "too high": ["error 9 invalid_cursor"],
    }
    assert asked("unknown").chunks == asked("foreign").chunks


@pytest.mark.rule("R10", "T27")
def test_c1_an_evicted_cursor_is_told_the_first_position_and_the_count_and_goes_on_from_there() -> None:
    client = asked("evicted")
    assert client.error.data == {"reason": "events_gone", "firstAvailable": 9, "lost": 7}
    again = client.talk.exchange("a", principal="ann")
    again.resume(10, after=8)
    assert again.heard() == ["8", "9 progress 7", "10 progress 8", "11 progress 9"]


@pytest.mark.rule("Q11h")
@pytest.mark.parametrize("limit", [name for name in dir(StreamsConfig()) if name.startswith("max_")])
@pytest.mark.parametrize("value", [0, -1])
def test_c10_a_limit_of_nothing_is_refused(limit: str, value: int) -> None:
    words = "a positive number of seconds" if limit == "max_interval" else "at least 1"
    with pytest.raises(ValueError, match=rf"\A{limit} must be {words}\Z"):
        StreamsConfig(**{limit: value})  # type: ignore[arg-type]  # each of them is a number


@pytest.mark.rule("R10", "R11")
def test_c10_a_limit_of_one_works() -> None:
    few = dict.fromkeys(["max_streams", "max_tombstones", "max_asks", "max_tokens", "max_keys", "max_write_bytes"], 1)
    talk = Conversation(StreamsConfig(window=1, **few))  # type: ignore[arg-type]  # each of them is a number
    line = talk.connect()
    line.call()
    talk.say(1)
    talk.ask()
    talk.respond()
    assert line.heard() == ["create", "progress 1", "ask q1", "result 7", "end"]
    line.ack(5)
    line.call(8, "s2")
    line.cancelled(8)
    assert line.poll("s1") == "error stream_not_found"
    assert line.poll("s2") == "error cancelled"
