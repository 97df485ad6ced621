"""The world of streams itself: its name, its key, its secrets, and strangers who are told nothing."""

from __future__ import annotations

import itertools

import pytest

from mcpstreams_sansio import LocalProtocolError
from mcpstreams_sansio.ids import StreamId
from mcpstreams_sansio.server.table import STREAM_TABLE, StreamSignal, StreamState
from mcpstreams_sansio.testing import (
    Action,
    Bounds,
    Explorer,
    Peers,
    RecordedTable,
    StreamsWorld,
    Transport,
    Violation,
    digest,
    format_transcript,
    parse_transcript,
    record,
    replay,
)
from mcpstreams_sansio.testing.strangers import only_reply
from mcpstreams_sansio.testing.wires import Chunk, Close
from mcpstreams_sansio.wire.jsonrpc import Response
from tests.model.planted.fault import Fault
from tests.model.planted.secrets import token_is_ignored
from tests.model.planted.server_peers import anybody_may_answer
from tests.model.planted.server_streams import (
    late_loss_detaches_the_new_connection,
    machine_does_what_is_nearly_due,
    server_does_what_is_due_only_when_woken,
)
from tests.model.ways import walk

ENTROPY_LENGTH = 43


# ------------------------------------------------------------------------------------------------ its name


def test_a_world_is_made_again_from_its_setting() -> None:
    world = StreamsWorld(Transport.HTTP, Peers.DRAFT, Bounds(messages=3, cuts=2))
    assert world.setting() == "http draft messages=3 cuts=2"
    again = StreamsWorld.parse(world.setting())
    assert again.setting() == world.setting()
    assert again.key() == world.key()
    assert StreamsWorld.parse("multiplexed marker").setting() == "multiplexed marker"


@pytest.mark.parametrize(
    "setting", ["", "http", "pigeon marker", "http marker cuts", "http marker cuts=x", "http draft x=1"]
)
def test_what_is_no_setting_is_refused(setting: str) -> None:
    with pytest.raises(LocalProtocolError, match=r"no setting|no bound"):
        StreamsWorld.parse(setting)


# ------------------------------------------------------------------------------------------------ its key


def test_worlds_reached_by_different_ways_have_one_key() -> None:
    world = walk(StreamsWorld.parse("http marker messages=2"), "call k1", "connect", "up c1", "down c1")
    assert walk(world, "send k1", "down c1").key() == walk(world, "down c1", "send k1").key()


def test_names_of_connections_do_not_matter() -> None:
    world = walk(StreamsWorld.parse("multiplexed marker intrusions=2 polls=1"), "call k1", "connect", "up c1")
    assert walk(world, "intrude k1", "poll k1").key() == walk(world, "poll k1", "intrude k1").key()


def test_the_time_of_day_does_not_matter() -> None:
    world = walk(StreamsWorld.parse("http marker messages=0 cuts=2"), "call k1", "connect")
    once = walk(world, "cut c1", "wait", "cut c2", "wait")
    assert once.key() != walk(world, "cut c1", "wait").key()


def test_what_can_still_happen_matters() -> None:
    few, many = (walk(StreamsWorld.parse(f"http marker slow_takes={takes}"), "call k1") for takes in (1, 2))
    assert few.key() != many.key()


def test_what_need_not_happen_is_counted_beside_the_key() -> None:
    world = walk(StreamsWorld.parse("multiplexed marker cuts=2"), "connect")
    again = walk(StreamsWorld.parse("multiplexed marker cuts=2"), "connect", "cut c1", "notice c1", "connect")
    assert again.key() == world.key()
    assert sum(world.spent()) == 0
    assert sum(again.spent()) == 1


def test_a_loss_that_no_longer_matters_is_noticed_when_a_world_is_made_simpler() -> None:
    """As long as a stream is attached there it matters; afterwards nothing refers to the old connection any more."""
    world = walk(StreamsWorld.parse("multiplexed marker cuts=1"), "call k1", "connect", "up c1", "down c1", "cut c1")
    world.simplify()
    assert Action("notice", "c1") in world.actions()
    after = walk(world, "connect", "up c2", "wait", "up c2")
    assert Action("notice", "c1") in after.actions()
    after.simplify()
    assert Action("notice", "c1") not in after.actions()
    assert after.effects()[-1] == "server <- connection lost c1"


def test_a_loss_that_a_machine_can_not_bear_is_left_to_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the way to a fault would not say what the server was told."""
    late_loss_detaches_the_new_connection.plant(monkeypatch)
    path = ["call k1", "connect", "up c1", "succeed k1", "cut c1"]
    world = walk(StreamsWorld.parse("multiplexed marker messages=0 cuts=1"), *path)
    world.simplify()
    assert Action("notice", "c1") in world.actions()
    with pytest.raises(AssertionError):
        world.apply(Action("notice", "c1"))


def test_who_polls_a_stream_that_nobody_can_know_is_refused_and_that_is_all() -> None:
    world = walk(StreamsWorld.parse("multiplexed stock polls=1"), "call k1", "connect", "up c1")
    after = walk(world, "poll k1")
    assert (after.state.works, after.state.witness) == (world.state.works, world.state.witness)


@pytest.mark.parametrize(
    ("setting", "path", "lost"),
    [
        ("http stock cuts=1", ("call k1", "connect"), ["tools/call"]),
        (
            "http marker cuts=1",
            ("call k1", "connect", "up c1"),
            ["head", "notifications/stream/create", "position"],
        ),
        (
            "multiplexed marker asks=1 cuts=1",
            ("call k1", "connect", "up c1", "ask k1", "down c1", "down c1", "answer k1"),
            ["answer"],
        ),
        (
            "multiplexed marker messages=0 cuts=1",
            ("call k1", "connect", "up c1", "down c1", "succeed k1"),
            ["notifications/stream/end", "response"],
        ),
    ],
)
def test_what_was_on_its_way_on_a_connection_that_broke_is_lost(
    setting: str, path: tuple[str, ...], lost: list[str]
) -> None:
    world = walk(StreamsWorld.parse(setting), *path)
    assert not [goal for goal in world.goals() if goal.startswith("lost")]
    world.apply(Action("cut", "c1"))
    assert sorted(goal for goal in world.goals() if goal.startswith("lost")) == [f"lost: {each}" for each in lost]
    assert world.fork().state.lost == []


def test_a_fork_goes_its_own_way() -> None:
    world = walk(StreamsWorld.parse("multiplexed marker"), "call k1", "connect")
    before = world.key()
    fork = walk(world, "up c1", "send k1")
    assert world.key() == before
    assert fork.key() != before
    assert [str(action) for action in world.actions()] == ["up c1"]


# ------------------------------------------------------------------------------------------------ its secrets


@pytest.mark.rule("Q11b", "R3")
@pytest.mark.parametrize("setting", ["multiplexed marker asks=1 cuts=1 durable=1", "http marker cancels=1 cuts=1"])
def test_no_secret_stands_in_a_transcript(setting: str) -> None:
    explorer = Explorer(StreamsWorld.parse(setting), max_states=300, key_digest=digest)
    while explorer.advance(100):
        pass
    for goal in explorer.report().goals:
        text = format_transcript(record(StreamsWorld.parse(setting), explorer.path_to(goal)))
        assert "token-" not in text
        assert not any(len(word) >= ENTROPY_LENGTH for word in text.replace("/", " ").split())


def test_a_transcript_of_a_world_is_gone_again() -> None:
    world = StreamsWorld.parse("http marker cuts=1")
    path = [Action("call", "k1"), Action("connect"), Action("up", "c1"), Action("cut", "c1"), Action("wait")]
    text = format_transcript(record(world, path, ["a call is sent again"]))
    assert "client -> attempt made call 1 resend" in text
    again = StreamsWorld.parse(parse_transcript(text).setting)
    replay(again, parse_transcript(text))
    assert again.key() == walk(world, *map(str, path)).key()


# ------------------------------------------------------------------------------------------------ strangers


S1 = StreamId("stream-00001")


@pytest.mark.rule("R6", "R10")
def test_work_that_is_ahead_by_more_than_the_window_is_found() -> None:
    world = walk(StreamsWorld.parse("multiplexed marker messages=3 window=2"), "call k1", "connect", "up c1", "send k1")
    assert Action("send", "k1") not in world.actions()
    world.state.works[S1] = world.state.works[S1].go_on()
    world.apply(Action("send", "k1"))  # one of what was sent may be taken, and that may be known already
    with pytest.raises(Violation, match="no more than the window is ahead"):
        world.apply(Action("send", "k1"))


def test_a_stranger_is_told_one_thing_or_nothing() -> None:
    reply = Chunk(b'{"jsonrpc":"2.0","id":"visit","result":{}}')
    assert only_reply(()) is None
    assert only_reply((reply,)) == Response("visit", {})
    for told in ((reply, reply), (Close(),)):
        with pytest.raises(Violation, match="more than a reply"):
            only_reply(told)


def test_what_a_stranger_is_told_may_have_to_wait_for_the_disk() -> None:
    world = walk(StreamsWorld.parse("multiplexed marker polls=1 durable=1"), "call k1", "connect", "up c1", "logged")
    assert "server <- poll received visit visit stream-00001" in walk(world, "send k1", "poll k1").effects()


@pytest.mark.rule("P19", "R24")
@pytest.mark.parametrize(
    ("fault", "way", "text"),
    [
        pytest.param(token_is_ignored, (), "a wrong token does something", id="with a wrong token"),
        pytest.param(anybody_may_answer, ("ask k1",), "a stranger does something", id="without a token"),
    ],
)
def test_a_stranger_who_gets_anywhere_is_found(
    fault: Fault, way: tuple[str, ...], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = StreamsWorld.parse("multiplexed marker messages=0 asks=1 intrusions=1")
    world = walk(start, "call k1", "connect", "up c1", *way)
    fault.plant(monkeypatch)
    with pytest.raises(Violation, match=text):
        walk(world, "intrude k1")


# ------------------------------------------------------------------------------------------------ its tables


def test_a_recorded_table_is_the_table_and_remembers() -> None:
    table = RecordedTable(STREAM_TABLE)
    assert dict(table) == dict(STREAM_TABLE)
    assert len(table) == len(STREAM_TABLE) == len(list(itertools.product(StreamState, StreamSignal)))
    fresh = RecordedTable(STREAM_TABLE)
    cell = (StreamState.LIVE, StreamSignal.MESSAGE)
    assert fresh[cell] == STREAM_TABLE[cell]
    assert fresh.seen() == {cell: 1}
    assert cell not in fresh.unseen()
    assert (StreamState.LIVE, StreamSignal.POLL) in fresh.unseen()
    assert (StreamState.LIVE, StreamSignal.EXPIRY) not in fresh.unseen(), "it is forbidden"


# ---- time


@pytest.mark.rule("R13")
@pytest.mark.parametrize(
    ("fault", "way", "text"),
    [
        (
            machine_does_what_is_nearly_due,
            "cut c1, connect, wait",
            "early is no time: a machine that is woken too",
        ),
        (
            server_does_what_is_due_only_when_woken,
            "succeed k1, down c1, down c1, down c1, cut c1, connect, oversleep, poll k1",
            "what is due is done: a machine still waits",
        ),
    ],
)
def test_a_machine_does_what_is_due_and_only_that(
    fault: Fault, way: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    actions = ["call k1", "connect", "up c1", *way.split(", ")]
    setting = "multiplexed marker messages=0 cuts=1 oversleeps=1 polls=1"
    walk(StreamsWorld.parse(setting), *actions)
    with monkeypatch.context() as patch:
        fault.plant(patch)
        with pytest.raises(Violation, match=text):
            walk(StreamsWorld.parse(setting), *actions)
