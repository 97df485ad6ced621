"""Progress of a request: named by a token that whoever makes the request chooses (rule Q3e)."""

from __future__ import annotations

from typing import Final

from mcpstreams_sansio.ids import RequestId
from mcpstreams_sansio.wire.jsonrpc import JSONObject, JSONValue, Notification, is_request_id
from mcpstreams_sansio.wire.meta import meta_of
from mcpstreams_sansio.wire.methods import PROGRESS

PROGRESS_TOKEN: Final = "progressToken"
"""Names a request in its progress: a key of its `_meta`, and a member of the params of each notification.

It is the one key of `_meta` that belongs to the call itself (rule R21.2)."""


def progress_token(params: JSONObject | None) -> RequestId | None:
    """Return under what token a request wants progress, `None` where it wants none, or none that can be a token.

    Raises:
        RemoteProtocolError: -32602; `_meta` is no object.
    """
    token = meta_of(params).get(PROGRESS_TOKEN)
    return token if is_request_id(token) else None


def progress_notification(
    token: RequestId, progress: float, total: float | None = None, message: str | None = None
) -> Notification:
    """Return a notification of progress.

    Args:
        token: The request's.
        progress: How far the work is; has to rise from one time to the next.
        total: Where it ends, if known.
        message: What is being done.

    Wire: `{"method": "notifications/progress", "params": {"progressToken": "p", "progress": 1, "total": 3}}`
    """
    params: dict[str, JSONValue] = {PROGRESS_TOKEN: token, "progress": progress}
    if total is not None:
        params["total"] = total
    if message is not None:
        params["message"] = message
    return Notification(PROGRESS, params)
