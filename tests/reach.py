"""How much a machine holds: everything that can be reached from it, counted."""

from __future__ import annotations

import gc
import types

NOT_HELD = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    int,
    float,
    str,
    bytes,
)
"""What belongs to the program, or may be one object or several without any difference."""


def objects_held(root: object) -> int:
    """Return how many objects of its own something holds, itself included."""
    known = {id(root)}
    waiting = [root]
    while waiting:
        for held in gc.get_referents(waiting.pop()):
            if id(held) not in known and not isinstance(held, NOT_HELD):
                known.add(id(held))
                waiting.append(held)
    return len(known)
