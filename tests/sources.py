"""The project's own files, for the tests that read them."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
CORE = ROOT / "mcpstreams_sansio"
BINDINGS = ROOT / "trio_bindings"
TESTS = ROOT / "tests"


def python_files(folder: Path) -> list[Path]:
    """Return every Python file below a folder, in a fixed order."""
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


def shown(path: Path) -> str:
    """Return the path as a person writes it: from the project's root, with forward slashes."""
    return path.relative_to(ROOT).as_posix()


def module_name(path: Path) -> str:
    """Return the name by which a file is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text("utf-8"), filename=shown(path))
