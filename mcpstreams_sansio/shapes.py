"""Whether an input is what it is declared to be, all the way down: asked before a machine does anything (rule R13).

A type checker says so, for those who run one. Nobody else must be able to leave a machine half way through an input,
and what an application returns has often been checked by nobody. What JSON holds is looked at when it is written.
"""

from __future__ import annotations

import collections.abc
import enum
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias, final

import attrs

from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.wire.converter import MAX_NUMBER, Position, Seconds
from mcpstreams_sansio.wire.strict_json import MAX_INTEGER, is_text

LATEST: Final = 2.0**40
"""Seconds: far beyond any clock, and still so precise that a moment differs from the one a millisecond later."""

_Fault: TypeAlias = str | None
"""Where in a value something is wrong and what should be there, or nothing. It holds nothing of the value itself."""


_AFTER_AN: Final = ("A", "E", "I", "O", "U", "HTTP")
"""How names of types begin that are spoken with a vowel first."""


@final
@attrs.frozen
class _Shape:
    """What a value has to be."""

    name: str
    fault: Callable[[object], _Fault]
    certain: frozenset[type] = frozenset()
    """Of these types every value fits: most values need no other question."""
    inner: frozenset[type] = frozenset()
    """Of these types a value has the right type, and may have something wrong in it."""


def check_shape(value: object, kinds: frozenset[type]) -> None:
    """Refuse what is of none of these types, or has a field that does not hold what it is declared to hold.

    Args:
        value: What somebody handed over.
        kinds: Types made with attrs.

    Raises:
        LocalProtocolError: The text names the field and what it must be, and repeats no value.
    """
    kind = type(value)
    if kind not in kinds:
        raise LocalProtocolError(f"{kind.__name__} is no input")
    fault = _shape_of(kind).fault(value)
    if fault is not None:
        raise LocalProtocolError(kind.__name__ + fault)


def check_time(now: object, earliest: float) -> None:
    """Refuse what is no moment, or is past already (rules R13, Q7h).

    Raises:
        LocalProtocolError: It is no number from `-LATEST` to `LATEST`, or less than `earliest`.
    """
    # Said in this way, so that what is no number to be compared with is refused too.
    if not (isinstance(now, (int, float)) and -LATEST <= now <= LATEST and earliest <= now):
        raise LocalProtocolError("the time must be a number of seconds, and must not go back")


def members_of(union: object) -> frozenset[type]:
    """Return the types that a closed union is made of."""
    return frozenset(typing.get_args(union))


def _a(kind: type) -> str:
    """Return the name of a type behind its article: `a Request`, `an ErrorResponse`, `an HTTPRequest`."""
    return f"{'an' if kind.__name__.startswith(_AFTER_AN) else 'a'} {kind.__name__}"


def _leaf(name: str, fits: Callable[[object], bool], *inner: type) -> _Shape:
    return _Shape(name, lambda value: None if fits(value) else f" must be {name}", inner=frozenset(inner))


def _instance(name: str, kind: type, *certain: type) -> _Shape:
    return attrs.evolve(_leaf(name, lambda value: isinstance(value, kind)), certain=frozenset(certain or (kind,)))


def _is_string(value: object) -> bool:
    return isinstance(value, str) and (value.isascii() or is_text(value))


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -MAX_INTEGER <= value <= MAX_INTEGER


def _is_position(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INTEGER


def _is_duration(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= MAX_NUMBER


_SHAPES: Final[dict[object, _Shape]] = {
    object: _leaf("anything", lambda _: True),
    str: _leaf("text that UTF-8 can carry", _is_string, str),
    int: _leaf("an integer that JSON can carry", _is_integer, int),
    bool: _instance("true or false", bool),
    bytes: _instance("bytes", bytes),
    type(None): _instance("nothing", type(None)),
    Position: _leaf("a position", _is_position, int),
    Seconds: _leaf("a number of seconds", _is_duration, int, float),
}
"""What has been derived from declarations so far; these are the ones that it is derived from."""


def _shape_of(hint: object) -> _Shape:
    """Return what a value has to be that is declared like this."""
    shape = _SHAPES.get(hint)
    if shape is None:
        shape = _SHAPES[hint] = _derived(hint)
    return shape


def _derived(hint: object) -> _Shape:
    if isinstance(hint, typing.NewType):
        return _shape_of(hint.__supertype__)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _instance(_a(hint), hint)
    if isinstance(hint, type) and attrs.has(hint):
        return _fields(hint)
    parts = typing.get_args(hint)
    match typing.get_origin(hint):
        case typing.Union | types.UnionType:
            return _one_of([_shape_of(part) for part in parts])
        case collections.abc.Mapping:
            return _instance("an object", collections.abc.Mapping, dict)
        case origin if origin is frozenset or (origin is tuple and parts[1:] == (...,)):
            return _each(origin, _shape_of(parts[0]))
        case origin if origin is tuple:
            return _row([_shape_of(part) for part in parts])
        case _:
            raise TypeError(f"an input holds a {hint}")


def _one_of(shapes: Sequence[_Shape]) -> _Shape:
    name = " or ".join(shape.name for shape in shapes)
    by_kind = {kind: shape for shape in shapes for kind in shape.inner}

    def fault(value: object) -> _Fault:
        if (likely := by_kind.get(type(value))) is not None:
            return likely.fault(value)
        return None if any(shape.fault(value) is None for shape in shapes) else f" must be {name}"

    certain = frozenset[type]().union(*(shape.certain for shape in shapes))
    return _Shape(name, fault, certain, frozenset(by_kind))


def _each(kind: type, member: _Shape) -> _Shape:
    def fault(value: object) -> _Fault:
        if not isinstance(value, kind):
            return f" must be {_a(kind)}"
        faults = (member.fault(each) for each in typing.cast("Iterable[object]", value))
        return next((f", each of it{fault}" for fault in faults if fault is not None), None)

    return _Shape(_a(kind), fault)


def _row(members: Sequence[_Shape]) -> _Shape:
    def fault(value: object) -> _Fault:
        if not isinstance(value, tuple) or len(value) != len(members):
            return f" must be a tuple of {len(members)}"
        faults = (member.fault(each) for member, each in zip(members, value, strict=True))
        return next((f", each of it{fault}" for fault in faults if fault is not None), None)

    return _Shape(f"a tuple of {len(members)}", fault)


def _fields(kind: type[attrs.AttrsInstance]) -> _Shape:
    hints = typing.get_type_hints(kind, localns={"JSONValue": object}, include_extras=True)
    shapes = [(field.name, _shape_of(hints[field.name])) for field in attrs.fields(kind)]
    tests = [(name, shape.certain, shape.fault) for name, shape in shapes]

    def fault(value: object) -> _Fault:
        if type(value) is not kind:
            return f" must be {_a(kind)}"
        for name, certain, test in tests:
            member = getattr(value, name)
            if type(member) not in certain and (found := test(member)) is not None:
                return f".{name.lstrip('_')}{found}"
        return None

    return _Shape(_a(kind), fault, inner=frozenset({kind}))
