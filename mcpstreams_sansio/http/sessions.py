"""HTTP sessions: what an initialised client is known by, and when it is forgotten (rules H30-H33, R16)."""

from __future__ import annotations

import math
from typing import Self, final

import attrs

from mcpstreams_sansio.deadlines import Deadlines
from mcpstreams_sansio.http.config import HTTPConfig
from mcpstreams_sansio.ids import Address, ConnectionId, Digest, Owner, Principal, Secret, owner_of
from mcpstreams_sansio.server.identity import Negotiated
from mcpstreams_sansio.server.inputs import Scope


@final
@attrs.define(eq=False)
class Session:
    """One session. Its id is a secret, so only the digest of it is kept."""

    digest: Digest = attrs.field(repr=False)
    scope: Scope
    principal: Principal | None
    owner: Owner
    negotiated: Negotiated
    exchanges: set[ConnectionId] = attrs.field(factory=set)
    """Those that are open: while there is one, the session does not age."""

    def snapshot(self) -> tuple[object, ...]:
        """Return a hashable value, equal for sessions that will behave alike."""
        return self.digest, self.scope, self.principal, self.owner, self.negotiated, frozenset(self.exchanges)


@final
@attrs.define(eq=False)
class Sessions:
    """All sessions of a server."""

    config: HTTPConfig
    _sessions: dict[Digest, Session] = attrs.field(factory=dict)
    _idle: Deadlines[Digest] = attrs.field(factory=Deadlines)
    _owned: dict[Owner, dict[Digest, None]] = attrs.field(factory=dict)
    """Each owner's sessions; of those without an open exchange the one that has been idle for longest comes first."""
    _count: int = 0

    def __len__(self) -> int:
        return len(self._sessions)

    def open(
        self,
        session_id: Secret,
        principal: Principal | None,
        negotiated: Negotiated,
        now: float,
        address: Address | None = None,
    ) -> Session:
        """Begin a session."""
        self._count += 1
        owner = owner_of(principal, address)
        session = Session(session_id.digest(), Scope(f"session {self._count}"), principal, owner, negotiated)
        self._sessions[session.digest] = session
        self._owned.setdefault(owner, {})[session.digest] = None
        self._idle.set(session.digest, now + self.config.session_idle)
        return session

    @property
    def full(self) -> bool:
        """Whether another session has to end before a new one may begin."""
        return len(self._sessions) >= self.config.max_sessions

    def full_for(self, owner: Owner) -> bool:
        """Whether another session of this owner has to end before it may begin a new one (rule R25)."""
        return len(self._owned.get(owner, ())) >= self.config.max_sessions_per_principal

    def evict(self) -> Session | None:
        """End and return the session that has been idle for longest; None if all have open exchanges."""
        return self.pop_idle(math.inf)

    def evict_of(self, owner: Owner) -> Session | None:
        """The same among the sessions of one owner."""
        for digest in self._owned.get(owner, ()):
            session = self._sessions[digest]
            if not session.exchanges:
                self.end(session)
                return session
        return None

    def find(self, session_id: Secret, principal: Principal | None) -> Session | None:
        """Return a principal's session; another one's does not exist for it (rule H33, case Q3)."""
        session = self._sessions.get(session_id.digest())
        return session if session is not None and session.principal == principal else None

    def enter(self, session: Session, connection_id: ConnectionId) -> None:
        """Note that an exchange of a session is open: while one is, the session does not age."""
        session.exchanges.add(connection_id)
        self._idle.clear(session.digest)

    def leave(self, digest: Digest, connection_id: ConnectionId, now: float) -> None:
        """Note that an exchange of a session is over; from the last one on it ages."""
        session = self._sessions.get(digest)
        if session is None:
            return
        session.exchanges.discard(connection_id)
        if not session.exchanges:
            self._idle.set(digest, now + self.config.session_idle)
            owned = self._owned[session.owner]
            owned[digest] = owned.pop(digest)

    def end(self, session: Session) -> None:
        """Forget a session."""
        if self._sessions.pop(session.digest, None) is None:
            return
        self._idle.clear(session.digest)
        owned = self._owned[session.owner]
        del owned[session.digest]
        if not owned:
            del self._owned[session.owner]

    def next_deadline(self) -> float | None:
        """Return when the next idle session ends."""
        return self._idle.next()

    def pop_idle(self, now: float) -> Session | None:
        """End and return a session that has been idle for long enough; None if there is none (left)."""
        digest = self._idle.pop_due(now)
        if digest is None:
            return None
        session = self._sessions[digest]
        self.end(session)
        return session

    def fork(self) -> Self:
        """Return an independent copy."""
        return attrs.evolve(
            self,
            sessions={
                digest: attrs.evolve(session, exchanges=session.exchanges.copy())
                for digest, session in self._sessions.items()
            },
            idle=self._idle.fork(),
            owned={owner: owned.copy() for owner, owned in self._owned.items()},
        )

    def snapshot(self, now: float) -> tuple[object, ...]:
        """Return a hashable value, equal for sessions that will behave alike."""
        return tuple(session.snapshot() for session in self._sessions.values()), self._idle.snapshot(now)
