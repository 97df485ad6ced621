"""`mcpstreams draw`: a transcript as a picture."""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from mcpstreams_sansio import LocalProtocolError
from mcpstreams_sansio.testing import StreamsWorld, parse_transcript
from mcpstreams_sansio.testing import draw as draw_transcript


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--out", "-o", type=click.Path(dir_okay=False, path_type=Path), help="[default: beside the transcript, as .svg]"
)
def draw(*, file: Path, out: Path | None) -> None:
    """Draw a transcript as an SVG sequence diagram.

    What the transcript tells happens once more, and that is what is drawn. One that tells of something else than what
    happens now is refused, by the number of the step where it differs.
    """
    try:
        transcript = parse_transcript(file.read_text("utf-8-sig"))
        world = StreamsWorld.parse(transcript.setting)
        drawing = draw_transcript(world, attrs.evolve(transcript, setting=world.setting()))
    except UnicodeDecodeError:
        raise click.ClickException(f"{file} is no text") from None
    except LocalProtocolError as error:
        raise click.ClickException(f"{file}: {error}") from None
    target = out or file.with_suffix(".svg")
    if target.exists() and target.samefile(file):
        raise click.ClickException(f"{target} is the transcript; --out names where its drawing goes")
    try:
        target.write_text(drawing, "utf-8")
    except OSError as error:
        raise click.ClickException(f"{target}: {error.strerror}") from None
    click.echo(f"written: {target}")
