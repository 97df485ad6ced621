"""What a client may say, well or badly: messages in which every key and every method of ours turns up."""

from __future__ import annotations

from hypothesis import strategies as st

from mcpstreams_sansio.wire.jsonrpc import Message, Notification, Request, Response
from tests.sansio.wire.json_values import REQUEST_IDS, VALUES

KEY = "k" * 22
"""A key of a call."""

METAS = st.dictionaries(
    st.sampled_from(["mcpstreams/ack", "mcpstreams/key", "mcpstreams/attempt", "mcpstreams/after", "progressToken"]),
    st.one_of(
        VALUES,
        st.just(KEY),
        st.just("i.1"),
        st.lists(st.fixed_dictionaries({"streamId": VALUES, "through": VALUES}), max_size=2),
    ),
)
PARAMS = st.dictionaries(
    st.sampled_from(["streamId", "resumeToken", "requestId", "acks", "name", "arguments"]), VALUES, max_size=4
).flatmap(lambda params: st.one_of(METAS, VALUES).map(lambda meta: {**params, "_meta": meta}))
METHODS = st.sampled_from(
    [
        "ping",
        "tools/call",
        "stream/poll",
        "stream/resume",
        "mcpstreams/cancel",
        "notifications/cancelled",
        "notifications/initialized",
        "notifications/mcpstreams/ack",
        "other",
    ]
)
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(Request, REQUEST_IDS, METHODS, PARAMS),
    st.builds(Notification, METHODS, PARAMS),
    st.builds(Response, REQUEST_IDS, PARAMS),
)
