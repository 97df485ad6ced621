"""What an application may put into its messages: anything that JSON can say, and what careless readers trip over."""

from __future__ import annotations

from functools import reduce

from hypothesis import strategies as st

from mcpstreams_sansio.wire.jsonrpc import JSONValue
from tests.sansio.wire.json_values import VALUES

TRICKY = st.text(st.sampled_from("\r\n\x85\u2028\u2029\x00\x1f\x7f\ufeff\\\"':{}[]é€😀\U0010ffff"), max_size=40)
"""Line ends of all kinds, control characters, a byte order mark, and characters of one to four bytes."""

FRAMES = st.sampled_from(
    ["data: x\n\nid: 9\n\n", '"}\n{"jsonrpc":"2.0","method":"ping","id":1}\n', ":\n\n", "\r\n\r\n0\r\n"]
)
"""Texts that look like the framing around them."""

LARGE = st.builds(lambda character, length: character * length, st.sampled_from("xé😀\u2028"), st.integers(200, 9_000))
"""Up to some 50 KB: a message holds it twice, so that it comes near to what one frame may be."""

NUMBERS: st.SearchStrategy[JSONValue] = st.sampled_from(
    [0, -0.0, 1, 1.0, True, 2**53 + 1, -(10**600), 1e-320, 1.7976931348623157e308]
)


def nested(value: JSONValue, depth: int) -> JSONValue:
    """Return a value inside so many arrays and objects."""
    return reduce(lambda inner, level: [inner] if level % 2 else {"in": inner}, range(depth), value)


DEEP: st.SearchStrategy[JSONValue] = st.builds(nested, VALUES.filter(lambda value: not value), st.integers(20, 100))

PAYLOADS: st.SearchStrategy[JSONValue] = st.one_of(
    st.none(), VALUES, TRICKY, FRAMES, NUMBERS, st.dictionaries(TRICKY, TRICKY, max_size=3), DEEP, LARGE
)
