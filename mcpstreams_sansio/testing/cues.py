"""What a script asks of whoever plays it against a server, and what should be seen of that server.

Whoever plays has three parts: the client's end of each connection, the handler of each call, and time. A cue is either
an order to one of them, or says what one of them should see next.
"""

from __future__ import annotations

from typing import TypeAlias, final

import attrs

from mcpstreams_sansio.wire.jsonrpc import JSONObject, Notification


@final
@attrs.frozen
class Connect:
    """Open a connection to the server, and say nothing yet."""

    connection: str
    """How the script calls it from now on."""


@final
@attrs.frozen
class Tell:
    """Send this message to the server: `Script.outgoing` gives its bytes."""

    connection: str
    message: bytes = attrs.field(repr=False)
    """With the names of the script in it."""


@final
@attrs.frozen
class Hear:
    """The next message of the server on this connection is this one: `Script.compare` says whether it is."""

    connection: str
    message: bytes | None = attrs.field(repr=False)
    """With the names of the script in it; None stands for any message at all."""


@final
@attrs.frozen
class Forsake:
    """The client loses the connection, and the server does not notice: read nothing more, but do not close it."""

    connection: str


@final
@attrs.frozen
class Close:
    """The server notices that a connection is lost: close it."""

    connection: str


@final
@attrs.frozen
class Pass:
    """Let time pass."""

    seconds: float


@final
@attrs.frozen
class Begin:
    """The handler of a call is started: it was not before."""

    call: int
    """The argument `number` of the call's params."""


@final
@attrs.frozen
class Send:
    """Let the handler send a notification."""

    call: int
    notification: Notification


@final
@attrs.frozen
class Ask:
    """Let the handler ask, and wait for the answer while the script goes on."""

    call: int
    method: str
    params: JSONObject = attrs.field(hash=False, repr=False)


@final
@attrs.frozen
class Answer:
    """The handler is given the answer to what it asked."""

    call: int
    result: JSONObject | None = attrs.field(hash=False)
    """None: it learns that there will be none."""


@final
@attrs.frozen
class Release:
    """Let the handler let go of the connection, not of the call."""

    call: int


@final
@attrs.frozen
class Return:
    """Let the handler return this result."""

    call: int
    result: JSONObject = attrs.field(hash=False, repr=False)


@final
@attrs.frozen
class Fail:
    """Let the handler fail with this error."""

    call: int
    code: int
    message: str


@final
@attrs.frozen
class Stop:
    """The handler is stopped: nobody wants its result any more."""

    call: int


ConnectionCue: TypeAlias = Connect | Tell | Hear | Forsake | Close
"""What concerns the client's end of a connection."""

HandlerCue: TypeAlias = Begin | Send | Ask | Answer | Release | Return | Fail | Stop
"""What concerns the handler of a call."""

Cue: TypeAlias = ConnectionCue | HandlerCue | Pass
"""A closed union: whoever plays a script matches all of it."""
