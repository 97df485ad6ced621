"""Progress: under the token of the request, or not at all."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.errors import RemoteProtocolError
from mcpstreams_sansio.wire.jsonrpc import JSONObject, JSONValue, Notification
from mcpstreams_sansio.wire.progress import progress_notification, progress_token


@pytest.mark.rule("Q3e", "W6")
@pytest.mark.parametrize("token", ["p", "", 0, 7])
def test_a_token_is_what_may_be_an_id(token: JSONValue) -> None:
    assert progress_token({"_meta": {"progressToken": token}}) == token


@pytest.mark.parametrize("params", [None, {}, {"_meta": {}}])
def test_a_request_may_want_no_progress(params: JSONObject | None) -> None:
    assert progress_token(params) is None


@pytest.mark.parametrize("token", [True, None, 1.5, [1], {}])
def test_what_is_no_token_asks_for_nothing(token: JSONValue) -> None:
    assert progress_token({"_meta": {"progressToken": token}}) is None


def test_metadata_that_is_no_object_is_refused() -> None:
    with pytest.raises(RemoteProtocolError, match=r"\Aparams\._meta: not an object\Z"):
        progress_token({"_meta": 1})


def test_only_what_is_known_is_said() -> None:
    method = "notifications/progress"
    assert progress_notification("p", 1) == Notification(method, {"progressToken": "p", "progress": 1})
    full: JSONObject = {"progressToken": 7, "progress": 2, "total": 3, "message": "almost"}
    assert progress_notification(7, 2, 3, "almost") == Notification(method, full)
