"""The codecs against larger collections of inputs, where these lie beside the project.

What of them matters is in the tables of `wire/json_texts.py`, `framing/sse_streams.py` and the tests of each codec;
this is the cross-check that nothing was lost on the way there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from mcpstreams_sansio.errors import INVALID_REQUEST, PARSE_ERROR, RemoteProtocolError
from mcpstreams_sansio.framing.sse import SSEDecoder
from mcpstreams_sansio.wire.jsonrpc import Message, Request, decode_message, encode_message
from mcpstreams_sansio.wire.strict_json import decode_json
from tests.sansio.framing.chunking import assert_same_every_way
from tests.sources import ROOT

VECTORS = ROOT.parent / "shared" / "vectors"

pytestmark = pytest.mark.skipif(not VECTORS.is_dir(), reason="the collections of inputs are not beside the project")


def table(name: str) -> list[dict[str, object]]:
    path = VECTORS / name
    rows: list[dict[str, object]] = json.loads(path.read_text("utf-8")) if path.is_file() else []
    return rows


def texts(kind: str) -> list[Path]:
    return sorted((VECTORS / "json").glob(f"{kind}_*.json"))


def name_of(case: object) -> str:
    return case.stem if isinstance(case, Path) else str(case["name"] if isinstance(case, dict) else case)


def outcome(text: bytes) -> Message | int:
    try:
        return decode_message(text)
    except RemoteProtocolError as error:
        return error.error_code


# ------------------------------------------------------------------------------------- JSON

REPEATED_KEY = {"y_object_duplicated_key", "y_object_duplicated_key_and_value"}


@pytest.mark.parametrize("path", texts("y"), ids=name_of)
def test_json_is_read(path: Path) -> None:
    text = path.read_bytes()
    if path.stem in REPEATED_KEY:  # JSON to its grammar, and without a single meaning
        with pytest.raises(RemoteProtocolError) as caught:
            decode_json(text)
        assert caught.value.error_code == INVALID_REQUEST
    else:
        assert repr(decode_json(text)) == repr(json.loads(text))
        assert isinstance(outcome(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":' + text + b"}}"), Request)
    assert outcome(text) == INVALID_REQUEST


@pytest.mark.parametrize("path", texts("n"), ids=name_of)
def test_what_is_no_json_is_a_parse_error(path: Path) -> None:
    assert outcome(path.read_bytes()) == PARSE_ERROR


@pytest.mark.parametrize("path", texts("i"), ids=name_of)
def test_what_readers_may_decide_for_themselves_is_never_another_error(path: Path) -> None:
    text = path.read_bytes()
    assert outcome(text) in {PARSE_ERROR, INVALID_REQUEST}
    read = outcome(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":' + text + b"}}")
    if isinstance(read, Request):
        assert decode_message(encode_message(read)) == read


# ------------------------------------------------------------------------------------- JSON-RPC


@pytest.mark.parametrize("case", table("jsonrpc_vectors.json"), ids=name_of)
def test_messages_are_read_and_refused_as_the_examples_say(case: dict[str, object]) -> None:
    text = str(case["in"]).encode()
    found = outcome(text)
    match case["out"]:
        case "ok":
            assert not isinstance(found, int)
            assert json.loads(encode_message(found)) == json.loads(text)
        case "error":
            assert isinstance(found, int)
        case {"error": {"code": -32700 | -32600 as code}}:
            assert found == code
        case list():
            assert found == INVALID_REQUEST
        case _ if text.startswith(b"[") or b'"params": [' in text or b'"params":[' in text:
            assert isinstance(found, int)  # no batches, and no params by position, in MCP
        case _:
            assert not isinstance(found, int)


# ------------------------------------------------------------------------------------- server-sent events


def read(pieces: Sequence[bytes]) -> tuple[list[list[str]], str, int | None]:
    decoder = SSEDecoder()
    events = []
    for piece in pieces:
        decoder.receive_data(piece)
        while (event := decoder.next_event()) is not None:
            events.append([event.event, event.data, str(event.id)])
    return events, decoder.last_event_id, decoder.retry_ms


@pytest.mark.parametrize("case", table("sse_vectors.json"), ids=name_of)
def test_streams_are_read_as_the_examples_say(case: dict[str, object]) -> None:
    wire = str(case["input"]).encode("latin-1")
    assert_same_every_way(read, wire, (case["expect"], case["last_event_id"], case["retry"]))
