"""Records as lines of text: what a durable log may keep, and a later version of this package still reads.

A line is one JSON object. `v` is the version of the format, `record` the name of the record, and the rest are its
fields. A payload stands there as the text that was sent; digests are in Base64.
"""

from __future__ import annotations

import base64
import typing
from collections.abc import Mapping
from typing import Final

import attrs
from cattrs import ClassValidationError, Converter
from cattrs.strategies import configure_tagged_union, configure_union_passthrough

from mcpstreams_sansio.errors import LocalProtocolError, RemoteProtocolError
from mcpstreams_sansio.ids import Digest, RequestId
from mcpstreams_sansio.server.calls import Peer
from mcpstreams_sansio.server.records import LogRecord
from mcpstreams_sansio.wire.converter import is_object
from mcpstreams_sansio.wire.streams import ResumeInterval
from mcpstreams_sansio.wire.strict_json import JSONValue, decode_json, encode_json

VERSION: Final = 1
"""The format that is written. Any change of a record that an older reader would not understand makes another one."""


def encode_record(record: LogRecord) -> bytes:
    """Write a record as one line, without its end.

    Returns:
        JSON in UTF-8, with no line end in it. It is as confidential as what clients and the application have said.

    Wire: `{"v":1,"record":"StreamConfirmed","stream_id":"s1","through":3}`
    """
    return encode_json({"v": VERSION, **_converter.unstructure(record, LogRecord)})


def decode_record(line: bytes) -> LogRecord:
    """Read a record that `encode_record` has written, with or without the end of its line.

    Raises:
        LocalProtocolError: The line is none, or one of another version. The text says what is wrong with it, and never
            what it holds. Half a line at the end of a log means that a crash came while it was written.
    """
    fields = _fields(line)
    name = fields.get("record")
    if not isinstance(name, str) or name not in _NAMES:
        raise LocalProtocolError("no line of a log: it names no record")
    try:
        record: LogRecord = _converter.structure(fields, LogRecord)  # type: ignore[arg-type]  # a union is no class
    except ClassValidationError as error:
        wrong = sorted({note.name for _, note in error.group_exceptions()[0]})
    else:
        return record
    # Raised outside of the `except`: what was caught repeats the values, and must not travel along as the context.
    raise LocalProtocolError(f"no {name}: {', '.join(wrong) or 'its fields'} cannot be read")


def _fields(line: bytes) -> Mapping[str, object]:
    """Read a line of this version, and leave its version out."""
    try:
        fields = decode_json(line)
    except RemoteProtocolError as error:
        words = str(error)
    else:
        if not isinstance(fields, Mapping) or type(version := fields.get("v")) is not int:
            raise LocalProtocolError("no line of a log: it names no version")
        if version != VERSION:
            raise LocalProtocolError(f"a line of a log of version {version}, where {VERSION} is read")
        return {name: value for name, value in fields.items() if name != "v"}
    raise LocalProtocolError(f"no line of a log: {words}")


def _exact(value: object, declared: type[object]) -> object:
    """Take a value as it is, and no other for it: by itself, cattrs would read `true` as a number."""
    if type(value) is declared or (declared is float and type(value) is int):
        return value
    raise ValueError


def _json_object(value: object, _: object) -> object:
    if isinstance(value, Mapping):
        return value
    raise ValueError


_NAMES: Final = frozenset(record.__name__ for record in typing.get_args(LogRecord))
_converter: Final = Converter(
    forbid_extra_keys=True, omit_if_default=True, unstruct_collection_overrides={frozenset: sorted, tuple: list}
)
for _kind in (str, int, float, bool):
    _converter.register_structure_hook(_kind, _exact)
_converter.register_structure_hook_func(is_object, _json_object)
_converter.register_unstructure_hook_func(is_object, lambda value: value)
_converter.register_unstructure_hook(bytes, bytes.decode)
_converter.register_structure_hook(bytes, lambda value, _: value.encode())
_converter.register_unstructure_hook_func(
    lambda declared: declared is Digest, lambda value: base64.b64encode(value).decode()
)
_converter.register_structure_hook_func(
    lambda declared: declared is Digest, lambda value, _: Digest(base64.b64decode(value, validate=True))
)
# The alias for JSON refers to itself by name, wherever it is used.
for _holder in (Peer, ResumeInterval):
    attrs.resolve_types(_holder, localns={"JSONValue": JSONValue})
configure_union_passthrough(RequestId, _converter)
configure_tagged_union(LogRecord, _converter, tag_name="record")
