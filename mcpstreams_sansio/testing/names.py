"""One text for all worlds that differ only in the names of things.

Machines are given fresh names (streams, connections, tokens), and for the future it only matters which of them are the
same. So a world writes its names in a recognisable form, a snapshot is written as a text with gaps where the names
stood, and a key numbers the names in the order of their appearance. Times are relative in every snapshot already.
"""

from __future__ import annotations

import collections
import enum
import functools
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Never, TypeAlias, final

import attrs

from mcpstreams_sansio.ids import ConnectionId, Digest, Secret, StreamId

FIRST_CONNECTION: Final = 1_000_000
"""Connections are numbered from here: no other number in a small world is as large."""

HORIZON: Final = 2.0**20
"""Seconds beyond which a moment is never reached: how far it is, then, makes no difference."""

FAR: Final = 2.0**30
"""Seconds that stay beyond the horizon, however long a search goes on."""

_NAME: Final = re.compile(
    r"((?:stream|token|scope|ask|server)-[0-9]{5}"  # given by the world
    r"|instance[0-9]*(?:-[0-9]+)?\.[0-9]+"  # given by a client's machine: requests about a call, attempts
    r"|(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-]))"  # derived from entropy
)
_ATTEMPT: Final = re.compile(r"instance([0-9]*)\.([0-9]+)")
_MANY_ATTEMPTS: Final = 1_000_000
"""More than one client ever makes."""
_UNKNOWN: Final = 1 << 30
"""More names than any world has."""
_REMEMBERED: Final = 65_536
"""How many different texts are read only once."""
_WORTH_REMEMBERING: Final = 4
"""Parts of a tuple from which on it pays to look for its text before writing it."""
_DIGESTS: Final[dict[bytes, str]] = {}
"""The names behind digests; what a name is digested to is the same in every world."""

Name: TypeAlias = str | int
"""Text, or the id of a connection. A number below 1 is an attempt of a client: among its own, order matters as well."""


@final
@attrs.frozen
class Text:
    """A snapshot as text, without its names."""

    template: str
    """Where a name stood, there is a `#`."""
    names: tuple[Name, ...]
    """What stood there."""
    attempts: frozenset[int]
    """Those of the names that are attempts."""


def stream_name(number: int) -> StreamId:
    """Return the id of a stream."""
    return StreamId(f"stream-{number:05}")


def server_name(number: int) -> str:
    """Return what a server that remembers nothing of those before it calls itself."""
    return f"server-{number:05}"


def token_name(number: int) -> Secret:
    """Return the token of a stream."""
    return remembered(Secret(f"token-{number:05}"))


def instance_name(number: int) -> str:
    """Return what a client calls itself, in its attempts and the ids of its requests."""
    return "instance" if number == 1 else f"instance{number}"


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
    attempts = frozenset([name for name in names if isinstance(name, int) and name < 1])
    return Text("".join(words), tuple(names), attempts)


def numbered(ordered: Sequence[Text], unordered: Sequence[Text] = ()) -> tuple[str | tuple[int, ...], ...]:
    """Return the texts without their names, and for each name the number of its first appearance.

    Attempts come first, in their own order: for the future it matters which of two is the later one, and no more.

    Args:
        ordered: Texts whose order means something.
        unordered: Texts whose order means nothing: they are sorted, by which of the names before each of them has.
    """
    attempts = sorted(frozenset[int]().union(*[part.attempts for part in (*ordered, *unordered) if part.attempts]))
    numbers: dict[Name, int] = {attempt: number for number, attempt in enumerate(attempts)}
    found = _numbers_of(ordered, numbers)
    ranked = sorted(unordered, key=lambda part: (part.template, [numbers.get(name, _UNKNOWN) for name in part.names]))
    found += _numbers_of(ranked, numbers)
    return (*[part.template for part in (*ordered, *ranked)], tuple(found))


def _numbers_of(texts: Iterable[Text], numbers: dict[Name, int]) -> list[int]:
    number = numbers.setdefault
    return [number(name, len(numbers)) for text in texts for name in text.names]


_Words: TypeAlias = list[str]
_Names: TypeAlias = list[Name]
_Write: TypeAlias = Callable[[Never, _Words, _Names], None]


def _write(value: object, words: _Words, names: _Names) -> None:
    write = _WRITERS.get(type(value))
    if write is None:
        write = _WRITERS[type(value)] = _writer_for(type(value))
    write(value, words, names)  # type: ignore[arg-type]  # the table has the writer of this very type


def _writer_for(kind: type) -> _Write:
    """Return how values of a type are written that was not met before."""
    if issubclass(kind, enum.Enum):
        texts: dict[object, str] = {member: f"{member.name}," for member in kind}
        return lambda value, words, _: words.append(texts[value])
    if attrs.has(kind):
        fields = operator.attrgetter(*(field.name for field in attrs.fields(kind)), "__class__.__name__")
        return lambda value, words, names: _write_each(fields(value), words, names)
    raise TypeError(f"{kind.__name__} has no place in a snapshot")


@functools.lru_cache(_REMEMBERED)
def _split(value: str | bytes) -> tuple[str, tuple[Name, ...]]:
    parts = _NAME.split(repr(value))
    words = [part if not number % 2 else _gap(part) for number, part in enumerate(parts)]
    return "".join(words) + ",", tuple(_attempt_or_name(part) for part in parts[1::2])


def _gap(part: str) -> str:
    """Return what stands for a name; of attempts it says whose they are, since they compete with no other's."""
    attempt = _ATTEMPT.fullmatch(part)
    return "#" if attempt is None else f"#{attempt[1]}"


def _attempt_or_name(part: str) -> Name:
    attempt = _ATTEMPT.fullmatch(part)
    return part if attempt is None else -(_MANY_ATTEMPTS * int(attempt[1] or 1) + int(attempt[2]))


def _write_text(value: str | bytes, words: _Words, names: _Names) -> None:
    template, found = _split(value)
    words.append(template)
    if found:
        names += found


def _write_bytes(value: bytes, words: _Words, names: _Names) -> None:
    _write_text(_DIGESTS.get(value, value), words, names)


def _write_integer(value: int, words: _Words, names: _Names) -> None:
    if value < FIRST_CONNECTION:
        words.append(f"{value},")
    else:
        words.append("#,")
        names.append(value)


def _write_float(value: float, words: _Words, _: _Names) -> None:
    words.append("far," if value >= HORIZON else f"{value},")


def _write_other(value: object, words: _Words, _: _Names) -> None:
    words.append(f"{value},")


def _write_tuple(value: tuple[object, ...], words: _Words, names: _Names) -> None:
    if len(value) < _WORTH_REMEMBERING:
        _write_each(value, words, names)
        return
    template, found = _text_of_tuple(value)
    words.append(template)
    names += found


@functools.lru_cache(_REMEMBERED)
def _text_of_tuple(value: tuple[object, ...]) -> tuple[str, tuple[Name, ...]]:
    """Return a tuple as text. Most parts of a machine are the same after a step as before it."""
    words: _Words = []
    names: _Names = []
    _write_each(value, words, names)
    return "".join(words), tuple(names)


def _write_each(value: Iterable[object], words: _Words, names: _Names) -> None:
    words.append("(")
    for each in value:
        write = _WRITERS.get(type(each), _write)
        write(each, words, names)  # type: ignore[arg-type]  # the table has the writer of this very type
    words.append("),")


def _write_set(value: frozenset[object] | set[object], words: _Words, names: _Names) -> None:
    """Write the parts in an order in which names count last, so that it is nearly always the same for other names."""
    words.append("{")
    for template, found in sorted(map(_written, value), key=_by_names_last):
        words.append(template)
        names += found
    words.append("},")


def _written(value: object) -> tuple[str, tuple[Name, ...]]:
    words: _Words = []
    names: _Names = []
    _write(value, words, names)
    return "".join(words), tuple(names)


def _by_names_last(part: tuple[str, tuple[Name, ...]]) -> tuple[str, list[str]]:
    template, names = part
    return template, [str(name) for name in names]


def _write_mapping(value: Mapping[object, object], words: _Words, names: _Names) -> None:
    _write_each(value.items(), words, names)


def _write_secret(value: Secret, words: _Words, names: _Names) -> None:
    _write_text(value.reveal(), words, names)


_WRITERS: Final[dict[type, _Write]] = {
    type(None): _write_other,
    bool: _write_other,
    int: _write_integer,
    float: _write_float,
    str: _write_text,
    bytes: _write_bytes,
    tuple: _write_tuple,
    list: _write_each,
    collections.deque: _write_each,
    frozenset: _write_set,
    set: _write_set,
    dict: _write_mapping,
    Secret: _write_secret,
}
