"""Trio bindings of `mcpstreams_sansio`: sockets, timers and tasks around machines that decide everything.

No rule of the protocol lives here. A binding reads bytes, hands them to a machine, carries out the effects that come
back, and wakes the machine at the deadline that it names. `driver` does so for both sides; `server` and `client` start
the application's tasks; `byte_stream`, `http_server` and `http_client` are the transports. What an application on Trio
needs is re-exported here, except for HTTP, whose modules need the extra `http`; configs, messages and outcomes are
re-exported by `mcpstreams_sansio`.
"""

from __future__ import annotations

from trio_bindings.app import Call, Handler
from trio_bindings.byte_stream import connect_stream, connect_tcp, serve_stream, serve_tcp
from trio_bindings.calls import CallHandle, ClientCall, Gap, Item, ToSave
from trio_bindings.client import ClientFailedError, ClientSession, Counters, ServerRequest
from trio_bindings.entropy import fresh_instance
from trio_bindings.errors import AskError, AskRejectedError, AskUnansweredError, CallError
from trio_bindings.outcomes import (
    CallCancelledError,
    CallFailedError,
    CallLostError,
    CallNotRunError,
    NoResultError,
    OutcomeUnknownError,
)
from trio_bindings.server import RunningServer, new_identity, open_server

__all__ = [
    "AskError",
    "AskRejectedError",
    "AskUnansweredError",
    "Call",
    "CallCancelledError",
    "CallError",
    "CallFailedError",
    "CallHandle",
    "CallLostError",
    "CallNotRunError",
    "ClientCall",
    "ClientFailedError",
    "ClientSession",
    "Counters",
    "Gap",
    "Handler",
    "Item",
    "NoResultError",
    "OutcomeUnknownError",
    "RunningServer",
    "ServerRequest",
    "ToSave",
    "connect_stream",
    "connect_tcp",
    "fresh_instance",
    "new_identity",
    "open_server",
    "serve_stream",
    "serve_tcp",
]
