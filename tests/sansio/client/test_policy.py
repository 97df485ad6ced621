"""What the client decides: the way back, the pause, the budget, and what a refusal means."""

from __future__ import annotations

import math

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.client.calls import Call, KnownStream, Way
from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.client.effects import Doubt
from mcpstreams_sansio.client.inputs import ServerTraits
from mcpstreams_sansio.client.policy import (
    VERDICTS,
    StatusVerdict,
    Verdict,
    back_off,
    find_way,
    judge_status,
    least_pause,
    luck,
    pause,
    within_budget,
)
from mcpstreams_sansio.ids import CallId, Entropy, Secret, StreamId
from mcpstreams_sansio.wire.refusals import Reason
from mcpstreams_sansio.wire.streams import ResumeInterval

CONFIG = ClientConfig(instance="a-client", retry_floor=1.0, retry_ceiling=30.0, key_margin=60.0, patience=300.0)
SERVER = ServerTraits(True, "server-1", 1_000.0)
NOW = 100.0


def call(
    *,
    sent: float | None = NOW,
    keyed: bool = True,
    stream: ResumeInterval | None = None,
    cursor: str | None = None,
) -> Call:
    made = Call(CallId(1), "id", "tools/call", None, "id", Entropy(b"x" * 32), first_sent=sent)
    if keyed:
        made.key, made.instance = Secret("key"), "server-1"
    if stream is not None:
        made.stream = KnownStream(StreamId("s"), Secret("token"), stream)
    if cursor is not None:
        made.positions.note_cursor(cursor)
    return made


# ------------------------------------------------------------------------------------------------------- the way back


def test_what_was_never_sent_is_sent() -> None:
    assert find_way(call(sent=None, stream=ResumeInterval()), SERVER, CONFIG, NOW) is Way.SEND


@pytest.mark.rule("P15")
def test_a_known_stream_is_resumed_whatever_else_is_known() -> None:
    assert find_way(call(stream=ResumeInterval(), cursor="e1"), SERVER, CONFIG, NOW) is Way.RESUME
    for cursor in (None, "e1"):
        unkeyed = call(stream=ResumeInterval(max=5), keyed=False, cursor=cursor)
        assert find_way(unkeyed, SERVER, CONFIG, NOW) is Way.RESUME
        assert find_way(unkeyed, ServerTraits(), CONFIG, NOW) is Way.RESUME


@pytest.mark.rule("Q7c")
def test_a_stream_whose_max_is_0_is_not_resumed() -> None:
    assert find_way(call(stream=ResumeInterval(max=0)), SERVER, CONFIG, NOW) is Doubt.CONNECTION_LOST
    silent = call(stream=ResumeInterval(max=0), keyed=False, cursor="e1")
    assert find_way(silent, SERVER, CONFIG, NOW) is Way.CURSOR


def test_a_call_that_nothing_names_is_brought_back_by_a_cursor_or_not_at_all() -> None:
    assert find_way(call(keyed=False, cursor="e1"), SERVER, CONFIG, NOW) is Way.CURSOR
    assert find_way(call(keyed=False), SERVER, CONFIG, NOW) is Doubt.CONNECTION_LOST


def test_c7_an_empty_cursor_brings_nothing_back() -> None:
    assert find_way(call(keyed=False, cursor=""), SERVER, CONFIG, NOW) is Doubt.CONNECTION_LOST


@pytest.mark.rule("R21")
def test_a_keyed_call_without_a_stream_is_sent_again_and_not_sought_by_a_cursor() -> None:
    assert find_way(call(cursor="e1"), SERVER, CONFIG, NOW) is Way.RESEND


@pytest.mark.rule("R21")
def test_a_key_is_not_sent_to_a_server_that_can_not_know_it() -> None:
    other = attrs.evolve(SERVER, instance="server-2")
    assert find_way(call(), other, CONFIG, NOW) is Doubt.SERVER_CHANGED
    assert find_way(call(), ServerTraits(), CONFIG, NOW) is Doubt.SERVER_CHANGED


@pytest.mark.rule("R21")
def test_a_key_is_not_sent_when_the_server_may_forget_it_before_it_arrives() -> None:
    assert find_way(call(sent=NOW), SERVER, CONFIG, NOW + 940.0) is Way.RESEND
    assert find_way(call(sent=NOW), SERVER, CONFIG, NOW + 940.5) is Doubt.KEY_TOO_OLD


# ---------------------------------------------------------------------------------------------------------- the pause


@pytest.mark.rule("Q7g", "P26", "H16")
def test_the_longest_of_what_the_server_asks_for_is_waited_for() -> None:
    assert least_pause(CONFIG, ResumeInterval(min=3), 5.0) == 5.0
    assert least_pause(CONFIG, ResumeInterval(min=7), 5.0) == 7.0
    assert least_pause(CONFIG, ResumeInterval(min=3, max=3), None) == 3.0
    assert least_pause(CONFIG, ResumeInterval(), None) == 1.0


@pytest.mark.rule("Q7g")
def test_a_minimum_above_the_maximum_is_ignored() -> None:
    assert least_pause(CONFIG, ResumeInterval(min=9, max=8), None) == 1.0


def test_g6_a_server_that_asks_for_no_pause_gets_the_floor() -> None:
    assert least_pause(CONFIG, ResumeInterval(min=0), 0.0) == 1.0
    quick = attrs.evolve(CONFIG, retry_floor=0.1)
    assert least_pause(quick, ResumeInterval(), None) == 0.1
    assert least_pause(quick, ResumeInterval(), 0.5) == 0.5


@pytest.mark.rule("Q7g")
def test_jitter_makes_a_pause_longer_by_at_most_its_part() -> None:
    config = attrs.evolve(CONFIG, retry_jitter=0.5)
    assert [pause(config, ResumeInterval(), 1.0, 2, fortune) for fortune in (0.0, 0.5, 1.0)] == [4.0, 5.0, 6.0]
    assert pause(config, ResumeInterval(), 8.0, 2, 0.5) == 10.0, "also one that the server asks for"


def test_pauses_grow_up_to_the_ceiling() -> None:
    pauses = [pause(CONFIG, ResumeInterval(), 1.0, tries, 0.0) for tries in range(8)]
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]


@pytest.mark.parametrize(
    ("floor", "ceiling", "factor", "pauses"),
    [
        (2.0, 10.0, 2.0, [2.0, 4.0, 8.0, 10.0, 10.0]),
        (0.5, 3.0, 2.0, [0.5, 1.0, 2.0, 3.0, 3.0]),
        (1.0, 1.5, 1.25, [1.0, 1.25, 1.5, 1.5, 1.5]),
    ],
)
def test_wherever_they_begin_they_grow_by_the_factor(
    floor: float, ceiling: float, factor: float, pauses: list[float]
) -> None:
    config = attrs.evolve(CONFIG, retry_floor=floor, retry_ceiling=ceiling, retry_factor=factor)
    assert [back_off(config, tries) for tries in range(5)] == pauses


@pytest.mark.parametrize("tries", [33, 10_000, 10**9])
@pytest.mark.parametrize("factor", [1.0, 1.5, 2.0, 1e300])
def test_x5_a_pause_never_overflows(tries: int, factor: float) -> None:
    expected = 1.0 if factor == 1.0 else 30.0
    assert back_off(attrs.evolve(CONFIG, retry_factor=factor), tries) == expected


def test_a_floor_above_the_ceiling_holds() -> None:
    config = attrs.evolve(CONFIG, retry_floor=60.0)
    assert pause(config, ResumeInterval(), least_pause(config, ResumeInterval(), None), 0, 0.0) == 60.0


@pytest.mark.rule("Q7g")
def test_what_the_client_adds_stays_below_the_maximum() -> None:
    assert pause(CONFIG, ResumeInterval(max=20), 1.0, 20, 0.99) == 10.0
    assert pause(CONFIG, ResumeInterval(max=20), 15.0, 20, 0.99) == 15.0, "what the server asks for, it gets"


@pytest.mark.rule("P26", "Q7g")
@pytest.mark.parametrize("tries", [0, 5, 100])
def test_a_minimum_above_half_of_the_maximum_is_waited_for_all_the_same(tries: int) -> None:
    interval = ResumeInterval(min=15, max=20)
    assert pause(CONFIG, interval, least_pause(CONFIG, interval, None), tries, 0.99) == 15.0


@given(
    st.floats(0, 1, exclude_max=True),
    st.integers(0, 10**6),
    st.one_of(st.none(), st.floats(0, 1e6)),
    st.one_of(st.none(), st.floats(0, 1e6)),
    st.one_of(st.none(), st.floats(0, 1e6)),
)
@pytest.mark.rule("Q7g", "H16")
def test_no_pause_is_shorter_than_asked_or_endless(
    fortune: float, tries: int, asked: float | None, lowest: float | None, highest: float | None
) -> None:
    interval = ResumeInterval(lowest, highest)
    least = least_pause(CONFIG, interval, asked)
    waited = pause(CONFIG, interval, least, tries, fortune)
    assert waited >= max(CONFIG.retry_floor, asked or 0.0)
    assert least <= waited < math.inf
    assert waited <= max(least, CONFIG.retry_ceiling) * (1 + CONFIG.retry_jitter)


def test_luck_comes_from_the_calls_entropy_and_nothing_else() -> None:
    entropy = Entropy(b"s" * 32)
    throws = [luck(entropy, f"pause {number}") for number in range(200)]
    assert throws == [luck(entropy, f"pause {number}") for number in range(200)]
    assert all(0 <= throw < 1 for throw in throws)
    assert len(set(throws)) == 200
    assert 0.4 < sum(throws) / 200 < 0.6
    assert throws != [luck(Entropy(b"t" * 32), f"pause {number}") for number in range(200)]


# --------------------------------------------------------------------------------------------------------- the budget


def test_g1_attempts_in_vain_are_counted() -> None:
    config = attrs.evolve(CONFIG, max_attempts=3)
    tried = call()
    for _ in range(3):
        assert within_budget(tried, config, NOW, 1.0)
        tried.efforts.begin()
    assert not within_budget(tried, config, NOW, 1.0)
    tried.efforts.progress()
    assert within_budget(tried, config, NOW, 1.0)


def test_all_attempts_are_counted_too() -> None:
    config = attrs.evolve(CONFIG, max_total_attempts=2)
    tried = call()
    for _ in range(2):
        tried.efforts.begin()
        tried.efforts.progress()
    assert not within_budget(tried, config, NOW, 1.0)


def test_g6_a_pause_beyond_the_patience_is_not_begun() -> None:
    stranded = call()
    stranded.efforts.stranded_at = NOW - 200.0
    assert within_budget(stranded, CONFIG, NOW, 100.0)
    assert not within_budget(stranded, CONFIG, NOW, 100.5)
    assert within_budget(call(), CONFIG, NOW, 300.0)


# -------------------------------------------------------------------------------------------------------- the refusal


@pytest.mark.rule("Q10")
def test_every_reason_has_a_meaning() -> None:
    assert set(VERDICTS) == set(Reason)


@pytest.mark.rule("P34", "Q10")
def test_what_is_gone_for_good_is_final_and_what_passes_is_not() -> None:
    final = {reason for reason, verdict in VERDICTS.items() if verdict is Verdict.FINAL}
    assert {Reason.ABANDONED, Reason.EXPIRED, Reason.CANCELLED, Reason.STREAM_NOT_FOUND} <= final
    later = {reason for reason, verdict in VERDICTS.items() if verdict is Verdict.LATER}
    assert {Reason.TOO_EARLY, Reason.DRAINING} <= later


@pytest.mark.parametrize(
    ("verdict", "statuses"),
    [
        (StatusVerdict.LATER, [409, 423, 425, 429]),
        (StatusVerdict.NOT_OFFERED, [405, 501]),
        (StatusVerdict.FAILED, [408, 500, 502, 503, 504, 599]),
        (StatusVerdict.FINAL, [300, 301, 400, 401, 403, 404, 406, 410, 413, 415, 422]),
    ],
)
def test_a_status_is_judged_by_its_number(verdict: StatusVerdict, statuses: list[int]) -> None:
    assert {judge_status(status) for status in statuses} == {verdict}


@given(st.integers(100, 999))
def test_no_status_is_without_a_meaning(status: int) -> None:
    assert judge_status(status) in StatusVerdict
