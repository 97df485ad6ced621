"""JSON without second readings: a text has one meaning, or it is refused.

Python's own `json` accepts more than JSON and hides what two readers would read differently. Here a text is refused
that is not JSON, that is too deep, or that has no single meaning: a repeated key, half a surrogate pair, a number that
Python could only round to infinity. Values that an application hands over are held to the same rules, so that
whatever one side can write the other can read. Nothing in here knows what a message is.

Spec: RFC 8259, RFC 7493 (I-JSON).
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Final, TypeAlias

from mcpstreams_sansio.errors import INVALID_REQUEST, PARSE_ERROR, LocalProtocolError, RemoteProtocolError

JSONValue: TypeAlias = bool | int | float | str | Sequence["JSONValue"] | Mapping[str, "JSONValue"] | None
"""Whatever JSON can say. Reading makes `list` and `dict`; writing takes any sequence but bytes, and any mapping."""

JSONObject: TypeAlias = Mapping[str, JSONValue]
"""A JSON object: the only shape of params and results in MCP."""

MAX_DEPTH: Final = 128
"""How deep arrays and objects may be nested, the outermost one included."""

MAX_DIGITS: Final = 640
"""How many digits an integer may have: as many as every Python interpreter converts, however it is configured."""

MAX_INTEGER: Final = 10**MAX_DIGITS - 1
"""The largest integer of so many digits."""

# The usual types stand first: asking for an abstract class takes longer.
_NUMBER: Final = (int, float)
_OBJECT: Final = (dict, Mapping)
_ARRAY: Final = (list, tuple, Sequence)
_BYTES: Final = (bytes, bytearray, memoryview)

# How half a surrogate pair gets past the decoding of UTF-8.
_SURROGATE_ESCAPE: Final = re.compile(r"\\u[dD][89a-fA-F]")

_NESTING: Final = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NOT_NESTING: Final = bytes(byte for byte in range(256) if byte not in b"[{]}")

# Legal in JSON, but ends of lines to careless readers of lines and of SSE (case N1).
_LINE_ENDS: Final = {"\x85": r"\u0085", "\u2028": r"\u2028", "\u2029": r"\u2029"}


def decode_json(data: bytes) -> JSONValue:
    """Read one JSON text.

    Args:
        data: The whole text, in UTF-8 without a byte order mark. White space may surround the value.

    Returns:
        The value, made of `dict`, `list`, `str`, `int`, `float`, `bool` and `None`.

    Raises:
        RemoteProtocolError: The first thing wrong decides. -32700 where the text cannot be read as JSON to its end: it
            is not UTF-8, not JSON, or deeper than `MAX_DEPTH`. -32600 where it is JSON without a single meaning: a
            repeated key, a lone surrogate, an integer of more than `MAX_DIGITS` digits, a number beyond a float.
    """
    _check_nesting(data)
    error_code = PARSE_ERROR
    try:
        text = data.decode()
        value: JSONValue = _STRICT.decode(text)
        if "\\u" in text and _SURROGATE_ESCAPE.search(text):
            _ENCODER.encode(value).encode()  # raises unless the surrogates come in pairs
        return value
    except _Unacceptable as refusal:
        fault, error_code = refusal.text, refusal.error_code
    except UnicodeDecodeError:
        fault = "the text is not UTF-8"
    except UnicodeEncodeError:
        fault, error_code = "a string holds a lone surrogate", INVALID_REQUEST
    except json.JSONDecodeError:
        fault = "the text is not JSON"
    # Not inside an `except`: the error would carry the other one along, and with it the text.
    raise RemoteProtocolError(fault, error_code=error_code)


def decode_refused_json(data: bytes) -> JSONValue:
    """Read once more a text that `decode_json` refused, for what can be trusted in it all the same.

    A part that gave offence is `None` or, where it is a string, cannot be encoded as UTF-8. Nothing here is fit for
    use as a message; it serves to learn whom to tell.

    Returns:
        The value; `None` where the text is too deep or no JSON even so.
    """
    try:
        _check_nesting(data)
        value: JSONValue = _LENIENT.decode(data.decode(errors="surrogateescape"))
    except (RemoteProtocolError, json.JSONDecodeError):
        return None
    return value


def encode_json(value: JSONValue) -> bytes:
    """Write a value as one line of compact JSON in UTF-8.

    The line has no control characters and neither U+0085 nor U+2028 nor U+2029 in it: these are escaped.

    Raises:
        LocalProtocolError: The value holds something that `decode_json` would not give back: a key that is no string,
            NaN or infinity, an integer of more than `MAX_DIGITS` digits, a lone surrogate, an object of another type,
            or nesting beyond `MAX_DEPTH`.
    """
    _check_value(value, 1)
    text = _ENCODER.encode(value)
    if not text.isascii():
        for character, escape in _LINE_ENDS.items():
            text = text.replace(character, escape)
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise LocalProtocolError("a string holds a lone surrogate, which UTF-8 cannot carry") from None


def is_text(value: str) -> bool:
    """Say whether a string is one that UTF-8 can carry: without lone surrogates."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


class _Unacceptable(Exception):
    """What the text says is refused; it may or may not be JSON."""

    def __init__(self, text: str, error_code: int = INVALID_REQUEST) -> None:
        super().__init__(text)
        self.text = text
        self.error_code = error_code


def _check_nesting(data: bytes) -> None:
    """Refuse a text whose brackets nest too deeply, before a recursive parser meets it."""
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return
    # Without escaped backslashes and escaped quotes every quote left is the end of a string.
    outside_strings = b"".join(data.replace(rb"\\", b"").replace(rb"\"", b"").split(b'"')[::2])
    steps = memoryview(outside_strings.translate(_NESTING, _NOT_NESTING)).cast("b")  # +1 and -1
    if max(accumulate(steps), default=0) > MAX_DEPTH:
        raise RemoteProtocolError(f"the text is nested more than {MAX_DEPTH} deep", error_code=PARSE_ERROR)


def _too_long(digits: str) -> bool:
    return len(digits) > MAX_DIGITS and len(digits.removeprefix("-")) > MAX_DIGITS


def _integer(digits: str) -> int:
    if _too_long(digits):
        raise _Unacceptable(f"an integer has more than {MAX_DIGITS} digits")
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _Unacceptable("a number is too large")
    return number


def _constant(_name: str) -> None:
    raise _Unacceptable("NaN and infinity are not JSON", PARSE_ERROR)


def _object(pairs: list[tuple[str, JSONValue]]) -> dict[str, JSONValue]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Unacceptable("an object has the same key twice")
    return members


def _nothing(_text: str) -> None:
    return None


def _integer_or_nothing(digits: str) -> int | None:
    return None if _too_long(digits) else int(digits)


def _unrepeated(pairs: list[tuple[str, JSONValue]]) -> dict[str, JSONValue]:
    """Keep a repeated key without any of its values, so that neither is believed."""
    times = Counter(key for key, _ in pairs)
    return {key: value if times[key] == 1 else None for key, value in pairs}


def _check_value(value: object, depth: int) -> None:
    """Refuse what JSON cannot carry; `depth` is that of the value if it is an array or an object."""
    if value is None or isinstance(value, str):
        return
    if isinstance(value, _NUMBER):
        _check_number(value)
    elif depth > MAX_DEPTH:
        raise LocalProtocolError(f"a value is nested more than {MAX_DEPTH} deep")
    elif isinstance(value, _OBJECT):
        _check_keys(value)
        for member in value.values():
            _check_value(member, depth + 1)
    elif isinstance(value, _ARRAY) and not isinstance(value, _BYTES):
        for item in value:
            _check_value(item, depth + 1)
    else:
        raise LocalProtocolError(f"an object of type {type(value).__name__} is no JSON value")


def _check_number(value: int | float) -> None:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise LocalProtocolError("NaN and infinity are not JSON")
    elif not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise LocalProtocolError(f"an integer has more than {MAX_DIGITS} digits")


def _check_keys(mapping: Mapping[object, object]) -> None:
    for key in mapping:
        if not isinstance(key, str):  # the encoder would turn some of these into strings
            raise LocalProtocolError(f"the key of an object is of type {type(key).__name__}, not a string")


def _plain(container: Mapping[str, object] | Sequence[object]) -> dict[str, object] | list[object]:
    """Give the encoder what it knows in place of a mapping that is no dict or a sequence that is no list."""
    return dict(container) if isinstance(container, Mapping) else list(container)


_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
)
_LENIENT: Final = json.JSONDecoder(
    object_pairs_hook=_unrepeated, parse_int=_integer_or_nothing, parse_float=_nothing, parse_constant=_nothing
)
_ENCODER: Final = json.JSONEncoder(
    ensure_ascii=False,
    check_circular=False,  # a circle is too deep, which has been checked by then
    separators=(",", ":"),
    default=_plain,
)
