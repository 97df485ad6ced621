"""Every answer in every state of a call: none of them raises, and the caller has one outcome (case H2)."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.client.inputs import GivenUp, LinkGivenUp
from mcpstreams_sansio.client.table import SETTLED_FOR_CALLER, CallState
from mcpstreams_sansio.ids import RequestId, StreamId
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, Response
from mcpstreams_sansio.wire.refusals import Reason, refusal
from mcpstreams_sansio.wire.streams import PollResult, poll_response
from tests.sansio.client.conversation import DRAFT, MARKER, Conversation, request_id
from tests.sansio.client.situations import STATES, path_of


def answers(answered: RequestId | None) -> list[ErrorResponse | Response]:
    """Return everything that can be answered: each refusal, what only looks like one, and results."""
    return [
        *(refused(answered, reason) for reason in Reason),
        ErrorResponse(answered, -32602, "a word of next year's", {"reason": "tomorrow"}),
        ErrorResponse(answered, 42, "a code of nobody's", {"reason": "superseded"}),
        ErrorResponse(answered, -32601, "no such method"),
        Response(answered or 0, {}),
        poll_response(answered or 0, PollResult(StreamId("s1"), "live", True, False, False)),
    ]


def refused(answered: RequestId | None, reason: Reason) -> ErrorResponse:
    """Refuse a request, with what belongs to the reason."""
    gone = {"first_available": 3, "lost": 1} if reason is Reason.EVENTS_GONE else {}
    return refusal(answered, reason, **gone)


def test_every_state_is_here() -> None:
    assert set(STATES) == set(CallState) - {CallState.FINISHED}


@pytest.mark.rule("Q10")
@pytest.mark.parametrize("answered", [request_id(1), f"{request_id(1)}.1", f"{request_id(1)}.2", None])
@pytest.mark.parametrize("http", [False, True], ids=["shared", "HTTP"])
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.name)
def test_h2_whatever_is_answered_the_caller_has_one_outcome(
    state: CallState, http: bool, answered: RequestId | None
) -> None:
    for answer in answers(answered):
        for server in (MARKER, DRAFT):
            talk = Conversation(http=http, server=server)
            STATES[state](talk)
            if state is CallState.SETTLING and server is DRAFT and not http:
                assert talk.state() is None, "what is answered without the marker is over"
                continue
            if state is CallState.REATTACHING and http:
                assert talk.state() is CallState.RECOVERING, "each attempt has an exchange of its own"
                continue
            assert talk.state() is state
            ended = int(state in SETTLED_FOR_CALLER)
            said = talk.says(answer, (path_of(talk) or 1) if http else None)
            said += talk.wait(20.0)
            said += talk.tell(LinkGivenUp(GivenUp.CLOSED))
            assert ended + sum("ends with" in text for text in said) == 1, answer
            assert talk.state() is None
