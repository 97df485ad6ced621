"""`mcpstreams demo`: real tool calls over real sockets that a proxy cuts, and what came of them."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

import click
import trio

from trio_bindings.cli.files import Files, standard_library
from trio_bindings.cli.run import Options, run_demo, serve_demo
from trio_bindings.entropy import fresh_seed


@click.command()
@click.option("--transport", type=click.Choice(["http", "tcp"]), default="http", show_default=True)
@click.option("--cuts", type=click.IntRange(0), default=30, show_default=True, help="Connections to cut.")
@click.option("--messages", type=click.IntRange(1), default=500, show_default=True, help="Messages of each stream.")
@click.option("--streams", type=click.IntRange(1), default=4, show_default=True, help="Tool calls at a time.")
@click.option("--seed", type=int, help="Decides where connections are cut; by default, each run is another one.")
@click.option(
    "--directory",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Whose files to hash; by default, Python's own standard library.",
)
@click.option("--timeout", type=click.FloatRange(0, min_open=True), default=120, show_default=True, help="In seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print the summary as one JSON object.")
@click.option("--serve", is_flag=True, help="Only serve the demo's tool, for other clients.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="With --serve.")
def demo(
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
    try:
        files = Files(directory or standard_library())
    except ValueError as error:
        raise click.ClickException(str(error)) from None
    options = Options(
        transport=transport,
        cuts=cuts,
        messages=messages,
        streams=streams,
        seed=fresh_seed() if seed is None else seed,
        timeout=timeout,
    )
    if serve:
        trio.run(functools.partial(serve_demo, options, files, port))
        return
    summary = trio.run(run_demo, options, files)
    click.echo(summary.as_json() if as_json else summary.as_text())
    sys.exit(0 if summary.ok else 1)
