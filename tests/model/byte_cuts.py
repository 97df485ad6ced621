"""One conversation, cut at one place after another: what a walk meets by chance is met here for certain."""

from __future__ import annotations

from typing import Final

from mcpstreams_sansio.connections import Framing
from tests.model import byte_orders
from tests.model.byte_effects import world_of
from tests.model.byte_wires import End, Wire
from tests.model.byte_world import ByteWorld, Setting

TEXTS: Final = ("é\u2028😀", "data: x\n\nid: 9", "last")
"""What the messages hold; the last one goes with the result."""
STRIDE: Final = 100
"""Bytes between two places of which nothing is known."""


def said(setting: Setting) -> tuple[ByteWorld, Wire]:
    """Return a world in which a call has arrived, and all that the work on it says is under way."""
    world = world_of(setting)
    byte_orders.call(world, TEXTS[0])
    byte_orders.carry(world)
    [stream_id] = world.people.works
    for text in TEXTS:
        byte_orders.send(world, stream_id, text)
    byte_orders.succeed(world, stream_id, TEXTS[-1])
    while world.batches:
        world.log()
    [wire] = [wire for wire in world.wires if wire.down.size]
    return world, wire


def places(setting: Setting) -> list[int]:
    """Return where to cut: around each line end and each character of several bytes, and here and there besides."""
    _, wire = said(setting)
    under_way = b"".join(wire.down.pieces)
    if setting.framing is Framing.MESSAGES:
        return list(range(len(wire.down.pieces) + 1))
    ends = [place for place, byte in enumerate(under_way) if byte in b"\r\n" or byte >= 0x80]
    near = {place + step for place in ends for step in (0, 1)}
    return sorted(place for place in near | {*range(0, len(under_way), STRIDE)} if place <= len(under_way))


def cut_at(setting: Setting, place: int, end: End | None) -> None:
    """Let so much arrive, in the smallest pieces, lose the rest, and let everything come to its end.

    Args:
        setting: Which world it is.
        place: How many bytes, or whole messages.
        end: How the connection ends; None if it does not, and the two parts arrive one after the other.

    Raises:
        Violation: Something does not hold.
    """
    world, wire = said(setting)
    if end is None:
        world.bring_down(wire, max(place, 1))
    else:
        for _ in range(place):
            if wire.brings_down and wire.down.size:
                world.bring_down(wire, 1)
        for pipe in (wire.up, wire.down):
            world.cut(wire, pipe, 0, end)
    byte_orders.settle(world)


def cut_everywhere(setting: Setting) -> None:
    """Do that at every place: with no loss, with one that both sides see, and with one that looks like a good end.

    Raises:
        Violation: Something does not hold.
    """
    for place in places(setting):
        for end in (None, End.BROKEN, End.ENDED):
            cut_at(setting, place, end)
