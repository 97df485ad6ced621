"""The one place where randomness enters: every id, token, key and jitter comes from what is made here."""

from __future__ import annotations

import secrets

from mcpstreams_sansio.ids import Entropy

_SEED_BYTES = 32


def fresh_entropy() -> Entropy:
    """Return a seed for one input of a machine."""
    return Entropy(secrets.token_bytes(_SEED_BYTES))


def fresh_ask_id() -> str:
    """Return the id of a question to a peer: nobody can guess it, so nobody else can answer it (rule R24)."""
    return secrets.token_urlsafe(_SEED_BYTES)
