"""The command `mcpstreams` and what it can be told."""

from __future__ import annotations

import click

from trio_bindings.cli.check import check
from trio_bindings.cli.demo import demo
from trio_bindings.cli.draw import draw


@click.group()
@click.version_option(package_name="mcpstreams")
def command() -> None:
    """Resumable streams for the Model Context Protocol."""


command.add_command(check)
command.add_command(demo)
command.add_command(draw)
