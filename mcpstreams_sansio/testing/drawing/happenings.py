"""What each thing looks like that a machine is told or wants done."""

from __future__ import annotations

import functools

from mcpstreams_sansio.client.effects import (
    AskReceived,
    AskWithdrawn,
    AttemptMade,
    CallDetached,
    CallFinished,
    DuplicateDropped,
    GapFound,
    ItemReceived,
    LeavePath,
    PauseReading,
    ReadAgain,
    ResumeReading,
    SaveDue,
    SendOnPath,
    UnclaimedMessage,
)
from mcpstreams_sansio.client.inputs import (
    AnswerAsk,
    AttachCall,
    CallSaved,
    CancelCall,
    DetachCall,
    LinkDown,
    LinkUp,
    MakeCall,
    MessageReceived,
    OutcomeSaved,
    PathAccepted,
    PathRefused,
    PathUnsent,
    PositionReceived,
    RetryReceived,
)
from mcpstreams_sansio.connections import ConnectionLost, DeadlineReached, DropConnection, EndWriting, Write, Written
from mcpstreams_sansio.server.effects import (
    AskAnswered,
    AskFailed,
    BeginBody,
    HoldMessages,
    Refused,
    SendMore,
    StartCall,
    StopCall,
    StreamAttached,
    StreamDetached,
    StreamGone,
    WorkInterrupted,
    WriteLog,
)
from mcpstreams_sansio.server.inputs import (
    Accept,
    AckReceived,
    AnswerReceived,
    AskPeer,
    CallReceived,
    CancelledReceived,
    CancelReceived,
    ConnectionOpened,
    CursorReceived,
    LogWritten,
    PeerHeard,
    PollReceived,
    Recover,
    ReleaseStream,
    Reply,
    Respond,
    ResumeReceived,
    ScopeEnded,
    SendMessage,
)
from mcpstreams_sansio.testing.drawing.captions import (
    chunk_caption,
    down_caption,
    end_caption,
    message_caption,
    name_of,
    post_caption,
    short,
)
from mcpstreams_sansio.testing.drawing.diagram import Arrow, Tone
from mcpstreams_sansio.testing.drawing.stage import DISK, SERVER, STRANGER, Stage
from mcpstreams_sansio.testing.fronts import head_of
from mcpstreams_sansio.testing.narration import told
from mcpstreams_sansio.testing.state import Happening
from mcpstreams_sansio.testing.wires import Post
from mcpstreams_sansio.wire.jsonrpc import encode_message


@functools.singledispatch
def show(happening: Happening, stage: Stage) -> None:
    """Show one happening: in the words of a transcript, where there is no better way."""
    for line in told(happening, stage.state):
        stage.note(stage.machine, short(line))


def _silent(happening: Happening, stage: Stage) -> None:
    """Leave out what an arrow shows already, or its absence."""


for _kind in (
    *(LinkUp, LinkDown, MessageReceived, PositionReceived, RetryReceived, PathAccepted, PathRefused, PathUnsent),
    *(ConnectionLost, ConnectionOpened, Written, DeadlineReached, AttemptMade, LogWritten, Accept, Reply, PeerHeard),
    *(CallReceived, CursorReceived, AckReceived, AnswerReceived, CancelReceived, CancelledReceived),
):
    show.register(_kind, _silent)


# ---- between the client's machine and the network


@show.register
def _send_on_path(effect: SendOnPath, stage: Stage) -> None:
    name = stage.wire(effect.connection_id)
    stage.open(name)
    stage.send(name, True, post_caption(Post(encode_message(effect.message), effect.last_event_id)))


@show.register
def _read_again(effect: ReadAgain, stage: Stage) -> None:
    name = stage.wire(effect.connection_id)
    stage.open(name)
    stage.send(name, True, post_caption(Post(None, effect.last_event_id)))


@show.register
def _leave(effect: LeavePath, stage: Stage) -> None:
    name = stage.wire(effect.connection_id)
    stage.change(name)
    stage.show(Arrow(stage.machine, name, "close"))


@show.register
def _pause(effect: PauseReading, stage: Stage) -> None:
    stage.note(stage.machine, f"reads no more of {stage.wire(effect.connection_id)}")


@show.register
def _read_on(effect: ResumeReading, stage: Stage) -> None:
    stage.note(stage.machine, f"reads on from {stage.wire(effect.connection_id)}")


# ---- between the caller and the client's machine


@show.register
def _call(order: MakeCall, stage: Stage) -> None:
    stage.show(Arrow(stage.caller(order.call_id), stage.machine, f"calls {order.method}"))


@show.register
def _cancel(order: CancelCall, stage: Stage) -> None:
    stage.show(Arrow(stage.caller(order.call_id), stage.machine, "cancels"))


@show.register
def _detach(order: DetachCall, stage: Stage) -> None:
    stage.show(Arrow(stage.caller(order.call_id), stage.machine, "lets go"))


@show.register
def _attach(order: AttachCall, stage: Stage) -> None:
    stage.show(Arrow(stage.caller(order.call_id), stage.machine, f"goes on after #{order.saved.taken}"))


@show.register
def _answer(order: AnswerAsk, stage: Stage) -> None:
    text = short(f"answers {order.ask_id}")
    if order.call_id is None:
        stage.note(stage.machine, text)
    else:
        stage.show(Arrow(stage.caller(order.call_id), stage.machine, text))


@show.register
def _item(effect: ItemReceived, stage: Stage) -> None:
    text = f"#{effect.position} {message_caption(effect.message)}"
    stage.show(Arrow(stage.machine, stage.caller(effect.call_id), text))


@show.register
def _ask_received(effect: AskReceived, stage: Stage) -> None:
    text = short(f"{name_of(effect.method)}: {effect.ask_id}")
    if effect.call_id is None:
        stage.note(stage.machine, text)
    else:
        stage.show(Arrow(stage.machine, stage.caller(effect.call_id), text))


@show.register
def _withdrawn(effect: AskWithdrawn, stage: Stage) -> None:
    text = short(f"no longer asks {effect.ask_id}")
    if effect.call_id is None:
        stage.note(stage.machine, text)
    else:
        stage.show(Arrow(stage.machine, stage.caller(effect.call_id), text))


@show.register
def _gap(effect: GapFound, stage: Stage) -> None:
    stage.show(Arrow(stage.machine, stage.caller(effect.call_id), f"{effect.lost} are lost", Tone.BAD))


@show.register
def _saved(effect: CallDetached, stage: Stage) -> None:
    stage.show(Arrow(stage.machine, stage.caller(effect.call_id), "saved call"))


@show.register
def _save_due(effect: SaveDue, stage: Stage) -> None:
    stage.show(Arrow(stage.machine, stage.caller(effect.call_id), "to be saved"))


@show.register
def _call_saved(order: CallSaved, stage: Stage) -> None:
    stage.show(Arrow(stage.caller(order.call_id), stage.machine, f"has saved all through #{order.saved.taken}"))


@show.register
def _outcome_saved(order: OutcomeSaved, stage: Stage) -> None:
    stage.show(Arrow(stage.caller(order.call_id), stage.machine, "has saved the outcome"))


@show.register
def _finished(effect: CallFinished, stage: Stage) -> None:
    stage.show(Arrow(stage.machine, stage.caller(effect.call_id), end_caption(effect), Tone.STRONG))


@show.register
def _duplicate(effect: DuplicateDropped, stage: Stage) -> None:
    stage.note(stage.machine, f"has #{effect.position} already")


@show.register
def _unclaimed(effect: UnclaimedMessage, stage: Stage) -> None:
    stage.note(stage.machine, f"nobody waits for {message_caption(effect.message)}")


# ---- between the server's machine and the network


@show.register
def _write(effect: Write, stage: Stage) -> None:
    for data in effect.chunks:
        stage.send(stage.wire(effect.connection_id), False, chunk_caption(data))


@show.register
def _begin_body(effect: BeginBody, stage: Stage) -> None:
    name = stage.wire(effect.connection_id)
    opening = stage.opening(name)
    stage.send(name, False, down_caption(head_of(effect, opening)))


@show.register
def _end_writing(effect: EndWriting, stage: Stage) -> None:
    name = stage.wire(effect.connection_id)
    stage.change(name)
    stage.send(name, False, "closed")


@show.register
def _drop(effect: DropConnection, stage: Stage) -> None:
    name = stage.wire(effect.connection_id)
    stage.break_off(name)
    stage.show(Arrow(SERVER, name, f"dropped: {effect.reason.value}", Tone.BAD))


@show.register
def _poll(event: PollReceived, stage: Stage) -> None:
    if stage.wire(event.connection_id) == STRANGER:
        stage.show(Arrow(STRANGER, SERVER, short(f"poll {event.stream_id}")))


@show.register
def _resume(event: ResumeReceived, stage: Stage) -> None:
    if stage.wire(event.connection_id) == STRANGER:
        stage.show(Arrow(STRANGER, SERVER, short(f"resume {event.stream_id}, wrong token")))


@show.register
def _attached(effect: StreamAttached, stage: Stage) -> None:
    stage.attach(effect.stream_id, stage.wire(effect.connection_id))


@show.register
def _detached(effect: StreamDetached, stage: Stage) -> None:
    stage.detach(effect.stream_id)


@show.register
def _gone(effect: StreamGone, stage: Stage) -> None:
    stage.detach(effect.stream_id)
    stage.note(SERVER, short(f"{effect.stream_id} is gone: {effect.reason.value}"))


@show.register
def _scope_ended(event: ScopeEnded, stage: Stage) -> None:
    stage.note(SERVER, short(f"{event.scope} ends"))


# ---- between the server's machine, the work and the disk


@show.register
def _start(effect: StartCall, stage: Stage) -> None:
    stage.show(Arrow(SERVER, stage.work(effect.stream_id), "start"))


@show.register
def _recover(event: Recover, stage: Stage) -> None:
    many = len(event.records)
    stage.show(Arrow(DISK, SERVER, f"recover {many} {'record' if many == 1 else 'records'}"))


@show.register
def _interrupted(effect: WorkInterrupted, stage: Stage) -> None:
    stage.show(Arrow(SERVER, stage.work(effect.stream_id), f"interrupted after #{effect.produced}", Tone.BAD))


@show.register
def _stop(effect: StopCall, stage: Stage) -> None:
    stage.show(Arrow(SERVER, stage.work(effect.stream_id), f"stop: {effect.reason.value}"))


@show.register
def _message(order: SendMessage, stage: Stage) -> None:
    stage.show(Arrow(stage.work(order.stream_id), SERVER, message_caption(order.message)))


@show.register
def _ask(order: AskPeer, stage: Stage) -> None:
    stage.show(Arrow(stage.work(order.stream_id), SERVER, short(f"{name_of(order.method)}: {order.ask_id}")))


@show.register
def _respond(order: Respond, stage: Stage) -> None:
    stage.show(Arrow(stage.work(order.stream_id), SERVER, message_caption(order.outcome)))


@show.register
def _release(order: ReleaseStream, stage: Stage) -> None:
    stage.show(Arrow(stage.work(order.stream_id), SERVER, "let go of the connection"))


@show.register
def _ask_answered(effect: AskAnswered, stage: Stage) -> None:
    stage.show(Arrow(SERVER, stage.work(effect.stream_id), short(f"answer to {effect.ask_id}")))


@show.register
def _ask_failed(effect: AskFailed, stage: Stage) -> None:
    text = short(f"no answer to {effect.ask_id}: {effect.failure.value}")
    stage.show(Arrow(SERVER, stage.work(effect.stream_id), text))


@show.register
def _hold(effect: HoldMessages, stage: Stage) -> None:
    stage.show(Arrow(SERVER, stage.work(effect.stream_id), "send no more for now"))


@show.register
def _send_more(effect: SendMore, stage: Stage) -> None:
    stage.show(Arrow(SERVER, stage.work(effect.stream_id), "send more"))


@show.register
def _refused(effect: Refused, stage: Stage) -> None:
    stage.show(Arrow(SERVER, stage.work(effect.stream_id), f"too late: {effect.reason.value}"))


@show.register
def _write_log(effect: WriteLog, stage: Stage) -> None:
    many = len(effect.records)
    stage.show(Arrow(SERVER, DISK, f"{many} {'record' if many == 1 else 'records'}"))
