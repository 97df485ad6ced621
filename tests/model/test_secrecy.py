"""Where a token stands in a world: what shows it elsewhere is found, in bytes, records, effects and headers."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.client import effects as client
from mcpstreams_sansio.client.inputs import SavedCall
from mcpstreams_sansio.connections import Write
from mcpstreams_sansio.ids import CallId, ConnectionId, Digest, Secret, StreamId
from mcpstreams_sansio.server import effects as server
from mcpstreams_sansio.server.calls import Peer
from mcpstreams_sansio.server.records import EntryKind, EntryLogged, TokenAdded
from mcpstreams_sansio.testing import StreamsWorld, Violation
from mcpstreams_sansio.testing.frames import read_plain
from mcpstreams_sansio.testing.secrecy import check_wanted, check_wanted_by_client, check_written, tokens_in
from mcpstreams_sansio.testing.state import State
from mcpstreams_sansio.testing.work import Work
from mcpstreams_sansio.wire.jsonrpc import Notification, Request
from mcpstreams_sansio.wire.refusals import Reason

K1, C9, S1 = CallId(1), ConnectionId(1_000_009), StreamId("stream-00001")
TOKEN = Secret("token-00001")
SHOWN = "it is token-00001"
CREATE = (
    b'{"jsonrpc":"2.0","method":"notifications/stream/create","params":'
    b'{"stream":{"streamId":"stream-00001","resumeToken":"token-00001"}}}'
)
SAVED = SavedCall("instance-1", "x", None, 2, stream_id=S1, resume_token=TOKEN)


def two_calls_and_a_copy() -> State:
    """Return a world to which call 1 came as stream 1 and once more as stream 3, and call 2 as stream 2."""
    state = StreamsWorld.parse("multiplexed marker").state
    for number in (1, 2, 1):
        stream_id, _ = state.fresh_stream()
        state.arrived[stream_id] = Work(number, stream_id, number, "p", 0, 0)
    return state


def written(data: bytes) -> None:
    check_written(two_calls_and_a_copy(), data, read_plain(data))


@pytest.mark.rule("R3", "Q11b")
def test_a_create_holds_the_token_of_its_own_stream() -> None:
    written(CREATE)
    written(CREATE.replace(b"token-00001", b"token-00003"))
    for wrong in (b"token-00002", b"token-00001 token-00001"):
        with pytest.raises(Violation, match="the create of stream-00001 holds another token than its own"):
            written(CREATE.replace(b"token-00001", wrong))


@pytest.mark.rule("Q11b")
def test_nothing_else_that_is_written_holds_one() -> None:
    said = b'{"jsonrpc":"2.0","method":"x","params":{"token":"nothing"}}'
    written(said)
    with pytest.raises(Violation, match="a message that is no create"):
        written(said.replace(b"nothing", b"token-00001"))


@pytest.mark.rule("R3")
@pytest.mark.parametrize(
    "effect",
    [
        server.WriteLog(1, (EntryLogged(S1, 4, EntryKind.END, SHOWN.encode()),)),
        server.StartCall(S1, Request(7, "tools/call", {"arguments": [{"token": SHOWN}]}), Peer(), True),
        server.StartCall(S1, Request(7, "tools/call", {SHOWN: None}), Peer(), True),
    ],
)
def test_neither_a_record_nor_the_application_is_given_a_token(effect: server.StreamsEffect) -> None:
    with pytest.raises(Violation, match=f"a token is in {type(effect).__name__}"):
        check_wanted(effect)


def test_a_digest_is_no_token_and_what_is_written_is_looked_at_by_itself() -> None:
    check_wanted(server.WriteLog(1, (TokenAdded(S1, Digest(TOKEN.digest())),)))
    check_wanted(Write(C9, (CREATE,)))


@pytest.mark.rule("Q11b")
@pytest.mark.parametrize(
    "effect",
    [
        client.SendOnPath(C9, Notification("x"), SHOWN),
        client.ReadAgain(C9, SHOWN),
        client.ItemReceived(K1, 2, Notification("x", {"token": SHOWN})),
        client.CallFinished(K1, 2, client.CallResult({"token": SHOWN}), SAVED),
        client.UnclaimedMessage(C9, Notification("x", {"token": SHOWN})),
    ],
)
def test_a_client_shows_no_token_in_a_header_or_to_its_application(effect: client.ClientStreamsEffect) -> None:
    with pytest.raises(Violation, match=f"a token is in {type(effect).__name__}"):
        check_wanted_by_client(effect)


@pytest.mark.parametrize(
    "effect",
    [
        client.SendOnPath(C9, Request(7, "stream/resume", {"resumeToken": SHOWN}), "stream-00001_2"),
        client.SaveDue(K1, SAVED),
        client.CallDetached(K1, SAVED),
        client.CallFinished(K1, 2, client.CallLost(Reason.ABANDONED), SAVED),
    ],
)
def test_a_token_goes_to_the_server_and_to_where_a_call_is_kept(effect: client.ClientStreamsEffect) -> None:
    assert tokens_in(effect) == {"token-00001"}
    check_wanted_by_client(effect)
