"""`mcpstreams check`: every order of events in one world or in many, and what it came to."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

import attrs
import click

from mcpstreams_sansio.testing import DEEP, USUAL, Bounds, Configuration, Peers, Transport
from mcpstreams_sansio.testing.actions import MOST
from trio_bindings.cli.search_display import open_search_display
from trio_bindings.cli.searches import Found, search_all, stoppable
from trio_bindings.cli.verdict import Verdict

OWN: Final = "own"
"""The name of a world that options describe."""

_HELP: Final = {
    "calls": "Calls that the client makes.",
    "messages": "Messages of the work on each call.",
    "asks": "Questions of the work on each call.",
    "failures": "How much of the work may end in an error.",
    "cancels": "How often a caller no longer wants its result.",
    "detaches": "How often a caller lets go of its call and comes back.",
    "releases": "How often work lets go of its connection.",
    "cuts": "How often a connection breaks, and all on its way is lost.",
    "straggles": "How often the client loses one, and what it sent may still arrive.",
    "fades": "How often the server loses one first.",
    "sessions": "How often an HTTP session ends.",
    "hurries": "How often the network is slower than a timer.",
    "oversleeps": "How often a machine is not woken when it should be.",
    "polls": "How often somebody else polls.",
    "copies": "How often a request that was sent arrives once more.",
    "intrusions": "How often somebody tries all that there is to try, with every token but the right one.",
    "rivals": "How many more clients take a call up.",
    "crashes": "How often the process of the server ends, and another one takes its place.",
    "client_crashes": "How often the process of the client ends, and another one begins.",
    "unasked_saves": "How often a caller keeps something although nobody has asked it to.",
    "slow_saves": "How often what a caller keeps is not written at once.",
    "slow_writes": "Writes that the transport does not take at once.",
    "slow_takes": "How often the caller does not come back at once for more.",
    "reads_ahead": "How much arrives although its reader has paused.",
    "slow_stops": "How often work does not hear at once that it should stop.",
    "durable": "1: records go to a disk.",
    "poll_first": "1: the client polls before it resumes.",
    "max_unread": "Items that a call may have unread; 0 is the usual number.",
    "stalls": "1: the server drops a connection that takes nothing.",
    "window": "Entries that a stream may have unconfirmed; 0 is the usual number.",
    "room": "Bytes that all logs may hold together; 0 is the usual number.",
    "impatient": "1: the client has no time for more than one attempt that nobody answers.",
}

_Command = TypeVar("_Command", bound=Callable[..., None])


def _bounds_options(command: _Command) -> _Command:
    """Give a command an option for each bound of a world."""
    for field in reversed(attrs.fields(Bounds)):
        text = _HELP[field.name]
        option = click.option(
            f"--{field.name.replace('_', '-')}",
            field.name,
            type=click.IntRange(0, MOST),
            help=f"{text} [default: {field.default}]".strip(),
        )
        command = option(command)
    return command


def _list_names(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        known = (*USUAL, *DEEP)
        width = max(len(each.name) for each in known) + 2
        for each in known:
            click.echo(f"{each.name:<{width}}{each.setting}")
        context.exit()


@click.command()
@click.argument("names", nargs=-1, metavar="[WORLD]...")
@click.option("--deep", is_flag=True, help="Search the large worlds as well: that takes long.")
@click.option("--list", is_flag=True, is_eager=True, expose_value=False, callback=_list_names, help="Name all worlds.")
@click.option("--processes", type=click.IntRange(1), help="Worlds searched at a time [default: one for each core].")
@click.option("--max-states", type=click.IntRange(1), help="Leave a search incomplete beyond so many states.")
@click.option(
    "--minutes", type=click.FloatRange(0, min_open=True), default=math.inf, help="End all searches after so long."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("counterexamples"),
    show_default=True,
    help="Folder for the transcript and the drawing of what is broken.",
)
@click.option("--transport", type=click.Choice([each.value for each in Transport]), help="[default: multiplexed]")
@click.option("--peers", type=click.Choice([each.value for each in Peers]), help="[default: marker]")
@_bounds_options
def check(
    *,
    names: tuple[str, ...],
    deep: bool,
    processes: int | None,
    max_states: int | None,
    minutes: float,
    out: Path,
    transport: str | None,
    peers: str | None,
    **bounds: int | None,
) -> None:
    """Search worlds of a client and a server for an order of events that breaks a promise.

    Without arguments, the worlds are those that this project checks itself with; by name, some of them. With a
    transport, peers or bounds, it is the one world that these options describe.

    The exit code is 0 only if no promise is broken, and, in all usual worlds together, everything was met that has to
    be. The shortest way to what is broken is printed; in the folder given by --out it is drawn as well.
    """
    described = {name: value for name, value in bounds.items() if value is not None}
    own = bool(described or transport or peers)
    if own and (names or deep):
        raise click.UsageError("a world is named, or described by options, not both")
    configurations = [_own(transport, peers, described)] if own else _named(names, deep)
    begin = time.perf_counter()
    with stoppable(minutes * 60) as stop, open_search_display(len(configurations)) as display:
        found = search_all(configurations, max_states, processes or os.cpu_count() or 1, display, stop)
        verdict = Verdict(found, len(configurations), not own and not names, stop.ending, time.perf_counter() - begin)
    click.echo(verdict.as_text())
    for each in verdict.broken:
        _keep(each, out)
    sys.exit(0 if verdict.ok else 1)


def _own(transport: str | None, peers: str | None, bounds: dict[str, int]) -> Configuration:
    setting = f"{transport or Transport.MULTIPLEXED.value} {peers or Peers.MARKER.value} {Bounds(**bounds)}".strip()
    return Configuration(OWN, setting)


def _named(names: tuple[str, ...], deep: bool) -> Sequence[Configuration]:
    """Return the worlds that are asked for, those first that take longest."""
    known = {each.name: each for each in (*DEEP, *USUAL)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise click.UsageError(f"there is no world {', '.join(unknown)}; --list names all of them")
    if names:
        return [known[name] for name in dict.fromkeys(names)]
    return [*DEEP, *USUAL] if deep else list(USUAL)


def _keep(found: Found, folder: Path) -> None:
    """Write down what is broken.

    Raises:
        click.ClickException: It cannot be written.
    """
    assert found.failure is not None, "it is broken"
    kept = {"txt": found.failure.transcript, "svg": found.failure.drawing}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for ending, text in kept.items():
            if text is not None:
                path = folder / f"{found.configuration.name}.{ending}"
                path.write_text(text, "utf-8")
                click.echo(f"written: {path}")
    except OSError as error:
        raise click.ClickException(f"{folder}: {error.strerror}") from None
