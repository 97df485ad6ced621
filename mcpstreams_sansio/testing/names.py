"""One text for all worlds that differ only in the names of things.

Machines are given fresh names (streams, connections, tokens), and for the future it only matters which of them are the
same. So a world writes its names in a recognisable form, a snapshot is written as a text with gaps where the names
stood, and a key numbers the names in the order of their appearance. Times are relative in every snapshot already.
"""

from __future__ import annotations

import collections
import enum
import functools
import re
from collections.abc import Callable, Iterable
from typing import Final, TypeAlias, final

import attrs

from mcpstreams_sansio.ids import ConnectionId, Digest, Secret, StreamId

FIRST_CONNECTION: Final = 1_000_000
"""Connections are numbered from here: no other number in a small world is as large."""

FAR: Final = 2.0**30
"""Seconds beyond which a moment is never reached: how far it is, then, makes no difference."""

_NAME: Final = re.compile(
    r"((?:stream|token|scope|ask)-[0-9]{5}"  # given by the world
    r"|(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-]))"  # derived from entropy
)
_REMEMBERED: Final = 65_536
"""How many different texts are read only once."""
_DIGEST_SIZE: Final = 32
_DIGESTS: Final[dict[bytes, str]] = {}
"""The names behind digests; what a name is digested to is the same in every world."""

Name: TypeAlias = str | int


@final
@attrs.frozen
class Text:
    """A snapshot as text, without its names."""

    template: str
    """Where a name stood, there is a `#`."""
    names: tuple[Name, ...]
    """What stood there."""


def stream_name(number: int) -> StreamId:
    """Return the id of a stream."""
    return StreamId(f"stream-{number:05}")


def token_name(number: int) -> Secret:
    """Return the token of a stream."""
    return remembered(Secret(f"token-{number:05}"))


def connection_name(number: int) -> ConnectionId:
    """Return the id of a connection, for the machine of one side."""
    return ConnectionId(FIRST_CONNECTION + number)


def remembered(secret: Secret, digest: Callable[[Secret], Digest] = Secret.digest) -> Secret:
    """Remember which secret a digest is made from, so that it is known by its name. Return the secret."""
    _DIGESTS.setdefault(digest(secret), secret.reveal())
    return secret


def text_of(value: object) -> Text:
    """Return a snapshot as text: nested sequences, sets, mappings and attrs values of what is plain.

    Raises:
        TypeError: There is something else in it.
    """
    words: list[str] = []
    names: list[Name] = []
    _write(value, words, names)
    return Text("".join(words), tuple(names))


def numbered(texts: Iterable[Text]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the texts without their names, and for each name the number of its first appearance."""
    numbers: dict[Name, int] = {}
    templates = []
    order = []
    for text in texts:
        templates.append(text.template)
        order += [numbers.setdefault(name, len(numbers)) for name in text.names]
    return tuple(templates), tuple(order)


_SEQUENCES: Final = (tuple, list, collections.deque)
_Write: TypeAlias = Callable[[object, list[str], list[Name]], None]


def _write(value: object, words: list[str], names: list[Name]) -> None:
    write = _WRITERS.get(type(value))
    if write is None:
        write = _WRITERS[type(value)] = _writer_for(type(value))
    write(value, words, names)


def _writer_for(kind: type) -> _Write:
    """Return how values of a type are written that was not met before."""
    if issubclass(kind, enum.Enum):
        texts: dict[object, str] = {member: f"{member.name}," for member in kind}
        return lambda value, words, names: words.append(texts[value])
    if attrs.has(kind):
        fields = tuple(field.name for field in attrs.fields(kind))

        def write(value: object, words: list[str], names: list[Name]) -> None:
            words.append(f"{kind.__name__}(")
            for field in fields:
                _write(getattr(value, field), words, names)
            words.append("),")

        return write
    raise TypeError(f"a snapshot holds a {kind.__name__}")


@functools.lru_cache(_REMEMBERED)
def _split(value: str | bytes) -> tuple[str, tuple[str, ...]]:
    parts = _NAME.split(repr(value))
    return "#".join(parts[::2]) + ",", tuple(parts[1::2])


def _write_text(value: object, words: list[str], names: list[Name]) -> None:
    assert isinstance(value, str | bytes), "the table says so"
    if len(value) == _DIGEST_SIZE and isinstance(value, bytes):
        value = _DIGESTS.get(value, value)
    template, found = _split(value)
    words.append(template)
    if found:
        names += found


def _write_number(value: object, words: list[str], names: list[Name]) -> None:
    assert isinstance(value, int | float), "the table says so"
    if value < FIRST_CONNECTION:
        words.append(f"{value},")
    elif value > FAR:
        words.append("far,")
    else:
        words.append("#,")
        names.append(int(value))


def _write_other(value: object, words: list[str], names: list[Name]) -> None:
    words.append(f"{value},")


def _write_sequence(value: object, words: list[str], names: list[Name]) -> None:
    assert isinstance(value, _SEQUENCES), "the table says so"
    words.append("(")
    for each in value:
        _WRITERS.get(type(each), _write)(each, words, names)
    words.append("),")


def _write_set(value: object, words: list[str], names: list[Name]) -> None:
    assert isinstance(value, frozenset | set), "the table says so"
    _write_sequence(sorted(value, key=repr), words, names)


def _write_mapping(value: object, words: list[str], names: list[Name]) -> None:
    assert isinstance(value, dict), "the table says so"
    _write_sequence(list(value.items()), words, names)


def _write_secret(value: object, words: list[str], names: list[Name]) -> None:
    assert isinstance(value, Secret), "the table says so"
    _write_text(value.reveal(), words, names)


_WRITERS: Final[dict[type, _Write]] = {
    type(None): _write_other,
    bool: _write_other,
    int: _write_number,
    float: _write_number,
    str: _write_text,
    bytes: _write_text,
    tuple: _write_sequence,
    list: _write_sequence,
    collections.deque: _write_sequence,
    frozenset: _write_set,
    set: _write_set,
    dict: _write_mapping,
    Secret: _write_secret,
}
