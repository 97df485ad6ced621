"""Strategies for what may stand on the wire, as a decoder would hand it over."""

from __future__ import annotations

from hypothesis import strategies as st

from mcpstreams_sansio.ids import Secret, StreamId
from mcpstreams_sansio.wire.jsonrpc import JSONObject, JSONValue

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
SCALARS: st.SearchStrategy[JSONValue] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXT
)
VALUES: st.SearchStrategy[JSONValue] = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=8
)
OBJECTS: st.SearchStrategy[JSONObject] = st.dictionaries(TEXT, VALUES, max_size=3)

STREAM_IDS = NAMES.map(StreamId)
SECRETS = NAMES.map(Secret)
REQUEST_IDS = TEXT | st.integers()
POSITIONS = st.integers(min_value=0, max_value=2**53)
SECONDS = st.integers(min_value=0) | st.floats(min_value=0, allow_nan=False, allow_infinity=False)


def unknown_members(*known: str) -> st.SearchStrategy[JSONObject]:
    """Members of an object that a type with these members does not know."""
    return st.dictionaries(TEXT.filter(lambda name: name not in {*known, "_meta"}), VALUES, max_size=3)
