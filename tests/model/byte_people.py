"""The applications at both ends of a world of bytes: what they say is kept, so that what arrives can be compared.

What a caller may see, and in which order, is checked as in every world; here each message holds something besides.
"""

from __future__ import annotations

import json
from typing import Final

import attrs

from mcpstreams_sansio.client.effects import (
    AskReceived,
    CallFailed,
    CallFinished,
    CallLost,
    CallNotRun,
    CallResult,
    Doubt,
    ItemReceived,
    Outcome,
    OutcomeUnknown,
)
from mcpstreams_sansio.ids import CallId, RequestId, StreamId
from mcpstreams_sansio.server.effects import AskAnswered, StartCall
from mcpstreams_sansio.testing import Peers, Transport, Violation
from mcpstreams_sansio.testing.caller import Caller, Guarantee
from mcpstreams_sansio.testing.conversation import call_params, called_number, failure, success
from mcpstreams_sansio.testing.witness import Witness
from mcpstreams_sansio.testing.work import Work, WorkState
from mcpstreams_sansio.wire.jsonrpc import ErrorResponse, JSONObject, JSONValue, Notification, Response
from mcpstreams_sansio.wire.meta import META, meta_of, with_meta
from mcpstreams_sansio.wire.progress import PROGRESS_TOKEN

CONTENT: Final = "content"
"""Where the applications put what makes no difference to a stream."""
NOTE: Final = "example.org/note"
"""Where they put it once more: into the one member that the protocol uses as well."""


def holding(params: JSONObject | None, content: JSONValue) -> JSONObject:
    """Return params, or a result, with some content in them."""
    noted = with_meta(params, {NOTE: content})
    return {**(noted or {}), CONTENT: content}


def is_the_same(left: JSONValue, right: JSONValue) -> bool:
    """Say whether two values say the same in JSON: `1` is neither `1.0` nor `true` there, and members have no order."""
    return json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


@attrs.define(eq=False)
class People:
    """Callers and works, and what each of them said."""

    transport: Transport
    peers: Peers
    callers: dict[CallId, Caller] = attrs.field(factory=dict)
    works: dict[StreamId, Work] = attrs.field(factory=dict)
    witness: Witness = attrs.field(factory=Witness)
    called: dict[int, JSONObject] = attrs.field(factory=dict)
    """The params of each call."""
    sent: dict[int, list[JSONObject]] = attrs.field(factory=dict)
    """The params of all messages of the work on each call."""
    asked: dict[RequestId, JSONObject] = attrs.field(factory=dict)
    answers: dict[RequestId, JSONValue] = attrs.field(factory=dict)
    """What the callers answered, or the last thing of several."""
    loose: list[RequestId] = attrs.field(factory=list)
    """Open questions that belong to no call: nothing tells which, where the peers know no streams."""
    ends: dict[int, JSONValue] = attrs.field(factory=dict)
    """What the work on each call has answered."""
    calls: int = 0

    @property
    def guarantee(self) -> Guarantee:
        """Say what callers may rely on (rules R4, R8)."""
        tells = self.peers is Peers.MARKER or self.transport is Transport.HTTP
        return Guarantee.EXACTLY_ONCE if tells else Guarantee.AT_LEAST_ONCE

    # --------------------------------------------------------------------------------------------------- what they say

    def call(self, call_id: CallId, content: JSONValue) -> JSONObject:
        """Make a call; return its params."""
        self.calls += 1
        self.callers[call_id] = Caller(self.calls, self.guarantee)
        self.sent[self.calls] = []
        self.called[self.calls] = holding(call_params(self.calls), content)
        return self.called[self.calls]

    def send(self, stream_id: StreamId, content: JSONValue) -> Notification:
        """Let some work send one more message."""
        message, work = attrs.evolve(self.works[stream_id], messages=1).send()
        said = holding(message.params, content)
        self.works[stream_id] = work
        self.sent[work.number].append(said)
        return attrs.evolve(message, params=said)

    def ask(self, stream_id: StreamId, ask_id: str, content: JSONValue) -> JSONObject:
        """Let some work ask; return the params."""
        self.works[stream_id] = attrs.evolve(self.works[stream_id], asks=1).ask(ask_id)
        self.asked[ask_id] = holding({"messages": []}, content)
        return self.asked[ask_id]

    def answer(self, ask_id: RequestId, content: JSONValue) -> Response:
        """Answer a question."""
        said = holding(None, content)
        self.answers[ask_id] = said
        return Response(ask_id, said)

    def succeed(self, stream_id: StreamId, content: JSONValue) -> Response:
        """Let some work answer its call."""
        work = self.works[stream_id]
        response = success(work.request_id, work.number)
        said = holding(response.result, content)
        self.works[stream_id] = work.become(WorkState.SUCCEEDED)
        self.ends[work.number] = said
        return attrs.evolve(response, result=said)

    def fail(self, stream_id: StreamId, content: JSONValue) -> ErrorResponse:
        """Let some work answer its call with an error."""
        work = self.works[stream_id]
        self.works[stream_id] = work.become(WorkState.FAILED)
        self.ends[work.number] = content
        return attrs.evolve(failure(work.request_id, work.number), data=content)

    # -------------------------------------------------------------------------------------------------- what they hear

    def start(self, effect: StartCall) -> None:
        """Begin to work on a call.

        Raises:
            Violation: Somebody works on it already, or it is not what was called.
        """
        params = effect.request.params
        number = called_number(params)
        self.witness.start(number, effect.stream_id, None)
        token = meta_of(params)[PROGRESS_TOKEN]
        self._compare(f"call {number}", self.called[number], _without_token(params))
        self.works[effect.stream_id] = Work(number, effect.stream_id, effect.request.id, token, 0, 0)

    def hear_answer(self, effect: AskAnswered) -> None:
        """Let some work go on.

        Raises:
            Violation: It waits for no answer, or it was given another one.
        """
        assert isinstance(effect.answer, Response)
        self._compare("an answer", self.answers[effect.ask_id], effect.answer.result)
        self.works[effect.stream_id] = self.works[effect.stream_id].answered(effect.ask_id)

    def see(self, item: ItemReceived) -> None:
        """Let a caller see a message.

        Raises:
            Violation: It is not the next one, or not what was sent.
        """
        caller = self.callers[item.call_id] = self.callers[item.call_id].see(item)
        number = (item.message.params or {})["progress"]
        assert isinstance(number, int)
        sent = self.sent[caller.number]
        if not 1 <= number <= len(sent):
            raise Violation("exactly once, in order", f"call {caller.number} sees what was never sent")
        self._compare(f"message {number} of call {caller.number}", sent[number - 1], item.message.params)

    def consider(self, ask: AskReceived) -> None:
        """Let a caller see a question.

        Raises:
            Violation: It saw it before, or that is not what was asked.
        """
        self._compare("a question", self.asked[ask.ask_id], ask.params)
        if ask.call_id is not None:
            self.callers[ask.call_id] = self.callers[ask.call_id].consider(ask)
        elif self.guarantee.may_repeat:
            self.loose.append(ask.ask_id)
        else:
            raise Violation("a question belongs to a call", "the client cannot tell which call it is asked in")

    def finish(self, end: CallFinished, *, late: bool, broken: bool) -> None:
        """Let a caller see the end of its call.

        Raises:
            Violation: It is not the one end that it should be.
        """
        caller = self.callers[end.call_id]
        self._check_outcome(caller, end.outcome, late=late, broken=broken)
        self.callers[end.call_id] = caller.finish(end, len(self.sent[caller.number]))
        match end.outcome:
            case CallResult(result=result):
                self._compare(f"the result of call {caller.number}", self.ends[caller.number], result)
            case CallFailed(error=error):
                self._compare(f"the error of call {caller.number}", self.ends[caller.number], error.data)
            case _:
                pass

    def _check_outcome(self, caller: Caller, outcome: Outcome, *, late: bool, broken: bool) -> None:
        """Check that a caller without an answer really could not have one."""
        number = caller.number
        excused = late or caller.cancelled
        match outcome:
            case CallNotRun() if number in self.witness.executed:
                raise Violation("not run is not run", f"call {number} ran, and its caller is told that it did not")
            case OutcomeUnknown(doubt=Doubt.CONNECTION_LOST) if broken and not self._comes_back(caller):
                pass
            case CallNotRun() | CallLost() | OutcomeUnknown() if not excused:
                raise Violation("an answer in the end", f"call {number} is given up while it can be had: {outcome}")
            case _:
                pass

    def _comes_back(self, caller: Caller) -> bool:
        """Return whether something brings a call back: a key, a token, or the id of an event."""
        if self.peers is Peers.MARKER:
            return True
        return caller.position > 0 and (self.peers is Peers.DRAFT or self.transport is Transport.HTTP)

    def _compare(self, what: str, said: JSONValue, heard: JSONValue) -> None:
        if not is_the_same(said, heard):
            raise Violation("what arrives is what was sent", f"{what} is another one")


def _without_token(params: JSONObject | None) -> JSONObject:
    """Return the params of a call without what the client adds: where it wants to hear of progress."""
    meta = {name: value for name, value in meta_of(params).items() if name != PROGRESS_TOKEN}
    return {**(params or {}), META: meta}
