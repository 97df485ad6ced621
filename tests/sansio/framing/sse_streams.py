"""Streams of server-sent events with what the standard makes of them, as a table.

Most follow the examples of the HTML standard and the streams by which browsers are tested; the rest are what other
readers of this format got wrong.
"""

from __future__ import annotations

from typing import final

import attrs

COMMENT = b":" + b"x" * 600


@final
@attrs.frozen
class Stream:
    """Bytes, and what must come out of them."""

    name: str
    wire: bytes
    events: list[tuple[str, str, str]] = attrs.field(factory=list)
    """Type, data, and the cursor after it."""
    last_event_id: str = ""
    """The cursor at the end."""
    retry_ms: int | None = None
    """The wait at the end."""


def message(data: str, last_event_id: str = "") -> tuple[str, str, str]:
    return ("message", data, last_event_id)


STREAMS = [
    # blocks
    Stream("nothing", b""),
    Stream("blank lines only", b"\n\n\r\n\r"),
    Stream("one event", b"data: x\n\n", [message("x")]),
    Stream("blank lines in front", b"\n\n\r\n\rdata: x\n\n", [message("x")]),
    Stream("more blank lines than needed", b"data:\x00\n\n\n\n\n", [message("\x00")]),
    Stream("no blank line at the end", b"data: x\n\ndata: y\n", [message("x")]),
    Stream("no line end at the end", b"data: x\n\ndata: y", [message("x")]),
    Stream(
        "an unfinished block has no effect",
        b"retry:1000\ndata:a\n\nid:test\nretry: 5\ndata:b\n",
        [message("a")],
        retry_ms=1000,
    ),
    # line ends
    Stream("CR LF", b"data: a\r\n\r\ndata: b\r\n\r\n", [message("a"), message("b")]),
    Stream("CR", b"data: a\r\rdata: b\r\r", [message("a"), message("b")]),
    Stream("all line ends mixed", b"data:a\r\ndata\ndata:b\rdata:c\r\n\r", [message("a\n\nb\nc")]),
    Stream("LF CR is two", b"data: a\n\rdata: b\n\r", [message("a"), message("b")]),
    Stream("CR CR LF is two", b"data: a\r\r\ndata: b\r\r\n", [message("a"), message("b")]),
    Stream(
        "nothing else ends a line",
        b"data: a\x0bb\x0cc\x1cd\x1de\x1ef\xc2\x85g\xe2\x80\xa8h\xe2\x80\xa9i\n\n",
        [message("a\x0bb\x0cc\x1cd\x1de\x1ef\x85g\u2028h\u2029i")],
    ),
    # text
    Stream("byte order mark", b"\xef\xbb\xbfdata: x\n\n", [message("x")]),
    Stream(
        "only one, and only in front",
        b"\xef\xbb\xbfdata:1\n\n\xef\xbb\xbfdata:2\n\ndata:3\n\n",
        [message("1"), message("3")],
    ),
    Stream("only the first of two", b"\xef\xbb\xbf\xef\xbb\xbfdata:1\n\ndata:2\n\n", [message("2")]),
    Stream("a byte order mark and nothing else", b"\xef\xbb\xbf\n\n"),
    Stream("half a byte order mark", b"\xef\xbbdata: x\n\ndata: y\n\n", [message("y")]),
    Stream("byte order mark in data", b"data: \xef\xbb\xbfx\n\n", [message("\ufeffx")]),
    Stream("characters of two to four bytes", b"data: \xc3\xa9\xe2\x80\xa6\xf0\x9f\x98\x80\n\n", [message("é…😀")]),
    Stream(
        "bytes that are not UTF-8", b"data: a\xffb\xc3\n\ndata: \xed\xa0\x80\n\n", [message("a�b�"), message("���")]
    ),
    Stream("not UTF-8 in id and type", b"id: \xff\nevent: \xff\ndata\n\n", [("�", "", "�")], "�"),
    # fields
    Stream("one space is removed", b"data:  a\n\ndata:\ta\n\ndata: \n\n", [message(" a"), message("\ta"), message("")]),
    Stream("colons in a value", b"data: a: b:c\n\n", [message("a: b:c")]),
    Stream("field without a colon", b"data\n\ndata\ndata\n\ndata:x\n\n", [message(""), message("\n"), message("x")]),
    Stream("case matters", b"DATA: a\nData: b\ndata: c\n\n", [message("c")]),
    Stream("space before the colon", b"data : a\ndata: b\n\n", [message("b")]),
    Stream("space before the name", b" data: a\ndata: b\n\n", [message("b")]),
    Stream("NUL in a name", b"data\x00: a\n\x00data: b\ndata: c\n\n", [message("c")]),
    Stream("other fields", b"data:a\nfoobar:yes\nsometext\nda-ta:b\ndata_5\ndata:b\n\n", [message("a\nb")]),
    Stream("a block of other fields is no event", b"foobar: x\n\ndata: a\n\n", [message("a")]),
    # comments
    Stream("comments only", b": hi\n\n:\n\n"),
    Stream(
        "comments in a block",
        b"data:1\r:\x00\n:\r\ndata:2\n" + COMMENT + b"\rdata:3\n:data:4\n\n",
        [message("1\n2\n3")],
    ),
    # data
    Stream("several lines of data", b"data:msg\ndata: msg\n\n", [message("msg\nmsg")]),
    Stream("empty lines of data", b"data: a\ndata:\ndata:\n\n", [message("a\n\n")]),
    Stream("empty data is an event, no data is none", b"data:\n\nevent: x\n\ndata\n\n", [message(""), message("")]),
    # types
    Stream("type", b"event:test\ndata:x\n\ndata:y\n\n", [("test", "x", ""), message("y")]),
    Stream("empty type", b"event: \ndata:x\n\n", [message("x")]),
    Stream(
        "the last type counts",
        b"event: a\nevent: b\ndata: x\n\nevent: a\nevent\ndata: y\n\n",
        [("b", "x", ""), message("y")],
    ),
    Stream("a type does not outlive its block", b"event: a\n\ndata: x\n\n", [message("x")]),
    # ids
    Stream("id", b"id: \xe2\x80\xa6\ndata: x\n\n", [message("x", "…")], "…"),
    Stream("id with colons and spaces", b"id:  a:b \ndata: x\n\n", [message("x", " a:b ")], " a:b "),
    Stream(
        "an id stays",
        b"id: 1\ndata: a\n\ndata: b\n\nid: 2\ndata:c\n\ndata:d\n\n",
        [message("a", "1"), message("b", "1"), message("c", "2"), message("d", "2")],
        "2",
    ),
    Stream(
        "an empty id resets",
        b"id: 1\ndata: a\n\nid:\ndata:b\n\ndata:c\n\n",
        [message("a", "1"), message("b"), message("c")],
    ),
    Stream("an id without a colon resets", b"id: 1\ndata: a\n\nid\ndata:b\n\n", [message("a", "1"), message("b")]),
    Stream("the last id of a block counts", b"id: 1\nid: 2\ndata: a\n\n", [message("a", "2")], "2"),
    Stream("an id after the data counts", b"data: a\nid: 1\n\n", [message("a", "1")], "1"),
    Stream(
        "an id with NUL is ignored",
        b"id: 1\ndata: a\n\nid: 2\x00\ndata: b\n\n",
        [message("a", "1"), message("b", "1")],
        "1",
    ),
    Stream(
        "NUL anywhere in an id",
        b"id: \x00\ndata: a\n\nid: \x00x\ndata: b\n\nid: x\x00x\ndata: c\n\n",
        [message("a"), message("b"), message("c")],
    ),
    Stream("an id with NUL leaves the one before it", b"id: 1\nid: \x00\ndata: a\n\n", [message("a", "1")], "1"),
    Stream("an id without data counts", b"id: 5\n\ndata: x\n\n", [message("x", "5")], "5"),
    Stream("an id without data counts at the end too", b"data: x\n\nid: 5\n\n", [message("x")], "5"),
    # retry
    Stream("retry", b"retry:03000\ndata:x\n\n", [message("x")], retry_ms=3000),
    Stream("retry without data", b"retry: 7\n\n", retry_ms=7),
    Stream("retry stays", b"retry: 7\n\ndata: x\n\n", [message("x")], retry_ms=7),
    Stream("retry of zero", b"retry: 0\n\n", retry_ms=0),
    Stream("retry of several zeros", b"retry: 000\n\n", retry_ms=0),
    Stream("the last good retry counts", b"retry:3000\nretry:1000x\nretry\n\n", retry_ms=3000),
    Stream("retry without digits", b"retry\n\nretry:\n\nretry: \n\n"),
    Stream("negative retry", b"retry: -1\n\n"),
    Stream("signed retry", b"retry: +1\n\n"),
    Stream("two spaces before retry", b"retry:  5\n\n"),
    Stream("space after retry", b"retry: 5 \n\n"),
    Stream("broken retry", b"retry: 1.5\n\nretry: 1_000\n\nretry: 1e3\n\n"),
    Stream("digits that are not ASCII", "retry: \u0661\u0662\n\nretry: ²\n\nretry: \uff11\n\n".encode()),
    Stream("the longest retry", b"retry: 2147483647\n\n", retry_ms=2**31 - 1),
    Stream("a longer retry", b"retry: 2147483648\n\n", retry_ms=2**31 - 1),
    Stream("a much longer retry", b"retry: " + b"9" * 900 + b"\n\n", retry_ms=2**31 - 1),
    Stream("a long retry that is short", b"retry: " + b"0" * 900 + b"12\n\n", retry_ms=12),
    # as MCP uses it
    Stream("priming", b"id: abc\nretry: 500\ndata: \n\n", [message("", "abc")], "abc", 500),
    Stream(
        "a message",
        b'event: message\nid: s1_2\ndata: {"jsonrpc":"2.0","id":1,"result":{}}\n\n',
        [message('{"jsonrpc":"2.0","id":1,"result":{}}', "s1_2")],
        "s1_2",
    ),
    Stream("a long line", b"data: " + b"y" * 16_384 + b"\n\n", [message("y" * 16_384)]),
]
