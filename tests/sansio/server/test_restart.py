"""A server that comes back from its log: nothing that anybody was told is contradicted, and no call runs twice."""

from __future__ import annotations

import attrs
import pytest

from mcpstreams_sansio.connections import DeadlineReached, Framing
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.ids import ConnectionId, Secret, StreamId
from mcpstreams_sansio.server.calls import Peer, StreamKind
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.effects import WorkInterrupted
from mcpstreams_sansio.server.identity import ServerIdentity
from mcpstreams_sansio.server.inputs import Recover, Respond
from mcpstreams_sansio.server.log import StreamLog
from mcpstreams_sansio.server.machine import PeerConnected, Server, ServerConfig
from mcpstreams_sansio.server.records import EntryKind, EntryLogged, StreamClosed
from mcpstreams_sansio.server.streams import ServerStreams
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.wire.jsonrpc import JSONObject, Request, Response
from mcpstreams_sansio.wire.refusals import Reason, interrupted_error
from mcpstreams_sansio.wire.streams import ResumeInterval
from tests.sansio.server.conversation import DRAFT, KEY, MARKER, STOCK, Client, Conversation
from tests.sansio.serving import MARKED, Serving
from tests.wording import whole

DURABLE = StreamsConfig(durable=True)


def conversation(config: StreamsConfig = DURABLE) -> Conversation:
    return Conversation(config)


def log_of(talk: Conversation) -> StreamLog:
    return talk.machine._registry.streams[StreamId("s1")].log


def calling(talk: Conversation) -> Client:
    """Return a client of ours with a call that has begun."""
    line = talk.connect()
    line.call(peer=MARKER, key=KEY, attempt="a.1")
    assert line.heard() == ["create"]
    assert talk.application() == ["start s1"]
    return line


# ------------------------------------------------------------------------------------------ what a client comes back to


@pytest.mark.rule("R1", "R4", "R9")
def test_a_client_goes_on_where_it_was_and_gets_the_very_bytes() -> None:
    talk = conversation()
    line = calling(talk)
    talk.say(1, 2, 3)
    talk.restart()
    other = talk.connect()
    other.resume(after=2, attempt="a.2")
    assert other.heard() == ["progress 2", "progress 3"]
    assert other.chunks == line.chunks[2:]
    talk.say(4)
    talk.respond()
    assert other.heard() == ["progress 4", "result 7", "end", "result 9"]


@pytest.mark.rule("R8")
def test_a_client_without_a_cursor_gets_all_that_is_not_confirmed() -> None:
    talk = conversation()
    line = talk.connect()
    line.call(peer=DRAFT)
    talk.say(1, 2)
    talk.restart()
    other = talk.connect()
    other.resume()
    assert other.heard() == ["progress 1", "progress 2"]


@pytest.mark.rule("R5")
def test_what_was_confirmed_is_not_kept_for_another_time() -> None:
    talk = conversation()
    line = calling(talk)
    talk.say(1, 2, 3)
    line.ack(3)
    talk.restart()
    other = talk.connect()
    other.resume(after=1, attempt="a.2")
    assert other.error.data == {"reason": "events_gone", "firstAvailable": 4, "lost": 2}
    other.resume(after=3, attempt="a.3")
    assert other.heard()[1:] == ["progress 3"]


@pytest.mark.rule("P17", "Q9a")
def test_a_completed_stream_is_delivered_to_its_end() -> None:
    talk = conversation()
    calling(talk)
    talk.say(1)
    talk.respond()
    talk.restart()
    assert (talk.state(), talk.application()) == (StreamState.COMPLETED, [])
    other = talk.connect()
    assert other.poll() == "completed pending"
    other.resume(after=1, attempt="a.2")
    assert other.heard() == ["progress 1", "result 7", "end", "result 9"]


@pytest.mark.rule("R6")
def test_an_acknowledgement_of_what_came_before_the_crash_is_believed() -> None:
    talk = conversation()
    calling(talk)
    talk.say(1)
    talk.respond()
    talk.restart()
    other = talk.connect()
    other.ack(4, token=Secret("token of s1"))
    assert talk.observed()[-1:] == ["s1 gone: finished"]


@pytest.mark.rule("R6")
def test_an_acknowledgement_of_what_never_was_is_not() -> None:
    talk = conversation()
    calling(talk)
    talk.restart()
    talk.prompt_disk = False
    talk.say(1)
    other = talk.connect()
    other.ack(2, token=Secret("token of s1"))
    talk.sync()
    other.resume(attempt="a.2")
    assert other.heard() == ["progress 1"]


@pytest.mark.rule("R3", "R21")
def test_a_call_that_is_sent_again_gets_create_anew_and_does_not_run_again() -> None:
    talk = conversation()
    calling(talk)
    talk.say(1)
    talk.restart()
    other = talk.connect()
    other.call(stream="s2", peer=MARKER, key=KEY, attempt="a.2", token=Secret("fresh"))
    assert other.heard() == ["create", "progress 1"]
    assert other.create.resume_token == Secret("fresh")
    assert talk.application() == ["interrupted s1 at 2"]
    talk.respond()
    assert other.heard() == ["result 7", "end"]


@pytest.mark.rule("R3")
def test_a_token_that_was_added_opens_the_stream_after_the_next_crash() -> None:
    talk = conversation()
    calling(talk)
    talk.restart()
    other = talk.connect()
    other.call(stream="s2", peer=MARKER, key=KEY, attempt="a.2", token=Secret("fresh"))
    talk.restart()
    third = talk.connect()
    third.resume(attempt="a.3", token=Secret("fresh"), after=1)
    talk.say(1)
    assert third.heard() == ["progress 1"]


@pytest.mark.rule("R3", "R9")
def test_a_token_that_was_not_durable_never_was() -> None:
    talk = conversation()
    calling(talk)
    talk.restart()
    talk.prompt_disk = False
    other = talk.connect()
    other.call(stream="s2", peer=MARKER, key=KEY, attempt="a.2", token=Secret("fresh"))
    assert other.heard() == []
    talk.restart(kept=0)
    third = talk.connect()
    third.resume(attempt="a.3", token=Secret("fresh"))
    assert third.heard() == ["error 9 stream_not_found"]


@pytest.mark.rule("R25", "Q11c")
def test_a_stream_is_still_its_principals() -> None:
    talk = conversation()
    talk.connect(principal="ann").call(peer=MARKER, key=KEY)
    talk.restart()
    bob, ann = talk.connect(principal="bob"), talk.connect(principal="ann")
    bob.resume(attempt="b.1")
    ann.resume(attempt="a.2", after=1)
    assert (bob.heard(), ann.heard()) == (["error 9 stream_not_found"], [])


@pytest.mark.rule("R14")
def test_attempts_begin_anew_so_that_an_older_one_has_the_stream_until_the_next() -> None:
    talk = conversation()
    calling(talk)
    talk.connect().resume(attempt="a.5", after=1)
    talk.restart()
    late, next_one = talk.connect(), talk.connect()
    late.resume(attempt="a.3", after=1)
    next_one.resume(attempt="a.6", after=1)
    talk.say(1)
    assert (late.heard(), next_one.heard()) == (["error 9 superseded"], ["progress 1"])
    late.resume(10, attempt="a.4", after=1)
    assert late.heard() == ["error 10 superseded"]


@pytest.mark.rule("R16", "Q9e")
def test_no_id_and_no_session_of_before_means_anything() -> None:
    talk = conversation()
    first = talk.exchange("session 1")
    first.call(peer=DRAFT)
    talk.restart()
    stranger, other = talk.exchange("session 1"), talk.exchange("session 1")
    stranger.cancelled(7)
    other.get(1)
    assert talk.state() is StreamState.DETACHED
    assert other.error.data == {"reason": "invalid_cursor"}
    talk.end_session("session 1")
    assert talk.state() is StreamState.DETACHED


# ---------------------------------------------------------------------------------------------------- what was at work


@pytest.mark.rule("R21", "R27")
def test_interrupted_work_can_be_ended_with_a_reason() -> None:
    talk = conversation()
    calling(talk)
    talk.restart()
    [interrupted] = [effect for effect in talk.effects if isinstance(effect, WorkInterrupted)]
    assert attrs.astuple(interrupted, recurse=False) == (StreamId("s1"), 7, "tools/call", MARKER, 1, (), ())
    talk.submit(Respond(interrupted.stream_id, interrupted_error(interrupted.request_id)))
    other = talk.connect()
    other.resume(after=1, attempt="a.2")
    assert other.heard() == ["error 7 interrupted", "end", "result 9"]


@pytest.mark.rule("R9", "R21")
def test_work_that_never_began_is_interrupted_too_since_nobody_knows() -> None:
    talk = Conversation(DURABLE, prompt_disk=False)
    talk.connect().call(peer=MARKER, key=KEY)
    talk.restart()
    assert talk.application() == ["interrupted s1 at 1"]


@pytest.mark.rule("R9", "R21")
def test_a_call_whose_record_was_lost_never_was_and_runs_when_it_comes_again() -> None:
    talk = Conversation(DURABLE, prompt_disk=False)
    line = talk.connect()
    line.call(peer=MARKER, key=KEY, attempt="a.1")
    talk.restart(kept=0)
    other = talk.connect()
    talk.prompt_disk = True
    other.call(stream="s2", peer=MARKER, key=KEY, attempt="a.2")
    assert (other.heard(), talk.application()) == (["create"], ["start s2"])


@pytest.mark.rule("R9")
def test_an_answer_that_was_not_durable_was_not_given() -> None:
    talk = conversation()
    calling(talk)
    talk.prompt_disk = False
    talk.respond()
    talk.restart(kept=0)
    assert talk.application() == ["interrupted s1 at 1"]


@pytest.mark.rule("P35", "R9")
def test_a_crash_between_the_records_of_response_and_end_leaves_a_stream_with_both() -> None:
    talk = conversation()
    calling(talk)
    talk.prompt_disk = False
    talk.respond()
    talk.restart(kept=1)
    assert (talk.state(), talk.application()) == (StreamState.COMPLETED, [])
    other = talk.connect()
    other.resume(after=1, attempt="a.2")
    assert other.heard() == ["result 7"]
    talk.sync()
    assert other.heard() == ["end", "result 9"]
    assert [record.kind for record in talk.records if isinstance(record, EntryLogged)][-1] is EntryKind.END


@pytest.mark.rule("R24")
def test_a_question_stays_open_and_its_answer_comes() -> None:
    talk = conversation()
    line = calling(talk)
    talk.ask("q1")
    line.ack(2)
    talk.restart()
    assert talk.application() == ["interrupted s1 at 2 asks q1"]
    other = talk.connect()
    assert other.poll() == "live pending request"
    other.resume(after=2, attempt="a.2")
    assert other.heard() == ["ask q1"]
    other.answer("q1")
    assert talk.application() == ["answered q1"]


@pytest.mark.rule("R24")
def test_an_answer_that_was_accepted_is_handed_over_and_not_asked_for_again() -> None:
    talk = conversation()
    line = calling(talk)
    talk.ask("q1")
    line.answer("q1")
    talk.application()
    talk.restart()
    assert talk.application() == ["interrupted s1 at 2 answered q1"]
    other = talk.connect()
    other.resume(after=2, attempt="a.2")
    assert other.heard() == []


@pytest.mark.rule("R24")
def test_a_withdrawn_question_is_not_asked_again() -> None:
    talk = conversation()
    calling(talk)
    talk.ask("q1")
    talk.withdraw("q1")
    talk.restart()
    assert talk.application() == ["interrupted s1 at 3"]
    other = talk.connect()
    other.resume(after=2, attempt="a.2")
    assert other.heard() == ["withdrawn q1"]


@pytest.mark.rule("R24")
def test_a_question_is_waited_for_as_long_as_if_it_were_new() -> None:
    talk = conversation(attrs.evolve(DURABLE, ask_timeout=10.0))
    calling(talk)
    talk.ask("q1")
    talk.wait(9.0)
    talk.restart()
    talk.application()
    talk.wait(9.0)
    assert talk.application() == []
    talk.wait(1.0)
    assert talk.application() == ["failed q1: timed out"]


@pytest.mark.rule("R6", "R10")
def test_an_application_that_is_too_far_ahead_waits_again() -> None:
    talk = conversation(attrs.evolve(DURABLE, window=3))
    calling(talk)
    talk.say(1, 2)
    talk.restart()
    assert talk.application() == ["hold s1", "interrupted s1 at 3", "hold s1"]
    other = talk.connect()
    other.ack(3, token=Secret("token of s1"))
    assert talk.application() == ["more s1"]


@pytest.mark.rule("P32", "Q7a")
def test_work_of_a_client_that_does_not_come_back_is_stopped_after_the_full_time() -> None:
    talk = conversation(attrs.evolve(DURABLE, max_interval=10.0))
    line = calling(talk)
    line.lose()
    talk.wait(9.0)
    talk.restart()
    talk.application()
    talk.wait(9.0)
    assert talk.application() == []
    talk.wait(1.0)
    assert talk.application() == ["cancel s1: abandoned"]


@pytest.mark.rule("R25")
def test_interrupted_work_counts_among_the_calls_of_its_owner() -> None:
    talk = conversation(attrs.evolve(DURABLE, max_calls_per_principal=1))
    talk.connect(address="192.0.2.1").call(peer=MARKER, key=KEY)
    talk.restart()
    same, other = talk.connect(address="192.0.2.1"), talk.connect(address="192.0.2.2")
    same.call(8, "s2", peer=MARKER)
    other.call(8, "s3", peer=MARKER)
    assert (same.heard(), other.heard()) == (["error 8 too_many_streams"], ["create"])


# --------------------------------------------------------------------------------------------------- what does not come


@pytest.mark.rule("R2", "R16")
def test_a_silent_stream_is_over_with_its_session() -> None:
    talk = conversation()
    talk.exchange().call(peer=STOCK)
    talk.restart()
    assert (talk.state(), talk.application()) == (None, ["start s1"])
    assert talk.records[-1] == StreamClosed(StreamId("s1"), Reason.EXPIRED, 0)


@pytest.mark.rule("R2", "Q7c")
@pytest.mark.parametrize("completes", [False, True])
def test_what_can_not_be_resumed_is_over(completes: bool) -> None:
    talk = conversation()
    line = talk.connect()
    line.reads = False
    line.call(peer=MARKER, interval=ResumeInterval(max=0))
    if completes:
        talk.respond()
    talk.restart()
    other = talk.connect()
    other.resume()
    assert other.heard() == ["error 9 not_resumable"]


@pytest.mark.rule("R21")
def test_a_key_without_a_stream_is_remembered() -> None:
    talk = conversation()
    talk.connect().call(peer=MARKER, kind=StreamKind.FLEETING, key=KEY)
    talk.restart()
    talk.restart()
    other = talk.connect()
    other.call(stream="s2", peer=MARKER, key=KEY)
    assert other.heard() == ["error 7 not_resumable"]
    other.call(stream="s3", peer=MARKER, key=KEY, digest=b"another call")
    assert other.heard() == ["error 7 key_conflict"]
    assert talk.application() == ["start s1"]


@pytest.mark.rule("R21")
def test_a_key_that_was_cancelled_first_never_starts_a_call() -> None:
    talk = conversation()
    talk.connect().cancelled(key=KEY)
    talk.restart()
    other = talk.connect()
    other.call(peer=MARKER, key=KEY)
    assert (other.heard(), talk.application()) == (["error 7 cancelled"], [])


@pytest.mark.rule("R21", "R25")
def test_each_owner_has_its_own_cancelled_keys_still() -> None:
    talk = conversation(attrs.evolve(DURABLE, max_cancelled_keys_per_principal=1))
    talk.connect(address="192.0.2.1").cancelled(key=KEY)
    talk.connect(address="192.0.2.2").cancelled(key=KEY.replace("0", "1"))
    talk.restart()
    other = talk.connect()
    other.call(peer=MARKER, key=KEY)
    assert other.heard() == ["error 7 cancelled"]


@pytest.mark.rule("R21", "Q7d")
def test_a_key_is_remembered_for_its_full_time_from_the_restart() -> None:
    talk = conversation(attrs.evolve(DURABLE, key_ttl=10.0, tombstone_ttl=1.0))
    line = calling(talk)
    line.cancel()
    talk.wait(9.0)
    talk.restart()
    talk.wait(9.0)
    other = talk.connect()
    other.call(stream="s2", peer=MARKER, key=KEY)
    assert other.heard() == ["error 7 cancelled"]
    talk.wait(1.0)
    other.call(stream="s3", peer=MARKER, key=KEY)
    assert other.heard() == ["create"]


@pytest.mark.rule("Q9a", "Q7d")
def test_a_tombstone_still_says_why() -> None:
    talk = conversation()
    calling(talk).cancel()
    talk.restart()
    other = talk.connect()
    other.resume(attempt="a.2")
    assert (other.heard(), other.poll()) == (["error 9 cancelled"], "error cancelled")


@pytest.mark.rule("P17", "Q9a")
def test_a_stream_that_was_delivered_whole_still_says_its_end() -> None:
    talk = conversation()
    line = calling(talk)
    talk.respond()
    line.ack(3)
    talk.restart()
    other = talk.connect()
    other.resume(attempt="a.2")
    assert other.heard() == ["end", "result 9"]


@pytest.mark.rule("Q9b")
def test_a_stream_that_is_cancelled_says_its_end_to_whom_it_was_announced_before() -> None:
    talk = conversation()
    calling(talk)
    talk.restart()
    other = talk.connect()
    other.resume(after=1, attempt="a.2")
    talk.connect().cancel()
    assert other.heard() == ["end", "result 9"]


# ------------------------------------------------------------------------------------------------------- what is full


@pytest.mark.rule("R7", "R10")
def test_what_was_dropped_for_room_is_dropped_in_the_next_process_too() -> None:
    talk = conversation(attrs.evolve(DURABLE, max_stream_bytes=4_000, keep_bytes=1))
    talk.connect().call(peer=DRAFT)
    talk.say(*range(1, 40), size=200)
    before, after = talk.connect(), talk.connect()
    before.resume(after=1)
    gone = before.error.data
    talk.restart()
    after = talk.connect()
    after.resume(after=1)
    assert after.error.data == gone


CROWDED = attrs.evolve(DURABLE, max_total_bytes=6_000, keep_bytes=1)


def unsent(peer: Peer) -> Conversation:
    """Return a server whose room is short since a restart, with a stream of which nothing but `create` was sent."""
    talk = conversation(CROWDED)
    line = talk.connect()
    line.call(peer=peer)
    line.lose()
    talk.say(*range(1, 20), size=200)
    talk.restart()
    talk.connect().call(8, "s2", peer=DRAFT)
    talk.say(*range(1, 12), stream="s2", size=200)
    return talk


@pytest.mark.rule("R8", "R10")
def test_what_was_never_sent_is_kept_for_a_client_that_could_not_be_told_of_its_loss() -> None:
    other = unsent(DRAFT).connect()
    other.resume()
    assert other.heard() == [f"progress {number}" for number in range(1, 20)]


@pytest.mark.rule("R8", "R10")
def test_what_such_a_client_was_sent_since_the_restart_makes_room_again() -> None:
    talk = unsent(DRAFT)
    other = talk.connect()
    other.resume()
    other.lose()
    talk.say(*range(12, 24), stream="s2", size=200)
    third = talk.connect()
    third.resume()
    assert third.heard()[0] != "progress 1"


@pytest.mark.rule("R5", "R10", "Q5c")
def test_what_may_have_been_sent_makes_room_where_its_client_is_told() -> None:
    other = unsent(MARKER).connect()
    other.resume(after=1, attempt="a.2")
    first = log_of(other.talk).first_available
    assert other.error.data == {"reason": "events_gone", "firstAvailable": first, "lost": first - 2}


@pytest.mark.rule("R10")
def test_a_full_log_takes_the_rest_where_its_client_is_told_what_is_gone() -> None:
    talk = conversation(attrs.evolve(DURABLE, max_stream_bytes=4_000))
    talk.connect().call(peer=MARKER)
    talk.say(1, 2, size=1_700)
    talk.restart()
    talk.respond(result={"text": "x" * 500})
    assert (talk.state(), talk.application()[-1]) == (StreamState.COMPLETED, "hold s1")
    other = talk.connect()
    other.resume(after=1, attempt="a.2")
    assert other.error.data == {"reason": "events_gone", "firstAvailable": 3, "lost": 1}
    other.resume(10, after=2, attempt="a.3")
    assert other.heard()[1:] == ["progress 2", "result 7", "end", "result 10"]


@pytest.mark.rule("R8", "R10")
def test_a_full_log_fails_where_it_could_only_be_emptied_in_silence() -> None:
    talk = conversation(attrs.evolve(DURABLE, max_stream_bytes=4_000))
    talk.connect().call(peer=DRAFT)
    talk.say(1, 2, size=1_700)
    talk.restart()
    talk.respond(result={"text": "x" * 500})
    other = talk.connect()
    other.resume()
    assert other.heard() == ["progress 1", "progress 2", "error 7 log_full", "end", "result 9"]


@pytest.mark.rule("R10")
@pytest.mark.parametrize("peer", [DRAFT, MARKER])
@pytest.mark.parametrize("restarts", [0, 1])
def test_completed_streams_make_room_after_a_restart_too(restarts: int, peer: Peer) -> None:
    talk = conversation(attrs.evolve(DURABLE, max_total_bytes=6_000, keep_bytes=1))
    for number in range(4):
        line = talk.connect()
        line.call(stream=f"s{number}", peer=peer)
        talk.respond(f"s{number}", {"text": "x" * 700})
        line.lose()
    for _ in range(restarts):
        talk.restart()
    noisy, other = talk.connect(), talk.connect()
    noisy.call(stream="noisy", peer=DRAFT)
    talk.say(1, stream="noisy", size=3_500)
    other.call(stream="new", peer=MARKER, key=KEY)
    assert other.heard() == ["create"]
    other.resume(stream="s0", attempt="a.1" if peer.marker else None)
    assert other.heard() == ["error 9 expired"]


@pytest.mark.rule("R10")
def test_those_go_first_whose_end_was_sent_for_certain() -> None:
    talk = conversation(attrs.evolve(DURABLE, max_total_bytes=4_000, keep_bytes=1))
    for number in range(4):
        talk.connect().call(stream=f"s{number}", peer=DRAFT)
        talk.respond(f"s{number}", {"text": "x" * 700})
    talk.restart()
    other = talk.connect()
    other.resume(stream="s3")
    assert other.heard() == ["result 7", "end", "result 9"]
    other.call(8, "new", peer=MARKER, key=KEY)
    talk.say(1, stream="new", size=500)
    assert [talk.state(f"s{number}") for number in range(4)] == [StreamState.COMPLETED] * 3 + [StreamState.GONE]


@pytest.mark.rule("R10")
def test_an_end_that_was_made_by_the_restart_was_not_sent() -> None:
    talk = conversation(attrs.evolve(DURABLE, max_total_bytes=4_000, keep_bytes=1))
    line = talk.connect()
    line.call(peer=MARKER)
    line.lose()
    talk.prompt_disk = False
    talk.respond(result={"text": "x" * 3_500})
    talk.restart(kept=1)
    talk.sync()
    talk.prompt_disk = True
    talk.connect().call(8, "new", peer=DRAFT)
    talk.say(1, stream="new", size=1_000)
    assert talk.state() is StreamState.COMPLETED


@pytest.mark.rule("R10")
def test_more_tombstones_than_are_kept_are_forgotten_oldest_first() -> None:
    talk = conversation()
    line = talk.connect()
    for number in range(1, 4):
        line.call(number, f"s{number}", peer=MARKER)
        line.cancel(100 + number, f"s{number}")
    talk.restart(config=attrs.evolve(DURABLE, max_tombstones=2))
    assert [talk.state(f"s{number}") for number in range(1, 4)] == [None, StreamState.GONE, StreamState.GONE]


# ----------------------------------------------------------------------------------------------------- how it is begun


@pytest.mark.rule("R13")
def test_recovering_is_the_first_thing_or_is_refused() -> None:
    for first in (DeadlineReached(), Recover(())):
        streams = ServerStreams(DURABLE)
        streams.handle(first, 0.0)
        with pytest.raises(LocalProtocolError, match=r"\Aa machine recovers before anything else, or not at all\Z"):
            streams.handle(Recover(()), 0.0)


@pytest.mark.rule("R13")
def test_only_what_keeps_a_log_recovers() -> None:
    with pytest.raises(LocalProtocolError, match=r"\Aonly a server with a durable log recovers anything\Z"):
        ServerStreams().handle(Recover(()), 0.0)


@pytest.mark.rule("R9", "R13")
def test_a_log_that_can_not_be_read_changes_nothing() -> None:
    streams = ServerStreams(DURABLE)
    before = streams.snapshot(0.0)
    words = "record 0, StreamClosed, cannot be read: its stream was not opened, or was closed, before"
    with pytest.raises(LocalProtocolError, match=whole(words)):
        streams.handle(Recover((StreamClosed(StreamId("s1"), Reason.EXPIRED, 0),)), 5.0)
    assert streams.snapshot(0.0) == before
    streams.handle(Recover(()), 1.0)


PROMISING = ServerConfig(identity=ServerIdentity(instance="the log's", durable=True), streams=DURABLE)
A_PEER = PeerConnected(ConnectionId(1), Framing.LINES)


@pytest.mark.rule("R13", "R21")
def test_a_server_that_promises_to_outlive_its_process_begins_with_its_log() -> None:
    server = Server(PROMISING)
    words = "a server whose streams outlive it begins with what its log holds"
    with pytest.raises(LocalProtocolError, match=whole(words)):
        server.handle(A_PEER, 0.0)
    assert server.handle(Recover(()), 0.0) == []
    server.handle(A_PEER, 0.0)
    with pytest.raises(LocalProtocolError, match=r"\Aa machine recovers before anything else, or not at all\Z"):
        server.handle(Recover(()), 0.0)


@pytest.mark.rule("R21")
def test_a_server_without_a_log_can_not_promise_it() -> None:
    words = "identity.durable needs streams.durable: without a log nothing outlives the process"
    with pytest.raises(ValueError, match=whole(words)):
        ServerConfig(identity=PROMISING.identity)


# --------------------------------------------------------------------------------------------- over every transport


def next_process(one: Serving) -> Serving:
    """Return a server that has begun with the log of another one."""
    records = tuple(record for batch in one.batches for record in batch.records)
    other = Serving(Server(PROMISING), inputs=one._inputs + 100)
    other.submit(Recover(records))
    return other


def first_process() -> Serving:
    return next_process(Serving(Server(PROMISING)))


def keyed_call() -> Request:
    meta: JSONObject = {"mcpstreams/key": KEY, "mcpstreams/attempt": "a.1", "progressToken": 1}
    return Request(1, "tools/call", {"name": "work", "_meta": meta})


def resume(ref: JSONObject, after: int) -> Request:
    return Request(2, "stream/resume", {**ref, "_meta": {"mcpstreams/after": after, "mcpstreams/attempt": "a.2"}})


@pytest.mark.rule("R16", "R21")
def test_over_http_a_client_begins_a_new_session_and_resumes_by_its_token() -> None:
    one = first_process()
    session = one.begin(MARKED)
    called = one.post(keyed_call(), session)
    one.notify(one.call.stream_id, 1)
    one.notify(one.call.stream_id, 2)
    other = next_process(one)
    assert other.post(resume(called.ref, 2), session).status == 404
    resumed = other.post(resume(called.ref, 2), other.begin(MARKED))
    [interrupted] = other.heard(WorkInterrupted)
    other.submit(Respond(interrupted.stream_id, Response(interrupted.request_id, {"content": []})))
    assert resumed.told == ["notifications/progress", 1, "notifications/stream/end", 2]
    assert [event.data for event in called.events][-1] in [event.data for event in resumed.events]
    assert other.calls == []


@pytest.mark.rule("R3", "R21")
@pytest.mark.parametrize("framing", [Framing.LINES, Framing.MESSAGES])
def test_on_a_line_a_client_that_has_heard_nothing_sends_its_call_again(framing: Framing) -> None:
    one = first_process()
    one.slow_disk = True
    line = one.greet(MARKED, framing=framing)
    one.send(line, keyed_call())
    assert line.messages == []
    other = next_process(one)
    again = other.greet(MARKED, framing=framing)
    other.send(again, keyed_call())
    assert (again.told, other.calls) == (["notifications/stream/create"], [])


@pytest.mark.rule("R24", "R21")
def test_a_key_still_proves_whose_question_it_is() -> None:
    talk = conversation()
    calling(talk)
    talk.ask("q1")
    talk.restart()
    talk.connect().answer("q1", key=KEY.upper())
    assert talk.application() == ["interrupted s1 at 2 asks q1"]
    talk.connect().answer("q1", key=KEY)
    assert talk.application() == ["answered q1"]


@pytest.mark.rule("R18", "P17")
def test_what_is_left_of_a_completed_stream_comes_as_events() -> None:
    talk = conversation()
    calling(talk)
    talk.respond()
    talk.restart()
    exchange = talk.exchange()
    exchange.resume(after=1, attempt="a.2")
    assert exchange.heard() == ["1", "2 result 7", "3 end", "- result 9"]


@pytest.mark.rule("W6", "Q3c")
def test_an_id_is_free_once_its_answer_was_delivered() -> None:
    talk = conversation()
    calling(talk)
    talk.respond()
    talk.restart()
    line = talk.connect()
    line.resume(after=1, attempt="a.2")
    line.call(7, "s2")
    assert line.heard() == ["result 7", "end", "result 9", "create"]
