"""The one converter between JSON objects and the typed values of this package.

A value must be exactly what its field declares: cattrs by itself would turn `null` into `"None"`, `1.7` into `1` and
`true` into a number. Names are camelCase on the wire and snake_case here. What a type does not know is kept in its
field `extra`, which every type has, so that nothing of a peer's message is lost. A field that is `None` is not written.

This module must never know a method's name, and no text that it makes repeats a value.
"""

from __future__ import annotations

import collections.abc
import functools
import math
import operator
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Final, Literal, TypeAlias, TypeVar, Union

import attrs
from cattrs import BaseValidationError, ClassValidationError, Converter, IterableValidationError
from cattrs.cols import homogenous_tuple_structure_factory
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from mcpstreams_sansio.errors import INVALID_PARAMS, LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.ids import RequestId, Secret, StreamId
from mcpstreams_sansio.wire.jsonrpc import JSONValue

T = TypeVar("T", bound=attrs.AttrsInstance)

Position: TypeAlias = Annotated[int, "a position or a count: not negative"]
"""What a field declares that holds a sequence number or a count."""

Seconds: TypeAlias = Annotated[float, "a duration: finite, not negative"]
"""What a field declares that holds a duration. A whole number stays one: `5` is written as `5`, never as `5.0`."""

MAX_NUMBER: Final = 2.0**1023
"""A whole number above it is as good as infinite: JSON spells such ones too, and they fit into no float."""

WIRE_NAME: Final = "wire name"
"""Key of a field's metadata, for the few names that do not follow from the field's own."""

MAX_REPORTED_FAULTS: Final = 8
"""How many faults of one object an error describes; the rest are only counted."""


def structure(cls: type[T], value: object, what: str) -> T:
    """Read a JSON object as a typed value.

    Args:
        cls: The type to read it as.
        value: What stands there; `None` for nothing at all.
        what: How an error calls the object: "params", "result".

    Raises:
        RemoteProtocolError: -32602. The text lists the paths that are wrong, such as
            `params.stream.resumeInterval.min`, and what is wrong with each, never a value.
    """
    if value is None:
        faults = [f"{what}: missing"]
    else:
        try:
            return _converter.structure(value, cls)
        except (BaseValidationError, _UnfitError) as error:
            faults = list(_faults(error, what))
    # Raised outside of the `except`: what was caught repeats the value, and must not travel along as the context.
    if (others := len(faults) - MAX_REPORTED_FAULTS) > 0:
        faults[MAX_REPORTED_FAULTS:] = [f"and {others} more"]
    raise RemoteProtocolError("; ".join(faults), error_code=INVALID_PARAMS)


def unstructure(value: attrs.AttrsInstance) -> dict[str, JSONValue]:
    """Write a typed value as a JSON object, secrets included; the other half of `structure`.

    Raises:
        LocalProtocolError: `extra` holds a name that belongs to a field of the type.
    """
    fields: dict[str, JSONValue] = _converter.unstructure(value)
    return fields


class _UnfitError(Exception):
    """A value is not what its field declares. The text says so in fixed words."""


def _faults(error: Exception, path: str) -> Iterator[str]:
    match error:
        case ClassValidationError():
            names = {field.name: _wire_name(field) for field in attrs.fields(error.cl)}
            in_fields, in_whole = error.group_exceptions()
            for fault, where in in_fields:
                yield from _faults(fault, f"{path}.{names[where.name]}")
            for fault in in_whole:
                yield from _faults(fault, path)
        case IterableValidationError():
            for fault, position in error.group_exceptions()[0]:
                yield from _faults(fault, f"{path}[{position.index}]")
        case _UnfitError():
            yield f"{path}: {error}"
        case KeyError():
            yield f"{path}: missing"
        case _:
            # A validator of the type itself; what it says may repeat the value.
            yield f"{path}: not acceptable"


# ------------------------------------------------------------------------------------------- what one field may hold


def _text(value: object, declared: object) -> str:
    if type(value) is not str:
        raise _UnfitError("not a string")
    return value


def _name(value: object, declared: object) -> str:
    if type(value) is not str or not value:
        raise _UnfitError("not a non-empty string")
    return value


def _secret(value: object, declared: object) -> Secret:
    return Secret(_name(value, declared))


def _truth(value: object, declared: object) -> bool:
    if type(value) is not bool:
        raise _UnfitError("not a boolean")
    return value


def _integer(value: object, declared: object) -> int:
    if type(value) is not int:
        raise _UnfitError("not an integer")
    return value


def _number(value: object, declared: object) -> float:
    if type(value) is int and -MAX_NUMBER <= value <= MAX_NUMBER:
        return value
    if type(value) is float and math.isfinite(value):
        return value
    raise _UnfitError("not a finite number")


def _position(value: object, declared: object) -> int:
    if (position := _integer(value, declared)) < 0:
        raise _UnfitError("negative")
    return position


def _seconds(value: object, declared: object) -> float:
    if (seconds := _number(value, declared)) < 0:
        raise _UnfitError("negative")
    return seconds


def _request_id(value: object, declared: object) -> RequestId:
    if type(value) is str or type(value) is int:
        return value
    raise _UnfitError("neither a string nor an integer")


def _object(value: object, declared: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise _UnfitError("not an object")
    return value


def is_object(declared: object) -> bool:
    """Say whether a field declares a JSON object that is kept as it is."""
    return typing.get_origin(declared) in {dict, collections.abc.Mapping}


def _is_optional(declared: object) -> bool:
    return typing.get_origin(declared) in {Union, types.UnionType} and types.NoneType in typing.get_args(declared)


def _optional_hook(declared: object) -> Callable[[object, object], object]:
    # `null` is refused by the hook of the type beside `None`: the one way to say nothing is to leave the field out.
    arms = [arm for arm in typing.get_args(declared) if arm is not types.NoneType]
    return _converter.get_structure_hook(functools.reduce(operator.or_, arms))


def _is_choice(declared: object) -> bool:
    return typing.get_origin(declared) is Literal


def _choice_hook(declared: object) -> Callable[[object, object], object]:
    choices = typing.get_args(declared)

    def choose(value: object, declared: object) -> object:
        if value not in choices:
            raise _UnfitError("not one of " + ", ".join(choices))
        return value

    return choose


def _is_array(declared: object) -> bool:
    return typing.get_origin(declared) is tuple


def _array_hook(declared: type[object]) -> Callable[[object, object], object]:
    elements = homogenous_tuple_structure_factory(declared, _converter)

    def read(value: object, declared: object) -> object:
        if type(value) is not list:
            raise _UnfitError("not an array")
        return elements(value, declared)

    return read


# ------------------------------------------------------------------------------------------------------------ objects


def _read_hook(cls: type[T]) -> Callable[[object, object], T]:
    names = _resolved_names(cls)
    known = make_dict_structure_fn(
        cls,
        _converter,
        **{field: override(rename=name) for field, name in names.items()},  # type: ignore[arg-type]  # no field is called like an option
    )
    claimed = frozenset(names.values())

    def read(value: object, declared: object) -> T:
        # `extra` takes exactly what no other field claims; a member that the peer itself calls "extra" is among it.
        fields: dict[str, object] = {}
        extra: dict[str, object] = {}
        for name, member in _object(value, declared).items():
            (fields if name in claimed else extra)[name] = member
        return known({**fields, "extra": extra}, cls)

    return read


def _write_hook(cls: type[T]) -> Callable[[T], dict[str, object]]:
    names = _resolved_names(cls)
    known = make_dict_unstructure_fn(
        cls,
        _converter,
        **{  # type: ignore[arg-type]  # no field is called like an option
            field.name: override(rename=names[field.name], omit_if_default=field.default is None)
            for field in attrs.fields(cls)
            if field.name in names
        },
    )
    claimed = frozenset(names.values())

    def write(value: T) -> dict[str, object]:
        fields = known(value)
        extra = fields.pop("extra")
        if not claimed.isdisjoint(extra):
            raise LocalProtocolError(f"extra of {cls.__name__} holds a field that the type has by itself")
        return {**fields, **extra}

    return write


def _resolved_names(cls: type[attrs.AttrsInstance]) -> dict[str, str]:
    """Return the fields' names on the wire, once the annotations have become types."""
    # The alias for JSON refers to itself by name, wherever it is used.
    attrs.resolve_types(cls, localns={"JSONValue": JSONValue})
    return {field.name: _wire_name(field) for field in attrs.fields(cls) if field.name != "extra"}


def _wire_name(field: attrs.Attribute[object]) -> str:
    """Return a field's name on the wire: `stream_id` is `streamId`, and `meta` is `_meta`."""
    if WIRE_NAME in field.metadata:
        return str(field.metadata[WIRE_NAME])
    if field.name == "meta":
        return "_meta"
    first, *others = field.name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _as_it_is(value: object) -> object:
    return value


_converter: Final = Converter(unstruct_collection_overrides={tuple: list})

# Of two hooks for one type cattrs takes the one registered later, so the special ones stand below the general.
_converter.register_structure_hook_factory(attrs.has, _read_hook)
_converter.register_unstructure_hook_factory(attrs.has, _write_hook)
_converter.register_structure_hook(str, _text)
_converter.register_structure_hook(bool, _truth)
_converter.register_structure_hook(int, _integer)
_converter.register_structure_hook(float, _number)
_converter.register_structure_hook(StreamId, _name)
_converter.register_structure_hook(Secret, _secret)
_converter.register_unstructure_hook(Secret, Secret.reveal)
_converter.register_structure_hook_func(is_object, _object)
_converter.register_unstructure_hook_func(is_object, _as_it_is)
_converter.register_structure_hook_factory(_is_optional, _optional_hook)
_converter.register_structure_hook_factory(_is_choice, _choice_hook)
_converter.register_structure_hook_factory(_is_array, _array_hook)
# Compared by equality, since the two spellings of a union are equal and yet differ in type and hash.
_converter.register_structure_hook_func(lambda declared: declared == RequestId, _request_id)
_converter.register_structure_hook_func(lambda declared: declared == Position, _position)
_converter.register_structure_hook_func(lambda declared: declared == Seconds, _seconds)
