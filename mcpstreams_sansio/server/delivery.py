"""What is written: one outstanding `Write` for each connection, filled from replies and logs (rule R11)."""

from __future__ import annotations

from mcpstreams_sansio.connections import DropReason, EndWriting, Framing, Write
from mcpstreams_sansio.server import attachments, flow, lifecycle, paths, room
from mcpstreams_sansio.server.config import SIGNS_OF_LIFE
from mcpstreams_sansio.server.effects import BeginBody, BodyKind
from mcpstreams_sansio.server.outbox import Connection, Phase
from mcpstreams_sansio.server.records import EntryKind
from mcpstreams_sansio.server.registry import ConnectionTimer, Registry, Service
from mcpstreams_sansio.server.stream import Stream, attachment_of


def flush(registry: Registry) -> None:
    """Write on every connection that the input touched, and only on those."""
    while registry.touched:
        connection_id = next(iter(registry.touched))
        del registry.touched[connection_id]
        path = registry.connections[connection_id]
        if path.phase in (Phase.UNDECIDED, Phase.ACCEPTED):
            _decide(registry, path)
        if path.idle:
            _write(registry, path)
        if registry.service is Service.DRAINING:
            _let_go(registry, path)
        if path.reply_bytes > registry.config.max_reply_bytes:
            paths.drop(registry, path, DropReason.FLOODED)
        elif path.phase is Phase.ENDING:
            _end_if_done(registry, path)


def _decide(registry: Registry, path: Connection) -> None:
    """Let what comes first decide what the body of an HTTP exchange is (rule R18)."""
    if path.phase is Phase.ACCEPTED:
        registry.effects += [BeginBody(path.connection_id, BodyKind.EMPTY), EndWriting(path.connection_id)]
        paths.remove(registry, path)
        return
    if path.has_replies:
        _write_json(registry, path, path.first_reply())
        return
    stream_id = path.ready_stream
    if stream_id is None:
        return
    stream = registry.streams[stream_id]
    entry = stream.log.next_after(attachment_of(stream).position)
    if entry is None:
        return
    if entry.kind in (EntryKind.RESPONSE, EntryKind.FAILURE):
        attachment_of(stream).position = entry.sequence
        stream.log.mark_sent(entry.sequence)
        _write_json(registry, path, entry.payload)
        lifecycle.finish_as_json(registry, stream)
    else:
        attachments.open_events(registry, path)


def _write_json(registry: Registry, path: Connection, payload: bytes) -> None:
    reason, wait = (None, None) if path.refusal is None else (path.refusal.reason, path.refusal.retry_after)
    registry.effects.append(BeginBody(path.connection_id, BodyKind.JSON, reason, wait))
    path.end()
    _begin_write(registry, path, (payload,))


def _write(registry: Registry, path: Connection) -> None:
    limit = registry.config.max_write_bytes
    chunks: list[bytes] = []
    size = 0
    while size < limit and path.has_work:
        frame = path.next_frame()
        if frame is not None:
            chunks.append(frame)
            size += len(frame)
            continue
        stream = registry.streams[path.first_ready()]
        turn = path.take_turn(stream, limit, limit - size)
        chunks += turn
        size += sum(map(len, turn))
        _after_turn(registry, stream)
    if chunks:
        _begin_write(registry, path, tuple(chunks))


def _let_go(registry: Registry, path: Connection) -> None:
    """Let go of the streams that have nothing more to write now: what was written is what their client comes back with.

    So a server that drains serves like one that is polled: whoever comes back gets what there is by then.
    """
    for stream_id in path.written_out:
        lifecycle.let_go(registry, registry.streams[stream_id])


def _end_if_done(registry: Registry, path: Connection) -> None:
    if path.has_work or path.attached or path.holds_back:
        return
    registry.effects.append(EndWriting(path.connection_id))
    path.phase = Phase.ENDED
    if not path.in_flight:
        paths.remove(registry, path)


def _begin_write(registry: Registry, path: Connection, chunks: tuple[bytes, ...]) -> None:
    registry.effects.append(Write(path.connection_id, chunks))
    path.in_flight = sum(map(len, chunks))
    path.last_write = registry.now
    if registry.config.stall_timeout is not None:
        registry.set_timer((ConnectionTimer.STALL, path.connection_id), registry.config.stall_timeout)


def _after_turn(registry: Registry, stream: Stream) -> None:
    """Act on what a stream has put into a write: it may be all there is, or make room."""
    log = stream.log
    registry.may_yield(stream)
    if stream.complete and attachment_of(stream).position >= log.produced and not attachment_of(stream).repeats:
        lifecycle.finish(registry, stream)
        return
    if not stream.resumable:
        room.forget_sent(registry, stream)
    flow.resume_application(registry, stream)


def keep_alive(registry: Registry, path: Connection) -> None:
    """Say something on a connection that delivers and has been silent; give it up if its peer is too (R15, Q7a).

    Nothing is said where nothing can be written now: behind an outstanding write it would only queue up, and an
    exchange that is undecided may become one JSON message.
    """
    interval = registry.config.keepalive
    if interval is None or not path.attached:
        return
    silent_since = path.last_write if path.idle else registry.now
    # The sum, as it is made for the deadline: a difference may be less than the interval by rounding.
    if silent_since + interval <= registry.now:
        if path.framing is Framing.HTTP:
            path.keep_alive()
        elif path.unheard < SIGNS_OF_LIFE:
            path.reply(path.next_ping())
        else:
            paths.drop(registry, path, DropReason.SILENT)
            return
        registry.touch(path.connection_id)
        silent_since = registry.now
    registry.deadlines.set((ConnectionTimer.KEEPALIVE, path.connection_id), silent_since + interval)
