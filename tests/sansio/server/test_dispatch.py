"""What each message of a peer means for streams, on every transport."""

from __future__ import annotations

from collections.abc import Sequence

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.errors import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND
from mcpstreams_sansio.ids import ConnectionId, Entropy, RequestId, Secret, StreamId
from mcpstreams_sansio.server.calls import BodyPolicy, Peer, StreamKind
from mcpstreams_sansio.server.dispatch import Circumstances, NotificationReceived, Routed, route
from mcpstreams_sansio.server.inputs import (
    Accept,
    AckReceived,
    AnswerReceived,
    CallReceived,
    CancelledReceived,
    CancelReceived,
    PollReceived,
    Reply,
    ResumeReceived,
)
from mcpstreams_sansio.server.policies import StreamPolicies, StreamPolicy
from mcpstreams_sansio.wire.digest import call_digest
from mcpstreams_sansio.wire.jsonrpc import (
    ErrorResponse,
    JSONObject,
    JSONValue,
    Message,
    Notification,
    Request,
    Response,
)
from mcpstreams_sansio.wire.marker import Attempt
from mcpstreams_sansio.wire.refusals import Reason, refusal
from mcpstreams_sansio.wire.revisions import AfterLoss, Revision
from tests.sansio.said import KEY, MESSAGES

HERE = ConnectionId(7)
STOCK, DRAFT, MARKED = Peer(), Peer(streams=True), Peer(streams=True, marker=True)
TOKEN = "the token"
REF: JSONObject = {"streamId": "s", "resumeToken": TOKEN}
ACK: JSONObject = {
    "mcpstreams/ack": [{"streamId": "s", "through": 3}, {"streamId": "t", "through": 4, "resumeToken": "x"}]
}
ACKED: list[Routed] = [
    AckReceived(HERE, StreamId("s"), 3, None),
    AckReceived(HERE, StreamId("t"), 4, Secret("x")),
]


def at(peer: Peer = MARKED, framing: Framing = Framing.LINES, cursor: str | None = None) -> Circumstances:
    seed = Entropy(b"the seed of this one input")
    return Circumstances(HERE, framing, peer, Revision.R2025_11_25, StreamPolicies(), seed, 0, last_event_id=cursor)


def with_meta(params: JSONObject | None, meta: JSONValue) -> JSONObject:
    return {**(params or {}), "_meta": meta}


def errors(routed: Sequence[Routed]) -> list[tuple[RequestId | None, int, str]]:
    """Return id, code and words of each error, of which alone the messages consist."""
    found = []
    for event in routed:
        assert isinstance(event, Reply)
        assert isinstance(event.message, ErrorResponse)
        found.append((event.message.id, event.message.code, event.message.message))
    return found


def only_call(routed: Sequence[Routed]) -> CallReceived:
    [call] = routed
    assert isinstance(call, CallReceived)
    return call


def only_resume(routed: Sequence[Routed]) -> ResumeReceived:
    [resume] = routed
    assert isinstance(resume, ResumeReceived)
    return resume


EVERYWHERE = pytest.mark.parametrize("framing", Framing)

# ------------------------------------------------------------------------------------------------------------ requests


@EVERYWHERE
@pytest.mark.parametrize("peer", [STOCK, DRAFT, MARKED])
def test_a_ping_is_answered_at_once(framing: Framing, peer: Peer) -> None:
    assert route(Request("p", "ping"), at(peer, framing)) == [Reply(HERE, Response("p", {}))]


@EVERYWHERE
@pytest.mark.rule("P27")
def test_a_poll_names_a_stream_and_its_token(framing: Framing) -> None:
    asked = Request(1, "stream/poll", REF)
    assert route(asked, at(DRAFT, framing)) == [PollReceived(HERE, 1, StreamId("s"), Secret(TOKEN))]


@EVERYWHERE
@pytest.mark.rule("P15")
def test_a_resume_names_a_stream_and_its_token(framing: Framing) -> None:
    [resume] = route(Request(1, "stream/resume", REF), at(DRAFT, framing))
    assert resume == ResumeReceived(HERE, 1, StreamId("s"), Secret(TOKEN))


@EVERYWHERE
@pytest.mark.rule("Q2a")
def test_a_resume_without_an_id_means_the_same(framing: Framing) -> None:
    asked = Notification("stream/resume", with_meta(REF, {"mcpstreams/after": 2, "mcpstreams/attempt": "i.3"}))
    [resume] = route(asked, at(framing=framing))
    assert resume == ResumeReceived(HERE, None, StreamId("s"), Secret(TOKEN), 2, None, Attempt("i", 3), marker=True)


@EVERYWHERE
@pytest.mark.rule("R22")
def test_a_cancel_names_a_stream_and_its_token(framing: Framing) -> None:
    asked = Request(1, "mcpstreams/cancel", REF)
    assert route(asked, at(framing=framing)) == [CancelReceived(HERE, 1, StreamId("s"), Secret(TOKEN))]


@pytest.mark.parametrize("method", ["stream/poll", "stream/resume", "mcpstreams/cancel"])
@pytest.mark.parametrize(
    ("params", "words"),
    [
        (None, "params: missing"),
        ({}, "params.streamId: missing; params.resumeToken: missing"),
        ({"streamId": "s"}, "params.resumeToken: missing"),
        ({"streamId": 1, "resumeToken": "t"}, "params.streamId: not a non-empty string"),
        ({**REF, "_meta": 1}, "params._meta: not an object"),
    ],
)
def test_who_names_no_stream_is_told_so(method: str, params: JSONObject | None, words: str) -> None:
    assert errors(route(Request(1, method, params), at())) == [(1, INVALID_PARAMS, words)]


@pytest.mark.parametrize("method", ["tools/call", "resources/read", "x", "", "streams/open", "stream/poll/all"])
@pytest.mark.parametrize("peer", [STOCK, DRAFT, MARKED])
def test_every_other_request_is_a_call_of_the_application(method: str, peer: Peer) -> None:
    asked = Request("c", method, {"name": "t"})
    call = only_call(route(asked, at(peer)))
    assert (call.connection_id, call.request, call.peer) == (HERE, asked, peer)
    assert (call.key, call.digest, call.attempt) == (None, None, None)


def test_a_call_is_served_by_the_policy_of_its_method() -> None:
    here = attrs.evolve(at(), policies=StreamPolicies({"work": StreamPolicy(run_on=True)}))
    assert only_call(route(Request(1, "work"), here)).policy.run_on
    assert not only_call(route(Request(1, "play"), here)).policy.run_on


@pytest.mark.rule("W1", "R13")
def test_every_message_of_an_input_gets_ids_of_its_own() -> None:
    calls = [only_call(route(Request(1, "x"), attrs.evolve(at(), number=number))) for number in range(3)]
    names = {call.stream_id for call in calls} | {call.fresh_token.reveal() for call in calls}
    assert len(names) == 6
    assert all(len(name) >= 43 for name in names)


# --------------------------------------------------------------------------------------------------------- keyed calls


@pytest.mark.rule("R21", "R14")
def test_a_keyed_call_brings_its_key_its_attempt_and_what_a_re_send_must_repeat() -> None:
    meta: JSONObject = {"mcpstreams/key": KEY, "mcpstreams/attempt": "i.1", "progressToken": 5}
    asked = Request(1, "tools/call", with_meta({"name": "t"}, meta))
    call = only_call(route(asked, at()))
    assert (call.key, call.attempt, call.digest) == (Secret(KEY), Attempt("i", 1), call_digest(asked))
    assert call.policy.kind is StreamKind.ANNOUNCED


@pytest.mark.rule("R21", "R18")
def test_a_keyed_call_is_a_stream_from_its_first_byte_whatever_its_method() -> None:
    asked = Request(1, "resources/read", with_meta({}, {"mcpstreams/key": KEY}))
    policy = only_call(route(asked, at(framing=Framing.HTTP))).policy
    assert (policy.kind, policy.body) == (StreamKind.ANNOUNCED, BodyPolicy.AT_ONCE)


NO_KEY = "params._meta.mcpstreams/key: not a key of 22 to 128 letters, digits, '-' and '_'"
NO_ATTEMPT = "params._meta.mcpstreams/attempt: not <instance>.<number>"


@pytest.mark.parametrize("key", ["short", "k" * 129, "k" * 21 + "!", 1, None, [KEY]])
def test_a_malformed_key_is_told_and_nothing_starts(key: JSONValue) -> None:
    asked = Request(1, "tools/call", with_meta({}, {"mcpstreams/key": key}))
    assert errors(route(asked, at())) == [(1, INVALID_PARAMS, NO_KEY)]


@pytest.mark.parametrize("attempt", ["", "i", "i.", ".1", "i.-1", "i.01", "i.1.2", 1, None])
def test_a_malformed_attempt_is_told_and_nothing_starts(attempt: JSONValue) -> None:
    meta: JSONObject = {"mcpstreams/attempt": attempt}
    assert errors(route(Request(1, "tools/call", with_meta({}, meta)), at())) == [(1, INVALID_PARAMS, NO_ATTEMPT)]
    assert errors(route(Request(1, "stream/resume", with_meta(REF, meta)), at())) == [(1, INVALID_PARAMS, NO_ATTEMPT)]


@pytest.mark.rule("R21", "R4")
@pytest.mark.parametrize("peer", [STOCK, DRAFT, MARKED])
def test_the_application_sees_no_key_of_ours(peer: Peer) -> None:
    theirs: JSONObject = {"progressToken": 5, "com.example/x": 1, "streamId": "a hint"}
    meta: JSONObject = {**theirs, "mcpstreams/key": KEY, "mcpstreams/attempt": "i.1", **ACK, "mcpstreams/later": 1}
    call = only_call(route(Request(1, "tools/call", with_meta({"name": "t"}, meta)), at(peer))[-1:])
    assert call.request == Request(1, "tools/call", {"name": "t", "_meta": theirs})
    told = route(Notification("notifications/x", with_meta({"a": 1}, meta)), at(peer))
    assert NotificationReceived(HERE, "notifications/x", {"a": 1, "_meta": theirs}) in told
    answered = route(Response("ask", with_meta({"a": 1}, meta)), at(peer))[-1]
    assert isinstance(answered, AnswerReceived)
    assert answered.answer == Response("ask", {"a": 1, "_meta": theirs})


@pytest.mark.rule("R4")
def test_params_and_results_that_held_nothing_else_are_empty_then() -> None:
    assert only_call(route(Request(1, "x", {"_meta": {"mcpstreams/key": KEY}}), at())).request == Request(1, "x")
    answer = route(Response("ask", {"_meta": ACK}), at())[-1]
    assert answer == AnswerReceived(HERE, Response("ask", {}))


# ------------------------------------------------------------------------------------------------------------- cursors


@pytest.mark.rule("P22", "Q5b", "R1")
@pytest.mark.parametrize(
    ("cursor", "after", "header_after"),
    [(None, None, None), ("s_4", None, 4), (None, 4, None), ("s_4", 4, 4), ("s_4", 5, 4), ("s_0", None, 0)],
)
def test_a_resume_says_what_arrived_in_its_header_and_in_its_body(
    cursor: str | None, after: int | None, header_after: int | None
) -> None:
    params = REF if after is None else with_meta(REF, {"mcpstreams/after": after})
    resume = only_resume(route(Request(1, "stream/resume", params), at(framing=Framing.HTTP, cursor=cursor)))
    assert (resume.after, resume.header_after) == (after, header_after)


@pytest.mark.rule("Q5c")
@pytest.mark.parametrize("request_id", [1, None])
@pytest.mark.parametrize(
    ("cursor", "after"),
    [
        ("t_4", None),
        ("s%5f_4", None),
        ("_4", None),
        ("s", None),
        ("s_", None),
        ("s_04", None),
        ("s_-1", None),
        ("4", None),
        ("", None),
        ("s_\x00", None),
        ("s" * 5_000 + "_4", None),
        (None, -1),
        (None, "4"),
        (None, 1.5),
        (None, True),
        (None, None),
    ],
)
def test_a_cursor_that_is_none_of_this_stream_is_refused(
    request_id: int | None, cursor: str | None, after: JSONValue
) -> None:
    params = with_meta(REF, {"mcpstreams/after": after}) if cursor is None else REF
    asked = (
        Notification("stream/resume", params) if request_id is None else Request(request_id, "stream/resume", params)
    )
    routed = route(asked, at(framing=Framing.HTTP, cursor=cursor))
    assert routed == [Reply(HERE, refusal(request_id, Reason.INVALID_CURSOR))]


@pytest.mark.parametrize("cursor", ["s_4", "nonsense", ""])
@pytest.mark.parametrize(
    "asked",
    [
        Request(1, "tools/call", {"name": "t"}),
        Request(1, "stream/poll", REF),
        Request(1, "ping"),
        Notification("notifications/cancelled", {"requestId": 1}),
        Response("ask", {}),
    ],
)
def test_a_cursor_beside_anything_else_means_nothing(asked: Request | Notification | Response, cursor: str) -> None:
    assert route(asked, at(framing=Framing.HTTP, cursor=cursor)) == route(asked, at(framing=Framing.HTTP))


# ----------------------------------------------------------------------------------------------------- acknowledgements


@pytest.mark.rule("R6")
def test_an_acknowledgement_is_a_message_of_its_own() -> None:
    asked = Notification("notifications/mcpstreams/ack", {"acks": ACK["mcpstreams/ack"]})
    assert route(asked, at()) == [*ACKED, Accept(HERE)]


@pytest.mark.rule("R6")
@pytest.mark.parametrize(
    "asked",
    [
        Request(1, "tools/call", {"name": "t"}),
        Request(1, "ping", {}),
        Request(1, "stream/poll", REF),
        Request(1, "stream/resume", REF),
        Request(1, "mcpstreams/cancel", REF),
        Notification("stream/resume", REF),
        Notification("notifications/cancelled", {"requestId": 1}),
        Notification("notifications/initialized", {}),
        Notification("notifications/x", {"a": 1}),
        Notification("notifications/mcpstreams/ack", {"acks": []}),
        Response("ask", {"a": 1}),
    ],
)
def test_an_acknowledgement_rides_on_anything_and_counts_first(asked: Request | Notification | Response) -> None:
    plain = route(asked, at())
    if isinstance(asked, Response):
        laden: Request | Notification | Response = attrs.evolve(asked, result=with_meta(asked.result, ACK))
    else:
        laden = attrs.evolve(asked, params=with_meta(asked.params, ACK))
    assert route(laden, at()) == [*ACKED, *plain]


MALFORMED: list[tuple[JSONValue, str]] = [
    (1, "_meta: not an object"),
    (None, "_meta: not an object"),
    ([], "_meta: not an object"),
    ("x", "_meta: not an object"),
    ({"mcpstreams/ack": {}}, "_meta.mcpstreams/ack: not an array"),
    ({"mcpstreams/ack": [{"streamId": "s"}]}, "_meta.mcpstreams/ack[0].through: missing"),
    ({"mcpstreams/ack": [{"streamId": "s", "through": -1}]}, "_meta.mcpstreams/ack[0].through: negative"),
    ({"mcpstreams/ack": [{"streamId": "s", "through": "3"}]}, "_meta.mcpstreams/ack[0].through: not an integer"),
    ({"mcpstreams/ack": [{"streamId": "s", "through": 1}, None]}, "_meta.mcpstreams/ack[1]: not an object"),
]


@pytest.mark.parametrize(("meta", "words"), MALFORMED)
@pytest.mark.parametrize("method", ["tools/call", "ping", "stream/poll", "stream/resume", "mcpstreams/cancel"])
def test_a_request_with_malformed_metadata_is_told_so_and_nothing_of_it_counts(
    method: str, meta: JSONValue, words: str
) -> None:
    routed = route(Request("r", method, with_meta(REF, meta)), at())
    assert errors(routed) == [("r", INVALID_PARAMS, f"params.{words}")]


@pytest.mark.parametrize(("meta", "words"), MALFORMED)
def test_what_has_no_answer_is_told_where_the_transport_has_a_place_for_it(meta: JSONValue, words: str) -> None:
    notice, answer = Notification("notifications/x", with_meta({}, meta)), Response("ask", with_meta({}, meta))
    for asked, holder in ((notice, "params"), (answer, "result")):
        assert errors(route(asked, at(framing=Framing.HTTP))) == [(None, INVALID_PARAMS, f"{holder}.{words}")]
        assert route(asked, at(framing=Framing.LINES)) == [Accept(HERE)]
        assert route(asked, at(framing=Framing.MESSAGES)) == [Accept(HERE)]


def test_an_acknowledgement_beside_something_unreadable_does_not_count() -> None:
    asked = Request(1, "tools/call", with_meta({}, {**ACK, "mcpstreams/attempt": "nonsense"}))
    assert errors(route(asked, at())) == [(1, INVALID_PARAMS, NO_ATTEMPT)]


@pytest.mark.rule("Q2a")
def test_a_resume_without_an_id_that_names_no_stream_is_told_over_http_alone() -> None:
    asked = Notification("stream/resume", {"streamId": "s"})
    told = errors(route(asked, at(framing=Framing.HTTP)))
    assert told == [(None, INVALID_PARAMS, "params.resumeToken: missing")]
    assert route(asked, at(framing=Framing.LINES)) == [Accept(HERE)]


# ------------------------------------------------------------------------------------------ notifications and answers


@pytest.mark.rule("H35", "Q9b", "W6")
@pytest.mark.parametrize(
    ("named", "request_id"), [(1, 1), ("1", "1"), (True, None), (1.0, None), (None, None), ([1], None), ({}, None)]
)
def test_a_cancellation_names_a_request(named: JSONValue, request_id: RequestId | None) -> None:
    [cancelled, accepted] = route(Notification("notifications/cancelled", {"requestId": named}), at())
    assert cancelled == CancelledReceived(HERE, request_id)
    assert isinstance(cancelled, CancelledReceived)
    assert type(cancelled.request_id) is type(request_id)
    assert accepted == Accept(HERE)


def test_a_cancellation_that_names_nothing_is_taken_all_the_same() -> None:
    for params in (None, {}, {"reason": "because"}):
        routed = route(Notification("notifications/cancelled", params), at())
        assert routed == [CancelledReceived(HERE, None), Accept(HERE)]


@pytest.mark.rule("R21")
def test_a_cancellation_may_name_a_call_by_its_key() -> None:
    params: JSONObject = {"requestId": 1, "_meta": {"mcpstreams/key": KEY}}
    routed = route(Notification("notifications/cancelled", params), at())
    assert routed == [CancelledReceived(HERE, 1, Secret(KEY)), Accept(HERE)]
    malformed = Notification("notifications/cancelled", {"_meta": {"mcpstreams/key": "short"}})
    assert errors(route(malformed, at(framing=Framing.HTTP))) == [(None, INVALID_PARAMS, NO_KEY)]


@EVERYWHERE
def test_the_end_of_the_handshake_is_taken(framing: Framing) -> None:
    assert route(Notification("notifications/initialized"), at(framing=framing)) == [Accept(HERE)]


@EVERYWHERE
@pytest.mark.rule("R25")
@pytest.mark.parametrize("method", ["notifications/roots/list_changed", "notifications/progress", "x", "tools/call"])
def test_every_other_notification_is_for_the_application(framing: Framing, method: str) -> None:
    routed = route(Notification(method, {"a": 1}), at(framing=framing))
    assert routed == [NotificationReceived(HERE, method, {"a": 1}), Accept(HERE)]


@EVERYWHERE
@pytest.mark.rule("Q4b")
@pytest.mark.parametrize(
    "answer", [Response("ask", {"a": 1}), ErrorResponse("ask", -1, "no"), ErrorResponse(None, 0, "")]
)
def test_an_answer_is_handed_on_under_its_id(framing: Framing, answer: Response | ErrorResponse) -> None:
    assert route(answer, at(framing=framing)) == [AnswerReceived(HERE, answer)]


@EVERYWHERE
@pytest.mark.rule("R24", "R4")
def test_an_answer_may_show_the_token_and_the_key_which_the_application_does_not_see(framing: Framing) -> None:
    ours: JSONObject = {"mcpstreams/resumeToken": "tok", "mcpstreams/key": KEY, "mcpstreams/ack": []}
    answer = Response("ask", {"a": 1, "_meta": {"own": 2, **ours}})
    seen = Response("ask", {"a": 1, "_meta": {"own": 2}})
    assert route(answer, at(MARKED, framing)) == [AnswerReceived(HERE, seen, Secret("tok"), Secret(KEY))]
    assert route(answer, at(DRAFT, framing)) == [AnswerReceived(HERE, seen)]


@pytest.mark.rule("R24", "Q11b")
@pytest.mark.parametrize(
    ("entry", "value", "fault"),
    [
        ("mcpstreams/resumeToken", "", "not a non-empty string"),
        ("mcpstreams/resumeToken", 5, "not a non-empty string"),
        ("mcpstreams/key", "short", "not a key of 22 to 128 letters, digits, '-' and '_'"),
    ],
)
def test_what_an_answer_shows_is_read_strictly(entry: str, value: JSONValue, fault: str) -> None:
    answer = Response("ask", {"_meta": {entry: value}})
    [reply] = route(answer, at(MARKED, Framing.HTTP))
    assert reply == Reply(HERE, ErrorResponse(None, INVALID_PARAMS, f"result._meta.{entry}: {fault}"))


# -------------------------------------------------------------------------------------------------- what was negotiated

NOT_NEGOTIATED = "this method was not negotiated"


@EVERYWHERE
@pytest.mark.rule("P2", "Q10")
@pytest.mark.parametrize("method", ["stream/poll", "stream/resume", "mcpstreams/cancel"])
def test_streams_are_not_there_for_a_peer_that_did_not_declare_them(framing: Framing, method: str) -> None:
    assert errors(route(Request(1, method, REF), at(STOCK, framing))) == [(1, METHOD_NOT_FOUND, NOT_NEGOTIATED)]


@pytest.mark.rule("P2", "Q10")
def test_neither_are_they_without_an_id() -> None:
    asked = Notification("stream/resume", REF)
    assert errors(route(asked, at(STOCK, Framing.HTTP))) == [(None, METHOD_NOT_FOUND, NOT_NEGOTIATED)]
    assert route(asked, at(STOCK, Framing.LINES)) == [Accept(HERE)]


@pytest.mark.rule("P3")
@pytest.mark.parametrize("peer", [STOCK, DRAFT])
def test_our_extension_is_not_there_for_a_peer_that_did_not_declare_it(peer: Peer) -> None:
    assert errors(route(Request(1, "mcpstreams/cancel", REF), at(peer))) == [(1, METHOD_NOT_FOUND, NOT_NEGOTIATED)]
    ack = Notification("notifications/mcpstreams/ack", {"acks": ACK["mcpstreams/ack"]})
    assert route(ack, at(peer)) == [Accept(HERE)]
    meta: JSONObject = {"mcpstreams/key": KEY, "mcpstreams/attempt": "i.1", **ACK}
    call = only_call(route(Request(1, "tools/call", with_meta({}, meta)), at(peer)))
    assert (call.key, call.digest, call.attempt) == (None, None, None)
    cancelled = route(Notification("notifications/cancelled", with_meta({"requestId": 1}, meta)), at(peer))
    assert cancelled == [CancelledReceived(HERE, 1), Accept(HERE)]
    assert route(Response("ask", with_meta({}, meta)), at(peer)) == [AnswerReceived(HERE, Response("ask", {}))]


@pytest.mark.rule("P3")
def test_a_resume_of_the_draft_has_its_cursor_in_the_header_alone() -> None:
    meta: JSONObject = {"mcpstreams/after": "nonsense", "mcpstreams/attempt": "nonsense"}
    here = at(DRAFT, Framing.HTTP, "s_4")
    resume = only_resume(route(Request(1, "stream/resume", with_meta(REF, meta)), here))
    assert (resume.after, resume.header_after, resume.attempt, resume.marker) == (None, 4, None, False)


@pytest.mark.rule("R21")
def test_what_is_answered_by_a_stream_is_refused_to_a_peer_that_accepts_none() -> None:
    here = attrs.evolve(at(framing=Framing.HTTP), accepts_events=False)
    keyed = Request(1, "tools/call", with_meta({}, {"mcpstreams/key": KEY}))
    words = "this is answered by events, which Accept does not name"
    assert errors(route(keyed, here)) == [(1, INVALID_REQUEST, words)]
    assert errors(route(Request(2, "stream/resume", REF), here)) == [(2, INVALID_REQUEST, words)]
    assert errors(route(Notification("stream/resume", REF), here)) == [(None, INVALID_REQUEST, words)]
    unkeyed = only_call(route(Request(3, "tools/call"), here))
    assert (unkeyed.policy.kind, unkeyed.policy.body) == (StreamKind.FLEETING, BodyPolicy.NEVER)
    assert route(Request(4, "stream/poll", REF), here) == [PollReceived(HERE, 4, StreamId("s"), Secret(TOKEN))]


def test_what_a_lost_connection_means_is_the_revisions_cell() -> None:
    after_loss = {
        framing: only_call(route(Request(1, "x"), at(STOCK, framing))).policy.after_loss for framing in Framing
    }
    assert after_loss == {
        Framing.LINES: AfterLoss.CANCEL,
        Framing.MESSAGES: AfterLoss.CANCEL,
        Framing.HTTP: AfterLoss.RUN_ON,
    }


# ----------------------------------------------------------------------------------------------------------- properties


@given(
    message=MESSAGES,
    peer=st.sampled_from([STOCK, DRAFT, MARKED]),
    framing=st.sampled_from(Framing),
    cursor=st.none() | st.text(),
)
def test_whatever_a_peer_says_means_something_and_raises_nothing(
    message: Message, peer: Peer, framing: Framing, cursor: str | None
) -> None:
    *acks, last = route(message, at(peer, framing, cursor))
    assert not isinstance(last, AckReceived), "an exchange needs an answer, a request as well"
    if isinstance(last, Reply):
        assert isinstance(last.message, Response | ErrorResponse)
        assert last.message.id == (message.id if isinstance(message, Request) else None)
    before = acks if isinstance(message, Request | Response) else acks[:-1]
    assert all(isinstance(event, AckReceived) for event in before), "acknowledgements count first (R6)"


@pytest.mark.rule("Q11b", "P38")
def test_nothing_that_is_made_of_a_message_shows_a_secret() -> None:
    meta: JSONObject = {
        "mcpstreams/key": KEY,
        "mcpstreams/ack": [{"streamId": "s", "through": 1, "resumeToken": TOKEN}],
    }
    asked: list[Message] = [
        Request(1, "tools/call", with_meta({"argument": TOKEN}, meta)),
        Request(1, "stream/poll", with_meta(REF, meta)),
        Request(1, "stream/resume", with_meta(REF, meta)),
        Request(1, "mcpstreams/cancel", with_meta(REF, meta)),
        Notification("notifications/cancelled", with_meta({}, meta)),
        Notification("notifications/x", with_meta({"argument": TOKEN}, meta)),
        Response("ask", with_meta({"argument": TOKEN}, meta)),
        Request(1, "stream/resume", with_meta({"streamId": TOKEN}, {"mcpstreams/key": TOKEN})),
    ]
    shown = "".join(repr(event) for message in asked for event in route(message, at(framing=Framing.HTTP)))
    assert KEY not in shown
    assert TOKEN not in shown
    fresh = only_call(route(Request(1, "x"), at())).fresh_token
    assert fresh.reveal() not in repr(only_call(route(Request(1, "x"), at())))
