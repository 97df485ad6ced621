"""Real files to hash, going round again where there are too few."""

from __future__ import annotations

import hashlib
import os
import stat
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Final, final

_BLOCK_BYTES: Final = 2**18
_NOT_THE_LIBRARY: Final = frozenset({"__pycache__", "dist-packages", "site-packages"})


def standard_library() -> Path:
    """Return the folder of Python's own standard library."""
    return Path(sysconfig.get_path("stdlib"))


@final
class Files:
    """Every regular file below a folder, in a fixed order.

    Raises:
        ValueError: There is none.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths = sorted(_regular_files(folder))
        if not self._paths:
            raise ValueError(f"no files below {folder}")

    def __len__(self) -> int:
        return len(self._paths)

    def line(self, number: int) -> str:
        """Return digest and name of a file, as `sha256sum` writes them. Numbers beyond the last file start over.

        A file that cannot be read, or is gone by now, has a reason in the place of its digest. What of its name is no
        UTF-8 is written as bytes are written in Python.
        """
        path = self._paths[number % len(self._paths)]
        name = os.fsencode(path.relative_to(self._folder).as_posix()).decode("utf-8", "backslashreplace")
        try:
            return f"{_digest(path)}  {name}"
        except OSError as error:
            return f"({error.strerror})  {name}"


def _regular_files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _NOT_THE_LIBRARY]
        paths = (Path(parent, name) for name in names)
        yield from (path for path in paths if _is_regular(path))


def _is_regular(path: Path) -> bool:
    """Return whether a path is a file itself: no link, no pipe, and nothing that may not be looked at."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


@final
class Total:
    """One digest over every line and the answer, made on both sides: equal only if nothing is missing or misplaced."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def add(self, line: str) -> None:
        """Take in one more line."""
        self._digest.update(line.encode() + b"\n")

    def value(self) -> str:
        """Return the digest so far."""
        return self._digest.hexdigest()
