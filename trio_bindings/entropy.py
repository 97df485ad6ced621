"""The one place where randomness enters: every id, token, key and jitter comes from what is made here."""

from __future__ import annotations

import secrets
from typing import Final

from mcpstreams_sansio.ids import Entropy, Secret

_SEED_BYTES: Final = 32
_NAME_BYTES: Final = 16


def fresh_entropy() -> Entropy:
    """Return a seed for one input of a machine."""
    return Entropy(secrets.token_bytes(_SEED_BYTES))


def fresh_ask_id() -> str:
    """Return the id of a question to a peer: nobody can guess it, so nobody else can answer it (rule R24)."""
    return secrets.token_urlsafe(_SEED_BYTES)


def fresh_token() -> Secret:
    """Return a resume token (rule Q11a)."""
    return Secret(secrets.token_urlsafe(_SEED_BYTES))


def fresh_instance() -> str:
    """Return a name that no other server or client has: what `instance` needs unless its memory outlives it (R21.7)."""
    return secrets.token_urlsafe(_NAME_BYTES)


def fresh_seed() -> int:
    """Return a small number to repeat a run by."""
    return secrets.randbelow(1_000_000)
