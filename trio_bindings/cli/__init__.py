"""The command `mcpstreams`."""

from __future__ import annotations

import click

from trio_bindings.cli.demo import demo


@click.group()
@click.version_option(package_name="mcpstreams")
def main() -> None:
    """Resumable streams for the Model Context Protocol."""


main.add_command(demo)
