"""The command `mcpstreams`."""

from __future__ import annotations

import sys

from trio_bindings.extras import extra


def main() -> None:
    """Run the command, if what it needs is installed: the command itself always is."""
    try:
        with extra("cli"):
            from trio_bindings.cli.command import command  # noqa: PLC0415  # it may be that it cannot be imported
    except ModuleNotFoundError as error:
        sys.exit(str(error))
    command()
