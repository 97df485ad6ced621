"""Faults below the messages: in what puts bytes together again, once they were cut.

No world of whole messages can show them. Each is found by the walk of both whole machines, in a setting in which it
shows soon.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

import attrs

from mcpstreams_sansio.connections import Framing
from mcpstreams_sansio.framing import splitter, sse
from mcpstreams_sansio.http import bodies
from mcpstreams_sansio.peer import client
from mcpstreams_sansio.testing import Peers
from tests.model.byte_world import Setting
from tests.model.planted.fault import Patch, around

MISSING: Final = ("nothing is missing", "exactly once, in order", "an answer in the end")
UNREADABLE: Final = "what arrives is what was sent"


@final
@attrs.frozen
class ByteFault:
    """A fault that an implementation could have in its framing."""

    plant: Callable[[Patch], None]
    """Puts it in. Its name and its docstring say what is wrong then."""
    cites: str
    """The rule that it breaks, or the case in which it was met."""
    setting: Setting
    """Where it is found."""
    broken: frozenset[str]
    """The properties that do not hold; which of them shows first depends on where the walk cuts."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.plant.__name__

    @property
    def text(self) -> str:
        """What is wrong, in a sentence."""
        return (self.plant.__doc__ or "").strip()


def planted(cites: str, setting: Setting, *broken: str) -> Callable[[Callable[[Patch], None]], ByteFault]:
    """Make a fault of a function that plants it.

    Args:
        cites: The rule that it breaks, or the case in which it was met.
        setting: Where it is found.
        broken: What does not hold then.
    """
    return lambda plant: ByteFault(plant, cites, setting, frozenset(broken))


def before(patch: Patch, owner: type, name: str, meddle: Callable[..., object]) -> None:
    """Meddle with an object just before one of its methods runs."""
    around(patch, owner, name, lambda inner, *given: (meddle(*given), inner(*given))[1])


@planted("rule M26", Setting(framing=Framing.LINES), UNREADABLE)
def unfinished_line_is_dropped(patch: Patch) -> None:
    """What has come of a line is forgotten as soon as more of it comes."""
    before(patch, splitter.LineSplitter, "receive_data", lambda lines, _: lines.take_unfinished())


@planted("rule H28", Setting(framing=Framing.HTTP), UNREADABLE)
def characters_are_read_piece_by_piece(patch: Patch) -> None:
    """A character that is cut becomes two that nobody sent."""
    around(
        patch,
        splitter.LineSplitter,
        "receive_data",
        lambda inner, lines, data: inner(lines, data.decode(errors="replace").encode()),
    )


@planted("rule M26", Setting(framing=Framing.LINES), UNREADABLE)
def unfinished_line_outlives_its_connection(patch: Patch) -> None:
    """What a lost connection has left of a line stands before the first line of the next one."""
    kept: list[client._Connection] = []

    def opened(inner: Callable[..., object], front: client.ClientPeer, now: float) -> object:
        told = inner(front, now)
        assert front._connection is not None
        if kept:
            front._connection.lines._lines = kept.pop().lines._lines
        kept.append(front._connection)
        return told

    around(patch, client.ClientPeer, "open", opened)


@planted("rule H28", Setting(framing=Framing.HTTP), UNREADABLE)
def line_end_at_the_begin_is_passed_over(patch: Patch) -> None:
    """An LF in front of what arrives belongs to the line before it, whatever that ended with: two events are one."""

    def glue(decoder: sse.SSEDecoder, _: bytes) -> None:
        decoder._input = sse._Input.AFTER_CR

    before(patch, sse.SSEDecoder, "receive_data", glue)


@planted("case N2", Setting(framing=Framing.HTTP, peers=Peers.STOCK, line_end=b"\r\n"), *MISSING)
def line_end_that_is_cut_is_two(patch: Patch) -> None:
    """A CR and an LF that arrive one by one are two line ends, so that the id of an event goes alone."""

    def forget(decoder: sse.SSEDecoder, _: bytes) -> None:
        decoder._input = sse._Input.OPEN

    before(patch, sse.SSEDecoder, "receive_data", forget)


@planted("rule H29", Setting(framing=Framing.HTTP, peers=Peers.STOCK), *MISSING)
def id_of_half_an_event_counts(patch: Patch) -> None:
    """An id moves the cursor as soon as its line is there, before the message that it stands for."""

    def read(inner: Callable[..., object], decoder: sse.SSEDecoder, line: bytes) -> None:
        inner(decoder, line)
        if decoder._block.id is not None:
            decoder._last_event_id = decoder._block.id.decode()

    around(patch, sse.SSEDecoder, "_read_field", read)


@planted("rule H28", Setting(framing=Framing.HTTP, peers=Peers.STOCK), *MISSING)
def body_that_is_cut_is_complete(patch: Patch) -> None:
    """The end of a body ends the event that it has begun: what was cut off is a message that nobody can read."""
    patch.setattr(bodies.EventsBody, "receive_eof", lambda body: body.receive_data(b"\n\n"))


FAULTS: Final = tuple(value for value in vars().values() if isinstance(value, ByteFault))
