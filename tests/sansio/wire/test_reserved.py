"""What an application may not say, since the package says it."""

from __future__ import annotations

import pytest

from mcpstreams_sansio.errors import LocalProtocolError
from mcpstreams_sansio.wire.reserved import check_application_method
from tests.wording import whole


@pytest.mark.parametrize(
    "method",
    [
        "initialize",
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/stream/create",
        "notifications/stream/end",
        "stream/poll",
        "stream/resume",
        "stream/of-a-later-draft",
        "mcpstreams/cancel",
        "notifications/mcpstreams/ack",
    ],
)
def test_a_method_of_the_package_is_refused(method: str) -> None:
    words = "this method is sent by the package itself, never by an application"
    with pytest.raises(LocalProtocolError, match=whole(words)):
        check_application_method(method)


@pytest.mark.parametrize("method", [None, 5, b"ping", ["ping"]])
def test_what_is_no_text_is_no_method(method: object) -> None:
    with pytest.raises(LocalProtocolError, match=r"\Amethod must be a string\Z"):
        check_application_method(method)


@pytest.mark.parametrize(
    "method", ["tools/call", "ping", "notifications/progress", "notifications/message", "streams/list", "x/stream/poll"]
)
def test_any_other_is_the_applications(method: str) -> None:
    check_application_method(method)
