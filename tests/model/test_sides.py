"""What a world makes of effects that no right machine has: each is a violation, or a slip of whoever calls it."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.client import effects as client
from mcpstreams_sansio.client.inputs import SavedCall
from mcpstreams_sansio.connections import EndWriting, Framing, Write
from mcpstreams_sansio.ids import CallId, ConnectionId, StreamId
from mcpstreams_sansio.server import effects as server
from mcpstreams_sansio.server.calls import Peer
from mcpstreams_sansio.testing import Bounds, Kind, Peers, StreamsWorld, Transport, Violation
from mcpstreams_sansio.testing.caller import Caller, Guarantee
from mcpstreams_sansio.testing.client_side import begin_exchange
from mcpstreams_sansio.testing.client_side import carry_out as carry_out_for_client
from mcpstreams_sansio.testing.conversation import call_params, message, success
from mcpstreams_sansio.testing.homes import FIRST
from mcpstreams_sansio.testing.narration import narrate
from mcpstreams_sansio.testing.server_side import carry_out as carry_out_for_server
from mcpstreams_sansio.testing.state import Role, State
from mcpstreams_sansio.testing.stores import Store
from mcpstreams_sansio.testing.wires import End, Wire
from mcpstreams_sansio.testing.work import Work, WorkState
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Notification, Request
from mcpstreams_sansio.wire.refusals import Reason, interrupted_error

K1, C9 = CallId(1), ConnectionId(1_000_009)
S1 = StreamId("stream-00001")
PING = Notification("ping")


CALLER = Caller(1, Guarantee.EXACTLY_ONCE)
WORK = Work(1, S1, 7, "p", messages=0, asks=0)


def state(
    transport: Transport = Transport.HTTP,
    peers: Peers = Peers.MARKER,
    bounds: Bounds = Bounds(),
    caller: Caller = CALLER,
) -> State:
    made = StreamsWorld(transport, peers, bounds).state
    made.callers[K1] = caller
    return made


def finished(outcome: client.Outcome) -> client.CallFinished:
    return client.CallFinished(K1, 1, outcome)


# ------------------------------------------------------------------------------------------------ the client


def test_a_client_sends_only_on_a_link_that_is_up() -> None:
    for transport in Transport:
        with pytest.raises(Violation):
            carry_out_for_client(client.SendOnPath(C9, PING), state(transport))


def test_a_client_sends_one_message_on_an_exchange() -> None:
    world = state()
    home = world.homes[FIRST]
    with pytest.raises(Violation, match="one message, one exchange"):
        begin_exchange(world, home, C9)
    at_home = home.connected(world.fresh_scope(), None)
    begin_exchange(world, at_home, C9)
    carry_out_for_client(client.SendOnPath(C9, PING), world)
    with pytest.raises(Violation, match="one message, one exchange"):
        begin_exchange(world, at_home, C9)


@pytest.mark.parametrize("effect", [client.LeavePath, client.PauseReading, client.ResumeReading])
def test_a_client_does_nothing_with_an_exchange_that_is_lost(
    effect: type[client.LeavePath | client.PauseReading | client.ResumeReading],
) -> None:
    world = state()
    with pytest.raises(Violation, match="lost is lost"):
        carry_out_for_client(effect(C9), world)
    world.put(Wire("c1", FIRST, Framing.HTTP, C9, C9, client=End.GONE, server=End.OPEN))
    with pytest.raises(Violation, match="lost is lost"):
        carry_out_for_client(effect(C9), world)


def test_nothing_is_missing_where_no_log_was_ever_full() -> None:
    with pytest.raises(Violation, match="call 1 misses messages"):
        carry_out_for_client(client.GapFound(K1, 4, 3), state())


def test_without_cursors_something_may_be_missing_if_it_is_told() -> None:
    world = state(Transport.MULTIPLEXED, Peers.DRAFT, caller=attrs.evolve(CALLER, guarantee=Guarantee.AT_LEAST_ONCE))
    carry_out_for_client(client.GapFound(K1, 4, 3), world)
    carry_out_for_client(client.ItemReceived(K1, 5, message(4, "p")), world)
    assert (world.callers[K1].seen, world.callers[K1].position) == (4, 5)
    carry_out_for_client(finished(client.CallResult({"number": 1})), world)


def test_a_question_is_asked_in_a_call_wherever_that_can_be_told() -> None:
    loose = client.AskReceived(None, "ask-00001", 0, "x", None)
    carry_out_for_client(loose, state(Transport.MULTIPLEXED, Peers.DRAFT))
    carry_out_for_client(client.AskWithdrawn(None, "ask-00001"), state(Transport.MULTIPLEXED, Peers.DRAFT))
    with pytest.raises(Violation, match="which call"):
        carry_out_for_client(loose, state())


def test_a_call_that_ran_is_not_said_to_have_not_run() -> None:
    world = state()
    world.witness.start(1, S1, None)
    with pytest.raises(Violation, match="is told that it did not"):
        carry_out_for_client(finished(client.CallNotRun(client.NotRun.UNREACHED)), world)


def test_a_call_that_was_said_not_to_have_run_never_runs() -> None:
    started = server.StartCall(S1, Request(7, "tools/call", call_params(1)), Peer(), True)
    with pytest.raises(Violation, match="was told that it never would"):
        carry_out_for_server(started, state(caller=attrs.evolve(CALLER, outcome="CallNotRun")))


@pytest.mark.parametrize(
    "outcome",
    [
        client.CallNotRun(client.NotRun.UNREACHED),
        client.CallLost(Reason.ABANDONED),
        client.OutcomeUnknown(client.Doubt.OUT_OF_BUDGET),
        client.OutcomeUnknown(client.Doubt.CONNECTION_LOST),
        client.CallCancelled(),
    ],
)
def test_no_call_is_given_up_while_it_can_be_had(outcome: client.Outcome) -> None:
    with pytest.raises(Violation, match=r"given up|never was"):
        carry_out_for_client(finished(outcome), state())


def test_a_call_may_be_given_up_for_a_reason() -> None:
    world = state(bounds=Bounds(hurries=1))
    world.left = world.left.spend("hurries")
    carry_out_for_client(finished(client.OutcomeUnknown(client.Doubt.OUT_OF_BUDGET)), world.fork())
    with pytest.raises(Violation, match="which no stream is"):
        carry_out_for_client(finished(client.CallLost(Reason.ABANDONED)), world.fork())
    world.witness.go(S1, Reason.ABANDONED)
    with pytest.raises(Violation, match="which no stream is"):
        carry_out_for_client(finished(client.CallLost(Reason.ABANDONED)), world.fork())
    world.arrived[S1] = Work(1, S1, 7, "p", 0, 0)
    carry_out_for_client(finished(client.CallLost(Reason.ABANDONED)), world)
    draft = state(peers=Peers.DRAFT)
    carry_out_for_client(finished(client.OutcomeUnknown(client.Doubt.CONNECTION_LOST)), draft)
    cancelled = state(caller=CALLER.cancel())
    carry_out_for_client(finished(client.CallCancelled()), cancelled)


def test_a_crash_leaves_callers_in_doubt_and_nothing_else() -> None:
    """Without a disk the server knows nothing any more; with one, work may be given up, and only then."""
    lost = client.CallLost(Reason.STREAM_NOT_FOUND)
    unknown = client.OutcomeUnknown(client.Doubt.SERVER_CHANGED)
    interrupted = client.OutcomeUnknown(client.Doubt.INTERRUPTED)
    failed = client.CallFailed(interrupted_error(7))
    crashed = state(bounds=Bounds(crashes=1))
    for outcome in (lost, unknown, interrupted):
        with pytest.raises(Violation, match="is given up"):
            carry_out_for_client(finished(outcome), crashed.fork())
    crashed.left = crashed.left.spend("crashes")
    for outcome in (lost, unknown):
        carry_out_for_client(finished(outcome), crashed.fork())
    told: list[tuple[client.Outcome, Peers]] = [(interrupted, Peers.MARKER), (failed, Peers.DRAFT)]
    for said, peers in told:
        world = state(peers=peers)
        with pytest.raises(Violation, match="call 1"):
            carry_out_for_client(finished(said), world.fork())
        world.works[S1] = Work(1, S1, 7, "p", 0, 0, WorkState.GIVEN_UP)
        carry_out_for_client(finished(said), world)
    with pytest.raises(Violation, match="did not fail"):
        carry_out_for_client(finished(failed), state())


def test_whatever_came_with_a_cursor_or_behind_a_token_can_be_had_again() -> None:
    lost = finished(client.OutcomeUnknown(client.Doubt.CONNECTION_LOST))
    given = attrs.evolve(CALLER, position=2)
    for transport, peers in ((Transport.HTTP, Peers.STOCK), (Transport.MULTIPLEXED, Peers.DRAFT)):
        with pytest.raises(Violation, match="given up: connection lost"):
            carry_out_for_client(lost, state(transport, peers, caller=given))
        carry_out_for_client(lost, state(transport, peers))
        crashed = state(transport, peers, Bounds(crashes=1), given)
        crashed.left = crashed.left.spend("crashes")
        carry_out_for_client(lost, crashed)
    carry_out_for_client(lost, state(Transport.MULTIPLEXED, Peers.STOCK, caller=given))
    ended = state(Transport.HTTP, Peers.STOCK, Bounds(sessions=1), given)
    ended.left = ended.left.spend("sessions")
    carry_out_for_client(lost, ended)


def test_a_call_that_is_let_go_starts_again_from_what_was_taken() -> None:
    caller = CALLER.see(client.ItemReceived(K1, 2, message(1, "p"))).take()
    seen = caller.see(client.ItemReceived(K1, 3, message(2, "p")))
    saved, again = seen.let_go(SavedCall("instance-1", "x", None, 2)).go_on()
    assert saved.taken == 2
    assert again == caller


# ------------------------------------------------------------------------------------------------ the server


@pytest.mark.parametrize(
    "effect",
    [Write(C9, (b"{}",)), EndWriting(C9), server.BeginBody(C9, server.BodyKind.JSON), server.StreamAttached(S1, C9)],
)
def test_a_server_does_nothing_with_a_connection_that_is_lost(effect: server.StreamsEffect) -> None:
    world = state()
    with pytest.raises(Violation, match="lost is lost"):
        carry_out_for_server(effect, world)
    world.put(Wire("c1", FIRST, Framing.HTTP, C9, C9, server=End.GONE))
    with pytest.raises(Violation, match="lost is lost"):
        carry_out_for_server(effect, world)


@pytest.mark.rule("R11")
def test_a_server_writes_once_at_a_time() -> None:
    world = state()
    world.put(Wire("c1", FIRST, Framing.MESSAGES, C9, C9, server=End.OPEN, writing=True))
    with pytest.raises(Violation, match="one write is outstanding"):
        carry_out_for_server(Write(C9, (b"{}",)), world)


@pytest.mark.parametrize("reason", [Reason.CANCELLED, Reason.ABANDONED])
def test_work_hears_that_nobody_wants_its_result(reason: Reason) -> None:
    world = state(bounds=Bounds(slow_stops=1))
    world.works[S1] = WORK
    with pytest.raises(Violation, match="nobody works in vain"):
        carry_out_for_server(server.StreamGone(S1, reason), world.fork())
    stopped = world.fork()
    stopped.works[S1] = WORK.become(WorkState.STOPPED)
    carry_out_for_server(server.StreamGone(S1, reason), stopped)
    world.left = world.left.spend("slow_stops")
    carry_out_for_server(server.StreamGone(S1, reason), world)


@pytest.mark.rule("Q7d")
def test_only_an_answer_expires() -> None:
    world = state()
    world.works[S1] = WORK.become(WorkState.STOPPED)
    with pytest.raises(Violation, match="lost is lost: the work on call 1 had no answer, and it is expired"):
        carry_out_for_server(server.StreamGone(S1, Reason.EXPIRED), world)


@pytest.mark.rule("R22")
@pytest.mark.parametrize("reason", [Reason.EXPIRED, Reason.ABANDONED])
def test_a_server_hears_of_a_cancellation_whatever_breaks_meanwhile(reason: Reason) -> None:
    gone = server.StreamGone(S1, reason)
    world = state(bounds=Bounds(cuts=1), caller=CALLER.cancel())
    over = WORK.become(WorkState.STOPPED if reason is Reason.ABANDONED else WorkState.SUCCEEDED)
    world.works[S1] = over
    with pytest.raises(Violation, match="a server hears of a cancellation"):
        carry_out_for_server(gone, world.fork())
    carry_out_for_server(server.StreamGone(S1, Reason.CANCELLED), world.fork())
    world.left = world.left.spend("cuts")
    if reason is Reason.ABANDONED:
        with pytest.raises(Violation, match="a server hears of a cancellation"):
            carry_out_for_server(gone, world)
    else:  # what came through before may have been the answer
        carry_out_for_server(gone, world)
    draft = state(peers=Peers.DRAFT, caller=CALLER.cancel())
    draft.works[S1] = over
    carry_out_for_server(gone, draft)


@pytest.mark.rule("Q4d", "R24")
def test_a_question_arrives_and_so_does_its_answer() -> None:
    failed = server.AskFailed(S1, "ask-00001", server.AskFailure.TIMED_OUT)
    asking = attrs.evolve(WORK, asks=1).ask("ask-00001")
    for caller, missing in (
        (CALLER, "nobody was asked"),
        (attrs.evolve(CALLER, asked=("ask-00001",)), "one was given"),
    ):
        world = state(caller=caller)
        world.works[S1] = asking
        with pytest.raises(Violation, match=missing):
            carry_out_for_server(failed, world)
    draft = state(peers=Peers.DRAFT)
    draft.works[S1] = asking
    carry_out_for_server(failed, draft)
    assert draft.works[S1].state is WorkState.RUNNING


def test_what_is_no_effect_is_refused() -> None:
    with pytest.raises(TypeError, match="no effect of a client"):
        carry_out_for_client(StreamsWorld, state())  # type: ignore[arg-type]  # that is what is tested
    with pytest.raises(TypeError, match="no effect of a server"):
        carry_out_for_server(StreamsWorld, state())  # type: ignore[arg-type]  # that is what is tested


# ------------------------------------------------------------------------------------------------ in words


def test_whatever_is_said_is_said_in_words() -> None:
    world = state()
    keepalive, error = b":\n\n", b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}'
    world.happened.append((Role.SERVER_WANTS, Write(C9, (keepalive, error, b"retry: 5\n\n"))))
    world.happened.append((Role.CLIENT_WANTS, finished(client.CallFailed(ErrorResponse(1, 7, "no")))))
    assert narrate(world) == [
        "server -> write elsewhere: nothing",
        "server -> write elsewhere: error -32603",
        "server -> write elsewhere: retry 5",
        "client -> call finished call 1 position 1 CallFailed",
    ]


# ------------------------------------------------------------------------------------------------ two clients of a call


SHARED = Caller(1, Guarantee.AT_MOST_ONCE)


def test_what_is_missing_is_with_another_client() -> None:
    behind = SHARED.miss(client.GapFound(K1, 3, 1))
    world = state(bounds=Bounds(rivals=1), caller=behind)
    with pytest.raises(Violation, match="message 1 of call 1 is gone"):
        carry_out_for_client(client.ItemReceived(K1, 4, message(2, "p")), world)
    world = state(bounds=Bounds(rivals=1), caller=behind)
    world.callers[CallId(2)] = attrs.evolve(SHARED, home="b", seen=1)
    carry_out_for_client(client.ItemReceived(K1, 4, message(2, "p")), world)
    assert world.callers[K1].missed == {1}


@pytest.mark.rule("R10")
@pytest.mark.parametrize(
    ("bounds", "guarantee", "most"),
    [
        (Bounds(room=300), Guarantee.AT_MOST_ONCE, 2),
        (Bounds(room=300, asks=1), Guarantee.AT_MOST_ONCE, 9),
        (Bounds(room=300, detaches=1), Guarantee.AT_MOST_ONCE, 9),
        (Bounds(room=300, client_crashes=1), Guarantee.AT_MOST_ONCE, 9),
        (Bounds(room=300, rivals=1), Guarantee.AT_MOST_ONCE, 9),
        (Bounds(), Guarantee.AT_LEAST_ONCE, 9),
    ],
)
def test_a_gap_tells_of_as_much_as_is_missing(bounds: Bounds, guarantee: Guarantee, most: int) -> None:
    for told in range(1, 10):
        world = state(bounds=bounds, caller=Caller(1, guarantee).miss(client.GapFound(K1, 3, told)))
        if 2 <= told <= most:
            carry_out_for_client(client.ItemReceived(K1, 4, message(3, "p")), world)
        else:
            with pytest.raises(Violation, match=rf"how many are missing: call 1 misses 2 messages, and .* of {told}"):
                carry_out_for_client(client.ItemReceived(K1, 4, message(3, "p")), world)


@pytest.mark.rule("R10")
def test_so_does_one_before_an_answer() -> None:
    world = state(bounds=Bounds(room=300), caller=Caller(1, Guarantee.AT_MOST_ONCE).miss(client.GapFound(K1, 3, 1)))
    world.works[S1] = attrs.evolve(WORK, sent=2)
    with pytest.raises(Violation, match="call 1 misses 2 messages, and was told of 1"):
        carry_out_for_client(finished(client.CallResult(success(7, 1).result)), world)


@pytest.mark.parametrize(
    ("reason", "other"),
    [
        (Reason.SUPERSEDED, SHARED),
        (Reason.SUPERSEDED, attrs.evolve(SHARED.cancel(), outcome="CallCancelled")),
        (Reason.FINISHED, attrs.evolve(SHARED, outcome="CallResult")),
        (Reason.CANCELLED, SHARED.cancel()),
    ],
)
def test_a_call_may_be_lost_to_another_client(reason: Reason, other: Caller) -> None:
    world = state(bounds=Bounds(rivals=1), caller=SHARED)
    with pytest.raises(Violation, match="given up while it can be had"):
        carry_out_for_client(finished(client.CallLost(reason)), world)
    world = state(bounds=Bounds(rivals=1), caller=SHARED)
    world.witness.gone[S1] = reason
    world.callers[CallId(2)] = attrs.evolve(other, home="b")
    carry_out_for_client(finished(client.CallLost(reason)), world)
    assert world.callers[K1].outcome == "CallLost"


def test_a_call_that_has_certainly_not_arrived_is_not_taken_up_elsewhere() -> None:
    world = StreamsWorld.parse("http marker messages=0 crashes=1 rivals=1")
    for kind in (Kind.CONNECT, Kind.CALL, Kind.CRASH, Kind.UP):
        world.apply(next(action for action in world.actions() if action.kind == kind))
    assert Kind.RIVAL in {action.kind for action in world.actions()}
    world.apply(next(action for action in world.actions() if action.kind == Kind.DOWN))
    assert "client <- path unsent c1" in world.effects()
    assert {action.kind for action in world.actions()} == {Kind.CONNECT}


def test_a_caller_that_keeps_its_answers_is_not_asked_again() -> None:
    world = state(caller=attrs.evolve(CALLER, store=Store()))
    with pytest.raises(Violation, match="call 1 is asked what was answered before"):
        carry_out_for_client(client.AskReceived(K1, "ask-00001", 2, "x", None), world)
