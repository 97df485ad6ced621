"""JSON texts in three groups: those with a value, those that are no JSON, and those without a single meaning."""

from __future__ import annotations

VALUES: list[tuple[bytes, object]] = [
    # by itself
    (b"null", None),
    (b"true", True),
    (b"false", False),
    (b"42", 42),
    (b"-0.1", -0.1),
    (b'""', ""),
    (b'"asd"', "asd"),
    (b"[]", []),
    (b"{}", {}),
    # white space
    (b" [] ", []),
    (b"\t\r\n {\n} \r\n\t", {}),
    (b"[[]   ]", [[]]),
    (b'{ "a"\n:\r\n[ 1\t,2 ] }', {"a": [1, 2]}),
    # numbers
    (b"[0,-1,123,-123]", [0, -1, 123, -123]),
    (b"-0", 0),
    (b"9007199254740993", 9007199254740993),
    (b"100000000000000000000", 100000000000000000000),
    (b"-237462374673276894279832749832423479823246327846", -237462374673276894279832749832423479823246327846),
    (b"9" * 640, 10**640 - 1),
    (b"-" + b"9" * 640, 1 - 10**640),
    (b"[0e1,0e+1,20e1,1E22,1E-2,1E+2]", [0.0, 0.0, 200.0, 1e22, 0.01, 100.0]),
    (b"[123e65,123.456e78,123.456789]", [1.23e67, 1.23456e80, 123.456789]),
    (b"[-1.0e+28,1.7976931348623157e308]", [-1e28, 1.7976931348623157e308]),
    (b"-0." + b"0" * 77 + b"1", -1e-78),
    (b"0." + b"1" * 5000, 1 / 9),
    (b"[123e-10000000,123.456e-789]", [0.0, 0.0]),
    # strings
    (rb'"\"\\\/\b\f\n\r\t"', '"\\/\b\f\n\r\t'),
    (rb'"\\u0000 \\a \\\\n"', r"\u0000 \a \\n"),
    (
        rb'"\u0000\u0012\u0022\u005C\u0061\u0123\u0821\u30EA\uA66D\ufdd0\uFFFE\uFFFF"',
        '\0\x12"\\aģࠡリꙭ\ufdd0\ufffe\uffff',
    ),
    (rb'"\uD801\udc37\ud83d\ude39\uDBFF\uDFFF\uD83F\uDFFE"', "\U00010437\U0001f639\U0010ffff\U0001fffe"),
    (rb'"\\ud800"', r"\ud800"),
    ('"π€𝄞⍂\x7f\u2028\u2029\x85\uffff\U0010ffff"'.encode(), "π€𝄞⍂\x7f\u2028\u2029\x85\uffff\U0010ffff"),
    (b'"a/*b*/c/*d//e"', "a/*b*/c/*d//e"),
    (b'"[{[{[{"', "[{[{[{"),
    # objects
    (b'{"":0}', {"": 0}),
    (rb'{"foo\u0000bar": 42}', {"foo\0bar": 42}),
    (b'{"a":{"a":{"a":1}},"b":[{"a":2},{"a":3}]}', {"a": {"a": {"a": 1}}, "b": [{"a": 2}, {"a": 3}]}),
    (b'[null,1,"1",{},[],1.0]', [None, 1, "1", {}, [], 1.0]),
]
"""Each text with what it means."""

NOT_JSON: list[bytes] = [
    # nothing, or something else
    *[
        b"",
        b" ",
        b"\n",
        b"abc",
        b"*",
        b"<null>",
        b"\xc3\xa5",
        b"Content-Length: 20",
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b",",
    ],
    # byte order marks, UTF-16, UTF-32, and bytes that are not UTF-8
    *[b"\xef\xbb\xbf", b"\xef\xbb\xbf{}", b"\xef\xbb{}", b"\xff\xfe{\x00}\x00", b"{\x00}\x00", b"\x00{\x00}"],
    *["[]".encode("utf-32"), b"\xe5", b'["\xff"]', b'["\xe9"]', b'["\x81"]', b'["\xe0\xff"]', b'["\xe6\x97\xa5\xfa"]'],
    *[
        b'["\xed\xa0\x80"]',
        b'["\xc0\xaf"]',
        b'["\xf4\xbf\xbf\xbf"]',
        b'["\xfc\x83\xbf\xbf\xbf\xbf"]',
        b"[a\xe5]",
        b"[1\xe5]",
    ],
    *[b'["\\u\xe5"]', b'["\\\xe5"]', b'{"\xb9":0}'],
    # words
    *[b"tru", b"fals", b"nul", b"True", b"NULL", b"[truth]", b"undefined", b"'x'", b"[a]"],
    # numbers
    *[b"NaN", b"-NaN", b"Infinity", b"-Infinity", b"+Infinity", b"Inf", b"[NaN]", b'{"a":NaN}', b'{"a":[1,-Infinity]}'],
    *[b"+1", b"++1", b"-", b"[-]", b"- 1", b"01", b"-01", b"-012", b".5", b"-.5", b".-1", b"1.", b"-2.", b"0.1.2"],
    *[b"2.e3", b"0e", b"0e+", b"0.3e", b"1eE2", b"0e+-1", b"1ea", b"0x1", b"1 000", b"1_000", b"1+2", b"2@", b"-1x"],
    *["\uff11".encode(), "1\u0661".encode(), b"1\x00"],
    # strings
    *[b'"a', b'"\\', b'"\\"', b'["\\x00"]', b'["\\a"]', b'["\\U0041"]', b'["\\u00A"]', b'["\\uqqqq"]', b'["\\u 041"]'],
    *[
        b'["\\uD800\\u1"]',
        b'["\\uD800\\"]',
        b'["a\x00"]',
        b'["\t"]',
        b'["\n"]',
        b'["\x1f"]',
        b'["\\\n"]',
        b'["\\\x00"]',
    ],
    *[b"['x']", b'""x', b'\\u0020""', b"[\\n]"],
    # arrays
    *[b"[1 true]", b"[1,]", b"[,1]", b"[1,,2]", b"[,]", b"[1", b"[1,", b"[1}", b"[1]]", b"[][]", b"[1:2]", b"[3[4]]"],
    *[b"[\x0c]", b"[\x0b]", b"[\xe2\x81\xa0]", b"[\x00]", b"\xc2\xa0[]"],
    # objects
    *[b'{"a"', b'{"a":', b'{"a":1', b'{"a":1,', b'{"a":1,}', b'{"a":1,,"b":2}', b'{"a" 1}', b'{"a"::1}', b'{"a":1 2}'],
    *[
        b'{"a","b":1}',
        b'{:"a"}',
        b"{1:1}",
        b"{null:null,null:null}",
        b"{a:1}",
        b"{'a':1}",
        b"{]",
        b"{,",
        b"{}}",
        b"{} {}",
    ],
    *[b'{"a":1}//', b'{"a":1}/**/', b'{"a":/* */1}', b'{"a":1}#', b'{"a":1}x', b"{[:1}"],
    # too deep to be read at all
    *[b"[" * 100_000, b'[{"":' * 50_000, b"[" * 129 + b"]" * 129, b'{"a":' * 129 + b"1" + b"}" * 129],
]
"""Texts that cannot be read as JSON to their end."""

WITHOUT_ONE_MEANING: list[bytes] = [
    # keys
    *[b'{"a":"b","a":"c"}', b'{"a":"b","a":"b"}', b'[{"x":{"a":1,"b":2,"a":3}}]', rb'{"a":1,"\u0061":2}'],
    # half surrogate pairs
    *[rb'"\ud800"', rb'["\uDFAA"]', rb'"\ud800abc"', rb'"\uD888\u1234"', rb'"\uDd1e\uD834"', rb'"\uD800\uD800\n"'],
    *[rb'{"\uDFAA":0}', rb'[{"a":{"\ud800":[]}}]', rb'"\\\ud800"', rb'"\udc00\ud800\udc00"'],
    # numbers
    *[b"1e400", b"-1e400", b"[1.5e+9999]", b"-123123e100000", b"0.4e00669999999999999999", b"1" + b"0" * 400 + b".0"],
    *[b"1" + b"0" * 640, b"-1" + b"0" * 640, b"9" * 5000, b"-" + b"9" * 5000, b'{"a":[' + b"9" * 100_000 + b"]}"],
]
"""Texts that are JSON and that two readers may understand in two ways."""
