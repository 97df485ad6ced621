"""What makes two requests the same call: the digest that is kept beside a call's key.

Spec: rule R21.2.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final

from mcpstreams_sansio.ids import Digest
from mcpstreams_sansio.wire.jsonrpc import JSONValue, Request
from mcpstreams_sansio.wire.meta import META, meta_of
from mcpstreams_sansio.wire.progress import PROGRESS_TOKEN

_EXACT: Final = 2**53
"""Below it every whole number is a float as well, so that `1` and `1.0` are two spellings of one number."""


def call_digest(request: Request) -> Digest:
    """Return the SHA-256 of all that a re-send under the same key must repeat.

    That is method, id with its type, params without `_meta`, and the progress token. The order of members and the
    spelling of numbers and strings do not count; what else stands in `_meta` or in the envelope does not count either.

    Raises:
        RemoteProtocolError: -32602; `_meta` is no object.

    Spec: rule R21.2.
    """
    meta = meta_of(request.params)
    identity: list[JSONValue] = [
        request.method,
        request.id,
        {name: member for name, member in (request.params or {}).items() if name != META},
        [meta[PROGRESS_TOKEN]] if PROGRESS_TOKEN in meta else [],
    ]
    text = json.dumps(_canonical(identity), sort_keys=True, separators=(",", ":"))
    return Digest(hashlib.sha256(text.encode("ascii")).digest())


def _canonical(value: JSONValue) -> JSONValue:
    """Return the value with one spelling for each number, made of what `json` writes."""
    match value:
        case Mapping():
            return {name: _canonical(member) for name, member in value.items()}
        case str():
            return value
        case Sequence():
            return [_canonical(element) for element in value]
        case float() if value.is_integer() and abs(value) < _EXACT:
            return int(value)
        case _:
            return value
