"""Every way in which a network may cut bytes, for the tests of whatever puts them together again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hypothesis import strategies as st

CUT_EVERYWHERE_UP_TO = 1_000
"""Bytes. Of longer inputs only the places near line ends, the begin and the end are cut, each with its neighbours."""


def cuts(wire: bytes) -> list[int]:
    """Return where to cut in two."""
    if len(wire) <= CUT_EVERYWHERE_UP_TO:
        return list(range(len(wire) + 1))
    places = {0, len(wire), *(place for place, byte in enumerate(wire) if byte in b"\r\n")}
    near = {place + step for place in places for step in (-2, -1, 0, 1, 2)}
    return sorted(place for place in near if 0 <= place <= len(wire))


def every_way(wire: bytes) -> Iterator[list[bytes]]:
    """Yield the bytes whole, one by one, with nothing in between, and cut in two at every place."""
    yield [wire]
    yield [wire[place : place + 1] for place in range(len(wire))]
    yield [piece for place in range(len(wire)) for piece in (b"", wire[place : place + 1])]
    for place in cuts(wire):
        yield [wire[:place], wire[place:]]


def assert_same_every_way(
    read: Callable[[Sequence[bytes]], object], wire: bytes, expected: object, *, begun: bytes = b""
) -> None:
    """Check what is read from the bytes, however cut, and that the begin of a next frame changes nothing of it.

    Args:
        read: Feeds the pieces to a new decoder and returns everything that came out.
        wire: Whole frames.
        expected: What comes out.
        begun: The first bytes of a frame that is not whole.
    """
    for pieces in every_way(wire):
        assert read(pieces) == expected, pieces
    if begun:
        for pieces in every_way(wire + begun):
            assert read(pieces) == expected, pieces


def pieces_of(fragments: st.SearchStrategy[bytes]) -> st.SearchStrategy[list[bytes]]:
    """Return bytes made of some fragments, and cut at arbitrary places."""
    return st.builds(_cut, st.lists(fragments).map(b"".join), st.lists(st.floats(0, 1)))


def _cut(wire: bytes, places: list[float]) -> list[bytes]:
    ends = sorted(round(place * len(wire)) for place in places)
    return [wire[begin:end] for begin, end in zip([0, *ends], [*ends, len(wire)], strict=True)]
