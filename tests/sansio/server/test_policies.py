"""As what kind of stream a call is served, and when its answer becomes an event stream."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.server.calls import BodyPolicy, CallPolicy, Peer, StreamKind
from mcpstreams_sansio.server.policies import StreamPolicies, StreamPolicy, call_policy
from mcpstreams_sansio.wire.jsonrpc import JSONValue, Request
from mcpstreams_sansio.wire.revisions import REVISIONS, AfterLoss, Revision
from mcpstreams_sansio.wire.streams import ResumeInterval
from tests.wording import whole

SLOW = StreamPolicy(ResumeInterval(min=5, max=60))
QUICK = StreamPolicy(body=BodyPolicy.WHEN_NEEDED)
POLICIES = StreamPolicies({"tools/call:slow": SLOW, "tools/call": QUICK, "resources/read": SLOW})

STOCK, DRAFT, MARKED = Peer(), Peer(streams=True), Peer(streams=True, marker=True)
AT_ONCE, WHEN_NEEDED, NEVER = BodyPolicy
ANNOUNCED, SILENT, FLEETING = StreamKind


def tool_call(name: JSONValue) -> Request:
    return Request(1, "tools/call", {"name": name})


# ----------------------------------------------------------------------------------------- what the application decides


@pytest.mark.rule("R18")
@pytest.mark.parametrize(
    ("request_", "body"),
    [
        (tool_call("any"), AT_ONCE),
        (Request(1, "tools/call"), AT_ONCE),
        (Request(1, "tools/list"), WHEN_NEEDED),
        (Request(1, "resources/read", {"uri": "x"}), WHEN_NEEDED),
        (Request(1, "com.example/own"), WHEN_NEEDED),
    ],
)
def test_without_a_policy_a_tool_call_is_a_stream_at_once_and_anything_else_when_needed(
    request_: Request, body: BodyPolicy
) -> None:
    found = StreamPolicies().find(request_, keyed=False)
    assert found == StreamPolicy(ResumeInterval(), body, run_on=False)


@pytest.mark.rule("R18")
@pytest.mark.parametrize(
    ("request_", "policy"),
    [
        (tool_call("slow"), SLOW),
        (tool_call("other"), QUICK),
        (tool_call(None), QUICK),
        (tool_call(["slow"]), QUICK),
        (tool_call({"slow": 1}), QUICK),
        (Request(1, "tools/call"), QUICK),
        (Request(1, "resources/read", {"name": "slow"}), SLOW),
        (Request(1, "prompts/get", {"name": "slow"}), StreamPolicy(body=WHEN_NEEDED)),
    ],
)
def test_a_policy_is_that_of_the_tool_else_that_of_the_method(request_: Request, policy: StreamPolicy) -> None:
    assert POLICIES.find(request_, keyed=False) == policy


@pytest.mark.rule("R18", "R21")
@pytest.mark.parametrize("policy", [SLOW, QUICK, StreamPolicy(ResumeInterval(max=0), WHEN_NEEDED, run_on=True)])
def test_a_keyed_call_is_a_stream_at_once_and_keeps_the_rest_of_its_policy(policy: StreamPolicy) -> None:
    found = StreamPolicies({"x": policy}).find(Request(1, "x"), keyed=True)
    assert found == StreamPolicy(policy.interval, AT_ONCE, policy.run_on)


@pytest.mark.rule("R18")
def test_only_the_requester_rules_an_event_stream_out() -> None:
    with pytest.raises(ValueError, match="body"):
        StreamPolicy(body=NEVER)


# ----------------------------------------------------------------------------------------------------- how it is served


@pytest.mark.rule("R2", "P2", "R18")
@pytest.mark.parametrize(
    ("peer", "framing", "body", "kind"),
    [
        (DRAFT, Framing.HTTP, AT_ONCE, ANNOUNCED),
        (DRAFT, Framing.LINES, AT_ONCE, ANNOUNCED),
        (DRAFT, Framing.MESSAGES, AT_ONCE, ANNOUNCED),
        (MARKED, Framing.HTTP, AT_ONCE, ANNOUNCED),
        (DRAFT, Framing.HTTP, WHEN_NEEDED, SILENT),
        (DRAFT, Framing.LINES, WHEN_NEEDED, FLEETING),
        (DRAFT, Framing.MESSAGES, WHEN_NEEDED, FLEETING),
        (STOCK, Framing.HTTP, AT_ONCE, SILENT),
        (STOCK, Framing.HTTP, WHEN_NEEDED, SILENT),
        (STOCK, Framing.LINES, AT_ONCE, FLEETING),
        (STOCK, Framing.MESSAGES, AT_ONCE, FLEETING),
        (STOCK, Framing.LINES, WHEN_NEEDED, FLEETING),
    ],
)
def test_what_brings_a_call_back_depends_on_what_its_peer_declared(
    peer: Peer, framing: Framing, body: BodyPolicy, kind: StreamKind
) -> None:
    served = call_policy(StreamPolicy(body=body), peer, Revision.R2025_11_25, framing, accepts_events=True)
    assert (served.kind, served.body) == (kind, body)


@pytest.mark.parametrize("peer", [STOCK, DRAFT, MARKED])
@pytest.mark.parametrize("policy", [SLOW, QUICK])
def test_who_accepts_no_events_gets_no_stream(peer: Peer, policy: StreamPolicy) -> None:
    served = call_policy(policy, peer, Revision.R2025_11_25, Framing.HTTP, accepts_events=False)
    assert (served.kind, served.body) == (FLEETING, NEVER)


@pytest.mark.rule("H12", "R2")
@pytest.mark.parametrize("revision", Revision)
def test_what_a_lost_connection_means_is_the_revisions_cell(revision: Revision) -> None:
    rules = REVISIONS[revision]
    served = {framing: call_policy(SLOW, STOCK, revision, framing, accepts_events=True) for framing in Framing}
    assert {framing: policy.after_loss for framing, policy in served.items()} == {
        Framing.LINES: rules.after_loss_on_shared,
        Framing.MESSAGES: rules.after_loss_on_shared,
        Framing.HTTP: rules.after_loss_on_http,
    }
    assert served[Framing.HTTP].after_loss is AfterLoss.RUN_ON


def test_the_rest_is_what_the_application_decided() -> None:
    policy = StreamPolicy(ResumeInterval(min=1, max=2), AT_ONCE, run_on=True)
    served = call_policy(policy, DRAFT, Revision.R2025_11_25, Framing.LINES, accepts_events=True)
    assert served == CallPolicy(ANNOUNCED, AT_ONCE, AfterLoss.CANCEL, policy.interval, run_on=True)


@pytest.mark.rule("R13", "R18")
@pytest.mark.parametrize(
    ("interval", "words"),
    [
        (ResumeInterval(extra={"of": float("inf")}), "NaN and infinity are not JSON"),
        (ResumeInterval(extra={"of": "\ud800"}), "a string holds a lone surrogate, which UTF-8 cannot carry"),
        (None, "StreamPolicy.interval must be a ResumeInterval"),
        (60.0, "StreamPolicy.interval must be a ResumeInterval"),
    ],
)
def test_a_policy_with_which_no_create_could_be_written_is_refused_when_it_is_made(
    interval: ResumeInterval, words: str
) -> None:
    with pytest.raises(LocalProtocolError, match=whole(words)):
        StreamPolicy(interval)
