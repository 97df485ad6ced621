"""What is installed only if it is asked for: whoever misses it is told its name, and how to get it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trio_bindings.extras import extra


def without(package: str, statement: str) -> subprocess.CompletedProcess[str]:
    """Run a statement as if a package were not installed."""
    text = f"import sys; sys.modules[{package!r}] = None; {statement}"
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("package", ["click", "rich", "h11", "httpx2"])
def test_the_command_says_in_one_line_what_it_misses(package: str) -> None:
    missed = without(package, "from trio_bindings.cli import main; main()")
    (line,) = missed.stderr.splitlines()
    assert missed.returncode == 1
    assert line.startswith(f"{package} is not installed: pip install 'mcpstreams[")


@pytest.mark.parametrize(("package", "module"), [("h11", "http_server"), ("httpx2", "http_client")])
def test_a_module_that_needs_an_extra_names_it(package: str, module: str) -> None:
    missed = without(package, f"import trio_bindings.{module}")
    assert missed.stderr.splitlines()[-1] == (
        f"ModuleNotFoundError: {package} is not installed: pip install 'mcpstreams[http]' brings it"
    )


def test_whoever_needs_no_extra_misses_none() -> None:
    text = "; ".join(f"sys.modules[{name!r}] = None" for name in ("click", "rich", "httpx2"))
    assert without("h11", f"{text}; import trio_bindings").returncode == 0


def test_what_no_extra_brings_is_missed_as_ever() -> None:
    with pytest.raises(ModuleNotFoundError, match="No module named 'nowhere'"), extra("http"):
        import nowhere  # type: ignore[import-not-found]  # noqa: F401, PLC0415  # it is not there, which is the point
