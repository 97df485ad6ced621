"""Files stay small enough to hold in one's head, nothing is left undone, and each exception gives its reason."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable
from pathlib import Path

import pytest

from mcpstreams_sansio import testing
from tests.sources import BINDINGS, CORE, ROOT, TESTS, module_name, python_files, shown

MAX_LINES_OF_CODE = 400

LARGER_FILES: dict[str, str] = {}
"""Files that may be larger, each with the reason why two files would be worse."""

UNDONE = re.compile(r"\b(TO" + "DO|FIX" + "ME|X" + r"XX)\b", re.IGNORECASE)

NOT_CODE = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}

EXCEPTION_TO_A_CHECK = re.compile(r"#\s*(?:type:\s*ignore|noqa|pragma|pyright|mypy:|ruff:|fmt:)\S*(?:\s+[A-Z]+\d+,?)*")


def lines_of_code(source: str) -> int:
    """Count the lines that hold code: not blank, not a comment, not a docstring."""
    lines: set[int] = set()
    statement_begins = True
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        documentation = statement_begins and token.type == tokenize.STRING
        if token.type not in NOT_CODE and not documentation:
            lines.update(range(token.start[0], token.end[0] + 1))
        if token.type not in {tokenize.COMMENT, tokenize.NL}:
            statement_begins = token.type in NOT_CODE
    return len(lines)


def comments(source: str) -> Iterable[str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return (token.string for token in tokens if token.type == tokenize.COMMENT)


def without_reason(comment: str) -> bool:
    """Say whether a comment silences a check and does not say why."""
    silences = EXCEPTION_TO_A_CHECK.search(comment)
    return silences is not None and len(re.findall(r"\w+", comment[silences.end() :])) < 3


@pytest.mark.parametrize("path", [*python_files(CORE), *python_files(BINDINGS)], ids=module_name)
def test_a_file_holds_one_idea(path: Path) -> None:
    small = lines_of_code(path.read_text("utf-8")) <= MAX_LINES_OF_CODE
    assert small == (shown(path) not in LARGER_FILES)


def test_larger_files_are_there() -> None:
    assert [name for name in LARGER_FILES if not (ROOT / name).is_file()] == []


COUNTED = """\
'A module.'

# why
x: int = 1
"What x means."

def f():
    '''Say.

    More.
    '''
    return '''
    '''
"""


def test_lines_of_code_are_counted_without_what_explains_them() -> None:
    assert lines_of_code(COUNTED) == 4  # x, def, and the two lines of the returned text


def own_texts() -> list[Path]:
    """Return every text of the project that a person wrote."""
    folders = [CORE, BINDINGS, TESTS, ROOT / "docs", ROOT / ".ci"]
    kinds = {".py", ".rst", ".toml", ".txt", ".md", ""}
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file() and path.suffix in kinds]
    found += [ROOT / "README.rst", ROOT / "pyproject.toml"]
    return [path for path in found if not {"__pycache__", "_build", "generated"} & set(path.parts)]


def test_the_map_of_the_model_check_shows_every_room() -> None:
    text = testing.__doc__ or ""
    rooms = {path.stem for path in Path(testing.__file__).parent.iterdir() if path.suffix == ".py" or path.is_dir()}
    hidden = {room for room in rooms if not room.startswith("_") and f"`{room}`" not in text}
    assert not hidden


def test_nothing_is_left_undone() -> None:
    found = [
        f"{shown(path)}:{number}"
        for path in own_texts()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if UNDONE.search(line)
    ]
    assert found == []


def test_what_is_undone_would_be_seen() -> None:
    assert UNDONE.search("# to" + "do: later")
    assert UNDONE.search("X" + "XX")
    assert not UNDONE.search("autodoc = 1")


def test_an_exception_to_a_check_gives_its_reason_on_the_same_line() -> None:
    found = [
        f"{shown(path)}: {comment}"
        for folder in (CORE, BINDINGS, TESTS, ROOT / "docs")
        for path in python_files(folder)
        for comment in comments(path.read_text("utf-8"))
        if without_reason(comment)
    ]
    assert found == []


@pytest.mark.parametrize(
    "comment",
    ["# noqa", "# noqa: E501", "# noqa: E501, F401", "# type: ignore[misc]", "# pragma: no cover", "# fmt: off"],
)
def test_a_bare_exception_to_a_check_is_seen(comment: str) -> None:
    assert without_reason(comment)
    assert not without_reason(f"{comment}  # the peer decides how long this is")


def test_a_plain_comment_is_no_exception() -> None:
    assert not without_reason("# why: the peer decides")
