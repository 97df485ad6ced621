"""Names and secrets: the ground floor that every room stands on.

Identifiers are plain values with a type of their own, so that a checker can tell a stream from a connection.
Secrets are wrapped, so that no `repr`, log line or error text can show one (rules Q11a, Q11b).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import Final, NewType, TypeAlias, final

import attrs

from mcpstreams_sansio.errors import LocalProtocolError

StreamId = NewType("StreamId", str)
"""Names a stream; chosen by the server, unique across its instances, not secret (rule W1)."""

ConnectionId = NewType("ConnectionId", int)
"""Names one delivery path: a WebSocket, a byte stream, or one HTTP exchange. Never used twice (rule R13)."""

CallId = NewType("CallId", int)
"""Names one call of the application on the client's side."""

Principal = NewType("Principal", str)
"""Who a peer was authenticated as. No principal (`None`) is no identity at all (rule R25)."""

Address = NewType("Address", str)
"""Where a peer is, as far as whoever accepted it can tell one from another: what quotas go by without a principal (rule
R25)."""

Owner: TypeAlias = tuple[str, str]
"""Whose quotas something counts against (rule R25)."""

Digest = NewType("Digest", bytes)
"""SHA-256 of a secret: what is stored and compared instead of it."""

RequestId: TypeAlias = str | int
"""A JSON-RPC id. `1` and `"1"` are different ids (rule W6)."""


@final
@attrs.frozen(repr=False, eq=False)
class Secret:
    """A resume token, a call key or a session id: anything whose knowledge gives access.

    It shows itself to nobody: `repr` and `str` are constant. Two secrets are compared in constant time.
    """

    _value: str

    def reveal(self) -> str:
        """Return the text, for the one place where it goes on the wire."""
        return self._value

    def digest(self) -> Digest:
        """Return the SHA-256 by which it is stored and looked up."""
        return Digest(hashlib.sha256(self._value.encode("utf-8", "surrogatepass")).digest())

    def __repr__(self) -> str:
        return "Secret(...)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(self.digest(), other.digest())

    def __hash__(self) -> int:
        return hash(self.digest())


def owner_of(principal: Principal | None, address: Address | None) -> Owner:
    """Return whose quotas something counts against: its principal's, else those of where it came from (rule R25).

    What came from nowhere in particular counts as one peer's.
    """
    return ("address", address or "") if principal is None else ("principal", principal)


def same_digest(left: Digest, right: Digest) -> bool:
    """Compare two digests in constant time (rule Q11a)."""
    return hmac.compare_digest(left, right)


MIN_SEED_BYTES: Final = 16
"""128 bits: what is made from a seed is as hard to guess as the seed (rule Q11a)."""


def _is_seed(_: object, __: object, value: bytes) -> None:
    if type(value) is not bytes or len(value) < MIN_SEED_BYTES:
        raise LocalProtocolError(f"a seed is made of at least {MIN_SEED_BYTES} bytes")


@final
@attrs.frozen(repr=False)
class Entropy:
    """Unguessable bytes that an input brings, from which the ids and tokens it needs are made.

    A machine makes no randomness. One input may hold any number of requests, so each input brings a seed of its
    own and the names come from it by HMAC: the same inputs give the same names, and nobody else can guess one.

    Args:
        seed: At least `MIN_SEED_BYTES` from a cryptographic source, never used for a second input.

    Raises:
        LocalProtocolError: The seed is too short to be unguessable, or is not made of bytes.
    """

    _seed: bytes = attrs.field(validator=_is_seed)

    def derive(self, label: str) -> str:
        """Return 256 bits as 43 characters of `[A-Za-z0-9_-]`; another label gives an unrelated value."""
        mac = hmac.new(self._seed, label.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(mac).rstrip(b"=").decode("ascii")

    def __repr__(self) -> str:
        return "Entropy(...)"
