"""Methods of core MCP that mean something to streams; every other one belongs to the application."""

from __future__ import annotations

from typing import Final

PING: Final = "ping"
"""Either side to the other: answer at once, with an empty result."""

CANCELLED: Final = "notifications/cancelled"
"""Either side to the other: the answer to that request is no longer wanted (rule H35)."""

PROGRESS: Final = "notifications/progress"
"""Either side to the other: how far a request is; it names the request by a token of whoever made it."""

TOOLS_CALL: Final = "tools/call"
"""Client to server: run a tool."""
