"""`mcpstreams demo`: real tool calls over real sockets that a proxy cuts, and what came of them."""

from __future__ import annotations

import functools
import math
import os
import sys
from pathlib import Path
from typing import Final

import click
import trio
from click.core import ParameterSource

from trio_bindings.cli.files import Files, standard_library
from trio_bindings.cli.hash_tool import MAX_COUNT
from trio_bindings.cli.run import Options, run_demo, serve_demo
from trio_bindings.entropy import fresh_seed

MAX_CUTS: Final = 100_000
"""More would take longer than anybody waits."""
MAX_STREAMS: Final = 100
"""Calls at a time. What an HTTP client costs grows with the square of its connections: more could keep no timeout."""
DEFAULT_PORT: Final = 8_000
_OF_A_RUN: Final = ("cuts", "messages", "streams", "seed", "timeout", "as_json")
"""What means nothing where nothing is run."""


def _a_number(_: click.Context, __: click.Parameter, value: float) -> float:
    """Return a time. What is no number is outside of no range."""
    if math.isnan(value):
        raise click.BadParameter("that is no number")
    return value


@click.command()
@click.option("--transport", type=click.Choice(["http", "tcp"]), default="http", show_default=True)
@click.option("--cuts", type=click.IntRange(0, MAX_CUTS), default=30, show_default=True, help="Connections to cut.")
@click.option(
    "--messages", type=click.IntRange(1, MAX_COUNT), default=500, show_default=True, help="Messages of each stream."
)
@click.option(
    "--streams", type=click.IntRange(1, MAX_STREAMS), default=4, show_default=True, help="Tool calls at a time."
)
@click.option("--seed", type=int, help="Decides where connections are cut; by default, each run is another one.")
@click.option(
    "--directory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Whose files to hash; by default, Python's own standard library.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    callback=_a_number,
    default=120,
    show_default=True,
    help="In seconds.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@click.option("--serve", is_flag=True, help="Only serve the demo's tool, for other clients.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True, help="With --serve; 0 is any."
)
@click.pass_context
def demo(
    context: click.Context,
    *,
    transport: str,
    cuts: int,
    messages: int,
    streams: int,
    seed: int | None,
    directory: Path | None,
    timeout: float,
    as_json: bool,
    serve: bool,
    port: int,
) -> None:
    """Watch tool calls survive disconnections.

    A server and a client talk through a proxy on this machine that cuts their connections at random bytes. The tool
    hashes real files, tells each digest, asks one question and returns a digest over everything, which the client
    makes again from what it received. The exit code is 0 only if every message came exactly once and in order.
    """
    _refuse_what_means_nothing(context, _OF_A_RUN if serve else ("port",), with_serve=serve)
    options = Options(
        transport=transport,
        cuts=cuts,
        messages=messages,
        streams=streams,
        seed=fresh_seed() if seed is None else seed,
        timeout=timeout,
    )
    if not serve and options.hopeless:
        raise click.UsageError(
            f"{cuts} cuts are too many for so few messages: each connection would be cut before it is of any use, and "
            f"the next one is not tried at once. Ask for fewer --cuts, more --messages, or a longer --timeout."
        )
    try:
        files = Files(directory or standard_library())
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    if serve:
        trio.run(functools.partial(serve_demo, options, files, port))
        return
    summary = trio.run(run_demo, options, files)
    _print(summary.as_json() if as_json else summary.as_text())
    sys.exit(0 if summary.ok else 1)


def _refuse_what_means_nothing(context: click.Context, names: tuple[str, ...], *, with_serve: bool) -> None:
    """Refuse options that were given and would be passed over."""
    for parameter in context.command.params:
        given = parameter.name in names and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
        if given:
            raise click.UsageError(f"{parameter.opts[0]} means nothing {'with' if with_serve else 'without'} --serve")


def _print(text: str) -> None:
    """Print to standard output, which may have no room for it.

    Raises:
        click.ClickException: It has none.
    """
    try:
        click.echo(text)
    except BrokenPipeError:
        raise  # click knows what to do
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter tries again as it ends
        raise click.ClickException(f"the summary could not be written: {error.strerror}") from None
