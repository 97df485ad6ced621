"""What holds between any two inputs, whatever they are."""

from __future__ import annotations

from collections import Counter

from mcpstreams_sansio.server import flow
from mcpstreams_sansio.server.calls import StreamKind
from mcpstreams_sansio.server.outbox import Answer, Farewell, Telling
from mcpstreams_sansio.server.records import LogRecord
from mcpstreams_sansio.server.recovery import RecordedStream, read_records
from mcpstreams_sansio.server.registry import AskTimer, ConnectionTimer, Registry, StreamTimer
from mcpstreams_sansio.server.stream import ByCall, ByResume, Handler, Stream
from mcpstreams_sansio.server.streams import ServerStreams
from mcpstreams_sansio.server.table import StreamState
from mcpstreams_sansio.server.tally import Tally
from mcpstreams_sansio.testing.watched import _has_spare as has_spare

ATTACHED = {StreamState.LIVE, StreamState.DRAINING}
LAST_WORDS = 1_024
"""Bytes of an error and an `end`: what a stream that failed for its size may exceed its limit by."""


def check_invariants(machine: ServerStreams, now: float) -> None:
    registry = machine._registry
    alive = [stream for stream in registry.streams.values() if stream.state is not StreamState.GONE]
    gone = [stream for stream in registry.streams.values() if stream.state is StreamState.GONE]
    for stream in alive:
        check_log(registry, stream)
        check_attachment(registry, stream)
        check_home(registry, stream)
        check_flow(registry, stream)
    check_connections(registry)
    check_counts(registry, alive)
    check_timers(registry, alive, gone)
    check_limits(registry, alive)
    assert {stream.stream_id for stream in gone} == set(registry.tombstones)
    assert all(stream.tokens and not stream.log.size for stream in gone), "a tombstone is what a token still finds"
    assert (registry.effects, registry.touched, registry.prepared) == ([], {}, None)
    deadline = machine.next_deadline()
    assert deadline is None or deadline > now, "what is due is done"
    hash(machine.snapshot(now))


def check_log(registry: Registry, stream: Stream) -> None:
    log = stream.log
    assert 0 <= log.confirmed <= log.sent <= log.durable <= log.produced, "the watermarks stand in order (R5)"
    assert log.sent <= log.claimable <= log.durable, "a client has nothing that it cannot have"
    kept = {sequence for sequence in range(1, log.produced + 1) if log.entry(sequence) is not None}
    assert all(entry.sequence == sequence for sequence in kept if (entry := log.entry(sequence)))
    assert set(range(log.first_available, log.produced + 1)) <= kept, "from the first available on, all is kept (R10)"
    assert set(range(log.claimable + 1, log.produced + 1)) <= kept, "what was not sent is never dropped (R10)"
    sizes = {sequence: len(entry.payload) for sequence in kept if (entry := log.entry(sequence))}
    assert log.size == sum(sizes.values())
    assert log.unsent_size == sum(size for sequence, size in sizes.items() if sequence > log.sent)
    assert log.unconfirmed_size == sum(size for sequence, size in sizes.items() if sequence > log.confirmed)
    whole = max(log.first_available - 1, 1)
    assert log.size_above(whole) == sum(size for sequence, size in sizes.items() if sequence > whole)
    assert len(log._confirmations) <= len(kept), "no more is remembered than is kept"
    if not stream.resumable:
        # But for `create`, made again for a call that was sent again.
        assert min(kept - {1}, default=log.sent + 1) > log.sent, "what was sent is of no further use (R2)"


def check_attachment(registry: Registry, stream: Stream) -> None:
    attachment = stream.attachment
    assert (attachment is not None) == (stream.state in ATTACHED), "a state says whether a connection delivers"
    if attachment is None:
        assert stream.resumable, "what nobody can come back for does not wait"
        return
    path = registry.connections[attachment.connection_id]
    assert stream.stream_id in path.attached
    assert stream.scope == path.scope
    assert attachment.position <= stream.log.durable
    # `create` goes once it is confirmed; everything else stays for whoever is being given it. Only a call that was sent
    # again is given what there is: it has nothing to resume with before it has `create`.
    origin = attachment.origin
    known = max(1, stream.log.first_available - 1) if isinstance(origin, ByCall) else 1
    rest = range(max(attachment.position, known) + 1, stream.log.produced + 1)
    assert all(stream.log.entry(sequence) for sequence in rest), "no delivery has a hole (R10)"
    if isinstance(origin, ByResume) and origin.request_id is not None:
        assert registry.resumes[path.scope, origin.request_id] == stream.stream_id


def check_home(registry: Registry, stream: Stream) -> None:
    assert stream.scope is None or stream.stream_id in registry.bound[stream.scope]
    assert all(registry.asks[ask_id] == stream.stream_id for ask_id in stream.asks)
    if stream.complete:
        assert not stream.asks, "nobody waits for an answer any more"


def check_flow(registry: Registry, stream: Stream) -> None:
    if stream.handler is Handler.HELD:
        assert flow.over_limit(registry, stream), "nobody waits who need not (R7, R10)"
    if stream.stream_id not in registry.yielding:
        assert not has_spare(registry, stream), "what may go can be found (R10)"


def check_connections(registry: Registry) -> None:
    for path in registry.connections.values():
        told = [payload for held in path._held for payload in payloads_of(held)]
        assert path.reply_bytes == sum(map(len, [*path._replies, *told])), "what waits is counted (R11)"
        for stream_id in path.attached:
            attachment = registry.streams[stream_id].attachment
            assert attachment is not None
            assert attachment.connection_id == path.connection_id, "one connection delivers a stream (Q6g)"
    for scope, request_id in registry.resumes:
        stream = registry.streams[registry.resumes[scope, request_id]]
        assert stream.attachment is not None
        assert isinstance(stream.attachment.origin, ByResume)
        assert stream.attachment.origin.request_id == request_id
        assert stream.scope == scope


def payloads_of(telling: Telling) -> tuple[bytes, ...]:
    match telling:
        case Answer(payload):
            return (payload,)
        case Farewell(payloads):
            return payloads
        case _:
            return ()


def check_counts(registry: Registry, alive: list[Stream]) -> None:
    assert registry.alive == len(alive)
    assert registry.total_bytes == sum(stream.log.size for stream in alive)
    assert registry.quotas == Tally(dict(Counter(stream.owner for stream in alive)))
    assert set(registry.yielding) <= {stream.stream_id for stream in alive}, "nothing goes of what is gone"
    assert registry.works == Tally(dict(Counter(registry.working.values())))
    assert sum(map(len, registry.bound.values())) == sum(stream.scope is not None for stream in alive)
    assert all(registry.bound.values()), "a scope without streams is forgotten"
    assert len(registry.asks) == sum(len(stream.asks) for stream in alive)
    for (scope, request_id), stream_id in registry.calls.items():
        stream = registry.streams[stream_id]
        assert stream in alive
        assert request_id == stream.request_id
        assert scope in (stream.scope, stream.opened_in)


def check_timers(registry: Registry, alive: list[Stream], gone: list[Stream]) -> None:
    timers = registry.deadlines
    for stream in alive:
        detached = stream.attachment is None
        assert ((StreamTimer.ABANDON, stream.stream_id) in timers) == detached, "the timer runs while detached (Q7a)"
        assert all((AskTimer.ANSWER, ask_id) in timers for ask_id in stream.asks), "every question has an end (R24)"
    for stream in gone:
        assert (StreamTimer.FORGET, stream.stream_id) in timers
    for path in registry.connections.values():
        stalling = path.in_flight > 0 and registry.config.stall_timeout is not None
        assert ((ConnectionTimer.STALL, path.connection_id) in timers) == stalling
    known: set[object] = {*registry.streams, *registry.connections, *registry.asks}
    assert {name for (_, name), _ in timers.snapshot(0.0)} <= known, "no timer outlives what it is for"


def check_limits(registry: Registry, alive: list[Stream]) -> None:
    config = registry.config
    assert registry.alive <= config.max_calls
    assert len([stream for stream in alive if stream.policy.kind is not StreamKind.FLEETING]) <= config.max_streams
    assert len(registry.tombstones) <= config.max_tombstones
    assert len(registry.keys) <= config.max_keys
    assert len(registry.keys._cancelled) <= config.max_cancelled_keys
    assert len(registry.wrong_tokens) <= config.max_suspects
    for stream in alive:
        assert stream.log.size <= config.max_stream_bytes + LAST_WORDS
        assert len(stream.asks) <= config.max_asks
        assert len(stream.tokens) <= config.max_tokens
        assert len(stream.attempts) <= config.max_instances
    for path in registry.connections.values():
        assert path.reply_bytes <= config.max_reply_bytes


def check_recorded(machine: ServerStreams, written: tuple[LogRecord, ...]) -> None:
    """Check that records say all that another process has to know, once those that wait are written too."""
    registry = machine._registry
    recorded = read_records((*written, *registry.gate._records), registry.config.max_tokens)
    on_record = {stream.opened.stream_id: stream for stream in recorded.streams}
    for stream in registry.streams.values():
        check_stream_recorded(stream, on_record[stream.stream_id])
    keys, cancelled = dict(recorded.keys), dict(recorded.cancelled)
    assert all(keys[digest] == entry for digest, (_, entry) in registry.keys._entries.items()), "a key stays one (R21)"
    assert all(cancelled[digest] == owner for digest, (_, owner) in registry.keys._cancelled.items())


def check_stream_recorded(stream: Stream, recorded: RecordedStream) -> None:
    assert (stream.reason if stream.state is StreamState.GONE else None) == recorded.reason
    assert stream.tokens == recorded.tokens, "what opens a stream opens it for good (R3)"
    assert (stream.principal, stream.owner) == (recorded.opened.principal, recorded.opened.owner)
    if stream.state is StreamState.GONE:
        return
    log, opened = stream.log, recorded.opened
    assert (stream.request_id, stream.peer, stream.key_digest) == (opened.request_id, opened.peer, opened.key_digest)
    assert (stream.policy, stream.tags, stream.complete) == (opened.policy, opened.tags, recorded.complete)
    assert log.produced == recorded.produced, "the numbers go on (R1)"
    if stream.resumable:  # what nobody can come back for keeps nothing, and no record says so
        assert log.confirmed == recorded.confirmed
        above = range(max(log.confirmed, 1 if stream.announced else 0) + 1, log.produced + 1)
        kept = {sequence: entry.payload for sequence in above if (entry := log.entry(sequence)) is not None}
        assert kept == {sequence: entry.payload for sequence, entry in recorded.entries.items()}, "so do the bytes (R4)"
    assert list(stream.asks) == list(recorded.asks), "what is asked is asked still (R24)"
