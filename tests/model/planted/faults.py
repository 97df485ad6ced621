"""All deliberate faults, by the room in which they are."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Final

from tests.model.planted import (
    client_calls,
    client_messages,
    crashes,
    limits,
    polls,
    restarts,
    secrets,
    server_log,
    server_peers,
    server_streams,
)
from tests.model.planted.fault import Fault


def faults_of(room: ModuleType) -> tuple[Fault, ...]:
    """Return the faults of a module, in their order."""
    return tuple(value for value in vars(room).values() if isinstance(value, Fault))


FAULTS: Final[Mapping[str, tuple[Fault, ...]]] = {
    "The log of a server": faults_of(server_log),
    "The streams of a server": faults_of(server_streams),
    "A server towards its peers": faults_of(server_peers),
    "What a server answers to a poll": faults_of(polls),
    "Tokens": faults_of(secrets),
    "The calls of a client": faults_of(client_calls),
    "The messages of a client": faults_of(client_messages),
    "What is kept": faults_of(limits),
    "A crash of the server": faults_of(crashes),
    "A crash of the client": faults_of(restarts),
}
"""Under the title of its part of the documentation."""
