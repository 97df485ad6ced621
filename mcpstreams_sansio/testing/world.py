"""The world of streams: both real machines, and everything that can come between them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Final, Self, final

import attrs

from mcpstreams_sansio.client.config import ClientConfig
from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.server.config import StreamsConfig
from mcpstreams_sansio.server.streams import ServerStreams
from mcpstreams_sansio.testing import crashes, network, people, restarts, strangers
from mcpstreams_sansio.testing.actions import Bounds, Kind, Peers, Transport, reliable, spent
from mcpstreams_sansio.testing.attempts import count_attempts
from mcpstreams_sansio.testing.half_open import notice_idle_losses
from mcpstreams_sansio.testing.homes import fresh_homes
from mcpstreams_sansio.testing.machines import Shared
from mcpstreams_sansio.testing.names import FAR, instance_name
from mcpstreams_sansio.testing.narration import goals_of, narrate
from mcpstreams_sansio.testing.properties import Action, Eventually
from mcpstreams_sansio.testing.state import State
from mcpstreams_sansio.testing.watched import WatchedServer


@final
@attrs.frozen
class _Move:
    """When a kind of action is possible, and what it does."""

    targets: Callable[[State], Sequence[str | None]]
    happen: Callable[[State, str], None]


_MOVES: Final[Mapping[Kind, _Move]] = {
    Kind.CALL: _Move(people.can_call, people.call),
    Kind.TAKE: _Move(people.can_take, people.come_back),
    Kind.ANSWER: _Move(people.can_answer, people.answer),
    Kind.CANCEL: _Move(people.can_cancel, people.cancel),
    Kind.DETACH: _Move(people.can_detach, people.detach),
    Kind.ATTACH: _Move(people.can_attach, people.attach),
    Kind.SEND: _Move(people.can_send, people.send),
    Kind.ASK: _Move(people.can_ask, people.ask),
    Kind.SUCCEED: _Move(people.can_succeed, people.succeed),
    Kind.FAIL: _Move(people.can_fail, people.fail),
    Kind.RELEASE: _Move(people.can_release, people.release),
    Kind.CONNECT: _Move(network.can_connect, network.connect),
    Kind.UP: _Move(network.with_posts, network.deliver_up),
    Kind.DOWN: _Move(network.with_chunks, network.deliver_down),
    Kind.WRITTEN: _Move(network.with_write, network.report_write),
    Kind.CUT: _Move(network.can_cut, network.cut),
    Kind.STRAGGLE: _Move(network.can_straggle, network.straggle),
    Kind.FADE: _Move(network.can_fade, network.fade),
    Kind.NOTICE: _Move(network.can_notice, network.notice),
    Kind.END_SESSION: _Move(network.can_end_session, network.end_session),
    Kind.LOGGED: _Move(network.can_log, network.log),
    Kind.WAIT: _Move(network.can_wait, network.wait),
    Kind.HURRY: _Move(network.can_hurry, network.hurry),
    Kind.OVERSLEEP: _Move(network.can_oversleep, network.oversleep),
    Kind.POLL: _Move(strangers.can_poll, strangers.poll),
    Kind.SAVE: _Move(restarts.can_save, restarts.save),
    Kind.KEEP: _Move(restarts.can_keep, restarts.keep),
    Kind.SAVED: _Move(restarts.can_report_saved, restarts.report_saved),
    Kind.CRASH_CLIENT: _Move(restarts.can_crash_client, restarts.crash_client),
    Kind.RIVAL: _Move(people.can_rival, people.rival),
    Kind.CRASH: _Move(crashes.can_crash, crashes.crash),
    Kind.GIVE_UP: _Move(people.can_give_up, people.give_up),
    Kind.COPY: _Move(strangers.can_copy, strangers.copy),
    Kind.INTRUDE: _Move(strangers.can_intrude, strangers.intrude),
}

_STALL_TIMEOUT: Final = 8.0
_IMPATIENCE: Final = 6.0

SERVER_CONFIG: Final = StreamsConfig(
    redelivery_window=0.0,
    max_interval=16.0,
    silent_retention=16.0,
    tombstone_ttl=FAR,
    key_ttl=FAR,
    ask_timeout=128.0,
    resume_interval=0.0,  # the worlds are too short for a rate, and would differ by what is left of it
    stall_timeout=None,
    keepalive=None,
    retry_ms=1_000,
    takeover_retry_ms=2_000,
)
"""Times that are powers of two, so that equal moments are equal to the last bit."""

CLIENT_CONFIG: Final = ClientConfig(
    instance=instance_name(1),
    retry_floor=1.0,
    retry_ceiling=4.0,
    retry_jitter=0.0,
    patience=64.0,
    steady_after=8.0,
    reply_timeout=8.0,
    cancel_patience=32.0,
    ack_interval=4.0,
    settle_timeout=2.0,
    linger=64.0,
    keepalive=None,
    stall_timeout=None,
)
"""The same for the client."""


@final
class StreamsWorld:
    """Both sides of a few calls, with every order of what can happen within some bounds.

    Args:
        transport: What connections mean.
        peers: What the two sides know of each other.
        bounds: How often each thing can happen.
        server_config: Limits and times of the server, apart from what `bounds` says.
        client_config: The same for the client.
    """

    state: State
    """All that is in it, for whoever looks closer, or meddles."""

    def __init__(
        self,
        transport: Transport = Transport.MULTIPLEXED,
        peers: Peers = Peers.MARKER,
        bounds: Bounds = Bounds(),
        *,
        server_config: StreamsConfig = SERVER_CONFIG,
        client_config: ClientConfig = CLIENT_CONFIG,
    ) -> None:
        server = ServerStreams(
            attrs.evolve(
                server_config,
                durable=bool(bounds.durable),
                stall_timeout=_STALL_TIMEOUT if bounds.stalls else server_config.stall_timeout,
                window=bounds.window or server_config.window,
                max_total_bytes=bounds.room or server_config.max_total_bytes,
                keep_bytes=1 if bounds.room else server_config.keep_bytes,
            )
        )
        clients = attrs.evolve(
            client_config,
            poll_first=bool(bounds.poll_first),
            max_unread=bounds.max_unread or client_config.max_unread,
            patience=_IMPATIENCE if bounds.impatient else client_config.patience,
        )
        first, *spare = fresh_homes(clients, 1 + bounds.rivals + bounds.client_crashes)
        newborn = Shared(WatchedServer(server))
        self.state = State(transport, peers, bounds, bounds, newborn, newborn, tuple(spare), {first.name: first})
        self._setting = f"{transport.value} {peers.value} {bounds}".strip()

    @classmethod
    def parse(cls, setting: str) -> Self:
        """Return the first state of the world of a transcript.

        Args:
            setting: What `setting` wrote.

        Raises:
            LocalProtocolError: It is no setting of such a world.
        """
        transport, _, rest = setting.partition(" ")
        peers, _, bounds = rest.partition(" ")
        try:
            return cls(Transport(transport), Peers(peers), Bounds.parse(bounds))
        except ValueError as error:
            raise LocalProtocolError(f"{setting} is no setting of a world of streams") from error

    def setting(self) -> str:
        """Say which world this is: transport, peers, and the bounds that are not the usual ones."""
        return self._setting

    def actions(self) -> Sequence[Action]:
        """Return what can happen now."""
        return [_action(kind, target) for kind, move in _MOVES.items() for target in move.targets(self.state)]

    def apply(self, action: Action) -> None:
        """Let something happen.

        Raises:
            Violation: It shows that something does not hold.
        """
        before = self.state.left
        self.state.begin()
        _MOVES[Kind(action.kind)].happen(self.state, action.target or "")
        count_attempts(self.state, before)

    def simplify(self) -> None:
        """Let the server notice every loss of which it makes no difference when it does."""
        notice_idle_losses(self.state)

    def fork(self) -> Self:
        """Return an independent copy; machines and messages are shared until one of the copies changes them."""
        other = type(self).__new__(type(self))
        other.state = self.state.fork()
        other._setting = self._setting
        return other

    def key(self) -> Hashable:
        """Return a text that decides the future, whatever things are called and whatever the time is."""
        return self.state.key()

    def spent(self) -> tuple[int, ...]:
        """Return how often each thing has happened that may happen so often, and need not."""
        return spent(self.state.bounds, self.state.left)

    def check(self) -> None:
        """Check nothing more: what must hold is checked where it happens, in `apply`."""

    def goals(self) -> Iterable[str]:
        """Name what the last action led to."""
        return goals_of(self.state)

    def effects(self) -> Sequence[str]:
        """Say what the last action led to, for a transcript."""
        return narrate(self.state)

    def settled(self) -> bool:
        """Say whether all is done: every caller has its outcome, and both sides have let go of every call."""
        return self.state.settled()


@functools.lru_cache(1_024)
def _action(kind: Kind, target: str | None) -> Action:
    return Action(kind, target)


SETTLES: Final = Eventually("every call is settled", StreamsWorld.settled, reliable)
"""If connections stop failing, every caller has exactly one outcome, and both sides let go of everything."""
