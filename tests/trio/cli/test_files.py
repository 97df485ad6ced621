"""The demo's input: every file of a folder, in a fixed order, again and again."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from trio_bindings.cli.files import Files, Total, standard_library


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "b.txt").write_bytes(b"second")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.bin").write_bytes(b"first" * 200_000)
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "a.pyc").write_bytes(b"changes by itself")
    (tmp_path / "link").symlink_to(tmp_path / "b.txt")
    return tmp_path


def test_each_line_has_the_digest_and_the_name(folder: Path) -> None:
    files = Files(folder)
    assert len(files) == 2
    assert files.line(0) == f"{hashlib.sha256(b'first' * 200_000).hexdigest()}  a/x.bin"
    assert files.line(1) == f"{hashlib.sha256(b'second').hexdigest()}  b.txt"


def test_after_the_last_file_comes_the_first(folder: Path) -> None:
    files = Files(folder)
    assert files.line(2) == files.line(0)
    assert files.line(13) == files.line(1)


def test_a_name_that_is_no_text_is_shown_by_its_bytes_and_can_be_sent(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/b\xff\xc3\xa9")).write_bytes(b"text")
    line = Files(tmp_path).line(0)
    assert line == f"{hashlib.sha256(b'text').hexdigest()}  b\\xffé"
    Total().add(line)


def test_a_file_that_is_gone_by_now_is_a_line_all_the_same(folder: Path) -> None:
    files = Files(folder)
    (folder / "b.txt").unlink()
    assert files.line(1) == "(No such file or directory)  b.txt"


def test_what_may_not_be_looked_at_is_passed_over(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    look = Path.lstat

    def refuse(path: Path) -> os.stat_result:
        if path.name == "b.txt":
            raise PermissionError
        return look(path)

    os.mkfifo(folder / "pipe")
    monkeypatch.setattr(Path, "lstat", refuse)
    assert len(Files(folder)) == 1


def test_a_folder_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no files"):
        Files(tmp_path)


def test_the_standard_library_is_real_and_large_and_the_librarys_alone() -> None:
    files = Files(standard_library())
    assert len(files) > 500
    assert not any("site-packages" in path.parts for path in files._paths)


def test_a_total_sees_what_is_missing_repeated_or_misplaced() -> None:
    def total(*lines: str) -> str:
        made = Total()
        for line in lines:
            made.add(line)
        return made.value()

    assert total("a", "b") == total("a", "b")
    assert len({total("a", "b"), total("a"), total("b", "a"), total("a", "b", "b"), total("ab"), total("a", "")}) == 6
