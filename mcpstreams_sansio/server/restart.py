"""How streams come back in another process: everything that a stream is, recorded, derived, or as if it were new.

A crash is the loss of every connection and every session at once. So each stream is taken as it stood, attached, and
then loses what it was attached to: an announced one waits for its client, every other one is over (rules R2, R16).

*Recorded* are its id, its call's id, method and key, its peer, policy (kind, interval, what a loss means, whether the
work runs on), tags, principal and owner; its tokens; every entry that is not confirmed, with its number and its bytes;
what is confirmed, and what was dropped for room; its open questions; why it is gone.

*Derived* are its state, what is produced and durable, sizes and counts, and whether its application was at work: it was
unless the response is there. `create` is in no record: whoever has the token has had it, and a call that is sent again
gets it made anew (rule R3). Nothing that is confirmed is kept for another time (rule R5).

*New* is what no record can hold. Clocks do not outlive a process, so abandonment, tombstones, questions and keys have
their full time from now: never less than was promised. What was sent is not known: nothing above `confirmed` is taken
for sent, and an acknowledgement of anything durable is believed. What may have been sent makes room only where its
client can be told that it is gone: messages whose numbers it sees (`Stream.droppable`), and whole streams that are
complete (`room.make`). No id of a request and no session means anything any more, so nothing is at home anywhere until
its client is back. Numbers of attempts begin anew: every attachment of before is over, and the next attempt of its
client is higher than all of them. Until it comes, an older one that was under way may have the stream once, and loses
it then (rule R14). Rates and wrong tokens are forgotten.

Spec: rules R1-R5, R8-R10, R14, R16, R21, R24, R25.
"""

from __future__ import annotations

from mcpstreams_sansio.server import attachments, flow, lifecycle, production
from mcpstreams_sansio.server.calls import StreamKind
from mcpstreams_sansio.server.effects import AskAnswered, WorkInterrupted
from mcpstreams_sansio.server.log import StreamLog
from mcpstreams_sansio.server.records import EntryKind
from mcpstreams_sansio.server.recovery import Recorded, RecordedStream
from mcpstreams_sansio.server.registry import Registry
from mcpstreams_sansio.server.stream import Handler, OpenAsk, Stream
from mcpstreams_sansio.server.table import StreamSignal, StreamState
from mcpstreams_sansio.wire.refusals import Reason


def recover(registry: Registry, recorded: Recorded) -> None:
    """Go on with the streams and the keys of the process before, as `read_records` found them."""
    for digest, entry in recorded.keys:
        registry.keys.add(digest, entry, registry.now)
    for digest, owner in recorded.cancelled:
        registry.keys.cancel(digest, owner, registry.now)
    for known in recorded.streams:
        stream = _revived(known)
        registry.add(stream)
        registry.total_bytes += stream.log.size
        registry.may_yield(stream)
        if known.reason is not None:
            registry.bury(stream)
        else:
            _lose_everything(registry, stream, known)


def _revived(known: RecordedStream) -> Stream:
    opened = known.opened
    kept = [(sequence, entry.kind, entry.payload) for sequence, entry in known.entries.items()]
    stream = Stream(
        opened.stream_id,
        opened.request_id,
        opened.peer,
        opened.policy,
        opened.tags,
        opened.principal,
        None,
        None,
        opened.owner,
        tokens=known.tokens.copy(),
        key_digest=opened.key_digest,
        state=StreamState.LIVE if known.reason is None else StreamState.GONE,
        log=StreamLog.restored(kept, known.confirmed, known.gone, known.produced),
        handler=Handler.DONE,
        reason=known.reason,
    )
    if known.reason is Reason.FINISHED:
        stream.log.mark_sent(known.produced)  # its end was told, and is told to whoever asks again (rule Q9a)
    return stream


def _lose_everything(registry: Registry, stream: Stream, known: RecordedStream) -> None:
    if known.complete:
        stream.step(StreamSignal.RESPONSE)
    if stream.policy.kind is StreamKind.SILENT:
        stream.step(StreamSignal.CLOSING)
        lifecycle.close(registry, stream, Reason.EXPIRED, None)
        return
    if not stream.resumable:
        stream.step(StreamSignal.FINAL_LOSS)
        lifecycle.close(registry, stream, Reason.NOT_RESUMABLE, None)
        return
    stream.step(StreamSignal.LOSS)
    attachments.rearm(registry, stream)
    if not known.complete:
        _go_on(registry, stream, known)
    elif known.ending is not EntryKind.END:  # the crash came between the two records
        production.append_end(registry, stream)


def _go_on(registry: Registry, stream: Stream, known: RecordedStream) -> None:
    """Tell the application of a call that it was at work on, or was about to be: it may have run (rule R21)."""
    stream.handler = Handler.RUNNING
    registry.begin_work(stream)
    for ask_id, ask in known.asks.items():
        production.expect_answer(registry, stream, ask_id, OpenAsk(ask.sequence, ask.payload))
    answers = (AskAnswered(stream.stream_id, ask_id, answer) for ask_id, answer in known.answers.items())
    registry.effects.append(
        WorkInterrupted(
            stream.stream_id,
            stream.request_id,
            known.opened.method,
            stream.peer,
            known.produced,
            tuple(known.asks),
            tuple(answers),
        )
    )
    flow.hold_application(registry, stream)
